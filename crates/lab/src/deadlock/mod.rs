//! The deadlock family in the lab.

mod algorithms;
pub mod check;
mod error;
mod options;
mod present;
pub mod run;
mod settings;
mod stress;

pub use algorithms::{DeadlockEntry, DeadlockNode};
pub use error::DeadlockError;
pub use options::DeadlockArgs;
pub use settings::{MAX_PROCESSES, Settings, plan};

use crate::check::CheckTask;
use crate::deadlock::run::{
    AcquireMode, DeadlockSummary, Demand, Measures, MessageBound, Processes, Properties, WaitMode,
};
use crate::error::LabError;
use crate::family::{Judge, JudgeFamily, JudgingLevel, RunFamily, ScriptFamily};
use crate::flag::{FlagPosition, Flags};
use crate::shrink::smaller_counts;
use crate::spec::{Spec, option_value};
use crate::typed::invalid_command;
use quorate_core::deadlock::{Agent, Command, Event, Need, Waiting};
use quorate_core::{Duration, NodeId};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::MessageCounts;
use quorate_journal::property::Verdict;
use quorate_journal::settings::{Fault, Latency, TimedFault};
use quorate_sim::run::Limits;
use std::borrow::Cow;
use std::sync::Arc;

/// The family of deadlock detectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlock {}

/// The period in which seed-chosen faults begin, in message times.
const FAULT_WINDOW: u64 = 100;

const COMMAND_NAMES: &[&str] = &["ask", "answer", "give-up", "look"];

impl RunFamily for Deadlock {
    type Clients = Processes;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        let codec = spec.algorithm.codec.clone();
        if spec.settings.resources == 0 { codec.with_requests() } else { codec.with_locks() }
    }

    /// A probe must not overtake the request that precedes it.
    fn needs_fifo(_entry: &DeadlockEntry) -> bool {
        true
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        settings::validate(spec, spec.algorithm.entry())
    }

    fn node_factory(spec: &Spec<Self>) -> impl Fn(NodeId) -> DeadlockNode + Send + Sync + 'static + use<> {
        let (plan, entry, sends_requests) =
            (Arc::new(plan(spec)), spec.algorithm.entry(), spec.settings.resources == 0);
        spec.with_links(move |me| {
            if sends_requests { entry.node_with_requests(me, &plan) } else { entry.node_with_locks(me, &plan) }
        })
    }

    fn clients(spec: &Spec<Self>) -> Processes {
        match &spec.script {
            Some(script) if !script.commands.is_empty() => {
                Processes::scripted(script.commands.clone(), |text, node| {
                    Self::parse_words(&text.split_whitespace().collect::<Vec<_>>(), node, 0).ok()
                })
            }
            Some(_) | None => Processes::new(demand(spec), spec.seed),
        }
    }

    fn fault_window(spec: &Spec<Self>) -> Duration {
        spec.message_time().times(FAULT_WINDOW)
    }

    fn stress_specs(entry: &'static DeadlockEntry) -> Vec<Spec<Self>> {
        stress::stress_specs(entry)
    }

    /// Detections may start only after a delay (`--detect-after`). Twice that delay is ample time
    /// for them to start before the run ends.
    fn limits(spec: &Spec<Self>) -> Limits {
        let defaults = spec.default_limits();
        let detection_time = plan(spec).patience.times(2);
        Limits {
            max_settling: defaults.max_settling + detection_time,
            max_silence: defaults.max_silence + detection_time,
            ..defaults
        }
    }

    fn perform_check_task<T: CheckTask>(task: T) -> Option<T::Output> {
        Some(task.perform::<Self>())
    }
}

