//! Converts the result of a search for deadlocks to a diagram.

use super::member_count;
use quorate_demos::wait_for::{FoundDeadlock, Name, Report, Situation, Wait};
use quorate_draw::wait_for::{Diagram, Edge, EdgeKind, Node, NodeKind, NodeState};
use std::collections::{BTreeMap, BTreeSet};

/// Describes a deadlock, such as `a cycle of 3`.
pub(super) fn describe_deadlock(deadlock: &FoundDeadlock) -> String {
    format!("a {} of {}", deadlock.shape.name(), member_count(deadlock))
}

pub(super) fn build_diagram(situation: &Situation, report: &Report) -> Diagram {
    let mut builder = DiagramBuilder::new(situation, report);
    builder.add_resource_edges();
    builder.add_wait_edges();
    for wait in report.stuck_behind.iter().chain(&report.waiting) {
        builder.add_queue_edges(wait);
    }
    for deadlock in &report.deadlocks {
        deadlock.waits.iter().for_each(|wait| builder.mark_deadlocked(wait));
    }
    Diagram {
        title: format_title(report),
        subtitle: format_subtitle(report),
        nodes: builder.nodes,
        edges: builder.edges,
    }
}

/// Maximum number of deadlocks that a title describes.
const MAX_TITLE_DEADLOCKS: usize = 3;

fn format_title(report: &Report) -> String {
    match &report.deadlocks[..] {
        [] => "No deadlock".to_owned(),
        [only] => format!("Deadlock: {}", describe_deadlock(only)),
        several => {
            let shown: Vec<_> = several.iter().take(MAX_TITLE_DEADLOCKS).map(describe_deadlock).collect();
            let more = if several.len() > shown.len() { " …" } else { "" };
            format!("{} deadlocks: {}{more}", several.len(), shown.join(", "))
        }
    }
}

fn format_subtitle(report: &Report) -> String {
    let mut parts = Vec::new();
    // Once the victims of one round have aborted, the next round searches for deadlocks again.
    let victims: Vec<_> = report.rounds.iter().flat_map(|round| &round.victims).collect();
    match &victims[..] {
        [] => {}
        [only] => parts.push(format!("victim: {}, which {}", only.process, only.reason)),
        [first, ..] => parts.push(format!("{} victims, {} first", victims.len(), first.process)),
    }
    // The waits in `waiting` end, so these processes continue later.
    let continuing = report.waiting.len() + report.free.len();
    match report.stuck_behind.len() {
        0 => {}
        1 => parts.push("1 more is blocked behind a deadlock".to_owned()),
        behind => parts.push(format!("{behind} more are blocked behind a deadlock")),
    }
    match continuing {
        0 => {}
        1 => parts.push("1 continues".to_owned()),
        continuing => parts.push(format!("{continuing} continue")),
    }
    parts.join(" · ")
}

/// A diagram under construction.
struct DiagramBuilder<'a> {
    situation: &'a Situation,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    indices: BTreeMap<&'a Name, usize>,
}

impl<'a> DiagramBuilder<'a> {
    fn new(situation: &'a Situation, report: &'a Report) -> Self {
        let states = collect_states(report);
        let explanations = explain_waits(report);
        let victims: BTreeSet<&Name> =
            report.rounds.iter().flat_map(|round| &round.victims).map(|victim| &victim.process).collect();
        let mut nodes = Vec::new();
        let mut indices = BTreeMap::new();
        for name in situation.processes.keys() {
            indices.insert(name, nodes.len());
            nodes.push(Node {
                name: name.to_string(),
                kind: NodeKind::Process,
                state: states.get(name).copied().unwrap_or(NodeState::Free),
                is_victim: victims.contains(name),
                tooltip: explanations.get(name).cloned().unwrap_or_else(|| format!("{name} does not wait.")),
            });
        }
        for (name, resource) in &situation.resources {
            indices.insert(name, nodes.len());
            nodes.push(Node {
                name: name.to_string(),
                kind: NodeKind::Resource(resource.permits),
                state: states.get(name).copied().unwrap_or(NodeState::Free),
                is_victim: false,
                tooltip: String::new(),
            });
        }
        Self { situation, nodes, edges: Vec::new(), indices }
    }

