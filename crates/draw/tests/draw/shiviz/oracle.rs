//! Happened-before computed with sets of events: slow, but obviously correct.

use quorate_core::NodeId;
use quorate_draw::Window;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers};
use std::collections::{BTreeMap, BTreeSet};

/// An event, by its line number.
type Number = usize;
/// All events that happened before an event.
type Past = BTreeSet<Number>;

/// Observes a script without wrappers. Each line is an event that depends on the node's earlier
/// events and on the message it receives.
pub(crate) struct Oracle {
    window: Window,
    nodes: BTreeMap<NodeId, Past>,
    world: Past,
    messages: BTreeMap<MessageId, Past>,
    lines: Vec<Line>,
}

/// A journal line.
struct Line {
    host: String,
    shown: bool,
    quiet: bool,
    past: Past,
}

impl Oracle {
    pub(crate) fn new(window: Window) -> Self {
        let (nodes, world, messages, lines) = Default::default();
        Self { window, nodes, world, messages, lines }
    }

    /// For each event in the log, returns its host and how many events of each host happened before
    /// it, itself included.
    pub(crate) fn expected(&self) -> Vec<(String, BTreeMap<String, u64>)> {
        let logged = |line: &&Line| line.shown && !line.quiet;
        let count = |line: &Line| {
            let mut counts = BTreeMap::new();
            for line in line.past.iter().filter_map(|number| self.lines.get(*number)).filter(logged) {
                *counts.entry(line.host.clone()).or_default() += 1;
            }
            counts
        };
        self.lines.iter().filter(logged).map(|line| (line.host.clone(), count(line))).collect()
    }

    fn line(&mut self, host: String, shown: bool, quiet: bool, mut past: Past) -> Past {
        past.insert(self.lines.len());
        self.lines.push(Line { host, shown, quiet, past: past.clone() });
        past
    }

    fn node(&mut self, node: NodeId, shown: bool, quiet: bool, received: Past) {
        let mut past = self.nodes.get(&node).cloned().unwrap_or_default();
        past.extend(received);
        let shown = shown && self.window.shows_node(node);
        let past = self.line(format!("n{node}"), shown, quiet, past);
        self.nodes.insert(node, past);
    }

    fn world(&mut self, shown: bool, received: Past) {
        let mut past = self.world.clone();
        past.extend(received);
        self.world = self.line("world".into(), shown, false, past);
    }

    fn sends(&mut self, node: NodeId, id: MessageId) {
        self.messages.insert(id, self.nodes.get(&node).cloned().unwrap_or_default());
    }
}

impl Observer<String, String> for Oracle {
    fn observe(&mut self, moment: &Moment<'_, String, String>) {
        let shown = self.window.shows(moment.time());
        match moment {
            Moment::Input { node, input, .. } => {
                let (quiet, received) = match input {
                    ObservedInput::Message { id, .. } => (false, self.messages.get(id).cloned().unwrap_or_default()),
                    ObservedInput::Start { incarnation, .. } => (incarnation.0 == 0, Past::new()),
                    ObservedInput::Timer(_) | ObservedInput::Saved(_) => (true, Past::new()),
                    _ => (false, Past::new()),
                };
                self.node(*node, shown, quiet, received);
            }
            Moment::Effect { node, effect, .. } => {
                let (ids, seen) = match effect {
                    ObservedEffect::Send { sent, .. } => (vec![sent.id], true),
                    ObservedEffect::Multicast { to, sent } => {
                        (receivers(to, sent.id).map(|(_, id)| id).collect(), true)
                    }
                    ObservedEffect::SetTimer { .. } => (Vec::new(), false),
                    _ => (Vec::new(), true),
                };
                ids.into_iter().for_each(|id| self.sends(*node, id));
                if let Some(line) = self.lines.last_mut().filter(|_| seen) {
                    line.quiet = false;
                }
            }
            Moment::World { event, .. } => match event {
                WorldEvent::Lost { id, to, .. } => {
                    let seen = self.window.shows_node(id.sender) || self.window.shows_node(*to);
                    if shown && seen {
                        let received = self.messages.get(id).cloned().unwrap_or_default();
                        self.world(true, received);
                    }
                }
                WorldEvent::Duplicated { id } => {
                    if shown && self.window.shows_node(id.sender) {
                        self.world(true, Past::new());
                    }
                }
                WorldEvent::Changed { .. } => {
                    if shown {
                        self.world(true, Past::new());
                    }
                }
                WorldEvent::Crashed { node, .. }
                | WorldEvent::Ended { node }
                | WorldEvent::Paused { node }
                | WorldEvent::Resumed { node } => self.node(*node, shown, false, Past::new()),
            },
        }
    }
}
