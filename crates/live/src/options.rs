//! Options of a live run, apart from the experiment.

use quorate_core::Duration;
use std::path::PathBuf;

pub struct Options<'a> {
    pub program: PathBuf,
    /// Whether nodes use mutual TLS, with certificates made for this run.
    pub tls: bool,
    /// Whether each node has a network namespace of its own, so that nodes can be partitioned.
    pub namespaces: bool,
    /// The folder in which all files of the run are kept; `None` uses a temporary one that is
    /// removed.
    pub keep: Option<PathBuf>,
    /// Where to write the run's journal.
    pub journal: Option<PathBuf>,
    /// Maximum length of the run; `None` uses a limit that depends on the family.
    pub until: Option<Duration>,
    /// Time without any event, while nothing is pending, after which the run counts as stuck.
    pub patience: Duration,
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Options<'_> {
    /// The default patience: on a busy machine a message may take a second, but hardly ten.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// Options for processes of this program on loopback, without TLS, whose files are removed.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            tls: false,
            namespaces: false,
            keep: None,
            journal: None,
            until: None,
            patience: Self::PATIENCE,
            interrupted: &|| false,
        }
    }
}
