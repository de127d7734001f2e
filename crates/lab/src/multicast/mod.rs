//! The multicast family in the lab.

mod algorithms;
mod book;
pub mod check;
mod compare;
mod entry;
mod error;
mod options;
mod present;
pub mod run;
pub mod survey;
mod users;
mod weather;

pub use crate::views::{Keeper, ViewSettings};
pub use book::{Cost, sequencer};
pub use entry::{MulticastEntry, MulticastInViews, MulticastNode};
pub use error::MulticastError;
pub use options::MediumArg;
pub use options::MulticastArgs;
pub use users::Users;

use crate::check::CheckTask;
use crate::error::LabError;
use crate::family::{Care, FamilyTypes, Judge, JudgeFamily, RunFamily, ScriptFamily};
use crate::flag::{Flags, Place};
use crate::multicast::run::{Demand, Measures, MulticastSummary, Pattern, Promises, Properties, Property, Senders};
use crate::registry::{Entry, Family};
use crate::shrink::fewer;
use crate::spec::{Spec, word};
use crate::typed::unheard;
use quorate_core::about::Profile;
use quorate_core::membership::Terms;
use quorate_core::multicast::{Command, Delivery, Event, GroupId, Plan, Sequencing, Window};
use quorate_core::{Duration, Group, Medium, NodeId, Time};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::Messages;
use quorate_journal::property::Verdict;
use quorate_journal::settings::Latency;
use quorate_sim::Views;
use quorate_sim::run::Limits;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What one says reaches all, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multicast {}

/// Who says how much, and how it gets to all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How many multicasts there are in all.
    pub messages: u64,
    /// When nodes send.
    pub traffic: Pattern,
    /// Who sends; everyone if empty.
    pub senders: Vec<NodeId>,
    /// How many bytes a message says at least.
    pub payload: usize,
    /// How long a sender is silent before it sends the next; chosen to suit the traffic unless given.
    pub interval: Option<Latency>,
    /// When a message may be delivered.
    pub delivery: Delivery,
    /// Whether whoever receives a message passes it on, whatever the algorithm does by itself.
    pub relay: bool,
    /// The way of a message to all, for orders with a sequencer.
    pub sequencing: Sequencing,
    /// How many messages a member may have under way.
    pub window: u64,
    /// What carries messages to all.
    pub medium: Carrier,
    /// Several groups, each with these members; one of everyone if empty.
    pub groups: Vec<Group>,
    /// How many members leave.
    pub leaves: usize,
    /// How many bytes of the state a newcomer is sent at a time.
    pub piece: usize,
    /// What is judged although the algorithm does not promise it.
    pub judge: Vec<Property>,
    /// That the group has views, and how, if it does.
    pub views: Option<ViewSettings>,
}

/// What carries messages to all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// As many messages as there are receivers.
    #[default]
    Unicast,
    /// One message that those hear whom it is for.
    Multicast,
    /// One message that everyone hears; those whom it is not for drop it.
    Broadcast,
}

impl Default for Settings {
    fn default() -> Self {
        let plan = Plan::new(Group::nobody());
        Self {
            messages: 20,
            traffic: Pattern::Random,
            senders: Vec::new(),
            payload: 0,
            interval: None,
            delivery: Delivery::Prompt,
            relay: false,
            sequencing: Sequencing::ToAll,
            window: plan.window.messages,
            medium: Carrier::Unicast,
            groups: Vec::new(),
            leaves: 0,
            piece: plan.piece,
            judge: Vec::new(),
            views: None,
        }
    }
}

impl FamilyTypes for Multicast {
    const FAMILY: Family = Family::Multicast;
    const HAS_VIEWS: bool = true;

    type Entry = MulticastEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static MulticastEntry> {
        let Entry::Multicast(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<MulticastEntry> {
        algorithms::algorithms()
    }

    fn fixtures() -> Vec<MulticastEntry> {
        algorithms::fixtures()
    }

    fn profile(entry: &MulticastEntry) -> &'static Profile {
        &entry.facts.profile
    }

    fn codec_of(entry: &MulticastEntry) -> AnyCodec {
        entry.codec.clone()
    }
}

impl RunFamily for Multicast {
    type Users = Users;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        let codec = spec.algorithm.codec.clone();
        match form(spec) {
            Form::Fixed => codec,
            Form::Viewed => codec.viewed(),
            Form::Several => codec.several(),
            Form::SeveralViewed => codec.several_viewed(),
            Form::Member(_) => codec.member(),
        }
    }

    /// The book's links lose nothing. A replica bears loss, and has reliable links around what is beside it.
    fn copes_with_loss(spec: &Spec<Self>) -> bool {
        spec.settings.views.is_some_and(|views| views.membership == Keeper::Replica)
    }

