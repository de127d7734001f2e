//! The properties, evaluated over a whole history as their definitions say: slow and simple.

use super::Action;
use quorate_core::multicast::MessageId;
use quorate_core::{Epoch, Incarnation, NodeId, View};
use quorate_lab::multicast::run::{Property, PropertySet};
use std::collections::{BTreeMap, BTreeSet};

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The node is still in the view.
    Ongoing,
    /// The node continued in this view.
    Continued(Epoch),
    /// The node crashed or was removed.
    Interrupted,
    /// The node left on request.
    Left,
}

/// The time that a node spends in one view.
#[derive(Debug)]
struct Visit {
    node: NodeId,
    view: Epoch,
    /// Whether the node is a member of the view. Without views, a restarted node is not.
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

    fn delivered_set(&self) -> BTreeSet<MessageId> {
        self.delivered().into_iter().collect()
    }
}

pub(super) struct History {
    visits: Vec<Visit>,
    /// The messages that were sent, with their payloads.
    sent: BTreeMap<MessageId, &'static str>,
    views: BTreeMap<Epoch, View>,
    incarnations: BTreeMap<NodeId, Incarnation>,
    down_nodes: BTreeSet<NodeId>,
    /// Whether each message that a node delivers in the message's view was sent before, is
    /// delivered there for the first time, and has the payload with which it was sent.
    has_integrity: bool,
    /// Whether every delivery is in the view of its message.
    delivers_in_views: bool,
    initial_states: BTreeMap<Epoch, BTreeSet<u64>>,
}

impl History {
    pub(super) fn from_actions(nodes: usize, has_views: bool, actions: &[Action]) -> Self {
        let mut history = Self {
            visits: Vec::new(),
            sent: BTreeMap::new(),
            views: BTreeMap::new(),
            incarnations: BTreeMap::new(),
            down_nodes: BTreeSet::new(),
            has_integrity: true,
            delivers_in_views: true,
            initial_states: BTreeMap::new(),
        };
        if !has_views {
            (0..nodes).for_each(|index| history.begin_visit(NodeId::from_index(index), View::FIRST, true));
        }
        for action in actions {
            history.apply(action, has_views);
        }
        history
    }

    fn begin_visit(&mut self, node: NodeId, view: Epoch, is_member: bool) {
        self.visits.push(Visit { node, view, is_member, ending: Ending::Ongoing, events: Vec::new() });
    }

    fn current_visit(&mut self, node: NodeId) -> Option<&mut Visit> {
        self.visits.iter_mut().find(|visit| visit.node == node && visit.ending == Ending::Ongoing)
    }

    fn end_visit(&mut self, node: NodeId, ending: Ending) {
        if let Some(visit) = self.current_visit(node) {
            visit.ending = ending;
        }
    }

    fn apply(&mut self, action: &Action, has_views: bool) {
        match action {
            Action::Sends(node, id, text) => self.record_send(*node, *id, text),
            Action::SendsAndDelivers(node, id, text) => {
                self.record_send(*node, *id, text);
                self.record_delivery(*node, *id, text);
            }
            Action::Delivers(node, id, text) => self.record_delivery(*node, *id, text),
            Action::Begins(node, view, state) => {
                let since = view.stay(*node).expect("only members begin a view").since;
                let continues = self.current_visit(*node).is_some_and(|visit| since <= visit.view);
                self.end_visit(*node, if continues { Ending::Continued(view.epoch()) } else { Ending::Interrupted });
                self.begin_visit(*node, view.epoch(), true);
                self.views.insert(view.epoch(), view.clone());
                self.initial_states.entry(view.epoch()).or_default().insert(*state);
            }
            Action::IsExcluded(node) => self.end_visit(*node, Ending::Interrupted),
            Action::Leaves(node) => self.end_visit(*node, Ending::Left),
            Action::Crashes(node) => {
                self.end_visit(*node, Ending::Interrupted);
                self.down_nodes.insert(*node);
            }
            Action::Restarts(node, incarnation) => {
                self.down_nodes.remove(node);
                self.incarnations.insert(*node, *incarnation);
                if !has_views {
                    self.begin_visit(*node, View::FIRST, false);
                }
            }
        }
    }

    fn record_send(&mut self, node: NodeId, id: MessageId, text: &'static str) {
        self.sent.insert(id, text);
        self.current_visit(node).expect("only members send").events.push(Event::Sent(id));
    }

    fn record_delivery(&mut self, node: NodeId, id: MessageId, text: &'static str) {
        let sent = self.sent.get(&id).copied();
        let Some(visit) = self.current_visit(node).filter(|visit| visit.view == id.view) else {
            self.delivers_in_views = false;
            return;
        };
        if sent.is_none() || visit.delivered().contains(&id) {
            self.has_integrity = false;
            return;
        }
        visit.events.push(Event::Delivered(id));
        self.has_integrity &= sent == Some(text);
    }

