//! Deadlock detectors under the checker.

mod client_state;
mod processes;

pub use processes::Requesters;

use crate::check::{BehaviorArgs, CheckSpec, CheckedFamily};
use crate::deadlock::run::{Asking, Taking};
use crate::deadlock::{Deadlock, DeadlockError, Settings, asking, plan};
use crate::error::LabError;
use crate::family::ScriptFamily;
use crate::figures::count;
use quorate_check::CheckError;

/// The behaviour of processes in a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitBehavior {
    /// The settings of a run. The checker explores every order of requests and releases.
    pub settings: Settings,
}

impl CheckedFamily for Deadlock {
    type Behavior = WaitBehavior;
    type CheckClients = Requesters;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        check.behavior.settings.clone()
    }

    fn check_clients(check: &CheckSpec<Self>) -> Result<Requesters, LabError> {
        let spec = check.spec();
        let settings = &spec.settings;
        let has_one_process_per_site = settings.processes.is_none_or(|processes| processes == spec.nodes);
        let rounds = check.rounds.filter(|_| has_one_process_per_site);
        // Resources are acquired one after the other, unless all at once.
        let one_by_one = settings.resources > 0 && settings.taking != Taking::AtOnce;
        let asking = if settings.resources > 0 { Asking::All } else { asking(&spec) };
        let fan_out = if one_by_one { 1 } else { settings.fan_out };
        let resources = plan(&spec).resources().collect();
        let resolves = settings.victim.is_some();
        let in_order = settings.taking == Taking::InOrder;
        Requesters::new(spec.nodes, resources, rounds, (asking, fan_out, in_order), resolves).map_err(CheckError::into)
    }

    fn behavior(args: &BehaviorArgs, _nodes: usize) -> Result<WaitBehavior, LabError> {
        if let Some(option) = args.deadlock.not_applicable_to_checks() {
            return Err(DeadlockError::NotInChecks { option }.into());
        }
        let settings = args.deadlock.applied_to(Settings::default());
        let one_by_one = settings.resources > 0 && settings.taking != Taking::AtOnce;
        if one_by_one && args.deadlock.has_fan_out() {
            return Err(DeadlockError::OneByOne.into());
        }
        Ok(WaitBehavior { settings })
    }

    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String> {
        Self::flags(&check.spec()).into_iter().map(|flag| flag.to_string()).collect()
    }

    fn in_rounds(check: &CheckSpec<Self>) -> String {
        let settings = &check.behavior.settings;
        let resources = match settings.resources {
            0 => String::new(),
            resources => format!(" for {}", count(resources as u64, "resource")),
        };
        let victim = settings.victim.map_or_else(String::new, |victim| format!(", victims: {victim}"));
        format!("{resources}{victim}")
    }
}
