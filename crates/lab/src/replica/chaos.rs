//! Everything that can go wrong with replicas, drawn by the seed.
//!
//! Every fault ends, and no more disks are lost than a minority of the founders, so that a correct replica answers
//! everybody in the end. Clocks drift within what leases are told to expect.

use quorate_core::{Duration, NodeId};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::{
    Chance, Cut, Disk, DiskTrouble, Fault, Latency, LinkChange, Links, NodeSet, Ppm, Side, TimedFault, Unsynced,
};

#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub(super) nodes: usize,
    pub(super) founders: usize,
    pub(super) window: Duration,
    pub(super) tick: Duration,
    /// How far clocks may be off, in millionths.
    pub(super) drift: u32,
}

const SALT: u64 = 0x05EE_D0FC_4A05;

pub(super) fn draw(seed: u64, stage: Stage) -> Vec<TimedFault> {
    let mut chaos = Chaos { stage, dice: Dice::new(seed ^ SALT, Stream::Faults), faults: Vec::new() };
    chaos.draw_drift();
    chaos.draw_links();
    if chaos.dice.below(4) == 0 {
        // The first election is the most contested one: everybody began at once.
        chaos.draw_storm(Duration::from_nanos(1));
    }
    for _ in 0..4 + chaos.dice.below(9) {
        chaos.draw_one();
    }
    chaos.draw_wipes();
    chaos.faults
}

struct Chaos {
    stage: Stage,
    dice: Dice,
    faults: Vec<TimedFault>,
}

impl Chaos {
    fn node(&mut self) -> NodeId {
        NodeId::from_index(self.dice.below(self.stage.nodes as u64) as usize)
    }

    fn at(&mut self) -> Duration {
        self.dice.between(Duration::from_nanos(1), self.stage.window)
    }

    /// Some faults are over before anybody is missed, some last about as long as an election, some longer than several.
    fn length(&mut self) -> Duration {
        let most = match self.dice.below(3) {
            0 => self.stage.tick.times(3),
            1 => self.stage.tick.times(30),
            _ => Duration::from_nanos(self.stage.window.nanos() / 4).max(self.stage.tick.times(40)),
        };
        self.dice.between(Duration::from_nanos(1), most)
    }

    fn put(&mut self, at: Duration, fault: Fault, lasts: Duration) {
        let lasts = fault.kind().can_last().then_some(lasts);
        self.faults.push(TimedFault { at, fault, lasts });
    }

    /// In half of all seeds each clock runs at its own rate from the start, and changes it now and then.
    fn draw_drift(&mut self) {
        if self.stage.drift == 0 || self.dice.below(2) == 0 {
            return;
        }
        let bound = self.stage.drift;
        for index in 0..self.stage.nodes {
            for at in [Duration::ZERO, self.at()] {
                let parts = i64::try_from(self.dice.below(2 * u64::from(bound) + 1)).unwrap_or(0) - i64::from(bound);
                if let Some(by) = i32::try_from(parts).ok().and_then(Ppm::new) {
                    self.put(at, Fault::Drift { node: NodeId::from_index(index), by }, Duration::ZERO);
                }
            }
        }
    }

    /// In half of all seeds the links are bad for most of the time: they lose, repeat or delay anything, the pieces of
    /// snapshots among it.
    fn draw_links(&mut self) {
        if self.stage.nodes < 2 || self.dice.below(2) > 0 {
            return;
        }
        let change = self.link_change();
        let window = self.stage.window;
        let everyone = || Side::Nodes((0..self.stage.nodes).map(NodeId::from_index).collect());
        let links = Links::new(everyone(), everyone());
        self.put_links(links.ok(), change, Duration::ZERO, window);
    }

    fn link_change(&mut self) -> LinkChange {
        let percent = |percent: u64| Chance::from_parts_per_billion((percent * 10_000_000) as u32).unwrap_or_default();
        match self.dice.below(4) {
            0 => LinkChange::Loss(percent(1 + self.dice.below(30))),
            1 => LinkChange::Duplicate(percent(1 + self.dice.below(50))),
            _ => LinkChange::Latency(Latency::LongTail { median: self.stage.tick }),
        }
    }

    fn put_links(&mut self, links: Option<Links>, change: LinkChange, at: Duration, lasts: Duration) {
        if let Some(links) = links {
            self.put(at, Fault::Link { links, change }, lasts);
        }
    }

    fn draw_one(&mut self) {
        let (at, lasts) = (self.at(), self.length());
        let node = self.node();
        match self.dice.below(13) {
            0 => self.put(at, Fault::Crash { node, unsynced: Unsynced::Lost }, lasts),
            1 | 2 => self.put(at, Fault::Crash { node, unsynced: Unsynced::Torn }, lasts),
            3 => self.put(at, Fault::Disk { node, trouble: DiskTrouble::Full }, lasts),
            4 => self.put(at, Fault::Disk { node, trouble: DiskTrouble::Fails }, lasts),
            5 | 6 => self.put(at, Fault::Pause { node }, lasts),
            7 => self.draw_outage(at),
            8 => self.draw_storm(at),
            9 if self.stage.nodes > 1 => {
                let change = self.link_change();
                let alone = Side::Nodes([node].into_iter().collect());
                let [from, to] = if self.dice.below(2) == 0 { [alone, Side::Rest] } else { [Side::Rest, alone] };
                self.put_links(Links::new(from, to).ok(), change, at, lasts);
            }
            _ => {
                if let Some(cut) = self.cut(node) {
                    self.put(at, Fault::Cut(cut), lasts);
                }
            }
        }
    }

