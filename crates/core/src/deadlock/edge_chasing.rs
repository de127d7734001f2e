//! Edge chasing (Chandy, Misra and Haas 1983, for processes that wait for all agents they ask).
//!
//! An agent that begins to wait sends a probe to each agent it waits for. Each receiver that waits
//! too forwards the probe to all agents it waits for in turn. If a probe returns to its origin,
//! each agent on its path waits for the next one: a cycle, and in this model a cycle is a deadlock.
//! No agent needs to see the whole graph.
//!
//! ```text
//! EC-1  an agent begins to wait,
//!       or must check             → send a probe to each agent that it waits for
//! EC-2  a probe arrives           → drop it unless the receiver waits, the last agent on its path
//!                                   waits for the receiver, and the receiver has not forwarded
//!                                   this or a later check of the origin yet; else forward it to
//!                                   all agents for which the receiver waits
//! EC-3  the probe is at its
//!       origin                    → a deadlock: its path is the cycle; but if the origin has begun
//!                                   another wait, drop the probe
//! EC-4  an agent no longer waits  → forget which checks it has forwarded
//! ```
//!
//! Cost: one check takes at most one probe for each wait of an agent for one at another site:
//! during a wait, an agent forwards a check once. For a deadlock of m processes on n sites
//! textbooks give a maximum of m(n−1)/2 probes. That holds in two cases: if each process waits for
//! one other and n is 3 or more; or if there is one process per site, no two wait for each other,
//! and none in the deadlock waits for one outside it (the outsider receives a probe too). Otherwise
//! a check may take more, and twice as many if all processes wait for all others: two processes on
//! two sites that wait for each other take two probes, where textbooks give one. Probes within a
//! site are no messages.
//!
//! Assumes: links are FIFO, so that a probe arrives after the request that it follows; every
//! message arrives; no node crashes.
//!
//! When it fails: a crashed node forwards no probe, and no deadlock that it is part of is found. On
//! links that reorder, a probe may overtake the request it follows and be dropped: then the
//! deadlock is missed until an agent starts another check.
//!
//! Departs from the paper: a probe carries its whole path, so that the report can list all waits;
//! in the paper a probe names only three processes. One resolver selects the victims (RS-1 to
//! RS-7).

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
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "deadlock-and",
        class: "edge chasing",
        summary: "a probe follows the waits; if it returns, they form a cycle",
        source: include_str!("edge_chasing.rs"),
        flaw: None,
        is_checkable: true,
    },
    waiting: Waiting::ForAll,
    links: Links::Fifo,
    // e waits between sites; m processes on n sites.
    formula: "≤ e (textbooks: m(n−1)/2)",
    max_messages_per_wait: Some(1),
    cost_kinds: &["probe"],
};

/// A site's part of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EdgeChasing {
    config: Fixed<Config>,
    site: SiteState,
    resolution: Resolution,
    /// The number of checks that each agent here has started.
    check_counts: BTreeMap<Agent, u64>,
    /// For an agent here and an origin: the number of the origin's latest check that the agent has
    /// forwarded during its current wait.
    forwarded_checks: BTreeMap<(Agent, Agent), u64>,
    /// Probes between agents here. Empty between steps.
    local_probes: VecDeque<Probe>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    /// How long an agent waits before it starts a check.
    patience: Duration,
}

/// The messages between sites.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    Probe(Probe),
    #[cfg_attr(feature = "serde", serde(rename = "ruling"))]
    Resolver(ResolverMessage),
}

/// A probe, which follows the waits of agents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Probe {
    /// The number of the origin's check.
    #[cfg_attr(feature = "serde", serde(rename = "look"))]
    pub check: u64,
    /// The waits along the path, that of the origin first. Each names only the next agent on the
    /// path; the last one names the receiver.
    #[cfg_attr(feature = "serde", serde(rename = "way"))]
    pub path: Vec<Wait>,
}

/// `P1→P2→P3`.
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wait in &self.path {
            write!(f, "{}→", wait.agent)?;
        }
        self.path.last().map_or(Ok(()), |last| last.need.fmt(f))
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Probe(_) => "probe",
            Self::Resolver(message) => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Probe(probe) => Some(probe),
            Self::Resolver(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Probe(_) => Class::Algorithm,
            Self::Resolver(message) => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Probe(probe) => probe.path.first().map(|wait| wait.agent.site),
            Self::Resolver(_) => None,
        }
    }
}

impl Detector for EdgeChasing {
    fn supports(&self, need: &Need<Agent>) -> bool {
        !need.has_alternatives()
    }
}

