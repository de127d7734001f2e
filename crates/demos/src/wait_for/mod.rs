//! Wait-for graphs given as text: parsed, searched and explained.
//!
//! ```text
//! P1 -> P2, P3                 P1 waits until both have released; also: P1 waits for P2 and P3
//! P1 -> P2 | P3                P1 waits until one has released; also: P1 waits for P2 or P3
//! P1 holds printer             also, for several resources: P1 holds printer and scanner
//! P2 wants printer             P2 waits until all holders of printer, and all processes before P2
//!                              in its queue, have released it
//! pool has 2 permits           two processes may hold it at the same time, and one that wants it
//!                              waits for one of them
//! P1 began 12                  when P1 began, for the choice of a victim
//! P1 has priority 3            how important P1 is, for the choice of a victim
//! ```
//!
//! The left column shows statements. The right one says what they mean, with another form of some
//! after 'also'. A line has one statement; a `#` begins a comment. A process with several lines
//! waits until all of them are met. Processes that want the same resource queue in the order of
//! their lines. Names have letters, digits and `-_.:;/`.

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