    fn hears_of_deaths(spec: &Spec<Self>) -> bool {
        spec.settings.views.is_some_and(|views| views.membership == Keeper::Replica)
    }

    fn medium(spec: &Spec<Self>) -> Medium {
        match spec.settings.medium {
            Carrier::Unicast => Medium::Unicast,
            Carrier::Multicast => Medium::Multicast,
            Carrier::Broadcast => Medium::Broadcast,
        }
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        let Settings { views, groups, senders, leaves, piece, sequencing, window, judge, .. } = &spec.settings;
        let is_kept = views.is_some_and(|views| views.membership == Keeper::Replica);
        if spec.algorithm.facts.profile.flaw.is_some() && (is_kept || !groups.is_empty()) {
            return Err(MulticastError::FewForms { name: spec.algorithm.to_string() }.into());
        }
        if let Some(views) = views {
            views.validate()?;
            if views.membership == Keeper::Replica && !groups.is_empty() {
                return Err(MulticastError::SeveralGroupsOfReplicas.into());
            }
        }
        if *leaves > 0 && views.is_none() {
            return Err(MulticastError::NoWayOut.into());
        }
        if *leaves > spec.nodes {
            return Err(MulticastError::TooManyLeave { leaves: *leaves, nodes: spec.nodes }.into());
        }
        if *piece == 0 {
            return Err(MulticastError::NoPiece.into());
        }
        if *sequencing != Sequencing::ToAll && !spec.algorithm.facts.sequences {
            return Err(MulticastError::NoSequencer { name: spec.algorithm.to_string() }.into());
        }
        if *window == 0 {
            return Err(MulticastError::NoWindow.into());
        }
        if let Some(node) = groups.iter().filter_map(Group::last).find(|node| node.index() >= spec.nodes) {
            return Err(MulticastError::NoSuchSender { node, nodes: spec.nodes }.into());
        }
        if judge.contains(&Property::ViewSynchrony) && views.is_none() {
            return Err(MulticastError::NoViewsToJudge.into());
        }
        let is_anywhere = |node: &NodeId| groups.is_empty() || groups.iter().any(|group| group.contains(*node));
        if let Some(node) = senders.iter().find(|node| !is_anywhere(node)) {
            return Err(MulticastError::SenderOutside { node: *node }.into());
        }
        match senders.iter().find(|node| node.index() >= spec.nodes) {
            Some(node) => Err(MulticastError::NoSuchSender { node: *node, nodes: spec.nodes }.into()),
            None => Ok(()),
        }
    }

    fn maker(spec: &Spec<Self>) -> impl Fn(NodeId) -> MulticastNode + Send + Sync + 'static + use<> {
        let entry = spec.algorithm.entry();
        let plans = plans(spec, entry);
        let (form, seed) = (form(spec), spec.seed);
        // There is always a group.
        let first = plans.first().map_or_else(|| Arc::new(Plan::new(Group::nobody())), Arc::clone);
        spec.linked(move |me| match form {
            Form::Fixed => (entry.make)(me, &first).bare(),
            Form::Viewed => (entry.make)(me, &first).viewed(me),
            Form::Several => entry.several(me, &plans),
            Form::SeveralViewed => entry.several_viewed(me, &plans),
            Form::Member(terms) => (entry.make)(me, &first).member(me, &first.members, seed, terms),
        })
    }

    fn users(spec: &Spec<Self>) -> Users {
        match &spec.script {
            Some(script) if !script.commands.is_empty() => Users::of_script(script.commands.clone()),
            Some(_) | None => Users::of_workload(Senders::new(spec.nodes, spec.seed, demand(spec))),
        }
    }

    fn fault_window(spec: &Spec<Self>) -> Duration {
        let busy = spec.typical().times(2 * spec.settings.messages.clamp(4, 1_000));
        // Some faults must last for longer than a lease.
        spec.settings.views.map_or(busy, |views| busy.max(views.terms().lease.times(4)))
    }

    /// In views the network never falls quiet, since leases are renewed. It is given the time that the last view needs to begin.
    fn limits(spec: &Spec<Self>) -> Limits {
        let usual = spec.usual_limits();
        Limits { settle: settling(spec).unwrap_or(usual.settle), ..usual }
    }

    fn views(spec: &Spec<Self>) -> Option<Views> {
        spec.settings.views.and_then(|views| views.in_world())
    }

    fn weather(entry: &'static MulticastEntry) -> Vec<Spec<Self>> {
        weather::weather(entry)
    }

    fn weather_in_views(entry: &'static MulticastEntry) -> Vec<Spec<Self>> {
        weather::upheaval(entry)
    }

    fn as_checked<T: CheckTask>(task: T) -> Option<T::Output> {
        Some(task.perform::<Self>())
    }
}

