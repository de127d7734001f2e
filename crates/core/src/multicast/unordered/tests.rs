//! Tests of the rules of unordered multicast.
//!
//! In scripts, `1 send` lets node 1 multicast, `1 > 2` lets node 2 receive the oldest message from
//! 1, and `1 > 2 overtakes 1` the second oldest, which overtakes one message; `testing.rs` lists
//! all steps. `2#1` is the first message of node 2.
//!
//! A survey is what the survivors of a view know when it ends: the messages that any of them holds,
//! for each of the three senders the number of its messages that all members hold, and the report
//! of each survivor about the order.

use super::Unordered;
use crate::multicast::OrderReport;
use crate::multicast::support::{default_plan, delivered_by, id, prune, run_script, settle, survey, without_causes};

#[test]
fn un_1_messages_are_delivered_in_the_order_of_receipt() {
    let trace = run_script::<Unordered>(&default_plan(2), "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2");
    assert_eq!(delivered_by(&trace, 1), ["1#1", "1#2"], "{trace}");
    assert_eq!(delivered_by(&trace, 2), ["1#2", "1#1"], "{trace}");
}

#[test]
fn un_2_when_a_view_ends_all_members_deliver_the_messages_that_any_of_them_holds() {
    let held = without_causes([(2, 2), (1, 1), (2, 4)]);
    let survey = survey(held, [0, 1, 0], [(1, OrderReport::Nothing), (3, OrderReport::Nothing)]);
    assert_eq!(
        settle::<Unordered>(&survey),
        [id(1, 1), id(2, 2), id(2, 4)],
        "2#4 does not wait for 2#3, which no survivor holds"
    );
    // An order that was settled for an earlier survey keeps the messages that this survey knows.
    assert_eq!(prune::<Unordered>([id(2, 4), id(3, 1)], &survey), [id(2, 4)], "no survivor holds 3#1 any more");
}
