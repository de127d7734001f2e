//! The mutual-exclusion family in the lab.

mod algorithms;
pub mod check;
pub mod compare;
mod error;
pub mod failures;
mod options;
mod present;
pub mod run;
mod script;
mod stress;
mod view_faults;

pub use crate::views::{MembershipService, ViewSettings};
pub use algorithms::{MutexEntry, MutexInViews, MutexNode, MutexNodeFactory};
pub use error::MutexError;
pub use options::MutexArgs;

use crate::check::CheckTask;
use crate::clients;
use crate::error::LabError;
use crate::family::{Judge, JudgeFamily, JudgingLevel, RunFamily, ScriptFamily};
use crate::flag::{FlagPosition, Flags};
use crate::mutex::run::{
    CountedFrom, Demand, Expectations, Measures, MutexSummary, OrderCheck, OvertakingBound, Pattern, Properties,
    Requests,
};
use crate::shrink::smaller_counts;
use crate::spec::{Spec, option_value};
use crate::typed::invalid_command;
use crate::views::ViewError;
use quorate_core::mutex::{COMMANDS, Case, Command, Event, Fairness, Links, Load, Model, Service, ServiceOrder};
use quorate_core::{Duration, Group, Medium, NodeId};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::MessageCounts;
use quorate_journal::property::Verdict;
use quorate_journal::settings::{Chance, Latency};
use quorate_sim::run::Limits;
use script::Script;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The family of mutual-exclusion algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutex {}

/// The clients' behavior, and the group's views. [`MutexArgs`] describes each setting but `views`,
/// and its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of requests, all nodes together.
    pub entries: u64,
    pub workload: Pattern,
    pub requesters: Vec<NodeId>,
    pub hold: Option<Latency>,
    /// How long a node waits before its next request.
    pub think: Option<Latency>,
    /// Probability that a request is a try.
    pub tries: Chance,
    /// Probability that a client cancels its request after some time.
    pub cancels: Chance,
    /// Probability that a blocking request is shared, for reading. Missing in journals of earlier
    /// versions.
    #[serde(default)]
    pub readers: Chance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<ViewSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            entries: 10,
            workload: Pattern::Random,
            requesters: Vec::new(),
            hold: None,
            think: None,
            tries: Chance::default(),
            cancels: Chance::default(),
            readers: Chance::default(),
            views: None,
        }
    }
}

/// The largest group whose request order is checked. Larger groups need too much memory for vector
/// clocks.
const MAX_NODES_WITH_ORDER_CHECK: usize = 256;

