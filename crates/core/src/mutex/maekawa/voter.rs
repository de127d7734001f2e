//! A voter: which request has its vote, and which ones wait for it. It only decides; the node sends
//! the messages.

use super::Form;
use crate::mutex::prelude::*;
use crate::mutex::vote::{Vote, VoteOutcome};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    vote: Vote<Stamp>,
    /// Whether the voter has inquired about its current vote.
    inquired: bool,
    /// The requests that wait for the vote, next one first.
    queue: VecDeque<Stamp>,
    /// Requests that have ended here although only one of their two messages has arrived: the
    /// release without the request, or the request without the release, because the voter denied it
    /// or received a later request of the same node.
    void: BTreeSet<Stamp>,
}

/// The voter's decision about a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
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
        /// The request that has the vote and must receive an inquiry.
        inquire: Option<Stamp>,
    },
}

/// The voter's action on a release that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The request had the vote, which `next` has now.
    Passed { next: Option<Stamp> },
    /// The request was removed from the queue.
    Withdrawn,
    /// The request has not arrived yet; it is void when it does.
    Early,
    /// The request had ended here already.
    Over,
}

impl Voter {
    pub(super) const fn new() -> Self {
        Self { vote: Vote::new(), inquired: false, queue: VecDeque::new(), void: BTreeSet::new() }
    }

    /// Gives the vote to the request that is in the critical section when a view begins.
    pub(super) fn begin(&mut self, inside: Stamp) {
        self.vote.try_give(inside);
    }

    pub(super) const fn holder(&self) -> Option<Stamp> {
        self.vote.holder()
    }

    /// Returns whether the voter has no request and expects no message of an ended one.
    pub(super) fn is_idle(&self) -> bool {
        self.vote.holder().is_none() && self.void.is_empty()
    }

    pub(super) fn on_request(&mut self, asked: Stamp, patience: Patience, form: Form) -> Arrival {
        if self.void.remove(&asked) || self.queue.contains(&asked) || self.holder() == Some(asked) {
            return Arrival::Void;
        }
        match (self.try_give(asked), patience, form) {
            (VoteOutcome::Given, _, _) => Arrival::Voted,
            (VoteOutcome::Moved { from }, _, _) => {
                self.inquired = false;
                self.void.insert(from);
                Arrival::Voted
            }
            (VoteOutcome::Held { holder }, Patience::Try, _) => {
                self.void.insert(asked);
                Arrival::Denied { holder }
            }
            (VoteOutcome::Held { holder }, Patience::Wait, Form::Plain) => {
                self.queue.push_back(asked);
                Arrival::Waits { holder }
            }
            (VoteOutcome::Held { holder }, Patience::Wait, Form::DeadlockFree) => self.queue_by_age(asked, holder),
        }
    }

    /// Gives the vote if it is free or moves it within the same node, but never ahead of a waiting
    /// request.
    fn try_give(&mut self, asked: Stamp) -> VoteOutcome<Stamp> {
        match self.holder().filter(|_| !self.queue.is_empty()) {
            Some(holder) => VoteOutcome::Held { holder },
            None => self.vote.try_give(asked),
        }
    }

    /// Queues a request. A request that receives no failure here is older than all others, and the
    /// voter has inquired about its vote. Both must stay true until it has the vote.
    fn queue_by_age(&mut self, asked: Stamp, holder: Stamp) -> Arrival {
        let first = self.queue.front().copied();
        self.enqueue(asked);
        match first.unwrap_or(holder).min(holder) {
            older if older < asked => Arrival::Fails { older },
            _ => {
                // A request that is younger than the holder received a failure when it arrived.
                let displaced = first.filter(|first| *first < holder);
                let inquire = (!self.inquired).then_some(holder);
                self.inquired = true;
                Arrival::Oldest { displaced, inquire }
            }
        }
    }

    /// Takes the vote back from a request, which continues to wait. Returns the request that has
    /// the vote now, or `None` if this one did not have it or was not asked for it.
    pub(super) fn relinquish(&mut self, stamp: Stamp) -> Option<Stamp> {
        if !self.inquired || !self.vote.take_back(stamp) {
            return None;
        }
        self.enqueue(stamp);
        self.vote_for_next()
    }

    pub(super) fn end(&mut self, stamp: Stamp) -> End {
        if self.vote.take_back(stamp) {
            return End::Passed { next: self.vote_for_next() };
        }
        if let Some(index) = self.queue.iter().position(|queued| *queued == stamp) {
            self.queue.remove(index);
            return End::Withdrawn;
        }
        if self.void.remove(&stamp) {
            return End::Over;
        }
        self.void.insert(stamp);
        End::Early
    }

    fn vote_for_next(&mut self) -> Option<Stamp> {
        self.inquired = false;
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
            holder.is_some() || (self.queue.is_empty() && !self.inquired),
            "no request waits for a free vote"
        );
        debug_assert!(
            self.queue.iter().all(|queued| Some(*queued) != holder),
            "the holder of the vote does not wait for it"
        );
        debug_assert!(self.queue.iter().all(|queued| !self.void.contains(queued)), "no void request waits");
    }
}
