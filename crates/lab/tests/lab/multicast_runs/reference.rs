//! The properties evaluated literally over a whole history: slow, and obviously correct.

use super::Action;
use quorate_core::multicast::MessageId;
use quorate_core::{Epoch, Incarnation, NodeId, View};
use quorate_lab::multicast::run::{Property, PropertySet};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    StillIn,
    WentOn(Epoch),
    Gone,
    Left,
}

#[derive(Debug)]
struct Visit {
    node: NodeId,
    view: Epoch,
    is_member: bool,
    ending: Ending,
    events: Vec<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Sent(MessageId),
    Delivered(MessageId),
}

impl Visit {
    fn delivered(&self) -> Vec<MessageId> {
        let delivered = |event: &Event| match event {
            Event::Sent(_) => None,
            Event::Delivered(id) => Some(*id),
        };
        self.events.iter().filter_map(delivered).collect()
    }

    fn sent(&self) -> Vec<MessageId> {
        let sent = |event: &Event| match event {
            Event::Sent(id) => Some(*id),
            Event::Delivered(_) => None,
        };
        self.events.iter().filter_map(sent).collect()
    }

    fn set(&self) -> BTreeSet<MessageId> {
        self.delivered().into_iter().collect()
    }
}

pub(super) struct History {
    visits: Vec<Visit>,
    sent: BTreeMap<MessageId, &'static str>,
    views: BTreeMap<Epoch, View>,
    lives: BTreeMap<NodeId, Incarnation>,
    down: BTreeSet<NodeId>,
    is_sound: bool,
    in_views: bool,
    states: BTreeMap<Epoch, BTreeSet<u64>>,
}

impl History {
    pub(super) fn read(nodes: usize, has_views: bool, actions: &[Action]) -> Self {
        let mut history = Self {
            visits: Vec::new(),
            sent: BTreeMap::new(),
            views: BTreeMap::new(),
            lives: BTreeMap::new(),
            down: BTreeSet::new(),
            is_sound: true,
            in_views: true,
            states: BTreeMap::new(),
        };
        if !has_views {
            (0..nodes).for_each(|index| history.visit(NodeId::from_index(index), View::FIRST, true));
        }
        for action in actions {
            history.take(action, has_views);
        }
        history
    }

    fn visit(&mut self, node: NodeId, view: Epoch, is_member: bool) {
        self.visits.push(Visit { node, view, is_member, ending: Ending::StillIn, events: Vec::new() });
    }

    fn open(&mut self, node: NodeId) -> Option<&mut Visit> {
        self.visits.iter_mut().find(|visit| visit.node == node && visit.ending == Ending::StillIn)
    }

    fn close(&mut self, node: NodeId, ending: Ending) {
        if let Some(visit) = self.open(node) {
            visit.ending = ending;
        }
    }

    fn take(&mut self, action: &Action, has_views: bool) {
        match action {
            Action::Sends(node, id, text) => self.sends(*node, *id, text),
            Action::SendsAndDelivers(node, id, text) => {
                self.sends(*node, *id, text);
                self.delivers(*node, *id, text);
            }
            Action::Delivers(node, id, text) => self.delivers(*node, *id, text),
            Action::Begins(node, view, state) => {
                let since = view.stay(*node).expect("only members begin a view").since;
                let goes_on = self.open(*node).is_some_and(|visit| since <= visit.view);
                self.close(*node, if goes_on { Ending::WentOn(view.epoch()) } else { Ending::Gone });
                self.visit(*node, view.epoch(), true);
                self.views.insert(view.epoch(), view.clone());
                self.states.entry(view.epoch()).or_default().insert(*state);
            }
            Action::IsOut(node) => self.close(*node, Ending::Gone),
            Action::Leaves(node) => self.close(*node, Ending::Left),
            Action::Crashes(node) => {
                self.close(*node, Ending::Gone);
                self.down.insert(*node);
            }
            Action::Boots(node, life) => {
                self.down.remove(node);
                self.lives.insert(*node, *life);
                if !has_views {
                    self.visit(*node, View::FIRST, false);
                }
            }
        }
    }

    fn sends(&mut self, node: NodeId, id: MessageId, text: &'static str) {
        self.sent.insert(id, text);
        self.open(node).expect("only members send").events.push(Event::Sent(id));
    }

    fn delivers(&mut self, node: NodeId, id: MessageId, text: &'static str) {
        let sent = self.sent.get(&id).copied();
        let Some(visit) = self.open(node).filter(|visit| visit.view == id.view) else {
            self.in_views = false;
            return;
        };
        if sent.is_none() || visit.delivered().contains(&id) {
            self.is_sound = false;
            return;
        }
        visit.events.push(Event::Delivered(id));
        self.is_sound &= sent == Some(text);
    }

