//! Wait-for graphs given as text: parsed, searched and explained.
//!
//! ```text
//! # One statement a line. Both forms mean the same.
//! P1 -> P2, P3                 P1 waits for P2 and P3      until both have released
//! P1 -> P2 | P3                P1 waits for P2 or P3       until one of them has
//! P1 holds printer             P1 holds printer and scanner
//! P2 wants printer             and waits until all its holders and all processes before it in the
//!                              queue have released it
//! pool has 2 permits           so that two may hold it at once, and a process that wants it waits
//!                              for one of them
//! P1 began 12                  P1 has priority 3           for the choice of a victim
//! ```
//!
//! A process with several lines waits until all of them are met. Processes that want the same
//! resource queue in the order of their lines. Names have letters, digits and `-_.:;/`.

mod lexer;
mod name;
mod parse;
mod parse_error;
mod reason;
mod report;
mod search;
mod situation;
#[cfg(test)]
mod tests;

pub use name::Name;
pub use parse::MAX_BYTES;
pub use parse_error::{ParseError, Problem};
pub use reason::{Reason, Wait};
pub use report::{FoundDeadlock, Report, Round, Victim};
pub use search::SearchError;
pub use situation::{Process, Resource, Situation};
