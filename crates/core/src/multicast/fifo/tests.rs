//! Tests of the rules of FIFO order.
//!
//! In scripts, `1 send` lets node 1 multicast, `1 > 2` lets node 2 receive the oldest message from
//! 1, `1 > 2 overtakes 1` the second oldest, which overtakes one message, and `1 > 2 last` the
//! newest; `testing.rs` lists all steps. `2#1` is the first message of node 2.
//!
//! A survey is what the survivors of a view know when it ends: the messages that any of them holds,
//! for each of the three senders the number of its messages that all members hold, and the report
//! of each survivor about the order.

use super::Fifo;
use crate::multicast::OrderReport;
use crate::multicast::support::{default_plan, delivered_by, id, run_script, settle, survey, without_causes};

#[test]
fn fi_1_a_message_waits_for_earlier_ones() {
    let trace = run_script::<Fifo>(&default_plan(2), "1 send\n1 send\n1 > 2 overtakes 1");
    assert!(trace.contains("FI-1 1#2 waits for 1#1"), "{trace}");
    assert_eq!(delivered_by(&trace, 2), [""; 0], "{trace}");
}

#[test]
fn fi_2_the_missing_message_releases_those_that_waited_for_it() {
    let trace = run_script::<Fifo>(&default_plan(2), "1 send\n1 send\n1 send\n1 > 2 last\n1 > 2 overtakes 1\n1 > 2");
    assert_eq!(delivered_by(&trace, 2), ["1#1", "1#2", "1#3"], "{trace}");
}

#[test]
fn fi_2_senders_do_not_wait_for_each_other() {
    let trace = run_script::<Fifo>(&default_plan(3), "1 send\n1 send\n2 send\n1 > 3 last\n2 > 3\n1 > 3");
    assert_eq!(delivered_by(&trace, 3), ["2#1", "1#1", "1#2"], "{trace}");
}

#[test]
fn fi_3_messages_after_a_gap_are_dropped_when_a_view_ends() {
    let held = without_causes([(1, 2), (1, 3), (2, 1), (2, 3), (3, 5)]);
    let survey = survey(held, [1, 0, 5], [(1, OrderReport::Nothing)]);
    assert_eq!(
        settle::<Fifo>(&survey),
        [id(1, 2), id(1, 3), id(2, 1), id(3, 5)],
        "all members hold 1#1 and 3#5, and none holds 2#2"
    );
}
