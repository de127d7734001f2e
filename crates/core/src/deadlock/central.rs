//! A central detector (Ho and Ramamoorthy 1982, with confirmation of what it sees).
//!
//! Every site reports to one detector which agents begin to wait and which continue, and the
//! detector searches the whole graph. But reports take time, so the detector sees the past: one
//! report says that a process waits, and another one, still in transit, that it has been answered
//! since. The cycle that the detector sees then never existed: it is a phantom. So the detector
//! asks the agents that are waited for before it believes what it sees. If none of them has
//! released, all those waits existed together at the instant of the question.
//!
//! ```text
//! CD-1  an agent begins to wait,
//!       gets a release, or
//!       continues                  → report it to the detector
//! CD-2  a report arrives           → store it, and search the graph, unless an answer is awaited
//!                                    or a victim has not aborted yet
//! CD-3  the graph has a deadlock   → ask the site of each agent that is waited for in it whether
//!                                    these waits have ended
//! CD-4  a site is asked            → answer which of these waits have ended, as soon as the
//!                                    requests of all these waits have arrived
//! CD-5  all have answered          → if no wait has ended, it is a deadlock; else remove the waits
//!                                    that have ended, and search again
//! ```
//!
//! Cost: 1 message for each time that an agent begins to wait, gets a release or continues; for
//! each deadlock in the graph, up to 2 for each of its sites.
//!
//! Why it is right: a reported wait had begun before the detector asked, and an agent that has not
//! released when it is asked had not done so before. So at the instant of the question every one of
//! these waits existed. No agent in a deadlock continues, unless one aborts, which the detector
//! itself decides.
//!
//! Assumes: links are FIFO; every message arrives; no node crashes; a process cancels its wait only
//! as a victim.
//!
//! When it fails: without its detector the group finds no deadlock. All reports go to the detector,
//! which is the bottleneck.
//!
//! Departs from the paper: there the detector asks all sites twice for all waits they know, and
//! believes those that are in both answers. Two different waits of the same process for the same
//! other one are indistinguishable then. Here each wait has a number, and the detector asks only
//! the sites concerned.

use super::resolution::{Action, Resolution, ResolverMessage, perform};
use super::site_state::SiteState;
use super::{AbortCost, Agent, Detector, Facts, Finding, Need, Plan, Report, Wait, WaitEvent, WaitId, Waiting};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::model::Links;
use crate::node::NodeId;
use crate::protocol::{Input, Never, Protocol};
use crate::time::Time;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "deadlock-central",
        class: "central",
        summary: "all sites report to one detector, which searches the whole graph and confirms what it finds",
        source: include_str!("central.rs"),
        flaw: None,
        is_checkable: true,
    },
    waiting: Waiting::Either,
    links: Links::Fifo,
    // 1 for each change of a wait, and for each deadlock 2 for each site asked.
    formula: "1 per change, 2 per site",
    max_messages_per_wait: None,
    // Without a maximum these have no effect.
    cost_kinds: &["ask", "answer"],
};

/// A site's part of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    config: Fixed<Config>,
    site: SiteState,
    resolution: Resolution,
    /// By an agent here and an agent that waited for it: the number of the waiter's latest wait
    /// that has ended, by a release of the agent here or because the waiter withdrew.
    released: BTreeMap<(Agent, Agent), WaitId>,
    /// The detector's question that this site has not answered yet, because the request of one of
    /// the waits in question has not arrived.
    question: Option<Question>,
    detector: DetectorState,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    site_count: usize,
    /// The site of the detector and of the resolver, which selects victims.
    resolver: NodeId,
    confirmation: Confirmation,
}

/// Whether a central detector confirms the deadlocks it finds in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The detector asks the sites concerned first.
    Required,
    /// The detector reports them at once, including phantoms.
    None,
}

/// The state of the detector; empty at every site but the detector's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct DetectorState {
    /// The wait-for graph as far as reports have arrived: the current wait of each agent.
    waits: BTreeMap<Agent, Wait>,
    /// The waits that were reported as part of a deadlock, if there is no victim policy.
    reported: BTreeMap<Agent, WaitId>,
    /// The number of inquiries so far.
    round: u64,
    inquiry: Option<Inquiry>,
}

/// A question of the detector to a site: have these waits ended?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    round: u64,
    edges: Vec<Edge>,
}

/// A deadlock in the graph that the detector asks about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inquiry {
    report: Report,
    /// The sites that have not answered yet.
    unanswered_sites: BTreeSet<NodeId>,
    /// The waits that have ended, according to the answers so far.
    ended: BTreeSet<Edge>,
}

