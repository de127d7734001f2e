//! Queries and replies (Chandy, Misra and Haas 1983, for processes that wait for any of the agents
//! they ask).
//!
//! In this model a cycle alone is no deadlock: one of the agents may continue and answer. So an
//! agent that begins to wait asks all agents it waits for whether they wait too. Each of them that
//! does sends queries in turn, and replies when all its queries are answered; an agent that does
//! not wait does not reply. If all replies arrive, all agents that could ever answer the first
//! agent wait, and wait only for agents that wait too: a knot.
//!
//! ```text
//! QR-1  an agent begins to wait,
//!       or must check             → send a query to all agents it waits for
//! QR-2  a query arrives at a
//!       waiting agent             → if this check is new to it, send a query to all agents it
//!                                   waits for; if not, reply at once. An agent in a later check of
//!                                   the same origin sends no reply, nor does a running agent
//! QR-3  a reply arrives           → if it is the last missing one, reply to the first query; the
//!                                   agent that started the check has found a deadlock instead
//! QR-4  an agent no longer waits  → forget the checks that it takes part in
//! ```
//!
//! Cost: one check takes at most 2 messages for each wait of an agent for one at another site, a
//! query and a reply. Queries and replies within a site are no messages.
//!
//! Assumes: links are FIFO, so that an answer arrives before a reply that was sent later; every
//! message arrives; no node crashes.
//!
//! When it fails: a crashed node never replies, and no deadlock that it is part of is found. On
//! links that reorder, a reply may overtake an answer to its receiver, and a phantom deadlock may
//! be reported.
//!
//! Departs from the paper: replies carry the waits they have collected, so that the report can list
//! them. One resolver selects the victims (RS-1 to RS-7).

use super::resolution::{Action, Resolution, ResolverMessage, perform};
use super::site_state::SiteState;
use super::{Agent, Detector, Facts, Finding, Need, Plan, Report, Wait, WaitEvent, Waiting};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::model::Links;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "deadlock-or",
        class: "diffusion",
        summary: "a waiting agent asks all it waits for whether they wait too; if all reply, none can answer it",
        source: include_str!("query_reply.rs"),
        flaw: None,
        is_checkable: true,
    },
    waiting: Waiting::ForAny,
    links: Links::Fifo,
    // e is the number of waits between sites.
    formula: "≤ 2e",
    max_messages_per_wait: Some(2),
    cost_kinds: &["query", "reply"],
};

/// A site's part of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryReply {
    config: Fixed<Config>,
    site: SiteState,
    resolution: Resolution,
    /// The number of checks that each agent here has started.
    check_counts: BTreeMap<Agent, u64>,
    /// The checks that agents here take part in during their current waits. The key is the agent
    /// here and the agent that started the check.
    pub(crate) participations: BTreeMap<(Agent, Agent), Participation>,
    /// Messages between agents here. Empty between steps.
    local_messages: VecDeque<Message>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    /// How long an agent waits before it starts a check.
    patience: Duration,
}

/// An agent's part in a check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Participation {
    /// The number of the check.
    check: u64,
    /// The sender of the first query; `None` if this agent started the check.
    asked_by: Option<Agent>,
    /// The agents that have not replied yet.
    missing: BTreeSet<Agent>,
    /// The waits that replies have reported.
    gathered: Vec<Wait>,
}

/// The messages between sites.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    /// Asks whether the receiver waits.
    Query(CheckHeader),
    /// The sender waits. Either all agents that it waits for have replied to it, or it replies at
    /// once because it takes part in this check already.
    Reply {
        #[cfg_attr(feature = "serde", serde(rename = "letter"))]
        header: CheckHeader,
        /// The sender's wait and those that replies have reported to it; empty if it replies at
        /// once.
        gathered: Vec<Wait>,
    },
    #[cfg_attr(feature = "serde", serde(rename = "ruling"))]
    Resolver(ResolverMessage),
}

