//! One test for each rule.

use super::Unordered;
use crate::multicast::Notes;
use crate::multicast::drill::{bare, group, heard, id, play, prune, settle, survey};

#[test]
fn un_1_what_comes_first_is_delivered_first() {
    let trace = play::<Unordered>(&group(2), "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2");
    assert_eq!(heard(&trace, 1), ["1#1", "1#2"], "{trace}");
    assert_eq!(heard(&trace, 2), ["1#2", "1#1"], "{trace}");
}

#[test]
fn un_2_what_anybody_holds_is_delivered_by_all() {
    let held = bare([(2, 2), (1, 1), (2, 4)]);
    let survey = survey(held, [0, 1, 0], [(1, Notes::Nothing), (3, Notes::Nothing)]);
    assert_eq!(settle::<Unordered>(&survey), [id(1, 1), id(2, 2), id(2, 4)], "gaps do not matter");
    assert_eq!(prune::<Unordered>([id(2, 4), id(3, 1)], &survey), [id(2, 4)], "nobody holds 3#1 any more");
}
