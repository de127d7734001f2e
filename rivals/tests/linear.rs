//! Compares Quorate's linearizability check with stateright's on thousands of small random
//! histories of a register.
//!
//! The two share no code: stateright recursively tries the next operation of each client;
//! Quorate's is Wing and Gong's search with Lowe's optimizations.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use quorate_core::Time;
use quorate_journal::rng::{SeededRng, Stream};
use quorate_sim::linear::register::{Answer, Operation, Register};
use quorate_sim::linear::{Client, History, OperationId, Verdict};
use stateright::semantics::register::{Register as TheirRegister, RegisterOp, RegisterRet};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester};

const HISTORIES: u64 = 20_000;

/// One history, recorded by both checkers.
struct Both {
    ours: History<Register>,
    theirs: LinearizabilityTester<u32, TheirRegister<Option<u64>>>,
    /// The time of the last event, in nanoseconds.
    now: i64,
    /// The open operation of each client, with the register's answer if it has taken effect.
    open: Vec<Option<Open>>,
    trace: Vec<String>,
}

struct Open {
    id: OperationId,
    operation: Operation,
    due: Option<Answer>,
}

impl Both {
    fn new(clients: usize) -> Self {
        Self {
            ours: History::new(),
            theirs: LinearizabilityTester::new(TheirRegister(None)),
            now: 0,
            open: (0..clients).map(|_| None).collect(),
            trace: Vec::new(),
        }
    }

    fn tick(&mut self) -> Time {
        self.now += 1;
        Time::from_nanos(self.now)
    }

    fn invoke(&mut self, client: usize, operation: Operation) {
        let time = self.tick();
        let id = self.ours.invoke(Client(client as u32), time, operation);
        self.theirs.on_invoke(client as u32, their_operation(operation)).expect("one operation at a time");
        self.trace.push(format!("c{client} invokes {operation}"));
        self.open[client] = Some(Open { id, operation, due: None });
    }

    fn answer(&mut self, client: usize, id: OperationId, answer: Answer) {
        let time = self.tick();
        self.ours.answer(id, time, answer).expect("one answer, after its invocation");
        self.theirs.on_return(client as u32, their_answer(answer)).expect("an operation is open");
        self.trace.push(format!("c{client} receives {answer}"));
    }
}

fn their_operation(operation: Operation) -> RegisterOp<Option<u64>> {
    match operation {
        Operation::Read => RegisterOp::Read,
        Operation::Write(value) => RegisterOp::Write(Some(value)),
        Operation::CompareAndSet { .. } => panic!("their register has no compare-and-set"),
    }
}

fn their_answer(answer: Answer) -> RegisterRet<Option<u64>> {
    match answer {
        Answer::Value(value) => RegisterRet::ReadOk(value),
        Answer::Written => RegisterRet::WriteOk,
        Answer::Set | Answer::Differs => panic!("their register has no compare-and-set"),
    }
}

/// A history of an atomic register, except for some wrong answers. Operations that are open at the
/// end stay unanswered.
fn random_history(seed: u64) -> Both {
    let mut rng = SeededRng::new(seed, Stream::Workload);
    let clients = 2 + rng.below(3);
    // Of ten answers to reads, about this number is random, and probably wrong.
    let random_answers = [0, 1, 3, 6, 9][rng.below(5) as usize];
    let mut both = Both::new(clients as usize);
    let mut register = TheirRegister(None);
    for _ in 0..4 + rng.below(24) {
        let client = rng.below(clients) as usize;
        let chance = rng.below(3);
        match both.open[client].take() {
            None => {
                let operation = if rng.below(2) == 0 { Operation::Read } else { Operation::Write(rng.below(3)) };
                both.invoke(client, operation);
            }
            Some(open) if open.due.is_none() && chance > 0 => {
                let due = Some(apply(&mut register, open.operation));
                both.open[client] = Some(Open { due, ..open });
            }
            Some(open) => {
                let right = open.due.unwrap_or_else(|| apply(&mut register, open.operation));
                let is_random = rng.below(10) < random_answers;
                let answer = match right {
                    Answer::Value(_) if is_random => Answer::Value(rng.below(4).checked_sub(1)),
                    Answer::Value(_) | Answer::Written | Answer::Set | Answer::Differs => right,
                };
                both.answer(client, open.id, answer);
            }
        }
    }
    both
}

fn apply(register: &mut TheirRegister<Option<u64>>, operation: Operation) -> Answer {
    match operation {
        Operation::Write(value) => {
            register.0 = Some(value);
            Answer::Written
        }
        Operation::Read | Operation::CompareAndSet { .. } => Answer::Value(register.0),
    }
}

#[test]
fn both_checkers_agree() {
    let (mut good, mut bad, mut unanswered) = (0_u64, 0_u64, 0_u64);
    for seed in 0..HISTORIES {
        let both = random_history(seed);
        let verdict = both.ours.judge(&Register::default());
        let theirs = both.theirs.is_consistent();
        let agree = match &verdict {
            Verdict::Linearizable { .. } => theirs,
            Verdict::NotLinearizable(_) => !theirs,
            Verdict::Undecided { .. } => false,
        };
        assert!(agree, "seed {seed}: stateright says {theirs}; {verdict}\n{}", both.trace.join("\n"));
        good += u64::from(theirs);
        bad += u64::from(!theirs);
        unanswered += u64::from(both.open.iter().any(Option::is_some));
    }
    println!("{good} linearizable, {bad} not, {unanswered} with unanswered operations");
    assert!(good > HISTORIES / 4, "only {good} of {HISTORIES} histories are linearizable");
    assert!(bad > HISTORIES / 4, "only {bad} of {HISTORIES} histories are not");
    assert!(unanswered > HISTORIES / 4, "only {unanswered} of {HISTORIES} histories have unanswered operations");
}
