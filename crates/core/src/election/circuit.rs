//! Elections on a ring, run after run.
//!
//! What differs between elections on a ring is one run of them: who sends what to which neighbour, and who finds out that it has won. That
//! is a [`Contest`]. All else is here, once for all of them: runs and their numbers, who sits in a run, the announcement, and what is done
//! when somebody dies in the middle of it.
//!
//! A run is named by its epoch and by those whom it leaves out as dead, and a node takes part in one run of an epoch only, which it
//! remembers on its disk. Only a run with more than half of the group in it elects anybody. Two such runs share a node, so two of one epoch
//! cannot both come to an end: an epoch has at most one leader, however wrong a detector is. Those who are down from the start count as
//! no part of the group.
//!
//! ```text
//! CI-1   asked to campaign                 → begin the next epoch without those known to be dead, unless a run is under way
//! CI-2   a message of a later epoch        → take part in that run, and forget the leader
//! CI-3   a message of an earlier epoch     → drop it, and tell its sender how far epochs are
//! CI-4   a run of this epoch among others,
//!        or one with a dead member         → wait for a moment; if nothing comes of it, begin the next epoch
//! CI-5   the contest is won                → announce the winner, round the ring or to all, if more than half of the group sit in the run
//! CI-6   an announcement of one's own run  → know the leader, and pass it on
//! CI-7   a member of the run, or the
//!        leader, is told to be dead        → begin the next epoch without it
//! CI-8   one that was left out is back     → begin the next epoch with it; so too if one is back while a run is under way, which may
//!        have gone wrong by its short absence
//! CI-9   a hop is not acknowledged in time → the neighbour is dead: begin the next epoch without it
//! CI-10  a run takes longer than it can    → begin the next epoch
//! CI-11  a node boots again                → begin the next epoch: it knows of no leader
//! CI-12  told of a later epoch that is
//!        over, or leaves one out           → begin one that is later still, unless there is a leader by then. Where silence is death,
//!        those who are left out of a run are told, in case they live
//! ```
//!
//! Rules CI-7 to CI-12 are what repair is; bare, there are none of them, and a crash in a run leaves everyone waiting.

#[cfg(test)]
pub(crate) mod bench;
mod letter;
mod repair;
#[cfg(test)]
mod tests;
mod turn;

pub use letter::{Body, Claim, Letter, Run};
pub use repair::Timer;
pub use turn::Turn;

use super::{Announce, Command, Event, Plan, Rank, Refusal, Repair};
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
/// Messages are heard from the neighbour on one side or the other, and sent to one of them. In a ring of one a node is its own neighbour
/// on both sides.
pub trait Contest: Clone + Eq + Hash + Default {
    /// What neighbours tell each other.
    type Message: Clone + Describe;

    /// This node starts the run by itself.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>);

    /// A message of a neighbour.
    fn hear(&mut self, from: Side, message: Self::Message, turn: &mut Turn<'_, '_, Self>);

    /// A member of a run of so many is at most so many hops away from knowing the winner, whoever started.
    fn hops(members: usize) -> u64;
}

/// On which side a neighbour sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Side {
    /// The one before, from which messages go onward round the ring.
    Before,
    /// The one after.
    After,
}

impl Side {
    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

/// The rules, for those who explain an election on a ring.
pub fn about() -> About {
    About::of_source(include_str!("circuit.rs"))
}

/// One node of an election on a ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Circuit<C> {
    me: NodeId,
    plan: Arc<Plan>,
    /// The latest run that it knows of, in which it takes part or took part.
    run: Run,
    stage: Stage,
    contest: C,
    /// Those whom it takes for dead, in the order of their numbers.
    dead: Vec<NodeId>,
    /// Messages whose receipt is not acknowledged yet, where that is asked for.
    unacknowledged: Vec<(u64, NodeId)>,
    sent: u64,
    /// Over what it waits for others to agree with it, if it does.
    dispute: Option<Dispute>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Dispute {
    /// Whether a member of the run is dead.
    Death,
    /// Which run of an epoch it is.
    Runs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// It takes no part, and knows nothing of a leader.
    Idle,
    /// It takes part.
    Contest,
    /// It knows who won. It still passes on what others need to know it too.
    Over(NodeId),
}

/// The latest run that a node took part in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reached(Epoch);

impl Durable for Reached {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}

impl<C: Contest> Circuit<C> {
    /// One node of a group.
    pub fn new(me: NodeId, plan: Arc<Plan>) -> Self {
        let dead = plan.absent.iter().filter(|node| *node != me).collect();
        let run = Run::default();
        let contest = C::default();
        Self { me, plan, run, stage: Stage::Idle, contest, dead, unacknowledged: Vec::new(), sent: 0, dispute: None }
    }

