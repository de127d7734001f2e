//! Errors of live runs, apart from the injected faults.

use crate::schedule::ScheduleError;
use quorate_core::NodeId;
use quorate_lab::LabError;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a live run failed, as a sentence. All processes that it started have ended.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error("A live run can have at most {max} nodes on one machine; got {nodes}. No process was started.")]
    TooMany { nodes: usize, max: usize },
    #[error("Cannot write {}: {reason}. No data of the run is kept.", .path.display())]
    File { path: PathBuf, reason: io::Error },
    #[error("--keep needs a new or empty folder; {} is not empty. No process was started.", .0.display())]
    NotEmpty(PathBuf),
    #[error("Cannot start the process of node {node}: {reason}. All other processes were stopped.")]
    Start { node: NodeId, reason: io::Error },
    #[error("Node {node} {what} within {seconds} s, so the run was aborted and all processes were stopped.{log}")]
    Late {
        node: NodeId,
        what: &'static str,
        seconds: u64,
        /// The end of the process's log.
        log: Log,
    },
    #[error("The process of node {node} ended unexpectedly ({status}), so the run was aborted.{log}")]
    Died {
        node: NodeId,
        status: ExitStatus,
        /// The end of the process's log.
        log: Log,
    },
    #[error("Node {node} wrote a line that this program cannot parse: {line}. This is a bug in Quorate.")]
    UnknownLine { node: NodeId, line: String },
    #[error("Node {node} refused a command: {reason}. This is a bug in Quorate.")]
    Refused { node: NodeId, reason: String },
    #[error("Node {node} could not be {what}: {reason}. The run was aborted and all processes were stopped.")]
    Signal { node: NodeId, what: &'static str, reason: io::Error },
    #[error(
        "The run was interrupted before all processes were ready, so it has no result; all processes were stopped."
    )]
    Interrupted,
    #[error(
        "Cannot set up the network of {what}: {reason}. --namespaces needs root, the program ip and a kernel with \
         network namespaces, veth and bridges; what was set up so far was removed."
    )]
    Network { what: String, reason: String },
    #[error("Cannot make the certificates of the run: {0}")]
    Certificates(String),
    /// The run took place, but its journals could not be gathered, judged or written. They are
    /// kept, because no run can be repeated.
    #[error("{what} The journals and logs of all processes are kept in {}.", .folder.display())]
    Kept { what: String, folder: PathBuf },
}

/// The end of a process's log, printed on lines of its own in an error.
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
