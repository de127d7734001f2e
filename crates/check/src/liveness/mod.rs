//! Can a run go on for ever without what must happen? The answer, on the graph of all states.
//!
//! What must happen fails to happen in one of two ways: a run ends without it, which shows on the state where it ends,
//! or a run goes round for ever without it. In a finite graph the second kind is a lasso: a way to a state, and from
//! there a cycle back to it, all of whose states still lack what must happen. Not every such cycle counts. A run that
//! goes round while a message lies ready all the time, and never takes it, is no fault of the algorithm: it is unfair.
//!
//! So a search has two steps. [`cyclic_components`] finds where runs can go round among the states that lack it;
//! [`fair_cycle`] finds a cycle there that is fair, or shows that there is none. Every answer depends on the graph
//! alone, never on chance, so that a counterexample is the same on every machine.

mod components;
mod graph;
mod lasso;
#[cfg(test)]
mod tests;

pub(crate) use components::cyclic_components;
pub(crate) use graph::Graph;
pub(crate) use lasso::{Fairness, fair_cycle};
