//! Classic cases of linearizability, such as a stale read and a lost update. The times in
//! `answered(client, invoked_at, answered_at, ..)` are milliseconds.

use super::{TestOperation, answered, assert_explains, at, record_history, unanswered, without_answers_after};
use crate::linear::register::{Answer, Operation, Register};
use crate::linear::{AnswerError, Client, Explanation, History, Verdict};
use Answer::{Differs, Set, Value, Written};
use Operation::{Read, Write};
use expect_test::expect;

fn set_if(expect: Option<u64>, new: u64) -> Operation {
    Operation::CompareAndSet { expect, new }
}

fn assert_linearizable(operations: &[TestOperation]) {
    match record_history(operations).judge(&Register::default()) {
        Verdict::Linearizable { order } => assert_explains(&order, operations),
        verdict @ (Verdict::NotLinearizable(_) | Verdict::Undecided { .. }) => panic!("{verdict}"),
    }
}

fn assert_not_linearizable(operations: &[TestOperation]) -> Explanation {
    match record_history(operations).judge(&Register::default()) {
        Verdict::NotLinearizable(explanation) => explanation,
        verdict @ (Verdict::Linearizable { .. } | Verdict::Undecided { .. }) => panic!("{verdict}\n{verdict:?}"),
    }
}

/// Returns the indices of the operations whose answers contradict each other.
fn conflict_indices(operations: &[TestOperation]) -> Vec<usize> {
    assert_not_linearizable(operations).conflict.into_iter().map(|id| id.index()).collect()
}

#[test]
fn a_history_without_answers_is_linearizable() {
    assert_linearizable(&[]);
    assert_linearizable(&[unanswered(1, 0, Read), unanswered(1, 1, Write(1))]);
}

#[test]
fn a_read_may_see_a_write_that_overlaps_it_or_not() {
    for value in [None, Some(1)] {
        assert_linearizable(&[answered(1, 0, 9, Write(1), Written), answered(2, 3, 5, Read, Value(value))]);
    }
}

