//! What was found, as a picture shows it.

use super::size;
use quorate_demos::wait_for::{Found, Name, Report, Situation, Wait};
use quorate_draw::wait_for::{Diagram, Edge, Kind, Link, Mark, Node};
use std::collections::{BTreeMap, BTreeSet};

/// `a cycle of 3`.
pub(super) fn outline(found: &Found) -> String {
    format!("a {} of {}", found.shape.name(), size(found))
}

pub(super) fn of(situation: &Situation, report: &Report) -> Diagram {
    let mut draft = Draft::new(situation, report);
    draft.resources();
    draft.waits();
    for wait in report.stuck_behind.iter().chain(&report.waiting) {
        draft.queue(wait, false);
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
        [only] => parts.push(format!("{} is to give up: it {}", only.who, only.why)),
        [first, ..] => parts.push(format!("{} are to give up, {} first", victims.len(), first.who)),
    }
    let goes_on = report.waiting.len() + report.free.len();
    match report.stuck_behind.len() {
        0 => {}
        1 => parts.push("1 more is stuck behind it".to_owned()),
        behind => parts.push(format!("{behind} more are stuck")),
    }
    match goes_on {
        0 => {}
        1 => parts.push("1 goes on".to_owned()),
        goes_on => parts.push(format!("{goes_on} go on")),
    }
    parts.join(" · ")
}

/// A picture under way.
struct Draft<'a> {
    situation: &'a Situation,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    places: BTreeMap<&'a Name, usize>,
}

impl<'a> Draft<'a> {
    fn new(situation: &'a Situation, report: &'a Report) -> Self {
        let marks = marks(report);
        let told = told(report);
        let victims: BTreeSet<&Name> =
            report.rounds.iter().flat_map(|round| &round.victims).map(|victim| &victim.who).collect();
        let mut nodes = Vec::new();
        let mut places = BTreeMap::new();
        for name in situation.processes.keys() {
            places.insert(name, nodes.len());
            nodes.push(Node {
                name: name.to_string(),
                kind: Kind::Process,
                mark: marks.get(name).copied().unwrap_or(Mark::Free),
                is_victim: victims.contains(name),
                hover: told.get(name).cloned().unwrap_or_else(|| format!("{name} waits for nobody.")),
            });
        }
        for (name, resource) in &situation.resources {
            places.insert(name, nodes.len());
            nodes.push(Node {
                name: name.to_string(),
                kind: Kind::Resource(resource.permits),
                mark: marks.get(name).copied().unwrap_or(Mark::Free),
                is_victim: false,
                hover: String::new(),
            });
        }
        Self { situation, nodes, edges: Vec::new(), places }
    }

    fn resources(&mut self) {
        for (place, (name, resource)) in self.situation.resources.iter().enumerate() {
            let is_full =
                resource.permits.is_some_and(|permits| permits > 1 && resource.holders.len() >= permits as usize);
            // Numbers that no statement has.
            let link = if is_full { Link::Any(usize::MAX - place) } else { Link::Held };
            resource.holders.iter().for_each(|holder| self.add(name, holder, link));
            resource.queue.iter().for_each(|who| self.add(who, name, Link::All));
        }
    }

    fn waits(&mut self) {
        for (place, (who, need)) in self.situation.waits.iter().enumerate() {
            let link = if need.is_any() { Link::Any(place) } else { Link::All };
            need.on().iter().for_each(|on| self.add(who, on, link));
        }
    }

    /// An arrow, unless there is one already that says as much.
    fn add(&mut self, from: &Name, to: &Name, link: Link) {
        let (Some(from), Some(to)) = (self.places.get(from).copied(), self.places.get(to).copied()) else { return };
        let is_there = self.edges.iter().any(|edge| (edge.from, edge.to, edge.link) == (from, to, link));
        if !is_there {
            self.edges.push(Edge { from, to, link, is_marked: false });
        }
    }

    /// Those who stand before somebody in a queue are no holders, and have an arrow of their own.
    fn queue(&mut self, wait: &Wait, is_marked: bool) {
        for before in &wait.behind {
            self.add(&wait.who, before, Link::Queue);
            if is_marked {
                self.emphasise(&wait.who, before);
            }
        }
    }

    /// What keeps a deadlock together.
    fn mark(&mut self, wait: &Wait) {
        match &wait.resource {
            None => wait.need.on().iter().for_each(|on| self.emphasise(&wait.who, on)),
            Some(resource) => {
                self.emphasise(&wait.who, resource);
                wait.held_by.iter().for_each(|holder| self.emphasise(resource, holder));
                self.queue(wait, true);
            }
        }
    }

    fn emphasise(&mut self, from: &Name, to: &Name) {
        let ends = (self.places.get(from).copied(), self.places.get(to).copied());
        for edge in self.edges.iter_mut().filter(|edge| (Some(edge.from), Some(edge.to)) == ends) {
            edge.is_marked = true;
        }
    }
}

/// How everyone stands who does not simply go on, and what is in a deadlock.
fn marks(report: &Report) -> BTreeMap<&Name, Mark> {
    let mut marks = BTreeMap::new();
    marks.extend(report.waiting.iter().map(|wait| (&wait.who, Mark::Waits)));
    marks.extend(report.stuck_behind.iter().map(|wait| (&wait.who, Mark::Behind)));
    for (number, found) in report.deadlocks.iter().enumerate() {
        for wait in &found.waits {
            marks.insert(&wait.who, Mark::Deadlock(number));
            // What somebody only queues for holds nobody together.
            let held = wait.resource.iter().filter(|_| !wait.held_by.is_empty());
            marks.extend(held.map(|resource| (resource, Mark::Deadlock(number))));
        }
    }
    marks
}

/// Why everyone waits, in sentences.
fn told(report: &Report) -> BTreeMap<&Name, String> {
    let mut told: BTreeMap<&Name, String> = BTreeMap::new();
    let members = report.deadlocks.iter().flat_map(|found| &found.waits);
    for wait in members.chain(&report.stuck_behind).chain(&report.waiting) {
        let text = told.entry(&wait.who).or_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&format!("{wait}."));
    }
    told
}
