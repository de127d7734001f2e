//! Tests of the rules of unordered multicast. `testing.rs` explains the language of the scripts.

use super::Unordered;
use crate::multicast::OrderReport;
use crate::multicast::support::{delivered_by, group, id, prune, run_script, settle, survey, without_causes};

#[test]
fn un_1_messages_are_delivered_in_the_order_of_receipt() {
    let trace = run_script::<Unordered>(&group(2), "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2");
    assert_eq!(delivered_by(&trace, 1), ["1#1", "1#2"], "{trace}");
    assert_eq!(delivered_by(&trace, 2), ["1#2", "1#1"], "{trace}");
}

#[test]
fn un_2_all_members_deliver_what_any_of_them_holds() {
    let held = without_causes([(2, 2), (1, 1), (2, 4)]);
    let survey = survey(held, [0, 1, 0], [(1, OrderReport::Nothing), (3, OrderReport::Nothing)]);
    assert_eq!(settle::<Unordered>(&survey), [id(1, 1), id(2, 2), id(2, 4)], "gaps do not matter");
    assert_eq!(prune::<Unordered>([id(2, 4), id(3, 1)], &survey), [id(2, 4)], "no survivor holds 3#1 any more");
}
