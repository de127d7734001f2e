//! What ordered multicasts promise, watched over any run or record.
//!
//! It sees commands and events, never an algorithm, and its memory does not grow with the run: what every member of a view has
//! delivered is forgotten, and so is a view when nobody is in it any more.

use super::asked::Asked;
use super::breaches::{self, Breaches};
use super::chapter::Standing;
use super::groups::{Node, Room};
use super::message::Key;
use super::promises::{Promises, Property};
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload};
use quorate_core::{Duration, Group, Incarnation, NodeId, Time};
use quorate_journal::moment::{Done, Happening, Moment, Observer, Taken};
use quorate_journal::property::Verdict;
use std::collections::BTreeMap;

pub struct Properties {
    promised: Promises,
    watched: Promises,
    nodes: Vec<Node>,
    asked: Vec<Asked>,
    rooms: BTreeMap<GroupId, Room>,
    /// Who is in a group that has no views, if not everyone.
    members: BTreeMap<GroupId, Group>,
    /// Delivered by their own senders in the step under way, before they were told to be sent.
    unconfirmed: Vec<MessageId>,
    breaches: Breaches,
    contended: bool,
    /// How long whoever is in a view may take to begin it after the first one did.
    grace: Duration,
    now: breaches::Moment,
}

impl Properties {
    pub fn new(nodes: usize, promised: Promises) -> Self {
        Self {
            promised,
            watched: promised,
            nodes: vec![Node::default(); nodes],
            asked: vec![Asked::default(); nodes],
            rooms: BTreeMap::new(),
            members: BTreeMap::new(),
            unconfirmed: Vec::new(),
            breaches: Breaches::new(promised, promised),
            contended: false,
            grace: Duration::ZERO,
            now: breaches::Moment { time: Time::ZERO, line: 0 },
        }
    }

    /// Watches for these too, though nobody promises them: see [`Properties::verdict`] and [`Properties::breaches`].
    #[must_use]
    pub fn watching(self, also: Promises) -> Self {
        let both: Vec<_> = Property::ALL.into_iter().filter(|one| self.promised.has(*one) || also.has(*one)).collect();
        let watched = Promises { contention: self.promised.contention, ..Promises::of(&both) };
        Self { watched, breaches: Breaches::new(self.promised, watched), ..self }
    }

