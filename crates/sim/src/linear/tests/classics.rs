//! The cases that every judge of histories must know.

use super::{Told, assert_explains, at, beginning, did, history, unanswered};
use crate::linear::register::{Answer, Operation, Register};
use crate::linear::{Client, Explanation, History, Unanswerable, Verdict};
use Answer::{Differs, Set, Value, Written};
use Operation::{Read, Write};
use expect_test::expect;

fn set_if(expect: Option<u64>, new: u64) -> Operation {
    Operation::CompareAndSet { expect, new }
}

fn good(told: &[Told]) {
    match history(told).judge(&Register::default()) {
        Verdict::Linearizable { order } => assert_explains(&order, told),
        verdict @ (Verdict::NotLinearizable(_) | Verdict::Undecided { .. }) => panic!("{verdict}"),
    }
}

fn bad(told: &[Told]) -> Explanation {
    match history(told).judge(&Register::default()) {
        Verdict::NotLinearizable(explanation) => explanation,
        verdict @ (Verdict::Linearizable { .. } | Verdict::Undecided { .. }) => panic!("{verdict}\n{verdict:?}"),
    }
}

fn conflict(told: &[Told]) -> Vec<usize> {
    bad(told).conflict.into_iter().map(|id| id.index()).collect()
}

#[test]
fn nothing_at_all_is_good() {
    good(&[]);
    good(&[unanswered(1, 0, Read), unanswered(1, 1, Write(1))]);
}

#[test]
fn a_read_may_see_a_write_that_overlaps_it_or_not() {
    for seen in [None, Some(1)] {
        good(&[did(1, 0, 9, Write(1), Written), did(2, 3, 5, Read, Value(seen))]);
    }
}

