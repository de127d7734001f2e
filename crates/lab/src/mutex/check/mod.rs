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
    pub tries: bool,
    pub cancels: bool,
    pub readers: bool,
}

impl CheckedFamily for Mutex {
    type Behavior = RequestKinds;
    type CheckClients = Contenders;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        let entries = u64::from(check.rounds.unwrap_or(1)) * check.setup.nodes as u64;
        Settings { entries, views: view_settings(check.setup.views), ..Settings::default() }
    }

    fn check_clients(check: &CheckSpec<Self>) -> Result<Contenders, LabError> {
        let RequestKinds { tries, cancels, readers } = check.behavior;
        Ok(Contenders {
            rounds: check.rounds,
            tries,
            cancels,
            readers,
            shares: check.algorithm.facts.shares,
            fences: check.algorithm.facts.fences,
            // Algorithms promise the order of requests only within one view.
            order: check.algorithm.facts.order == ServiceOrder::HappenedBefore && check.setup.views.is_none(),
            service: check.algorithm.facts.service,
            views: check.setup.views.is_some(),
        })
    }

    fn behavior(args: &BehaviorArgs, _nodes: usize) -> Result<RequestKinds, LabError> {
        Ok(args.mutex.requests())
    }

    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String> {
        let RequestKinds { tries, cancels, readers } = check.behavior;
        let flags = [(tries, "--try"), (cancels, "--cancel"), (readers, "--readers")];
        flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned()).collect()
    }

    fn in_rounds(check: &CheckSpec<Self>) -> String {
        let words = match (check.behavior.tries, check.behavior.cancels) {
            (false, false) => "",
            (true, false) => " with tries",
            (false, true) => " with cancels",
            (true, true) => " with tries and cancels",
        };
        words.into()
    }
}
