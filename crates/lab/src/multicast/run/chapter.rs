//! What happens in one view of one group: who is in, what is sent, who has delivered what.
//!
//! A message is forgotten when every member that can still deliver it has. What remains are numbers without gaps, so that the memory
//! of a chapter does not grow with the messages in it.

use super::breaches::{Breaches, Moment};
use super::message::{Key, Message};
use super::numbers::Numbers;
use super::order::{Conflict, Order};
use super::promises::{Promises, Property};
use quorate_core::multicast::{GroupId, Payload};
use quorate_core::{Epoch, Group, NodeId};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is no member, or is one no more: it died, or the group went on without it.
    Gone,
    /// It is a member, and has not begun the view yet.
    Awaited,
    In,
    /// It has begun that later view.
    WentOn(Epoch),
    Left,
    /// Its process was ended in good order.
    Ended,
}

impl Standing {
    /// Whether it may still deliver something in the view.
    const fn is_open(self) -> bool {
        matches!(self, Self::Awaited | Self::In)
    }

    /// Whether a message has to wait for it.
    const fn counts(self) -> bool {
        matches!(self, Self::Awaited | Self::In | Self::WentOn(_))
    }
}

#[derive(Clone, Debug)]
struct Member {
    standing: Standing,
    /// For each sender, what it has delivered.
    delivered: Vec<Numbers>,
    recent: Vec<Key>,
    sent: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Chapter {
    group: GroupId,
    view: Epoch,
    watched: Promises,
    members: Vec<Member>,
    sent: Vec<Numbers>,
    messages: BTreeMap<Key, Message>,
    order: Order,
    pub(super) contended: bool,
}

impl Chapter {
    pub(super) fn new(group: GroupId, view: Epoch, watched: Promises, standings: Vec<Standing>) -> Self {
        let nodes = standings.len();
        let member = |standing| Member { standing, delivered: Vec::new(), recent: Vec::new(), sent: None };
        Self {
            group,
            view,
            watched,
            members: standings.into_iter().map(member).collect(),
            sent: vec![Numbers::default(); nodes],
            messages: BTreeMap::new(),
            order: Order::new(if watched.total { nodes } else { 0 }),
            contended: false,
        }
    }

    pub(super) fn standing(&self, node: NodeId) -> Standing {
        self.members.get(node.index()).map_or(Standing::Gone, |member| member.standing)
    }

    pub(super) fn is_open(&self) -> bool {
        self.members.iter().any(|member| member.standing.is_open())
    }

    pub(super) fn awaited(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members_that(|standing| standing == Standing::Awaited)
    }

    pub(super) fn insiders(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members_that(|standing| standing == Standing::In)
    }

    fn members_that(&self, is_such: impl Fn(Standing) -> bool) -> impl Iterator<Item = NodeId> {
        self.members
            .iter()
            .enumerate()
            .filter(move |(_, member)| is_such(member.standing))
            .map(|(index, _)| NodeId::from_index(index))
    }

