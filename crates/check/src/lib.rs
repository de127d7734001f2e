//! The checker: every order in which a small group can do what it does.
//!
//! A [`Checker`] has the same nodes that the simulator and the runtime drive. It explores all interleavings of
//! deliveries, commands, timers, losses, crashes, restarts and changes of views within bounds, and judges a family's properties: safety,
//! deadlock, and liveness under fair delivery. Every counterexample is played again by real nodes before an observer, so
//! it becomes a journal like that of any run.
//!
//! ```
//! use quorate_check::mutex::Contenders;
//! use quorate_check::{Checker, Effort, Search, Setup};
//! use quorate_core::Group;
//! use quorate_core::mutex::RicartAgrawala;
//! use std::sync::Arc;
//!
//! let group = Group::of_size(2);
//! let users = Contenders { fences: true, order: true, ..Contenders::default() };
//! let make = Arc::new(move |me| RicartAgrawala::new(me, group.clone()));
//! let mut checker = Checker::new(make, users, Setup::new(2))?;
//! let effort = Effort {
//!     search: Search::Breadth,
//!     threads: 1,
//!     memory: 1 << 30,
//!     reduce: true,
//!     first: false,
//!     properties: None,
//! };
//! let findings = checker.run(&effort, &mut |_, _| true);
//! assert!(findings.is_complete() && !findings.is_broken());
//! # Ok::<(), quorate_check::CheckError>(())
//! ```

mod action;
mod breadth;
mod budgets;
mod cast;
mod checker;
mod content;
pub mod deadlock;
mod deaths;
mod depth;
#[cfg(test)]
mod differential;
pub mod election;
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
pub mod multicast;
pub mod mutex;
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
