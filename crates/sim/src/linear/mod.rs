//! Linearizability: do the answers that clients got fit one object that does one operation at a
//! time?
//!
//! A [`History`] is told what clients asked and what they were answered, and when. It is
//! *linearizable* if every operation can be given one instant between its question and its answer
//! such that an [`Object`] that carries the operations out in the order of these instants gives
//! exactly these answers. An operation without an answer may have happened at any time after it was
//! asked, or never.
//!
//! The search is Wing and Gong's with Lowe's memory and his laziness; objects made of independent
//! parts are judged part by part ([`History::judge_by_key`]). What cannot be settled within the
//! steps allowed is [`Verdict::Undecided`], never taken for good.
//!
//! ```
//! use quorate_core::Time;
//! use quorate_sim::linear::register::{Answer, Operation, Register};
//! use quorate_sim::linear::{Client, History, Verdict};
//!
//! # fn main() -> Result<(), quorate_sim::linear::Unanswerable> {
//! let at = |ms: i64| Time::from_nanos(ms * 1_000_000);
//! let mut history = History::<Register>::new();
//! let write = history.invoke(Client(1), at(0), Operation::Write(7));
//! let read = history.invoke(Client(2), at(5), Operation::Read);
//! history.answer(write, at(3), Answer::Written)?;
//! history.answer(read, at(6), Answer::Value(None))?; // The write was over before the read began.
//! let verdict = history.judge(&Register::default());
//! assert!(matches!(verdict, Verdict::NotLinearizable(_)), "{verdict}");
//! # Ok(())
//! # }
//! ```

mod bits;
mod explain;
mod history;
pub mod keyed;
mod outcomes;
mod problem;
pub mod register;
mod search;
mod verdict;

#[cfg(test)]
mod tests;

pub use history::{Client, History, OperationId, STEPS, Unanswerable};
pub use verdict::{Explanation, Verdict};

use std::fmt::Display;
use std::hash::Hash;

/// An object that does one operation at a time: what a history is held against.
///
/// It is the meaning of the service that clients used, without its distribution. What it displays
/// is what a person reads in an explanation.
pub trait Object: Clone + Eq + Hash + Display {
    /// What can be asked of it.
    type Operation: Eq + Display;
    /// What it says.
    type Answer: PartialEq + Display;

    /// Carries one operation out. The same state and operation give the same answer and state,
    /// always.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Answer;

    /// Whether an operation that got this answer leaves the object as it is, whatever its state.
    ///
    /// Such operations are placed as soon as their answer fits and never tried elsewhere, which
    /// makes the search far shorter. Saying it of an operation that does change the object may make
    /// a good history look bad, never a bad one look good.
    fn looks_only(operation: &Self::Operation, answer: &Self::Answer) -> bool {
        let (_, _) = (operation, answer);
        false
    }
}
