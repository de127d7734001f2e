//! Tests of the rules of the central coordinator: at least one script per rule. In a script,
//! `1 > 2` delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and
//! `1 > 2 as 3` the oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a
//! script sets the group size, and `by f` makes the nodes with the constructor `f`. Traces omit the
//! steps before `|` and those without effect (see `crate::mutex::rules`). In a trace, `ticket 2/1`
//! is the first one of node 2, and `fence 0.1` has epoch 0 and counter 1. Node 1 coordinates.

mod when_busy;

use super::Central;
use crate::group::Group;
use crate::mutex::rules::{rule_tests, with_a_nonmember};
use crate::node::NodeId;
use expect_test::expect;

rule_tests! { Central::new, 3;
    ce_1_a_requesting_node_sends_a_ticket_to_the_coordinator("2 acquire", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
    "#]]);

    ce_1_the_coordinators_own_entry_costs_no_message("1 acquire; 1 release | 1 try; 1 release", expect![[r#"
        1 try: CE-1 requests entry with ticket 1/2; CE-2 grants ticket 1/2; CE-3 enters with ticket 1/2; ENTERS (fence 0.2)
        1 release: LEAVES; CE-4 returns ticket 1/2; CE-5 receives ticket 1/2 back; the queue is empty
    "#]]);

    ce_2_a_ticket_is_granted_if_the_lock_is_free_else_queued("2 acquire; 3 acquire; 2 > 1; 3 > 1", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
        3 acquire: CE-1 requests entry with ticket 3/1; request → 1
        1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
        1 receives request from 3: CE-2 queues ticket 3/1: ticket 2/1 is granted
    "#]]);

    /// Node 2 requests before node 3, but its ticket arrives later: the queue is in order of
    /// arrival.
    ce_2_the_queue_is_in_order_of_arrival(
        "1 acquire; 2 acquire; 3 acquire; 3 > 1; 2 > 1; 1 release | 1 acquire; rest; 3 release; rest; 2 release;
         rest", expect![[r#"
             1 acquire: CE-1 requests entry with ticket 1/2; CE-2 queues ticket 1/2: ticket 3/1 is granted
             3 receives grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
             3 release: LEAVES; CE-4 returns ticket 3/1; release → 1
             1 receives release from 3: CE-5 receives ticket 3/1 back; CE-2 grants ticket 2/1; grant → 2
             2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.3)
             2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
             1 receives release from 2: CE-5 receives ticket 2/1 back; CE-2 grants ticket 1/2; CE-3 enters with ticket 1/2; ENTERS (fence 0.4)
         "#]]);

    ce_2_a_ticket_in_the_name_of_another_is_ignored("2 acquire; 2 > 1 as 3", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 3: CE-2 ignores ticket 2/1, which came from 3
    "#]]);

    ce_3_a_grant_admits_the_node_that_waits_with_its_ticket("2 acquire; 2 > 1; 1 > 2", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
        2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
    "#]]);

    ce_3_only_the_coordinator_can_grant_or_deny("2 acquire; 2 > 1 | 1 > 2 as 3; 3 try; 3 > 1; 1 > 3 as 2", expect![[r#"
        2 receives grant from 3: CE-3 ignores an answer to ticket 2/1: 3 is not the coordinator
        3 try: CE-1 requests entry with ticket 3/1; request → 1
        1 receives request from 3: CE-7 denies ticket 3/1; denied → 3
        3 receives denied from 2: CE-3 ignores an answer to ticket 3/1: 2 is not the coordinator
    "#]]);

    ce_4_a_release_returns_the_ticket("2 acquire; rest; 2 release", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
        2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
        2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
    "#]]);

    ce_5_the_return_of_a_granted_ticket_grants_the_next_one(
        "2 acquire; 3 acquire; rest; 1 acquire; 2 release | 2 > 1; 1 > 3; 3 release; 3 > 1; 1 release", expect![[r#"
            1 receives release from 2: CE-5 receives ticket 2/1 back; CE-2 grants ticket 3/1; grant → 3
            3 receives grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
            3 release: LEAVES; CE-4 returns ticket 3/1; release → 1
            1 receives release from 3: CE-5 receives ticket 3/1 back; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.3)
            1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
        "#]]);

    ce_5_a_node_cannot_return_the_ticket_of_another("2 acquire; 3 acquire; rest | 2 release; 2 > 1 as 3", expect![[r#"
        2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
        1 receives release from 3: CE-5 ignores the return of ticket 2/1, which came from 3
    "#]]);

    a_group_of_one_coordinates_itself(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
        1 try: refused: already in the critical section
        1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
        1 try: CE-1 requests entry with ticket 1/2; CE-2 grants ticket 1/2; CE-3 enters with ticket 1/2; ENTERS (fence 0.2)
        1 cancel: refused: already in the critical section
        1 release: LEAVES; CE-4 returns ticket 1/2; CE-5 receives ticket 1/2 back; the queue is empty
    "#]]);

    // Cancelled tickets, and cancelled tries, which their node discards without a message.

    ce_3_a_grant_that_crosses_a_cancellation_is_ignored("2 acquire; 2 > 1; 2 cancel | 1 > 2; 2 > 1", expect![[r#"
        2 receives grant from 1: CE-3 ignores a grant of ticket 2/1: no request waits with it
        1 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty
    "#]]);

    /// The new ticket overtakes the return of the old one.
    ce_3_the_grant_of_a_cancelled_ticket_does_not_admit_with_the_next_one(
        "2 acquire; 2 > 1; 2 cancel; 2 acquire; 1 > 2; 2 > 1 last | 2 > 1; 1 > 2", expect![[r#"
            1 receives release from 2: CE-5 receives ticket 2/1 back; CE-2 grants ticket 2/2; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]]);

    ce_5_a_returned_ticket_is_removed_from_the_queue(
        "1 acquire; 2 acquire; 3 acquire; 2 > 1 | 3 > 1; 2 cancel; 2 > 1; 1 release", expect![[r#"
            1 receives request from 3: CE-2 queues ticket 3/1: ticket 1/1 is granted
            2 cancel: cancelled; CE-6 cancels ticket 2/1; release → 1
            1 receives release from 2: CE-5 removes ticket 2/1 from the queue
            1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; CE-2 grants ticket 3/1; grant → 3
        "#]]);

    /// The return of the ticket overtakes the ticket.
    ce_5_a_ticket_that_is_returned_before_it_arrives_is_never_granted(
        "2 acquire; 2 cancel | 2 > 1 last; 2 > 1; 2 acquire; rest", expect![[r#"
            1 receives release from 2: CE-5 will ignore ticket 2/1, which was returned before it arrived
            1 receives request from 2: CE-2 ignores ticket 2/1: it was returned before it arrived
            2 acquire: CE-1 requests entry with ticket 2/2; request → 1
            1 receives request from 2: CE-2 grants ticket 2/2; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.1)
        "#]]);

    ce_6_a_cancellation_returns_the_ticket(
        "1 acquire; 2 acquire | rest; 2 cancel; rest; 1 release", expect![[r#"
            1 receives request from 2: CE-2 queues ticket 2/1: ticket 1/1 is granted
            2 cancel: cancelled; CE-6 cancels ticket 2/1; release → 1
            1 receives release from 2: CE-5 removes ticket 2/1 from the queue
            1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
        "#]]);

    ce_6_the_coordinator_cancels_its_own_ticket_without_a_message(
        "2 acquire; rest | 1 acquire; 1 cancel; 2 release; rest", expect![[r#"
            1 acquire: CE-1 requests entry with ticket 1/1; CE-2 queues ticket 1/1: ticket 2/1 is granted
            1 cancel: cancelled; CE-6 cancels ticket 1/1; CE-5 removes ticket 1/1 from the queue
            2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
            1 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty
        "#]]);

    /// A second try waits meanwhile, and the coordinator denies it because of the first.
    ce_6_the_grant_of_a_discarded_try_is_returned(
        "2 try; 2 cancel; 2 > 1; 2 try | 2 > 1; 1 > 2; 1 > 2; 2 > 1; 2 try; rest", expect![[r#"
            1 receives request from 2: CE-7 denies ticket 2/2; denied → 2
            2 receives grant from 1: CE-6 returns ticket 2/1 unused; release → 1
            2 receives denied from 1: denied
            1 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty
            2 try: CE-1 requests entry with ticket 2/3; request → 1
            1 receives request from 2: CE-2 grants ticket 2/3; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/3; ENTERS (fence 0.2)
        "#]]);

    ce_6_the_grant_of_a_discarded_try_does_not_admit_with_the_next_ticket(
        "2 try; 2 cancel; 2 acquire; 2 > 1 | 2 > 1; 1 > 2; 2 > 1; 1 > 2", expect![[r#"
            1 receives request from 2: CE-2 queues ticket 2/2: ticket 2/1 is granted
            2 receives grant from 1: CE-6 returns ticket 2/1 unused; release → 1
            1 receives release from 2: CE-5 receives ticket 2/1 back; CE-2 grants ticket 2/2; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]]);

    ce_6_the_denial_of_a_discarded_try_ends_nothing_else(
        "1 acquire; 2 try | 2 cancel; 2 acquire; 2 > 1; 1 > 2; 2 > 1; 1 release; rest", expect![[r#"
            2 cancel: cancelled; CE-6 cancels ticket 2/1
            2 acquire: CE-1 requests entry with ticket 2/2; request → 1
            1 receives request from 2: CE-7 denies ticket 2/1; denied → 2
            1 receives request from 2: CE-2 queues ticket 2/2: ticket 1/1 is granted
            1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; CE-2 grants ticket 2/2; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]]);

    ce_7_a_try_is_denied_while_the_lock_is_held("1 acquire; 2 try; 2 > 1; 1 > 2; 1 release; 2 try; rest", expect![[r#"
        1 acquire: CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
        2 try: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-7 denies ticket 2/1; denied → 2
        2 receives denied from 1: denied
        1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
        2 try: CE-1 requests entry with ticket 2/2; request → 1
        1 receives request from 2: CE-2 grants ticket 2/2; grant → 2
        2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
    "#]]);

    ce_7_the_coordinators_own_try_is_denied_at_once("2 acquire; 2 > 1; 1 try", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
        1 try: CE-1 requests entry with ticket 1/1; CE-7 denies ticket 1/1; denied
    "#]]);

    /// Node 3 believes that it is a member; nodes 1 and 2 know that it is not.
    ce_2_a_request_of_a_nonmember_is_ignored(
        by with_a_nonmember(Central::new), "3 acquire; 3 > 1; 3 cancel; 3 > 1", expect![[r#"
            3 acquire: CE-1 requests entry with ticket 3/1; request → 1
            1 receives request from 3: CE-2 ignores ticket 3/1: its node is not a member
            3 cancel: cancelled; CE-6 cancels ticket 3/1; release → 1
        "#]]);

    /// Node 3 believes that node 2 is the coordinator; node 2 does not.
    ce_2_only_the_coordinator_serves(by with_another_coordinator, "3 acquire; 3 > 2; 3 cancel; 3 > 2", expect![[r#"
        3 acquire: CE-1 requests entry with ticket 3/1; request → 2
        2 receives request from 3: CE-2 ignores ticket 3/1: not the coordinator
        3 cancel: cancelled; CE-6 cancels ticket 3/1; release → 2
        2 receives release from 3: CE-5 ignores ticket 3/1: not the coordinator
    "#]]);
}

/// Nodes 1 and 2 know that node 1 (index 0) coordinates; node 3 believes that node 2 (index 1)
/// does.
fn with_another_coordinator(me: NodeId, group: Group) -> Central {
    Central::with_coordinator(me, group, NodeId::from_index(usize::from(me.number() == 3)))
}
