//! Options of `quorate check` that not every family accepts.

use crate::deadlock::DeadlockArgs;
use crate::election::check::ElectionCheckArgs;
use crate::multicast::MulticastArgs;
use crate::mutex::check::MutexCheckArgs;
use crate::options::{Options, OptionsError, parse_whole, reject_views};
use crate::registry::Family;
use clap::Args;
use quorate_check::{MAX_FAULTS, Views};

/// The family-specific options of a check: the behavior of clients and the setup of the group.
#[derive(Args)]
pub struct BehaviorArgs {
    #[command(flatten)]
    pub(crate) mutex: MutexCheckArgs,
    #[command(flatten)]
    pub(crate) election: ElectionCheckArgs,
    #[command(flatten)]
    pub(crate) multicast: MulticastArgs,
    #[command(flatten)]
    pub(crate) deadlock: DeadlockArgs,
}

impl BehaviorArgs {
    /// Returns the settings of views, or `None` without `--views`.
    pub fn views(&self) -> Option<Views> {
        // Declared with the options of mutual exclusion, but every family with views accepts them.
        self.mutex.views()
    }

    /// Fails if an option was given that `checked_family` does not accept.
    pub fn reject_other_families(&self, checked_family: Family, algorithm: &str) -> Result<(), OptionsError> {
        reject_views(self.views().is_some(), checked_family, algorithm)?;
        let options_by_family: [(Family, &dyn Options); 4] = [
            (Family::Mutex, &self.mutex),
            (Family::Election, &self.election),
            (Family::Multicast, &self.multicast),
            (Family::Deadlock, &self.deadlock),
        ];
        let mut others = options_by_family.into_iter().filter(|(family, _)| *family != checked_family);
        match others.find_map(|(family, options)| Some((family, options.first_given()?))) {
            Some((family, option)) => Err(OptionsError::not_applicable(option, family, algorithm, checked_family)),
            None => Ok(()),
        }
    }
}

/// Parses the maximum number of faults of one kind in a check.
pub fn parse_fault_count(text: &str) -> Result<u8, String> {
    let count = parse_whole::<u64>(text)?;
    let count = u8::try_from(count).ok().filter(|count| *count <= MAX_FAULTS);
    count.ok_or_else(|| format!("the number must be at most {MAX_FAULTS} in a check; got {text}."))
}
