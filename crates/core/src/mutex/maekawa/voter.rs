//! A voter: which request has its vote, and which ones wait for it. It only decides; the node sends
//! the messages.

use super::Form;
use crate::mutex::prelude::*;
use crate::mutex::vote::{Vote, VoteOutcome};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    vote: Vote<Stamp>,
    /// Whether the voter has inquired about its current vote.
    has_inquired: bool,
    /// The requests that wait for the vote, next one first.
    queue: VecDeque<Stamp>,
    /// Requests that have ended here although only one of their two messages has arrived: the
    /// release without the request, or the request without the release, because the voter denied it
    /// or received a later request of the same node.
    void_requests: BTreeSet<Stamp>,
}

/// The voter's decision about a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// The request has ended or is a duplicate.
    Void,
    /// The request has the vote.
    Voted,
    /// The request is a try, and another request has the vote.
    Denied { holder: Stamp },
    /// The request waits in order of arrival.
    Waits { holder: Stamp },
    /// The request waits, and an older one has the vote or waits too.
    Fails { older: Stamp },
    /// The request waits and is older than all others here.
    Oldest {
        /// The request that was next in the queue until now and must receive a failure.
        displaced: Option<Stamp>,
        /// The request that has the vote and must receive an inquiry; `None` if it has one already.
        holder_to_inquire: Option<Stamp>,
    },
}

/// The voter's action on a release that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseOutcome {
    /// The request had the vote, which `next` has now.
    VoteReturned { next: Option<Stamp> },
    /// The request was removed from the queue.
    Dequeued,
    /// The request has not arrived yet; it is void when it does.
    BeforeRequest,
    /// The request had ended here already.
    AlreadyEnded,
}

impl Voter {
    pub(super) const fn new() -> Self {
        Self { vote: Vote::new(), has_inquired: false, queue: VecDeque::new(), void_requests: BTreeSet::new() }
    }

    /// Gives the vote to the request that is in the critical section when a view begins.
    pub(super) fn give_initial_vote(&mut self, holder: Stamp) {
        self.vote.try_give(holder);
    }

    pub(super) const fn holder(&self) -> Option<Stamp> {
        self.vote.holder()
    }

    /// Returns whether no request has the vote, none waits, and no message of an ended one is
    /// expected.
    pub(super) fn is_idle(&self) -> bool {
        self.vote.holder().is_none() && self.void_requests.is_empty()
    }

    pub(super) fn on_request(&mut self, request: Stamp, patience: Patience, form: Form) -> RequestOutcome {
        if self.void_requests.remove(&request) || self.queue.contains(&request) || self.holder() == Some(request) {
            return RequestOutcome::Void;
        }
        match (self.try_give(request), patience, form) {
            (VoteOutcome::Given, _, _) => RequestOutcome::Voted,
            (VoteOutcome::Moved { from }, _, _) => {
                self.has_inquired = false;
                self.void_requests.insert(from);
                RequestOutcome::Voted
            }
            (VoteOutcome::Held { holder }, Patience::Try, _) => {
                self.void_requests.insert(request);
                RequestOutcome::Denied { holder }
            }
            (VoteOutcome::Held { holder }, Patience::Wait, Form::Plain) => {
                self.queue.push_back(request);
                RequestOutcome::Waits { holder }
            }
            (VoteOutcome::Held { holder }, Patience::Wait, Form::DeadlockFree) => self.queue_by_age(request, holder),
        }
    }

    /// Gives the vote to a request if the vote is free or an earlier request of the same node has
    /// it, but never ahead of a waiting request.
    fn try_give(&mut self, request: Stamp) -> VoteOutcome<Stamp> {
        match self.holder().filter(|_| !self.queue.is_empty()) {
            Some(holder) => VoteOutcome::Held { holder },
            None => self.vote.try_give(request),
        }
    }

    /// Queues a request by age. Keeps this invariant: a queued request has received a failure from
    /// this voter or relinquished its vote, unless it is older than all others here and the voter
    /// has inquired about the vote.
    fn queue_by_age(&mut self, request: Stamp, holder: Stamp) -> RequestOutcome {
        let first = self.queue.front().copied();
        self.enqueue(request);
        match first.unwrap_or(holder).min(holder) {
            older if older < request => RequestOutcome::Fails { older },
            _ => {
                // A request that is younger than the holder received a failure when it arrived.
                let displaced = first.filter(|first| *first < holder);
                let holder_to_inquire = (!self.has_inquired).then_some(holder);
                self.has_inquired = true;
                RequestOutcome::Oldest { displaced, holder_to_inquire }
            }
        }
    }

    /// Takes the vote back from a request, which continues to wait. Returns the request that has
    /// the vote now, or `None` if the given request did not have it or the voter has not inquired
    /// about it.
    pub(super) fn relinquish(&mut self, stamp: Stamp) -> Option<Stamp> {
        if !self.has_inquired || !self.vote.take_back(stamp) {
            return None;
        }
        self.enqueue(stamp);
        self.vote_for_next()
    }

    pub(super) fn on_release(&mut self, stamp: Stamp) -> ReleaseOutcome {
        if self.vote.take_back(stamp) {
            return ReleaseOutcome::VoteReturned { next: self.vote_for_next() };
        }
        if let Some(index) = self.queue.iter().position(|queued| *queued == stamp) {
            self.queue.remove(index);
            return ReleaseOutcome::Dequeued;
        }
        if self.void_requests.remove(&stamp) {
            return ReleaseOutcome::AlreadyEnded;
        }
        self.void_requests.insert(stamp);
        ReleaseOutcome::BeforeRequest
    }

    /// Gives the free vote to the first request in the queue. Returns that request, or `None` if
    /// the queue is empty.
    fn vote_for_next(&mut self) -> Option<Stamp> {
        self.has_inquired = false;
        let next = self.queue.pop_front()?;
        self.vote.try_give(next);
        Some(next)
    }

    /// Inserts a request in order of age.
    fn enqueue(&mut self, stamp: Stamp) {
        let index = self.queue.partition_point(|queued| *queued < stamp);
        self.queue.insert(index, stamp);
    }

    pub(super) fn assert_invariants(&self) {
        let holder = self.holder();
        debug_assert!(
            holder.is_some() || (self.queue.is_empty() && !self.has_inquired),
            "no request waits for a free vote"
        );
        debug_assert!(
            self.queue.iter().all(|queued| Some(*queued) != holder),
            "the holder of the vote does not wait for it"
        );
        debug_assert!(self.queue.iter().all(|queued| !self.void_requests.contains(queued)), "no void request waits");
    }
}
