//! The lab: experiments on algorithms by name.
//!
//! A [`Spec`] says what to run, in the words of the command line; a journal's header holds one. From it follow
//! a single [`experiment`], a [`sweep`] over many seeds, and the [`replay`] of a recorded run. A [`check`] tries every
//! order of a small group. The [`trace`] of any of them is text for people.
//!
//! ```
//! use quorate_lab::{Spec, experiment};
//!
//! let spec = Spec { nodes: 5, entries: 20, ..Spec::new("ricart-agrawala") };
//! let outcome = experiment::run(&spec)?;
//! assert!(outcome.holds());
//! assert_eq!(outcome.mutex.messages_per_entry, Some(8.0)); // 2(n−1)
//! # Ok::<(), quorate_lab::LabError>(())
//! ```

mod chaos;
pub mod check;
mod error;
pub mod experiment;
pub mod replay;
mod scripted;
mod spec;
pub mod sweep;
pub mod trace;

pub use chaos::{FaultMix, Trouble};
pub use error::LabError;
pub use spec::{LinkChoice, Spec};
