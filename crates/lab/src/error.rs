//! Errors in an experiment before it runs, or in its files.

use crate::algorithm::AlgorithmError;
use crate::check::CheckSpecError;
use crate::deadlock::DeadlockError;
use crate::election::ElectionError;
use crate::multicast::MulticastError;
use crate::mutex::MutexError;
use crate::options::OptionsError;
use crate::spec::SpecError;
use crate::views::ViewError;
use quorate_journal::record::JournalError;
use quorate_journal::replay::ReplayError;
use quorate_journal::settings::SettingError;

/// Why an experiment cannot run, or its journal cannot be read or written. Each error prints as a
/// sentence, with a remedy if there is one.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    Mutex(#[from] MutexError),
    #[error(transparent)]
    Views(#[from] ViewError),
    #[error(transparent)]
    Multicast(#[from] MulticastError),
    #[error(transparent)]
    Deadlock(#[from] DeadlockError),
    #[error(transparent)]
    Election(#[from] ElectionError),
    #[error(transparent)]
    CheckSpec(#[from] CheckSpecError),
    #[error(transparent)]
    Replica(#[from] crate::replica::ReplicaError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(
        "this is the journal of {owner} only; the run of the whole group needs the journals of all nodes. Merge them with \
         'quorate record FILE… --out run.journal'; 'quorate trace' shows a single one."
    )]
    SingleJournal { owner: String },
    #[error("cannot read the journal's header as a run of this program: {0}.")]
    Header(String),
    #[error("cannot write the journal: {0}. The run itself completed.")]
    Write(std::io::Error),
    #[error(transparent)]
    Check(#[from] quorate_check::CheckError),
    #[error("cannot start {threads} threads: {reason}. Use fewer, such as --threads 2.")]
    Threads { threads: usize, reason: std::io::Error },
}

/// Returns the first error whose condition is true.
pub(crate) fn first_error<E, const N: usize>(errors: [(bool, E); N]) -> Result<(), E> {
    errors.into_iter().find(|(applies, _)| *applies).map_or(Ok(()), |(_, error)| Err(error))
}

/// Describes which nodes exist, as the end of a sentence.
pub(crate) fn existing_nodes(nodes: usize) -> String {
    match nodes {
        0 => "there are no nodes".into(),
        1 => "there is only node 1".into(),
        _ => format!("there are only nodes 1 to {nodes}"),
    }
}
