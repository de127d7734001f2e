//! What is wrong with a text, and where.

use super::name::Name;
use std::fmt;

/// The first thing in a text that makes no sense. It prints as a sentence that says what could stand there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// From 1 on.
    pub line: usize,
    /// In characters, from 1 on.
    pub column: usize,
    pub what: What,
}

/// What is wrong at a place. At the end of a line nothing is `found`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum What {
    #[error("{}, expected {expected}.{}", named(.found), suggested(.nearest))]
    Unexpected { found: Option<String>, expected: &'static str, nearest: Option<&'static str> },
    #[error(
        "this mixes 'and' with 'or'. Write a line for each: somebody with several lines waits until all of them are met."
    )]
    Mixed,
    #[error(
        "'{}' is no name: a name has letters, digits and -_.:;/, does not begin or end with one of .:; and is not 'and' \
         or 'or'.", .0.escape_debug()
    )]
    NoName(String),
    #[error("a name of {length} characters is too long; at most {most} fit.")]
    LongName { length: usize, most: usize },
    #[error("{0} is too large; at most {max} fits.", max = u32::MAX)]
    LargeNumber(String),
    #[error("with no permits nobody could ever have {0}; give it 1 or more.")]
    NoPermits(Name),
    #[error("{name} is a process (line {line}), and nobody holds or wants a process; write 'waits for {name}'.")]
    NotAResource { name: Name, line: usize },
    #[error(
        "{name} is a resource (line {line}), which waits for nobody and holds nothing; who needs it is said with 'wants \
         {name}'."
    )]
    NotAProcess { name: Name, line: usize },
    #[error("line {line} says already {said}.")]
    Twice { said: String, line: usize },
    #[error("{name} has {permits} permit{}, and {holders} hold it.", if *.permits == 1 { "" } else { "s" })]
    TooManyHolders { name: Name, permits: u32, holders: usize },
    #[error("this is not text in UTF-8.")]
    NotText,
    #[error("this is too long to be read: at most {most} bytes are.")]
    TooLong { most: usize },
}

fn named(found: &Option<String>) -> String {
    found.as_ref().map_or("the line ends".into(), |found| format!("found '{}'", found.escape_debug()))
}

fn suggested(nearest: &Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(" Did you mean '{nearest}'?"))
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what } = self;
        match what {
            What::TooLong { .. } => write!(f, "{what}"),
            What::NotText => write!(f, "line {line}: {what}"),
            _ => write!(f, "line {line}, column {column}: {what}"),
        }
    }
}
