//! Voting in a distributed hash table (Lin, Lian, Chen, Zhang 2004).
//!
//! A resource has n replicas, and the name of each determines the node that votes for it: replica 2
//! of `printer` is `printer-2`, and a hash of that name selects the node. A node with the votes of
//! m replicas, more than half of them, is alone in the critical section. A voter that has voted for
//! another request denies immediately, and a node that cannot get m votes returns those it has,
//! waits for a random time and asks again. Nothing is saved: a restarted voter has forgotten its
//! votes, and mutual exclusion is certain only as long as fewer than 2m−n of the votes of one entry
//! are forgotten.
//!
//! ```text
//! VO-1  the client asks to enter  → request every replica's vote, beginning with our own
//!                                   (sequential: one after the other, in order, until there are m)
//! VO-2  a vote request arrives    → give the vote if it is free, or if an earlier request of the
//!                                   same node, which must have ended, has it; else deny it
//! VO-3  m votes have arrived      → enter
//! VO-4  the client releases       → return every vote
//! VO-5  a vote is returned        → it is free again
//! VO-6  m votes are out of reach  → return every vote, wait for a random time that grows each
//!                                   time, and ask again
//! VO-7  the client cancels        → return every vote
//! VO-8  a vote arrives too late   → return it
//! VO-9  a try cannot get m votes  → deny it, and end it like VO-7
//! ```
//!
//! Cost: 2n messages per attempt, and one for each returned vote: 3n for an entry alone;
//! sequential: 2m per attempt and m to return the votes, 2mk+m for k attempts by the usual count. A
//! node's own votes take no message. 2T (two message times) from request to entry (sequential: 2mT,
//! less 2T for each vote of its own), and 2T more for each further attempt, plus the waiting times
//! between. At least T from a release to the next entry, plus the remaining waiting time of the
//! next node.
//!
//! Assumes: no voter restarts; every message arrives once, in any order. Every request is granted
//! eventually only with probability 1: concurrent requests may keep votes from each other again and
//! again. No order is promised.
//!
//! When it fails: a restarted voter may vote a second time, and once 2m−n of the votes of an entry
//! are forgotten, a second node may enter. A crashed idle node does no harm to nodes with m votes
//! of others; but a node that asked it waits for its answer, holding votes that others need, and
//! usually all nodes are blocked in the end. A crashed holder blocks all others until it requests
//! again. Lost messages may block the nodes that wait for them.
//!
//! Try: one attempt, decided within 2T (sequential: 2nT).
//!
//! In views: a member reports the state of its client. Replicas are placed anew, as many as the new
//! view has members, and more than half of the votes admit. The node in the critical section begins
//! with all votes, and waiting nodes begin a first attempt.
//!
//! Departs from the textbook: a vote names its request and a turn, which changes when the vote is
//! returned, so that late votes, denials and returns do not affect the next turn. A voter treats a
//! later request of the same node as proof that the earlier one has ended. Votes and releases carry
//! the largest known fence.

mod bid;
mod facts;
mod placement;
mod views;

pub use bid::{Claim, Turn};
pub use facts::{FACTS, facts};
pub use placement::{Replica, place_replicas};

use super::prelude::*;
use super::vote::{Vote, VoteOutcome};
use crate::bounds::Bounds;
use crate::node::Incarnation;
use alloc::string::String;
use bid::{Answer, Bid};

/// The default resource. In no group of 2 to 100 nodes does one node vote for a majority of its
/// replicas.
pub const RESOURCE: &str = "plotter";

/// Lower bound for the unit of waiting times: however fast messages are, competing requests must be
/// able to miss each other.
const MIN_RETRY_UNIT: Duration = Duration::from_micros(1);

/// Upper bound for `max_extra_delay`, per replica: enough retry units for an attempt of every node,
/// if nodes request all votes at once.
const MAX_EXTRA_DELAY_PER_REPLICA: u64 = 4;

