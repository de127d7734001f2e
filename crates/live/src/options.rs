//! How a live run is carried out, apart from what is run.

use quorate_core::Duration;
use std::path::PathBuf;

pub struct Options<'a> {
    pub program: PathBuf,
    /// Whether nodes show each other certificates, made for this run, and hide what they say.
    pub tls: bool,
    /// Whether each node has a network of its own, so that nodes can be cut off from each other.
    pub namespaces: bool,
    /// The folder in which everything stays that the run wrote; a temporary one that is removed unless given.
    pub keep: Option<PathBuf>,
    /// Where the run's journal goes, if it is wanted.
    pub journal: Option<PathBuf>,
    /// When the run is stopped at the latest; as late as suits the family unless given.
    pub until: Option<Duration>,
    /// Users who hear nothing for so long, with nothing to come, wait in vain.
    pub patience: Duration,
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Options<'_> {
    /// The usual patience: on a machine that has much else to do, a message may take a second, but hardly ten.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// Plain processes of this program on the machine's loopback, all of whose traces are removed.
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
