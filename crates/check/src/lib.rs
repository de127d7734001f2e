//! The checker: every order in which a small group can do what it does.
//!
//! A [`Checker`] has the same nodes that the simulator and the runtime drive. It explores all interleavings of
//! deliveries, commands, timers, losses, crashes, restarts and changes of views within bounds, and judges a family's properties: safety,
//! deadlock, and liveness under fair delivery. Every counterexample is played again by real nodes before an observer, so
//! it becomes a journal like that of any run.
//!
//! What the nodes' clients may do, and the properties that are judged, are a [`Users`]; this crate knows no family of algorithms.

mod action;
mod breadth;
mod budgets;
mod cast;
mod checker;
mod content;
mod deaths;
mod depth;
#[cfg(feature = "testing")]
pub mod differential;
mod expand;
mod fair;
mod findings;
mod frontier;
mod hands;
mod interner;
mod judgement;
mod liveness;
mod local;
mod membership;
mod memory;
mod parallel;
mod past;
mod play;
mod reduce;
mod stage;
mod system;
mod table;
mod tables;
mod trail;
mod troupe;
mod users;
mod visited;
mod walk;

pub use breadth::{End, Progress};
pub use checker::{Checker, Report};
pub use deaths::Deaths;
pub use findings::{CheckError, Effort, Findings, Pass, Phase, Search, Setup, Timing, Verdict};
pub use local::Checked;
pub use membership::Views;
pub use play::Counterexample;
pub use stage::Make;
pub use tables::Past;
pub use users::{BoundedJudge, Judge, Judged, News, Offer, Property, Story, Users};
pub use walk::Walks;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
