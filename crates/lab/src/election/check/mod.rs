//! Elections under the checker.

mod candidates;
mod options;

pub use candidates::Voters;
pub(crate) use options::ElectionCheckArgs;

use crate::check::{CheckSpec, CheckedFamily, HabitArgs};
use crate::election::run::Starters;
use crate::election::{Election, Settings, expected_of, plan};
use crate::error::LabError;
use crate::family::{RunFamily, ScriptFamily};
use quorate_check::Deaths;
use quorate_core::election::Plan;

/// The behaviour of clients in a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ballots {
    pub settings: Settings,
    pub resignations: u8,
}

impl CheckedFamily for Election {
    type Habits = Ballots;
    type Crowd = Voters;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        check.habits.settings.clone()
    }

    fn crowd(check: &CheckSpec<Self>) -> Result<Voters, LabError> {
        let Plan { group, ring, ranking, .. } = plan(&check.spec());
        let Ballots { settings, resignations } = &check.habits;
        Ok(Voters {
            starters: settings.starters.among(group.iter(), &ring, &ranking).into_iter().collect(),
            rounds: check.rounds,
            // A late message of a crashed leader can make it the leader again.
            recalls: check.setup.crashes.saturating_mul(2),
            resignations: *resignations,
            // Without timing, leases have no duration.
            leases: check.algorithm.facts.leases && check.setup.timing.is_some(),
            expects: expected_of(&check.algorithm),
        })
    }

    /// Clients notice a crashed leader eventually, with or without a failure detector.
    fn deaths(check: &CheckSpec<Self>) -> Deaths {
        if Self::hears_of_deaths(&check.spec()) { Deaths::ToNodes } else { Deaths::ToUsers }
    }

    fn habits(args: &HabitArgs, _nodes: usize) -> Result<Ballots, LabError> {
        let ElectionCheckArgs { election, resign } = &args.ballots;
        Ok(Ballots { settings: election.changed(Settings::default())?, resignations: resign.unwrap_or(0) })
    }

    fn habit_flags(check: &CheckSpec<Self>) -> Vec<String> {
        let spec = check.spec();
        let all_start = spec.settings.starters == Starters::All;
        let own = Self::flags(&spec).into_iter().map(|flag| flag.to_string());
        let mut flags: Vec<_> = own.filter(|text| !(all_start && text.starts_with("--starters"))).collect();
        if check.habits.resignations > 0 {
            flags.push(format!("--resign {}", check.habits.resignations));
        }
        flags
    }

    fn in_rounds(check: &CheckSpec<Self>) -> String {
        let Ballots { settings, resignations } = &check.habits;
        let resigns = if *resignations > 0 { ", leaders may resign" } else { "" };
        format!(" (starters: {}{resigns})", settings.starters)
    }
}
