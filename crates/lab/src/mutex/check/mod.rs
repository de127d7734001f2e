//! Mutual exclusion under the checker.

mod contenders;
mod options;

pub use contenders::Contenders;
pub(crate) use options::MutexCheckArgs;

use crate::check::{BehaviorArgs, CheckSpec, CheckedFamily, view_settings};
use crate::error::LabError;
use crate::mutex::{Mutex, Settings};
use quorate_core::mutex::ServiceOrder;

/// Optional actions of clients, besides acquiring and releasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestKinds {
    pub allows_tries: bool,
    pub allows_cancels: bool,
    pub allows_readers: bool,
}

impl CheckedFamily for Mutex {
    type Behavior = RequestKinds;
    type CheckClients = Contenders;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        // Without a limit (`None`), the settings of the run still need a number of entries.
        let entries = u64::from(check.rounds.unwrap_or(1)) * check.setup.nodes as u64;
        Settings { entries, views: view_settings(check.setup.views), ..Settings::default() }
    }

    fn check_clients(check: &CheckSpec<Self>) -> Result<Contenders, LabError> {
        let RequestKinds { allows_tries, allows_cancels, allows_readers } = check.behavior;
        Ok(Contenders {
            rounds: check.rounds,
            allows_tries,
            allows_cancels,
            allows_readers,
            readers_share: check.algorithm.facts.has_shared_access,
            checks_fences: check.algorithm.facts.has_fences,
            // Algorithms promise the order of requests only within one view.
            checks_order: check.algorithm.facts.order == ServiceOrder::HappenedBefore && check.setup.views.is_none(),
            service: check.algorithm.facts.service,
            has_views: check.setup.views.is_some(),
        })
    }

    fn behavior(args: &BehaviorArgs, _nodes: usize) -> Result<RequestKinds, LabError> {
        Ok(args.mutex.request_kinds())
    }

    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String> {
        let RequestKinds { allows_tries, allows_cancels, allows_readers } = check.behavior;
        let flags = [(allows_tries, "--try"), (allows_cancels, "--cancel"), (allows_readers, "--readers")];
        flags.into_iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, flag)| flag.to_owned()).collect()
    }

    fn rounds_suffix(check: &CheckSpec<Self>) -> String {
        let RequestKinds { allows_tries, allows_cancels, allows_readers } = check.behavior;
        let kinds = [(allows_tries, "tries"), (allows_cancels, "cancels"), (allows_readers, "readers")];
        let allowed: Vec<_> = kinds.into_iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, kind)| kind).collect();
        if allowed.is_empty() { String::new() } else { format!(" with {}", allowed.join(" and ")) }
    }
}
