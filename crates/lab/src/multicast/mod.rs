//! The multicast family: settings, validation, nodes, clients, properties and figures of a run.

mod algorithms;
pub mod check;
mod compare;
mod error;
mod expected_cost;
mod options;
mod present;
pub mod run;
mod script;
mod stress;
pub mod survey;

pub use crate::views::{MembershipService, ViewSettings};
pub use algorithms::{MulticastEntry, MulticastInViews, MulticastNode};
pub use error::MulticastError;
pub use expected_cost::{Cost, sequencer};
pub use options::MediumArg;
pub use options::MulticastArgs;

use crate::check::CheckTask;
use crate::clients;
use crate::error::{LabError, first_error};
use crate::family::{Judge, JudgeFamily, JudgingLevel, RunFamily, ScriptFamily};
use crate::flag::{FlagPosition, Flags};
use crate::multicast::run::{Demand, Measures, MulticastSummary, Properties, Property, PropertySet, Senders, Traffic};
use crate::shrink::smaller_counts;
use crate::spec::{Spec, option_value};
use crate::typed::invalid_command;
use quorate_core::membership::LeaseTerms;
use quorate_core::multicast::{Command, Delivery, Event, GroupId, Payload, Plan, Sequencing, Window};
use quorate_core::{Duration, Group, Medium, NodeId};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::MessageCounts;
use quorate_journal::property::Verdict;
use quorate_journal::settings::Latency;
use quorate_sim::run::Limits;
use script::Script;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The family of ordered multicasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multicast {}

/// Settings of the clients and of the multicast. [`MulticastArgs`] documents each of them except
/// `views`, with its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub messages: u64,
    pub traffic: Traffic,
    pub senders: Vec<NodeId>,
    /// Minimum size of a payload in bytes.
    pub payload: usize,
    pub interval: Option<Latency>,
    pub delivery: Delivery,
    pub relay: bool,
    pub sequencing: Sequencing,
    /// Maximum number of messages that a member may have in flight.
    pub window: u64,
    pub medium: MulticastMedium,
    pub groups: Vec<Group>,
    /// Number of members that leave voluntarily.
    pub leaves: usize,
    /// Maximum number of bytes of the state that one message to a joiner carries.
    pub piece: usize,
    /// Properties to judge in addition to those that the algorithm promises.
    pub judge: Vec<Property>,
    pub views: Option<ViewSettings>,
}

/// The medium that carries multicasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MulticastMedium {
    /// One message per receiver.
    #[default]
    Unicast,
    /// One message that reaches its receivers.
    Multicast,
    /// One message that reaches all nodes; nodes that are not receivers drop it.
    Broadcast,
}

impl Default for Settings {
    fn default() -> Self {
        let plan = Plan::new(Group::empty());
        Self {
            messages: 20,
            traffic: Traffic::Random,
            senders: Vec::new(),
            payload: 0,
            interval: None,
            delivery: Delivery::Prompt,
            relay: false,
            sequencing: Sequencing::ToAll,
            window: plan.window.messages,
            medium: MulticastMedium::Unicast,
            groups: Vec::new(),
            leaves: 0,
            piece: plan.max_piece_bytes,
            judge: Vec::new(),
            views: None,
        }
    }
}

