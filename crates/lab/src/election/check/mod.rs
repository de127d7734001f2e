//! Elections under the checker.

mod candidates;
mod options;

pub use candidates::ElectionClients;
pub(crate) use options::ElectionCheckArgs;

use crate::check::{BehaviorArgs, CheckSpec, CheckedFamily};
use crate::election::run::Starters;
use crate::election::{Election, Settings, expectation_of, plan};
use crate::error::LabError;
use crate::family::{RunFamily, ScriptFamily};
use quorate_check::CrashNotices;
use quorate_core::election::Plan;

/// The behavior of clients and the setup of the group in a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElectionBehavior {
    pub settings: Settings,
    /// Number of times that each client may resign.
    pub resignations: u8,
}

impl CheckedFamily for Election {
    type Behavior = ElectionBehavior;
    type CheckClients = ElectionClients;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        check.behavior.settings.clone()
    }

    fn check_clients(check: &CheckSpec<Self>) -> Result<ElectionClients, LabError> {
        let Plan { group, ring, ranking, .. } = plan(&check.spec());
        let ElectionBehavior { settings, resignations } = &check.behavior;
        Ok(ElectionClients {
            starters: settings.starters.select(group.iter(), &ring, &ranking).into_iter().collect(),
            rounds: check.rounds,
            // Two per crash: a late message can make a client follow the crashed leader once more.
            reelections: check.setup.crashes.saturating_mul(2),
            resignations: *resignations,
            // Without timing, leases have no duration.
            has_leases: check.algorithm.facts.has_leases && check.setup.timing.is_some(),
            expectation: expectation_of(&check.algorithm),
        })
    }

    /// Clients always notice a crashed leader eventually; nodes do if the algorithm relies on an
    /// oracle as failure detector.
    fn crash_notices(check: &CheckSpec<Self>) -> CrashNotices {
        if Self::needs_crash_notices(&check.spec()) { CrashNotices::ToNodes } else { CrashNotices::ToClients }
    }

    fn behavior(args: &BehaviorArgs, _nodes: usize) -> Result<ElectionBehavior, LabError> {
        let ElectionCheckArgs { election, resign } = &args.election;
        Ok(ElectionBehavior { settings: election.applied_to(Settings::default())?, resignations: resign.unwrap_or(0) })
    }

    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String> {
        let spec = check.spec();
        // `all` is the default of a check.
        let all_start = spec.settings.starters == Starters::All;
        let all_flags = Self::flags(&spec).into_iter().map(|flag| flag.to_string());
        let mut flags: Vec<_> = all_flags.filter(|text| !(all_start && text.starts_with("--starters"))).collect();
        if check.behavior.resignations > 0 {
            flags.push(format!("--resign {}", check.behavior.resignations));
        }
        flags
    }

    fn rounds_suffix(check: &CheckSpec<Self>) -> String {
        let ElectionBehavior { settings, resignations } = &check.behavior;
        let resigns = if *resignations > 0 { ", leaders may resign" } else { "" };
        format!(" (starters: {}{resigns})", settings.starters)
    }
}
