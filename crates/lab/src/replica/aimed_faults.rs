//! Faults that the seed aims at what a run does: at the leader, at a majority, at the moment after
//! an acknowledgement.
//!
//! The seed draws everything about an aimed fault before the run, except its time and its nodes.
//! The fault is armed at some time of the fault window. From then on it waits for its trigger, and
//! hits the nodes that are its targets when the trigger comes. It lapses at the end of the window.
//! So the latest time at which an aimed fault can end is known before the run.

mod draws;
#[cfg(test)]
mod tests;

use super::chaos::{ChaosLimits, FaultDrawer};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::{Cut, DiskTrouble, Fault, Side, UnsyncedSaves};
use quorate_journal::workload::{ClientEvent, Plan};
use quorate_replica::{Command, Event, StateMachine};
use std::collections::BTreeSet;

/// The aimed faults of a run, and what they aim at.
#[derive(Debug, Default)]
pub(super) struct AimedFaults {
    /// The faults that were not triggered yet.
    waiting: Vec<AimedFault>,
    /// The time at which the waiting faults lapse.
    window_end: Time,
    nodes: usize,
    voters: BTreeSet<NodeId>,
    /// The leader of the highest term, unless it has crashed.
    leader: Option<NodeId>,
    term: u64,
    /// The highest log index in an answer.
    answered_index: u64,
}

/// A fault that waits for its trigger.
#[derive(Debug)]
struct AimedFault {
    /// The fault waits from this time on.
    armed_at: Time,
    trigger: Trigger,
    /// The order in which nodes are hit besides the leader.
    order: Vec<NodeId>,
    parts: Vec<Part>,
}

/// What an aimed fault waits for. Each requires that there is a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// Any event of a replica.
    AnyEvent,
    /// A replica answers from an entry that it has just applied, before any other replica.
    Acknowledgement,
    /// A replica becomes leader.
    Election,
    /// A replica restores its state from a snapshot of the leader, or from its own at a restart.
    Restoration,
    /// The operator requests other members or a transfer of the leadership.
    Change,
}

/// A part of an aimed fault: it hits all of its targets in the same way.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The time from the trigger to the faults.
    delay: Duration,
    target: Target,
    harm: Harm,
    duration: Duration,
}

/// Which voters a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Leader,
    /// One follower: the one that caused the trigger, if a follower did.
    Follower,
    /// The leader and the followers that make a majority with it.
    Majority,
    /// All voters that are not in `Majority`.
    Minority,
    /// A majority without the leader.
    FollowerMajority,
    /// All voters that are not in `FollowerMajority`, among them the leader.
    LeaderMinority,
    All,
}

/// What happens to the nodes that a fault hits.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Crash(UnsyncedSaves),
    Pause,
    Disk(DiskTrouble),
    /// No message passes between the targets and the other nodes.
    Isolate,
    /// No message of the targets reaches the other nodes.
    Mute,
    /// No message of the other nodes reaches the targets.
    Deafen,
}

/// Makes these draws differ from those of other seed-chosen faults. Any constant would do.
const SEED_SALT: u64 = 0xA13E_DFA0_17ED;

impl AimedFaults {
    pub(super) fn draw(seed: u64, limits: ChaosLimits) -> Self {
        let mut drawer = FaultDrawer::new(seed ^ SEED_SALT, limits);
        Self {
            waiting: (0..2 + drawer.rng.below(5)).map(|_| drawer.draw_aimed_fault()).collect(),
            window_end: Time::ZERO + limits.window,
            nodes: limits.nodes,
            voters: (0..limits.founders).map(NodeId::from_index).collect(),
            ..Self::default()
        }
    }

    /// The latest time at which a waiting fault can end; `None` if none waits.
    pub(super) fn latest_end(&self) -> Option<Time> {
        let parts = self.waiting.iter().flat_map(|aimed| &aimed.parts);
        parts.map(|part| self.window_end + part.delay + part.duration).max()
    }

    /// Records a notification of a client, and plans the faults that it triggers.
    pub(super) fn on_event<S: StateMachine>(
        &mut self,
        now: Time,
        node: NodeId,
        notification: &ClientEvent<Event<S>>,
        plan: &mut Plan<Command<S>>,
    ) {
        let trigger = match notification {
            ClientEvent::Emitted(event) => self.record(node, event),
            ClientEvent::Crashed => return self.leader = self.leader.filter(|leader| *leader != node),
            ClientEvent::Restarted | ClientEvent::Alarm => return,
        };
        self.fire(now, node, trigger, plan);
    }

