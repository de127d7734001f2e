//! Voting in a distributed hash table (Lin, Lian, Chen, Zhang 2004).
//!
//! A resource has n replicas, and the name of each says which node votes for it: replica 2 of `printer` is `printer-2`, and
//! a hash of that name chooses the node. Whoever has the votes of m replicas, more than half of them, is inside alone.
//! A voter that has voted for another says so at once, and whoever cannot get m votes gives back those it has, waits for a
//! random while and asks again. Nothing is saved: a voter that restarts has forgotten its vote, and exclusion holds only
//! as long as fewer than 2m−n of the voters of one entry do so.
//!
//! ```text
//! VO-1  asked to enter            → ask for every replica's vote, first of all for those that are ours to give
//!                                   (sequential: for one after the other, in order, until there are m)
//! VO-2  asked for a vote          → give it if nobody has it, or if an earlier request of the same node does, because
//!                                   that is over; else deny it
//! VO-3  m votes are in            → enter
//! VO-4  asked to leave            → give every vote back
//! VO-5  a vote comes back         → it can be given again
//! VO-6  m votes are out of reach  → give every vote back, wait for a random while that grows each time, and ask again
//! VO-7  asked to give up          → give every vote back
//! VO-8  a vote comes too late     → give it back
//! VO-9  a try cannot have m votes → deny it, and end it like VO-7
//! ```
//!
//! Cost: 2n messages an attempt, and one for each vote that is given back: 3n for an entry alone; sequential: 2m an
//! attempt and m to give back, 2mk+m for k attempts as the book counts. Votes given by the asking node itself take no message.
//! 2T from asking to entering (sequential: 2mT, less 2T for each vote of its own), and 2T more for each further attempt,
//! with the waits between. At least T from a leave to the next entry, and then however long the next one still waits.
//!
//! Assumes: no voter restarts; every message arrives once, in any order. Everyone who asks enters sooner or later only
//! with probability 1: those who ask may keep votes from each other again and again. No order is promised.
//!
//! When it fails: a voter that restarts votes again although it has voted, and once 2m−n of the voters of an entry
//! have, a second node may enter. A dead idle node does no harm to those who have m votes of others; but whoever asked
//! it waits for its answer, with votes that others need, and mostly that stops everyone in the end. A dead holder stops
//! everyone else until it asks again. Lost messages may stop those who wait for them.
//!
//! Try: one attempt, answered within 2T (sequential: 2nT).
//!
//! In views: a member reports where its user stands. The replicas are placed anew, as many as the new view has members, and
//! more than half of them admit. The one inside begins with the votes of all, and those who wait begin a first attempt.
//!
//! Departs from the book: a vote names the request and the turn that it was asked for, so that votes, refusals and returns that
//! come late say nothing about the next one. A voter takes a later request of the same node as proof that the
//! earlier one is over. Votes and releases carry the largest fence known.

mod bid;
mod facts;
mod placement;
mod views;

pub use bid::{Claim, Turn};
pub use facts::{FACTS, facts};
pub use placement::{Replica, placement};

use super::ballot::{Asked, Ballot};
use super::prelude::*;
use crate::bounds::Bounds;
use crate::node::Incarnation;
use alloc::string::String;
use bid::{Bid, Standing};

/// The resource whose replicas are voted on unless another one is named. In no group does one node vote for most of them.
pub const RESOURCE: &str = "plotter";

/// However short messages take, those who compete must be able to miss each other.
const LEAST_WAIT: Duration = Duration::from_micros(1);

/// The unit of waits.
fn unit(bounds: Bounds) -> Duration {
    bounds.answer().max(LEAST_WAIT)
}

/// In which way votes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asks {
    All,
    /// One after the other. Everyone asks in the same order, so that those who compete meet at the first replicas.
    Sequential,
}

/// One node of the algorithm, which votes for the replicas that are placed on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voting {
    place: Fixed<Place>,
    clock: Clock,
    fence: Fence,
    phase: Phase<Waiting, Bid>,
    /// The votes that are ours to give.
    ballots: BTreeMap<Replica, Ballot<Claim>>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    /// Whose replicas they are: that says who votes for them in the next view.
    resource: String,
    hosts: Vec<NodeId>,
    needed: usize,
    asks: Asks,
    /// The unit of waits.
    answer: Duration,
}

