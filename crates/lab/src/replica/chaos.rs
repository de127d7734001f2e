//! Faults that replicas must tolerate, drawn by the seed.
//!
//! Every fault but clock drift ends, and no more nodes lose their disks than a minority of the
//! founders (the initial voters), so correct replicas eventually answer every request. Clock drift
//! stays within the bound that leases assume.

use quorate_core::{Duration, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{
    Chance, Cut, DiskTrouble, Fault, Latency, LinkChange, Links, NodeSet, Ppm, RestartDisk, Side, TimedFault,
    UnsyncedSaves,
};

/// The limits within which faults are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChaosLimits {
    pub(super) nodes: usize,
    pub(super) founders: usize,
    /// Faults begin within about this time from the start.
    pub(super) window: Duration,
    /// Whether an operator changes the members or transfers the leadership.
    pub(super) has_changes: bool,
    /// The tick of the replicas.
    pub(super) tick: Duration,
    /// Maximum drift of a clock.
    pub(super) drift_ppm: u32,
}

/// Makes these draws differ from those of other seed-chosen faults. Any constant would do.
const SEED_SALT: u64 = 0x05EE_D0FC_4A05;

/// The earliest time of a crash, because a crash at time zero takes effect before the nodes start.
const RIGHT_AFTER_START: Duration = Duration::from_nanos(1);

pub(super) fn draw(seed: u64, limits: ChaosLimits) -> Vec<TimedFault> {
    let mut drawer = FaultDrawer::new(seed ^ SEED_SALT, limits);
    drawer.draw_drift();
    drawer.draw_links();
    if drawer.rng.below(4) == 0 {
        // The first election is the most contested one, because all replicas start together.
        drawer.draw_restarts(RIGHT_AFTER_START);
    }
    // As many faults on average are aimed; see `aimed_faults.rs`.
    for _ in 0..2 + drawer.rng.below(5) {
        drawer.draw_one();
    }
    drawer.draw_disk_losses();
    drawer.faults
}

/// Draws faults from the seed.
pub(super) struct FaultDrawer {
    pub(super) limits: ChaosLimits,
    pub(super) rng: SeededRng,
    faults: Vec<TimedFault>,
}

impl FaultDrawer {
    pub(super) fn new(seed: u64, limits: ChaosLimits) -> Self {
        Self { limits, rng: SeededRng::new(seed, Stream::Faults), faults: Vec::new() }
    }

    fn draw_node(&mut self) -> NodeId {
        NodeId::from_index(self.rng.below(self.limits.nodes as u64) as usize)
    }

    pub(super) fn draw_time(&mut self) -> Duration {
        self.rng.between(RIGHT_AFTER_START, self.limits.window)
    }

    /// Some faults end before other nodes notice, some can last as long as an election, and some
    /// longer than several elections.
    pub(super) fn draw_duration(&mut self) -> Duration {
        let maximum = match self.rng.below(3) {
            0 => self.limits.tick.times(3),
            1 => self.limits.tick.times(30),
            _ => Duration::from_nanos(self.limits.window.nanos() / 4).max(self.limits.tick.times(40)),
        };
        self.rng.between(Duration::from_nanos(1), maximum)
    }

    fn push(&mut self, at: Duration, fault: Fault, duration: Duration) {
        let duration = fault.kind().can_last().then_some(duration);
        self.faults.push(TimedFault { at, fault, duration });
    }

    /// In about half of all seeds each clock has its own rate from the start, and changes it once.
    fn draw_drift(&mut self) {
        if self.limits.drift_ppm == 0 || self.rng.below(2) == 0 {
            return;
        }
        let bound = self.limits.drift_ppm;
        for index in 0..self.limits.nodes {
            for at in [Duration::ZERO, self.draw_time()] {
                let parts = i64::try_from(self.rng.below(2 * u64::from(bound) + 1)).unwrap_or(0) - i64::from(bound);
                if let Some(by) = i32::try_from(parts).ok().and_then(Ppm::new) {
                    self.push(at, Fault::Drift { node: NodeId::from_index(index), by }, Duration::ZERO);
                }
            }
        }
    }

