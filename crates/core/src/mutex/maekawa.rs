//! Maekawa's voting (1985), free of deadlock as Sanders corrected it (1987).
//!
//! Every node has one vote, and its own quorum of voters; any two quorums share a voter. A node
//! that wants to enter asks its quorum, and a node with all votes of its quorum is alone in the
//! critical section. Votes are given one by one, so nodes that each have some votes may wait for
//! each other's. To prevent this, a voter that receives an older request than the one it voted for
//! inquires whether it may have its vote back. A node relinquishes the vote once it knows that an
//! older request goes first at some voter.
//!
//! ```text
//! MK-1   the client asks to enter   → stamp a request and send it to our quorum; our own vote
//!                                     takes no message
//! MK-2   a request arrives          → vote for it; queue it by age (plain: in order of arrival) if
//!                                     another request has the vote; but if no request waits, it
//!                                     takes the vote from an earlier, ended request of its node
//! MK-3   all votes have arrived     → enter; a vote counts only if it is for our pending
//!                                     request
//! MK-4   the client releases        → send a release to our quorum
//! MK-5   a release arrives          → vote for the first in the queue, or remove the request from
//!                                     the queue; if the request has not arrived yet, it is void
//!                                     when it does
//! MK-6   a request is not first     → send it a failure, also if it was first in the queue until
//!                                     now
//! MK-7   a younger one has the vote → inquire once whether that request returns it
//! MK-8   inquired while waiting     → relinquish the vote once any voter has sent us a failure
//! MK-9   a vote is relinquished     → queue the request again, and vote for the oldest
//! MK-10  the client cancels         → send a release to our quorum
//! MK-11  a try finds the vote given → it fails and is not queued; one failure ends the try like
//!                                     MK-10
//! ```
//!
//! Cost: 3(K−1) messages per entry in a quorum of K without contention, and always in the plain
//! form; ≤5(K−1) under contention by Maekawa's count, and 6(K−1) if the count includes the vote
//! that a voter must give again to the node that relinquished it. 2T (two message times) from
//! request to entry; T…2T from a release to the next entry, T if the releasing and the entering
//! node share no other voter than themselves. K is 2√n−1 in a grid (any n; fewer where its last row
//! is short) and q+1 in a projective plane of n = q²+q+1 nodes.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. After a request
//! has reached its voters, each other node overtakes it at most twice: with the entry for which the
//! voters had already voted, and with one more request, stamped before the messages of the voters
//! advanced that node's clock.
//!
//! When it fails: a crashed node blocks all nodes whose quorum it is in, and a crashed holder or
//! waiter eventually blocks all nodes: its votes are never released. A restarted node has forgotten
//! its vote and may vote a second time. Lost messages block the nodes that wait for them. The plain
//! form, as in most textbooks, deadlocks without any fault: nodes that have each other's votes wait
//! forever, be it the four of the textbooks or just two.
//!
//! Try: decided within 2T, by the first failure or by all votes; at once if our own vote is given.
//!
//! In views: a member reports the state of its client and the age of its request. Quorums are
//! rebuilt for the members of the new view. A group in a plane falls back to a grid if there is no
//! plane of its size. The voters of the node in the critical section begin with their votes given
//! to it, and waiting nodes request anew, with new stamps in the old order.
//!
//! Departs from the paper: every message names the request that it is about, so that releases may
//! overtake requests and inquiries may overtake votes, and no late message counts for the next
//! request. As Sanders found, a voter must notify a request that was first in its queue when an
//! older one arrives, or that request keeps other votes forever. Votes carry the clock, so that a
//! node that has received a vote stamps its next request as younger than those that wait at the
//! voter. Votes and releases carry the largest known fence.

mod facts;
mod views;
mod voter;

pub use facts::{FACTS, facts};

use super::prelude::*;
use super::quorum::Quorums;
use voter::{ReleaseOutcome, RequestOutcome, Voter};

/// Whether voters prevent deadlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Younger requests relinquish votes to older ones.
    DeadlockFree,
    /// A request keeps its votes until it ends; requests can deadlock.
    Plain,
}

/// A node of the algorithm, which is a voter as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    config: Fixed<Config>,
    clock: Clock,
    /// The largest fence that this node knows.
    fence: Fence,
    phase: Phase<Waiting, Stamp>,
    voter: Voter,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    /// The voters of this node's requests.
    quorum: Group,
    form: Form,
    /// The construction of the quorums in the next view.
    quorums: Quorums,
}

