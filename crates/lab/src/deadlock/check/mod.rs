//! Deadlock detectors under the checker.

mod client_state;
mod processes;

pub use processes::Requesters;

use crate::check::{BehaviorArgs, CheckSpec, CheckedFamily};
use crate::deadlock::run::{AcquireMode, WaitMode};
use crate::deadlock::{Deadlock, DeadlockError, Settings, plan, wait_mode};
use crate::error::LabError;
use crate::family::ScriptFamily;
use crate::figures::format_count;
use quorate_check::CheckError;

/// The behavior of processes and the choice of victims in a check.
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
        // `Requesters` supports only one process per site. For any other number, `rounds` becomes
        // `None`, which `Requesters::new` rejects like `--rounds unbounded`.
        let rounds = check.rounds.filter(|_| has_one_process_per_site);
        let is_one_by_one = settings.resources > 0 && settings.acquire_mode != AcquireMode::AtOnce;
        let wait_mode = if settings.resources > 0 { WaitMode::All } else { wait_mode(&spec) };
        let fan_out = if is_one_by_one { 1 } else { settings.fan_out };
        let resources = plan(&spec).all_resources().collect();
        let has_victims = settings.victim.is_some();
        let is_ordered = settings.acquire_mode == AcquireMode::InOrder;
        Requesters::new(spec.nodes, resources, rounds, (wait_mode, fan_out, is_ordered), has_victims)
            .map_err(CheckError::into)
    }

    fn behavior(args: &BehaviorArgs, _nodes: usize) -> Result<WaitBehavior, LabError> {
        if let Some(option) = args.deadlock.not_applicable_to_checks() {
            return Err(DeadlockError::NotInChecks { option }.into());
        }
        let settings = args.deadlock.applied_to(Settings::default());
        let is_one_by_one = settings.resources > 0 && settings.acquire_mode != AcquireMode::AtOnce;
        if is_one_by_one && args.deadlock.has_fan_out() {
            return Err(DeadlockError::FanOutOneByOne.into());
        }
        Ok(WaitBehavior { settings })
    }

    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String> {
        Self::flags(&check.spec()).into_iter().map(|flag| flag.to_string()).collect()
    }

    fn rounds_suffix(check: &CheckSpec<Self>) -> String {
        let settings = &check.behavior.settings;
        let resources = match settings.resources {
            0 => String::new(),
            resources => format!(" for {}", format_count(resources as u64, "resource")),
        };
        let victim = settings.victim.map_or_else(String::new, |victim| format!(", victims: {victim}"));
        format!("{resources}{victim}")
    }
}