impl ScriptFamily for Multicast {
    const COMMANDS: &'static [&'static str] = &["send TEXT", "leave"];

    fn in_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        match words {
            ["leave"] => Ok(Command::leave()),
            ["send", text @ ..] if !text.is_empty() => Ok(Command::send(text.join(" "))),
            _ => Err(unheard(words, &["send", "leave"], "send and what to say, or leave")),
        }
    }

    /// What a workload says is as good as what a script says by itself; words were said by somebody.
    fn in_script(command: &Command) -> Option<Cow<'static, str>> {
        Some(match command {
            Command::Send { payload, .. } => match payload.text().filter(|text| text.contains(char::is_alphabetic)) {
                Some(text) => format!("send {text}").into(),
                None => "send".into(),
            },
            Command::Leave { .. } => "leave".into(),
        })
    }

    fn scripted(settings: &Settings) -> Settings {
        let usual = Settings::default();
        Settings {
            messages: usual.messages,
            traffic: usual.traffic,
            senders: Vec::new(),
            leaves: 0,
            ..settings.clone()
        }
    }

    /// Fewer messages, by everyone who is left.
    fn smaller(spec: &Spec<Self>) -> Vec<Spec<Self>> {
        let less = fewer(spec.settings.messages).map(|messages| Settings { messages, ..spec.settings.clone() });
        let everyone = Settings { senders: Vec::new(), ..spec.settings.clone() };
        let loyal = Settings { leaves: 0, ..spec.settings.clone() };
        let all = less.chain([everyone, loyal]).filter(|settings| *settings != spec.settings);
        all.map(|settings| Spec { settings, ..spec.clone() }).collect()
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        let usual = Settings::default();
        let settings = &spec.settings;
        let senders: Group = settings.senders.iter().copied().collect();
        let groups: Vec<_> = settings.groups.iter().map(ToString::to_string).collect();
        let judged: Vec<_> = settings.judge.iter().map(|property| property.name()).collect();
        let (is_scripted, mut flags) = (spec.is_scripted(), Flags::default());
        flags.unless(is_scripted, Place::Front, "messages", settings.messages);
        flags.unless(
            is_scripted || settings.traffic == usual.traffic,
            Place::Front,
            "traffic",
            word(&settings.traffic),
        );
        flags.unless(is_scripted || settings.senders.is_empty(), Place::Front, "senders", senders);
        flags.unless(settings.payload == usual.payload, Place::Front, "payload", settings.payload);
        flags.given(Place::Times, "interval", settings.interval.filter(|_| !is_scripted));
        flags.switch(settings.delivery != usual.delivery, Place::Front, "uniform");
        flags.switch(settings.relay != usual.relay, Place::Front, "relay");
        flags.unless(settings.sequencing == usual.sequencing, Place::Front, "sequencing", word(&settings.sequencing));
        flags.unless(settings.window == usual.window, Place::Front, "window", settings.window);
        flags.unless(settings.medium == usual.medium, Place::Front, "medium", word(&settings.medium));
        flags.unless(groups.is_empty(), Place::Front, "groups", groups.join(" "));
        flags.unless(settings.leaves == usual.leaves, Place::Front, "leaves", settings.leaves);
        flags.unless(settings.piece == usual.piece, Place::Front, "piece", settings.piece);
        flags.unless(judged.is_empty(), Place::Front, "judge", judged.join(","));
        settings.views.iter().for_each(|views| views.flags(&mut flags));
        flags
    }
}

impl JudgeFamily for Multicast {
    type Measures = Measures;
    type Properties = Properties;
    type Summary = MulticastSummary;

    fn measures(spec: &Spec<Self>) -> Measures {
        let measures = Measures::new(spec.nodes);
        static_groups(spec).into_iter().fold(measures, |measures, (group, members)| measures.among(group, &members))
    }

    fn properties(spec: &Spec<Self>, _care: Care) -> Properties {
        let also = Promises::of(&spec.settings.judge);
        let properties = Properties::new(spec.nodes, promises(spec, spec.algorithm.entry())).watching(also);
        let properties = properties.patient(settling(spec).unwrap_or_default());
        static_groups(spec)
            .into_iter()
            .fold(properties, |properties, (group, members)| properties.among(group, members))
    }

    fn summary(
        spec: &Spec<Self>,
        messages: &Messages,
        measures: &Measures,
        properties: &Properties,
    ) -> MulticastSummary {
        let (unit, unit_name) = spec.delay_unit();
        let not_promised = properties.not_promised();
        MulticastSummary { not_promised, ..measures.summary(messages, unit, unit_name) }
    }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts()
    }

    fn end(&self) -> Time {
        self.end()
    }
}

/// How long a view may take to begin everywhere, the state of newcomers included.
fn settling(spec: &Spec<Multicast>) -> Option<Duration> {
    spec.settings.views.map(|views| views.terms().lease.times(3) + spec.typical().times(300))
}

