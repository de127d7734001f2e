//! Options of a live run, apart from the experiment.

use quorate_core::Duration;
use std::path::PathBuf;

/// How to run the processes, and which files to keep.
pub struct Options<'a> {
    /// The `quorate` program, which every process of the run executes.
    pub program: PathBuf,
    /// Whether nodes use mutual TLS, with certificates made for this run.
    pub has_tls: bool,
    /// Whether each node has a network namespace of its own, so that nodes can be partitioned.
    pub has_namespaces: bool,
    /// The folder in which all files of the run are kept; `None` uses a temporary one that is
    /// removed.
    pub kept_folder: Option<PathBuf>,
    /// Where to write the run's journal, if requested.
    pub journal_path: Option<PathBuf>,
    /// Maximum length of the run; `None` uses a limit that depends on the family.
    pub time_limit: Option<Duration>,
    /// Time without any event, while no command or fault is pending, after which the run counts as
    /// stuck.
    pub patience: Duration,
    /// Returns whether the user wants to end the run; the run calls it several times a second.
    pub is_interrupted: &'a dyn Fn() -> bool,
}

impl Options<'_> {
    /// The default patience: on a busy machine a message may take a second, but hardly ten.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// Options for processes of this program on loopback, without TLS, whose files are removed.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            has_tls: false,
            has_namespaces: false,
            kept_folder: None,
            journal_path: None,
            time_limit: None,
            patience: Self::PATIENCE,
            is_interrupted: &|| false,
        }
    }
}