/// A request that is not in yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    bid: Bid,
    patience: Patience,
    pace: Pace,
    /// How long the next wait is at most, in answers.
    window: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pace {
    Asking,
    /// The last one failed, and the next one begins when the timer fires.
    BackingOff,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To a voter: may I have the vote of this replica?
    Request { replica: Replica, claim: Claim },
    /// From a voter: you have it.
    Vote { replica: Replica, claim: Claim, fence: Fence },
    /// From a voter: another one has it.
    Denied { replica: Replica, claim: Claim },
    /// To a voter: have it back.
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

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
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
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::GiveUp => self.end("VO-7", Event::Cancelled, out),
                Wish::Leave => self.end("VO-4", Event::Left, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => self.hear(from, message, out),
            Input::Timer(Timer::Retry) => self.attempt("VO-6", out),
            beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl Voting {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group, asks: Asks, bounds: Bounds) -> Self {
        let needed = group.majority();
        Self::with_votes(me, group, RESOURCE, needed, asks, bounds)
    }

    /// A node of this group, idle, for which so many votes on the replicas of this resource admit. It is for those who
    /// choose the number to see that it is more than half.
    pub fn with_votes(me: NodeId, group: Group, resource: &str, needed: usize, asks: Asks, bounds: Bounds) -> Self {
        let hosts = placement(resource, &group);
        Self::at(Place { me, group, resource: resource.into(), hosts, needed, asks, answer: unit(bounds) })
    }

    /// The same, with a voter chosen by hand for each replica. In its next view the replicas are those of the usual resource.
    pub fn with_hosts(me: NodeId, group: Group, hosts: Vec<NodeId>, needed: usize, asks: Asks, bounds: Bounds) -> Self {
        Self::at(Place { me, group, resource: RESOURCE.into(), hosts, needed, asks, answer: unit(bounds) })
    }

    fn at(place: Place) -> Self {
        let ours = place.hosts.iter().enumerate().filter(|(_, host)| **host == place.me);
        let ballots = ours.map(|(index, _)| (Replica::from_index(index), Ballot::new())).collect();
        Self { place: Fixed::new(place), clock: Clock::default(), fence: Fence::default(), phase: Phase::Idle, ballots }
    }

    /// What a node did in an earlier life is forgotten, but its numbers must not come again.
    fn start(&mut self, Incarnation(life): Incarnation) {
        self.clock.witness(Clock(life << 32));
    }

    /// What others say, or we to ourselves. Nobody speaks of a request of another one, nor for a replica of another one.
    fn hear(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Request { replica, claim } if self.is_of(claim, from) => self.consider(replica, claim, out),
            Message::Release { replica, claim, fence } if self.is_of(claim, from) => {
                self.take_back(replica, claim, fence, out);
            }
            Message::Vote { replica, claim, fence } if self.host(replica) == Some(from) => {
                self.collect(replica, claim, fence, out);
            }
            Message::Denied { replica, claim } if self.host(replica) == Some(from) => self.miss(replica, claim, out),
            Message::Request { claim, .. } | Message::Release { claim, .. } => {
                out.note("VO-2", format_args!("ignores {claim}, of which {from} speaks"));
            }
            Message::Vote { replica, .. } | Message::Denied { replica, .. } => {
                out.note("VO-3", format_args!("ignores {from}, which does not vote for replica {replica}"));
            }
        }
    }

    fn is_of(&self, claim: Claim, from: NodeId) -> bool {
        claim.stamp.node == from && self.place.group.contains(from)
    }

    fn host(&self, replica: Replica) -> Option<NodeId> {
        self.place.hosts.get(replica.index()).copied()
    }

    /// VO-1.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = Stamp { clock: self.clock.tick(), node: self.place.me };
        let bid = Bid::new(stamp, self.place.hosts.len());
        self.phase = Phase::Waiting(Waiting { bid, patience, pace: Pace::BackingOff, window: 1 });
        self.attempt("VO-1", out);
    }

    /// VO-1 and VO-6. Whoever has not answered the last attempt is not asked again: its answer counts for this one.
    fn attempt(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(ours @ Waiting { pace: Pace::BackingOff, .. }) = &mut self.phase else { return };
        ours.pace = Pace::Asking;
        for seat in ours.bid.seats.iter_mut().filter(|seat| seat.standing == Standing::Denied) {
            seat.standing = Standing::Idle;
        }
        let stamp = ours.bid.stamp;
        out.note(rule, format_args!("asks for {} of {} votes with {stamp}", self.place.needed, self.place.hosts.len()));
        match self.place.asks {
            Asks::All => self.ask_all(out),
            Asks::Sequential => self.settle(out),
        }
    }

    /// VO-1. Our own votes cost nothing, and may be all that it takes.
    fn ask_all(&mut self, out: &mut Effects<'_, Self>) {
        let place = self.place.clone();
        let is_ours = |index: &usize| place.hosts.get(*index) == Some(&place.me);
        let (ours, others): (Vec<_>, Vec<_>) = (0..place.hosts.len()).partition(is_ours);
        for index in ours.into_iter().chain(others) {
            self.ask(Replica::from_index(index), out);
        }
    }

    /// Asks for a vote, unless that is asked for already or the attempt is over.
    fn ask(&mut self, replica: Replica, out: &mut Effects<'_, Self>) {
        let Some(host) = self.host(replica) else { return };
        let Phase::Waiting(Waiting { bid, pace: Pace::Asking, .. }) = &mut self.phase else { return };
        let Some(claim) = bid.ask(replica) else { return };
        self.tell(host, Message::Request { replica, claim }, out);
    }

    /// VO-2. A node makes one request after the other, so that the later one speaks for itself.
    fn consider(&mut self, replica: Replica, claim: Claim, out: &mut Effects<'_, Self>) {
        let Some(ballot) = self.ballots.get_mut(&replica) else {
            return out.note("VO-2", format_args!("ignores {claim}: replica {replica} is not here"));
        };
        let to = claim.stamp.node;
        match ballot.give(claim) {
            Asked::Given | Asked::Passed { .. } => {
                out.note("VO-2", format_args!("gives {claim} the vote of replica {replica}"));
                self.tell(to, Message::Vote { replica, claim, fence: self.fence }, out);
            }
            Asked::Taken { holder } => {
                out.note("VO-2", format_args!("denies {claim} replica {replica}: {holder} has its vote"));
                self.tell(to, Message::Denied { replica, claim }, out);
            }
        }
    }

    /// VO-3, VO-8. Whoever backs off leaves votes to others; whoever is inside gives all back when it leaves.
    fn collect(&mut self, replica: Replica, claim: Claim, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        let is_awaited = self.bid().is_some_and(|bid| bid.hears(replica, claim, Standing::Voted));
        match &mut self.phase {
            Phase::Waiting(Waiting { pace: Pace::Asking, .. }) if is_awaited => return self.settle(out),
            Phase::Inside(_) if is_awaited => return,
            Phase::Waiting(Waiting { bid, .. }) if is_awaited => bid.give_up(replica),
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {}
        }
        out.note("VO-8", format_args!("does not need the vote of replica {replica} for {claim}"));
        self.give_back(replica, claim, out);
    }

    /// VO-6, VO-9.
    fn miss(&mut self, replica: Replica, claim: Claim, out: &mut Effects<'_, Self>) {
        if self.bid().is_some_and(|bid| bid.hears(replica, claim, Standing::Denied)) {
            self.settle(out);
        }
    }

    /// The request under way, or inside.
    const fn bid(&mut self) -> Option<&mut Bid> {
        match &mut self.phase {
            Phase::Waiting(Waiting { bid, .. }) | Phase::Inside(bid) => Some(bid),
            Phase::Idle => None,
        }
    }

    /// VO-3, VO-6 and VO-9. An attempt ends as soon as its end is certain.
    fn settle(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, patience, pace: Pace::Asking, .. }) = &self.phase else { return };
        let (votes, denied) = (bid.count(Standing::Voted), bid.count(Standing::Denied));
        match patience {
            _ if votes >= self.place.needed => self.enter(out),
            Patience::Wait if bid.seats.len() - denied < self.place.needed => self.back_off(out),
            Patience::Try if bid.seats.len() - denied < self.place.needed => self.end("VO-9", Event::Denied, out),
            Patience::Wait | Patience::Try => self.go_on(out),
        }
    }

    /// VO-1. One by one, the next one is asked when the last one has answered.
    fn go_on(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, .. }) = &self.phase else { return };
        if self.place.asks == Asks::Sequential
            && bid.count(Standing::Asked) == 0
            && let Some(index) = bid.seats.iter().position(|seat| seat.standing == Standing::Idle)
        {
            self.ask(Replica::from_index(index), out);
        }
    }

    /// VO-3. The fence is larger than every one that our voters know of.
    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, .. }) = self.phase.end() else { return };
        out.note("VO-3", format_args!("has enough votes for {}", bid.stamp));
        self.fence = self.fence.next();
        self.phase = Phase::Inside(bid);
        out.emit(Event::entered(self.fence));
    }

    /// VO-6. No wait is so short that what is given back is not there, and in the longest there is room for everyone.
    fn back_off(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { bid, pace, window, .. }) = &mut self.phase else { return };
        let answer = self.place.answer;
        let span = Span::between(answer, answer.times(window.saturating_add(1)));
        out.note("VO-6", format_args!("cannot have {} votes for {}; waits {span}", self.place.needed, bid.stamp));
        *pace = Pace::BackingOff;
        *window = window.saturating_mul(2).min(4 * self.place.hosts.len() as u64);
        let votes = bid.give_up_all();
        out.set_timer(Timer::Retry, span);
        for (replica, claim) in votes {
            self.give_back(replica, claim, out);
        }
    }

    /// VO-4, VO-7 and VO-9. Votes that are still on their way are given back when they come.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        let mut bid = match self.phase.end() {
            Phase::Waiting(Waiting { bid, pace, .. }) => {
                if pace == Pace::BackingOff {
                    out.cancel_timer(Timer::Retry);
                }
                bid
            }
            Phase::Inside(bid) => bid,
            Phase::Idle => return,
        };
        out.emit(event);
        out.note(rule, format_args!("gives every vote for {} back", bid.stamp));
        for (replica, claim) in bid.give_up_all() {
            self.give_back(replica, claim, out);
        }
    }

    fn give_back(&mut self, replica: Replica, claim: Claim, out: &mut Effects<'_, Self>) {
        if let Some(host) = self.host(replica) {
            self.tell(host, Message::Release { replica, claim, fence: self.fence }, out);
        }
    }

    /// VO-5. A voter that has forgotten whom it voted for, or gave the vote to a later request, has nothing to take back.
    fn take_back(&mut self, replica: Replica, claim: Claim, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        if self.ballots.get_mut(&replica).is_some_and(|ballot| ballot.take_back(claim)) {
            out.note("VO-5", format_args!("has the vote of replica {replica} back from {claim}"));
        } else {
            out.note("VO-5", format_args!("ignores {claim}: it has no vote of replica {replica}"));
        }
    }

    /// A message, or a plain call if it is to ourselves.
    fn tell(&mut self, node: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        if node == self.place.me {
            self.hear(node, message, out);
        } else {
            out.send(node, message);
        }
    }

    fn assert_invariants(&self) {
        match &self.phase {
            Phase::Idle => {}
            Phase::Waiting(Waiting { bid, pace: Pace::BackingOff, .. }) => {
                debug_assert_eq!(bid.count(Standing::Voted), 0, "who backs off keeps no vote");
            }
            Phase::Waiting(Waiting { bid, pace: Pace::Asking, .. }) => {
                let (votes, denied) = (bid.count(Standing::Voted), bid.count(Standing::Denied));
                debug_assert!(votes < self.place.needed, "who has enough votes is inside");
                debug_assert!(bid.seats.len() - denied >= self.place.needed, "who cannot have enough votes backs off");
            }
            Phase::Inside(bid) => {
                debug_assert!(bid.count(Standing::Voted) >= self.place.needed, "who is inside has enough votes");
            }
        }
    }
}

impl OneOfMany for Voting {
    floor_in!(clock, fence);

    fn is_idle(&self) -> bool {
        self.phase.is_idle() && self.ballots.values().all(|ballot| ballot.holder().is_none())
    }
}

#[cfg(test)]
mod tests;
