//! One test for each rule.

use super::Fifo;
use crate::multicast::Notes;
use crate::multicast::drill::{bare, group, heard, id, play, settle, survey};

#[test]
fn fi_1_a_message_waits_for_those_before_it() {
    let trace = play::<Fifo>(&group(2), "1 send\n1 send\n1 > 2 overtakes 1");
    assert!(trace.contains("FI-1 1#2 waits for 1#1"), "{trace}");
    assert_eq!(heard(&trace, 2), [""; 0], "{trace}");
}

#[test]
fn fi_2_the_next_one_lets_those_out_that_waited_for_it() {
    let trace = play::<Fifo>(&group(2), "1 send\n1 send\n1 send\n1 > 2 last\n1 > 2 overtakes 1\n1 > 2");
    assert_eq!(heard(&trace, 2), ["1#1", "1#2", "1#3"], "{trace}");
}

#[test]
fn fi_2_senders_do_not_wait_for_each_other() {
    let trace = play::<Fifo>(&group(3), "1 send\n1 send\n2 send\n1 > 3 last\n2 > 3\n1 > 3");
    assert_eq!(heard(&trace, 3), ["2#1", "1#1", "1#2"], "{trace}");
}

#[test]
fn fi_3_what_comes_after_a_gap_is_dropped_when_a_view_ends() {
    let held = bare([(1, 2), (1, 3), (2, 1), (2, 3), (3, 5)]);
    let survey = survey(held, [1, 0, 5], [(1, Notes::Nothing)]);
    assert_eq!(
        settle::<Fifo>(&survey),
        [id(1, 2), id(1, 3), id(2, 1), id(3, 5)],
        "1#1 and 3#5 are held by everyone, and 2#2 by nobody"
    );
}
