//! Maekawa's voting (1985), free of deadlock as Sanders corrected it (1987).
//!
//! Every node has one vote, and a quorum of voters of its own; any two quorums share a voter. Whoever wants to enter asks
//! its quorum, and who has all its votes is inside alone. Votes are given one by one, so that those who have some may wait
//! for each other's: therefore a voter that has voted for a younger request than it should have inquires whether it may
//! have its vote back, and a node gives it back as soon as it has heard that an older request goes first somewhere.
//!
//! ```text
//! MK-1   asked to enter             → stamp a request and send it to our quorum; our own vote takes no message
//! MK-2   a request arrives          → vote for it; if the vote is given, queue it, older ones first (plain: in order
//!                                     of arrival); where nobody waits, it may have the vote that an earlier request of
//!                                     the same node has, because that is over
//! MK-3   all votes are in           → enter; a vote counts only if it is for the stamp we wait with
//! MK-4   asked to leave             → send a release to our quorum
//! MK-5   a release arrives          → vote for the first in the queue, or take the request out of the queue; if the
//!                                     request has not arrived, it is void when it does
//! MK-6   an older request is here   → tell the younger one that it fails, also one that was first in the queue until now
//! MK-7   a younger one has the vote → inquire once whether it gives it back
//! MK-8   inquired, and not inside   → relinquish the vote if any voter says that we fail, now or later
//! MK-9   a vote is relinquished     → queue the request again, and vote for the oldest
//! MK-10  asked to give up           → send a release to our quorum
//! MK-11  a try finds the vote given → it fails and is not queued; one failure ends the try like MK-10
//! ```
//!
//! Cost: 3(K−1) messages an entry in a quorum of K, nobody else wanting in, and always in the plain form; ≤5(K−1) under
//! contention by Maekawa's count, and 6(K−1) if the vote is counted too that a voter must give again to whom it was
//! taken from. 2T from asking to entering; T…2T from a leave to the next entry, T where every voter that the two share is one
//! of them. K is 2√n−1 in a grid (any n; fewer where its last row is short) and q+1 in a projective plane of n = q²+q+1
//! nodes.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. A request is overtaken at most twice by
//! each other node once it is with its voters: by the entry that their votes were given to before, and by one more that
//! was stamped before its node could hear of it from them.
//!
//! When it fails: a dead node stops everyone whose quorum it is in, and a dead holder or waiter, sooner or later, everyone:
//! nobody gets back the votes it has. One that restarts has forgotten whom it voted for, and may vote for a second. Lost
//! messages stop those who wait for them. The plain form, as in most textbooks, needs nothing to fail: nodes that have
//! each other's votes wait for ever, the four of the books or just two.
//!
//! Try: answered within 2T, by the first failure or by all votes; at once if our own vote is given.
//!
//! In views: a member reports where its user stands and how old its request is. Quorums are rebuilt for the members of the
//! new view. A group in a plane falls back to a grid where there is no plane of just that size. The voters of the one inside
//! begin with their votes given to it, and those who wait ask anew, with new stamps in the old order.
//!
//! Departs from the paper: every message names the request that it is about, so that releases may overtake requests,
//! inquiries votes, and nothing late counts for the next request. As Sanders found, one that was first in a queue must be
//! told when an older one comes before it, or it keeps other votes for ever. Votes carry the clock, so that whoever has
//! heard from a voter stamps its next request as younger than those that wait there. Votes and releases carry the
//! largest fence known.

mod facts;
mod views;
mod voter;

pub use facts::{FACTS, facts};

use super::prelude::*;
use super::quorum::Quorums;
use voter::{Arrival, End, Voter};

/// What voters do about those who wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Younger requests give votes back to older ones.
    DeadlockFree,
    /// Nothing: whoever has a vote keeps it until it has been inside.
    Plain,
}

