//! An exhaustive checker for small groups of nodes.
//!
//! A [`Checker`] runs the same nodes as the simulator and the network runtime. It explores the
//! interleavings of deliveries, commands, timers, losses, duplications, crashes, restarts and view
//! changes within bounds, and judges the properties of a family of algorithms: safety, deadlock,
//! and liveness in fair runs. [`Checker::replay`] repeats a counterexample with new nodes, and an
//! observer can record this run in a journal like any other.
//!
//! A [`Clients`] implementation defines what the nodes' clients may do and which properties are
//! judged. This crate contains none of the algorithms that it checks.

mod action;
mod breadth;
mod budgets;
mod checker;
mod clients;
mod content;
mod depth;
#[cfg(feature = "testing")]
pub mod differential;
mod executor;
mod expand;
mod fair;
mod findings;
mod frontier;
mod initial_states;
mod interner;
mod judgement;
mod liveness;
mod local;
mod membership;
mod memory;
mod memory_of_past;
mod notices;
mod parallel;
mod path;
mod reduce;
mod replay;
mod step_table;
mod system;
mod table;
mod tables;
mod visited;
mod walk;
mod worker_group;

pub use breadth::{Progress, SearchEnd};
pub use budgets::MAX_FAULTS;
pub use checker::{Checker, ReportProgress};
pub use clients::{BoundedStateCondition, ClientStep, Clients, Judged, Offer, Property, StateCondition, StepRecord};
pub use findings::{CheckError, Effort, Findings, Pass, Phase, Search, Setup, Timing, Verdict};
pub use local::Checkable;
pub use membership::Views;
pub use notices::CrashNotices;
pub use replay::Counterexample;
pub use step_table::MakeNode;
pub use tables::PastEvent;
pub use walk::Walks;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
