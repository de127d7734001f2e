//! One node's end of one link: what it sent and has no acknowledgement for, what it expects and holds back.

use super::Retransmission;
use crate::wrap::prelude::*;

/// How far ahead of the next number a message may be and still be held back. What is further ahead is dropped,
/// and arrives again when its turn is nearer.
pub(super) const WINDOW: u64 = 1024;

/// How many messages are repeated at a time.
pub(super) const BATCH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link<M> {
    /// The life of the peer at the other end. It is taken for the first one until a frame tells otherwise.
    pub(super) life: Incarnation,
    pub(super) outgoing: Outgoing<M>,
    pub(super) incoming: Incoming<M>,
}

impl<M> Link<M> {
    pub(super) fn new(life: Incarnation, first_wait: Span) -> Self {
        Self { life, outgoing: Outgoing::new(first_wait), incoming: Incoming::default() }
    }

    /// The peer lives anew: what the former life sent is over, and what it did not acknowledge is for the new one.
    pub(super) fn renew(&mut self, life: Incarnation) {
        self.life = life;
        self.incoming = Incoming::default();
        self.outgoing.base = self.outgoing.oldest;
    }

    pub(super) fn assert_invariants(&self) {
        let Outgoing { base, oldest, catching_up, .. } = &self.outgoing;
        debug_assert!(base <= oldest, "nothing from before the base waits");
        let something_left = |catching_up: &CatchingUp| catching_up.next.max(*oldest) < catching_up.end;
        debug_assert!(catching_up.as_ref().is_none_or(something_left), "what is repeated is not all acknowledged");
        let Some(expected) = self.incoming.expected else {
            return debug_assert!(self.incoming.held.is_empty(), "nothing is held before the base is known");
        };
        let in_the_window =
            |number: &u64| number.checked_sub(expected).is_some_and(|ahead| 0 < ahead && ahead < WINDOW);
        debug_assert!(self.incoming.held.keys().all(in_the_window), "what is held back is early, and not too early");
    }
}

/// The messages to the peer that it has not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outgoing<M> {
    /// The first number of the present pair of lives.
    pub(super) base: u64,
    /// The number of the first letter in the queue, or of the next one if there is none.
    oldest: u64,
    /// What is unacknowledged, in the order of the numbers, which have no gap.
    queue: VecDeque<Letter<M>>,
    /// How long to wait for the next acknowledgement.
    pub(super) wait: Span,
    catching_up: Option<CatchingUp>,
}

/// A message with the order it was sent in, which its repetitions keep.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Letter<M> {
    pub(super) message: M,
    pub(super) order: Order,
}

/// What is being sent again, in batches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CatchingUp {
    /// The first number that was not sent again yet.
    next: u64,
    /// The first number that had not been sent at all when the repeating began.
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Nothing new.
    Stale,
    /// Some messages need no more care.
    Progress,
    /// It covers a number that was never sent.
    Impossible,
}

impl<M> Outgoing<M> {
    fn new(first_wait: Span) -> Self {
        Self { base: 0, oldest: 0, queue: VecDeque::new(), wait: first_wait, catching_up: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn next(&self) -> u64 {
        self.oldest + self.queue.len() as u64
    }

    pub(super) fn push(&mut self, letter: Letter<M>) -> u64 {
        let number = self.next();
        self.queue.push_back(letter);
        number
    }

    pub(super) fn settle(&mut self, below: u64) -> Settled {
        if below > self.next() {
            return Settled::Impossible;
        }
        let Some(count) = below.checked_sub(self.oldest).filter(|count| *count > 0) else {
            return Settled::Stale;
        };
        // The count is no larger than the queue is long, so it fits.
        self.queue.drain(..count as usize);
        self.oldest = below;
        self.catching_up.take_if(|catching_up| catching_up.end <= below);
        Settled::Progress
    }

    /// The wait ended in vain: the next one is twice as long, unless that would be too long.
    pub(super) fn back_off(&mut self, retransmission: &Retransmission) {
        let doubled = Span { earliest: self.wait.earliest.times(2), latest: self.wait.latest.times(2) };
        if doubled.latest <= retransmission.longest {
            self.wait = doubled;
        }
    }

    /// All that is unacknowledged now is to be sent again, batch by batch.
    pub(super) fn start_repeating(&mut self) {
        self.catching_up = Some(CatchingUp { next: self.oldest, end: self.next() });
    }

    /// The next batch to send again, once the one before is acknowledged. It ends at what was sent since the
    /// repeating began: that need not be lost.
    pub(super) fn next_batch(&mut self) -> impl Iterator<Item = (u64, &Letter<M>)> {
        let mut count = 0;
        if let Some(CatchingUp { next, end }) = &mut self.catching_up
            && *next <= self.oldest
        {
            count = end.saturating_sub(self.oldest).min(BATCH as u64);
            *next = self.oldest + count;
            if *next >= *end {
                self.catching_up = None;
            }
        }
        (self.oldest..).zip(self.queue.iter().take(count as usize))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Incoming<M> {
    /// The number to hand up next; unknown until the first message between the present lives arrives.
    expected: Option<u64>,
    held: BTreeMap<u64, M>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival<M> {
    Next(M),
    Early,
    /// One that was handed up before.
    Repeated,
    /// One too far ahead to be held back.
    TooFar,
    /// One that no peer in its senses sends.
    Impossible,
}

impl<M> Default for Incoming<M> {
    fn default() -> Self {
        Self { expected: None, held: BTreeMap::new() }
    }
}

impl<M> Incoming<M> {
    /// Every number below this one was handed up.
    pub(super) fn below(&self) -> u64 {
        self.expected.unwrap_or(0)
    }

    pub(super) fn sort(&mut self, base: u64, number: u64, message: M) -> Arrival<M> {
        let Some(after) = number.checked_add(1).filter(|_| base <= number) else {
            return Arrival::Impossible;
        };
        let expected = *self.expected.get_or_insert(base);
        match number.checked_sub(expected) {
            None => Arrival::Repeated,
            Some(0) => {
                self.expected = Some(after);
                Arrival::Next(message)
            }
            Some(1..WINDOW) => {
                self.held.entry(number).or_insert(message);
                Arrival::Early
            }
            Some(_) => Arrival::TooFar,
        }
    }

    /// The next one, if it is among those held back.
    pub(super) fn take_held(&mut self) -> Option<(u64, M)> {
        let number = self.expected?;
        let message = self.held.remove(&number)?;
        // Only numbers that have a successor are held.
        self.expected = number.checked_add(1);
        Some((number, message))
    }
}
