//! The invitation algorithm (Garcia-Molina 1982).
//!
//! Without a bound on time nobody can tell a dead node from a slow one, and two halves of a network cannot agree. So nodes form groups, each
//! under a coordinator that leads it, and a group that meets another one is merged with it. Whoever loses its coordinator is a group of its
//! own until it is invited into another. Where all who live can talk, one group is left in the end.
//!
//! ```text
//! IN-1   asked to campaign, or back after a
//!        crash                              → seek: ask everyone who coordinates a group
//! IN-2   a higher coordinator asks          → say so, if one coordinates a group too, be it of oneself alone, or is in the asker's own
//! IN-3   a lower coordinator asks           → invite it; but one that has no group yet seeks first
//! IN-4   nobody higher was heard in time    → form a group under an epoch of one's own, and invite those who were found
//! IN-5   a higher one was heard             → wait to be invited, and seek again if that does not come
//! IN-6   invited by a higher coordinator    → accept, and pass the invitation on to the members of one's own group
//! IN-7   an invitation is accepted          → say that the group is ready
//! IN-8   the group is ready                 → its coordinator leads
//! IN-9   now and then                       → a coordinator asks those outside whether they coordinate; a member asks its coordinator
//!                                             whether it still does
//! IN-10  a member asks                      → say so, or invite it under the group's new epoch, or say that the group is gone
//! IN-11  the coordinator is gone, dead or
//!        silent for long                    → seek
//! IN-12  a newcomer knows a later epoch     → take a later one yet, and invite everyone into it
//! ```
//!
//! Cost: 3(n−1) messages among n that live, whoever starts, if none takes longer than it is waited for: an invitation, its acceptance
//! and the news that the group is ready for each but the leader. Seeking, and asking now and then, is control.
//!
//! Assumes: nothing of time or links. A save is kept. That all who live can talk for long enough, and answer sooner than others give them
//! up, is needed only so that one group is left.
//!
//! When it fails: in a network that is cut each part has a leader, on purpose. Waits that are too short make members leave and come back.
//! An epoch never has two leaders: it is a count times the number of nodes plus its coordinator's place, and a node counts on in all its lives.
//!
//! Departs from the paper: a group that grows keeps its epoch unless a newcomer knows a later one, so that members are not disturbed. Only
//! a higher coordinator invites a lower one, whoever found whom; so the highest leads in the end, and invitations do not cross. Waits by
//! rank are not needed then.

mod facts;
mod message;
#[cfg(test)]
mod tests;

pub use facts::FACTS;
pub use message::{Message, Timer, Within};