/// An edge of the wait-for graph: `agent` waits for `awaited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Edge {
    #[cfg_attr(feature = "serde", serde(rename = "who"))]
    pub agent: Agent,
    #[cfg_attr(feature = "serde", serde(rename = "spell"))]
    pub wait_id: WaitId,
    #[cfg_attr(feature = "serde", serde(rename = "on"))]
    pub awaited: Agent,
}

/// The messages between sites.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    /// To the detector: an agent begins to wait.
    Waits(Wait),
    /// To the detector: `edge.agent` no longer waits for `edge.awaited`, which has released.
    #[cfg_attr(feature = "serde", serde(rename = "eased"))]
    DependencyReleased {
        edge: Edge,
        #[cfg_attr(feature = "serde", serde(rename = "stake"))]
        abort_cost: AbortCost,
    },
    /// To the detector: the agent no longer waits for any other.
    #[cfg_attr(feature = "serde", serde(rename = "runs"))]
    Unblocked {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
    /// From the detector: do these waits still exist?
    Ask { round: u64, edges: Vec<Edge> },
    /// To the detector: of the waits in its question, these have ended.
    Answer {
        round: u64,
        #[cfg_attr(feature = "serde", serde(rename = "void"))]
        ended: Vec<Edge>,
    },
    /// A message to or from the resolver of deadlocks.
    #[cfg_attr(feature = "serde", serde(rename = "ruling"))]
    Resolver(ResolverMessage),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Waits(_) => "waits",
            Self::DependencyReleased { .. } => "dependency-released",
            Self::Unblocked { .. } => "unblocked",
            Self::Ask { .. } => "ask",
            Self::Answer { .. } => "answer",
            Self::Resolver(message) => message.kind(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Resolver(message) => message.class(),
            Self::Waits(_)
            | Self::DependencyReleased { .. }
            | Self::Unblocked { .. }
            | Self::Ask { .. }
            | Self::Answer { .. } => Class::Algorithm,
        }
    }
}

impl Detector for Central {
    fn supports(&self, _need: &Need<Agent>) -> bool {
        true
    }
}

