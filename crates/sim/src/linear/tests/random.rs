//! Random histories: really linearizable ones, spoilt ones, and small ones that are judged by brute
//! force.

use super::{Told, assert_explains, beginning, history, some_order_explains};
use crate::linear::keyed::{At, Keyed};
use crate::linear::register::{Answer, Operation, Register};
use crate::linear::{Client, History, Object, OperationId, STEPS, Verdict};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::proptest;
use proptest::test_runner::Config;

/// An operation of an execution: asked at `from`, done `wait` later if at all, answered `more`
/// after that if at all.
#[derive(Clone, Debug)]
struct Act {
    client: u32,
    from: i64,
    wait: i64,
    more: i64,
    operation: Operation,
    is_done: bool,
    is_answered: bool,
}

fn operations() -> impl Strategy<Value = Operation> {
    let values = || 0..3_u64;
    let expected = prop_oneof![Just(None), values().prop_map(Some)];
    prop_oneof![
        3 => Just(Operation::Read),
        2 => values().prop_map(Operation::Write),
        1 => (expected, values()).prop_map(|(expect, new)| Operation::CompareAndSet { expect, new }),
    ]
}

fn acts(span: i64) -> impl Strategy<Value = Act> {
    let likely = || prop_oneof![4 => Just(true), 1 => Just(false)];
    (0..4_u32, 0..span, 0..6_i64, 0..6_i64, operations(), likely(), likely()).prop_map(
        |(client, from, wait, more, operation, is_done, is_answered)| Act {
            client,
            from,
            wait,
            more,
            operation,
            is_done,
            is_answered,
        },
    )
}

/// What clients would tell of an object that really does one operation at a time.
fn carry_out(acts: &[Act]) -> Vec<Told> {
    let mut told: Vec<Told> = acts
        .iter()
        .map(|act| Told { client: act.client, from: act.from, operation: act.operation, answer: None })
        .collect();
    let mut done: Vec<usize> = (0..acts.len()).filter(|index| acts[*index].is_done).collect();
    done.sort_by_key(|index| acts[*index].from + acts[*index].wait);
    let mut register = Register::default();
    for index in done {
        let act = &acts[index];
        let answer = register.apply(&act.operation);
        if act.is_answered {
            told[index].answer = Some((act.from + act.wait + act.more, answer));
        }
    }
    told
}

/// Gives one answered operation another answer of its kind.
fn spoil(told: &mut [Told], which: usize, how: u64) {
    let answered: Vec<usize> = (0..told.len()).filter(|index| told[*index].answer.is_some()).collect();
    let Some(index) = answered.get(which % answered.len().max(1)) else { return };
    if let Some((_, answer)) = &mut told[*index].answer {
        *answer = match *answer {
            Answer::Value(_) => Answer::Value((how % 4).checked_sub(1)),
            Answer::Set => Answer::Differs,
            Answer::Differs => Answer::Set,
            Answer::Written => Answer::Written,
        };
    }
}

fn judge(told: &[Told]) -> Verdict {
    history(told).judge(&Register::default())
}

/// The verdict must be that of brute force, and what it says for a reason must be true.
fn assert_right(told: &[Told]) {
    match judge(told) {
        Verdict::Linearizable { order } => assert_explains(&order, told),
        Verdict::NotLinearizable(explanation) => {
            assert!(!some_order_explains(told), "{explanation}\n{told:?}");
            assert_begins_badly(told, explanation.misfit, &explanation.before);
            assert_contradict(told, &explanation.conflict);
        }
        verdict @ Verdict::Undecided { .. } => panic!("{verdict}"),
    }
}

/// The answer is the first that no order explains. Answers of one instant are told in the order of
/// their operations.
fn assert_begins_badly(told: &[Told], misfit: OperationId, before: &[OperationId]) {
    let (instant, _) = told[misfit.index()].answer.expect("a misfit has an answer");
    let mut good = beginning(told, instant);
    for (index, it) in good.iter_mut().enumerate() {
        if index >= misfit.index() && it.answer.is_some_and(|(to, _)| to == instant) {
            it.answer = None;
        }
    }
    assert_explains(before, &good);
    good[misfit.index()] = told[misfit.index()].clone();
    assert!(!some_order_explains(&good), "{misfit} fits: {good:?}");
}