#[test]
fn a_stale_read_is_found() {
    let operations = [
        answered(1, 0, 1, Write(1), Written),
        answered(3, 0, 9, Write(5), Written),
        answered(1, 2, 3, Write(2), Written),
        answered(3, 4, 5, Read, Value(Some(2))),
        answered(2, 4, 6, Read, Value(Some(1))),
    ];
    let explanation = assert_not_linearizable(&operations);
    assert_explains(&explanation.order_before, &without_answers_after(&operations, 5));
    expect![[r#"
        Not linearizable: no order explains the answer to #4 (c2, read).
        These 3 answers contradict each other, regardless of when or whether the other operations took effect:
              client  invoked  answered  operation  answer
          #0  c1      0ms      1ms       write 1    written
          #2  c1      2ms      3ms       write 2    written
          #4  c2      4ms      6ms       read       1
        This order explains every earlier answer. In its final state 2, the operation would answer 2:
          #0 (c1, write 1)
          #2 (c1, write 2)
          #3 (c3, read)
    "#]]
    .assert_eq(&explanation.to_string());
}

#[test]
fn a_lost_update_is_found() {
    let operations = [
        answered(1, 0, 5, set_if(None, 1), Set),
        answered(2, 0, 6, set_if(None, 2), Set),
        answered(3, 8, 9, Read, Value(Some(2))),
    ];
    let explanation = assert_not_linearizable(&operations);
    assert_eq!((explanation.unexplained.index(), conflict_indices(&operations)), (1, vec![0, 1]));
    expect![[r#"
        Not linearizable: no order explains the answer to #1 (c2, set 2 if empty).
        These 2 answers contradict each other, regardless of when or whether the other operations took effect:
              client  invoked  answered  operation       answer
          #0  c1      0ms      5ms       set 1 if empty  set
          #1  c2      0ms      6ms       set 2 if empty  set
        This order explains every earlier answer. In its final state 1, the operation would answer differs:
          #0 (c1, set 1 if empty)
    "#]]
    .assert_eq(&explanation.to_string());
}

#[test]
fn an_inversion_of_real_time_is_found() {
    // Each client sees a valid order, but the two successive reads see the writes in different
    // orders.
    let operations = [
        answered(1, 0, 9, Write(1), Written),
        answered(2, 0, 9, Write(2), Written),
        answered(3, 10, 11, Read, Value(Some(2))),
        answered(4, 12, 13, Read, Value(Some(1))),
    ];
    assert_eq!(conflict_indices(&operations), [0, 2, 3]);
    let overlapping =
        [operations[0].clone(), operations[1].clone(), answered(3, 5, 11, Read, Value(Some(2))), operations[3].clone()];
    assert_linearizable(&overlapping);
}

#[test]
fn a_value_that_was_never_written_is_found() {
    let operations = [
        answered(1, 0, 1, Write(1), Written),
        answered(2, 0, 3, Read, Value(Some(7))),
        answered(1, 4, 5, Read, Value(Some(1))),
    ];
    expect![[r#"
        Not linearizable: no order explains the answer to #1 (c2, read).
        No order can give this answer, regardless of when or whether the other operations took effect:
              client  invoked  answered  operation  answer
          #1  c2      0ms      3ms       read       7
        This order explains every earlier answer. In its final state 1, the operation would answer 1:
          #0 (c1, write 1)
    "#]]
    .assert_eq(&assert_not_linearizable(&operations).to_string());
}

#[test]
fn a_value_cannot_be_read_before_it_is_written() {
    let operations = [answered(2, 0, 1, Read, Value(Some(1))), answered(1, 2, 3, Write(1), Written)];
    assert_eq!(assert_not_linearizable(&operations).unexplained.index(), 0);
}

#[test]
fn a_pending_write_may_be_seen_late_or_never_but_not_disappear() {
    let read = |invoked_at, value| answered(2, invoked_at, invoked_at + 1, Read, Value(value));
    let write = || unanswered(1, 0, Write(1));
    assert_linearizable(&[write(), read(2, None), read(4, None)]);
    assert_linearizable(&[write(), read(2, None), read(4, Some(1)), read(6, Some(1))]);
    assert_eq!(conflict_indices(&[write(), read(2, None), read(4, Some(1)), read(6, None)]), [2, 3]);
    // It takes effect once: its value does not reappear after another write.
    let reappearing =
        [write(), read(2, Some(1)), answered(3, 4, 5, Write(2), Written), read(6, Some(2)), read(8, Some(1))];
    assert_eq!(assert_not_linearizable(&reappearing).unexplained.index(), 4);
    // Two equal operations may both take effect.
    let mut twice = reappearing.to_vec();
    twice.push(unanswered(4, 0, Write(1)));
    assert_linearizable(&twice);
}

#[test]
fn a_pending_operation_takes_no_effect_before_its_invocation() {
    assert_eq!(
        assert_not_linearizable(&[answered(2, 0, 1, Read, Value(Some(1))), unanswered(1, 2, Write(1))])
            .unexplained
            .index(),
        0
    );
}

#[test]
fn the_unexplained_answer_is_the_last_answer_even_if_invoked_first() {
    // The read returns 1, so the set took effect. Only the set's own late answer denies it.
    let operations = [
        answered(1, 0, 9, set_if(None, 1), Differs),
        answered(2, 3, 4, Read, Value(Some(1))),
        unanswered(3, 0, Write(5)),
    ];
    let explanation = assert_not_linearizable(&operations);
    assert_eq!(explanation.unexplained.index(), 0);
    assert_explains(&explanation.order_before, &without_answers_after(&operations, 4));
    expect![[r#"
        Not linearizable: no order explains the answer to #0 (c1, set 1 if empty).
        These 2 answers contradict each other, regardless of when or whether the other operations took effect:
              client  invoked  answered  operation       answer
          #0  c1      0ms      9ms       set 1 if empty  differs
          #1  c2      3ms      4ms       read            1
        This order explains every earlier answer, but in it #0 would answer set:
          #0 (c1, set 1 if empty)
          #1 (c2, read)
    "#]]
    .assert_eq(&explanation.to_string());
}

#[test]
fn a_chain_of_conditional_sets_has_one_order() {
    let mut operations: Vec<_> =
        (0..40_u64).map(|n| answered(n as u32, 0, 9, set_if(n.checked_sub(1), n), Set)).collect();
    operations.reverse();
    assert_linearizable(&operations);
    operations.push(answered(50, 10, 11, Read, Value(Some(38))));
    assert_eq!(assert_not_linearizable(&operations).unexplained.index(), 40);
}

#[test]
fn events_at_one_time_are_ordered_by_their_recording() {
    let is_linearizable_if = |write_completes_first: bool| {
        let mut history = History::<Register>::new();
        let write = history.invoke(Client(1), at(0), Write(1));
        let mut read = None;
        if !write_completes_first {
            read = Some(history.invoke(Client(2), at(5), Read));
        }
        history.answer(write, at(5), Written).expect("the first answer");
        let read = read.unwrap_or_else(|| history.invoke(Client(2), at(5), Read));
        history.answer(read, at(5), Value(None)).expect("the first answer");
        history.judge(&Register::default()).is_linearizable()
    };
    assert!(is_linearizable_if(false), "the read overlaps the write, so it may miss it");
    assert!(!is_linearizable_if(true), "the read follows the write, so it must see it");
}

#[test]
fn an_invalid_answer_is_rejected_without_effect() {
    let mut history = History::<Register>::new();
    let write = history.invoke(Client(1), at(5), Write(1));
    let early = history.answer(write, at(4), Written);
    assert_eq!(early, Err(AnswerError::BeforeInvocation { id: write, invoked: at(5), answered: at(4) }));
    history.answer(write, at(6), Written).expect("the first answer");
    assert_eq!(history.answer(write, at(7), Differs), Err(AnswerError::AlreadyAnswered(write)));
    let id_of_other_history = {
        let mut other = record_history(&[unanswered(1, 0, Read)]);
        other.invoke(Client(1), at(0), Read)
    };
    assert_eq!(
        history.answer(id_of_other_history, at(7), Written),
        Err(AnswerError::UnknownOperation(id_of_other_history))
    );
    assert!(history.judge(&Register::default()).is_linearizable());
}

#[test]
fn a_search_that_runs_out_of_steps_is_undecided() {
    let operations: Vec<_> = (0..9).map(|n| answered(n, 0, 9, Write(u64::from(n)), Written)).collect();
    let verdict = record_history(&operations).judge_within(&Register::default(), 3);
    assert!(matches!(verdict, Verdict::Undecided { steps: 3, answer_count: 9, .. }), "{verdict:?}");
    assert!(!verdict.is_linearizable());
    assert!(verdict.to_string().starts_with("no order was found or excluded in 3 steps: "), "{verdict}");
}