impl Central {
    /// A site without waits, whose detector confirms deadlocks.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self::with_confirmation(me, plan, Confirmation::Required)
    }

    /// A site without waits, whose detector confirms deadlocks or reports them at once.
    pub fn with_confirmation(me: NodeId, plan: &Plan, confirmation: Confirmation) -> Self {
        Self {
            config: Fixed::new(Config { me, site_count: plan.sites, resolver: plan.resolver, confirmation }),
            site: SiteState::default(),
            resolution: Resolution::new(me, plan),
            released: BTreeMap::new(),
            question: None,
            detector: DetectorState::default(),
        }
    }

    /// CD-1.
    fn on_wait_event(&mut self, event: WaitEvent, out: &mut Effects<'_, Self>) {
        match event {
            WaitEvent::Blocked { agent, wait_id, need, abort_cost } => {
                let wait = Wait { agent, wait_id, need, abort_cost };
                self.site.block(wait.clone());
                out.note("CD-1", format_args!("reports that {agent} waits for {}", wait.need));
                self.send(Message::Waits(wait), self.config.resolver, out);
            }
            WaitEvent::DependencyReleased { agent, by, abort_cost } => {
                self.site.release_dependency(agent, by, abort_cost);
                let Some(wait_id) = self.site.wait(agent).map(|wait| wait.wait_id) else { return };
                out.note("CD-1", format_args!("reports that {by} has answered {agent}"));
                self.send(
                    Message::DependencyReleased { edge: Edge { agent, wait_id, awaited: by }, abort_cost },
                    self.config.resolver,
                    out,
                );
            }
            WaitEvent::Unblocked { agent } => {
                let Some(Wait { wait_id, .. }) = self.site.unblock(agent) else { return };
                out.note("CD-1", format_args!("reports that {agent} no longer waits"));
                self.send(Message::Unblocked { agent, wait_id }, self.config.resolver, out);
                let actions = self.resolution.on_unblocked(agent, wait_id, &self.site);
                Self::perform(actions, out);
                // If the victim was at the detector's own site, no message arrives that would start
                // the next search.
                self.search(out);
            }
            WaitEvent::WaiterRemoved { agent, waiter, wait_id } => {
                let released = self.released.entry((agent, waiter)).or_default();
                *released = wait_id.max(*released);
                self.site.remove_waiter(agent, waiter, wait_id);
                self.answer_question(out);
            }
            WaitEvent::WaiterAdded { agent, waiter, wait_id } => {
                self.site.add_waiter(agent, waiter, wait_id);
                self.answer_question(out);
            }
            WaitEvent::Check { .. } => self.search(out),
        }
    }

    /// CD-2. At the detector: applies a site's report to the graph, and searches the graph.
    fn update_graph(&mut self, update: impl FnOnce(&mut BTreeMap<Agent, Wait>), out: &mut Effects<'_, Self>) {
        if self.config.me == self.config.resolver {
            update(&mut self.detector.waits);
            self.search(out);
        }
    }

    /// CD-2. At the detector: searches the graph, and reports each new deadlock or asks for its
    /// confirmation. Stops when an answer is awaited or a victim has not aborted yet.
    fn search(&mut self, out: &mut Effects<'_, Self>) {
        // A late report of a wait that a victim has aborted must not lead to another inquiry.
        let resolution = &self.resolution;
        self.detector.waits.retain(|_, wait| !resolution.is_aborted(wait.agent, wait.wait_id));
        while self.config.me == self.config.resolver && self.detector.inquiry.is_none() && !self.resolution.is_busy() {
            let Some(report) = self.detector.find_unreported() else { return };
            match self.config.confirmation {
                Confirmation::None => self.report(report, out),
                Confirmation::Required => self.inquire(report, out),
            }
        }
    }

    /// CD-3.
    fn inquire(&mut self, report: Report, out: &mut Effects<'_, Self>) {
        out.note("CD-3", format_args!("asks whether these waits still exist: {report}"));
        let mut edges: BTreeMap<NodeId, Vec<Edge>> = BTreeMap::new();
        for Wait { agent, wait_id, need, .. } in &report.waits {
            for awaited in need.awaited() {
                edges.entry(awaited.site).or_default().push(Edge {
                    agent: *agent,
                    wait_id: *wait_id,
                    awaited: *awaited,
                });
            }
        }
        self.detector.round = self.detector.round.saturating_add(1);
        let round = self.detector.round;
        let unanswered_sites = edges.keys().copied().collect();
        self.detector.inquiry = Some(Inquiry { report, unanswered_sites, ended: BTreeSet::new() });
        // The detector's own site gets no message. It may answer at once; if no other site was
        // asked, this answer ends the inquiry.
        let own_edges = edges.remove(&self.config.me);
        for (site, edges) in edges {
            out.send(site, Message::Ask { round, edges });
        }
        if let Some(edges) = own_edges {
            self.question = Some(Question { round, edges });
            self.answer_question(out);
        }
    }

    /// CD-4. Answers the detector's question, but not before the requests of all its waits have
    /// arrived: a wait can end as soon as its request arrives, for example if a resource is granted
    /// to a process that has cancelled.
    fn answer_question(&mut self, out: &mut Effects<'_, Self>) {
        let has_ended = |edge: &Edge| {
            self.released.get(&(edge.awaited, edge.agent)).is_some_and(|released| edge.wait_id <= *released)
        };
        let is_known = |edge: &Edge| has_ended(edge) || self.site.has_waiter(edge.awaited, edge.agent, edge.wait_id);
        let Some(Question { round, edges }) = self.question.take_if(|question| question.edges.iter().all(is_known))
        else {
            return;
        };
        let ended: Vec<_> = edges.into_iter().filter(has_ended).collect();
        out.note("CD-4", format_args!("answers how many of these waits have ended: {}", ended.len()));
        self.send(Message::Answer { round, ended }, self.config.resolver, out);
    }

    /// CD-5.
    fn on_answer(&mut self, from: NodeId, round: u64, ended: Vec<Edge>, out: &mut Effects<'_, Self>) {
        let Some(inquiry) = self.detector.inquiry.as_mut().filter(|_| round == self.detector.round) else { return };
        if !inquiry.unanswered_sites.remove(&from) {
            return out.note("CD-5", format_args!("ignores an answer of {from}, which was not asked"));
        }
        inquiry.ended.extend(ended);
        if !inquiry.unanswered_sites.is_empty() {
            return;
        }
        let Some(Inquiry { report, ended, .. }) = self.detector.inquiry.take() else { return };
        if ended.is_empty() {
            out.note("CD-5", format_args!("all waits still exist: it is a deadlock"));
            self.report(report, out);
        } else {
            out.note("CD-5", format_args!("it was a phantom; ended waits: {}", ended.len()));
            for edge in ended {
                self.detector.remove_edge(edge);
            }
        }
        self.search(out);
    }

    /// Hands a deadlock to the resolution. Without a victim policy it stays in the graph, so its
    /// waits are recorded as reported.
    fn report(&mut self, report: Report, out: &mut Effects<'_, Self>) {
        if !self.resolution.is_enabled() {
            self.detector.reported.extend(report.waits.iter().map(|wait| (wait.agent, wait.wait_id)));
        }
        let actions = self.resolution.on_found(report, &self.site);
        Self::perform(actions, out);
    }

    fn on_message(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Waits(wait) if wait.agent.site == from && self.knows_sites_of(&wait.need) => {
                self.update_graph(|waits| drop(waits.insert(wait.agent, wait)), out);
            }
            Message::DependencyReleased { edge, abort_cost } if edge.agent.site == from => {
                if self.config.me == self.config.resolver {
                    out.note("CD-2", format_args!("removes the wait of {} for {}", edge.agent, edge.awaited));
                    self.detector.remove_edge(edge);
                    if let Some(wait) =
                        self.detector.waits.get_mut(&edge.agent).filter(|wait| wait.wait_id == edge.wait_id)
                    {
                        wait.abort_cost = abort_cost;
                    }
                    self.search(out);
                }
            }
            Message::Unblocked { agent, wait_id } if agent.site == from => {
                let is_unaffected = move |_: &Agent, wait: &mut Wait| wait.agent != agent || wait.wait_id > wait_id;
                self.update_graph(|waits| waits.retain(is_unaffected), out);
            }
            Message::Ask { round, edges } if from == self.config.resolver => {
                self.question = Some(Question { round, edges });
                self.answer_question(out);
            }
            Message::Answer { round, ended } => self.on_answer(from, round, ended, out),
            Message::Resolver(message) => {
                let actions = self.resolution.on_message(from, message, &self.site);
                Self::perform(actions, out);
                self.search(out);
            }
            Message::Waits(_)
            | Message::DependencyReleased { .. }
            | Message::Unblocked { .. }
            | Message::Ask { .. } => {
                out.note("CD-2", format_args!("ignores an invalid message of {from}"));
            }
        }
    }

    /// Returns whether all agents that the need names are at existing sites.
    fn knows_sites_of(&self, need: &Need<Agent>) -> bool {
        need.awaited().iter().all(|agent| agent.site.index() < self.config.site_count)
    }

    /// Performs the actions of the resolution, but ignores which agents must check again: the
    /// detector searches its whole graph anyway.
    fn perform(actions: Vec<Action>, out: &mut Effects<'_, Self>) {
        perform(actions, Message::Resolver, out);
    }

    /// Sends a message, or handles it directly if it is for this site.
    fn send(&mut self, message: Message, to: NodeId, out: &mut Effects<'_, Self>) {
        if to == self.config.me {
            self.on_message(to, message, out);
        } else {
            out.send(to, message);
        }
    }
}

