//! Why journals cannot be gathered.

use crate::record::JournalError;
use quorate_core::{Incarnation, NodeId};

/// Why journals cannot be gathered. The files themselves are as they were.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error("There is nothing to gather: name the journal of every node, such as n1.journal n2.journal n3.journal.")]
    Nothing,
    #[error("The journal {file} could not be opened: {error}.")]
    Open { file: String, error: std::io::Error },
    #[error("In {file}: {error}")]
    Journal { file: String, error: JournalError },
    #[error(
        "In {file}: this is the journal of a whole run, not of one life of a node. Gather what 'quorate node --trace FILE' \
         writes; this one can be read as it is, with 'quorate trace'."
    )]
    NotLive { file: String },
    #[error("In {file}, line {line}: {reason}.")]
    Line { file: String, line: u64, reason: String },
    #[error("{file} is of another run than {other}: {what}. Gather the journals of one run at a time.")]
    OtherRun { file: String, other: String, what: String },
    #[error("{file} and {other} are both journals of life {life} of node {node}. Leave one of them out.")]
    Twice { file: String, other: String, node: NodeId, life: Incarnation },
    #[error("The run has {nodes} nodes, but no journal of node {node} is among these files. Name it too.")]
    Missing { node: NodeId, nodes: usize },
    #[error(
        "The journals contradict each other: in {file}, line {line}, message {message} arrives before it can have been \
         sent, and so it is with every node that is left. At least one of the files was altered."
    )]
    Circle {
        /// The file of the earliest such line.
        file: String,
        line: u64,
        message: String,
    },
    #[error("{file} changed while it was gathered: line {line} is gone. Stop whoever writes to it, and try again.")]
    Changed { file: String, line: u64 },
    #[error("The gathered journal could not be written: {0}. The journals that it was gathered from are untouched.")]
    Write(std::io::Error),
}