impl EdgeChasing {
    /// Creates a site without waits.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self {
            config: Fixed::new(Config { me, patience: plan.patience }),
            site: SiteState::default(),
            resolution: Resolution::new(me, plan),
            check_counts: BTreeMap::new(),
            forwarded_checks: BTreeMap::new(),
            local_probes: VecDeque::new(),
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
            WaitEvent::DependencyReleased { agent, by, abort_cost } => {
                self.site.release_dependency(agent, by, abort_cost);
            }
            WaitEvent::Unblocked { agent } => self.unblock(agent, out),
            WaitEvent::WaiterAdded { agent, waiter, wait_id } => self.site.add_waiter(agent, waiter, wait_id),
            WaitEvent::WaiterRemoved { agent, waiter, wait_id } => self.site.remove_waiter(agent, waiter, wait_id),
            WaitEvent::Check { agent } => self.start_check(agent, out),
        }
    }

    /// EC-1.
    fn start_check(&mut self, agent: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait) = self.site.wait(agent).cloned() else { return };
        let check = self.check_counts.entry(agent).or_default();
        *check = check.saturating_add(1);
        let check = *check;
        out.note("EC-1", format_args!("{agent} sends a probe to {}", wait.need));
        self.forward(&Probe { check, path: Vec::new() }, &wait, out);
    }

    /// Extends a probe's path by this wait, and sends the probe to all awaited agents.
    fn forward(&mut self, probe: &Probe, wait: &Wait, out: &mut Effects<'_, Self>) {
        for next in wait.need.awaited() {
            let hop = Wait { need: Need::All([*next].into()), ..wait.clone() };
            let path = probe.path.iter().cloned().chain([hop]).collect();
            let probe = Probe { check: probe.check, path };
            if next.site == self.config.me {
                self.local_probes.push_back(probe);
            } else {
                out.send(next.site, Message::Probe(probe));
            }
        }
    }

    /// EC-2.
    fn on_probe(&mut self, probe: &Probe, out: &mut Effects<'_, Self>) {
        let (Some(origin), Some(last)) = (probe.path.first(), probe.path.last()) else { return };
        let [receiver] = *last.need.awaited() else { return };
        if !self.site.has_waiter(receiver, last.agent, last.wait_id) {
            return out.note("EC-2", format_args!("drops it: {} does not wait for {receiver}", last.agent));
        }
        let Some(wait) = self.site.wait(receiver).cloned() else {
            return out.note("EC-2", format_args!("drops it: {receiver} does not wait"));
        };
        if receiver == origin.agent {
            return self.close_cycle(&wait, probe, out);
        }
        let forwarded = self.forwarded_checks.entry((receiver, origin.agent)).or_default();
        if *forwarded >= probe.check {
            return out.note(
                "EC-2",
                format_args!("drops it: {receiver} has forwarded this or a later check of {}", origin.agent),
            );
        }
        *forwarded = probe.check;
        out.note("EC-2", format_args!("{receiver} waits for {}", wait.need));
        self.forward(probe, &wait, out);
    }

    /// EC-3. If the origin has begun another wait since it sent the probe, the path no longer
    /// exists.
    fn close_cycle(&mut self, wait: &Wait, probe: &Probe, out: &mut Effects<'_, Self>) {
        if probe.path.first().is_none_or(|origin| origin.wait_id != wait.wait_id) {
            return out.note("EC-3", format_args!("drops it: it belongs to an earlier wait of {}", wait.agent));
        }
        out.note("EC-3", format_args!("the probe has returned: {} is in a cycle", wait.agent));
        let actions = self.resolution.on_found(Report::cycle(wait, probe.path.clone()), &self.site);
        self.perform(actions, out);
    }

    /// EC-4.
    fn unblock(&mut self, agent: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait) = self.site.unblock(agent) else { return };
        self.forwarded_checks.retain(|(forwarder, _), _| *forwarder != agent);
        if self.config.patience > Duration::ZERO {
            out.cancel_timer(agent);
        }
        let actions = self.resolution.on_unblocked(agent, wait.wait_id, &self.site);
        self.perform(actions, out);
    }

    fn perform(&mut self, actions: Vec<Action>, out: &mut Effects<'_, Self>) {
        for agent in perform(actions, Message::Resolver, out) {
            self.start_check(agent, out);
        }
    }
}

impl Protocol for EdgeChasing {
    type Command = WaitEvent;
    type Message = Message;
    /// The agent that has waited for `patience` and now starts a check.
    type Timer = Agent;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(event) => self.on_wait_event(event, out),
            Input::Message { from, message: Message::Probe(probe) } => {
                if probe.path.last().is_some_and(|last| last.agent.site == from) {
                    self.on_probe(&probe, out);
                }
            }
            Input::Message { from, message: Message::Resolver(message) } => {
                let actions = self.resolution.on_message(from, message, &self.site);
                self.perform(actions, out);
            }
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
        while let Some(probe) = self.local_probes.pop_front() {
            self.on_probe(&probe, out);
        }
    }
}
