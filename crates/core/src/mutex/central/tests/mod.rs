//! The rules of the central coordinator, one script each and more for the nasty cases. Node 1 coordinates.

mod giving_up;
mod when_busy;

use super::Central;
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(3, Central::new, script, trace);
}

fn check_group(nodes: usize, make: impl Fn(NodeId, Group) -> Central, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, make, script));
}

#[test]
fn ce_1_asked_to_enter_a_node_sends_a_ticket_to_the_coordinator() {
    check(
        "2 acquire",
        expect![[r#"
        2 acquire: CE-1 asks with ticket 2/1; request → 1
    "#]],
    );
}

#[test]
fn ce_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "2 acquire; 2 acquire; 2 try; rest; 2 acquire; 2 try",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            2 acquire: refused: a request is already under way
            2 try: refused: a request is already under way
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            2 acquire: refused: already inside
            2 try: refused: already inside
        "#]],
    );
}

#[test]
fn ce_1_the_coordinators_own_entry_costs_no_message() {
    check(
        "1 acquire; 1 release; 1 try; 1 release",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
            1 try: CE-1 asks with ticket 1/2; CE-2 grants ticket 1/2; CE-3 enters with ticket 1/2; ENTERS (fence 0.2)
            1 release: LEAVES; CE-4 gives ticket 1/2 back; CE-5 has ticket 1/2 back; nobody waits
        "#]],
    );
}

#[test]
fn ce_2_a_ticket_is_granted_if_nobody_is_inside_else_queued() {
    check(
        "2 acquire; 3 acquire; 2 > 1; 3 > 1",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            1 hears request from 3: CE-2 queues ticket 3/1: ticket 2/1 is inside
        "#]],
    );
}

/// Node 2 asks first, but its ticket arrives after that of 3: the queue knows only arrivals.
#[test]
fn ce_2_the_queue_is_in_order_of_arrival() {
    check(
        "
        1 acquire; 2 acquire; 3 acquire; 3 > 1; 2 > 1; 1 release; 1 acquire; rest; 3 release; rest
        2 release; rest
        ",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 3: CE-2 queues ticket 3/1: ticket 1/1 is inside
            1 hears request from 2: CE-2 queues ticket 2/1: ticket 1/1 is inside
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; CE-2 grants ticket 3/1; grant → 3
            1 acquire: CE-1 asks with ticket 1/2; CE-2 queues ticket 1/2: ticket 3/1 is inside
            3 hears grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
            3 release: LEAVES; CE-4 gives ticket 3/1 back; release → 1
            1 hears release from 3: CE-5 has ticket 3/1 back; CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.3)
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; CE-2 grants ticket 1/2; CE-3 enters with ticket 1/2; ENTERS (fence 0.4)
        "#]],
    );
}

#[test]
fn ce_2_a_ticket_in_the_name_of_another_is_ignored() {
    check(
        "2 acquire; 2 > 1 as 3",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 3: CE-2 ignores ticket 2/1, which 3 brought
        "#]],
    );
}

#[test]
fn ce_2_a_stranger_is_not_served() {
    let group_of = |me: NodeId, all: Group| if me.number() == 3 { all } else { Group::of_size(2) };
    check_group(
        3,
        |me, all| Central::new(me, group_of(me, all)),
        "3 acquire; 3 > 1; 3 cancel; 3 > 1",
        expect![[r#"
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 3: CE-2 ignores ticket 3/1: it is void
            3 cancel: cancelled; CE-6 gives ticket 3/1 up; release → 1
            1 hears release from 3: nothing
        "#]],
    );
}

/// Node 3 takes node 2 for the coordinator, which knows better.
#[test]
fn ce_2_only_the_coordinator_serves() {
    let coordinator = |me: NodeId| NodeId::from_index(usize::from(me.number() == 3));
    check_group(
        3,
        |me, all| Central::with_coordinator(me, all, coordinator(me)),
        "3 acquire; 3 > 2; 3 cancel; 3 > 2",
        expect![[r#"
            3 acquire: CE-1 asks with ticket 3/1; request → 2
            2 hears request from 3: CE-2 ignores ticket 3/1: not the coordinator
            3 cancel: cancelled; CE-6 gives ticket 3/1 up; release → 2
            2 hears release from 3: CE-5 ignores ticket 3/1: not the coordinator
        "#]],
    );
}

#[test]
fn ce_3_a_grant_admits_the_one_who_waits_with_its_ticket() {
    check(
        "2 acquire; 2 > 1; 1 > 2",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ce_3_only_the_coordinator_can_grant_or_deny() {
    check(
        "2 acquire; 2 > 1; 1 > 2 as 3; 3 try; 3 > 1; 1 > 3 as 2",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 3: CE-3 ignores an answer to ticket 2/1: 3 is not the coordinator
            3 try: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 3: CE-7 denies ticket 3/1; denied → 3
            3 hears denied from 2: CE-3 ignores an answer to ticket 3/1: 2 is not the coordinator
        "#]],
    );
}

#[test]
fn ce_4_asked_to_leave_a_node_gives_its_ticket_back() {
    check(
        "2 acquire; rest; 2 release",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
        "#]],
    );
}

#[test]
fn ce_4_a_node_that_is_outside_cannot_leave() {
    check(
        "2 release; 2 acquire; 2 release; 1 release",
        expect![[r#"
            2 release: refused: not inside
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            2 release: refused: not inside
            1 release: refused: not inside
        "#]],
    );
}

#[test]
fn ce_5_a_granted_ticket_that_comes_back_passes_the_turn_on() {
    check(
        "
        2 acquire; 3 acquire; rest; 1 acquire; 2 release; 2 > 1; 1 > 3; 3 release; 3 > 1; 1 release
        ",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            1 hears request from 3: CE-2 queues ticket 3/1: ticket 2/1 is inside
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            1 acquire: CE-1 asks with ticket 1/1; CE-2 queues ticket 1/1: ticket 2/1 is inside
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; CE-2 grants ticket 3/1; grant → 3
            3 hears grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
            3 release: LEAVES; CE-4 gives ticket 3/1 back; release → 1
            1 hears release from 3: CE-5 has ticket 3/1 back; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.3)
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
        "#]],
    );
}

#[test]
fn ce_5_nobody_can_give_the_ticket_of_another_back() {
    check(
        "2 acquire; 3 acquire; rest; 2 release; 2 > 1 as 3",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            1 hears request from 3: CE-2 queues ticket 3/1: ticket 2/1 is inside
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 3: CE-5 ignores ticket 2/1, which 3 brought back
        "#]],
    );
}

#[test]
fn a_group_of_one_coordinates_itself() {
    check_group(
        1,
        Central::new,
        "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            1 try: refused: already inside
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
            1 try: CE-1 asks with ticket 1/2; CE-2 grants ticket 1/2; CE-3 enters with ticket 1/2; ENTERS (fence 0.2)
            1 cancel: refused: already inside
            1 release: LEAVES; CE-4 gives ticket 1/2 back; CE-5 has ticket 1/2 back; nobody waits
        "#]],
    );
}