    /// Plans the faults that a command of the operator triggers.
    pub(super) fn on_command<S: StateMachine>(
        &mut self,
        now: Time,
        node: NodeId,
        command: &Command<S>,
        plan: &mut Plan<Command<S>>,
    ) {
        if let Command::Change { .. } | Command::Transfer(_) = command {
            self.fire(now, node, Trigger::Change, plan);
        }
    }

    /// Records an event of a replica, and returns which faults it triggers.
    fn record<S: StateMachine>(&mut self, node: NodeId, event: &Event<S>) -> Trigger {
        match event {
            Event::Leads { term } if *term > self.term => {
                (self.leader, self.term) = (Some(node), *term);
                Trigger::Election
            }
            Event::Answered { index, .. } if *index > self.answered_index => {
                self.answered_index = *index;
                Trigger::Acknowledgement
            }
            Event::Restored(_) => Trigger::Restoration,
            Event::Changed { members, .. } => {
                self.voters.clone_from(&members.voters);
                Trigger::AnyEvent
            }
            Event::Leads { .. }
            | Event::Answered { .. }
            | Event::Refused { .. }
            | Event::Unknown { .. }
            | Event::Attached { .. }
            | Event::Outcome { .. }
            | Event::Detached { .. }
            | Event::Configured { .. }
            | Event::Retired
            | Event::Follows { .. }
            | Event::Applied { .. }
            | Event::Halted { .. } => Trigger::AnyEvent,
        }
    }

    /// Plans the armed faults that wait for this trigger, or for any. `node` caused the trigger.
    fn fire<C>(&mut self, now: Time, node: NodeId, trigger: Trigger, plan: &mut Plan<C>) {
        if now > self.window_end {
            self.waiting.clear();
        }
        let Some(leader) = self.leader else { return };
        let is_triggered = |aimed: &mut AimedFault| {
            aimed.armed_at <= now && (aimed.trigger == trigger || aimed.trigger == Trigger::AnyEvent)
        };
        for aimed in self.waiting.extract_if(.., is_triggered) {
            let followers = std::iter::once(node).chain(aimed.order.into_iter().filter(|other| *other != node));
            let followers: Vec<_> =
                followers.filter(|follower| *follower != leader && self.voters.contains(follower)).collect();
            for part in aimed.parts {
                let targets = part.target.choose(leader, &followers);
                for fault in part.harm.faults(&targets, self.nodes) {
                    plan.fault(now + part.delay, fault, Some(part.duration));
                }
            }
        }
    }
}

impl Target {
    fn choose(self, leader: NodeId, followers: &[NodeId]) -> Vec<NodeId> {
        // The followers that make a majority with the leader.
        let partners = followers.len().div_ceil(2);
        let first = |count: usize| followers.iter().copied().take(count);
        let with_leader = |count: usize| std::iter::once(leader).chain(first(count)).collect();
        match self {
            Self::Leader => vec![leader],
            Self::Follower => first(1).collect(),
            Self::Majority => with_leader(partners),
            Self::Minority => followers.iter().copied().skip(partners).collect(),
            Self::FollowerMajority => first(partners + 1).collect(),
            Self::LeaderMinority => {
                std::iter::once(leader).chain(followers.iter().copied().skip(partners + 1)).collect()
            }
            Self::All => with_leader(followers.len()),
        }
    }
}

impl Harm {
    /// Returns the faults that harm these nodes of a group; none if the harm is impossible.
    fn faults(self, targets: &[NodeId], nodes: usize) -> Vec<Fault> {
        let each = |fault: &dyn Fn(NodeId) -> Fault| targets.iter().map(|node| fault(*node)).collect();
        let targets_side = || Side::Nodes(targets.iter().copied().collect());
        let cut = match self {
            Self::Crash(unsynced) => return each(&|node| Fault::Crash { node, unsynced }),
            Self::Pause => return each(&|node| Fault::Pause { node }),
            Self::Disk(trouble) => return each(&|node| Fault::Disk { node, trouble }),
            Self::Isolate => Cut::between(vec![targets_side(), Side::Rest]),
            Self::Mute => Cut::one_way(targets_side(), Side::Rest),
            Self::Deafen => Cut::one_way(Side::Rest, targets_side()),
        };
        cut.into_iter().map(Fault::Cut).filter(|cut| cut.validate(nodes).is_ok()).collect()
    }
}