/// One node of the algorithm, which is a voter too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    place: Fixed<Place>,
    clock: Clock,
    fence: Fence,
    phase: Phase<Waiting, Stamp>,
    voter: Voter,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    quorum: Group,
    form: Form,
    quorums: Quorums,
}

/// A request under way, and how it stands with the voters of the quorum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    stamp: Stamp,
    patience: Patience,
    missing: BTreeSet<NodeId>,
    /// Those of them who told us that another one goes first, or whom we gave their vote back.
    failed: BTreeSet<NodeId>,
    /// Those who want their vote back. The question may have arrived before the vote.
    inquiring: BTreeSet<NodeId>,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To a voter: may I have your vote?
    Request { stamp: Stamp, patience: Patience },
    /// From a voter: you have my vote.
    Vote { to: Stamp, clock: Clock, fence: Fence },
    /// From a voter: another one goes first.
    Failed { to: Stamp },
    /// From a voter: can I have my vote back?
    Inquire { of: Stamp },
    /// To a voter: have your vote back, and vote for me again when it is my turn.
    Relinquish { stamp: Stamp },
    /// To a voter: I have left, or want in no longer.
    Release { stamp: Stamp, fence: Fence },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Vote { .. } => "vote",
            Self::Failed { .. } => "failed",
            Self::Inquire { .. } => "inquire",
            Self::Relinquish { .. } => "relinquish",
            Self::Release { .. } => "release",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { stamp, .. } | Self::Relinquish { stamp } | Self::Release { stamp, .. } => Some(stamp.node),
            Self::Vote { to, .. } | Self::Failed { to } | Self::Inquire { of: to } => Some(to.node),
        }
    }
}

