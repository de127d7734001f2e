//! What can go wrong with real processes, apart from what they were made to suffer.

use crate::schedule::ScheduleError;
use quorate_core::NodeId;
use quorate_lab::LabError;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a live run came to nothing. Each prints as a sentence; everything that was started has been ended.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error("{nodes} processes are too many for one machine: at most {most} are started.")]
    TooMany { nodes: usize, most: usize },
    #[error("{} could not be written: {reason}. Nothing of the run is kept.", .path.display())]
    File { path: PathBuf, reason: io::Error },
    #[error("The folder {} is not empty; --keep takes a new one. Nothing was started.", .0.display())]
    NotEmpty(PathBuf),
    #[error("The process of node {node} could not be started: {reason}. All others were ended again.")]
    Start { node: NodeId, reason: io::Error },
    #[error("Node {node} {what} within {seconds} s, so the run was given up and every process ended.{log}")]
    Late {
        node: NodeId,
        what: &'static str,
        seconds: u64,
        /// What it logged last, if anything.
        log: Log,
    },
    #[error("The process of node {node} ended by itself ({status}), so the run was given up.{log}")]
    Died {
        node: NodeId,
        status: ExitStatus,
        /// What it logged last, if anything.
        log: Log,
    },
    #[error("Node {node} said something that this program does not understand: {line}. This is a defect of Quorate.")]
    Babble { node: NodeId, line: String },
    #[error("Node {node} refused what it was asked: {reason}. This is a defect of Quorate.")]
    Refused { node: NodeId, reason: String },
    #[error("Node {node} could not be {what}: {reason}. The run was given up and every process ended.")]
    Signal { node: NodeId, what: &'static str, reason: io::Error },
    #[error(
        "The run was interrupted before all processes were ready, so there is nothing to tell of it; everything that was \
         started has been ended."
    )]
    Interrupted,
    #[error(
        "The network of {what} could not be set up: {reason}. --namespaces needs root, the program ip and a kernel with \
         network namespaces, veth and bridges; what was set up so far is removed again."
    )]
    Network { what: String, reason: String },
    #[error("The certificates of the run could not be made: {0}")]
    Certificates(String),
    /// Processes did their work, but their journals could not be gathered, judged or written. What they wrote is kept,
    /// because no run can be done again.
    #[error("{what} Everything that the processes wrote is kept in {}.", .folder.display())]
    Kept { what: String, folder: PathBuf },
}

/// The end of what a process logged, on lines of its own in an error.
#[derive(Debug, Default)]
pub struct Log(pub(crate) String);

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str(" It logged nothing.");
        }
        f.write_str(" It logged:")?;
        self.0.lines().try_for_each(|line| write!(f, "\n  {}", line.escape_debug()))
    }
}