/// What nodes of an experiment are made as.
#[derive(Clone, Copy)]
enum Form {
    /// In one group that never changes.
    Fixed,
    /// In views that they are told.
    Viewed,
    /// In several groups that never change.
    Several,
    /// In several groups, in views that they are told.
    SeveralViewed,
    /// With a membership that the nodes keep themselves, on these terms.
    Member(Terms),
}

fn form(spec: &Spec<Multicast>) -> Form {
    match (spec.settings.views, spec.settings.groups.is_empty()) {
        (Some(views), _) if views.membership == Keeper::Replica => Form::Member(views.terms()),
        (Some(_), true) => Form::Viewed,
        (Some(_), false) => Form::SeveralViewed,
        (None, true) => Form::Fixed,
        (None, false) => Form::Several,
    }
}

/// The groups and who is in them.
fn groups(spec: &Spec<Multicast>) -> Vec<(GroupId, Group)> {
    if spec.settings.groups.is_empty() {
        return vec![(GroupId::ONLY, spec.group())];
    }
    let named = (1..=u16::MAX).map(GroupId).zip(&spec.settings.groups);
    named.map(|(id, members)| (id, members.clone())).collect()
}

/// The same where observers must be told, because no view tells them.
fn static_groups(spec: &Spec<Multicast>) -> Vec<(GroupId, Group)> {
    if spec.settings.views.is_some() { Vec::new() } else { groups(spec) }
}

/// How each group is set up.
pub(crate) fn plans(spec: &Spec<Multicast>, entry: &MulticastEntry) -> Vec<Arc<Plan>> {
    groups(spec).into_iter().map(|(id, members)| Arc::new(plan(spec, entry, id, members))).collect()
}

/// How a group of these members is set up.
fn plan(spec: &Spec<Multicast>, entry: &MulticastEntry, id: GroupId, members: Group) -> Plan {
    let settings = &spec.settings;
    let usual = Plan::new(members);
    Plan {
        id,
        window: Window { messages: settings.window, ..usual.window },
        relay: settings.relay || entry.facts.relays,
        delivery: settings.delivery,
        sequencing: settings.sequencing,
        piece: settings.piece,
        ..usual
    }
}

/// What is promised in this experiment.
fn promises(spec: &Spec<Multicast>, entry: &MulticastEntry) -> Promises {
    promises_of(spec, entry, !spec.can_stop())
}

/// What is promised, if nobody dies or somebody may. A sender that dies leaves members that disagree, unless its messages are passed on or a
/// view settles what it left behind; and without views, whoever waits for a dead member waits for ever.
pub(crate) fn promises_of(spec: &Spec<Multicast>, entry: &MulticastEntry, is_whole: bool) -> Promises {
    let settings = &spec.settings;
    let views = settings.views.is_some();
    let agrees = views || settings.relay || entry.facts.relays || is_whole;
    let finishes = views || is_whole || !waits_for_others(spec, entry);
    let order = entry.facts.order;
    let senders = if settings.senders.is_empty() { spec.nodes } else { settings.senders.len() };
    Promises {
        fifo: order.fifo,
        causal: order.causal,
        total: order.total,
        agreement: agrees && finishes,
        validity: finishes,
        uniform: settings.delivery == Delivery::Uniform && finishes,
        delivered: agrees && finishes,
        views,
        contention: !spec.is_scripted()
            && settings.traffic != Pattern::Single
            && senders > 1
            && settings.messages > 3
            && spec.settings.groups.is_empty(),
        ..Promises::BASIC
    }
}

/// Whether a delivery may depend on a member that says nothing any more, beside the sender.
fn waits_for_others(spec: &Spec<Multicast>, entry: &MulticastEntry) -> bool {
    entry.facts.order.total || spec.settings.delivery == Delivery::Uniform
}

fn demand(spec: &Spec<Multicast>) -> Demand {
    let settings = spec.settings.clone();
    let typical = spec.typical();
    let senders = if settings.senders.is_empty() { spec.group().iter().collect() } else { settings.senders };
    let usual = match settings.traffic {
        // Long enough that nothing of the last message is under way.
        Pattern::Single => Latency::Fixed(typical.times(10)),
        Pattern::Random => Latency::Uniform { least: Duration::ZERO, most: typical.times(4) },
        Pattern::Flood => Latency::Fixed(Duration::ZERO),
    };
    Demand {
        pattern: settings.traffic,
        messages: settings.messages,
        senders,
        payload: settings.payload,
        think: settings.interval.unwrap_or(usual),
        groups: if settings.groups.is_empty() { Vec::new() } else { groups(spec) },
        leaves: settings.leaves,
        views: settings.views.is_some(),
        agreement: promises(spec, &spec.algorithm).agreement,
    }
}