    /// In about half of all seeds the links are bad during the whole window: they lose, duplicate
    /// or delay messages, including pieces of snapshots.
    fn draw_links(&mut self) {
        if self.limits.nodes < 2 || self.rng.below(2) > 0 {
            return;
        }
        let change = self.draw_link_change();
        let window = self.limits.window;
        let all_nodes = || Side::Nodes((0..self.limits.nodes).map(NodeId::from_index).collect());
        let links = Links::new(all_nodes(), all_nodes());
        self.push_links(links.ok(), change, Duration::ZERO, window);
    }

    fn draw_link_change(&mut self) -> LinkChange {
        let percent = |percent: u64| Chance::from_parts_per_billion((percent * 10_000_000) as u32).unwrap_or_default();
        match self.rng.below(4) {
            0 => LinkChange::Loss(percent(1 + self.rng.below(30))),
            1 => LinkChange::Duplicate(percent(1 + self.rng.below(50))),
            _ => LinkChange::Latency(Latency::LongTail { median: self.limits.tick }),
        }
    }

    fn push_links(&mut self, links: Option<Links>, change: LinkChange, at: Duration, duration: Duration) {
        if let Some(links) = links {
            self.push(at, Fault::Link { links, change }, duration);
        }
    }

    /// Draws a fault, or several crashes. Kinds that have several of the 13 numbers are more likely
    /// than others.
    fn draw_one(&mut self) {
        let (at, duration) = (self.draw_time(), self.draw_duration());
        let node = self.draw_node();
        match self.rng.below(13) {
            0 => self.push(at, Fault::Crash { node, unsynced: UnsyncedSaves::Lost }, duration),
            1 | 2 => self.push(at, Fault::Crash { node, unsynced: UnsyncedSaves::Torn }, duration),
            3 => self.push(at, Fault::Disk { node, trouble: DiskTrouble::Full }, duration),
            4 => self.push(at, Fault::Disk { node, trouble: DiskTrouble::Fails }, duration),
            5 | 6 => self.push(at, Fault::Pause { node }, duration),
            7 => self.draw_outage(at),
            8 => self.draw_restarts(at),
            9 if self.limits.nodes > 1 => {
                let change = self.draw_link_change();
                let only_node = Side::Nodes([node].into_iter().collect());
                let [from, to] = if self.rng.below(2) == 0 { [only_node, Side::Rest] } else { [Side::Rest, only_node] };
                self.push_links(Links::new(from, to).ok(), change, at, duration);
            }
            _ => {
                if let Some(cut) = self.draw_cut(node) {
                    self.push(at, Fault::Cut(cut), duration);
                }
            }
        }
    }

    /// All nodes crash within one tick. Either each of them has its own downtime, or all have the
    /// same one and random nodes crash again after it.
    fn draw_outage(&mut self, at: Duration) {
        let common_duration = (self.rng.below(2) == 0).then(|| self.draw_duration());
        if let Some(duration) = common_duration {
            self.draw_restarts(at + duration);
        }
        for index in 0..self.limits.nodes {
            let unsynced = if self.rng.below(2) == 0 { UnsyncedSaves::Lost } else { UnsyncedSaves::Torn };
            let delay = self.rng.between(Duration::ZERO, self.limits.tick);
            let duration = common_duration.unwrap_or_else(|| self.draw_duration());
            self.push(at + delay, Fault::Crash { node: NodeId::from_index(index), unsynced }, duration);
        }
    }

    /// Random nodes crash 5 to 19 times in total, often during an election, and restart quickly.
    fn draw_restarts(&mut self, at: Duration) {
        for _ in 0..5 + self.rng.below(15) {
            let at = at + self.rng.between(Duration::ZERO, self.limits.tick.times(40));
            let duration = self.rng.between(Duration::from_nanos(1), self.limits.tick);
            let node = self.draw_node();
            self.push(at, Fault::Crash { node, unsynced: UnsyncedSaves::Torn }, duration);
        }
    }

