//! Errors of live runs, whose nodes are real processes. Injected faults are no errors.

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
    #[error("--nodes must be at most {max} for real processes on one machine; got {nodes}. No process was started.")]
    TooManyNodes { nodes: usize, max: usize },
    #[error(
        "cannot write {}: {reason}. The run was aborted and has no result; no process of it runs.",
        .path.display()
    )]
    File { path: PathBuf, reason: io::Error },
    #[error("--keep needs a new or empty folder; {} is not empty. No process was started.", .0.display())]
    FolderNotEmpty(PathBuf),
    #[error("--keep needs a new or empty folder; {} is a file. No process was started.", .0.display())]
    NotAFolder(PathBuf),
    #[error("cannot start the process of node {node}: {reason}. All other processes were stopped.")]
    Start { node: NodeId, reason: io::Error },
    #[error(
        "the run was aborted and all processes were stopped, because node {node} {problem} within {seconds} s.{log}"
    )]
    TimedOut {
        node: NodeId,
        /// A verb phrase such as `did not end`.
        problem: &'static str,
        seconds: u64,
        log: LogTail,
    },
    #[error(
        "the run was aborted and all processes were stopped, because the process of node {node} ended unexpectedly \
         ({status}).{log}"
    )]
    EndedUnexpectedly { node: NodeId, status: ExitStatus, log: LogTail },
    #[error(
        "node {node} wrote a line that this program cannot parse: {line}. The run was aborted and all processes were \
         stopped. This is a bug in Quorate."
    )]
    UnknownLine { node: NodeId, line: String },
    #[error(
        "node {node} refused a command: {reason}. The run was aborted and all processes were stopped. This is a bug in \
         Quorate."
    )]
    Refused { node: NodeId, reason: String },
    #[error("node {node} could not be {action}: {reason}. The run was aborted and all processes were stopped.")]
    Signal {
        node: NodeId,
        /// A past participle such as `killed`.
        action: &'static str,
        reason: io::Error,
    },
    #[error(
        "the run was interrupted before all processes were ready, so it has no result; all processes were stopped."
    )]
    Interrupted,
    #[error(
        "cannot set up the network of {part}: {reason}. --namespaces needs root, the program ip and a kernel with \
         network namespaces, veth and bridges; all processes were stopped, and the networks of this run were removed."
    )]
    Network {
        /// A node, all nodes or the bridge.
        part: String,
        reason: String,
    },
    #[error("cannot create the certificates of the run: {0} No process was started.")]
    Certificates(String),
    /// The run is complete and all processes have ended, but its journals could not be gathered,
    /// checked or written. The files are kept, because a live run cannot be repeated.
    #[error("{problem} The journals and logs of all processes are kept in {}.", .folder.display())]
    JudgingFailed {
        /// A complete sentence.
        problem: String,
        folder: PathBuf,
    },
}

/// The end of a process's log. In an error, each of its lines is printed on a separate line.
#[derive(Debug, Default)]
pub struct LogTail(pub(crate) String);

impl std::fmt::Display for LogTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str(" It logged nothing.");
        }
        f.write_str(" It logged:")?;
        self.0.lines().try_for_each(|line| write!(f, "\n  {}", line.escape_debug()))
    }
}
