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
    /// The experiment makes no sense.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// What is to be done to the processes makes no sense.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// More processes than anybody would want on one machine.
    #[error("{nodes} processes are too many for one machine: at most {most} are started.")]
    TooMany {
        /// As many as were asked for.
        nodes: usize,
        /// As many as are started.
        most: usize,
    },
    /// A file or a folder of the run could not be written.
    #[error("{} could not be written: {reason}. Nothing of the run is kept.", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// A folder that is to be kept has something in it.
    #[error("The folder {} is not empty; --keep takes a new one. Nothing was started.", .0.display())]
    NotEmpty(PathBuf),
    /// A process could not be started.
    #[error("The process of node {node} could not be started: {reason}. All others were ended again.")]
    Start {
        /// Whose.
        node: NodeId,
        /// What the system says.
        reason: io::Error,
    },
    /// A process did not get ready, or did not end, in time.
    #[error("Node {node} {what} within {seconds} s, so the run was given up and every process ended.{log}")]
    Late {
        /// Whose.
        node: NodeId,
        /// What it did not do.
        what: &'static str,
        /// How long it was given.
        seconds: u64,
        /// What it logged last, if anything.
        log: Log,
    },
    /// A process ended by itself.
    #[error("The process of node {node} ended by itself ({status}), so the run was given up.{log}")]
    Died {
        /// Whose.
        node: NodeId,
        /// How.
        status: ExitStatus,
        /// What it logged last, if anything.
        log: Log,
    },
    /// A process said something that nobody understands.
    #[error("Node {node} said something that this program does not understand: {line}. This is a defect of Quorate.")]
    Babble {
        /// Who.
        node: NodeId,
        /// What it said.
        line: String,
    },
    /// A process refused what its user asked.
    #[error("Node {node} refused what it was asked: {reason}. This is a defect of Quorate.")]
    Refused {
        /// Who.
        node: NodeId,
        /// Why.
        reason: String,
    },
    /// A signal could not be sent, or had no effect.
    #[error("Node {node} could not be {what}: {reason}. The run was given up and every process ended.")]
    Signal {
        /// Whose process.
        node: NodeId,
        /// What was to be done to it.
        what: &'static str,
        /// What the system says.
        reason: io::Error,
    },
    /// Somebody interrupted it before there was anything to tell.
    #[error(
        "The run was interrupted before all processes were ready, so there is nothing to tell of it; everything that was \
         started has been ended."
    )]
    Interrupted,
    /// Networks of their own could not be made for the nodes.
    #[error(
        "The network of {what} could not be set up: {reason}. --namespaces needs root, the program ip and a kernel with \
         network namespaces, veth and bridges; what was set up so far is removed again."
    )]
    Network {
        /// What was being set up.
        what: String,
        /// What the system says.
        reason: String,
    },
    /// Certificates could not be made.
    #[error("The certificates of the run could not be made: {0}")]
    Certificates(String),
    /// Processes did their work, but their journals could not be gathered, judged or written. What they wrote is kept,
    /// because no run can be done again.
    #[error("{what} Everything that the processes wrote is kept in {}.", .folder.display())]
    Kept {
        /// What went wrong, as a sentence.
        what: String,
        /// Where everything is.
        folder: PathBuf,
    },
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
