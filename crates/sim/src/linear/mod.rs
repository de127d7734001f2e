//! Decides whether a history of operations is linearizable.
//!
//! A [`History`] records the operations that clients invoked and the answers that they received,
//! with their times. It is *linearizable* if every operation can be assigned one instant between
//! its invocation and its answer such that a sequential [`Object`] that applies the operations in
//! the order of these instants gives exactly these answers. An operation without an answer may have
//! taken effect at any time after its invocation, or never.
//!
//! The search is the algorithm of Wing and Gong with Lowe's optimizations. Objects that consist of
//! independent parts can be checked part by part ([`History::judge_by_key`]). If the search runs
//! out of steps, the verdict may be [`Verdict::Undecided`].
//!
//! ```
//! use quorate_core::Time;
//! use quorate_sim::linear::register::{Answer, Operation, Register};
//! use quorate_sim::linear::{Client, History, Verdict};
//!
//! # fn main() -> Result<(), quorate_sim::linear::AnswerError> {
//! let at = |ms: i64| Time::from_nanos(ms * 1_000_000);
//! let mut history = History::<Register>::new();
//! let write = history.invoke(Client(1), at(0), Operation::Write(7));
//! let read = history.invoke(Client(2), at(5), Operation::Read);
//! history.answer(write, at(3), Answer::Written)?;
//! history.answer(read, at(6), Answer::Value(None))?; // The write had completed before the read was invoked.
//! let verdict = history.judge(&Register::default());
//! assert!(matches!(verdict, Verdict::NotLinearizable(_)), "{verdict}");
//! # Ok(())
//! # }
//! ```

mod bit_set;
mod explain;
mod history;
pub mod keyed;
mod problem;
pub mod register;
mod search;
mod transitions;
mod verdict;

#[cfg(test)]
mod tests;

pub use history::{AnswerError, Client, DEFAULT_STEPS, History, OperationId};
pub use verdict::{Explanation, Verdict};

use std::fmt::Display;
use std::hash::Hash;

/// A sequential object: the specification against which a history is checked.
///
/// It specifies the answers of the service that clients used, as if the service ran one operation
/// at a time in one place. Explanations print its `Display` form.
pub trait Object: Clone + Eq + Hash + Display {
    /// An operation on the object.
    type Operation: Eq + Display;
    /// The answer to an operation.
    type Answer: PartialEq + Display;

    /// Applies one operation. Must be deterministic: the answer and the new state depend only on
    /// the operation and the state.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Answer;

    /// Returns whether an operation with this answer never changes the object, in any state.
    ///
    /// The search appends such an operation to its order as soon as the answer matches, and tries
    /// no other place in the order, which makes the search much shorter. If this returns true for
    /// an operation that does change the object, a linearizable history may be rejected; a history
    /// that is not linearizable is never accepted.
    fn is_read_only(operation: &Self::Operation, answer: &Self::Answer) -> bool {
        let (_, _) = (operation, answer);
        false
    }
}
