//! The settings of the deadlock family, and their validation.

use super::{Deadlock, DeadlockEntry, DeadlockError, wait_mode};
use crate::deadlock::run::{AcquireMode, WaitMode};
use crate::error::{LabError, first_error};
use crate::family::ScriptFamily;
use crate::spec::{Spec, option_value};
use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Command, Plan, Policy, Waiting};
use quorate_journal::settings::{Latency, Length, TimedCommand};
use serde::{Deserialize, Serialize};

/// The processes' behavior and the choice of victims. [`DeadlockArgs`](super::DeadlockArgs)
/// describes each setting and its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub processes: Option<usize>,
    pub resources: usize,
    pub rounds: u64,
    /// Maximum number of agents in a request, or of resources that a process acquires in a round.
    pub fan_out: usize,
    #[serde(rename = "asking")]
    pub wait_mode: Option<WaitMode>,
    #[serde(rename = "taking")]
    pub acquire_mode: AcquireMode,
    /// Probability in percent that a process sends a request in a round.
    #[serde(rename = "share")]
    pub request_percent: u64,
    /// How long a process runs before it sends a request.
    pub think: Option<Latency>,
    /// How long a process holds what others wait for.
    pub hold: Option<Latency>,
    pub victim: Option<Policy>,
    pub priorities: Vec<u32>,
    /// How long a process waits before it starts a detection.
    pub patience: Option<Length>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            processes: None,
            resources: 0,
            rounds: 1,
            fan_out: 2,
            wait_mode: None,
            acquire_mode: AcquireMode::AnyOrder,
            request_percent: 100,
            think: None,
            hold: None,
            victim: None,
            priorities: Vec::new(),
            patience: None,
        }
    }
}

/// Maximum number of resources, and of processes unless the group has more nodes.
pub const MAX_PROCESSES: usize = 4_096;

/// Returns the detection plan of an experiment.
pub fn plan(spec: &Spec<Deadlock>) -> Plan {
    let settings = &spec.settings;
    let coordinator = |resource: usize| NodeId::from_index(resource % spec.nodes.max(1));
    Plan {
        resource_coordinators: (0..settings.resources).map(coordinator).collect(),
        priorities: settings.priorities.clone(),
        victim_policy: settings.victim,
        patience: settings.patience.map_or(Plan::new(1).patience, |Length(patience)| patience),
        ..Plan::new(spec.nodes).with_processes(settings.processes.unwrap_or(spec.nodes))
    }
}

/// Completes errors about script commands that cannot be parsed. A command typed at a running node
/// has no quotation marks, so errors about it omit this hint.
const QUOTATION_HINT: &str = "In a script, what follows the node is in quotation marks: ask 1 \"P2 P3\" at 5ms.";

/// Rejects script commands that cannot be parsed or that name unknown agents.
fn validate_script(spec: &Spec<Deadlock>) -> Result<(), LabError> {
    let plan = plan(spec);
    let exists = |agent: &Agent| plan.all_processes().chain(plan.all_resources()).any(|known| known == *agent);
    for TimedCommand { node, command, .. } in spec.script.iter().flat_map(|script| &script.commands) {
        let error = |reason: String| {
            LabError::Deadlock(DeadlockError::InvalidCommand { text: command.clone(), node: *node, reason })
        };
        let words: Vec<_> = command.split_whitespace().collect();
        let in_script = |reason: String| error(format!("{reason} {QUOTATION_HINT}"));
        // The deadlock family ignores the number of a request, so any number will do.
        let command = Deadlock::parse_words(&words, *node, 0).map_err(in_script)?;
        let named_agents = match &command {
            Command::Ask { need, .. } => need.awaited().to_vec(),
            Command::Answer { to, .. } => vec![*to],
            Command::Cancel { .. } | Command::Check { .. } => Vec::new(),
        };
        let acting_process = Agent::process(*node, command.process());
        if let Some(unknown) = named_agents.iter().chain([&acting_process]).find(|agent| !exists(agent)) {
            return Err(error(format!("there is no {unknown} in this group.")));
        }
    }
    Ok(())
}

pub(super) fn validate(spec: &Spec<Deadlock>, entry: &DeadlockEntry) -> Result<(), LabError> {
    let settings = &spec.settings;
    let name = || spec.algorithm.to_string();
    let processes = settings.processes.unwrap_or(spec.nodes);
    let (resources, max_resources) = (settings.resources, MAX_PROCESSES);
    let max_processes = MAX_PROCESSES.max(spec.nodes);
    let given_priorities = settings.priorities.len();
    first_error([
        (
            processes == 0 || processes > max_processes,
            DeadlockError::ProcessesOutOfRange { processes, maximum: max_processes },
        ),
        (resources > max_resources, DeadlockError::ResourcesOutOfRange { resources, maximum: max_resources }),
        (resources > 0 && processes != spec.nodes, DeadlockError::ProcessesWithResources),
        (resources == 0 && settings.acquire_mode != AcquireMode::AnyOrder, DeadlockError::AcquireWithoutResources),
        (resources > 0 && settings.wait_mode.is_some(), DeadlockError::WaitsForWithResources),
        (given_priorities > 0 && settings.victim != Some(Policy::LowestPriority), DeadlockError::PrioritiesUnused),
        (given_priorities > processes, DeadlockError::TooManyPriorities { given: given_priorities, processes }),
        (settings.fan_out == 0, DeadlockError::FanOutZero),
        (settings.request_percent > 100, DeadlockError::ShareOutOfRange { share: settings.request_percent }),
        (
            // The detectors whose waiting processes start detections are those with a bound on
            // messages.
            settings.patience.is_some() && entry.facts.max_messages_per_wait.is_none(),
            DeadlockError::DetectAfterNotApplicable { name: name() },
        ),
    ])?;
    validate_script(spec)?;
    let is_supported = match (entry.facts.waiting, wait_mode(spec)) {
        (Waiting::Either, _) | (Waiting::ForAll, WaitMode::All) | (Waiting::ForAny, WaitMode::Any) => true,
        (Waiting::ForAll, WaitMode::Any | WaitMode::Mixed) | (Waiting::ForAny, WaitMode::All | WaitMode::Mixed) => {
            false
        }
    };
    let waits_for_several_resources =
        settings.acquire_mode == AcquireMode::AtOnce && settings.fan_out > 1 && settings.resources > 1;
    if settings.resources == 0 && !is_supported || waits_for_several_resources && !entry.facts.waiting.supports_all() {
        let option = match settings.wait_mode {
            Some(mode) => format!("--waits-for {}", option_value(&mode)),
            None => "--acquire at-once, with which a process waits for all its resources".into(),
        };
        return Err(DeadlockError::UnsupportedWaits { name: name(), option }.into());
    }
    Ok(())
}