/// The check that a message belongs to, its sender and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckHeader {
    /// The agent that started the check.
    #[cfg_attr(feature = "serde", serde(rename = "by"))]
    pub origin: Agent,
    /// The number of that agent's check.
    #[cfg_attr(feature = "serde", serde(rename = "look"))]
    pub check: u64,
    pub from: Agent,
    pub to: Agent,
}

/// `P1: P2→P3`.
impl fmt::Display for CheckHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}→{}", self.origin, self.from, self.to)
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Query(_) => "query",
            Self::Reply { .. } => "reply",
            Self::Resolver(message) => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Query(header) | Self::Reply { header, .. } => Some(header),
            Self::Resolver(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Query(_) | Self::Reply { .. } => Class::Algorithm,
            Self::Resolver(message) => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Query(header) | Self::Reply { header, .. } => Some(header.origin.site),
            Self::Resolver(_) => None,
        }
    }
}

impl Detector for QueryReply {
    fn supports(&self, need: &Need<Agent>) -> bool {
        need.has_alternatives() || need.awaited().len() == 1
    }
}

impl QueryReply {
    /// Creates a site without waits.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self {
            config: Fixed::new(Config { me, patience: plan.patience }),
            site: SiteState::default(),
            resolution: Resolution::new(me, plan),
            check_counts: BTreeMap::new(),
            participations: BTreeMap::new(),
            local_messages: VecDeque::new(),
        }
    }

    fn on_wait_event(&mut self, event: WaitEvent, out: &mut Effects<'_, Self>) {
        match event {
            WaitEvent::Blocked { agent, wait_id, need, abort_cost } => {
                self.site.block(Wait { agent, wait_id, need, abort_cost });
                if self.config.patience == Duration::ZERO {
                    self.start_check(agent, out);
                } else {
                    out.set_timer(agent, Span::exactly(self.config.patience));
                }
            }
            WaitEvent::Unblocked { agent } => self.unblock(agent, out),
            WaitEvent::Check { agent } => self.start_check(agent, out),
            // The detector needs none of these: a FIFO link delivers an answer before a later
            // reply, and the first answer ends a wait.
            WaitEvent::DependencyReleased { .. } | WaitEvent::WaiterAdded { .. } | WaitEvent::WaiterRemoved { .. } => {}
        }
    }

    /// QR-1.
    fn start_check(&mut self, agent: Agent, out: &mut Effects<'_, Self>) {
        if self.site.wait(agent).is_none() {
            return;
        }
        let check = self.check_counts.entry(agent).or_default();
        *check = check.saturating_add(1);
        let check = *check;
        out.note("QR-1", format_args!("{agent} asks all it waits for whether they wait"));
        self.send_queries(agent, agent, check, None, out);
    }

    /// Lets an agent take part in a check: it sends a query to all agents it waits for, and forgets
    /// an earlier check of the same origin.
    fn send_queries(
        &mut self,
        agent: Agent,
        origin: Agent,
        check: u64,
        asked_by: Option<Agent>,
        out: &mut Effects<'_, Self>,
    ) {
        let awaited = self.site.awaited_by(agent);
        let participation =
            Participation { check, asked_by, missing: awaited.iter().copied().collect(), gathered: Vec::new() };
        self.participations.insert((agent, origin), participation);
        for to in awaited {
            self.send(Message::Query(CheckHeader { origin, check, from: agent, to }), to, out);
        }
    }

    /// QR-2.
    fn on_query(&mut self, header: CheckHeader, out: &mut Effects<'_, Self>) {
        let CheckHeader { origin, check, from, to } = header;
        if self.site.wait(to).is_none() {
            return out.note("QR-2", format_args!("does not reply: {to} does not wait"));
        }
        match self.participations.get(&(to, origin)) {
            Some(participation) if participation.check > check => {
                out.note("QR-2", format_args!("does not reply: {origin} has started a new check"));
            }
            Some(participation) if participation.check == check => {
                out.note("QR-2", format_args!("replies at once: {to} already takes part in this check of {origin}"));
                let header = CheckHeader { origin, check, from: to, to: from };
                self.send(Message::Reply { header, gathered: Vec::new() }, from, out);
            }
            Some(_) | None => {
                out.note("QR-2", format_args!("{to} waits, and sends queries in turn"));
                self.send_queries(to, origin, check, Some(from), out);
            }
        }
    }

    /// QR-3.
    fn on_reply(&mut self, header: CheckHeader, gathered: Vec<Wait>, out: &mut Effects<'_, Self>) {
        let CheckHeader { origin, check, from, to } = header;
        let Some(wait) = self.site.wait(to).cloned() else {
            return out.note("QR-3", format_args!("ignores it: {to} no longer waits"));
        };
        let participation =
            self.participations.get_mut(&(to, origin)).filter(|participation| participation.check == check);
        let Some(participation) = participation.filter(|participation| participation.missing.contains(&from)) else {
            return out.note("QR-3", format_args!("ignores it: {to} expects no such reply in that check of {origin}"));
        };
        participation.missing.remove(&from);
        participation.gathered.extend(gathered);
        if !participation.missing.is_empty() {
            let missing = participation.missing.len();
            return out.note("QR-3", format_args!("{to} does not have all replies yet: {missing} missing"));
        }
        let mut gathered = core::mem::take(&mut participation.gathered);
        gathered.push(wait.clone());
        match participation.asked_by {
            Some(asked_by) => {
                out.note("QR-3", format_args!("{to} has all replies, and replies"));
                let header = CheckHeader { origin, check, from: to, to: asked_by };
                self.send(Message::Reply { header, gathered }, asked_by, out);
            }
            None => {
                out.note("QR-3", format_args!("{to} has all replies: no agent can answer it"));
                for report in Report::all_among(&wait, &gathered) {
                    let actions = self.resolution.on_found(report, &self.site);
                    self.perform(actions, out);
                }
            }
        }
    }

    /// QR-4.
    fn unblock(&mut self, agent: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait) = self.site.unblock(agent) else { return };
        self.participations.retain(|(participant, _), _| *participant != agent);
        if self.config.patience > Duration::ZERO {
            out.cancel_timer(agent);
        }
        let actions = self.resolution.on_unblocked(agent, wait.wait_id, &self.site);
        self.perform(actions, out);
    }

    fn on_message(&mut self, message: Message, from: NodeId, out: &mut Effects<'_, Self>) {
        match message {
            Message::Query(header) if header.from.site == from => self.on_query(header, out),
            Message::Reply { header, gathered } if header.from.site == from => self.on_reply(header, gathered, out),
            Message::Query(header) | Message::Reply { header, .. } => {
                out.note("QR-2", format_args!("ignores {header}, which came from {from}"));
            }
            Message::Resolver(message) => {
                let actions = self.resolution.on_message(from, message, &self.site);
                self.perform(actions, out);
            }
        }
    }

    /// Performs the actions of the resolution, and starts the checks that it asks for.
    fn perform(&mut self, actions: Vec<Action>, out: &mut Effects<'_, Self>) {
        for agent in perform(actions, Message::Resolver, out) {
            self.start_check(agent, out);
        }
    }

    fn send(&mut self, message: Message, to: Agent, out: &mut Effects<'_, Self>) {
        if to.site == self.config.me {
            self.local_messages.push_back(message);
        } else {
            out.send(to.site, message);
        }
    }
}

impl Protocol for QueryReply {
    type Command = WaitEvent;
    type Message = Message;
    /// The agent that has waited for `patience` and now starts a check.
    type Timer = Agent;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(event) => self.on_wait_event(event, out),
            Input::Message { from, message } => self.on_message(message, from, out),
            Input::Timer(agent) => self.start_check(agent, out),
            // The textbook form: it saves nothing, uses no failure detector, and runs in a fixed
            // group.
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
        while let Some(message) = self.local_messages.pop_front() {
            self.on_message(message, self.config.me, out);
        }
    }
}
