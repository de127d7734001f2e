//! One voter: who has its vote, and who waits for it. It decides; the node sends what follows from that.

use super::Form;
use crate::mutex::ballot::{Asked, Ballot};
use crate::mutex::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    ballot: Ballot<Stamp>,
    /// Whether we have asked the one who has the vote to give it back.
    inquired: bool,
    /// Who waits for the vote, the next one first.
    queue: VecDeque<Stamp>,
    /// Requests that are over here although only one half of their story has arrived: the release without the request, or
    /// the request without the release, because it was denied or a later one of the same node has come.
    void: BTreeSet<Stamp>,
}

/// What becomes of a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is over, or it is here already.
    Void,
    /// It has the vote.
    Voted,
    /// It does not wait, and another one has the vote.
    Denied { holder: Stamp },
    /// It waits in order of arrival.
    Waits { holder: Stamp },
    /// It waits, and one that is older has the vote or waits too.
    Fails { older: Stamp },
    /// It is older than all others here, and waits.
    Oldest {
        /// Who was to have the vote next until now, and does not know better.
        displaced: Option<Stamp>,
        /// Who has the vote, and must be asked to give it back.
        inquire: Option<Stamp>,
    },
}

/// What becomes of a request whose release arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It had the vote, which this one has now.
    Passed { next: Option<Stamp> },
    /// It waited, and does not any longer.
    Withdrawn,
    /// It is still to arrive, and is void.
    Early,
    /// It was over here already.
    Over,
}

impl Voter {
    pub(super) const fn new() -> Self {
        Self { ballot: Ballot::new(), inquired: false, queue: VecDeque::new(), void: BTreeSet::new() }
    }

    /// It has voted for the one inside before anybody asks.
    pub(super) fn begin(&mut self, inside: Stamp) {
        self.ballot.give(inside);
    }

    pub(super) const fn holder(&self) -> Option<Stamp> {
        self.ballot.holder()
    }

    /// Whether it knows of no request, and never will of one that is over.
    pub(super) fn is_idle(&self) -> bool {
        self.ballot.holder().is_none() && self.void.is_empty()
    }

    pub(super) fn hear(&mut self, asked: Stamp, patience: Patience, form: Form) -> Arrival {
        if self.void.remove(&asked) || self.queue.contains(&asked) || self.holder() == Some(asked) {
            return Arrival::Void;
        }
        match (self.ask(asked), patience, form) {
            (Asked::Given, _, _) => Arrival::Voted,
            (Asked::Passed { over }, _, _) => {
                self.inquired = false;
                self.void.insert(over);
                Arrival::Voted
            }
            (Asked::Taken { holder }, Patience::Try, _) => {
                self.void.insert(asked);
                Arrival::Denied { holder }
            }
            (Asked::Taken { holder }, Patience::Wait, Form::Plain) => {
                self.queue.push_back(asked);
                Arrival::Waits { holder }
            }
            (Asked::Taken { holder }, Patience::Wait, Form::DeadlockFree) => self.line_up(asked, holder),
        }
    }

    /// Nobody goes ahead of those who wait.
    fn ask(&mut self, asked: Stamp) -> Asked<Stamp> {
        match self.holder().filter(|_| !self.queue.is_empty()) {
            Some(holder) => Asked::Taken { holder },
            None => self.ballot.give(asked),
        }
    }

    /// Whoever is not told here that it fails is older than all others, and the one who has the vote is asked for it.
    /// Both must stay true of it until it has the vote.
    fn line_up(&mut self, asked: Stamp, holder: Stamp) -> Arrival {
        let first = self.queue.front().copied();
        self.enqueue(asked);
        match first.unwrap_or(holder).min(holder) {
            older if older < asked => Arrival::Fails { older },
            _ => {
                // One that is younger than the holder was told when it arrived.
                let displaced = first.filter(|first| *first < holder);
                let inquire = (!self.inquired).then_some(holder);
                self.inquired = true;
                Arrival::Oldest { displaced, inquire }
            }
        }
    }

    /// The one that has the vote gives it back, but waits for it on. Tells who has it now.
    pub(super) fn relinquish(&mut self, stamp: Stamp) -> Option<Stamp> {
        if !self.inquired || !self.ballot.take_back(stamp) {
            return None;
        }
        self.enqueue(stamp);
        self.vote_for_next()
    }

    pub(super) fn end(&mut self, stamp: Stamp) -> End {
        if self.ballot.take_back(stamp) {
            return End::Passed { next: self.vote_for_next() };
        }
        if let Some(place) = self.queue.iter().position(|queued| *queued == stamp) {
            self.queue.remove(place);
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
        self.ballot.give(next);
        Some(next)
    }

    /// In the order of age.
    fn enqueue(&mut self, stamp: Stamp) {
        let place = self.queue.partition_point(|queued| *queued < stamp);
        self.queue.insert(place, stamp);
    }

    pub(super) fn assert_invariants(&self) {
        let holder = self.holder();
        debug_assert!(holder.is_some() || (self.queue.is_empty() && !self.inquired), "a vote that is here is given");
        debug_assert!(self.queue.iter().all(|queued| Some(*queued) != holder), "nobody waits for what it has");
        debug_assert!(self.queue.iter().all(|queued| !self.void.contains(queued)), "nobody waits who is void");
    }
}