impl RunFamily for Mutex {
    type Clients = clients::RunClients<Requests, Script>;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        let codec = spec.algorithm.codec.clone();
        match spec.settings.views {
            Some(_) if !spec.algorithm.runs_in_views() => codec,
            Some(ViewSettings { membership: MembershipService::Replica, .. }) => codec.with_own_membership(),
            Some(_) => codec.in_views(),
            None => codec,
        }
    }

    fn needs_fifo(entry: &MutexEntry) -> bool {
        entry.facts.links == Links::Fifo
    }

    fn needs_bounds(entry: &MutexEntry) -> bool {
        entry.facts.model == Model::Synchronous
    }

    fn medium(spec: &Spec<Self>) -> Medium {
        spec.algorithm.facts.medium
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        if let Err(sizes) = (spec.algorithm.facts.check_group_size)(spec.nodes) {
            return Err(
                MutexError::UnsupportedSize { name: spec.algorithm.to_string(), nodes: spec.nodes, sizes }.into()
            );
        }
        if let Some(views) = &spec.settings.views {
            if !spec.algorithm.runs_in_views() {
                return Err(ViewError::ViewsNotSupported { name: spec.algorithm.to_string() }.into());
            }
            views.validate()?;
        }
        match spec.settings.requesters.iter().find(|node| node.index() >= spec.nodes) {
            Some(node) => Err(MutexError::NoSuchRequester { node: *node, nodes: spec.nodes }.into()),
            None => Ok(()),
        }
    }

    fn node_factory(spec: &Spec<Self>) -> impl Fn(NodeId) -> MutexNode + Send + Sync + 'static + use<> {
        let environment = spec.environment();
        let (views, entry) = (spec.settings.views, spec.algorithm.entry());
        spec.with_links(move |me| {
            let in_views = views.and_then(|views| Some((views, entry.node_in_views(me, &environment)?)));
            match in_views {
                Some((views @ ViewSettings { membership: MembershipService::Replica, .. }, node)) => {
                    node.with_own_membership(me, &environment.group, environment.seed, views.lease_terms())
                }
                Some((_, node)) => node.in_views(me),
                None => entry.node(me, &environment),
            }
        })
    }

    fn clients(spec: &Spec<Self>) -> Self::Clients {
        match &spec.script {
            Some(script) if !script.commands.is_empty() => {
                clients::RunClients::Script(Script::new(script.commands.clone()))
            }
            Some(_) | None => {
                clients::RunClients::Workload(Box::new(Requests::new(spec.nodes, spec.seed, demand(spec))))
            }
        }
    }

    fn fault_window(spec: &Spec<Self>) -> Duration {
        let busy_time = spec.message_time().times(4 * spec.settings.entries.clamp(4, 1_000));
        // Some faults must outlast a lease.
        spec.settings.views.map_or(busy_time, |views| busy_time.max(views.lease_terms().lease.times(6)))
    }

    /// If the network never becomes quiet, the run ends when the last request has ended: idle
    /// traffic is not part of the experiment.
    fn limits(spec: &Spec<Self>) -> Limits {
        let defaults = spec.default_limits();
        let ends_with_last_request = spec.algorithm.facts.is_never_quiescent || spec.settings.views.is_some();
        Limits { max_settling: if ends_with_last_request { Duration::ZERO } else { defaults.max_settling }, ..defaults }
    }

    fn view_settings(settings: &Settings) -> Option<ViewSettings> {
        settings.views
    }

    fn stress_specs(entry: &'static MutexEntry) -> Vec<Spec<Self>> {
        stress::stress_specs(entry)
    }

    fn stress_specs_in_views(entry: &'static MutexEntry) -> Vec<Spec<Self>> {
        if entry.runs_in_views() { view_faults::view_fault_specs(entry) } else { Vec::new() }
    }

    fn perform_check_task<T: CheckTask>(task: T) -> Option<T::Output> {
        Some(task.perform::<Self>())
    }
}

impl ScriptFamily for Mutex {
    const COMMANDS: &'static [&'static str] = &[
        Command::Acquire.name(),
        Command::Try.name(),
        Command::Share.name(),
        Command::Cancel.name(),
        Command::Release.name(),
    ];

    fn parse_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        let find_command = |word: &str| COMMANDS.into_iter().find(|command| command.name().eq_ignore_ascii_case(word));
        let command = if let [word] = words { find_command(word) } else { None };
        command.ok_or_else(|| invalid_command(words, Self::COMMANDS, "acquire, try, share, cancel or release"))
    }

    fn script_command(command: &Command) -> Option<Cow<'static, str>> {
        Some(command.name().into())
    }

    fn scripted_settings(settings: &Settings) -> Settings {
        Settings { views: settings.views, ..Settings::default() }
    }

    fn smaller_settings(settings: &Settings) -> Vec<Settings> {
        let unchanged = || settings.clone();
        let fewer_entries = smaller_counts(settings.entries).map(|entries| Settings { entries, ..unchanged() });
        let all_requesters = Settings { requesters: Vec::new(), ..unchanged() };
        let only_acquire =
            Settings { tries: Chance::NEVER, cancels: Chance::NEVER, readers: Chance::NEVER, ..unchanged() };
        fewer_entries.chain([all_requesters, only_acquire]).collect()
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        let Settings { entries, workload, requesters, hold, think, tries, cancels, readers, views } = &spec.settings;
        let requester_list = Group::from_iter(requesters.iter().copied());
        let mut flags = Flags::default();
        // A script replaces the options of the workload.
        if spec.is_scripted() {
            views.iter().for_each(|views| views.add_flags(&mut flags));
            return flags;
        }
        flags.add_value(FlagPosition::Front, "entries", entries);
        flags.add_unless_default(
            *workload == Settings::default().workload,
            FlagPosition::Front,
            "workload",
            option_value(workload),
        );
        flags.add_unless_default(requesters.is_empty(), FlagPosition::Front, "requesters", requester_list);
        flags.add_if_given(FlagPosition::Times, "hold", *hold);
        flags.add_if_given(FlagPosition::Times, "think", *think);
        flags.add_unless_default(tries.is_zero(), FlagPosition::Links, "try", tries);
        flags.add_unless_default(cancels.is_zero(), FlagPosition::Links, "cancel", cancels);
        flags.add_unless_default(readers.is_zero(), FlagPosition::Links, "readers", readers);
        views.iter().for_each(|views| views.add_flags(&mut flags));
        flags
    }
}

