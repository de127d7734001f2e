//! Observes the true state of the nodes and the suspicions of their detectors.

use super::quality::Quality;
use super::reporter::DetectorEvent;
use quorate_core::{Never, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};

/// Compares each node's suspicions with the true state of the other nodes.
pub(super) struct QualityObserver {
    nodes: Vec<NodeStatus>,
    /// The opinion of each node about each other: one row per observing node, one column per
    /// observed node.
    opinions: Vec<Opinion>,
    quality: Quality,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeStatus {
    NotStarted,
    /// Up since this time.
    Up(Time),
    /// Down since this time.
    Down(Time),
}

/// The opinion of one node about another: trust, or suspicion since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Opinion {
    /// `None` if it trusts the other node.
    suspected_since: Option<Time>,
    /// Whether the other node has restarted, and the opinion still concerns its former
    /// incarnation. A detector that learns of the new one reports that it trusts the node.
    is_outdated: bool,
}

impl QualityObserver {
    pub(super) fn new(nodes: usize) -> Self {
        let opinions = vec![Opinion::default(); nodes * nodes];
        Self { nodes: vec![NodeStatus::NotStarted; nodes], opinions, quality: Quality::default() }
    }

    /// Returns the quality of a run that ends at `end`. Crashes that were not detected by then
    /// count as missed, and mistakes that last until then end.
    pub(super) fn into_quality(mut self, end: Time) -> Quality {
        let node_ids = || (0..self.nodes.len()).map(NodeId::from_index);
        let (up, down): (Vec<_>, Vec<_>) = node_ids().partition(|node| self.is_up(*node));
        for node in down {
            self.count_detections(node);
        }
        for node in up {
            self.record_stop(end, node);
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
        if let Some(current) = self.nodes.get_mut(node.index()) {
            *current = status;
        }
    }

    fn others(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::from_index).filter(move |other| *other != node)
    }

    fn opinion_mut(&mut self, observing: NodeId, observed: NodeId) -> &mut Opinion {
        let index = observing.index() * self.nodes.len() + observed.index();
        &mut self.opinions[index]
    }

    /// A node starts. It trusts every node. If it restarts, the others' opinions about it are
    /// outdated.
    fn record_start(&mut self, time: Time, node: NodeId) {
        self.count_detections(node);
        let is_restart = self.status(node) != NodeStatus::NotStarted;
        self.set_status(node, NodeStatus::Up(time));
        for other in self.others(node) {
            *self.opinion_mut(node, other) = Opinion::default();
            self.opinion_mut(other, node).is_outdated = is_restart;
        }
    }

    /// A node crashes, or the run ends. Its mistakes end, and so do mistakes about it: suspicions
    /// of a crashed node are correct.
    fn record_stop(&mut self, time: Time, node: NodeId) {
        let NodeStatus::Up(up_since) = self.status(node) else { return };
        self.quality.uptime_nanos += time.since(up_since).nanos();
        self.set_status(node, NodeStatus::Down(time));
        for other in self.others(node) {
            let NodeStatus::Up(other_up_since) = self.status(other) else { continue };
            // Twice, because each of the two observes the other.
            self.quality.pair_uptime_nanos += 2 * u128::from(time.since(up_since.max(other_up_since)).nanos());
            for (observing, observed) in [(node, other), (other, node)] {
                self.end_mistake(time, observing, observed);
            }
            // A suspicion that exists already detects the crash at once.
            let opinion = self.opinion_mut(other, node);
            opinion.suspected_since = opinion.suspected_since.map(|_| time);
            opinion.is_outdated = false;
        }
    }

    /// If `observing` suspects the current incarnation of `observed`, this mistake ends now.
    fn end_mistake(&mut self, time: Time, observing: NodeId, observed: NodeId) {
        if let Opinion { suspected_since: Some(since), is_outdated: false } = *self.opinion_mut(observing, observed) {
            self.quality.record_mistake(time.since(since));
        }
    }

    /// A node restarts, or the run ends: counts the other nodes that had detected its crash, and
    /// those that had missed it. Nodes that have not been up ever since the crash do not count.
    fn count_detections(&mut self, node: NodeId) {
        let NodeStatus::Down(crashed_at) = self.status(node) else { return };
        for other in self.others(node) {
            if matches!(self.status(other), NodeStatus::Up(up_since) if up_since <= crashed_at) {
                match self.opinion_mut(other, node).suspected_since {
                    Some(suspected_at) => self.quality.record_detection(suspected_at.since(crashed_at)),
                    None => self.quality.missed += 1,
                }
            }
        }
    }

    fn record_event(&mut self, time: Time, node: NodeId, event: DetectorEvent) {
        match event {
            DetectorEvent::Suspect(peer) => {
                self.opinion_mut(node, peer).suspected_since.get_or_insert(time);
            }
            DetectorEvent::Trust(peer) => {
                if self.is_up(peer) {
                    self.end_mistake(time, node, peer);
                }
                *self.opinion_mut(node, peer) = Opinion::default();
            }
        }
    }
}

impl Observer<Never, DetectorEvent> for QualityObserver {
    fn observe(&mut self, moment: &Moment<'_, Never, DetectorEvent>) {
        match moment {
            Moment::Input { time, node, input: ObservedInput::Start { .. }, .. } => self.record_start(*time, *node),
            Moment::World { time, event: WorldEvent::Crashed { node, .. } } => self.record_stop(*time, *node),
            Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
                self.record_event(*time, *node, **event);
            }
            Moment::Input { .. } | Moment::World { .. } | Moment::Effect { .. } => {}
        }
    }
}