impl Protocol for Maekawa {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::GiveUp => self.end("MK-10", Event::Cancelled, out),
                Wish::Leave => self.end("MK-4", Event::Left, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => self.hear(from, message, out),
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl Maekawa {
    /// A node of this group, idle, whose voters are its quorum of this kind.
    pub fn new(me: NodeId, group: Group, form: Form, quorums: Quorums) -> Self {
        let quorum = quorums.of(me, &group);
        Self::at(Place { me, group, quorum, form, quorums })
    }

    /// A node of this group, idle, with this quorum. It is for those who make quorums to see that they meet. In its next view
    /// the group stands in a grid.
    pub fn with_quorum(me: NodeId, group: Group, form: Form, quorum: Group) -> Self {
        Self::at(Place { me, group, quorum, form, quorums: Quorums::Grid })
    }

    fn at(place: Place) -> Self {
        Self {
            place: Fixed::new(place),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            voter: Voter::new(),
        }
    }

    /// What others say, or we to ourselves. Nobody speaks of a request of another one.
    fn hear(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Request { stamp, patience } if self.is_of(stamp, from) => self.consider(stamp, patience, out),
            Message::Relinquish { stamp } if self.is_of(stamp, from) => self.vote_again(stamp, out),
            Message::Release { stamp, fence } if self.is_of(stamp, from) => self.let_go(stamp, fence, out),
            Message::Request { stamp, .. } => {
                out.note("MK-2", format_args!("ignores {stamp}, which {from} brought"));
            }
            Message::Relinquish { stamp } => {
                out.note("MK-9", format_args!("ignores that {from} relinquishes for {stamp}"));
            }
            Message::Release { stamp, .. } => {
                out.note("MK-5", format_args!("ignores the end of {stamp}, which {from} brought"));
            }
            Message::Vote { to, clock, fence } => self.collect(from, to, clock, fence, out),
            Message::Failed { to } => self.fail(from, to, out),
            Message::Inquire { of } => self.answer(from, of, out),
        }
    }

    fn is_of(&self, stamp: Stamp, from: NodeId) -> bool {
        stamp.node == from && self.place.group.contains(from)
    }

    /// MK-1. A new request is younger than every one this node has heard of, also as a voter.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if let (Patience::Try, Some(holder)) = (patience, self.voter.holder()) {
            out.note("MK-11", format_args!("fails at once: our own vote is with {holder}"));
            return out.emit(Event::Denied);
        }
        let stamp = Stamp { clock: self.clock.tick(), node: self.place.me };
        out.note("MK-1", format_args!("asks {} with {stamp}", self.place.quorum));
        let missing = self.place.quorum.iter().collect();
        let (failed, inquiring) = (BTreeSet::new(), BTreeSet::new());
        self.phase = Phase::Waiting(Waiting { stamp, patience, missing, failed, inquiring });
        self.tell_quorum(Message::Request { stamp, patience }, out);
    }

    /// MK-2. Those who wait are told what MK-6, MK-7 and MK-11 say.
    fn consider(&mut self, asked: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        self.clock.witness(asked.clock);
        match self.voter.hear(asked, patience, self.place.form) {
            Arrival::Void => out.note("MK-2", format_args!("ignores {asked}: it is void")),
            Arrival::Voted => self.vote("MK-2", asked, out),
            Arrival::Waits { holder } => out.note("MK-2", format_args!("queues {asked}: {holder} has the vote")),
            Arrival::Denied { holder } => {
                out.note("MK-11", format_args!("denies {asked}: {holder} has the vote"));
                self.tell(asked.node, Message::Failed { to: asked }, out);
            }
            Arrival::Fails { older } => self.tell_it_fails(asked, older, out),
            Arrival::Oldest { displaced, inquire } => {
                if let Some(displaced) = displaced {
                    self.tell_it_fails(displaced, asked, out);
                }
                self.inquire(asked, inquire, out);
            }
        }
    }

    fn vote(&mut self, rule: &'static str, to: Stamp, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("votes for {to}"));
        self.tell(to.node, Message::Vote { to, clock: self.clock, fence: self.fence }, out);
    }

    /// MK-6. Whoever may have to wait for an older one must know, because it may have votes that the older one needs.
    fn tell_it_fails(&mut self, younger: Stamp, older: Stamp, out: &mut Effects<'_, Self>) {
        out.note("MK-6", format_args!("queues {younger} behind {older}"));
        self.tell(younger.node, Message::Failed { to: younger }, out);
    }

    /// MK-7. One question about a vote is enough, whoever else comes.
    fn inquire(&mut self, first: Stamp, holder: Option<Stamp>, out: &mut Effects<'_, Self>) {
        match holder {
            Some(holder) => {
                out.note("MK-7", format_args!("wants its vote back from {holder} for {first}"));
                self.tell(holder.node, Message::Inquire { of: holder }, out);
            }
            None => out.note("MK-7", format_args!("queues {first} first: the vote is asked for already")),
        }
    }

    /// MK-3. What was sent to a request that is over counts for no other.
    fn collect(&mut self, from: NodeId, to: Stamp, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.clock.witness(clock);
        self.fence.raise(fence);
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == to => {
                ours.missing.remove(&from);
                ours.failed.remove(&from);
                self.enter_if_elected(out);
                self.relinquish_if_failed(out);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("MK-3", format_args!("ignores a vote for {to}, which nobody waits with"));
            }
        }
    }

    /// MK-3. The fence is larger than every one that our voters know of.
    fn enter_if_elected(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { stamp, missing, .. }) = &self.phase else { return };
        if !missing.is_empty() {
            return;
        }
        let stamp = *stamp;
        self.fence = self.fence.next();
        self.phase = Phase::Inside(stamp);
        out.note("MK-3", format_args!("has every vote for {stamp}"));
        out.emit(Event::entered(self.fence));
    }

    /// MK-4, MK-10 and MK-11. However a request ends, every voter hears so once, whether it has voted for it or not.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        let stamp = match self.phase.end() {
            Phase::Waiting(Waiting { stamp, .. }) | Phase::Inside(stamp) => stamp,
            Phase::Idle => return,
        };
        out.emit(event);
        out.note(rule, format_args!("gives every vote for {stamp} back"));
        self.tell_quorum(Message::Release { stamp, fence: self.fence }, out);
    }

    /// MK-5.
    fn let_go(&mut self, stamp: Stamp, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        match self.voter.end(stamp) {
            End::Passed { next: Some(next) } => self.vote("MK-5", next, out),
            End::Passed { next: None } => out.note("MK-5", format_args!("has its vote back; nobody waits")),
            End::Withdrawn => out.note("MK-5", format_args!("removes {stamp} from the queue")),
            End::Early => out.note("MK-5", format_args!("voids {stamp} before it arrives")),
            End::Over => out.note("MK-5", format_args!("hears the last of {stamp}")),
        }
    }

    /// MK-8, MK-11. Of a voter whose vote we have, this is an old story.
    fn fail(&mut self, from: NodeId, to: Stamp, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == to && ours.missing.contains(&from) => match ours.patience {
                Patience::Try => self.end("MK-11", Event::Denied, out),
                Patience::Wait => {
                    ours.failed.insert(from);
                    self.relinquish_if_failed(out);
                }
            },
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("MK-8", format_args!("ignores that {to} fails: it has that vote, or is over"));
            }
        }
    }

    /// MK-8. Whoever is inside, or has left, need not answer: its release does.
    fn answer(&mut self, from: NodeId, of: Stamp, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == of && self.place.quorum.contains(from) => {
                ours.inquiring.insert(from);
                self.relinquish_if_failed(out);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("MK-8", format_args!("does not answer: {of} is inside or over"));
            }
        }
    }

    /// MK-8. A vote must be here before it can be given back; one that was given back is missing again.
    fn relinquish_if_failed(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(ours) = &mut self.phase else { return };
        if ours.failed.is_empty() {
            return;
        }
        let (later, now) = ours.inquiring.iter().partition(|voter| ours.missing.contains(*voter));
        ours.inquiring = later;
        let (stamp, now): (_, BTreeSet<NodeId>) = (ours.stamp, now);
        ours.missing.extend(&now);
        ours.failed.extend(&now);
        for voter in now {
            out.note("MK-8", format_args!("gives {voter} its vote for {stamp} back"));
            self.tell(voter, Message::Relinquish { stamp }, out);
        }
    }

    /// MK-9. It may be the same one again, if the older one has given up meanwhile.
    fn vote_again(&mut self, stamp: Stamp, out: &mut Effects<'_, Self>) {
        match self.voter.relinquish(stamp) {
            Some(next) => self.vote("MK-9", next, out),
            None => out.note("MK-9", format_args!("ignores that {stamp} relinquishes: it is over")),
        }
    }

    /// To each of our voters, ourselves last: what our own vote changes is then the last thing that is told.
    fn tell_quorum(&mut self, message: Message, out: &mut Effects<'_, Self>) {
        let quorum = self.place.quorum.clone();
        for voter in quorum.others(self.place.me) {
            out.send(voter, message);
        }
        if quorum.contains(self.place.me) {
            self.hear(self.place.me, message, out);
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
        self.voter.assert_invariants();
        match &self.phase {
            Phase::Idle => {}
            Phase::Waiting(Waiting { stamp, missing, failed, inquiring, .. }) => {
                debug_assert!(!missing.is_empty(), "a node with every vote is inside");
                debug_assert!(failed.is_subset(missing), "a vote that we have is no failure");
                debug_assert!(
                    failed.is_empty() || inquiring.is_subset(missing),
                    "who fails keeps no vote that is wanted"
                );
                debug_assert!(stamp.clock <= self.clock, "our stamp is of our own past");
            }
            Phase::Inside(stamp) => debug_assert!(stamp.clock <= self.clock, "our stamp is of our own past"),
        }
    }
}

impl OneOfMany for Maekawa {
    floor_in!(clock, fence);

    fn is_idle(&self) -> bool {
        self.phase.is_idle() && self.voter.is_idle()
    }
}

#[cfg(test)]
mod tests;
