//! Draws of aimed faults: what each waits for, and how it hits which nodes.

use super::{AimedFault, Harm, Part, Target, Trigger};
use crate::replica::chaos::FaultDrawer;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::{DiskTrouble, UnsyncedSaves};

/// Number of ticks within which a group without a leader usually elects one.
const ELECTION_TICKS: u64 = 25;

impl FaultDrawer {
    pub(super) fn draw_aimed_fault(&mut self) -> AimedFault {
        let (trigger, mut parts) = match self.rng.below(8) {
            0 | 1 => (Trigger::Acknowledgement, self.draw_stale_leader()),
            2 => (Trigger::Acknowledgement, self.draw_lost_majority()),
            3 => (Trigger::Election, self.draw_failing_leaders()),
            4 => (Trigger::AnyEvent, self.draw_interrupted_snapshot()),
            _ => (self.draw_trigger(), vec![self.draw_part()]),
        };
        let delay = self.draw_delay();
        for part in &mut parts {
            part.delay = part.delay + delay;
        }
        let armed_at = Time::ZERO + self.draw_time();
        let mut nodes: Vec<_> = (0..self.limits.nodes).map(NodeId::from_index).collect();
        let order = (0..nodes.len()).map(|_| nodes.swap_remove(self.rng.below(nodes.len() as u64) as usize)).collect();
        AimedFault { armed_at, trigger, order, parts }
    }

    fn draw_trigger(&mut self) -> Trigger {
        match self.rng.below(8) {
            0 | 1 => Trigger::AnyEvent,
            2..=4 => Trigger::Acknowledgement,
            5 | 6 => Trigger::Election,
            _ if self.limits.has_changes => Trigger::Change,
            _ => Trigger::Restoration,
        }
    }

    /// From much less than a message takes, to a few messages and syncs of disks.
    fn draw_delay(&mut self) -> Duration {
        let tick = self.limits.tick;
        let maximum = match self.rng.below(3) {
            0 => Duration::from_nanos(tick.nanos() / 10),
            1 => tick,
            _ => tick.times(3),
        };
        self.rng.between(Duration::from_nanos(1), maximum)
    }

    fn draw_ticks(&mut self, min: u64, max: u64) -> Duration {
        let [min, max] = [min, max].map(|ticks| self.limits.tick.times(ticks).max(Duration::from_nanos(1)));
        self.rng.between(min, max)
    }

    fn draw_part(&mut self) -> Part {
        let target = match self.rng.below(8) {
            0..=2 => Target::Leader,
            3 => Target::Follower,
            4 => Target::Majority,
            5 => Target::FollowerMajority,
            6 => Target::LeaderMinority,
            _ => Target::All,
        };
        let harm = match self.rng.below(10) {
            0 => Harm::Crash(UnsyncedSaves::Lost),
            1 => Harm::Crash(UnsyncedSaves::Torn),
            2 | 3 => Harm::Pause,
            4 => Harm::Disk(DiskTrouble::Full),
            5 => Harm::Disk(DiskTrouble::Fails),
            6 => Harm::Mute,
            7 => Harm::Deafen,
            _ => Harm::Isolate,
        };
        Part { delay: Duration::ZERO, target, harm, duration: self.draw_duration() }
    }

    /// The leader is isolated for so long that the others elect a new one, while clients still
    /// reach the old one. Often it is paused meanwhile, and continues before it can hear of the new
    /// one.
    fn draw_stale_leader(&mut self) -> Vec<Part> {
        let part = |harm, duration| Part { delay: Duration::ZERO, target: Target::Leader, harm, duration };
        let isolation = self.draw_ticks(10, 2 * ELECTION_TICKS);
        if self.rng.below(3) > 0 {
            return vec![part(Harm::Isolate, isolation)];
        }
        let pause = self.draw_ticks(1, 2 * ELECTION_TICKS);
        vec![part(Harm::Isolate, pause + isolation), part(Harm::Pause, pause)]
    }

    /// A majority crashes and loses what it has not saved. After its restart the other nodes, which
    /// may know more, are down or paused for a while.
    fn draw_lost_majority(&mut self) -> Vec<Part> {
        let downtime = self.draw_ticks(0, 5);
        let (majority, others) = if self.rng.below(2) == 0 {
            (Target::Majority, Target::Minority)
        } else {
            (Target::FollowerMajority, Target::LeaderMinority)
        };
        let harm = if self.rng.below(2) == 0 { Harm::Pause } else { Harm::Crash(UnsyncedSaves::Torn) };
        let absence = downtime + self.draw_ticks(0, 2 * ELECTION_TICKS);
        vec![
            Part {
                delay: Duration::ZERO,
                target: majority,
                harm: Harm::Crash(UnsyncedSaves::Lost),
                duration: downtime,
            },
            Part { delay: Duration::ZERO, target: others, harm, duration: absence },
        ]
    }

    /// A follower is away for so long that it needs a snapshot, and is cut off again while it
    /// receives it.
    fn draw_interrupted_snapshot(&mut self) -> Vec<Part> {
        let window_ticks = self.limits.window.nanos() / self.limits.tick.nanos().max(1);
        let absence = self.draw_ticks(2 * ELECTION_TICKS, window_ticks / 2);
        let harm = if self.rng.below(2) == 0 { Harm::Isolate } else { Harm::Crash(UnsyncedSaves::Lost) };
        let part = |delay, harm, duration| Part { delay, target: Target::Follower, harm, duration };
        let mut parts = vec![part(Duration::ZERO, harm, absence)];
        let mut delay = absence;
        for _ in 0..1 + self.rng.below(3) {
            delay = delay + self.draw_ticks(0, 6);
            let harm = if self.rng.below(2) == 0 { Harm::Isolate } else { Harm::Crash(UnsyncedSaves::Torn) };
            parts.push(part(delay, harm, self.draw_ticks(0, 2)));
        }
        parts
    }

    /// A majority with the leader, or all nodes, crash again and again, and restart quickly.
    fn draw_failing_leaders(&mut self) -> Vec<Part> {
        let mut delay = Duration::ZERO;
        let crash = Harm::Crash(UnsyncedSaves::Torn);
        let crashes = (0..2 + self.rng.below(3)).map(|_| {
            let target = if self.rng.below(2) == 0 { Target::Majority } else { Target::All };
            let part = Part { delay, target, harm: crash, duration: self.draw_ticks(0, 2) };
            delay = delay + self.draw_ticks(1, ELECTION_TICKS);
            part
        });
        crashes.collect()
    }
}
