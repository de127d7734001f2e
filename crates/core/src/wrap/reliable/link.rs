//! One node's end of a link: its unacknowledged messages, the next expected number, and messages
//! held back.

use super::RetransmissionTimeouts;
use crate::wrap::prelude::*;

/// An early message is held back if its number exceeds the next expected one by less than this.
/// Other early messages are dropped, and the sender retransmits them later.
pub(super) const WINDOW: u64 = 1024;

/// Maximum number of messages that are retransmitted at a time.
pub(super) const BATCH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link<M> {
    /// Assumed to be the first, or our own on the link to ourselves, until a frame shows another.
    pub(super) peer_incarnation: Incarnation,
    pub(super) outgoing: Outgoing<M>,
    pub(super) incoming: Incoming<M>,
}

impl<M> Link<M> {
    pub(super) fn new(peer_incarnation: Incarnation, first_timeout: Span) -> Self {
        Self { peer_incarnation, outgoing: Outgoing::new(first_timeout), incoming: Incoming::default() }
    }

    /// Switches to a new incarnation of the peer: forgets the messages held back from the former
    /// one, and keeps the messages that the former one did not acknowledge.
    pub(super) fn restart(&mut self, peer_incarnation: Incarnation) {
        self.peer_incarnation = peer_incarnation;
        self.incoming = Incoming::default();
        self.outgoing.base = self.outgoing.oldest;
    }

    pub(super) fn assert_invariants(&self) {
        let Outgoing { base, oldest, retransmission, .. } = &self.outgoing;
        debug_assert!(base <= oldest, "no message from before the base is unacknowledged");
        let is_unfinished = |ongoing: &OngoingRetransmission| ongoing.next.max(*oldest) < ongoing.end;
        debug_assert!(
            retransmission.as_ref().is_none_or(is_unfinished),
            "a retransmission ends when all its messages are retransmitted or acknowledged"
        );
        let Some(expected) = self.incoming.expected else {
            return debug_assert!(self.incoming.held.is_empty(), "no message is held back before the base is known");
        };
        let is_in_window = |number: &u64| number.checked_sub(expected).is_some_and(|ahead| 0 < ahead && ahead < WINDOW);
        debug_assert!(
            self.incoming.held.keys().all(is_in_window),
            "messages held back are ahead of the next one, within the window"
        );
    }
}

/// The messages to the peer that it has not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outgoing<M> {
    /// The first number sent between the current pair of incarnations.
    pub(super) base: u64,
    /// The number of the first message in the queue, or of the next one if the queue is empty.
    oldest: u64,
    /// The unacknowledged messages, with consecutive numbers.
    queue: VecDeque<Unacknowledged<M>>,
    /// The timeout for the next acknowledgement.
    pub(super) timeout: Span,
    retransmission: Option<OngoingRetransmission>,
}

/// An unacknowledged message with its order relative to saves, which retransmissions keep.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Unacknowledged<M> {
    pub(super) message: M,
    pub(super) order: Order,
}

/// A retransmission in progress, in batches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OngoingRetransmission {
    /// The first number that was not retransmitted yet.
    next: u64,
    /// The first number that had not been sent at all when the retransmission began.
    end: u64,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckOutcome {
    /// The acknowledgement covers nothing new.
    Stale,
    /// The acknowledgement covers messages that were unacknowledged.
    Progress,
    /// The acknowledgement covers a number that was never sent.
    Impossible,
}