    /// Everybody is down at once, or nearly so, and comes back one by one, or all together and into a storm.
    fn draw_outage(&mut self, at: Duration) {
        let together = (self.dice.below(2) == 0).then(|| self.length());
        if let Some(lasts) = together {
            self.draw_storm(at + lasts);
        }
        for index in 0..self.stage.nodes {
            let unsynced = if self.dice.below(2) == 0 { Unsynced::Lost } else { Unsynced::Torn };
            let delay = self.dice.between(Duration::ZERO, self.stage.tick);
            let lasts = together.unwrap_or_else(|| self.length());
            self.put(at + delay, Fault::Crash { node: NodeId::from_index(index), unsynced }, lasts);
        }
    }

    /// One after the other goes down and is back at once, often in the middle of an election.
    fn draw_storm(&mut self, at: Duration) {
        for _ in 0..5 + self.dice.below(15) {
            let at = at + self.dice.between(Duration::ZERO, self.stage.tick.times(40));
            let lasts = self.dice.between(Duration::from_nanos(1), self.stage.tick);
            let node = self.node();
            self.put(at, Fault::Crash { node, unsynced: Unsynced::Torn }, lasts);
        }
    }

    /// A split, a node alone, a node that nobody hears or that hears nobody, or two that cannot talk to each other while
    /// all others talk to both.
    fn cut(&mut self, node: NodeId) -> Option<Cut> {
        let nodes = self.stage.nodes;
        if nodes < 2 {
            return None;
        }
        let side = |nodes: &[NodeId]| Side::Nodes(nodes.iter().copied().collect::<NodeSet>());
        let other = NodeId::from_index((node.index() + 1 + self.dice.below(nodes as u64 - 1) as usize) % nodes);
        let alone = side(&[node]);
        match self.dice.below(6) {
            0 => {
                let some: Vec<_> = (0..nodes).map(NodeId::from_index).filter(|_| self.dice.below(2) == 0).collect();
                let some = if some.is_empty() || some.len() == nodes { vec![node] } else { some };
                Cut::between(vec![side(&some), Side::Rest]).ok()
            }
            1 => Cut::between(vec![alone, Side::Rest]).ok(),
            2 => Cut::one_way(alone, Side::Rest).ok(),
            3 => Cut::one_way(Side::Rest, alone).ok(),
            4 => Cut::one_way(alone, side(&[other])).ok(),
            _ => Cut::between(vec![alone, side(&[other])]).ok(),
        }
    }

    /// Some nodes lose their disks, at most a minority of the founders in all.
    fn draw_wipes(&mut self) {
        let most = (self.stage.founders.saturating_sub(1) / 2) as u64;
        let mut left: Vec<_> = (0..self.stage.nodes).map(NodeId::from_index).collect();
        for _ in 0..self.dice.below(most + 1) {
            let node = left.swap_remove(self.dice.below(left.len() as u64) as usize);
            let (at, down) = (self.at(), self.length());
            self.faults.push(TimedFault { at, fault: Fault::Crash { node, unsynced: Unsynced::Lost }, lasts: None });
            self.faults.push(TimedFault {
                at: at + down,
                fault: Fault::Restart { node, disk: Disk::Blank },
                lasts: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, draw};
    use quorate_core::Duration;
    use quorate_journal::settings::{Disk, Fault};
    use std::collections::BTreeSet;

    fn stage(nodes: usize, founders: usize) -> Stage {
        let tick = Duration::from_millis(10);
        Stage { nodes, founders, window: tick.times(200), tick, drift: 500 }
    }

    /// Nothing is broken for good, and no more disks are lost than the group can do without.
    #[test]
    fn everything_ends_and_a_majority_keeps_its_disks() {
        for (nodes, founders, most) in [(1, 1, 0), (3, 3, 1), (5, 3, 1), (5, 5, 2), (7, 5, 2)] {
            for seed in 0..300 {
                let faults = draw(seed, stage(nodes, founders));
                let back = |node| {
                    faults
                        .iter()
                        .any(|timed| matches!(timed.fault, Fault::Restart { node: other, .. } if other == node))
                };
                let mut wiped = BTreeSet::new();
                for timed in &faults {
                    timed.validate(nodes).unwrap_or_else(|error| panic!("{timed}: {error}"));
                    match &timed.fault {
                        Fault::Restart { node, disk: Disk::Blank } => {
                            wiped.insert(*node);
                        }
                        Fault::Crash { node, .. } if timed.lasts.is_none() => assert!(back(*node), "{timed}"),
                        Fault::Drift { by, .. } => assert!(by.parts().abs() <= 500, "{timed}"),
                        _ => assert!(timed.lasts.is_some(), "{timed}"),
                    }
                }
                assert!(wiped.len() <= most, "seed {seed} of {nodes}: {wiped:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_trouble_has_its_seed() {
        let drawn = (0..300).flat_map(|seed| draw(seed, stage(3, 3)));
        let words: BTreeSet<String> = drawn.map(|timed| timed.fault.to_string()).collect();
        let kinds =
            ["crash 1", "crash 1 torn", "restart 2 blank", "disk 3 full", "disk 3 fails", "pause 2", "drift 1 by"];
        let cuts = ["cut 1 | rest", "cut 1 > rest", "cut rest > 1", "cut 1 > 2", "cut 1 | 2", "link 1-3 > 1-3 loss"];
        let links = ["link 1-3 > 1-3 duplicate", "link 1-3 > 1-3 latency", "link 2 > rest", "link rest > 2"];
        for kind in kinds.into_iter().chain(cuts).chain(links) {
            assert!(words.iter().any(|word| word.starts_with(kind)), "no {kind} in 300 seeds");
        }
    }
}
