//! What can be wrong with an experiment before it runs, or with its files.

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

/// Why an experiment cannot be run. Each prints as a sentence that says what to do.
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
    Unfit(#[from] crate::replica::Unfit),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(
        "This is the journal of {whose}: what the whole group did shows only if it is gathered with the others. \
         'quorate record FILE… --out run.journal' does that; 'quorate trace' shows this one as it is."
    )]
    OneLife { whose: String },
    #[error("The journal's header does not describe a run of this program: {0}.")]
    Header(String),
    #[error("The journal could not be written: {0}. The run itself went on to its end.")]
    Write(std::io::Error),
    #[error(transparent)]
    Check(#[from] quorate_check::CheckError),
    #[error("A sweep with {threads} threads could not be started: {reason}. Use fewer, such as --threads 2.")]
    Threads { threads: usize, reason: std::io::Error },
}

/// Refuses with the first of these mistakes that was made.
pub(crate) fn first_mistake<E, const N: usize>(mistakes: [(bool, E); N]) -> Result<(), E> {
    mistakes.into_iter().find(|(is_made, _)| *is_made).map_or(Ok(()), |(_, mistake)| Err(mistake))
}

/// The nodes that there are, as the end of a sentence.
pub(crate) fn only(nodes: usize) -> String {
    match nodes {
        0 => "there are no nodes".into(),
        1 => "there is only node 1".into(),
        _ => format!("there are only nodes 1 to {nodes}"),
    }
}