impl DetectorState {
    /// Returns a deadlock in the graph with at least one wait that was not reported before. Without
    /// a victim policy, a reported deadlock stays in the graph and may hide another one, because
    /// `Report::all_among` counts only one reason for each stuck agent.
    fn find_unreported(&self) -> Option<Report> {
        let waits: Vec<Wait> = self.waits.values().cloned().collect();
        // Only the waits of a report matter here; its finder is replaced below.
        let any_wait = waits.first()?;
        let is_new = |wait: &Wait| self.reported.get(&wait.agent) != Some(&wait.wait_id);
        let report = Report::all_among(any_wait, &waits).into_iter().find(|report| report.waits.iter().any(is_new));
        let find_hidden =
            || waits.iter().filter(|wait| is_new(wait)).find_map(|wait| Report::around_finder(wait, &waits));
        let report = report.or_else(|| (!self.reported.is_empty()).then(find_hidden).flatten())?;
        let first = report.waits.first()?;
        Some(Report { finder: first.agent, finder_wait_id: first.wait_id, ..report })
    }

    /// Removes an edge that no longer exists. If one of several agents was enough, the whole need
    /// is met.
    fn remove_edge(&mut self, edge: Edge) {
        let Some(wait) = self.waits.get_mut(&edge.agent).filter(|wait| wait.wait_id == edge.wait_id) else { return };
        match &mut wait.need {
            Need::All(awaited) => awaited.retain(|other| *other != edge.awaited),
            Need::Any(awaited) if awaited.contains(&edge.awaited) => awaited.clear(),
            Need::Any(_) => {}
        }
    }
}

impl Protocol for Central {
    type Command = WaitEvent;
    type Message = Message;
    type Timer = Never;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(event) => self.on_wait_event(event, out),
            Input::Message { from, message } => self.on_message(from, message, out),
            Input::Timer(never) => match never {},
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
    }
}