/// Returns the unit of waiting times: the maximum time of a round trip, but at least
/// [`MIN_RETRY_UNIT`].
fn retry_unit(bounds: Bounds) -> Duration {
    bounds.round_trip().max(MIN_RETRY_UNIT)
}

/// Whether a node requests all votes at once or one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestMode {
    AllAtOnce,
    /// One vote after the other. All nodes use the same order, so that competing requests meet at
    /// the first replicas.
    Sequential,
}

/// A node of the algorithm, which votes for the replicas that are placed on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voting {
    config: Fixed<Config>,
    clock: Clock,
    /// The largest fence that this node knows.
    fence: Fence,
    phase: Phase<Waiting, Bid>,
    /// The votes that this node gives, one for each replica that is placed on it.
    votes: BTreeMap<Replica, Vote<Claim>>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    /// The name of the resource, which determines the voters in the next view.
    resource: String,
    /// The voter of each replica.
    replica_voters: Vec<NodeId>,
    /// The number of votes that suffice to enter.
    needed_votes: usize,
    request_mode: RequestMode,
    /// The unit of waiting times.
    retry_unit: Duration,
}

/// A request without enough votes so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    bid: Bid,
    patience: Patience,
    attempt: Attempt,
    /// The next waiting time is between one retry unit and this number of units more.
    max_extra_delay: u64,
}

/// The state of a waiting request's attempt to get enough votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Attempt {
    InProgress,
    /// The last attempt failed, and the next one begins when the timer fires.
    BackingOff,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To a voter: a request for the vote of this replica.
    Request { replica: Replica, claim: Claim },
    /// From a voter: the vote.
    Vote { replica: Replica, claim: Claim, fence: Fence },
    /// From a voter: another request has the vote, or an earlier attempt of the same request.
    Denied { replica: Replica, claim: Claim },
    /// To a voter: the vote is returned.
    Release { replica: Replica, claim: Claim, fence: Fence },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Vote { .. } => "vote",
            Self::Denied { .. } => "denied",
            Self::Release { .. } => "release",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { claim, .. }
            | Self::Vote { claim, .. }
            | Self::Denied { claim, .. }
            | Self::Release { claim, .. } => Some(claim.stamp.node),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The next attempt begins.
    Retry,
}