    fn survives(&self, visit: &Visit) -> bool {
        let latest = self.views.values().next_back().filter(|latest| latest.epoch() > visit.view);
        let is_kept = latest.is_none_or(|latest| latest.stay(visit.node).is_some_and(|stay| stay.since <= visit.view));
        visit.is_member
            && match visit.ending {
                Ending::StillIn => is_kept,
                Ending::WentOn(_) => true,
                Ending::Gone | Ending::Left => false,
            }
    }

    /// Returns everything that happened before a message: what its sender had sent and delivered,
    /// and the causes of that.
    fn causes(&self, id: MessageId) -> BTreeSet<MessageId> {
        let visit = self.visits.iter().find(|visit| visit.sent().contains(&id)).expect("it was sent");
        let before = visit.events.iter().take_while(|event| **event != Event::Sent(id));
        let mut causes = BTreeSet::new();
        for event in before {
            let (Event::Sent(cause) | Event::Delivered(cause)) = *event;
            if causes.insert(cause) {
                causes.extend(self.causes(cause));
            }
        }
        causes
    }

    fn in_one_order(one: &Visit, other: &Visit) -> bool {
        let (ours, theirs) = (one.set(), other.set());
        let common = |visit: &Visit, set: &BTreeSet<MessageId>| -> Vec<_> {
            visit.delivered().into_iter().filter(|id| set.contains(id)).collect()
        };
        common(one, &theirs) == common(other, &ours)
    }

    fn pairs(&self) -> impl Iterator<Item = (&Visit, &Visit)> {
        let members = || self.visits.iter().filter(|visit| visit.is_member);
        members().flat_map(move |one| {
            members()
                .filter(move |other| one.view == other.view && one.node != other.node)
                .map(move |other| (one, other))
        })
    }

    pub(super) fn holds(&self, property: Property, promises: PropertySet) -> bool {
        match property {
            Property::Integrity => self.is_sound,
            Property::Agreement => self
                .pairs()
                .filter(|(one, other)| self.survives(one) && self.survives(other))
                .all(|(one, other)| one.set() == other.set()),
            Property::Validity => self
                .visits
                .iter()
                .filter(|visit| self.survives(visit))
                .all(|visit| visit.sent().iter().all(|id| visit.set().contains(id))),
            Property::Fifo => self.follows(|id, before| before.sender == id.sender && before.number < id.number),
            Property::Causal => self.follows(|id, before| self.causes(id).contains(&before)),
            Property::Total => self
                .pairs()
                .filter(|(one, other)| promises.uniform || (self.survives(one) && self.survives(other)))
                .all(|(one, other)| Self::in_one_order(one, other)),
            Property::Uniform => self
                .pairs()
                .filter(|(_, other)| self.survives(other))
                .all(|(one, other)| one.set().is_subset(&other.set())),
            Property::ViewSynchrony => {
                let together = |one: &Visit, other: &Visit| match one.ending {
                    Ending::WentOn(_) => one.ending == other.ending,
                    Ending::StillIn | Ending::Gone | Ending::Left => false,
                };
                self.in_views
                    && self.states.values().all(|states| states.len() == 1)
                    && self
                        .pairs()
                        .filter(|(one, other)| together(one, other))
                        .all(|(one, other)| one.set() == other.set())
            }
            Property::Delivered => self.is_all_delivered() && self.have_all_begun(),
        }
    }

    fn follows(&self, must_precede: impl Fn(MessageId, MessageId) -> bool) -> bool {
        self.visits.iter().filter(|visit| visit.is_member).all(|visit| {
            let delivered = visit.delivered();
            delivered.iter().enumerate().all(|(place, id)| {
                let mut sent = self.sent.keys().filter(|before| before.view == id.view && must_precede(*id, **before));
                sent.all(|before| delivered.iter().take(place).any(|earlier| earlier == before))
            })
        })
    }

    fn is_all_delivered(&self) -> bool {
        let senders = self.visits.iter().filter(|visit| self.survives(visit) || visit.ending == Ending::Left);
        senders.flat_map(Visit::sent).all(|id| {
            let mut receivers = self.visits.iter().filter(|visit| visit.view == id.view && self.survives(visit));
            receivers.all(|visit| visit.set().contains(&id))
        })
    }

    fn have_all_begun(&self) -> bool {
        let Some(latest) = self.views.values().next_back() else { return true };
        latest.stays().all(|(node, stay)| {
            let life = self.lives.get(&node).copied().unwrap_or(Incarnation::FIRST);
            let has_begun = self.visits.iter().any(|visit| visit.node == node && visit.view == latest.epoch());
            has_begun || self.down.contains(&node) || life != stay.incarnation
        })
    }
}
