//! Leader elections on a ring: the part that all of them share.
//!
//! Elections on a ring differ only in how a run proceeds: which messages a node sends to which
//! neighbour, and how a node finds out that it has won. That part is a [`Contest`]. This module has
//! the rest, once for all algorithms: runs and their epochs, the members of a run, the
//! announcement, and the recovery from a crash during a run.
//!
//! A run is identified by its epoch and by the nodes that it leaves out as dead. A node takes part
//! in only one run of an epoch, which it remembers on its disk. Only a run with more than half of
//! the group elects a leader. Two such runs share a node, so two runs of one epoch cannot both end:
//! an epoch has at most one leader, however wrong the failure detector is. Nodes that are down at
//! start-up do not count for that majority, neither as members of a run nor as nodes of the group.
//!
//! ```text
//! CI-1   the client campaigns              → start the next epoch without the nodes known to be
//!                                            dead, unless a run is in progress
//! CI-2   a message of a later epoch        → take part in that run, and forget the leader
//! CI-3   a message of an earlier epoch     → drop it, and report the current epoch to its sender
//! CI-4   another run of this epoch, or a
//!        run with a member that this node
//!        considers dead                    → wait for a short timeout; if the conflict remains,
//!                                            start the next epoch
//! CI-5   the contest is won                → announce the winner, around the ring or to all, if
//!                                            more than half of the group are in the run
//! CI-6   an announcement of its own run    → know the leader, and pass it on
//! CI-7   the detector reports a member
//!        of the run, or the leader, dead   → start the next epoch without it
//! CI-8   the detector trusts a node again
//!        that was left out                 → start the next epoch with it; while a run is in
//!                                            progress, do so for any node that it trusts again,
//!                                            since its short absence may have broken that run
//! CI-9   a neighbour does not acknowledge
//!        a message in time                 → consider it dead: start the next epoch without it
//! CI-10  a run exceeds its timeout         → start the next epoch
//! CI-11  this node restarts                → start the next epoch: it knows no leader
//! CI-12  a peer reports a later epoch that
//!        leaves this node out, or that has
//!        ended while this node's run has
//!        not                               → start an even later one. With timeouts, the starter
//!                                            of a run notifies the nodes it leaves out, in case
//!                                            they are alive
//! ```
//!
//! Rules CI-4 and CI-7 to CI-12, and the report of CI-3, are the repair (`--repair`), which uses
//! either timeouts or a failure detector. Without repair none of them applies, no epoch is saved,
//! and after a crash during a run all nodes wait forever.

mod message;
mod repair;
#[cfg(test)]
pub(crate) mod test_ring;
#[cfg(test)]
mod tests;
mod turn;

pub use message::{Body, Claim, Envelope, Run};
pub use repair::Timer;
pub use turn::Turn;

use super::{AnnouncementMode, Command, Event, Plan, Rank, Refusal, Repair};
use crate::about::About;
use crate::describe::Describe;
use crate::effects::Effects;
use crate::group::Epoch;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::time::Time;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::Hash;
use turn::Outcome;

/// One run of an election on a ring, as one node sees it.
///
/// A node exchanges messages with its neighbours on both sides. In a ring of one, a node is its own
/// neighbour on both sides.
pub trait Contest: Clone + Eq + Hash + Default {
    /// A message between neighbours.
    type Message: Clone + Describe;

    /// Starts the run: this node's client campaigns, or an earlier run failed.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>);

    /// Handles a message from the neighbour on side `from`.
    fn receive(&mut self, from: Side, message: Self::Message, turn: &mut Turn<'_, '_, Self>);

    /// Returns an upper bound on the number of hops until every member of a run knows the winner,
    /// in a run of `members` nodes with any number of starters. The timeout of a run follows from
    /// it.
    fn max_hops(members: usize) -> u64;
}

/// The side of a neighbour on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Side {
    /// The predecessor. Messages around the ring arrive from it.
    Before,
    /// The successor. Messages around the ring go to it.
    After,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

/// Returns the rules of this module, which `quorate explain` adds to those of each ring election.
pub fn about() -> About {
    About::from_source(include_str!("circuit.rs"))
}

/// A node of an election on a ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Circuit<C> {
    me: NodeId,
    plan: Arc<Plan>,
    /// The latest run that the node knows and took part in.
    run: Run,
    phase: Phase,
    contest: C,
    /// Nodes that this node considers dead, in the order of their numbers.
    dead: Vec<NodeId>,
    /// The number and the receiver of each message that is not acknowledged yet. Empty unless the
    /// repair uses timeouts.
    unacknowledged: Vec<(u64, NodeId)>,
    /// Number of the latest message that needs an acknowledgement.
    last_number: u64,
    /// The disagreement with other nodes about the run. If it remains when `Timer::Dispute` fires,
    /// this node starts the next epoch.
    dispute: Option<Dispute>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Dispute {
    /// The run has a member that this node considers dead.
    DeadMember,
    /// Another run of the same epoch leaves out other nodes.
    ConflictingRuns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The node takes part in no run, and knows no leader.
    Idle,
    /// The node takes part in a run.
    Contest,
    /// The node knows the winner. It still passes on messages that other nodes need.
    Decided(NodeId),
}