impl Protocol for Voting {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { incarnation, .. } => self.start(incarnation),
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.end("VO-7", Event::Cancelled, out),
                Intent::Release => self.end("VO-4", Event::Left, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => self.on_message(from, message, out),
            Input::Timer(Timer::Retry) => self.begin_attempt("VO-6", out),
            ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl Voting {
    /// An idle node of this group, for the default resource.
    pub fn new(me: NodeId, group: Group, request_mode: RequestMode, bounds: Bounds) -> Self {
        let needed_votes = group.majority();
        Self::with_votes(me, group, RESOURCE, needed_votes, request_mode, bounds)
    }

    /// An idle node of this group, which enters with `needed_votes` votes for the replicas of this
    /// resource. The caller must ensure that these are more than half of the replicas.
    pub fn with_votes(
        me: NodeId,
        group: Group,
        resource: &str,
        needed_votes: usize,
        request_mode: RequestMode,
        bounds: Bounds,
    ) -> Self {
        let replica_voters = place_replicas(resource, &group);
        Self::with_config(Config {
            me,
            group,
            resource: resource.into(),
            replica_voters,
            needed_votes,
            request_mode,
            retry_unit: retry_unit(bounds),
        })
    }

    /// An idle node of this group with an explicit voter for each replica. In its next view it uses
    /// the replicas of the default resource.
    pub fn with_voters(
        me: NodeId,
        group: Group,
        replica_voters: Vec<NodeId>,
        needed_votes: usize,
        request_mode: RequestMode,
        bounds: Bounds,
    ) -> Self {
        Self::with_config(Config {
            me,
            group,
            resource: RESOURCE.into(),
            replica_voters,
            needed_votes,
            request_mode,
            retry_unit: retry_unit(bounds),
        })
    }

    fn with_config(config: Config) -> Self {
        let ours = config.replica_voters.iter().enumerate().filter(|(_, voter)| **voter == config.me);
        let votes = ours.map(|(index, _)| (Replica::from_index(index), Vote::new())).collect();
        Self { config: Fixed::new(config), clock: Clock::default(), fence: Fence::default(), phase: Phase::Idle, votes }
    }

    /// Raises the clock, so that a restarted node does not reuse the stamps of earlier
    /// incarnations: each of the first 2³² incarnations has 2³² clock readings of its own.
    fn start(&mut self, Incarnation(incarnation): Incarnation) {
        self.clock.witness(Clock(incarnation << 32));
    }

    /// Handles a message of a peer or of this node itself. Ignores a claim that is not the sender's
    /// own, a claim of a nonmember, and an answer for a replica for which the sender does not vote.
    fn on_message(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Request { replica, claim } if self.is_claim_of(claim, from) => {
                self.on_request(replica, claim, out);
            }
            Message::Release { replica, claim, fence } if self.is_claim_of(claim, from) => {
                self.on_release(replica, claim, fence, out);
            }
            Message::Vote { replica, claim, fence } if self.voter_of(replica) == Some(from) => {
                self.on_vote(replica, claim, fence, out);
            }
            Message::Denied { replica, claim } if self.voter_of(replica) == Some(from) => {
                self.on_denial(replica, claim, out);
            }
            Message::Request { claim, .. } | Message::Release { claim, .. } => {
                out.note("VO-2", format_args!("ignores {claim} from {from}: not a member's own request"));
            }
            Message::Vote { replica, .. } | Message::Denied { replica, .. } => {
                out.note(
                    "VO-3",
                    format_args!("ignores an answer of {from}, which does not vote for replica {replica}"),
                );
            }
        }
    }

    /// Returns whether this is the claim of the sender's own request, and the sender is a member.
    fn is_claim_of(&self, claim: Claim, from: NodeId) -> bool {
        claim.stamp.node == from && self.config.group.contains(from)
    }

    fn voter_of(&self, replica: Replica) -> Option<NodeId> {
        self.config.replica_voters.get(replica.index()).copied()
    }

    /// VO-1.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = Stamp { clock: self.clock.tick(), node: self.config.me };
        let bid = Bid::new(stamp, self.config.replica_voters.len());
        // `begin_attempt` requires that no attempt is in progress.
        self.phase = Phase::Waiting(Waiting { bid, patience, attempt: Attempt::BackingOff, max_extra_delay: 1 });
        self.begin_attempt("VO-1", out);
    }

    /// VO-1 and VO-6. A voter that has not answered the last attempt is not asked again: its answer
    /// counts for the new attempt.
    fn begin_attempt(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(ours @ Waiting { attempt: Attempt::BackingOff, .. }) = &mut self.phase else { return };
        ours.attempt = Attempt::InProgress;
        for voter in ours.bid.voters.iter_mut().filter(|voter| voter.answer == Answer::Denied) {
            voter.answer = Answer::NotAsked;
        }
        let stamp = ours.bid.stamp;
        out.note(
            rule,
            format_args!(
                "requests {} of {} votes with {stamp}",
                self.config.needed_votes,
                self.config.replica_voters.len()
            ),
        );
        match self.config.request_mode {
            RequestMode::AllAtOnce => self.ask_all(out),
            RequestMode::Sequential => self.evaluate(out),
        }
    }

    /// VO-1. Our own votes need no message, and may be enough.
    fn ask_all(&mut self, out: &mut Effects<'_, Self>) {
        let config = self.config.clone();
        let is_ours = |index: &usize| config.replica_voters.get(*index) == Some(&config.me);
        let (ours, others): (Vec<_>, Vec<_>) = (0..config.replica_voters.len()).partition(is_ours);
        for index in ours.into_iter().chain(others) {
            self.ask(Replica::from_index(index), out);
        }
    }