use super::{Command, Event, Plan, Ranking, Refusal};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Invitation {
    place: Fixed<Place>,
    phase: Phase,
    /// The largest epoch of a group that this node formed or was in, in all its lives.
    floor: Epoch,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    ranking: Ranking,
    /// How long a message takes, as far as anybody knows.
    hop: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It never took part.
    Idle,
    /// It is alone, and asks who else coordinates a group.
    Seeking {
        /// Lower ones that do, each with the largest epoch that it knows.
        found: BTreeMap<NodeId, Epoch>,
        is_outranked: bool,
    },
    /// It is alone, and a higher one is to invite it.
    Expecting,
    /// It has accepted an invitation.
    Joining(Membership),
    /// It is in another's group.
    Member {
        of: Membership,
        /// How many times it has asked its coordinator since it last heard of it.
        asked: u8,
    },
    Leading(Following),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Membership {
    leader: NodeId,
    epoch: Epoch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Following {
    epoch: Epoch,
    members: BTreeSet<NodeId>,
}

impl Phase {
    const fn timer(&self) -> Option<Timer> {
        match self {
            Self::Idle => None,
            Self::Seeking { .. } => Some(Timer::Found),
            Self::Expecting => Some(Timer::Invitation),
            Self::Joining(_) => Some(Timer::Ready),
            Self::Member { .. } | Self::Leading(_) => Some(Timer::Watch),
        }
    }
}

/// In hops: a question that wakes others, and theirs.
const SEEK: u64 = 3;
/// In hops: a higher one seeks first.
const EXPECT: u64 = 8;
/// In hops: an acceptance and its answer.
const JOIN: u64 = 4;
/// In hops: how often things are looked after.
const WATCH: u64 = 8;
/// So many questions in a row may be unanswered.
const PATIENCE: u8 = 3;
/// How many inputs of each other node may be before one in a node's queue.
const BACKLOG: u64 = 4;
/// However short messages take, something else must be able to happen between two looks.
const LEAST_HOP: Duration = Duration::from_micros(1);

impl Protocol for Invitation {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = Within;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: Within(floor), incarnation } => self.boot(floor, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message } => self.hear(from, message, out),
            Input::Timer(Timer::Found) => self.end_search(out),
            Input::Timer(Timer::Invitation) => self.seek("IN-5", out),
            Input::Timer(Timer::Ready) => self.seek("IN-11", out),
            Input::Timer(Timer::Watch) => self.watch(out),
            Input::Suspect(node) => self.lose(node, None, out),
            // Whoever is back speaks for itself.
            Input::Trust(_)
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl Invitation {
    /// One node of a group that is told this.
    pub fn new(me: NodeId, plan: impl Into<Arc<Plan>>) -> Self {
        let plan: Arc<Plan> = plan.into();
        let hop = plan.bounds.message + plan.bounds.processing.times(BACKLOG * plan.group.len() as u64);
        let (group, ranking) = (plan.group.clone(), plan.ranking.clone());
        let place = Place { me, group, ranking, hop: hop.max(LEAST_HOP) };
        Self { place: Fixed::new(place), phase: Phase::Idle, floor: Epoch::default() }
    }

    fn boot(&mut self, floor: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.floor = floor;
        if incarnation > Incarnation::FIRST {
            self.seek("IN-1", out);
        }
    }

    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Idle | Phase::Member { .. } => self.seek("IN-1", out),
            Phase::Leading(ours) => {
                let members = core::mem::take(&mut ours.members);
                self.form("IN-12", members, out);
            }
            Phase::Seeking { .. } | Phase::Expecting | Phase::Joining(_) => {
                out.emit(Event::Refused(Refusal::AlreadyRunning));
            }
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = matches!(self.phase, Phase::Leading(_));
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// IN-1, IN-5 and IN-11.
    fn seek(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("is alone, and asks who coordinates a group"));
        out.emit(Event::Began { epoch: self.floor });
        self.enter(Phase::Seeking { found: BTreeMap::new(), is_outranked: false }, SEEK, out);
        if self.place.group.len() == 1 {
            return self.end_search(out);
        }
        out.multicast(&self.place.group, Message::Check { floor: self.floor });
    }

    fn hear(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        if from == self.place.me || !self.place.group.contains(from) || message.epoch() > Epoch::LARGEST {
            return;
        }
        match message {
            Message::Check { .. } if self.outranks(from, self.place.me) => self.admit(from, out),
            Message::Check { floor } => self.meet(from, floor, out),
            Message::Found { floor } => self.note_found(from, floor, out),
            Message::Invitation { leader, epoch } => self.consider(from, Membership { leader, epoch }, out),
            Message::Accept { epoch } => self.take_in(from, epoch, out),
            Message::Ready { epoch } => self.arrive(Membership { leader: from, epoch }, out),
            Message::Query { epoch } => self.reassure(from, epoch, out),
            Message::Here { epoch } => self.be_reassured(Membership { leader: from, epoch }),
            Message::Gone { epoch } => self.lose(from, Some(epoch), out),
        }
    }

    /// IN-2. A member leaves it to its coordinator, which was asked too. If it is its coordinator that asks, that one has lost its group.
    fn admit(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Idle => {
                out.emit(Event::Began { epoch: self.floor });
                self.enter(Phase::Expecting, EXPECT, out);
            }
            Phase::Seeking { is_outranked, .. } => *is_outranked = true,
            Phase::Joining(of) | Phase::Member { of, .. } if of.leader != from => return,
            Phase::Expecting | Phase::Leading(_) | Phase::Joining(_) | Phase::Member { .. } => {}
        }
        out.note("IN-2", format_args!("lets {from} know of it"));
        out.send(from, Message::Found { floor: self.floor });
    }

    /// IN-3.
    fn meet(&mut self, from: NodeId, floor: Epoch, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Idle {
            self.seek("IN-3", out);
        }
        self.note_found(from, floor, out);
    }

    /// IN-3. Somebody coordinates a group, be it of itself alone.
    fn note_found(&mut self, from: NodeId, floor: Epoch, out: &mut Effects<'_, Self>) {
        if self.outranks(from, self.place.me) {
            return;
        }
        match &mut self.phase {
            Phase::Seeking { found, .. } => {
                found.insert(from, floor);
            }
            Phase::Leading(ours) if floor > ours.epoch => {
                let mut all = core::mem::take(&mut ours.members);
                all.insert(from);
                self.floor = self.floor.max(floor);
                self.form("IN-12", all, out);
            }
            Phase::Leading(ours) => {
                ours.members.remove(&from);
                out.note("IN-3", format_args!("invites {from}"));
                out.send(from, Message::Invitation { leader: self.place.me, epoch: ours.epoch });
            }
            Phase::Idle | Phase::Expecting | Phase::Joining(_) | Phase::Member { .. } => {}
        }
    }

    fn end_search(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Seeking { found, is_outranked } = &mut self.phase else { return };
        if *is_outranked {
            // IN-5.
            out.note("IN-5", format_args!("waits to be invited"));
            return self.enter(Phase::Expecting, EXPECT, out);
        }
        let found = core::mem::take(found);
        let latest = found.values().copied().max().unwrap_or_default();
        self.floor = self.floor.max(latest);
        self.form("IN-4", found.into_keys().collect(), out);
    }

    /// IN-4 and IN-12. The epoch is this node's alone, and on its disk before anybody hears of it.
    fn form(&mut self, rule: &'static str, invited: BTreeSet<NodeId>, out: &mut Effects<'_, Self>) {
        let (me, epoch) = (self.place.me, self.next());
        self.rise(epoch, out);
        out.note(rule, format_args!("forms a group in epoch {epoch}, and invites {}", invited.len()));
        out.emit(Event::elected(me, epoch));
        if !invited.is_empty() {
            let to = invited.iter().copied().collect();
            out.multicast(&to, Message::Invitation { leader: me, epoch });
        }
        self.enter(Phase::Leading(Following { epoch, members: BTreeSet::new() }), WATCH, out);
    }

    /// IN-6. Whoever is in a group leaves it only for a higher coordinator, for a later epoch of its own one, or because its own one says so.
    fn consider(&mut self, from: NodeId, to: Membership, out: &mut Effects<'_, Self>) {
        let Membership { leader, epoch } = to;
        if !self.place.group.contains(leader) || !self.outranks(leader, self.place.me) {
            return;
        }
        let is_welcome = match &self.phase {
            Phase::Idle | Phase::Seeking { .. } | Phase::Expecting | Phase::Leading(_) => from == leader,
            Phase::Joining(present) | Phase::Member { of: present, .. } => {
                from == leader && (leader == present.leader || self.outranks(leader, present.leader))
                    || from == present.leader
            }
        };
        if !is_welcome {
            return out.note("IN-6", format_args!("does not leave its group for that of {leader}"));
        }
        match &self.phase {
            Phase::Joining(present) | Phase::Member { of: present, .. } if *present == to => {
                // Its acceptance may have been lost.
                out.send(leader, Message::Accept { epoch });
            }
            Phase::Joining(_) | Phase::Member { .. } if epoch <= self.floor => {}
            Phase::Idle | Phase::Seeking { .. } | Phase::Expecting | Phase::Leading(_) if epoch < self.floor => {
                out.note("IN-6", format_args!("cannot be in epoch {epoch}: it was in {} already", self.floor));
                out.send(leader, Message::Found { floor: self.floor });
            }
            Phase::Idle
            | Phase::Seeking { .. }
            | Phase::Expecting
            | Phase::Leading(_)
            | Phase::Joining(_)
            | Phase::Member { .. } => self.accept(to, out),
        }
    }

    /// IN-6.
    fn accept(&mut self, to: Membership, out: &mut Effects<'_, Self>) {
        let Membership { leader, epoch } = to;
        self.rise(epoch, out);
        out.note("IN-6", format_args!("accepts the invitation of {leader} to epoch {epoch}"));
        out.emit(Event::Began { epoch });
        out.send(leader, Message::Accept { epoch });
        if let Phase::Leading(ours) = &self.phase {
            let members: Group = ours.members.iter().copied().collect();
            if !members.is_empty() {
                out.multicast(&members, Message::Invitation { leader, epoch });
            }
        }
        self.enter(Phase::Joining(to), JOIN, out);
    }

    /// IN-7. Whoever accepts too late is told how things are now.
    fn take_in(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let is_lower = self.outranks(self.place.me, from);
        let Phase::Leading(ours) = &mut self.phase else { return self.reassure(from, epoch, out) };
        if ours.epoch != epoch || !is_lower {
            return self.reassure(from, epoch, out);
        }
        ours.members.insert(from);
        out.note("IN-7", format_args!("takes {from} into its group"));
        out.send(from, Message::Ready { epoch });
    }

    /// IN-8.
    fn arrive(&mut self, of: Membership, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Joining(of) {
            out.note("IN-8", format_args!("is in the group of {}", of.leader));
            out.emit(Event::elected(of.leader, of.epoch));
            self.enter(Phase::Member { of, asked: 0 }, WATCH, out);
        }
    }

    /// IN-9.
    fn watch(&mut self, out: &mut Effects<'_, Self>) {
        let Place { me, group, hop, .. } = &*self.place.clone();
        match &mut self.phase {
            Phase::Member { of: Membership { leader, .. }, asked: PATIENCE } => {
                out.note("IN-11", format_args!("has not heard of {leader} for long"));
                return self.seek("IN-11", out);
            }
            Phase::Member { of: Membership { leader, epoch }, asked } => {
                *asked += 1;
                out.send(*leader, Message::Query { epoch: *epoch });
            }
            Phase::Leading(ours) => {
                let outside: Group = group.others(*me).filter(|node| !ours.members.contains(node)).collect();
                if !outside.is_empty() {
                    out.multicast(&outside, Message::Check { floor: ours.epoch });
                }
            }
            Phase::Idle | Phase::Seeking { .. } | Phase::Expecting | Phase::Joining(_) => return,
        }
        out.set_timer(Timer::Watch, Span::exactly(hop.times(WATCH)));
    }

    /// IN-10.
    fn reassure(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let me = self.place.me;
        if self.outranks(from, me) {
            return;
        }
        match &mut self.phase {
            Phase::Leading(ours) if ours.epoch == epoch => {
                ours.members.insert(from);
                out.send(from, Message::Here { epoch });
            }
            Phase::Leading(ours) if ours.epoch > epoch => {
                out.note("IN-10", format_args!("invites {from}, which is in epoch {epoch}, to {}", ours.epoch));
                out.send(from, Message::Invitation { leader: me, epoch: ours.epoch });
            }
            Phase::Idle
            | Phase::Seeking { .. }
            | Phase::Expecting
            | Phase::Joining(_)
            | Phase::Member { .. }
            | Phase::Leading(_) => {
                out.note("IN-10", format_args!("tells {from} that the group of epoch {epoch} is gone"));
                out.send(from, Message::Gone { epoch });
            }
        }
    }

    fn be_reassured(&mut self, by: Membership) {
        if let Phase::Member { of, asked } = &mut self.phase
            && *of == by
        {
            *asked = 0;
        }
    }

    /// IN-11. A coordinator is gone: a group of this epoch, or all of them.
    fn lose(&mut self, node: NodeId, lost: Option<Epoch>, out: &mut Effects<'_, Self>) {
        let (Phase::Joining(of) | Phase::Member { of, .. }) = &self.phase else { return };
        if of.leader == node && lost.is_none_or(|epoch| epoch == of.epoch) {
            self.seek("IN-11", out);
        }
    }

    fn outranks(&self, node: NodeId, other: NodeId) -> bool {
        self.place.ranking.of(node) > self.place.ranking.of(other)
    }

    fn next(&self) -> Epoch {
        let size = self.place.group.len().max(1) as u64;
        let place = self.place.group.iter().position(|node| node == self.place.me).unwrap_or_default() as u64;
        let count = self.floor.0 / size + 1;
        Epoch(count.saturating_mul(size).saturating_add(place))
    }

    fn rise(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.floor = epoch;
        out.save(epoch);
    }

    fn enter(&mut self, phase: Phase, hops: u64, out: &mut Effects<'_, Self>) {
        let (before, after) = (self.phase.timer(), phase.timer());
        if let Some(timer) = before.filter(|timer| after != Some(*timer)) {
            out.cancel_timer(timer);
        }
        if let Some(timer) = after {
            out.set_timer(timer, Span::exactly(self.place.hop.times(hops)));
        }
        self.phase = phase;
    }
}
