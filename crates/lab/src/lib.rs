//! The lab: experiments on algorithms that are selected by name.
//!
//! A [`Spec`] describes what to run in the terms of the command line, and the header of a journal
//! stores one. From a [`Spec`] the lab can run a single [`experiment`] or a [`sweep`] over many
//! seeds, and it can [`replay`] a recorded run. A [`check`] explores the schedules of a small
//! group, and [`compare`] measures several algorithms side by side. The [`trace`] of a run is its
//! readable text form. Each family of algorithms implements one trait, [`FamilyLab`], to take part;
//! checks and comparisons need one more trait each.
//!
//! ```
//! use quorate_lab::{Spec, experiment, mutex};
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! let spec: Spec = Spec { nodes: 5, settings, ..Spec::named("ricart-agrawala")? };
//! let outcome = experiment::run(&spec)?;
//! assert!(outcome.holds());
//! assert_eq!(outcome.summary.messages_per_entry, Some(8.0)); // 2(n−1)
//! # Ok::<(), quorate_lab::LabError>(())
//! ```

mod algorithm;
mod chaos;
pub mod check;
mod clients;
pub mod compare;
pub mod deadlock;
pub mod election;
mod error;
pub mod experiment;
mod family;
pub mod figures;
mod flag;
pub mod multicast;
pub mod mutex;
pub mod options;
pub mod registry;
pub mod replay;
pub mod replica;
pub mod shrink;
mod spec;
pub mod sweep;
pub mod trace;
mod typed;
mod views;

pub use algorithm::{Algorithm, AlgorithmError};
pub use chaos::{FaultMix, RandomFault};
pub use deadlock::Deadlock;
pub use election::Election;
pub use error::LabError;
pub use family::{
    AlgorithmWrapper, FamilyLab, FamilyTypes, Judge, JudgeFamily, JudgingLevel, NodeOf, OptionsFamily, PresentFamily,
    RunFamily, ScriptFamily,
};
pub use flag::{Flag, FlagPosition, Flags};
pub use multicast::Multicast;
pub use mutex::Mutex;
pub use replica::Replica;
pub use spec::{LinkChoice, Spec, SpecError, find_entry};
pub use views::ViewError;
