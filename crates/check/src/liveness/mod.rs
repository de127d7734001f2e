//! Liveness on the graph of all states: can a run continue forever without reaching its goal?
//!
//! A run can miss its goal in one of two ways: it ends without it, which is visible in its last
//! state, or it cycles forever without it. In a finite graph the second kind is a lasso: a path to
//! a state, and from there a cycle back to it. The goal holds in no state of the cycle; on the path
//! it may have held for a while. Not every such cycle counts. A run that cycles while a message
//! could be delivered all the time, and never delivers it, is unfair, and shows no fault of the
//! algorithm.
//!
//! So a search has two steps. [`cyclic_components`] finds where runs can cycle among the states
//! without the goal; [`fair_cycle`] finds a fair cycle there, or proves that there is none. Every
//! answer depends on the graph alone, never on chance, so a counterexample is the same on every
//! machine.

mod components;
mod graph;
mod lasso;
#[cfg(test)]
mod tests;

pub(crate) use components::cyclic_components;
pub(crate) use graph::Graph;
pub(crate) use lasso::{Fairness, fair_cycle};