impl ScriptFamily for Deadlock {
    // Even `give-up` and `look` accept a text: `as N`, which names the process of the site that
    // acts.
    const COMMANDS: &'static [&'static str] = &["ask TEXT", "answer TEXT", "give-up TEXT", "look TEXT"];

    /// `ask P2 P3`, `ask any P2 P3`, `answer P1`, `give-up`, `look`. `P2` is the first process of
    /// site 2. The first process of the commanded site acts, unless `as N` names another, counted
    /// from 0: in `ask as 1 P2` the second one acts.
    fn parse_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        let error = || invalid_command(words, COMMAND_NAMES, "ask P2 P3, ask any P2 P3, answer P1, give-up or look");
        let (name, rest) = words.split_first().ok_or_else(error)?;
        let (process, rest) = match rest {
            ["as", process, rest @ ..] => (process.parse().map_err(|_| error())?, rest),
            rest => (0, rest),
        };
        let (is_any, agents) = match rest {
            ["any", agents @ ..] => (true, agents),
            agents => (false, agents),
        };
        let agents: Result<Vec<Agent>, _> = agents.iter().map(|word| word.parse::<Agent>()).collect();
        let agents = agents.map_err(|error| format!("cannot parse '{}': {error}.", rest.join(" ").escape_debug()))?;
        match (*name, is_any, &agents[..]) {
            ("ask", false, [_, ..]) => Ok(Command::Ask { process, need: Need::All(agents) }),
            ("ask", true, [_, ..]) => Ok(Command::Ask { process, need: Need::Any(agents) }),
            ("answer", false, [to]) => Ok(Command::Answer { process, to: *to }),
            ("give-up", false, []) => Ok(Command::Cancel { process }),
            ("look", false, []) => Ok(Command::Check { process }),
            _ => Err(error()),
        }
    }

    fn script_command(command: &Command) -> Option<Cow<'static, str>> {
        let mut words = vec![command.name().to_owned()];
        if command.process() != 0 {
            words.push(format!("as {}", command.process()));
        }
        match command {
            Command::Ask { need, .. } => {
                words.extend(need.has_alternatives().then(|| "any".to_owned()));
                words.extend(need.awaited().iter().map(ToString::to_string));
            }
            Command::Answer { to, .. } => words.push(to.to_string()),
            Command::Cancel { .. } | Command::Check { .. } => {}
        }
        Some(words.join(" ").into())
    }

    /// Resets the settings of random requests, which a script replaces: how many rounds there are,
    /// how many agents a request names, and how probable a request is.
    fn scripted_settings(settings: &Settings) -> Settings {
        let defaults = Settings::default();
        Settings {
            rounds: defaults.rounds,
            fan_out: defaults.fan_out,
            request_percent: defaults.request_percent,
            ..settings.clone()
        }
    }

    fn smaller_settings(settings: &Settings) -> Vec<Settings> {
        let fewer_rounds = smaller_counts(settings.rounds).map(|rounds| Settings { rounds, ..settings.clone() });
        let no_fan_out = Settings { fan_out: 1, ..settings.clone() };
        let one_process_per_node = Settings { processes: None, ..settings.clone() };
        fewer_rounds.chain([no_fan_out, one_process_per_node]).collect()
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        let defaults = Settings::default();
        let settings = &spec.settings;
        let priorities: Vec<_> = settings.priorities.iter().map(ToString::to_string).collect();
        // A script determines the requests and their times.
        let is_scripted = spec.is_scripted();
        let mut flags = Flags::default();
        flags.add_if_given(FlagPosition::Front, "processes", settings.processes);
        flags.add_unless_default(
            settings.resources == defaults.resources,
            FlagPosition::Front,
            "resources",
            settings.resources,
        );
        flags.add_unless_default(
            is_scripted || settings.rounds == defaults.rounds,
            FlagPosition::Front,
            "asks",
            settings.rounds,
        );
        flags.add_unless_default(
            is_scripted || settings.fan_out == defaults.fan_out,
            FlagPosition::Front,
            "fan-out",
            settings.fan_out,
        );
        flags.add_if_given(FlagPosition::Front, "waits-for", settings.wait_mode.map(|mode| option_value(&mode)));
        flags.add_unless_default(
            settings.acquire_mode == AcquireMode::AnyOrder,
            FlagPosition::Front,
            "acquire",
            option_value(&settings.acquire_mode),
        );
        flags.add_unless_default(
            is_scripted || settings.request_percent == defaults.request_percent,
            FlagPosition::Front,
            "share",
            settings.request_percent,
        );
        flags.add_if_given(FlagPosition::Front, "victim", settings.victim);
        flags.add_unless_default(priorities.is_empty(), FlagPosition::Front, "priorities", priorities.join(","));
        flags.add_if_given(FlagPosition::Times, "request-after", settings.think.filter(|_| !is_scripted));
        flags.add_if_given(FlagPosition::Times, "release-after", settings.hold.filter(|_| !is_scripted));
        flags.add_if_given(FlagPosition::Times, "detect-after", settings.patience);
        flags
    }
}

impl JudgeFamily for Deadlock {
    type Measures = Measures;
    type Properties = Properties;
    type Summary = DeadlockSummary;

    fn measures(_spec: &Spec<Self>) -> Measures {
        Measures::default()
    }

    fn properties(spec: &Spec<Self>, _level: JudgingLevel) -> Properties {
        let bound = spec
            .algorithm
            .facts
            .max_messages_per_wait
            .map(|messages_per_wait| MessageBound { kinds: spec.algorithm.facts.cost_kinds, messages_per_wait });
        // The bound allows one detection per wait, but a script can start more with `look`.
        Properties::new(spec.settings.victim.is_some(), bound.filter(|_| !spec.is_scripted()))
    }

    fn summary(
        spec: &Spec<Self>,
        _messages: &MessageCounts,
        measures: &Measures,
        _properties: &Properties,
    ) -> DeadlockSummary {
        let (unit, unit_name) = spec.delay_unit();
        measures.summary(unit, unit_name)
    }

    fn broken_assumptions(spec: &Spec<Self>) -> Vec<&'static str> {
        let faults = spec.every_fault();
        let is_crash = |timed: &TimedFault| matches!(timed.fault, Fault::Crash { .. });
        let assumptions = [
            (faults.iter().any(is_crash), "no node crashes"),
            (spec.loses_messages_unrepaired(&faults), "every message arrives exactly once and in order"),
        ];
        assumptions.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, assumption)| assumption).collect()
    }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts()
    }
}

/// How processes wait: as the settings say, or else as their detector supports.
pub(crate) fn wait_mode(spec: &Spec<Deadlock>) -> WaitMode {
    match (spec.settings.wait_mode, spec.algorithm.facts.waiting) {
        (Some(mode), _) => mode,
        (None, Waiting::ForAny) => WaitMode::Any,
        (None, Waiting::ForAll | Waiting::Either) => WaitMode::All,
    }
}

/// Returns the behavior of the processes.
fn demand(spec: &Spec<Deadlock>) -> Demand {
    let settings = &spec.settings;
    let (plan, message_time) = (plan(spec), spec.message_time());
    let up_to = |max: Duration| Latency::Uniform { min: Duration::ZERO, max };
    Demand {
        processes: plan.all_processes().collect(),
        resources: plan.all_resources().collect(),
        rounds: settings.rounds,
        fan_out: settings.fan_out,
        wait_mode: wait_mode(spec),
        acquire_mode: settings.acquire_mode,
        think: settings.think.unwrap_or(up_to(message_time.times(4))),
        hold: settings.hold.unwrap_or(up_to(message_time.times(4))),
        request_percent: settings.request_percent,
        has_victims: settings.victim.is_some(),
    }
}