impl JudgeFamily for Mutex {
    type Measures = Measures;
    type Properties = Properties;
    type Summary = MutexSummary;

    fn measures(spec: &Spec<Self>) -> Measures {
        let coordinator = (spec.algorithm.facts.coordinator)(&spec.group());
        // After `arrival_delay`, at least a round trip, an uncontended request would be granted. So
        // a request that has waited for so long counts as received by all nodes.
        let case = Case { group: &spec.group(), load: Load::SomeNodes };
        let hops = (spec.algorithm.facts.cost.client_delay)(&case).max.unwrap_or(2).max(2);
        let arrival_delay = spec.message_time().times(hops) + spec.processing.reference_delay().times(hops);
        let measures = Measures::new(spec.nodes, coordinator, arrival_delay);
        if spec.settings.views.is_some() { measures.with_views() } else { measures }
    }

    fn properties(spec: &Spec<Self>, level: JudgingLevel) -> Properties {
        let Settings { requesters, workload, entries, .. } = &spec.settings;
        let requesters = if requesters.is_empty() { spec.nodes } else { requesters.len() };
        // Algorithms promise the order of requests only within one view.
        let can_change_view = spec.settings.views.is_some_and(|views| !views.is_steady(spec));
        let overtaking = match spec.algorithm.facts.fairness {
            _ if can_change_view => None,
            Fairness::None => None,
            Fairness::FromRequest(maximum) => {
                Some(OvertakingBound { max_entries: maximum(spec.nodes), counted_from: CountedFrom::Request })
            }
            // Reliable links hold messages back, so arrival at a node is not arrival at the
            // algorithm.
            Fairness::FromArrival(_) if spec.is_reliable() => None,
            Fairness::FromArrival(maximum) => {
                Some(OvertakingBound { max_entries: maximum(spec.nodes), counted_from: CountedFrom::Arrival })
            }
        };
        let expectations = Expectations {
            has_fences: spec.algorithm.facts.has_fences,
            overtaking,
            serves_all: spec.algorithm.facts.service != Service::CanDeadlock,
            readers_share: spec.algorithm.facts.has_shared_access,
            order: match (spec.algorithm.facts.order, level) {
                _ if spec.nodes > MAX_NODES_WITH_ORDER_CHECK || can_change_view => OrderCheck::Ignored,
                (ServiceOrder::HappenedBefore, _) => OrderCheck::Promised,
                (ServiceOrder::Arrival | ServiceOrder::None, JudgingLevel::Figures) => OrderCheck::Counted,
                (ServiceOrder::Arrival | ServiceOrder::None, JudgingLevel::Verdicts) => OrderCheck::Ignored,
            },
            has_leases: spec.settings.views.is_some(),
            expects_contention: !spec.is_scripted() && *workload != Pattern::Single && requesters > 1 && *entries > 1,
        };
        Properties::new(spec.nodes, expectations)
    }

    fn summary(
        spec: &Spec<Self>,
        messages: &MessageCounts,
        measures: &Measures,
        properties: &Properties,
    ) -> MutexSummary {
        let (unit, unit_name) = spec.delay_unit();
        measures.summary(messages, properties, unit, unit_name)
    }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts()
    }
}

/// Returns the behavior of the clients.
fn demand(spec: &Spec<Mutex>) -> Demand {
    let message_time = spec.message_time();
    let Settings { entries, workload, requesters, hold, think, tries, cancels, readers, views: _ } =
        spec.settings.clone();
    let requesters: Vec<_> = if requesters.is_empty() { spec.group().iter().collect() } else { requesters };
    let requester_count = entries.min(requesters.len() as u64);
    let default_think = match workload {
        // Ample time for the last release to arrive everywhere. `All` does not use it.
        Pattern::Single | Pattern::All => Latency::Fixed(message_time.times(10)),
        // Requests arrive about as fast as the group can serve them, so there is contention at
        // times.
        Pattern::Random => Latency::Uniform { min: Duration::ZERO, max: message_time.times(4 * requester_count) },
    };
    Demand {
        pattern: workload,
        entries,
        requesters,
        hold: hold.unwrap_or(Latency::Fixed(message_time)),
        think: think.unwrap_or(default_think),
        tries,
        readers,
        cancels,
        message_time,
    }
}
