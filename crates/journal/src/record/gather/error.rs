//! Why journals cannot be gathered.

use crate::record::JournalError;
use quorate_core::{Incarnation, NodeId};

/// Why journals cannot be gathered. The files themselves are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error("no journals given: name the journal of every node, such as n1.journal n2.journal n3.journal.")]
    NoJournals,
    #[error(
        "none of these files has a header line: they are empty or truncated. Name the journal of every node, such as \
         n1.journal n2.journal n3.journal."
    )]
    NoHeaders,
    #[error("cannot open the journal {file}: {error}.")]
    Open { file: String, error: std::io::Error },
    #[error("in {file}: {error}")]
    Journal { file: String, error: JournalError },
    #[error(
        "in {file}: this is the journal of a whole run, not of one incarnation of a node. Merge the journals that \
         'quorate node --trace FILE' writes; read this one directly with 'quorate trace'."
    )]
    NotLive { file: String },
    #[error("in {file}, line {line}: {reason}.")]
    InvalidLine { file: String, line: u64, reason: String },
    #[error("{file} and {other} belong to different runs: {difference}. Merge the journals of one run at a time.")]
    OtherRun { file: String, other: String, difference: String },
    #[error("{file} and {other} are both journals of incarnation {incarnation} of node {node}. Leave one of them out.")]
    DuplicateIncarnation { file: String, other: String, node: NodeId, incarnation: Incarnation },
    #[error("the run has {nodes} nodes, but no journal of node {node} is among these files. Add it.")]
    MissingNode { node: NodeId, nodes: usize },
    #[error(
        "the journals contradict each other: in {file}, line {line}, message {message} arrives before it can have been \
         sent, and the other journals continue with messages that have not been sent either. At least one of the files was altered."
    )]
    CyclicWait {
        /// The file whose next line has the earliest time.
        file: String,
        line: u64,
        message: String,
    },
    #[error(
        "{file} changed while it was merged: line {line} is gone. Stop the process that writes to it, and try again."
    )]
    FileChanged { file: String, line: u64 },
    #[error("cannot write the merged journal: {0}. The source journals are unchanged.")]
    Write(std::io::Error),
}