    fn add_resource_edges(&mut self) {
        for (index, (name, resource)) in self.situation.resources.iter().enumerate() {
            // If all of several permits are held, a release by any one holder suffices.
            let any_release_suffices =
                resource.permits.is_some_and(|permits| permits > 1 && resource.holders.len() >= permits as usize);
            // The arrows of one choice (`EdgeKind::Any`) share a number. Resources count down from
            // the largest number, because `add_wait_edges` counts up from 0.
            let kind = if any_release_suffices { EdgeKind::Any(usize::MAX - index) } else { EdgeKind::Held };
            resource.holders.iter().for_each(|holder| self.add_edge(name, holder, kind));
            resource.queue.iter().for_each(|waiter| self.add_edge(waiter, name, EdgeKind::All));
        }
    }

    fn add_wait_edges(&mut self) {
        for (index, (waiter, need)) in self.situation.waits.iter().enumerate() {
            let kind = if need.has_alternatives() { EdgeKind::Any(index) } else { EdgeKind::All };
            need.awaited().iter().for_each(|on| self.add_edge(waiter, on, kind));
        }
    }

    /// Adds an arrow, unless there is an equal one.
    fn add_edge(&mut self, from: &Name, to: &Name, kind: EdgeKind) {
        let (Some(from), Some(to)) = (self.indices.get(from).copied(), self.indices.get(to).copied()) else { return };
        let exists = self.edges.iter().any(|edge| (edge.from, edge.to, edge.kind) == (from, to, kind));
        if !exists {
            self.edges.push(Edge { from, to, kind, is_in_deadlock: false });
        }
    }

    /// Adds arrows, in a style of their own, to the waiters ahead in the queue.
    fn add_queue_edges(&mut self, wait: &Wait) {
        wait.behind.iter().for_each(|ahead| self.add_edge(&wait.process, ahead, EdgeKind::Queue));
    }

    /// Marks the arrows of a wait that is part of a deadlock. Adds and marks its queue arrows.
    fn mark_deadlocked(&mut self, wait: &Wait) {
        match &wait.resource {
            None => wait.need.awaited().iter().for_each(|on| self.mark_edges(&wait.process, on)),
            Some(resource) => {
                self.mark_edges(&wait.process, resource);
                wait.held_by.iter().for_each(|holder| self.mark_edges(resource, holder));
                self.add_queue_edges(wait);
                wait.behind.iter().for_each(|ahead| self.mark_edges(&wait.process, ahead));
            }
        }
    }

    fn mark_edges(&mut self, from: &Name, to: &Name) {
        let endpoints = (self.indices.get(from).copied(), self.indices.get(to).copied());
        for edge in self.edges.iter_mut().filter(|edge| (Some(edge.from), Some(edge.to)) == endpoints) {
            edge.is_in_deadlock = true;
        }
    }
}

/// Returns the states of all processes that wait, and of the resources in a deadlock. A process
/// with several waits has the worst state among them: later insertions replace earlier ones.
fn collect_states(report: &Report) -> BTreeMap<&Name, NodeState> {
    let mut states = BTreeMap::new();
    states.extend(report.waiting.iter().map(|wait| (&wait.process, NodeState::Waiting)));
    states.extend(report.stuck_behind.iter().map(|wait| (&wait.process, NodeState::BlockedBehind)));
    for (index, deadlock) in report.deadlocks.iter().enumerate() {
        for wait in &deadlock.waits {
            states.insert(&wait.process, NodeState::Deadlock(index));
            // A resource counts only if a member of the deadlock waits for its holder, not just in
            // its queue.
            let waited_for = wait.resource.iter().filter(|_| !wait.held_by.is_empty());
            states.extend(waited_for.map(|resource| (resource, NodeState::Deadlock(index))));
        }
    }
    states
}

/// Returns the reasons why each process waits, as one text.
fn explain_waits(report: &Report) -> BTreeMap<&Name, String> {
    let mut explanations: BTreeMap<&Name, String> = BTreeMap::new();
    let members = report.deadlocks.iter().flat_map(|deadlock| &deadlock.waits);
    for wait in members.chain(&report.stuck_behind).chain(&report.waiting) {
        let text = explanations.entry(&wait.process).or_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&format!("{wait}."));
    }
    explanations
}
