//! Mutual exclusion under the checker.

mod contenders;
mod options;

pub use contenders::Contenders;
pub(crate) use options::MutexCheckArgs;

use crate::check::{CheckSpec, CheckedFamily, HabitArgs, view_settings};
use crate::error::LabError;
use crate::mutex::{Mutex, Settings};
use quorate_core::mutex::ServiceOrder;

/// Optional actions of clients, besides acquiring and releasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    pub tries: bool,
    pub cancels: bool,
    pub readers: bool,
}

impl CheckedFamily for Mutex {
    type Habits = Requests;
    type Crowd = Contenders;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        let entries = u64::from(check.rounds.unwrap_or(1)) * check.setup.nodes as u64;
        Settings { entries, views: view_settings(check.setup.views), ..Settings::default() }
    }

    fn crowd(check: &CheckSpec<Self>) -> Result<Contenders, LabError> {
        let Requests { tries, cancels, readers } = check.habits;
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

    fn habits(args: &HabitArgs, _nodes: usize) -> Result<Requests, LabError> {
        Ok(args.requests.requests())
    }

    fn habit_flags(check: &CheckSpec<Self>) -> Vec<String> {
        let Requests { tries, cancels, readers } = check.habits;
        let flags = [(tries, "--try"), (cancels, "--cancel"), (readers, "--readers")];
        flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_owned()).collect()
    }

    fn in_rounds(check: &CheckSpec<Self>) -> String {
        let words = match (check.habits.tries, check.habits.cancels) {
            (false, false) => "",
            (true, false) => " with tries",
            (false, true) => " with cancels",
            (true, true) => " with tries and cancels",
        };
        words.into()
    }
}