/// These answers contradict each other, and without any of them the others do not.
fn assert_contradict(told: &[Told], conflict: &[OperationId]) {
    let only = |kept: &dyn Fn(usize) -> bool| -> Vec<Told> {
        told.iter().enumerate().map(|(index, it)| if kept(index) { it.clone() } else { it.without_answer() }).collect()
    };
    let is_in = |index: usize| conflict.iter().any(|id| id.index() == index);
    assert!(!some_order_explains(&only(&is_in)), "{conflict:?} do not contradict: {told:?}");
    for id in conflict {
        let fewer = only(&|index| is_in(index) && index != id.index());
        assert!(some_order_explains(&fewer), "{conflict:?} contradict without {id}: {told:?}");
    }
}

fn keyed(told: &[Told], keys: &[u8]) -> History<Keyed<u8, Register>> {
    let mut history = History::new();
    for (it, key) in told.iter().zip(keys) {
        let operation = At { key: *key, operation: it.operation };
        let id = history.invoke(Client(it.client), super::at(it.from), operation);
        if let Some((to, answer)) = it.answer {
            history.answer(id, super::at(to), answer).expect("each answer once, after its question");
        }
    }
    history
}

proptest! {
    #![proptest_config(Config::with_cases(2_000))]

    #[test]
    fn what_one_object_did_is_accepted(acts in vec(acts(60), 0..60)) {
        let told = carry_out(&acts);
        match judge(&told) {
            Verdict::Linearizable { order } => assert_explains(&order, &told),
            verdict @ (Verdict::NotLinearizable(_) | Verdict::Undecided { .. }) => panic!("{verdict}\n{told:?}"),
        }
    }

    #[test]
    fn small_histories_are_judged_as_by_brute_force(
        acts in vec(acts(12), 0..7),
        spoilt in vec((any::<usize>(), any::<u64>()), 0..3),
    ) {
        let mut told = carry_out(&acts);
        for (which, how) in spoilt {
            spoil(&mut told, which, how);
        }
        assert_right(&told);
    }

    #[test]
    fn reasons_are_true_where_doubts_are_many(
        mut acts in vec(acts(10), 0..8),
        doubtful in vec(any::<bool>(), 8),
        spoilt in (any::<usize>(), any::<u64>()),
    ) {
        for (act, is_doubtful) in acts.iter_mut().zip(doubtful) {
            act.is_answered &= !is_doubtful;
        }
        let mut told = carry_out(&acts);
        spoil(&mut told, spoilt.0, spoilt.1);
        assert_right(&told);
    }

    #[test]
    fn keys_one_by_one_give_the_verdict_of_the_whole(
        acts in vec((acts(30), 0..3_u8), 0..24),
        spoilt in vec((any::<usize>(), any::<u64>()), 0..3),
    ) {
        let (acts, keys): (Vec<_>, Vec<_>) = acts.into_iter().unzip();
        let mut told: Vec<Told> = acts.iter().map(|act| carry_out(std::slice::from_ref(act)).remove(0)).collect();
        for key in 0..3 {
            let mine: Vec<usize> = (0..acts.len()).filter(|index| keys[*index] == key).collect();
            let done = carry_out(&mine.iter().map(|index| acts[*index].clone()).collect::<Vec<_>>());
            for (index, it) in mine.into_iter().zip(done) {
                told[index] = it;
            }
        }
        for (which, how) in spoilt {
            spoil(&mut told, which, how);
        }
        let history = keyed(&told, &keys);
        let fresh = Keyed::new(Register::default());
        let whole = history.judge(&fresh);
        let by_key = history.judge_by_key(&fresh, STEPS, |operation| operation.key);
        assert_eq!(whole.is_linearizable(), by_key.is_linearizable(), "{whole}\n{by_key}\n{told:?}");
        assert!(!matches!(by_key, Verdict::Undecided { .. }), "{by_key}");
        if let Verdict::Linearizable { order } = by_key {
            assert_keyed_order(&order, &told, &keys);
        }
    }
}

/// The merged order is one of the whole: within each key it explains the answers, and across keys
/// it keeps to real time.
fn assert_keyed_order(order: &[OperationId], told: &[Told], keys: &[u8]) {
    for (place, id) in order.iter().enumerate() {
        for later in &order[place..] {
            assert!(!told[later.index()].precedes(&told[id.index()]), "{later} was over before {id} began: {order:?}");
        }
    }
    let mut store = Keyed::new(Register::default());
    for id in order {
        let it = &told[id.index()];
        let answer = store.apply(&At { key: keys[id.index()], operation: it.operation });
        assert!(it.answer.is_none_or(|(_, given)| given == answer), "{id} answers {answer}: {order:?} of {told:?}");
    }
    let answered = told.iter().filter(|it| it.answer.is_some()).count();
    assert!(order.iter().filter(|id| told[id.index()].answer.is_some()).count() == answered, "some are missing");
}