    /// Requests a vote, unless it is requested already or the attempt has ended.
    fn ask(&mut self, replica: Replica, out: &mut Effects<'_, Self>) {
        let Some(voter) = self.voter_of(replica) else { return };
        let Phase::Waiting(Waiting { bid, attempt: Attempt::InProgress, .. }) = &mut self.phase else { return };
        let Some(claim) = bid.mark_asked(replica) else { return };
        self.send(voter, Message::Request { replica, claim }, out);
    }

    /// VO-2. A node makes one request after the other, so a later one proves that the earlier one
    /// has ended.
    fn on_request(&mut self, replica: Replica, claim: Claim, out: &mut Effects<'_, Self>) {
        let Some(vote) = self.votes.get_mut(&replica) else {
            return out.note("VO-2", format_args!("ignores {claim}: replica {replica} is not here"));
        };
        let to = claim.stamp.node;
        match vote.try_give(claim) {
            VoteOutcome::Given | VoteOutcome::Moved { .. } => {
                out.note("VO-2", format_args!("gives {claim} the vote of replica {replica}"));
                self.send(to, Message::Vote { replica, claim, fence: self.fence }, out);
            }
            VoteOutcome::Held { holder } => {
                out.note("VO-2", format_args!("denies {claim} the vote of replica {replica}: {holder} has it"));
                self.send(to, Message::Denied { replica, claim }, out);
            }
        }
    }

    /// VO-3, VO-8. A node that backs off leaves votes to others; the node in the critical section
    /// returns all on its release.
    fn on_vote(&mut self, replica: Replica, claim: Claim, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        let is_awaited = self.bid().is_some_and(|bid| bid.record_answer(replica, claim, Answer::Voted));
        match &mut self.phase {
            Phase::Waiting(Waiting { attempt: Attempt::InProgress, .. }) if is_awaited => return self.evaluate(out),
            Phase::Inside(_) if is_awaited => return,
            Phase::Waiting(Waiting { bid, .. }) if is_awaited => bid.mark_returned(replica),
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {}
        }
        out.note("VO-8", format_args!("does not need the vote of replica {replica} for {claim}"));
        self.return_vote(replica, claim, out);
    }

    /// VO-6, VO-9.
    fn on_denial(&mut self, replica: Replica, claim: Claim, out: &mut Effects<'_, Self>) {
        if self.bid().is_some_and(|bid| bid.record_answer(replica, claim, Answer::Denied)) {
            self.evaluate(out);
        }
    }

    /// Returns our waiting request or current entry.
    const fn bid(&mut self) -> Option<&mut Bid> {
        match &mut self.phase {
            Phase::Waiting(Waiting { bid, .. }) | Phase::Inside(bid) => Some(bid),
            Phase::Idle => None,
        }
    }