#[test]
fn a_stale_read_is_found() {
    let told = [
        did(1, 0, 1, Write(1), Written),
        did(3, 0, 9, Write(5), Written),
        did(1, 2, 3, Write(2), Written),
        did(3, 4, 5, Read, Value(Some(2))),
        did(2, 4, 6, Read, Value(Some(1))),
    ];
    let explanation = bad(&told);
    assert_explains(&explanation.before, &beginning(&told, 5));
    expect![[r#"
        Not linearizable: no order explains the answer to #4 (c2, read).
        These 3 answers contradict each other, whenever the other operations happened, if at all:
              client  asked  answered  operation  answer
          #0  c1      0ms    1ms       write 1    written
          #2  c1      2ms    3ms       write 2    written
          #4  c2      4ms    6ms       read       1
        This order explains every earlier answer. It leaves the object as 2, where the answer is 2:
          #0 (c1, write 1)
          #2 (c1, write 2)
          #3 (c3, read)
    "#]]
    .assert_eq(&explanation.to_string());
}

#[test]
fn a_lost_update_is_found() {
    let told =
        [did(1, 0, 5, set_if(None, 1), Set), did(2, 0, 6, set_if(None, 2), Set), did(3, 8, 9, Read, Value(Some(2)))];
    let explanation = bad(&told);
    assert_eq!((explanation.misfit.index(), conflict(&told)), (1, vec![0, 1]));
    expect![[r#"
        Not linearizable: no order explains the answer to #1 (c2, set 2 if empty).
        These 2 answers contradict each other, whenever the other operations happened, if at all:
              client  asked  answered  operation       answer
          #0  c1      0ms    5ms       set 1 if empty  set
          #1  c2      0ms    6ms       set 2 if empty  set
        This order explains every earlier answer. It leaves the object as 1, where the answer is differs:
          #0 (c1, set 1 if empty)
    "#]]
    .assert_eq(&explanation.to_string());
}

#[test]
fn an_inversion_of_real_time_is_found() {
    // Each client alone sees a fine order; the reads one after the other see time run backwards.
    let told = [
        did(1, 0, 9, Write(1), Written),
        did(2, 0, 9, Write(2), Written),
        did(3, 10, 11, Read, Value(Some(2))),
        did(4, 12, 13, Read, Value(Some(1))),
    ];
    assert_eq!(conflict(&told), [0, 2, 3]);
    let overlapping = [told[0].clone(), told[1].clone(), did(3, 5, 11, Read, Value(Some(2))), told[3].clone()];
    good(&overlapping);
}

#[test]
fn a_value_that_was_never_written_is_found() {
    let told =
        [did(1, 0, 1, Write(1), Written), did(2, 0, 3, Read, Value(Some(7))), did(1, 4, 5, Read, Value(Some(1)))];
    expect![[r#"
        Not linearizable: no order explains the answer to #1 (c2, read).
        It cannot be given, whenever the other operations happened, if at all:
              client  asked  answered  operation  answer
          #1  c2      0ms    3ms       read       7
        This order explains every earlier answer. It leaves the object as 1, where the answer is 1:
          #0 (c1, write 1)
    "#]]
    .assert_eq(&bad(&told).to_string());
}

#[test]
fn a_value_cannot_be_read_before_it_is_written() {
    let told = [did(2, 0, 1, Read, Value(Some(1))), did(1, 2, 3, Write(1), Written)];
    assert_eq!(bad(&told).misfit.index(), 0);
}

#[test]
fn an_unanswered_write_may_be_seen_late_or_never_but_not_seen_and_then_unseen() {
    let read = |from, seen| did(2, from, from + 1, Read, Value(seen));
    let write = || unanswered(1, 0, Write(1));
    good(&[write(), read(2, None), read(4, None)]);
    good(&[write(), read(2, None), read(4, Some(1)), read(6, Some(1))]);
    assert_eq!(conflict(&[write(), read(2, None), read(4, Some(1)), read(6, None)]), [2, 3]);
    // It happens once: after another write it does not come back.
    let again = [write(), read(2, Some(1)), did(3, 4, 5, Write(2), Written), read(6, Some(2)), read(8, Some(1))];
    assert_eq!(bad(&again).misfit.index(), 4);
    // Two that are alike may both happen.
    let mut twice = again.to_vec();
    twice.push(unanswered(4, 0, Write(1)));
    good(&twice);
}

#[test]
fn an_unanswered_operation_does_not_happen_before_it_is_asked() {
    assert_eq!(bad(&[did(2, 0, 1, Read, Value(Some(1))), unanswered(1, 2, Write(1))]).misfit.index(), 0);
}

#[test]
fn the_answer_that_comes_last_is_blamed_even_if_it_was_asked_first() {
    // Somebody saw the 1, so it was set; only the answer at the end says that it was not.
    let told = [did(1, 0, 9, set_if(None, 1), Differs), did(2, 3, 4, Read, Value(Some(1))), unanswered(3, 0, Write(5))];
    let explanation = bad(&told);
    assert_eq!(explanation.misfit.index(), 0);
    assert_explains(&explanation.before, &beginning(&told, 4));
    expect![[r#"
        Not linearizable: no order explains the answer to #0 (c1, set 1 if empty).
        These 2 answers contradict each other, whenever the other operations happened, if at all:
              client  asked  answered  operation       answer
          #0  c1      0ms    9ms       set 1 if empty  differs
          #1  c2      3ms    4ms       read            1
        This order explains every earlier answer, but #0 answers set in it:
          #0 (c1, set 1 if empty)
          #1 (c2, read)
    "#]]
    .assert_eq(&explanation.to_string());
}

#[test]
fn a_chain_of_sets_has_one_order() {
    let mut told: Vec<_> = (0..40_u64).map(|n| did(n as u32, 0, 9, set_if(n.checked_sub(1), n), Set)).collect();
    told.reverse();
    good(&told);
    told.push(did(50, 10, 11, Read, Value(Some(38))));
    assert_eq!(bad(&told).misfit.index(), 40);
}

#[test]
fn what_is_told_of_one_instant_happened_as_it_was_told() {
    let judge = |write_is_over_first: bool| {
        let mut history = History::<Register>::new();
        let write = history.invoke(Client(1), at(0), Write(1));
        let mut read = None;
        if !write_is_over_first {
            read = Some(history.invoke(Client(2), at(5), Read));
        }
        history.answer(write, at(5), Written).expect("the first answer");
        let read = read.unwrap_or_else(|| history.invoke(Client(2), at(5), Read));
        history.answer(read, at(5), Value(None)).expect("the first answer");
        history.judge(&Register::default()).is_linearizable()
    };
    assert!(judge(false));
    assert!(!judge(true));
}

#[test]
fn an_answer_that_makes_no_sense_is_refused_and_changes_nothing() {
    let mut history = History::<Register>::new();
    let write = history.invoke(Client(1), at(5), Write(1));
    let early = history.answer(write, at(4), Written);
    assert_eq!(early, Err(Unanswerable::BeforeItsQuestion { id: write, invoked: at(5), answered: at(4) }));
    history.answer(write, at(6), Written).expect("the first answer");
    assert_eq!(history.answer(write, at(7), Differs), Err(Unanswerable::Twice(write)));
    let elsewhere = {
        let mut other = super::history(&[unanswered(1, 0, Read)]);
        other.invoke(Client(1), at(0), Read)
    };
    assert_eq!(history.answer(elsewhere, at(7), Written), Err(Unanswerable::Unknown(elsewhere)));
    assert!(history.judge(&Register::default()).is_linearizable());
}

#[test]
fn steps_that_run_out_are_no_verdict() {
    let told: Vec<_> = (0..9).map(|n| did(n, 0, 9, Write(u64::from(n)), Written)).collect();
    let verdict = history(&told).judge_within(&Register::default(), 3);
    assert!(matches!(verdict, Verdict::Undecided { steps: 3, answers: 9, .. }), "{verdict:?}");
    assert!(!verdict.is_linearizable());
    assert!(verdict.to_string().starts_with("no order was found or excluded in 3 steps: "), "{verdict}");
}