    fn boot(&mut self, reached: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.run = Run { epoch: reached, without: Vec::new() };
        if incarnation > Incarnation::FIRST {
            // Who was down from the start may be back by now.
            self.dead.clear();
            self.boot_again(out);
        }
    }

    /// CI-1.
    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        match self.stage {
            Stage::Contest => out.emit(Event::Refused(Refusal::AlreadyRunning)),
            Stage::Idle | Stage::Over(_) => {
                out.note("CI-1", format_args!("begins epoch {}", self.run.next()));
                self.begin(out);
            }
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = self.stage == Stage::Over(self.me);
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// Starts a run of the next epoch among those who are not known to be dead.
    fn begin(&mut self, out: &mut Effects<'_, Self>) {
        self.enter(Run { epoch: self.run.next(), without: self.dead.clone() }, out);
        self.tell_the_dead(out);
        self.play(out, |contest, turn| contest.start(turn));
    }

    fn enter(&mut self, run: Run, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.save(run.epoch);
        }
        self.forget_hops(out);
        self.end_dispute(out);
        out.emit(Event::Began { epoch: run.epoch });
        self.run = run;
        self.stage = Stage::Contest;
        self.contest = C::default();
        self.allow_time(out);
    }

    /// Lets the contest act, and sees what has come of it.
    fn play(&mut self, out: &mut Effects<'_, Self>, act: impl FnOnce(&mut C, &mut Turn<'_, '_, C>)) {
        let mut contest = core::mem::take(&mut self.contest);
        let mut turn = Turn::new(self, out);
        act(&mut contest, &mut turn);
        let outcome = turn.outcome;
        self.contest = contest;
        match outcome {
            Outcome::Open => {}
            Outcome::Won(leader) if self.counts() => self.announce(leader, out),
            Outcome::Known(leader) if self.counts() => self.conclude(leader, out),
            Outcome::Won(_) | Outcome::Known(_) => {
                out.note("CI-5", format_args!("epoch {} has no majority: nobody is elected", self.run.epoch));
            }
            Outcome::Again => self.begin(out),
        }
    }

    fn rank(&self) -> Rank {
        self.plan.ranking.of(self.me)
    }

    fn members(&self) -> usize {
        self.plan.ring.len().saturating_sub(self.run.without.len())
    }

    /// Whether more than half of those who were up from the start sit in the run. Two such runs share a node, which takes part in only one
    /// of an epoch. Where there is no repair nobody is ever left out later.
    fn counts(&self) -> bool {
        let voters = self.plan.ring.len().saturating_sub(self.plan.absent.len());
        self.plan.repair == Repair::None || 2 * self.members() > voters
    }

    fn neighbour(&self, side: Side) -> NodeId {
        match side {
            Side::Before => self.plan.ring.before(self.me, &self.run.without),
            Side::After => self.plan.ring.after(self.me, &self.run.without),
        }
    }

    /// CI-5. Everyone but the winner has to be told, and the ring closes at whoever announces.
    fn announce(&mut self, leader: NodeId, out: &mut Effects<'_, Self>) {
        out.note("CI-5", format_args!("announces {leader} in epoch {}", self.run.epoch));
        let told = Body::Won { leader, by: self.me };
        match self.plan.announce {
            Announce::Ring => self.hand(self.neighbour(Side::After), told, out),
            Announce::Multicast => {
                let members = self.plan.group.iter().filter(|node| !self.run.without.contains(node)).collect();
                let letter = Letter { run: self.run.clone(), number: None, body: told };
                out.multicast(&members, letter);
            }
        }
        self.conclude(leader, out);
    }

    /// CI-6.
    fn hear_winner(&mut self, leader: NodeId, by: NodeId, out: &mut Effects<'_, Self>) {
        if by == self.me {
            return out.note("CI-6", format_args!("the announcement has been all the way round"));
        }
        if let Stage::Over(_) = self.stage {
            return;
        }
        if self.plan.announce == Announce::Ring {
            self.hand(self.neighbour(Side::After), Body::Won { leader, by }, out);
        }
        out.note("CI-6", format_args!("learns that {leader} has won"));
        self.conclude(leader, out);
    }

