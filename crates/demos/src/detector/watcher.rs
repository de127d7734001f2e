//! Sees what is true and what detectors say of it.

use super::quality::Quality;
use super::sentry::Heard;
use quorate_core::{Never, NodeId, Time};
use quorate_journal::moment::{Done, Happening, Moment, Observer, Taken};

/// Compares what each node is told of each other with what is true.
pub(super) struct Watcher {
    nodes: Vec<Life>,
    /// What each node thinks of each other: row by row, by who thinks.
    opinions: Vec<Opinion>,
    quality: Quality,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Unborn,
    Up(Time),
    Down(Time),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Opinion {
    suspects: Option<Time>,
    /// It has heard nothing of the other since that one is back: what it thinks is about the life before.
    is_outdated: bool,
}

impl Watcher {
    pub(super) fn new(nodes: usize) -> Self {
        let opinions = vec![Opinion::default(); nodes * nodes];
        Self { nodes: vec![Life::Unborn; nodes], opinions, quality: Quality::default() }
    }

    /// What it all came to. Crashes that nobody has noticed by now were missed, and mistakes that last are over.
    pub(super) fn finish(mut self, end: Time) -> Quality {
        let all = || (0..self.nodes.len()).map(NodeId::from_index);
        let (up, down): (Vec<_>, Vec<_>) = all().partition(|node| self.is_up(*node));
        for node in down {
            self.judge(node);
        }
        for node in up {
            self.falls(end, node);
        }
        self.quality
    }

    fn is_up(&self, node: NodeId) -> bool {
        matches!(self.life(node), Life::Up(_))
    }

    fn life(&self, node: NodeId) -> Life {
        self.nodes.get(node.index()).copied().unwrap_or(Life::Unborn)
    }

    fn live(&mut self, node: NodeId, life: Life) {
        if let Some(known) = self.nodes.get_mut(node.index()) {
            *known = life;
        }
    }

    fn others(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::from_index).filter(move |other| *other != node)
    }

    fn opinion(&mut self, by: NodeId, of: NodeId) -> &mut Opinion {
        let place = by.index() * self.nodes.len() + of.index();
        &mut self.opinions[place]
    }

    /// A node boots. It trusts everyone, and the others have yet to hear of it.
    fn rises(&mut self, time: Time, node: NodeId) {
        self.judge(node);
        let is_back = self.life(node) != Life::Unborn;
        self.live(node, Life::Up(time));
        for other in self.others(node) {
            *self.opinion(node, other) = Opinion::default();
            self.opinion(other, node).is_outdated = is_back;
        }
    }

    /// A node dies, or the run is over. Its mistakes end, and so do mistakes about it: whoever took it for dead is right at once.
    fn falls(&mut self, time: Time, node: NodeId) {
        let Life::Up(since) = self.life(node) else { return };
        self.quality.watched += time.since(since).nanos();
        self.live(node, Life::Down(time));
        for other in self.others(node) {
            let Life::Up(other_since) = self.life(other) else { continue };
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

    /// A node that was down is back, or the run is over: whether the others had noticed. Who booted in the meantime had nothing to notice.
    fn judge(&mut self, node: NodeId) {
        let Life::Down(since) = self.life(node) else { return };
        for other in self.others(node) {
            if matches!(self.life(other), Life::Up(other_since) if other_since <= since) {
                match self.opinion(other, node).suspects {
                    Some(noticed) => self.quality.detect(noticed.since(since)),
                    None => self.quality.missed += 1,
                }
            }
        }
    }

    fn hears(&mut self, time: Time, node: NodeId, heard: Heard) {
        match heard {
            Heard::Suspect(of) => {
                self.opinion(node, of).suspects.get_or_insert(time);
            }
            Heard::Trust(of) => {
                if self.is_up(of) {
                    self.end_mistake(time, node, of);
                }
                *self.opinion(node, of) = Opinion::default();
            }
        }
    }
}

impl Observer<Never, Heard> for Watcher {
    fn observe(&mut self, moment: &Moment<'_, Never, Heard>) {
        match moment {
            Moment::Input { time, node, input: Taken::Start { .. }, .. } => self.rises(*time, *node),
            Moment::World { time, what: Happening::Crashed { node, .. } } => self.falls(*time, *node),
            Moment::Effect { time, node, effect: Done::Emit(heard) } => self.hears(*time, *node, **heard),
            Moment::Input { .. } | Moment::World { .. } | Moment::Effect { .. } => {}
        }
    }
}
