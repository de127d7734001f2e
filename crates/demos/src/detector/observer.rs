//! Observes the true state of the nodes and the suspicions of their detectors.

use super::quality::Quality;
use super::reporter::DetectorEvent;
use quorate_core::{Never, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};

/// Compares each node's suspicions with the true state of the other nodes.
pub(super) struct QualityObserver {
    nodes: Vec<NodeStatus>,
    /// The opinion of each node about each other: one row per observing node.
    opinions: Vec<Opinion>,
    quality: Quality,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeStatus {
    NotStarted,
    Up(Time),
    Down(Time),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Opinion {
    suspects: Option<Time>,
    /// Whether the other node restarted since this opinion was formed, so that it concerns the
    /// former incarnation.
    is_outdated: bool,
}

impl QualityObserver {
    pub(super) fn new(nodes: usize) -> Self {
        let opinions = vec![Opinion::default(); nodes * nodes];
        Self { nodes: vec![NodeStatus::NotStarted; nodes], opinions, quality: Quality::default() }
    }

    /// Returns the quality. Crashes that were not noticed by now count as missed, and lasting
    /// mistakes end now.
    pub(super) fn finish(mut self, end: Time) -> Quality {
        let all = || (0..self.nodes.len()).map(NodeId::from_index);
        let (up, down): (Vec<_>, Vec<_>) = all().partition(|node| self.is_up(*node));
        for node in down {
            self.count_detections(node);
        }
        for node in up {
            self.node_stopped(end, node);
        }
        self.quality
    }

    fn is_up(&self, node: NodeId) -> bool {
        matches!(self.status(node), NodeStatus::Up(_))
    }

    fn status(&self, node: NodeId) -> NodeStatus {
        self.nodes.get(node.index()).copied().unwrap_or(NodeStatus::NotStarted)
    }

    fn set_status(&mut self, node: NodeId, status: NodeStatus) {
        if let Some(known) = self.nodes.get_mut(node.index()) {
            *known = status;
        }
    }

    fn others(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::from_index).filter(move |other| *other != node)
    }

    fn opinion(&mut self, by: NodeId, of: NodeId) -> &mut Opinion {
        let place = by.index() * self.nodes.len() + of.index();
        &mut self.opinions[place]
    }

    /// A node starts. It trusts every node, and the others' opinions about it are outdated.
    fn node_started(&mut self, time: Time, node: NodeId) {
        self.count_detections(node);
        let is_back = self.status(node) != NodeStatus::NotStarted;
        self.set_status(node, NodeStatus::Up(time));
        for other in self.others(node) {
            *self.opinion(node, other) = Opinion::default();
            self.opinion(other, node).is_outdated = is_back;
        }
    }

    /// A node crashes, or the run ends. Its mistakes end, and so do mistakes about it: suspicions
    /// of it become correct at once.
    fn node_stopped(&mut self, time: Time, node: NodeId) {
        let NodeStatus::Up(since) = self.status(node) else { return };
        self.quality.watched += time.since(since).nanos();
        self.set_status(node, NodeStatus::Down(time));
        for other in self.others(node) {
            let NodeStatus::Up(other_since) = self.status(other) else { continue };
            self.quality.pairs += 2 * u128::from(time.since(since.max(other_since)).nanos());
            for (by, of) in [(node, other), (other, node)] {
                self.end_mistake(time, by, of);
            }
            let opinion = self.opinion(other, node);
            opinion.suspects = opinion.suspects.map(|_| time);
            opinion.is_outdated = false;
        }
    }

    fn end_mistake(&mut self, time: Time, by: NodeId, of: NodeId) {
        if let Opinion { suspects: Some(since), is_outdated: false } = *self.opinion(by, of) {
            self.quality.err(time.since(since));
        }
    }

    /// A node restarts, or the run ends: counts which others had noticed its crash. Nodes that
    /// started after the crash do not count.
    fn count_detections(&mut self, node: NodeId) {
        let NodeStatus::Down(since) = self.status(node) else { return };
        for other in self.others(node) {
            if matches!(self.status(other), NodeStatus::Up(other_since) if other_since <= since) {
                match self.opinion(other, node).suspects {
                    Some(noticed) => self.quality.detect(noticed.since(since)),
                    None => self.quality.missed += 1,
                }
            }
        }
    }

    fn event_emitted(&mut self, time: Time, node: NodeId, event: DetectorEvent) {
        match event {
            DetectorEvent::Suspect(of) => {
                self.opinion(node, of).suspects.get_or_insert(time);
            }
            DetectorEvent::Trust(of) => {
                if self.is_up(of) {
                    self.end_mistake(time, node, of);
                }
                *self.opinion(node, of) = Opinion::default();
            }
        }
    }
}

impl Observer<Never, DetectorEvent> for QualityObserver {
    fn observe(&mut self, moment: &Moment<'_, Never, DetectorEvent>) {
        match moment {
            Moment::Input { time, node, input: ObservedInput::Start { .. }, .. } => self.node_started(*time, *node),
            Moment::World { time, event: WorldEvent::Crashed { node, .. } } => self.node_stopped(*time, *node),
            Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
                self.event_emitted(*time, *node, **event);
            }
            Moment::Input { .. } | Moment::World { .. } | Moment::Effect { .. } => {}
        }
    }
}