/// The latest epoch that a node took part in, as saved on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedEpoch(Epoch);

impl Durable for SavedEpoch {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}

impl<C: Contest> Circuit<C> {
    /// Creates a node of a group with this plan.
    pub fn new(me: NodeId, plan: Arc<Plan>) -> Self {
        let dead = plan.absent.iter().filter(|node| *node != me).collect();
        let (run, phase, contest) = (Run::default(), Phase::Idle, C::default());
        Self { me, plan, run, phase, contest, dead, unacknowledged: Vec::new(), last_number: 0, dispute: None }
    }

    fn boot(&mut self, saved_epoch: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.run = Run { epoch: saved_epoch, left_out: Vec::new() };
        if incarnation > Incarnation::FIRST {
            // Nodes that were down at start-up may be up by now.
            self.dead.clear();
            self.restart_run_after_boot(out);
        }
    }

    /// CI-1.
    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Contest => out.emit(Event::Refused(Refusal::AlreadyRunning)),
            Phase::Idle | Phase::Decided(_) => {
                out.note("CI-1", format_args!("begins epoch {}", self.run.next_epoch()));
                self.begin_next_run(out);
            }
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let is_leader = self.phase == Phase::Decided(self.me);
        out.emit(Event::Refused(if is_leader { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// Starts a run of the next epoch with all nodes that are not known to be dead. With timeouts,
    /// notifies the nodes that it leaves out.
    fn begin_next_run(&mut self, out: &mut Effects<'_, Self>) {
        self.enter_run(Run { epoch: self.run.next_epoch(), left_out: self.dead.clone() }, out);
        self.notify_left_out(out);
        self.run_contest(out, |contest, turn| contest.start(turn));
    }

    /// Makes `run` the node's current run. The caller starts or joins the contest.
    fn enter_run(&mut self, run: Run, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.save(run.epoch);
        }
        self.cancel_hops(out);
        self.end_dispute(out);
        out.emit(Event::Began { epoch: run.epoch });
        self.run = run;
        self.phase = Phase::Contest;
        self.contest = C::default();
        self.set_run_timeout(out);
    }

    /// Lets the contest act, and handles its outcome: announces or just records the winner, or
    /// starts the next run if this one failed. A run without a majority elects no leader.
    fn run_contest(&mut self, out: &mut Effects<'_, Self>, act: impl FnOnce(&mut C, &mut Turn<'_, '_, C>)) {
        let mut contest = core::mem::take(&mut self.contest);
        let mut turn = Turn::new(self, out);
        act(&mut contest, &mut turn);
        let outcome = turn.outcome;
        self.contest = contest;
        match outcome {
            Outcome::Undecided => {}
            Outcome::Won(leader) if self.has_majority() => self.announce(leader, out),
            Outcome::Known(leader) if self.has_majority() => self.conclude(leader, out),
            Outcome::Won(_) | Outcome::Known(_) => {
                out.note("CI-5", format_args!("epoch {} has no majority: it elects no leader", self.run.epoch));
            }
            Outcome::Failed => self.begin_next_run(out),
        }
    }

    fn own_rank(&self) -> Rank {
        self.plan.ranking.rank_of(self.me)
    }

    fn member_count(&self) -> usize {
        self.plan.ring.len().saturating_sub(self.run.left_out.len())
    }

    /// Returns whether more than half of the nodes that were up at start-up are in the run. Two
    /// such runs share a node, which takes part in only one run of an epoch. Without repair the
    /// answer is always yes, because every run has all of these nodes.
    fn has_majority(&self) -> bool {
        let voters = self.plan.ring.len().saturating_sub(self.plan.absent.len());
        let missing = self.run.left_out.iter().filter(|node| !self.plan.absent.contains(**node)).count();
        self.plan.repair == Repair::None || 2 * missing < voters
    }

    fn neighbour(&self, side: Side) -> NodeId {
        match side {
            Side::Before => self.plan.ring.node_before(self.me, &self.run.left_out),
            Side::After => self.plan.ring.node_after(self.me, &self.run.left_out),
        }
    }

    /// CI-5. On the ring, the announcement travels until it returns to this node.
    fn announce(&mut self, leader: NodeId, out: &mut Effects<'_, Self>) {
        out.note("CI-5", format_args!("announces {leader} in epoch {}", self.run.epoch));
        let announcement = Body::Won { leader, announcer: self.me };
        match self.plan.announcement {
            AnnouncementMode::Ring => self.send_hop(self.neighbour(Side::After), announcement, out),
            AnnouncementMode::Multicast => {
                let members = self.plan.group.iter().filter(|node| !self.run.left_out.contains(node)).collect();
                let envelope = Envelope { run: self.run.clone(), number: None, body: announcement };
                out.multicast(&members, envelope);
            }
        }
        self.conclude(leader, out);
    }

    /// CI-6.
    fn receive_announcement(&mut self, leader: NodeId, announcer: NodeId, out: &mut Effects<'_, Self>) {
        if announcer == self.me {
            return out.note("CI-6", format_args!("the announcement came all the way around"));
        }
        if let Phase::Decided(_) = self.phase {
            return;
        }
        if self.plan.announcement == AnnouncementMode::Ring {
            self.send_hop(self.neighbour(Side::After), Body::Won { leader, announcer }, out);
        }
        out.note("CI-6", format_args!("learns that {leader} has won"));
        self.conclude(leader, out);
    }

    /// Ends the run with this leader, and reports it to the client. Starts the next run if this
    /// node considers the leader dead.
    fn conclude(&mut self, leader: NodeId, out: &mut Effects<'_, Self>) {
        if let Phase::Decided(_) = self.phase {
            return;
        }
        self.phase = Phase::Decided(leader);
        self.cancel_run_timeout(out);
        if self.dispute == Some(Dispute::DeadMember) {
            self.end_dispute(out);
        }
        out.emit(Event::elected(leader, self.run.epoch));
        if self.dead.contains(&leader) {
            self.handle_death(leader, out);
        }
    }

    fn receive(&mut self, from: NodeId, envelope: Envelope<C::Message>, out: &mut Effects<'_, Self>) {
        let Envelope { run, number, body } = envelope;
        if !self.plan.group.contains(from) || !self.is_valid(&run) {
            return out.note("CI-3", format_args!("ignores an invalid message of {from}"));
        }
        self.record_alive(from);
        if let Some(number) = number {
            out.send(from, Envelope { run: run.clone(), number: None, body: Body::Acknowledgement(number) });
        }
        match body {
            Body::Acknowledgement(number) => self.receive_acknowledgement(number, from, out),
            Body::Behind { is_over } => self.receive_later_epoch(&run, is_over, out),
            Body::Contest { .. } | Body::Won { .. } if run.epoch < self.run.epoch => {
                self.drop_outdated(from, &run, out);
            }
            Body::Contest { from: side, message } => {
                if self.join_if_later(run, out) && self.neighbour(side) == from {
                    self.run_contest(out, |contest, turn| contest.receive(side, message, turn));
                }
            }
            Body::Won { leader, announcer } => {
                let is_member = |node| self.plan.group.contains(node) && !run.left_out.contains(&node);
                if is_member(leader) && is_member(announcer) && self.join_if_later(run, out) {
                    self.receive_announcement(leader, announcer, out);
                }
            }
        }
    }

    /// CI-3.
    fn drop_outdated(&mut self, from: NodeId, outdated: &Run, out: &mut Effects<'_, Self>) {
        let epoch = self.run.epoch;
        out.note(
            "CI-3",
            format_args!("drops a message of {from} in epoch {}: the current epoch is {epoch}", outdated.epoch),
        );
        if self.plan.repair != Repair::None && from != self.me {
            let is_over = matches!(self.phase, Phase::Decided(_));
            out.send(from, Envelope { run: self.run.clone(), number: None, body: Body::Behind { is_over } });
        }
    }

    /// Returns whether this node takes part in `run`, which must not be earlier than its own. Joins
    /// the run if it is later, and handles the conflict if it is another run of the same epoch.
    /// Does neither if the run leaves out this node.
    fn join_if_later(&mut self, run: Run, out: &mut Effects<'_, Self>) -> bool {
        if run == self.run && self.phase != Phase::Idle {
            return true;
        }
        if run.left_out.contains(&self.me) {
            return false;
        }
        if run.epoch > self.run.epoch {
            self.join_run(run, out);
            return true;
        }
        self.handle_conflicting_run(&run, out);
        false
    }

    /// CI-2.
    fn join_run(&mut self, run: Run, out: &mut Effects<'_, Self>) {
        out.note("CI-2", format_args!("takes part in epoch {}", run.epoch));
        self.enter_run(run, out);
        self.compare_dead_nodes(out);
    }

    /// Validates a run that a peer sent: a correct peer leaves out only nodes of the group, lists
    /// them in the order of their numbers, and never sends an epoch beyond `Epoch::MAX`.
    fn is_valid(&self, run: &Run) -> bool {
        let is_in_group = |node: &NodeId| self.plan.group.contains(*node);
        let is_strictly_sorted = run.left_out.is_sorted_by(|node, next| node < next);
        run.left_out.iter().all(is_in_group) && is_strictly_sorted && run.epoch <= Epoch::MAX
    }
}

impl<C: Contest> Protocol for Circuit<C> {
    type Command = Command;
    type Message = Envelope<C::Message>;
    type Timer = Timer;
    type Event = Event;
    type Durable = SavedEpoch;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: SavedEpoch(epoch), incarnation } => self.boot(epoch, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message } => self.receive(from, message, out),
            Input::Timer(Timer::Hop(number)) => self.handle_hop_timeout(number, out),
            Input::Timer(Timer::Run) => self.handle_run_timeout(out),
            Input::Timer(Timer::Dispute) => self.settle_dispute(out),
            Input::Suspect(node) => self.suspect(node, out),
            Input::Trust(node) => self.trust(node, out),
            Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
