//! Converts the result of a search to a diagram.

use super::member_count;
use quorate_demos::wait_for::{FoundDeadlock, Name, Report, Situation, Wait};
use quorate_draw::wait_for::{Diagram, Edge, Kind, Link, Mark, Node};
use std::collections::{BTreeMap, BTreeSet};

/// Describes a deadlock, such as `a cycle of 3`.
pub(super) fn outline(found: &FoundDeadlock) -> String {
    format!("a {} of {}", found.shape.name(), member_count(found))
}

pub(super) fn diagram(situation: &Situation, report: &Report) -> Diagram {
    let mut draft = Draft::new(situation, report);
    draft.add_resources();
    draft.add_waits();
    for wait in report.stuck_behind.iter().chain(&report.waiting) {
        draft.add_queue(wait);
    }
    for found in &report.deadlocks {
        found.waits.iter().for_each(|wait| draft.mark(wait));
    }
    Diagram { title: title(report), subtitle: subtitle(report), nodes: draft.nodes, edges: draft.edges }
}

fn title(report: &Report) -> String {
    match &report.deadlocks[..] {
        [] => "No deadlock".to_owned(),
        [only] => format!("Deadlock: {}", outline(only)),
        several => {
            let shown: Vec<_> = several.iter().take(3).map(outline).collect();
            let more = if several.len() > shown.len() { " …" } else { "" };
            format!("{} deadlocks: {}{more}", several.len(), shown.join(", "))
        }
    }
}

fn subtitle(report: &Report) -> String {
    let mut parts = Vec::new();
    let victims: Vec<_> = report.rounds.iter().flat_map(|round| &round.victims).collect();
    match &victims[..] {
        [] => {}
        [only] => parts.push(format!("victim: {}, which {}", only.who, only.why)),
        [first, ..] => parts.push(format!("{} victims, {} first", victims.len(), first.who)),
    }
    let continuing = report.waiting.len() + report.free.len();
    match report.stuck_behind.len() {
        0 => {}
        1 => parts.push("1 more is blocked behind it".to_owned()),
        behind => parts.push(format!("{behind} more are blocked behind it")),
    }
    match continuing {
        0 => {}
        1 => parts.push("1 continues".to_owned()),
        continuing => parts.push(format!("{continuing} continue")),
    }
    parts.join(" · ")
}

/// A diagram under construction.
struct Draft<'a> {
    situation: &'a Situation,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    indices: BTreeMap<&'a Name, usize>,
}

impl<'a> Draft<'a> {
    fn new(situation: &'a Situation, report: &'a Report) -> Self {
        let marks = marks(report);
        let explanations = explanations(report);
        let victims: BTreeSet<&Name> =
            report.rounds.iter().flat_map(|round| &round.victims).map(|victim| &victim.who).collect();
        let mut nodes = Vec::new();
        let mut indices = BTreeMap::new();
        for name in situation.processes.keys() {
            indices.insert(name, nodes.len());
            nodes.push(Node {
                name: name.to_string(),
                kind: Kind::Process,
                mark: marks.get(name).copied().unwrap_or(Mark::Free),
                is_victim: victims.contains(name),
                hover: explanations.get(name).cloned().unwrap_or_else(|| format!("{name} does not wait.")),
            });
        }
        for (name, resource) in &situation.resources {
            indices.insert(name, nodes.len());
            nodes.push(Node {
                name: name.to_string(),
                kind: Kind::Resource(resource.permits),
                mark: marks.get(name).copied().unwrap_or(Mark::Free),
                is_victim: false,
                hover: String::new(),
            });
        }
        Self { situation, nodes, edges: Vec::new(), indices }
    }

    fn add_resources(&mut self) {
        for (index, (name, resource)) in self.situation.resources.iter().enumerate() {
            let is_full =
                resource.permits.is_some_and(|permits| permits > 1 && resource.holders.len() >= permits as usize);
            // The arrows of one `Link::Any` share a number. Resources count down from the largest
            // one, because the statements of `add_waits` count up from 0.
            let link = if is_full { Link::Any(usize::MAX - index) } else { Link::Held };
            resource.holders.iter().for_each(|holder| self.add_edge(name, holder, link));
            resource.queue.iter().for_each(|waiter| self.add_edge(waiter, name, Link::All));
        }
    }

    fn add_waits(&mut self) {
        for (index, (waiter, need)) in self.situation.waits.iter().enumerate() {
            let link = if need.is_any() { Link::Any(index) } else { Link::All };
            need.on().iter().for_each(|on| self.add_edge(waiter, on, link));
        }
    }

    /// Adds an arrow, unless there is an equal one.
    fn add_edge(&mut self, from: &Name, to: &Name, link: Link) {
        let (Some(from), Some(to)) = (self.indices.get(from).copied(), self.indices.get(to).copied()) else { return };
        let exists = self.edges.iter().any(|edge| (edge.from, edge.to, edge.link) == (from, to, link));
        if !exists {
            self.edges.push(Edge { from, to, link, is_marked: false });
        }
    }

    /// Adds arrows to the waiters ahead in the queue, which have a style of their own.
    fn add_queue(&mut self, wait: &Wait) {
        wait.behind.iter().for_each(|ahead| self.add_edge(&wait.who, ahead, Link::Queue));
    }

    /// Marks the arrows of a wait that is part of a deadlock.
    fn mark(&mut self, wait: &Wait) {
        match &wait.resource {
            None => wait.need.on().iter().for_each(|on| self.emphasize(&wait.who, on)),
            Some(resource) => {
                self.emphasize(&wait.who, resource);
                wait.held_by.iter().for_each(|holder| self.emphasize(resource, holder));
                self.add_queue(wait);
                wait.behind.iter().for_each(|ahead| self.emphasize(&wait.who, ahead));
            }
        }
    }

    fn emphasize(&mut self, from: &Name, to: &Name) {
        let endpoints = (self.indices.get(from).copied(), self.indices.get(to).copied());
        for edge in self.edges.iter_mut().filter(|edge| (Some(edge.from), Some(edge.to)) == endpoints) {
            edge.is_marked = true;
        }
    }
}

/// Returns the marks of all processes that wait, and of the resources in a deadlock.
fn marks(report: &Report) -> BTreeMap<&Name, Mark> {
    let mut marks = BTreeMap::new();
    marks.extend(report.waiting.iter().map(|wait| (&wait.who, Mark::Waits)));
    marks.extend(report.stuck_behind.iter().map(|wait| (&wait.who, Mark::Behind)));
    for (index, found) in report.deadlocks.iter().enumerate() {
        for wait in &found.waits {
            marks.insert(&wait.who, Mark::Deadlock(index));
            // A resource counts only if a member of the deadlock waits for its holder, not just in
            // its queue.
            let waited_for = wait.resource.iter().filter(|_| !wait.held_by.is_empty());
            marks.extend(waited_for.map(|resource| (resource, Mark::Deadlock(index))));
        }
    }
    marks
}

/// Returns the reason why each process waits.
fn explanations(report: &Report) -> BTreeMap<&Name, String> {
    let mut explanations: BTreeMap<&Name, String> = BTreeMap::new();
    let members = report.deadlocks.iter().flat_map(|found| &found.waits);
    for wait in members.chain(&report.stuck_behind).chain(&report.waiting) {
        let text = explanations.entry(&wait.who).or_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&format!("{wait}."));
    }
    explanations
}