    #[must_use]
    pub fn patient(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Only these are in a group that has no views. Else everyone is in every group.
    #[must_use]
    pub fn among(mut self, group: GroupId, members: Group) -> Self {
        self.members.insert(group, members);
        self
    }

    /// How many multicasts are remembered, because somebody may still have to deliver them.
    pub fn held(&self) -> usize {
        self.rooms.values().map(Room::held).sum()
    }

    /// How many causes of messages to come are remembered.
    pub fn causes(&self) -> usize {
        self.rooms.values().map(Room::causes).sum()
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let found = self.found();
        let promised = Property::ALL.into_iter().filter(|property| self.promised.has(*property));
        let mut verdicts: Vec<_> = promised.filter_map(|property| found.verdict(property)).collect();
        if self.promised.contention {
            let contended = self.contended || self.rooms.values().any(Room::is_contended);
            verdicts.push(Verdict::sometimes("contended", contended));
        }
        verdicts
    }

    /// What came of one property, promised or not, if it was watched and the run ends here.
    pub fn verdict(&self, property: Property) -> Option<Verdict> {
        self.found().verdict(property)
    }

    /// What was watched although nobody promises it, and what came of it, if the run ends here.
    pub fn not_promised(&self) -> Vec<Verdict> {
        let found = self.found();
        let other = Property::ALL.into_iter().filter(|property| !self.promised.has(*property));
        other.filter_map(|property| found.verdict(property)).collect()
    }

    /// How often a property that was watched was breached, if the run ends here: deliveries for orders and integrity, pairs of nodes
    /// for the total order, messages for the rest.
    pub fn breaches(&self, property: Property) -> u64 {
        self.found().count(property)
    }

    /// All breaches, those included that only the end shows.
    fn found(&self) -> Breaches {
        let mut breaches = self.breaches.clone();
        self.judge_unconfirmed(&mut breaches);
        for room in self.rooms.values() {
            room.judge_end(self.now, self.grace, &mut breaches);
        }
        for (index, (node, asked)) in self.nodes.iter().zip(&self.asked).enumerate() {
            let id = NodeId::from_index(index);
            for (group, _) in self.rooms.iter().filter(|(_, room)| node.is_up && room.is_inside(id)) {
                if let Some(payload) = asked.oldest(*group) {
                    let text = || format!("node {id} was asked to send {payload}, and never answers");
                    breaches.note(Property::Delivered, self.now, self.now.time, text);
                }
            }
        }
        breaches
    }

    fn judge_unconfirmed(&self, breaches: &mut Breaches) {
        for id in &self.unconfirmed {
            let text = || format!("node {} delivers {id}, which it was not told to send", id.sender);
            breaches.note(Property::Integrity, self.now, self.now.time, text);
        }
    }

    fn room(&mut self, group: GroupId) -> &mut Room {
        let (watched, nodes, members) = (self.watched, &self.nodes, &self.members);
        self.rooms.entry(group).or_insert_with(|| Room::new(group, watched, nodes, members.get(&group)))
    }

    fn step_begins(&mut self) {
        if !self.unconfirmed.is_empty() {
            let mut breaches = self.breaches.clone();
            self.judge_unconfirmed(&mut breaches);
            self.breaches = breaches;
            self.unconfirmed.clear();
        }
    }

    fn sent(&mut self, node: NodeId, id: MessageId) {
        let asked = self.asked.get_mut(node.index()).and_then(|asked| asked.answered(id.group));
        let now = self.now;
        let Some(asked) = asked else {
            let text = || format!("node {node} has sent {id}, and nobody asked it to");
            self.breaches.note(Property::Integrity, now, now.time, text);
            // It is sent all the same: others are not to be blamed for delivering it.
            self.sends(node, id, None);
            return;
        };
        if let Some(place) = self.unconfirmed.iter().position(|early| *early == id) {
            self.unconfirmed.swap_remove(place);
            let delivered = self.room(id.group).payload(id).cloned();
            if let Some(delivered) = delivered.filter(|delivered| *delivered != asked) {
                let text = || format!("node {node} delivers {id} as {delivered}, and it was sent as {asked}");
                self.breaches.note(Property::Integrity, now, now.time, text);
            }
            return;
        }
        self.sends(node, id, Some(asked));
    }

    fn sends(&mut self, node: NodeId, id: MessageId, payload: Option<Payload>) {
        let now = self.now;
        if let Err(why) = self.room(id.group).sends(now, node, id, payload) {
            self.breaches
                .note(Property::Integrity, now, now.time, || format!("node {node} names a message {id}, {why}"));
        }
    }

    fn delivers(&mut self, node: NodeId, id: MessageId, payload: &Payload) {
        let now = self.now;
        if id.sender == node && !self.room(id.group).was_sent(id) && self.room(id.group).view_of(node) == Some(id.view)
        {
            self.sends(node, id, Some(payload.clone()));
            self.unconfirmed.push(id);
        }
        self.room(id.group);
        let Some(room) = self.rooms.get_mut(&id.group) else { return };
        room.delivers(now, node, (Key::of(id), id.view), payload, &mut self.breaches);
    }

    fn told(&mut self, node: NodeId, event: &Event) {
        let now = self.now;
        match event {
            Event::Sent { id } => self.sent(node, *id),
            Event::Wait { group, .. } => {
                if let Some(asked) = self.asked.get_mut(node.index()) {
                    asked.answered(*group);
                }
            }
            Event::Refused(_) => {
                if let Some(asked) = self.asked.get_mut(node.index()) {
                    asked.refused();
                }
            }
            Event::Ready { .. } => {}
            Event::Delivered { id, payload } => self.delivers(node, *id, payload),
            Event::View { group, view, state } => {
                self.room(*group);
                let Some(room) = self.rooms.get_mut(group) else { return };
                self.contended |= room.begins(now, node, (view, *state), &self.nodes, &mut self.breaches);
            }
            Event::Out { group } | Event::Left { group } => {
                let how = if let Event::Left { .. } = event { Standing::Left } else { Standing::Gone };
                self.room(*group);
                let Some(room) = self.rooms.get_mut(group) else { return };
                self.contended |= room.quits(now, node, how, &mut self.breaches);
            }
        }
    }

    /// Whoever boots for a second time is another participant.
    fn boots(&mut self, node: NodeId, incarnation: Incarnation) {
        if self.nodes.get(node.index()).is_some_and(|state| state.is_up && state.has_booted) {
            self.ends(node, false);
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            (state.is_up, state.has_booted, state.life) = (true, true, incarnation);
        }
    }

    /// A node is down. What it is blamed for depends on whether it was ended in good order.
    fn ends(&mut self, node: NodeId, in_order: bool) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        (state.is_up, state.has_died) = (false, true);
        if let Some(asked) = self.asked.get_mut(node.index()) {
            asked.forgets();
        }
        for room in self.rooms.values_mut() {
            self.contended |= room.ends(self.now, node, in_order, &mut self.breaches);
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.now.time = moment.time();
        match moment {
            Moment::Input { node, input, .. } => {
                self.now.line += 1;
                self.step_begins();
                if let Some(asked) = self.asked.get_mut(node.index()) {
                    asked.step();
                    if let Taken::Command(command) = input {
                        asked.asks(command);
                    }
                }
                if let Taken::Start { incarnation, .. } = input {
                    self.boots(*node, *incarnation);
                }
            }
            Moment::World { what, .. } => {
                self.now.line += 1;
                self.step_begins();
                if let Happening::Crashed { node, .. } | Happening::Ended { node } = what {
                    self.ends(*node, matches!(what, Happening::Ended { .. }));
                }
            }
            Moment::Effect { node, effect: Done::Emit(event), .. } if node.index() < self.nodes.len() => {
                self.told(*node, event);
            }
            Moment::Effect { .. } => {}
        }
    }
}
