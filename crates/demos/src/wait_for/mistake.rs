//! What is wrong with a text, and where.

use super::name::Name;
use std::fmt;

/// The first thing in a text that makes no sense. It prints as a sentence that says what could stand there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub line: usize,
    /// The character in it, from 1 on.
    pub column: usize,
    pub what: What,
}

/// What is wrong at a place. At the end of a line nothing is `found`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Unexpected { found: Option<String>, expected: &'static str, nearest: Option<&'static str> },
    Mixed,
    NoName(String),
    LongName { length: usize, most: usize },
    LargeNumber(String),
    NoPermits(Name),
    NotAResource { name: Name, line: usize },
    NotAProcess { name: Name, line: usize },
    Twice { said: String, line: usize },
    TooManyHolders { name: Name, permits: u32, holders: usize },
    NotText,
    TooLong { most: usize },
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what } = self;
        match what {
            What::TooLong { .. } => write!(f, "{what}"),
            What::NotText => write!(f, "line {line}: {what}"),
            What::Unexpected { .. }
            | What::Mixed
            | What::NoName(_)
            | What::LongName { .. }
            | What::LargeNumber(_)
            | What::NoPermits(_)
            | What::NotAResource { .. }
            | What::NotAProcess { .. }
            | What::Twice { .. }
            | What::TooManyHolders { .. } => write!(f, "line {line}, column {column}: {what}"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { found, expected, nearest } => {
                match found {
                    Some(found) => write!(f, "found '{}', expected {expected}.", found.escape_debug())?,
                    None => write!(f, "the line ends, expected {expected}.")?,
                }
                nearest.map_or(Ok(()), |nearest| write!(f, " Did you mean '{nearest}'?"))
            }
            Self::Mixed => f.write_str(
                "this mixes 'and' with 'or'. Write a line for each: somebody with several lines waits until all of them are met.",
            ),
            Self::NoName(text) => write!(
                f,
                "'{}' is no name: a name has letters, digits and -_.:;/, does not begin or end with one of .:; and is not \
                 'and' or 'or'.",
                text.escape_debug()
            ),
            Self::LongName { length, most } => {
                write!(f, "a name of {length} characters is too long; at most {most} fit.")
            }
            Self::LargeNumber(digits) => write!(f, "{digits} is too large; at most {} fits.", u32::MAX),
            Self::NoPermits(name) => {
                write!(f, "with no permits nobody could ever have {name}; give it 1 or more.")
            }
            Self::NotAResource { name, line } => write!(
                f,
                "{name} is a process (line {line}), and nobody holds or wants a process; write 'waits for {name}'."
            ),
            Self::NotAProcess { name, line } => write!(
                f,
                "{name} is a resource (line {line}), which waits for nobody and holds nothing; who needs it is said with 'wants \
                 {name}'."
            ),
            Self::Twice { said, line } => write!(f, "line {line} says already {said}."),
            Self::TooManyHolders { name, permits, holders } => {
                let s = if *permits == 1 { "" } else { "s" };
                write!(f, "{name} has {permits} permit{s}, and {holders} hold it.")
            }
            Self::NotText => f.write_str("this is not text in UTF-8."),
            Self::TooLong { most } => write!(f, "this is too long to be read: at most {most} bytes are."),
        }
    }
}
