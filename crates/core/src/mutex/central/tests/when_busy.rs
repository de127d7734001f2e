//! Tests of the two forms in which the coordinator denies: with and without a queue. In a script,
//! `1 > 2` delivers the oldest message from node 1 to node 2, and `1 > 2 last` the newest; `rest`
//! delivers all messages; `1 fires` fires the oldest timer of node 1. Traces omit the steps before
//! `|` and those without effect (see `crate::mutex::rules`). In a trace, `ticket 2/1` is the first
//! one of node 2, and `fence 0.1` has epoch 0 and counter 1.

use super::super::WhenBusy;
use super::Central;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

const MESSAGE_TIME: Duration = Duration::from_millis(10);

fn denying_node(me: NodeId, group: Group) -> Central {
    Central::with_when_busy(me, group, WhenBusy::deny(&Bounds { message: MESSAGE_TIME, processing: Duration::ZERO }))
}

fn queueing_node(me: NodeId, group: Group) -> Central {
    Central::with_when_busy(me, group, WhenBusy::DenyAndQueue)
}

rule_tests! { denying_node, 3;
    ce_8_a_node_retries_with_its_denied_ticket(
        "2 acquire; rest; 3 acquire; rest; 3 fires; rest; 2 release; rest | 3 fires; rest", expect![[r#"
            3 timer: CE-8 retries with ticket 3/1; request → 1
            1 receives request from 3: CE-2 grants ticket 3/1; grant → 3
            3 receives grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    /// Node 2 retries right after the release, though node 3 requested before it.
    ce_8_the_first_ticket_after_a_release_is_granted(
        "1 acquire; 3 acquire; rest; 2 acquire; rest; 1 release | 2 fires; rest; 3 fires; rest", expect![[r#"
            2 timer: CE-8 retries with ticket 2/1; request → 1
            1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.2)
            3 timer: CE-8 retries with ticket 3/1; request → 1
            1 receives request from 3: CE-7 denies ticket 3/1; denied → 3
            3 receives denied from 1: CE-8 will retry with ticket 3/1
        "#]]);

    ce_8_the_coordinators_own_ticket_is_denied_and_retried_without_a_message(
        "2 acquire; rest; 1 acquire; 1 fires; 2 release; rest; 1 fires", expect![[r#"
            2 acquire: CE-1 requests entry with ticket 2/1; request → 1
            1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            1 acquire: CE-1 requests entry with ticket 1/1; CE-7 denies ticket 1/1; CE-8 will retry with ticket 1/1
            1 timer: CE-8 retries with ticket 1/1; CE-7 denies ticket 1/1; CE-8 will retry with ticket 1/1
            2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
            1 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty
            1 timer: CE-8 retries with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.2)
        "#]]);

    /// No message is in transit, and the coordinator has no state of the ticket.
    ce_8_a_cancellation_before_a_retry_sends_no_message(
        "1 acquire; 2 acquire | rest; 2 cancel; 1 release; 2 acquire; rest", expect![[r#"
            1 receives request from 2: CE-7 denies ticket 2/1; denied → 2
            2 receives denied from 1: CE-8 will retry with ticket 2/1
            2 cancel: cancelled; CE-6 cancels ticket 2/1
            1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
            2 acquire: CE-1 requests entry with ticket 2/2; request → 1
            1 receives request from 2: CE-2 grants ticket 2/2; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]]);

    ce_8_the_grant_of_a_cancelled_ticket_is_returned(
        "2 acquire; 2 > 1; 2 cancel | 3 acquire; 3 > 1; 1 > 3; 1 > 2; 2 > 1; 3 fires; rest", expect![[r#"
            3 acquire: CE-1 requests entry with ticket 3/1; request → 1
            1 receives request from 3: CE-7 denies ticket 3/1; denied → 3
            3 receives denied from 1: CE-8 will retry with ticket 3/1
            2 receives grant from 1: CE-6 returns ticket 2/1 unused; release → 1
            1 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty
            3 timer: CE-8 retries with ticket 3/1; request → 1
            1 receives request from 3: CE-2 grants ticket 3/1; grant → 3
            3 receives grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    ce_8_a_denied_try_is_not_retried("1 acquire; 2 try; rest; 1 release", expect![[r#"
        1 acquire: CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
        2 try: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-7 denies ticket 2/1; denied → 2
        2 receives denied from 1: denied
        1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
    "#]]);
}

rule_tests! { queueing_node, 3;
    ce_9_a_queued_node_receives_a_denial_first(
        "2 acquire; rest; 3 acquire | rest; 2 release; rest", expect![[r#"
            1 receives request from 3: CE-2 queues ticket 3/1: ticket 2/1 is granted; CE-9 denies ticket 3/1 for now; denied → 3
            3 receives denied from 1: CE-9 is denied for now, and waits with ticket 3/1
            2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
            1 receives release from 2: CE-5 receives ticket 2/1 back; CE-2 grants ticket 3/1; grant → 3
            3 receives grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    ce_9_a_free_lock_is_granted_without_a_denial(
        "2 acquire; rest; 2 release; rest | 3 acquire; rest", expect![[r#"
            3 acquire: CE-1 requests entry with ticket 3/1; request → 1
            1 receives request from 3: CE-2 grants ticket 3/1; grant → 3
            3 receives grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    ce_9_the_coordinator_denies_itself_without_a_message("2 acquire; rest; 1 acquire; 2 release; rest", expect![[r#"
        2 acquire: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-2 grants ticket 2/1; grant → 2
        2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
        1 acquire: CE-1 requests entry with ticket 1/1; CE-2 queues ticket 1/1: ticket 2/1 is granted; CE-9 denies ticket 1/1 for now; CE-9 is denied for now, and waits with ticket 1/1
        2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
        1 receives release from 2: CE-5 receives ticket 2/1 back; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.2)
    "#]]);

    /// The denial arrives after the entry has ended.
    ce_9_a_denial_that_a_grant_overtakes_has_no_effect(
        "1 acquire; 2 acquire | 2 > 1; 1 release; 1 > 2 last; 2 release; 2 > 1; 2 acquire; 1 > 2; rest", expect![[r#"
            1 receives request from 2: CE-2 queues ticket 2/1: ticket 1/1 is granted; CE-9 denies ticket 2/1 for now; denied → 2
            1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; CE-2 grants ticket 2/1; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.2)
            2 release: LEAVES; CE-4 returns ticket 2/1; release → 1
            1 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty
            2 acquire: CE-1 requests entry with ticket 2/2; request → 1
            1 receives request from 2: CE-2 grants ticket 2/2; grant → 2
            2 receives grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.3)
        "#]]);

    ce_9_a_denial_that_crosses_a_cancellation_has_no_effect(
        "1 acquire; 2 acquire | 2 > 1; 2 cancel; 2 try; 1 > 2; rest", expect![[r#"
            1 receives request from 2: CE-2 queues ticket 2/1: ticket 1/1 is granted; CE-9 denies ticket 2/1 for now; denied → 2
            2 cancel: cancelled; CE-6 cancels ticket 2/1; release → 1
            2 try: CE-1 requests entry with ticket 2/2; request → 1
            1 receives release from 2: CE-5 removes ticket 2/1 from the queue
            1 receives request from 2: CE-7 denies ticket 2/2; denied → 2
            2 receives denied from 1: denied
        "#]]);

    ce_9_a_try_is_denied_and_not_queued("1 acquire; 2 try; rest; 1 release", expect![[r#"
        1 acquire: CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
        2 try: CE-1 requests entry with ticket 2/1; request → 1
        1 receives request from 2: CE-7 denies ticket 2/1; denied → 2
        2 receives denied from 1: denied
        1 release: LEAVES; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty
    "#]]);
}

#[test]
fn ce_8_the_retry_delay_is_one_to_three_message_times() {
    let delay = Span::between(MESSAGE_TIME, MESSAGE_TIME.times(3));
    assert_eq!(WhenBusy::deny(&Bounds { message: MESSAGE_TIME, processing: Duration::ZERO }), WhenBusy::Deny { delay });
}