impl RunFamily for Multicast {
    type Clients = clients::RunClients<Senders, Script>;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        let codec = spec.algorithm.codec.clone();
        match node_wrapping(spec) {
            NodeWrapping::Fixed => codec,
            NodeWrapping::Viewed => codec.in_views(),
            NodeWrapping::Several => codec.in_several_groups(),
            NodeWrapping::SeveralViewed => codec.in_several_viewed_groups(),
            NodeWrapping::WithMembership(_) => codec.with_own_membership(),
        }
    }

    fn medium(spec: &Spec<Self>) -> Medium {
        match spec.settings.medium {
            MulticastMedium::Unicast => Medium::Unicast,
            MulticastMedium::Multicast => Medium::Multicast,
            MulticastMedium::Broadcast => Medium::Broadcast,
        }
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        let Settings { views, groups, senders, payload, leaves, piece, sequencing, window, judge, .. } = &spec.settings;
        let is_replicated = views.is_some_and(|views| views.is_replicated());
        if spec.algorithm.facts.profile.flaw.is_some() && (is_replicated || !groups.is_empty()) {
            return Err(MulticastError::NotForFaultyVariant { name: spec.algorithm.to_string() }.into());
        }
        if let Some(views) = views {
            views.validate()?;
            if is_replicated && !groups.is_empty() {
                return Err(MulticastError::GroupsWithReplica.into());
            }
        }
        let lacks_sequencer = *sequencing != Sequencing::ToAll && !spec.algorithm.facts.has_sequencer;
        first_error([
            (*leaves > 0 && views.is_none(), MulticastError::LeavesWithoutViews),
            (*leaves > spec.nodes, MulticastError::TooManyLeaves { leaves: *leaves, nodes: spec.nodes }),
            (*piece == 0, MulticastError::ZeroPiece),
            (lacks_sequencer, MulticastError::SequencingNotApplicable { name: spec.algorithm.to_string() }),
            (*window == 0, MulticastError::ZeroWindow),
            (*payload > Payload::MAX_LEN, MulticastError::PayloadTooLong { payload: *payload }),
        ])?;
        if let Some(node) = groups.iter().filter_map(Group::last).find(|node| node.index() >= spec.nodes) {
            return Err(MulticastError::NoSuchNode { option: "groups", node, nodes: spec.nodes }.into());
        }
        if judge.contains(&Property::ViewSynchrony) && views.is_none() {
            return Err(MulticastError::ViewSynchronyWithoutViews.into());
        }
        let is_member = |node: &NodeId| groups.is_empty() || groups.iter().any(|group| group.contains(*node));
        if let Some(node) = senders.iter().find(|node| !is_member(node)) {
            return Err(MulticastError::SenderInNoGroup { node: *node }.into());
        }
        match senders.iter().find(|node| node.index() >= spec.nodes) {
            Some(node) => Err(MulticastError::NoSuchNode { option: "senders", node: *node, nodes: spec.nodes }.into()),
            None => Ok(()),
        }
    }

    fn node_factory(spec: &Spec<Self>) -> impl Fn(NodeId) -> MulticastNode + Send + Sync + 'static + use<> {
        let entry = spec.algorithm.entry();
        let plans = plans(spec, entry);
        let (wrapping, seed) = (node_wrapping(spec), spec.seed);
        // There is always at least one group.
        let first_plan = plans.first().map_or_else(|| Arc::new(Plan::new(Group::empty())), Arc::clone);
        spec.with_links(move |me| match wrapping {
            NodeWrapping::Fixed => (entry.make)(me, &first_plan).in_fixed_group(),
            NodeWrapping::Viewed => (entry.make)(me, &first_plan).in_views(me),
            NodeWrapping::Several => entry.node_in_fixed_groups(me, &plans),
            NodeWrapping::SeveralViewed => entry.node_in_viewed_groups(me, &plans),
            NodeWrapping::WithMembership(terms) => {
                (entry.make)(me, &first_plan).with_own_membership(me, &first_plan.members, seed, terms)
            }
        })
    }

    fn clients(spec: &Spec<Self>) -> Self::Clients {
        match &spec.script {
            Some(script) if !script.commands.is_empty() => {
                clients::RunClients::Script(Script::new(script.commands.clone()))
            }
            Some(_) | None => {
                clients::RunClients::Workload(Box::new(Senders::new(spec.nodes, spec.seed, demand(spec))))
            }
        }
    }

    fn fault_window(spec: &Spec<Self>) -> Duration {
        let duration = spec.message_time().times(2 * spec.settings.messages.clamp(4, 1_000));
        // Random faults last up to a quarter of the window, and some must be as long as a lease.
        spec.settings.views.map_or(duration, |views| duration.max(views.lease_terms().lease.times(4)))
    }

    /// In views the network never becomes quiet, because leases are renewed. Therefore the run
    /// lasts until the last view has had time to begin at every member.
    fn limits(spec: &Spec<Self>) -> Limits {
        let defaults = spec.default_limits();
        Limits { max_settling: view_settle_time(spec).unwrap_or(defaults.max_settling), ..defaults }
    }

    fn view_settings(settings: &Settings) -> Option<ViewSettings> {
        settings.views
    }

    fn stress_specs(entry: &'static MulticastEntry) -> Vec<Spec<Self>> {
        stress::stress_specs(entry)
    }

    fn stress_specs_in_views(entry: &'static MulticastEntry) -> Vec<Spec<Self>> {
        stress::view_fault_specs(entry)
    }

    fn perform_check_task<T: CheckTask>(task: T) -> Option<T::Output> {
        Some(task.perform::<Self>())
    }
}

