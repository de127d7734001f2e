//! The errors of the parser, with their positions.

use super::name::Name;
use std::fmt;

/// The first error in a text. It prints as a sentence, after its position if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub problem: Problem,
}

/// The kind of error. `found` is `None` at the end of a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{}, expected {expected}.{}", describe_found(.found), suggest(.nearest))]
    Unexpected { found: Option<String>, expected: &'static str, nearest: Option<&'static str> },
    #[error(
        "'and' (or a comma) and 'or' cannot be combined in one line. Write a line for each part: a process with several lines waits until all of them are met."
    )]
    Mixed,
    #[error(
        "'{}' is not a name: a name has letters, digits and -_.:;/, does not begin or end with one of .:; and is not 'and' or \
         'or'.", .0.escape_debug()
    )]
    NotAName(String),
    #[error("a name must have at most {max} characters; this one has {length}.")]
    LongName { length: usize, max: usize },
    #[error("a number must be at most {max}; got {0}.", max = u32::MAX)]
    LargeNumber(String),
    #[error("{0} must have at least 1 permit; got 0.")]
    NoPermits(Name),
    #[error("{name} is a process (line {line}), which cannot be held or wanted; write 'waits for {name}'.")]
    NotAResource { name: Name, line: usize },
    #[error(
        "{name} is a resource (line {line}), which cannot wait or hold anything; write 'wants {name}' for a process that \
         needs it."
    )]
    NotAProcess { name: Name, line: usize },
    #[error("line {line} already says {statement}.")]
    Repeated { statement: String, line: usize },
    #[error("{name} has {permits} permit{}, but {holders} processes hold it.", if *.permits == 1 { "" } else { "s" })]
    TooManyHolders { name: Name, permits: u32, holders: usize },
    #[error("the text is not valid UTF-8.")]
    NotText,
    #[error("the text is too long: at most {max} bytes are allowed.")]
    TooLong { max: usize },
}

fn describe_found(found: &Option<String>) -> String {
    found.as_ref().map_or("found the end of the line".into(), |found| format!("found '{}'", found.escape_debug()))
}

fn suggest(nearest: &Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(" Did you mean '{nearest}'?"))
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, problem } = self;
        match problem {
            Problem::TooLong { .. } => write!(f, "{problem}"),
            Problem::NotText => write!(f, "line {line}: {problem}"),
            _ => write!(f, "line {line}, column {column}: {problem}"),
        }
    }
}
