//! Why journals cannot be gathered.

use crate::record::JournalError;
use quorate_core::{Incarnation, NodeId};

/// Why journals cannot be gathered. The files themselves are as they were.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// No file was given.
    #[error("There is nothing to gather: name the journal of every node, such as n1.journal n2.journal n3.journal.")]
    Nothing,
    /// A file cannot be read.
    #[error("The journal {file} could not be opened: {error}.")]
    Open {
        /// Which file.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// A file is no journal, or is broken.
    #[error("In {file}: {error}")]
    Journal {
        /// Which file.
        file: String,
        /// What is wrong with it.
        error: JournalError,
    },
    /// A journal of another sort.
    #[error(
        "In {file}: this is the journal of a whole run, not of one life of a node. Gather what 'quorate node --trace FILE' \
         writes; this one can be read as it is, with 'quorate trace'."
    )]
    NotLive {
        /// Which file.
        file: String,
    },
    /// A line that makes no sense where it stands.
    #[error("In {file}, line {line}: {reason}.")]
    Line {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Journals of different runs.
    #[error("{file} is of another run than {other}: {what}. Gather the journals of one run at a time.")]
    OtherRun {
        /// The file that differs.
        file: String,
        /// From which one.
        other: String,
        /// What differs.
        what: String,
    },
    /// Two journals of the same life.
    #[error("{file} and {other} are both journals of life {life} of node {node}. Leave one of them out.")]
    Twice {
        /// The one.
        file: String,
        /// The other.
        other: String,
        /// Whose.
        node: NodeId,
        /// Which life.
        life: Incarnation,
    },
    /// A node without a journal.
    #[error("The run has {nodes} nodes, but no journal of node {node} is among these files. Name it too.")]
    Missing {
        /// Who.
        node: NodeId,
        /// How many nodes the run has.
        nodes: usize,
    },
    /// Every node waits for a message that is sent later.
    #[error(
        "The journals contradict each other: in {file}, line {line}, message {message} arrives before it can have been \
         sent, and so it is with every node that is left. At least one of the files was altered."
    )]
    Circle {
        /// The file of the earliest such line.
        file: String,
        /// That line.
        line: u64,
        /// What arrives there.
        message: String,
    },
    /// A file that is not what it was a moment ago.
    #[error("{file} changed while it was gathered: line {line} is gone. Stop whoever writes to it, and try again.")]
    Changed {
        /// Which file.
        file: String,
        /// The line that was there before.
        line: u64,
    },
    /// The result cannot be written.
    #[error("The gathered journal could not be written: {0}. The journals that it was gathered from are untouched.")]
    Write(std::io::Error),
}
