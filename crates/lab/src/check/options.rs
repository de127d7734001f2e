//! Options of `quorate check` that only one family accepts.

use crate::deadlock::DeadlockArgs;
use crate::election::check::ElectionCheckArgs;
use crate::multicast::MulticastArgs;
use crate::mutex::check::MutexCheckArgs;
use crate::options::{Options, OptionsError, parse_whole, refuse_views};
use crate::registry::Family;
use clap::Args;
use quorate_check::Views;

/// The family-specific options of a check, which set the behaviour of clients.
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
        self.mutex.views()
    }

    /// Fails if an option was given that only other families than `own` accept.
    pub fn reject_other_families(&self, own: Family, algorithm: &str) -> Result<(), OptionsError> {
        refuse_views(self.views().is_some(), own, algorithm)?;
        let groups: [(Family, &dyn Options); 4] = [
            (Family::Mutex, &self.mutex),
            (Family::Election, &self.election),
            (Family::Multicast, &self.multicast),
            (Family::Deadlock, &self.deadlock),
        ];
        let mut others = groups.into_iter().filter(|(family, _)| *family != own);
        match others.find_map(|(family, options)| Some((family, options.given()?))) {
            Some((family, option)) => Err(OptionsError::not_applicable(option, family, algorithm, own)),
            None => Ok(()),
        }
    }
}

/// Parses a count that the checker limits to a small number. Values above 255 become 255, which the
/// checker rejects with its own limit.
pub fn parse_small_count(text: &str) -> Result<u8, String> {
    Ok(u8::try_from(parse_whole::<u64>(text)?).unwrap_or(u8::MAX))
}