    /// Whether the node has the obligations of a member that neither crashed, left nor was removed.
    fn survives(&self, visit: &Visit) -> bool {
        let latest = self.views.values().next_back().filter(|latest| latest.epoch() > visit.view);
        let is_still_member =
            latest.is_none_or(|latest| latest.stay(visit.node).is_some_and(|stay| stay.since <= visit.view));
        visit.is_member
            && match visit.ending {
                Ending::Ongoing => is_still_member,
                Ending::Continued(_) => true,
                Ending::Interrupted | Ending::Left => false,
            }
    }

    /// Returns the messages that happened before a message: those that its sender had sent or
    /// delivered, and their causes.
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

    /// Whether both visits delivered their common messages in the same order.
    fn have_same_order(one: &Visit, other: &Visit) -> bool {
        let (set_of_one, set_of_other) = (one.delivered_set(), other.delivered_set());
        let common = |visit: &Visit, set: &BTreeSet<MessageId>| -> Vec<_> {
            visit.delivered().into_iter().filter(|id| set.contains(id)).collect()
        };
        common(one, &set_of_other) == common(other, &set_of_one)
    }

    /// Every two visits of members to the same view, in both orders.
    fn pairs(&self) -> impl Iterator<Item = (&Visit, &Visit)> {
        let members = || self.visits.iter().filter(|visit| visit.is_member);
        members().flat_map(move |one| {
            members()
                .filter(move |other| one.view == other.view && one.node != other.node)
                .map(move |other| (one, other))
        })
    }

    /// Whether the history satisfies a property. If uniformity is promised, the total order also
    /// binds nodes that crash.
    pub(super) fn holds(&self, property: Property, promises: PropertySet) -> bool {
        match property {
            Property::Integrity => self.has_integrity,
            Property::Agreement => self
                .pairs()
                .filter(|(one, other)| self.survives(one) && self.survives(other))
                .all(|(one, other)| one.delivered_set() == other.delivered_set()),
            Property::Validity => self
                .visits
                .iter()
                .filter(|visit| self.survives(visit))
                .all(|visit| visit.sent().iter().all(|id| visit.delivered_set().contains(id))),
            Property::Fifo => self.keeps_order(|id, before| before.sender == id.sender && before.number < id.number),
            Property::Causal => self.keeps_order(|id, before| self.causes(id).contains(&before)),
            Property::Total => self
                .pairs()
                .filter(|(one, other)| promises.uniform || (self.survives(one) && self.survives(other)))
                .all(|(one, other)| Self::have_same_order(one, other)),
            Property::Uniform => self
                .pairs()
                .filter(|(_, other)| self.survives(other))
                .all(|(one, other)| one.delivered_set().is_subset(&other.delivered_set())),
            Property::ViewSynchrony => {
                let move_together = |one: &Visit, other: &Visit| match one.ending {
                    Ending::Continued(_) => one.ending == other.ending,
                    Ending::Ongoing | Ending::Interrupted | Ending::Left => false,
                };
                self.delivers_in_views
                    && self.initial_states.values().all(|states| states.len() == 1)
                    && self
                        .pairs()
                        .filter(|(one, other)| move_together(one, other))
                        .all(|(one, other)| one.delivered_set() == other.delivered_set())
            }
            Property::Delivered => self.is_all_delivered() && self.has_every_member_begun(),
        }
    }

    /// Whether members deliver every message only after those that must precede it.
    fn keeps_order(&self, must_precede: impl Fn(MessageId, MessageId) -> bool) -> bool {
        self.visits.iter().filter(|visit| visit.is_member).all(|visit| {
            let delivered = visit.delivered();
            delivered.iter().enumerate().all(|(index, id)| {
                let is_required = |before: &&MessageId| before.view == id.view && must_precede(*id, **before);
                let mut required = self.sent.keys().filter(is_required);
                required.all(|before| delivered.iter().take(index).any(|earlier| earlier == before))
            })
        })
    }

    fn is_all_delivered(&self) -> bool {
        let senders = self.visits.iter().filter(|visit| self.survives(visit) || visit.ending == Ending::Left);
        senders.flat_map(Visit::sent).all(|id| {
            let mut receivers = self.visits.iter().filter(|visit| visit.view == id.view && self.survives(visit));
            receivers.all(|visit| visit.delivered_set().contains(&id))
        })
    }

    fn has_every_member_begun(&self) -> bool {
        let Some(latest) = self.views.values().next_back() else { return true };
        latest.stays().all(|(node, stay)| {
            let incarnation = self.incarnations.get(&node).copied().unwrap_or(Incarnation::FIRST);
            let has_begun = self.visits.iter().any(|visit| visit.node == node && visit.view == latest.epoch());
            has_begun || self.down_nodes.contains(&node) || incarnation != stay.incarnation
        })
    }
}