/// Our waiting request, and the answers of its voters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    stamp: Stamp,
    patience: Patience,
    /// The voters whose vote we do not have.
    missing_voters: BTreeSet<NodeId>,
    /// The voters in `missing_voters` that sent us a failure, or to which we relinquished their
    /// vote.
    failed_voters: BTreeSet<NodeId>,
    /// The voters that inquired whether they may have their vote back, and have not got it back
    /// yet. An inquiry may arrive before the vote.
    inquiring_voters: BTreeSet<NodeId>,
}

/// The messages between nodes. Each names the request that it is about by its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To a voter: a request for its vote.
    Request { stamp: Stamp, patience: Patience },
    /// From a voter: its vote for this request.
    Vote {
        #[cfg_attr(feature = "serde", serde(rename = "to"))]
        stamp: Stamp,
        clock: Clock,
        fence: Fence,
    },
    /// From a voter: another request goes before the one with this stamp.
    Failed {
        #[cfg_attr(feature = "serde", serde(rename = "to"))]
        stamp: Stamp,
    },
    /// From a voter: asks the node of this request to return the vote.
    Inquire {
        #[cfg_attr(feature = "serde", serde(rename = "of"))]
        stamp: Stamp,
    },
    /// To a voter: returns its vote; the request continues to wait for it.
    Relinquish { stamp: Stamp },
    /// To a voter: the entry has ended, or the request was cancelled or denied.
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
            Self::Request { stamp, .. }
            | Self::Vote { stamp, .. }
            | Self::Failed { stamp }
            | Self::Inquire { stamp }
            | Self::Relinquish { stamp }
            | Self::Release { stamp, .. } => Some(stamp.node),
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
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.end("MK-10", Event::Cancelled, out),
                Intent::Release => self.end("MK-4", Event::Left, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => self.on_message(from, message, out),
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl Maekawa {
    /// An idle node of this group, with the quorum that `quorums` constructs for it.
    pub fn new(me: NodeId, group: Group, form: Form, quorums: Quorums) -> Self {
        let quorum = quorums.quorum_of(me, &group);
        Self::with_config(Config { me, group, quorum, form, quorums })
    }

    /// An idle node of this group with this quorum. The caller must ensure that any two quorums
    /// intersect. In its next view the group uses a grid.
    pub fn with_quorum(me: NodeId, group: Group, form: Form, quorum: Group) -> Self {
        Self::with_config(Config { me, group, quorum, form, quorums: Quorums::Grid })
    }

    fn with_config(config: Config) -> Self {
        Self {
            config: Fixed::new(config),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            voter: Voter::new(),
        }
    }

    /// Handles a message of a peer or of this node itself. Ignores messages about the request of a
    /// third node, and requests of nonmembers.
    fn on_message(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Request { stamp, patience } if self.is_request_of(stamp, from) => {
                self.on_request(stamp, patience, out);
            }
            Message::Relinquish { stamp } if self.is_request_of(stamp, from) => self.on_relinquish(stamp, out),
            Message::Release { stamp, fence } if self.is_request_of(stamp, from) => self.on_release(stamp, fence, out),
            Message::Request { stamp, .. } => {
                out.note("MK-2", format_args!("ignores {stamp} from {from}: not a member's own request"));
            }
            Message::Relinquish { stamp } => {
                out.note(
                    "MK-9",
                    format_args!("ignores a vote that {from} returns for {stamp}: not a member's own request"),
                );
            }
            Message::Release { stamp, .. } => {
                out.note("MK-5", format_args!("ignores a release of {stamp} from {from}: not a member's own request"));
            }
            Message::Vote { stamp, clock, fence } => self.on_vote(from, stamp, clock, fence, out),
            Message::Failed { stamp } => self.on_failure(from, stamp, out),
            Message::Inquire { stamp } => self.on_inquiry(from, stamp, out),
        }
    }

    /// Returns whether this is the stamp of the sender's own request, and the sender is a member.
    fn is_request_of(&self, stamp: Stamp, from: NodeId) -> bool {
        stamp.node == from && self.config.group.contains(from)
    }

    /// MK-1. A new request is younger than every request this node has received as a voter.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if let (Patience::Try, Some(holder)) = (patience, self.voter.holder()) {
            out.note("MK-11", format_args!("fails at once: {holder} has our own vote"));
            return out.emit(Event::Denied);
        }
        let stamp = Stamp { clock: self.clock.tick(), node: self.config.me };
        out.note("MK-1", format_args!("requests votes of {} with {stamp}", self.config.quorum));
        self.phase = Phase::Waiting(Waiting {
            stamp,
            patience,
            missing_voters: self.config.quorum.iter().collect(),
            failed_voters: BTreeSet::new(),
            inquiring_voters: BTreeSet::new(),
        });
        self.send_to_quorum(Message::Request { stamp, patience }, out);
    }

    /// MK-2. If another request has the vote, MK-6, MK-7 or MK-11 may apply.
    fn on_request(&mut self, request: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        self.clock.witness(request.clock);
        match self.voter.on_request(request, patience, self.config.form) {
            RequestOutcome::Void => out.note("MK-2", format_args!("ignores {request}: it is void")),
            RequestOutcome::Voted => self.vote("MK-2", request, out),
            RequestOutcome::Waits { holder } => {
                out.note("MK-2", format_args!("queues {request}: {holder} has the vote"));
            }
            RequestOutcome::Denied { holder } => {
                out.note("MK-11", format_args!("denies {request}: {holder} has the vote"));
                self.send(request.node, Message::Failed { stamp: request }, out);
            }
            RequestOutcome::Fails { older } => self.send_failure(request, older, out),
            RequestOutcome::Oldest { displaced, holder_to_inquire } => {
                if let Some(displaced) = displaced {
                    self.send_failure(displaced, request, out);
                }
                self.inquire(request, holder_to_inquire, out);
            }
        }
    }

    fn vote(&mut self, rule: &'static str, stamp: Stamp, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("votes for {stamp}"));
        self.send(stamp.node, Message::Vote { stamp, clock: self.clock, fence: self.fence }, out);
    }

    /// MK-6. A node whose request may have to wait for an older one must know this, because it may
    /// have votes that the older one needs.
    fn send_failure(&mut self, younger: Stamp, older: Stamp, out: &mut Effects<'_, Self>) {
        out.note("MK-6", format_args!("queues {younger} behind {older}"));
        self.send(younger.node, Message::Failed { stamp: younger }, out);
    }

    /// MK-7. One inquiry per vote is enough, even if more requests arrive: `holder` is `None` if
    /// the voter has inquired already.
    fn inquire(&mut self, oldest: Stamp, holder: Option<Stamp>, out: &mut Effects<'_, Self>) {
        match holder {
            Some(holder) => {
                out.note("MK-7", format_args!("wants its vote back from {holder} for {oldest}"));
                self.send(holder.node, Message::Inquire { stamp: holder }, out);
            }
            None => out.note("MK-7", format_args!("queues {oldest} first; has already inquired about the vote")),
        }
    }

    /// MK-3. A vote for a request that has ended counts for no other.
    fn on_vote(&mut self, from: NodeId, stamp: Stamp, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.clock.witness(clock);
        self.fence.raise(fence);
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == stamp => {
                ours.missing_voters.remove(&from);
                ours.failed_voters.remove(&from);
                self.enter_if_permitted(out);
                self.relinquish_if_failed(out);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("MK-3", format_args!("ignores a vote for {stamp}: that request is not pending"));
            }
        }
    }

    /// MK-3. The fence is larger than every fence that our voters know.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { stamp, missing_voters, .. }) = &self.phase else { return };
        if !missing_voters.is_empty() {
            return;
        }
        let stamp = *stamp;
        self.fence = self.fence.next();
        self.phase = Phase::Inside(stamp);
        out.note("MK-3", format_args!("has every vote for {stamp}"));
        out.emit(Event::entered(self.fence));
    }

    /// MK-4, MK-10 and MK-11. However a request ends, every voter receives one release, whether it
    /// has voted for the request or not.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        let stamp = match self.phase.end() {
            Phase::Waiting(Waiting { stamp, .. }) | Phase::Inside(stamp) => stamp,
            Phase::Idle => return,
        };
        out.emit(event);
        out.note(rule, format_args!("releases every vote for {stamp}"));
        self.send_to_quorum(Message::Release { stamp, fence: self.fence }, out);
    }

    /// MK-5.
    fn on_release(&mut self, stamp: Stamp, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        match self.voter.on_release(stamp) {
            ReleaseOutcome::VoteReturned { next: Some(next) } => self.vote("MK-5", next, out),
            ReleaseOutcome::VoteReturned { next: None } => {
                out.note("MK-5", format_args!("has its vote back; the queue is empty"));
            }
            ReleaseOutcome::Dequeued => out.note("MK-5", format_args!("removes {stamp} from the queue")),
            ReleaseOutcome::BeforeRequest => out.note("MK-5", format_args!("voids {stamp} before it arrives")),
            ReleaseOutcome::AlreadyEnded => out.note("MK-5", format_args!("forgets {stamp}, which had ended already")),
        }
    }

    /// MK-8, MK-11. A failure from a voter whose vote we have is outdated.
    fn on_failure(&mut self, from: NodeId, stamp: Stamp, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == stamp && ours.missing_voters.contains(&from) => match ours.patience {
                Patience::Try => self.end("MK-11", Event::Denied, out),
                Patience::Wait => {
                    ours.failed_voters.insert(from);
                    self.relinquish_if_failed(out);
                }
            },
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("MK-8", format_args!("ignores a failure of {stamp}: it has the vote of {from}, or has ended"));
            }
        }
    }

    /// MK-8. A node in the critical section, or after its release, need not answer: its release
    /// does.
    fn on_inquiry(&mut self, from: NodeId, stamp: Stamp, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == stamp && self.config.quorum.contains(from) => {
                ours.inquiring_voters.insert(from);
                self.relinquish_if_failed(out);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("MK-8", format_args!("does not answer: {stamp} is in the critical section or has ended"));
            }
        }
    }

    /// MK-8. A vote must have arrived before we can relinquish it; a relinquished vote is missing
    /// again.
    fn relinquish_if_failed(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(ours) = &mut self.phase else { return };
        if ours.failed_voters.is_empty() {
            return;
        }
        let (without_vote, with_vote) =
            ours.inquiring_voters.iter().partition(|voter| ours.missing_voters.contains(*voter));
        ours.inquiring_voters = without_vote;
        let (stamp, relinquished): (_, BTreeSet<NodeId>) = (ours.stamp, with_vote);
        ours.missing_voters.extend(&relinquished);
        ours.failed_voters.extend(&relinquished);
        for voter in relinquished {
            out.note("MK-8", format_args!("returns to {voter} its vote for {stamp}"));
            self.send(voter, Message::Relinquish { stamp }, out);
        }
    }

    /// MK-9. The vote goes to the same request again if the older request has been cancelled
    /// meanwhile.
    fn on_relinquish(&mut self, stamp: Stamp, out: &mut Effects<'_, Self>) {
        match self.voter.relinquish(stamp) {
            Some(next) => self.vote("MK-9", next, out),
            None => out.note("MK-9", format_args!("ignores a vote returned for {stamp}: that request has ended")),
        }
    }

    /// Sends a message to each of our voters, ourselves last, so that the effects of our own vote
    /// come last.
    fn send_to_quorum(&mut self, message: Message, out: &mut Effects<'_, Self>) {
        let quorum = self.config.quorum.clone();
        for voter in quorum.others(self.config.me) {
            out.send(voter, message);
        }
        if quorum.contains(self.config.me) {
            self.on_message(self.config.me, message, out);
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
        self.voter.assert_invariants();
        match &self.phase {
            Phase::Idle => {}
            Phase::Waiting(Waiting { stamp, missing_voters, failed_voters, inquiring_voters, .. }) => {
                debug_assert!(!missing_voters.is_empty(), "a node with every vote is in the critical section");
                debug_assert!(failed_voters.is_subset(missing_voters), "the vote of a failed voter is missing");
                debug_assert!(
                    failed_voters.is_empty() || inquiring_voters.is_subset(missing_voters),
                    "a failed request keeps no vote that a voter wants back"
                );
                debug_assert!(stamp.clock <= self.clock, "our stamp is not ahead of our clock");
            }
            Phase::Inside(stamp) => {
                debug_assert!(stamp.clock <= self.clock, "our stamp is not ahead of our clock");
            }
        }
    }
}

impl OneOfMany for Maekawa {
    floor_from_fields!(clock, fence);

    fn holds_only_floor(&self) -> bool {
        self.phase.is_idle() && self.voter.is_idle()
    }
}

#[cfg(test)]
mod tests;
