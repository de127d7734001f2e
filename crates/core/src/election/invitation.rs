//! The invitation algorithm (Garcia-Molina 1982).
//!
//! Without a bound on time no node can tell a dead node from a slow one, and two sides of a
//! partition cannot agree. So the nodes form several groups, each led by a coordinator, and two
//! groups that can communicate merge. A node that loses its coordinator is a group of its own until
//! another coordinator invites it. If all live nodes can communicate, one group remains in the end.
//! One node is higher than another if it has the greater rank.
//!
//! ```text
//! IN-1   the client campaigns, or this node
//!        restarts                           → seek: ask every node whether it coordinates a group
//! IN-2   a higher coordinator asks          → answer if this node coordinates a group, even of
//!                                             itself alone, or is a member of the asker's group
//! IN-3   a lower coordinator asks           → a coordinator invites it; a node that has not taken
//!                                             part yet seeks first
//! IN-4   this node seeks, and no higher
//!        node asks or invites it in time    → form a group with a new epoch, and invite the lower
//!                                             coordinators found
//! IN-5   this node seeks, and a higher node
//!        asks it                            → wait for an invitation, and seek again if none
//!                                             arrives
//! IN-6   a higher coordinator invites       → accept, and forward the invitation to the members of
//!                                             its own group
//! IN-7   a node accepts this node's
//!        invitation                         → add it to the group, and send it a ready message
//! IN-8   a ready message arrives            → be a member of the group: its coordinator leads
//! IN-9   periodically                       → a coordinator asks nodes outside its group whether
//!                                             they coordinate; a member asks its coordinator
//!                                             whether it still leads
//! IN-10  a member asks whether this node
//!        still leads                        → confirm, or invite it to the group's new epoch, or
//!                                             report that the group is gone
//! IN-11  the coordinator is gone, suspected
//!        or silent for too long             → seek
//! IN-12  a joiner knows a later epoch, or
//!        a coordinator's client campaigns   → take an even later one, and invite all members to it
//! ```
//!
//! Cost: 3(n−1) messages among n live nodes, for any number of starters, if no message exceeds its
//! timeout: an invitation, its acceptance and a ready message for each node but the leader. Seeking
//! and the periodic questions are control messages.
//!
//! Assumes: nothing about time or links; saves are durable. To end with one group, all live nodes
//! must be able to communicate for long enough, and answer within the timeouts.
//!
//! When it fails: during a partition each side has a leader, by design. Timeouts that are too short
//! make members leave and join again. An epoch never has two leaders: it is a counter times the
//! number of nodes plus the index of its coordinator, and a node's counter grows across its
//! incarnations.
//!
//! Departs from the paper: a group that grows keeps its epoch unless a joiner knows a later one, so
//! that its members are not disturbed. Only a higher coordinator invites a lower one, whichever
//! found the other. So the highest node leads in the end, and no two coordinators invite each other
//! at once; the paper avoids that by delays that depend on the rank.

mod facts;
mod message;
#[cfg(test)]
mod tests;

pub use facts::FACTS;
pub use message::{Message, SavedEpoch, Timer};

use super::{Command, Event, Plan, Ranking, Refusal};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

/// A node of the invitation algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Invitation {
    config: Fixed<Config>,
    phase: Phase,
    /// The largest epoch of a group that this node formed or joined, in all its incarnations.
    latest_epoch: Epoch,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    all_nodes: Group,
    ranking: Ranking,
    /// Expected time of a message, including processing.
    hop: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The node has not taken part in an election yet.
    Idle,
    /// The node is alone, and asks which other nodes coordinate a group.
    Seeking {
        /// Lower nodes that coordinate a group, each with the largest epoch that it was in.
        found: BTreeMap<NodeId, Epoch>,
        /// Whether a higher node has asked meanwhile.
        is_outranked: bool,
    },
    /// The node is alone, and waits for the invitation of a higher coordinator.
    AwaitingInvitation,
    /// The node has accepted an invitation.
    Joining(GroupId),
    /// The node is a member of another node's group.
    Member {
        group_id: GroupId,
        /// Number of questions to the coordinator since its last answer.
        unanswered: u8,
    },
    /// The node coordinates a group.
    Leading(OwnGroup),
}