    fn conclude(&mut self, leader: NodeId, out: &mut Effects<'_, Self>) {
        if let Stage::Over(_) = self.stage {
            return;
        }
        self.stage = Stage::Over(leader);
        self.end_time(out);
        if self.dispute == Some(Dispute::Death) {
            self.end_dispute(out);
        }
        out.emit(Event::elected(leader, self.run.epoch));
        if self.dead.contains(&leader) {
            self.bury(leader, out);
        }
    }

    fn hear(&mut self, from: NodeId, letter: Letter<C::Message>, out: &mut Effects<'_, Self>) {
        let Letter { run, number, body } = letter;
        if !self.plan.group.contains(from) || !self.fits(&run) {
            return out.note("CI-3", format_args!("ignores what {from} sent: it makes no sense"));
        }
        self.see_alive(from);
        if let Some(number) = number {
            out.send(from, Letter { run: run.clone(), number: None, body: Body::Received(number) });
        }
        match body {
            Body::Received(number) => self.acknowledged(number, from, out),
            Body::Behind { is_over } => self.hear_of_later(&run, is_over, out),
            Body::Contest { .. } | Body::Won { .. } if run.epoch < self.run.epoch => self.drop_late(from, &run, out),
            Body::Contest { from: side, message } => {
                if self.joins(run, out) && self.neighbour(side) == from {
                    self.play(out, |contest, turn| contest.hear(side, message, turn));
                }
            }
            Body::Won { leader, by } => {
                let is_member = |node| self.plan.group.contains(node) && !run.without.contains(&node);
                if is_member(leader) && is_member(by) && self.joins(run, out) {
                    self.hear_winner(leader, by, out);
                }
            }
        }
    }

    /// CI-3.
    fn drop_late(&mut self, from: NodeId, late: &Run, out: &mut Effects<'_, Self>) {
        let epoch = self.run.epoch;
        out.note("CI-3", format_args!("drops what {from} sent in epoch {}: it is at {epoch}", late.epoch));
        if self.plan.repair != Repair::None && from != self.me {
            let is_over = matches!(self.stage, Stage::Over(_));
            out.send(from, Letter { run: self.run.clone(), number: None, body: Body::Behind { is_over } });
        }
    }

    /// Whether this node takes part in a run that it hears of and that is not earlier than its own.
    fn joins(&mut self, run: Run, out: &mut Effects<'_, Self>) -> bool {
        if run == self.run && self.stage != Stage::Idle {
            return true;
        }
        if run.without.contains(&self.me) {
            return false;
        }
        if run.epoch > self.run.epoch {
            self.join(run, out);
            return true;
        }
        self.differ(&run, out);
        false
    }

    /// CI-2.
    fn join(&mut self, run: Run, out: &mut Effects<'_, Self>) {
        out.note("CI-2", format_args!("takes part in epoch {}", run.epoch));
        self.enter(run, out);
        self.compare_deaths(out);
    }

    /// Nobody in good faith leaves out somebody who does not exist, or counts so far. What others send is not to be trusted blindly.
    fn fits(&self, run: &Run) -> bool {
        let known = |node: &NodeId| self.plan.group.contains(*node);
        let is_sound = run.without.iter().all(known) && run.without.is_sorted_by(|one, other| one < other);
        is_sound && run.epoch <= Epoch::LARGEST
    }
}

impl<C: Contest> Protocol for Circuit<C> {
    type Command = Command;
    type Message = Letter<C::Message>;
    type Timer = Timer;
    type Event = Event;
    type Durable = Reached;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: Reached(epoch), incarnation } => self.boot(epoch, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message } => self.hear(from, message, out),
            Input::Timer(Timer::Hop(number)) => self.miss_hop(number, out),
            Input::Timer(Timer::Run) => self.miss_end(out),
            Input::Timer(Timer::Dispute) => self.settle_dispute(out),
            Input::Suspect(node) => self.suspect(node, out),
            Input::Trust(node) => self.trust(node, out),
            Input::Saved(_) | Input::DiskFull | Input::DiskFree | Input::View(_) | Input::Lease(_) => {}
        }
    }
}
