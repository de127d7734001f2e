//! Who waits for whom, given as text: read, searched and explained.
//!
//! ```text
//! # One statement a line. Both forms mean the same.
//! P1 -> P2, P3                 P1 waits for P2 and P3      until both have let go
//! P1 -> P2 | P3                P1 waits for P2 or P3       until one of them has
//! P1 holds printer             P1 holds printer and scanner
//! P2 wants printer             and waits until all its holders and all who wanted it before have let go of it
//! pool has 2 permits           so that two may hold it at once, and who wants it waits for one of them
//! P1 began 12                  P1 has priority 3           for the choice of a victim
//! ```
//!
//! Who says several things waits until all of them are met. Those who want the same resource queue in the order of their lines. Names have letters,
//! digits and `-_.:;/`.

mod lexer;
mod mistake;
mod name;
mod parse;
mod reason;
mod report;
mod search;
mod situation;
#[cfg(test)]
mod tests;

pub use mistake::{Mistake, What};
pub use name::Name;
pub use parse::MOST_BYTES;
pub use reason::{Reason, Wait};
pub use report::{Found, Report, Round, Victim};
pub use search::Unanswerable;
pub use situation::{Process, Resource, Situation};