/// Identifies a group by its coordinator and its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct GroupId {
    leader: NodeId,
    epoch: Epoch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OwnGroup {
    epoch: Epoch,
    /// The nodes that have accepted, without this one.
    members: BTreeSet<NodeId>,
}

impl Phase {
    /// Returns the timer that is set during this phase.
    const fn timer(&self) -> Option<Timer> {
        match self {
            Self::Idle => None,
            Self::Seeking { .. } => Some(Timer::Found),
            Self::AwaitingInvitation => Some(Timer::Invitation),
            Self::Joining(_) => Some(Timer::Ready),
            Self::Member { .. } | Self::Leading(_) => Some(Timer::Watch),
        }
    }
}

/// Timeout of a search, in hops: one for this node's question, one for the answer, or for the
/// question of a higher node that now seeks, and one in reserve.
const SEEK_HOPS: u64 = 3;
/// Timeout for an invitation, in hops: the higher node may have to seek before it invites.
const INVITATION_HOPS: u64 = 8;
/// Timeout of joining, in hops: twice the time of an acceptance and its answer.
const JOIN_HOPS: u64 = 4;
/// Interval in hops between periodic questions.
const WATCH_HOPS: u64 = 8;
/// Maximum number of consecutive unanswered questions.
const MAX_UNANSWERED: u8 = 3;
/// Expected maximum number of inputs from each other node that wait in a node's queue before a
/// given input.
const BACKLOG: u64 = 4;
/// Lower bound of `Config::hop`, so that other inputs can occur between two timers even if messages
/// take no time.
const MINIMUM_HOP: Duration = Duration::from_micros(1);