    /// A partition in two, an isolated node, a node that cannot send or cannot receive, or two
    /// nodes that cannot communicate with each other (in one direction or both), only with others.
    fn draw_cut(&mut self, node: NodeId) -> Option<Cut> {
        let nodes = self.limits.nodes;
        if nodes < 2 {
            return None;
        }
        let side = |nodes: &[NodeId]| Side::Nodes(nodes.iter().copied().collect::<NodeSet>());
        let other = NodeId::from_index((node.index() + 1 + self.rng.below(nodes as u64 - 1) as usize) % nodes);
        let only_node = side(&[node]);
        match self.rng.below(6) {
            0 => {
                let some_nodes: Vec<_> =
                    (0..nodes).map(NodeId::from_index).filter(|_| self.rng.below(2) == 0).collect();
                let some_nodes =
                    if some_nodes.is_empty() || some_nodes.len() == nodes { vec![node] } else { some_nodes };
                Cut::between(vec![side(&some_nodes), Side::Rest]).ok()
            }
            1 => Cut::between(vec![only_node, Side::Rest]).ok(),
            2 => Cut::one_way(only_node, Side::Rest).ok(),
            3 => Cut::one_way(Side::Rest, only_node).ok(),
            4 => Cut::one_way(only_node, side(&[other])).ok(),
            _ => Cut::between(vec![only_node, side(&[other])]).ok(),
        }
    }

    /// Some nodes lose their disks: no more in total than a minority of the founders.
    fn draw_disk_losses(&mut self) {
        let maximum = (self.limits.founders.saturating_sub(1) / 2) as u64;
        let mut candidates: Vec<_> = (0..self.limits.nodes).map(NodeId::from_index).collect();
        for _ in 0..self.rng.below(maximum + 1) {
            let node = candidates.swap_remove(self.rng.below(candidates.len() as u64) as usize);
            let (at, downtime) = (self.draw_time(), self.draw_duration());
            self.faults.push(TimedFault {
                at,
                fault: Fault::Crash { node, unsynced: UnsyncedSaves::Lost },
                duration: None,
            });
            self.faults.push(TimedFault {
                at: at + downtime,
                fault: Fault::Restart { node, disk: RestartDisk::Blank },
                duration: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ChaosLimits, draw};
    use quorate_core::Duration;
    use quorate_journal::settings::{Fault, RestartDisk};
    use std::collections::BTreeSet;

    fn limits(nodes: usize, founders: usize) -> ChaosLimits {
        let tick = Duration::from_millis(10);
        ChaosLimits { nodes, founders, window: tick.times(200), has_changes: true, tick, drift_ppm: 500 }
    }

    /// No fault but clock drift is permanent, and no more disks are lost than the group tolerates.
    #[test]
    fn every_fault_ends_and_a_majority_keeps_its_disks() {
        for (nodes, founders, maximum) in [(1, 1, 0), (3, 3, 1), (5, 3, 1), (5, 5, 2), (7, 5, 2)] {
            for seed in 0..300 {
                let faults = draw(seed, limits(nodes, founders));
                let restarts = |node| {
                    faults
                        .iter()
                        .any(|timed| matches!(timed.fault, Fault::Restart { node: other, .. } if other == node))
                };
                let mut nodes_without_disk = BTreeSet::new();
                for timed in &faults {
                    timed.validate(nodes).unwrap_or_else(|error| panic!("{timed}: {error}"));
                    match &timed.fault {
                        Fault::Restart { node, disk: RestartDisk::Blank } => {
                            nodes_without_disk.insert(*node);
                        }
                        Fault::Crash { node, .. } if timed.duration.is_none() => assert!(restarts(*node), "{timed}"),
                        Fault::Drift { by, .. } => assert!(by.parts().abs() <= 500, "{timed}"),
                        _ => assert!(timed.duration.is_some(), "{timed}"),
                    }
                }
                assert!(nodes_without_disk.len() <= maximum, "seed {seed} of {nodes}: {nodes_without_disk:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_fault_is_drawn_by_some_seed() {
        let drawn = (0..300).flat_map(|seed| draw(seed, limits(3, 3)));
        let texts: BTreeSet<String> = drawn.map(|timed| timed.fault.to_string()).collect();
        let kinds =
            ["crash 1", "crash 1 torn", "restart 2 blank", "disk 3 full", "disk 3 fails", "pause 2", "drift 1 by"];
        let cuts = ["cut 1 | rest", "cut 1 > rest", "cut rest > 1", "cut 1 > 2", "cut 1 | 2"];
        let links = [
            "link 1-3 > 1-3 loss",
            "link 1-3 > 1-3 duplicate",
            "link 1-3 > 1-3 latency",
            "link 2 > rest",
            "link rest > 2",
        ];
        for kind in kinds.into_iter().chain(cuts).chain(links) {
            assert!(texts.iter().any(|text| text.starts_with(kind)), "no {kind} in 300 seeds");
        }
    }
}