    /// VO-3, VO-6 and VO-9. An attempt ends as soon as its outcome is certain.
    fn evaluate(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, patience, attempt: Attempt::InProgress, .. }) = &self.phase else { return };
        let (votes, denials) = (bid.count_answers(Answer::Voted), bid.count_answers(Answer::Denied));
        match patience {
            _ if votes >= self.config.needed_votes => self.enter(out),
            Patience::Wait if bid.voters.len() - denials < self.config.needed_votes => self.back_off(out),
            Patience::Try if bid.voters.len() - denials < self.config.needed_votes => {
                self.end("VO-9", Event::Denied, out);
            }
            Patience::Wait | Patience::Try => self.ask_next(out),
        }
    }

    /// VO-1. In the sequential form, requests the next vote when the last one is answered.
    fn ask_next(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, .. }) = &self.phase else { return };
        if self.config.request_mode == RequestMode::Sequential
            && bid.count_answers(Answer::Pending) == 0
            && let Some(index) = bid.voters.iter().position(|voter| voter.answer == Answer::NotAsked)
        {
            self.ask(Replica::from_index(index), out);
        }
    }

    /// VO-3. The fence is larger than every fence that our voters know.
    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, .. }) = self.phase.end() else { return };
        out.note("VO-3", format_args!("has enough votes for {}", bid.stamp));
        self.fence = self.fence.next();
        self.phase = Phase::Inside(bid);
        out.emit(Event::entered(self.fence));
    }

    /// VO-6. Every waiting time is long enough for the returned votes to arrive.
    fn back_off(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, attempt, max_extra_delay, .. }) = &mut self.phase else { return };
        let unit = self.config.retry_unit;
        let span = Span::between(unit, unit.times(max_extra_delay.saturating_add(1)));
        out.note("VO-6", format_args!("cannot get {} votes for {}; waits {span}", self.config.needed_votes, bid.stamp));
        *attempt = Attempt::BackingOff;
        *max_extra_delay = max_extra_delay
            .saturating_mul(2)
            .min(MAX_EXTRA_DELAY_PER_REPLICA * self.config.replica_voters.len() as u64);
        let votes = bid.mark_all_returned();
        out.set_timer(Timer::Retry, span);
        for (replica, claim) in votes {
            self.return_vote(replica, claim, out);
        }
    }

    /// VO-4, VO-7 and VO-9. Votes in transit are returned when they arrive.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        let mut bid = match self.phase.end() {
            Phase::Waiting(Waiting { bid, attempt, .. }) => {
                if attempt == Attempt::BackingOff {
                    out.cancel_timer(Timer::Retry);
                }
                bid
            }
            Phase::Inside(bid) => bid,
            Phase::Idle => return,
        };
        out.emit(event);
        out.note(rule, format_args!("returns every vote for {}", bid.stamp));
        for (replica, claim) in bid.mark_all_returned() {
            self.return_vote(replica, claim, out);
        }
    }

    fn return_vote(&mut self, replica: Replica, claim: Claim, out: &mut Effects<'_, Self>) {
        if let Some(voter) = self.voter_of(replica) {
            self.send(voter, Message::Release { replica, claim, fence: self.fence }, out);
        }
    }

    /// VO-5. A voter that has restarted, or gave the vote to a later request, ignores the return.
    fn on_release(&mut self, replica: Replica, claim: Claim, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        if self.votes.get_mut(&replica).is_some_and(|vote| vote.take_back(claim)) {
            out.note("VO-5", format_args!("has the vote of replica {replica} back from {claim}"));
        } else {
            out.note(
                "VO-5",
                format_args!("ignores the return of {claim}, which does not have the vote of replica {replica}"),
            );
        }
    }

    /// Sends a message, or handles it directly if it is for this node.
    fn send(&mut self, node: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        if node == self.config.me {
            self.on_message(node, message, out);
        } else {
            out.send(node, message);
        }
    }

    fn assert_invariants(&self) {
        match &self.phase {
            Phase::Idle => {}
            Phase::Waiting(Waiting { bid, attempt: Attempt::BackingOff, .. }) => {
                debug_assert_eq!(bid.count_answers(Answer::Voted), 0, "a node that backs off keeps no vote");
            }
            Phase::Waiting(Waiting { bid, attempt: Attempt::InProgress, .. }) => {
                let (votes, denials) = (bid.count_answers(Answer::Voted), bid.count_answers(Answer::Denied));
                debug_assert!(votes < self.config.needed_votes, "a node with enough votes is in the critical section");
                debug_assert!(
                    bid.voters.len() - denials >= self.config.needed_votes,
                    "a node that cannot get enough votes backs off"
                );
            }
            Phase::Inside(bid) => {
                debug_assert!(
                    bid.count_answers(Answer::Voted) >= self.config.needed_votes,
                    "the node in the critical section has enough votes"
                );
            }
        }
    }
}

impl OneOfMany for Voting {
    floor_from_fields!(clock, fence);

    fn holds_only_floor(&self) -> bool {
        self.phase.is_idle() && self.votes.values().all(|vote| vote.holder().is_none())
    }
}

#[cfg(test)]
mod tests;
