//! Happened-before computed with sets of events: slow, but obviously correct.

use quorate_core::NodeId;
use quorate_draw::Window;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers};
use std::collections::{BTreeMap, BTreeSet};

/// The index of an event in `events`.
type EventIndex = usize;
/// All events that happened before an event, and the event itself.
type Past = BTreeSet<EventIndex>;

/// Observes a script without frames. An event of a node depends on the node's earlier events and on
/// the message it receives.
pub(crate) struct HappenedBeforeModel {
    window: Window,
    /// The past of each node's last event.
    node_pasts: BTreeMap<NodeId, Past>,
    /// The past of the last event of `world`, the host of events that belong to no node. An event
    /// of `world` that the log omits is not in `events`, so nothing depends on it.
    world_past: Past,
    /// The past of the sender of each message when it was sent.
    message_pasts: BTreeMap<MessageId, Past>,
    events: Vec<Event>,
}

/// A step or another event of the script.
struct Event {
    host: String,
    /// Whether the event is in the window and its node is shown.
    is_shown: bool,
    /// Whether the log omits the step, because it is a first start, a timer or a completed save and
    /// has no visible effect.
    is_quiet: bool,
    past: Past,
}

impl HappenedBeforeModel {
    pub(crate) fn new(window: Window) -> Self {
        let (node_pasts, world_past, message_pasts, events) = Default::default();
        Self { window, node_pasts, world_past, message_pasts, events }
    }

    /// For each event in the log, returns its host and how many events of each host in the log
    /// happened before it, itself included.
    pub(crate) fn expected_clocks(&self) -> Vec<(String, BTreeMap<String, u64>)> {
        let is_logged = |event: &&Event| event.is_shown && !event.is_quiet;
        let count = |event: &Event| {
            let mut counts = BTreeMap::new();
            for earlier in event.past.iter().filter_map(|index| self.events.get(*index)).filter(is_logged) {
                *counts.entry(earlier.host.clone()).or_default() += 1;
            }
            counts
        };
        self.events.iter().filter(is_logged).map(|event| (event.host.clone(), count(event))).collect()
    }

    /// Adds an event after the events in `past`. Returns them with the new event.
    fn add_event(&mut self, host: String, is_shown: bool, is_quiet: bool, mut past: Past) -> Past {
        past.insert(self.events.len());
        self.events.push(Event { host, is_shown, is_quiet, past: past.clone() });
        past
    }

    fn add_node_event(&mut self, node: NodeId, is_in_window: bool, is_quiet: bool, received: Past) {
        let mut past = self.node_pasts.get(&node).cloned().unwrap_or_default();
        past.extend(received);
        let is_shown = is_in_window && self.window.shows_node(node);
        let past = self.add_event(format!("n{node}"), is_shown, is_quiet, past);
        self.node_pasts.insert(node, past);
    }

    /// Adds an event of `world`, which depends on the earlier ones and on the events in `received`.
    fn add_world_event(&mut self, received: Past) {
        let mut past = self.world_past.clone();
        past.extend(received);
        let (is_shown, is_quiet) = (true, false);
        self.world_past = self.add_event("world".into(), is_shown, is_quiet, past);
    }

    fn record_send(&mut self, node: NodeId, id: MessageId) {
        self.message_pasts.insert(id, self.node_pasts.get(&node).cloned().unwrap_or_default());
    }
}

impl Observer<String, String> for HappenedBeforeModel {
    fn observe(&mut self, moment: &Moment<'_, String, String>) {
        let is_in_window = self.window.shows(moment.time());
        match moment {
            Moment::Input { node, input, .. } => {
                let (is_quiet, received) = match input {
                    ObservedInput::Message { id, .. } => {
                        (false, self.message_pasts.get(id).cloned().unwrap_or_default())
                    }
                    ObservedInput::Start { incarnation, .. } => (incarnation.0 == 0, Past::new()),
                    ObservedInput::Timer(_) | ObservedInput::Saved(_) | ObservedInput::EndOfTurn => (true, Past::new()),
                    _ => (false, Past::new()),
                };
                self.add_node_event(*node, is_in_window, is_quiet, received);
            }
            Moment::Effect { node, effect, .. } => {
                let (ids, is_visible) = match effect {
                    ObservedEffect::Send { sent, .. } => (vec![sent.id], true),
                    ObservedEffect::Multicast { to, sent } => {
                        (receivers(to, sent.id).map(|(_, id)| id).collect(), true)
                    }
                    // Scripts without frames have no other invisible effect.
                    ObservedEffect::SetTimer { .. } => (Vec::new(), false),
                    _ => (Vec::new(), true),
                };
                ids.into_iter().for_each(|id| self.record_send(*node, id));
                if let Some(event) = self.events.last_mut().filter(|_| is_visible) {
                    event.is_quiet = false;
                }
            }
            Moment::World { event, .. } => match event {
                WorldEvent::Lost { id, to, .. } => {
                    let has_shown_end = self.window.shows_node(id.sender) || self.window.shows_node(*to);
                    if is_in_window && has_shown_end {
                        let received = self.message_pasts.get(id).cloned().unwrap_or_default();
                        self.add_world_event(received);
                    }
                }
                WorldEvent::Duplicated { id } => {
                    if is_in_window && self.window.shows_node(id.sender) {
                        self.add_world_event(Past::new());
                    }
                }
                WorldEvent::Changed { .. } => {
                    if is_in_window {
                        self.add_world_event(Past::new());
                    }
                }
                WorldEvent::Crashed { node, .. }
                | WorldEvent::Ended { node }
                | WorldEvent::Paused { node }
                | WorldEvent::Resumed { node } => {
                    let is_quiet = false;
                    self.add_node_event(*node, is_in_window, is_quiet, Past::new());
                }
            },
        }
    }
}