    pub(super) fn held(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn causes(&self) -> usize {
        self.members.iter().map(|member| member.recent.len()).sum()
    }

    pub(super) fn turns(&mut self, node: NodeId, standing: Standing) {
        let Some(member) = self.members.get_mut(node.index()) else { return };
        let before = std::mem::replace(&mut member.standing, standing);
        for (key, message) in self.messages.iter_mut().filter(|_| before.counts() != standing.counts()) {
            if !has(&member.delivered, *key) {
                message.owing = if standing.counts() { message.owing + 1 } else { message.owing.saturating_sub(1) };
            }
        }
        if standing == Standing::Gone {
            // A later life of the node is another participant, and has delivered nothing.
            (member.delivered, member.recent) = (Vec::new(), Vec::new());
        }
        let order = &mut self.order;
        self.messages.retain(|key, message| {
            if message.owing == 0 {
                order.settles(*key, message);
            }
            message.owing > 0
        });
    }

    pub(super) fn ends(&mut self, node: NodeId, how: Standing) {
        match self.standing(node) {
            Standing::In => self.turns(node, how),
            Standing::Awaited | Standing::Gone => self.turns(node, Standing::Gone),
            Standing::WentOn(_) | Standing::Left | Standing::Ended => {}
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.sent.iter().all(|numbers| *numbers == Numbers::default())
    }

    pub(super) fn was_sent(&self, key: Key) -> bool {
        has(&self.sent, key)
    }

    /// A node sends. Tells whether nothing was sent under this name before.
    pub(super) fn sends(&mut self, now: Moment, key: Key, payload: Option<Payload>) -> bool {
        if !put(&mut self.sent, key) {
            return false;
        }
        let owing = self.members.iter().filter(|member| member.standing.counts()).count();
        let Some(member) = self.members.get_mut(key.sender.index()) else { return false };
        let mut causes = std::mem::take(&mut member.recent);
        causes.extend(member.sent.replace(key.number).map(|number| Key { number, ..key }));
        if !self.watched.causal {
            causes.clear();
        }
        self.contended = self.contended || self.messages.keys().any(|other| other.sender != key.sender);
        if owing > 0 {
            let sent = now.time;
            let message = Message { payload, sent, causes, owing, first: None, rank: None, deliveries: Vec::new() };
            self.messages.insert(key, message);
        }
        true
    }

    pub(super) fn payload(&self, key: Key) -> Option<&Payload> {
        self.messages.get(&key)?.payload.as_ref()
    }

    pub(super) fn delivers(&mut self, now: Moment, node: NodeId, key: Key, payload: &Payload, breaches: &mut Breaches) {
        let id = key.named(self.group, self.view);
        let Some(member) = self.members.get_mut(node.index()) else { return };
        let is_next = has_all_below(&member.delivered, key);
        let since = self.messages.get(&key).map_or(now.time, |message| message.sent);
        if !put(&mut member.delivered, key) {
            breaches.note(Property::Integrity, now, since, || format!("node {node} delivers {id} twice"));
            return;
        }
        if let Some(sent) = self.messages.get(&key).and_then(|message| message.payload.as_ref())
            && sent != payload
        {
            let text = || format!("node {node} delivers {id} as {payload}, and it was sent as {sent}");
            breaches.note(Property::Integrity, now, since, text);
        }
        if member.standing != Standing::In {
            return;
        }
        if !is_next {
            let text = || format!("node {node} delivers {id} before one that node {} sent earlier", key.sender);
            breaches.note(Property::Fifo, now, since, text);
        }
        if self.watched.causal {
            let causes = self.messages.get(&key).map_or(&[][..], |message| &message.causes);
            if let Some(cause) = causes.iter().find(|cause| !has(&member.delivered, **cause)) {
                let since = self.messages.get(cause).map_or(since, |cause| cause.sent);
                let cause = cause.named(self.group, self.view);
                let text = || format!("node {node} delivers {id} before {cause}, which happened before it");
                breaches.note(Property::Causal, now, since, text);
            }
            member.recent.push(key);
            // Whoever only listens would remember all that it hears. What is forgotten everyone has delivered.
            if member.recent.len() > 2 * self.messages.len() + 64 {
                member.recent.retain(|key| self.messages.contains_key(key));
            }
        }
        self.is_delivered(now, node, key, breaches);
    }

    fn is_delivered(&mut self, now: Moment, node: NodeId, key: Key, breaches: &mut Breaches) {
        if self.watched.total {
            let found = self.order.delivers((now.time, now.line), node, key, &mut self.messages);
            // Where delivery is uniform, it does not matter who dies later.
            let is_uniform = breaches.is_uniform();
            for conflict in found.iter().filter(|_| is_uniform) {
                self.tell_conflict(conflict, breaches);
            }
        }
        let Some(message) = self.messages.get_mut(&key) else { return };
        message.first = message.first.or(Some(node));
        message.owing = message.owing.saturating_sub(1);
        if message.owing == 0
            && let Some(message) = self.messages.remove(&key)
        {
            self.order.settles(key, &message);
        }
    }

    fn tell_conflict(&self, conflict: &Conflict, breaches: &mut Breaches) {
        let Conflict { time, line, after, before, by, other } = conflict;
        let since = self.messages.get(after).map_or(*time, |message| message.sent);
        let (first, second) = (before.named(self.group, self.view), after.named(self.group, self.view));
        let text = || format!("node {by} delivers {first} before {second}, and node {other} {second} before {first}");
        breaches.note(Property::Total, Moment { time: *time, line: *line }, since, text);
    }

    /// A node has gone on into that view. Whoever went the same way has delivered the same.
    pub(super) fn goes_on(&self, now: Moment, node: NodeId, into: Epoch, breaches: &mut Breaches) {
        let is_companion = |standing| standing == Standing::WentOn(into);
        let Some(other) = self.members_that(is_companion).find(|other| *other != node) else { return };
        let has = |node: NodeId, key| self.members.get(node.index()).is_some_and(|member| has(&member.delivered, key));
        let Some((key, message)) = self.messages.iter().find(|(key, _)| has(node, **key) != has(other, **key)) else {
            return;
        };
        let (with, without) = if has(node, *key) { (node, other) } else { (other, node) };
        let id = key.named(self.group, self.view);
        let view = self.view;
        breaches.note(Property::ViewSynchrony, now, message.sent, || {
            format!(
                "nodes {with} and {without} go together from view {view} into view {into}, \
                 and only node {with} has delivered {id}"
            )
        });
    }

    /// Judges what nobody can change any more: the view is over for everyone, or the run is, and these are still in.
    pub(super) fn judge(&self, now: Moment, insiders: &Group, breaches: &mut Breaches) {
        let survives = |node: NodeId| match self.standing(node) {
            Standing::WentOn(_) => true,
            Standing::In => insiders.contains(node),
            Standing::Gone | Standing::Awaited | Standing::Left | Standing::Ended => false,
        };
        if !breaches.is_uniform() {
            let stays = |node: NodeId| survives(node) || self.standing(node) == Standing::Ended;
            for conflict in self.order.conflicts().filter(|found| stays(found.by) && stays(found.other)) {
                self.tell_conflict(conflict, breaches);
            }
        }
        let nodes = (0..self.members.len()).map(NodeId::from_index);
        let survivors: Vec<_> = nodes.filter(|node| survives(*node)).collect();
        for (key, message) in &self.messages {
            self.judge_message(now, *key, message, &survivors, breaches);
        }
    }

    fn judge_message(&self, now: Moment, key: Key, message: &Message, survivors: &[NodeId], breaches: &mut Breaches) {
        let has = |node: &NodeId| self.members.get(node.index()).is_some_and(|member| has(&member.delivered, key));
        let Some(lacks) = survivors.iter().find(|node| !has(node)) else { return };
        let (id, sender) = (key.named(self.group, self.view), key.sender);
        let mut note = |property, text: &dyn Fn() -> String| breaches.note(property, now, message.sent, text);
        if let Some(other) = survivors.iter().find(|node| has(node)) {
            note(Property::Agreement, &|| format!("node {other} has delivered {id}, and node {lacks} never does"));
        }
        if let Some(first) = message.first {
            note(Property::Uniform, &|| format!("node {first} has delivered {id}, and node {lacks} never does"));
        }
        if survivors.contains(&sender) && !has(&sender) {
            note(Property::Validity, &|| format!("node {sender} has sent {id}, and never delivers it itself"));
        }
        if survivors.contains(&sender) || self.standing(sender) == Standing::Left {
            note(Property::Delivered, &|| format!("node {sender} has sent {id}, and node {lacks} never delivers it"));
        }
    }
}

fn has(numbers: &[Numbers], key: Key) -> bool {
    numbers.get(key.sender.index()).is_some_and(|numbers| numbers.contains(key.number))
}

fn has_all_below(numbers: &[Numbers], key: Key) -> bool {
    match numbers.get(key.sender.index()) {
        Some(numbers) => numbers.has_all_below(key.number),
        None => key.number <= 1,
    }
}

/// Puts it in. Tells whether it was not in before. The sender is a node of the world.
fn put(numbers: &mut Vec<Numbers>, key: Key) -> bool {
    if numbers.len() <= key.sender.index() {
        numbers.resize(key.sender.index() + 1, Numbers::default());
    }
    numbers.get_mut(key.sender.index()).is_some_and(|numbers| numbers.insert(key.number))
}