impl ScriptFamily for Multicast {
    const COMMANDS: &'static [&'static str] = &["send TEXT", "leave"];

    fn parse_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        match words {
            ["leave"] => Ok(Command::leave()),
            ["send", text @ ..] if !text.is_empty() => Ok(Command::send(text.join(" "))),
            _ => Err(invalid_command(words, &["send", "leave"], "send TEXT or leave")),
        }
    }

    /// A payload with letters was written by a user and must be kept. Any other payload counts as
    /// generated, and the script may generate a different one.
    fn script_command(command: &Command) -> Option<Cow<'static, str>> {
        Some(match command {
            Command::Send { payload, .. } => match payload.text().filter(|text| text.contains(char::is_alphabetic)) {
                Some(text) => format!("send {text}").into(),
                None => "send".into(),
            },
            Command::Leave { .. } => "leave".into(),
        })
    }

    fn scripted_settings(settings: &Settings) -> Settings {
        let defaults = Settings::default();
        Settings {
            messages: defaults.messages,
            traffic: defaults.traffic,
            senders: Vec::new(),
            leaves: 0,
            ..settings.clone()
        }
    }

    /// Returns variants with fewer messages, with all nodes as senders, and without leaves.
    fn smaller_settings(settings: &Settings) -> Vec<Settings> {
        let fewer_messages =
            smaller_counts(settings.messages).map(|messages| Settings { messages, ..settings.clone() });
        let all_senders = Settings { senders: Vec::new(), ..settings.clone() };
        let no_leaves = Settings { leaves: 0, ..settings.clone() };
        fewer_messages.chain([all_senders, no_leaves]).collect()
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        let defaults = Settings::default();
        let settings = &spec.settings;
        let senders: Group = settings.senders.iter().copied().collect();
        let groups: Vec<_> = settings.groups.iter().map(ToString::to_string).collect();
        let judged: Vec<_> = settings.judge.iter().map(|property| property.name()).collect();
        let (is_scripted, mut flags) = (spec.is_scripted(), Flags::default());
        flags.add_unless_default(is_scripted, FlagPosition::Front, "messages", settings.messages);
        flags.add_unless_default(
            is_scripted || settings.traffic == defaults.traffic,
            FlagPosition::Front,
            "traffic",
            option_value(&settings.traffic),
        );
        flags.add_unless_default(is_scripted || settings.senders.is_empty(), FlagPosition::Front, "senders", senders);
        flags.add_unless_default(
            settings.payload == defaults.payload,
            FlagPosition::Front,
            "payload",
            settings.payload,
        );
        flags.add_if_given(
            FlagPosition::Times,
            "interval",
            settings.interval.filter(|_| !is_scripted && settings.traffic != Traffic::Flood),
        );
        flags.add_switch(settings.delivery != defaults.delivery, FlagPosition::Front, "uniform");
        flags.add_switch(settings.relay != defaults.relay, FlagPosition::Front, "relay");
        flags.add_unless_default(
            settings.sequencing == defaults.sequencing,
            FlagPosition::Front,
            "sequencing",
            option_value(&settings.sequencing),
        );
        flags.add_unless_default(settings.window == defaults.window, FlagPosition::Front, "window", settings.window);
        flags.add_unless_default(
            settings.medium == defaults.medium,
            FlagPosition::Front,
            "medium",
            option_value(&settings.medium),
        );
        flags.add_unless_default(groups.is_empty(), FlagPosition::Front, "groups", groups.join(" "));
        flags.add_unless_default(settings.leaves == defaults.leaves, FlagPosition::Front, "leaves", settings.leaves);
        flags.add_unless_default(settings.piece == defaults.piece, FlagPosition::Front, "piece", settings.piece);
        flags.add_unless_default(judged.is_empty(), FlagPosition::Front, "judge", judged.join(","));
        settings.views.iter().for_each(|views| views.add_flags(&mut flags));
        flags
    }
}

impl JudgeFamily for Multicast {
    type Measures = Measures;
    type Properties = Properties;
    type Summary = MulticastSummary;

    fn measures(spec: &Spec<Self>) -> Measures {
        let measures = Measures::new(spec.nodes);
        static_groups(spec)
            .into_iter()
            .fold(measures, |measures, (group, members)| measures.with_members(group, &members))
    }

    fn properties(spec: &Spec<Self>, _level: JudgingLevel) -> Properties {
        let requested = PropertySet::from_slice(&spec.settings.judge);
        let properties = Properties::new(spec.nodes, promises(spec, spec.algorithm.entry())).also_judging(requested);
        let properties = properties.with_grace(view_settle_time(spec).unwrap_or_default());
        static_groups(spec)
            .into_iter()
            .fold(properties, |properties, (group, members)| properties.with_members(group, members))
    }

    fn summary(
        spec: &Spec<Self>,
        messages: &MessageCounts,
        measures: &Measures,
        properties: &Properties,
    ) -> MulticastSummary {
        let (unit, unit_name) = spec.delay_unit();
        let not_promised = properties.unpromised_verdicts();
        MulticastSummary { not_promised, ..measures.summary(messages, unit, unit_name) }
    }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts()
    }
}

/// Returns a generous time within which a view begins at every member, including the state transfer
/// to joiners; `None` without views.
fn view_settle_time(spec: &Spec<Multicast>) -> Option<Duration> {
    spec.settings.views.map(|views| views.lease_terms().lease.times(3) + spec.message_time().times(300))
}