impl Protocol for Invitation {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = SavedEpoch;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: SavedEpoch(latest_epoch), incarnation } => {
                self.boot(latest_epoch, incarnation, out);
            }
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message } => self.receive(from, message, out),
            Input::Timer(Timer::Found) => self.end_search(out),
            Input::Timer(Timer::Invitation) => self.seek("IN-5", out),
            Input::Timer(Timer::Ready) => self.seek("IN-11", out),
            Input::Timer(Timer::Watch) => self.ask_periodically(out),
            Input::Suspect(node) => self.lose_coordinator(node, None, out),
            // A node that restarts asks every node, and coordinators ask periodically, so the
            // detector's trust is not needed.
            Input::Trust(_)
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl Invitation {
    /// Creates a node of a group with this plan.
    pub fn new(me: NodeId, plan: impl Into<Arc<Plan>>) -> Self {
        let plan: Arc<Plan> = plan.into();
        let hop = plan.bounds.message + plan.bounds.processing.times(BACKLOG * plan.group.len() as u64);
        let (all_nodes, ranking) = (plan.group.clone(), plan.ranking.clone());
        let config = Config { me, all_nodes, ranking, hop: hop.max(MINIMUM_HOP) };
        Self { config: Fixed::new(config), phase: Phase::Idle, latest_epoch: Epoch::default() }
    }

    fn boot(&mut self, latest_epoch: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.latest_epoch = latest_epoch;
        if incarnation > Incarnation::FIRST {
            self.seek("IN-1", out);
        }
    }

    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Idle | Phase::Member { .. } => self.seek("IN-1", out),
            Phase::Leading(own_group) => {
                let members = core::mem::take(&mut own_group.members);
                self.form_group("IN-12", members, out);
            }
            Phase::Seeking { .. } | Phase::AwaitingInvitation | Phase::Joining(_) => {
                out.emit(Event::Refused(Refusal::AlreadyRunning));
            }
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let is_leader = matches!(self.phase, Phase::Leading(_));
        out.emit(Event::Refused(if is_leader { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// IN-1, IN-3, IN-5 and IN-11. Starts a search; in a group of one, ends it at once. `rule` is
    /// the id of the rule that requires the search.
    fn seek(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("is alone, and asks which nodes coordinate a group"));
        out.emit(Event::Began { epoch: self.latest_epoch });
        self.enter_phase(Phase::Seeking { found: BTreeMap::new(), is_outranked: false }, SEEK_HOPS, out);
        if self.config.all_nodes.len() == 1 {
            return self.end_search(out);
        }
        out.multicast(&self.config.all_nodes, Message::Check { latest_epoch: self.latest_epoch });
    }

    fn receive(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        if from == self.config.me || !self.config.all_nodes.contains(from) || message.epoch() > Epoch::MAX {
            return;
        }
        match message {
            Message::Check { .. } if self.outranks(from, self.config.me) => self.answer_higher(from, out),
            Message::Check { latest_epoch } => self.answer_lower(from, latest_epoch, out),
            Message::Found { latest_epoch } => self.add_or_invite(from, latest_epoch, out),
            Message::Invitation { leader, epoch } => self.consider_invitation(from, GroupId { leader, epoch }, out),
            Message::Accept { epoch } => self.add_member(from, epoch, out),
            Message::Ready { epoch } => self.become_member(GroupId { leader: from, epoch }, out),
            Message::Query { epoch } => self.answer_query(from, epoch, out),
            Message::Confirm { epoch } => self.receive_confirmation(GroupId { leader: from, epoch }),
            Message::Gone { epoch } => self.lose_coordinator(from, Some(epoch), out),
        }
    }

    /// IN-2. A member does not answer, because `from` asked its coordinator too. If the coordinator
    /// itself asks, it no longer counts this node as a member, so this node answers.
    fn answer_higher(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Idle => {
                out.emit(Event::Began { epoch: self.latest_epoch });
                self.enter_phase(Phase::AwaitingInvitation, INVITATION_HOPS, out);
            }
            Phase::Seeking { is_outranked, .. } => *is_outranked = true,
            Phase::Joining(group_id) | Phase::Member { group_id, .. } if group_id.leader != from => return,
            Phase::AwaitingInvitation | Phase::Leading(_) | Phase::Joining(_) | Phase::Member { .. } => {}
        }
        out.note("IN-2", format_args!("answers {from}"));
        out.send(from, Message::Found { latest_epoch: self.latest_epoch });
    }

    /// IN-3.
    fn answer_lower(&mut self, from: NodeId, latest_epoch: Epoch, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Idle {
            self.seek("IN-3", out);
        }
        self.add_or_invite(from, latest_epoch, out);
    }

    /// IN-3. A lower node, `from`, coordinates a group, perhaps of itself alone. A node that seeks
    /// remembers it. A coordinator invites it, to a new epoch if `from` knows a later one than the
    /// coordinator's (IN-12), and does not count it as a member until it accepts. Does nothing in
    /// other phases, or if `from` ranks higher.
    fn add_or_invite(&mut self, from: NodeId, latest_epoch: Epoch, out: &mut Effects<'_, Self>) {
        if self.outranks(from, self.config.me) {
            return;
        }
        match &mut self.phase {
            Phase::Seeking { found, .. } => {
                found.insert(from, latest_epoch);
            }
            Phase::Leading(own_group) if latest_epoch > own_group.epoch => {
                let mut invited = core::mem::take(&mut own_group.members);
                invited.insert(from);
                self.latest_epoch = self.latest_epoch.max(latest_epoch);
                self.form_group("IN-12", invited, out);
            }
            Phase::Leading(own_group) => {
                own_group.members.remove(&from);
                out.note("IN-3", format_args!("invites {from}"));
                out.send(from, Message::Invitation { leader: self.config.me, epoch: own_group.epoch });
            }
            Phase::Idle | Phase::AwaitingInvitation | Phase::Joining(_) | Phase::Member { .. } => {}
        }
    }

    /// IN-4 and IN-5. Ends a search.
    fn end_search(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Seeking { found, is_outranked } = &mut self.phase else { return };
        if *is_outranked {
            out.note("IN-5", format_args!("waits for an invitation"));
            return self.enter_phase(Phase::AwaitingInvitation, INVITATION_HOPS, out);
        }
        let found = core::mem::take(found);
        let latest_found = found.values().copied().max().unwrap_or_default();
        self.latest_epoch = self.latest_epoch.max(latest_found);
        self.form_group("IN-4", found.into_keys().collect(), out);
    }

    /// IN-4 and IN-12. Forms a group in a new epoch, which is unique to this node and is saved
    /// before any message carries it.
    fn form_group(&mut self, rule: &'static str, invited: BTreeSet<NodeId>, out: &mut Effects<'_, Self>) {
        let (me, epoch) = (self.config.me, self.next_epoch());
        self.save_epoch(epoch, out);
        out.note(rule, format_args!("forms a group in epoch {epoch}, and invites {} nodes", invited.len()));
        out.emit(Event::elected(me, epoch));
        if !invited.is_empty() {
            let to = invited.iter().copied().collect();
            out.multicast(&to, Message::Invitation { leader: me, epoch });
        }
        self.enter_phase(Phase::Leading(OwnGroup { epoch, members: BTreeSet::new() }), WATCH_HOPS, out);
    }

    /// IN-6. A member leaves its group only for a higher coordinator, for a later epoch of its
    /// coordinator, or if its coordinator forwards an invitation. In all cases the offered epoch
    /// must be later than those that the member was in. Any other node accepts an invitation only
    /// from the coordinator itself, and reports its latest epoch if the offered one is earlier.
    fn consider_invitation(&mut self, from: NodeId, offer: GroupId, out: &mut Effects<'_, Self>) {
        let GroupId { leader, epoch } = offer;
        if !self.config.all_nodes.contains(leader) || !self.outranks(leader, self.config.me) {
            return;
        }
        let may_join = match &self.phase {
            Phase::Idle | Phase::Seeking { .. } | Phase::AwaitingInvitation | Phase::Leading(_) => from == leader,
            Phase::Joining(current) | Phase::Member { group_id: current, .. } => {
                from == leader && (leader == current.leader || self.outranks(leader, current.leader))
                    || from == current.leader
            }
        };
        if !may_join {
            return out.note("IN-6", format_args!("does not leave its group for that of {leader}"));
        }
        match &self.phase {
            Phase::Joining(current) | Phase::Member { group_id: current, .. } if *current == offer => {
                // The first acceptance may have been lost.
                out.send(leader, Message::Accept { epoch });
            }
            Phase::Joining(_) | Phase::Member { .. } if epoch <= self.latest_epoch => {}
            Phase::Idle | Phase::Seeking { .. } | Phase::AwaitingInvitation | Phase::Leading(_)
                if epoch < self.latest_epoch =>
            {
                out.note(
                    "IN-6",
                    format_args!("cannot join epoch {epoch}: it was in epoch {} already", self.latest_epoch),
                );
                out.send(leader, Message::Found { latest_epoch: self.latest_epoch });
            }
            Phase::Idle
            | Phase::Seeking { .. }
            | Phase::AwaitingInvitation
            | Phase::Leading(_)
            | Phase::Joining(_)
            | Phase::Member { .. } => self.accept(offer, out),
        }
    }

    /// IN-6.
    fn accept(&mut self, offer: GroupId, out: &mut Effects<'_, Self>) {
        let GroupId { leader, epoch } = offer;
        self.save_epoch(epoch, out);
        out.note("IN-6", format_args!("accepts the invitation of {leader} to epoch {epoch}"));
        out.emit(Event::Began { epoch });
        out.send(leader, Message::Accept { epoch });
        if let Phase::Leading(own_group) = &self.phase {
            let members: Group = own_group.members.iter().copied().collect();
            if !members.is_empty() {
                out.multicast(&members, Message::Invitation { leader, epoch });
            }
        }
        self.enter_phase(Phase::Joining(offer), JOIN_HOPS, out);
    }

    /// IN-7. A node that accepts too late gets the answer of IN-10 instead.
    fn add_member(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let is_lower = self.outranks(self.config.me, from);
        let Phase::Leading(own_group) = &mut self.phase else { return self.answer_query(from, epoch, out) };
        if own_group.epoch != epoch || !is_lower {
            return self.answer_query(from, epoch, out);
        }
        own_group.members.insert(from);
        out.note("IN-7", format_args!("adds {from} to its group"));
        out.send(from, Message::Ready { epoch });
    }

    /// IN-8.
    fn become_member(&mut self, group_id: GroupId, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Joining(group_id) {
            out.note("IN-8", format_args!("is a member of the group of {}", group_id.leader));
            out.emit(Event::elected(group_id.leader, group_id.epoch));
            self.enter_phase(Phase::Member { group_id, unanswered: 0 }, WATCH_HOPS, out);
        }
    }

    /// IN-9. A member whose coordinator has left too many questions unanswered seeks (IN-11).
    fn ask_periodically(&mut self, out: &mut Effects<'_, Self>) {
        let Config { me, all_nodes, hop, .. } = &*self.config.clone();
        match &mut self.phase {
            Phase::Member { group_id: GroupId { leader, .. }, unanswered: MAX_UNANSWERED } => {
                out.note("IN-11", format_args!("has not received an answer of {leader} for long"));
                return self.seek("IN-11", out);
            }
            Phase::Member { group_id: GroupId { leader, epoch }, unanswered } => {
                *unanswered += 1;
                out.send(*leader, Message::Query { epoch: *epoch });
            }
            Phase::Leading(own_group) => {
                let outside: Group = all_nodes.others(*me).filter(|node| !own_group.members.contains(node)).collect();
                if !outside.is_empty() {
                    out.multicast(&outside, Message::Check { latest_epoch: own_group.epoch });
                }
            }
            Phase::Idle | Phase::Seeking { .. } | Phase::AwaitingInvitation | Phase::Joining(_) => return,
        }
        out.set_timer(Timer::Watch, Span::exactly(hop.times(WATCH_HOPS)));
    }

    /// IN-10. Answers `from`, which accepts or asks about `epoch` of this node's group. If this
    /// node confirms, it counts `from` as a member. Ignores higher nodes.
    fn answer_query(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let me = self.config.me;
        if self.outranks(from, me) {
            return;
        }
        match &mut self.phase {
            Phase::Leading(own_group) if own_group.epoch == epoch => {
                own_group.members.insert(from);
                out.send(from, Message::Confirm { epoch });
            }
            Phase::Leading(own_group) if own_group.epoch > epoch => {
                out.note("IN-10", format_args!("invites {from}, in epoch {epoch}, to epoch {}", own_group.epoch));
                out.send(from, Message::Invitation { leader: me, epoch: own_group.epoch });
            }
            Phase::Idle
            | Phase::Seeking { .. }
            | Phase::AwaitingInvitation
            | Phase::Joining(_)
            | Phase::Member { .. }
            | Phase::Leading(_) => {
                out.note("IN-10", format_args!("reports to {from} that the group of epoch {epoch} is gone"));
                out.send(from, Message::Gone { epoch });
            }
        }
    }

    fn receive_confirmation(&mut self, confirmed: GroupId) {
        if let Phase::Member { group_id, unanswered } = &mut self.phase
            && *group_id == confirmed
        {
            *unanswered = 0;
        }
    }

    /// IN-11. Seeks if this node joins or belongs to the group of coordinator `node` in epoch
    /// `gone_epoch`, which is gone; `None` means any epoch.
    fn lose_coordinator(&mut self, node: NodeId, gone_epoch: Option<Epoch>, out: &mut Effects<'_, Self>) {
        let (Phase::Joining(group_id) | Phase::Member { group_id, .. }) = &self.phase else { return };
        if group_id.leader == node && gone_epoch.is_none_or(|epoch| epoch == group_id.epoch) {
            self.seek("IN-11", out);
        }
    }

    fn outranks(&self, node: NodeId, other: NodeId) -> bool {
        self.config.ranking.rank_of(node) > self.config.ranking.rank_of(other)
    }

    /// Returns an epoch later than `latest_epoch` that only this node uses: a multiple of the
    /// number of nodes plus the node's index.
    fn next_epoch(&self) -> Epoch {
        let size = self.config.all_nodes.len().max(1) as u64;
        let index = self.config.all_nodes.iter().position(|node| node == self.config.me).unwrap_or_default() as u64;
        let count = self.latest_epoch.0 / size + 1;
        Epoch(count.saturating_mul(size).saturating_add(index))
    }

    /// Records and saves the epoch of a group that this node forms or joins.
    fn save_epoch(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.latest_epoch = epoch;
        out.save(epoch);
    }

    /// Changes the phase, cancels the timer of the old one, and sets that of the new one to the
    /// time of `hops` messages.
    fn enter_phase(&mut self, phase: Phase, hops: u64, out: &mut Effects<'_, Self>) {
        let (before, after) = (self.phase.timer(), phase.timer());
        if let Some(timer) = before.filter(|timer| after != Some(*timer)) {
            out.cancel_timer(timer);
        }
        if let Some(timer) = after {
            out.set_timer(timer, Span::exactly(self.config.hop.times(hops)));
        }
        self.phase = phase;
    }
}