impl<M> Outgoing<M> {
    fn new(first_timeout: Span) -> Self {
        Self { base: 0, oldest: 0, queue: VecDeque::new(), timeout: first_timeout, retransmission: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn next_number(&self) -> u64 {
        self.oldest + self.queue.len() as u64
    }

    /// Appends a message and returns its number.
    pub(super) fn push(&mut self, unacknowledged: Unacknowledged<M>) -> u64 {
        let number = self.next_number();
        self.queue.push_back(unacknowledged);
        number
    }

    /// Removes the messages with numbers below `below`, which the peer has acknowledged.
    pub(super) fn acknowledge(&mut self, below: u64) -> AckOutcome {
        if below > self.next_number() {
            return AckOutcome::Impossible;
        }
        let Some(count) = below.checked_sub(self.oldest).filter(|count| *count > 0) else {
            return AckOutcome::Stale;
        };
        // The count is at most the length of the queue, so it fits.
        self.queue.drain(..count as usize);
        self.oldest = below;
        self.retransmission.take_if(|ongoing| ongoing.end <= below);
        AckOutcome::Progress
    }

    /// Doubles the timeout, unless that would exceed the maximum.
    pub(super) fn back_off(&mut self, timeouts: &RetransmissionTimeouts) {
        let doubled = Span { earliest: self.timeout.earliest.times(2), latest: self.timeout.latest.times(2) };
        if doubled.latest <= timeouts.max {
            self.timeout = doubled;
        }
    }

    /// Starts to retransmit everything that is unacknowledged now, batch by batch.
    pub(super) fn start_retransmitting(&mut self) {
        self.retransmission = Some(OngoingRetransmission { next: self.oldest, end: self.next_number() });
    }

    /// Returns the next batch to retransmit, and counts it as retransmitted. The batch is empty
    /// until the previous one is acknowledged. It does not include messages sent since the
    /// retransmission began: these are perhaps not lost.
    pub(super) fn next_batch(&mut self) -> impl Iterator<Item = (u64, &Unacknowledged<M>)> {
        let mut count = 0;
        if let Some(OngoingRetransmission { next, end }) = &mut self.retransmission
            && *next <= self.oldest
        {
            count = end.saturating_sub(self.oldest).min(BATCH as u64);
            *next = self.oldest + count;
            if *next >= *end {
                self.retransmission = None;
            }
        }
        (self.oldest..).zip(self.queue.iter().take(count as usize))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Incoming<M> {
    /// The number to deliver next; `None` until the first message between the current incarnations
    /// arrives.
    expected: Option<u64>,
    /// The messages that are held back, by number.
    held: BTreeMap<u64, M>,
}

/// How a message relates to the next expected number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival<M> {
    Next(M),
    /// The message is held back until those before it have arrived.
    Early,
    /// The message was delivered before.
    Duplicate,
    /// The message is too far ahead to be held back.
    TooFar,
    /// No correct peer sends this number with this base.
    Impossible,
}

impl<M> Default for Incoming<M> {
    fn default() -> Self {
        Self { expected: None, held: BTreeMap::new() }
    }
}

impl<M> Incoming<M> {
    /// Returns the number below which every message was delivered.
    pub(super) fn delivered_below(&self) -> u64 {
        self.expected.unwrap_or(0)
    }

    /// Holds a message back if it is early, and returns it if it is next. The caller must deliver a
    /// returned message, and then the messages that [`take_held`](Self::take_held) returns, until
    /// that returns `None`.
    pub(super) fn accept(&mut self, base: u64, number: u64, message: M) -> Arrival<M> {
        let Some(next_expected) = number.checked_add(1).filter(|_| base <= number) else {
            return Arrival::Impossible;
        };
        let expected = *self.expected.get_or_insert(base);
        match number.checked_sub(expected) {
            None => Arrival::Duplicate,
            Some(0) => {
                self.expected = Some(next_expected);
                Arrival::Next(message)
            }
            Some(1..WINDOW) => {
                self.held.entry(number).or_insert(message);
                Arrival::Early
            }
            Some(_) => Arrival::TooFar,
        }
    }

    /// Removes and returns the next message, if it is held back.
    pub(super) fn take_held(&mut self) -> Option<(u64, M)> {
        let number = self.expected?;
        let message = self.held.remove(&number)?;
        // Only numbers that have a successor are held back.
        self.expected = number.checked_add(1);
        Some((number, message))
    }
}