/// How nodes run the algorithm.
#[derive(Clone, Copy)]
enum NodeWrapping {
    /// One group that never changes.
    Fixed,
    /// One group with views.
    Viewed,
    /// Several groups that never change.
    Several,
    /// Several groups with views.
    SeveralViewed,
    /// One group with views whose members also run the membership service.
    WithMembership(LeaseTerms),
}

fn node_wrapping(spec: &Spec<Multicast>) -> NodeWrapping {
    match (spec.settings.views, spec.settings.groups.is_empty()) {
        (Some(views), _) if views.is_replicated() => NodeWrapping::WithMembership(views.lease_terms()),
        (Some(_), true) => NodeWrapping::Viewed,
        (Some(_), false) => NodeWrapping::SeveralViewed,
        (None, true) => NodeWrapping::Fixed,
        (None, false) => NodeWrapping::Several,
    }
}

/// Returns all groups with their members.
fn groups(spec: &Spec<Multicast>) -> Vec<(GroupId, Group)> {
    if spec.settings.groups.is_empty() {
        return vec![(GroupId::ONLY, spec.group())];
    }
    let numbered = (1..=u16::MAX).map(GroupId).zip(&spec.settings.groups);
    numbered.map(|(id, members)| (id, members.clone())).collect()
}

/// Returns all groups if there are no views, else none. Observers learn the members of a group from
/// its views; without views they need this list.
fn static_groups(spec: &Spec<Multicast>) -> Vec<(GroupId, Group)> {
    if spec.settings.views.is_some() { Vec::new() } else { groups(spec) }
}

/// Returns the configuration of each group.
pub(crate) fn plans(spec: &Spec<Multicast>, entry: &MulticastEntry) -> Vec<Arc<Plan>> {
    groups(spec).into_iter().map(|(id, members)| Arc::new(plan(spec, entry, id, members))).collect()
}

fn plan(spec: &Spec<Multicast>, entry: &MulticastEntry, id: GroupId, members: Group) -> Plan {
    let settings = &spec.settings;
    let defaults = Plan::new(members);
    Plan {
        id,
        window: Window { messages: settings.window, ..defaults.window },
        relays: settings.relay || entry.facts.relays_by_default,
        delivery: settings.delivery,
        sequencing: settings.sequencing,
        max_piece_bytes: settings.piece,
        ..defaults
    }
}

fn promises(spec: &Spec<Multicast>, entry: &MulticastEntry) -> PropertySet {
    promises_with(spec, entry, !spec.can_stop_nodes())
}

/// Returns the properties that an algorithm promises. `is_crash_free` says that no node can crash
/// or stop permanently in another way.
///
/// If a sender crashes, only some members may receive its message, unless members relay it or a
/// view change settles it. Without views, a member that waits for a crashed one waits forever.
pub(crate) fn promises_with(spec: &Spec<Multicast>, entry: &MulticastEntry, is_crash_free: bool) -> PropertySet {
    let settings = &spec.settings;
    let has_views = settings.views.is_some();
    let agreement = has_views || settings.relay || entry.facts.relays_by_default || is_crash_free;
    // Whether a delivery may wait for a crashed member other than the sender.
    let waits_for_others = entry.facts.order.total || settings.delivery == Delivery::Uniform;
    let validity = has_views || is_crash_free || !waits_for_others;
    let order = entry.facts.order;
    let senders = if settings.senders.is_empty() { spec.nodes } else { settings.senders.len() };
    PropertySet {
        fifo: order.fifo,
        causal: order.causal,
        total: order.total,
        agreement: agreement && validity,
        validity,
        uniform: settings.delivery == Delivery::Uniform && validity,
        delivered: agreement && validity,
        views: has_views,
        // Fewer than four messages may well be sent without ever overlapping.
        expects_contention: !spec.is_scripted()
            && settings.traffic != Traffic::Single
            && senders > 1
            && settings.messages > 3
            && spec.settings.groups.is_empty(),
        ..PropertySet::BASIC
    }
}

fn demand(spec: &Spec<Multicast>) -> Demand {
    let settings = spec.settings.clone();
    let message_time = spec.message_time();
    let senders = if settings.senders.is_empty() { spec.group().iter().collect() } else { settings.senders };
    let default_interval = match settings.traffic {
        // Long enough that no message of the previous multicast is still in flight.
        Traffic::Single => Latency::Fixed(message_time.times(10)),
        Traffic::Random => Latency::Uniform { min: Duration::ZERO, max: message_time.times(4) },
        Traffic::Flood => Latency::Fixed(Duration::ZERO),
    };
    Demand {
        traffic: settings.traffic,
        messages: settings.messages,
        senders,
        payload: settings.payload,
        interval: settings.interval.unwrap_or(default_interval),
        groups: if settings.groups.is_empty() { Vec::new() } else { groups(spec) },
        leaves: settings.leaves,
        has_views: settings.views.is_some(),
        requires_agreement: promises(spec, &spec.algorithm).agreement,
    }
}
