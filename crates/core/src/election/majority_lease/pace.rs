//! How long a node waits for this and that.

use super::MajorityLease;
use crate::election::overlay::mix;
use crate::group::Epoch;
use crate::time::Duration;

/// A lease is renewed so many times before it runs out, if all goes well.
const RENEWALS: u64 = 4;

/// Votes take their way and that to the disk.
const ANSWERS_FOR_VOTES: u64 = 4;

/// A handover has so many answers' time before others take it on themselves.
const ANSWERS_FOR_SUCCESSOR: u64 = 4;

impl MajorityLease {
    /// From one renewal to the next. No answer may come later than the next question.
    pub(super) fn beat(&self) -> Duration {
        let trusted = self.place.tenure.trusted();
        Duration::from_nanos(trusted.nanos() / RENEWALS).max(self.place.answer)
    }

    /// How long a candidate waits for votes: never for longer than they are worth something.
    pub(super) fn patience(&self) -> Duration {
        self.place.answer.times(ANSWERS_FOR_VOTES).min(self.place.tenure.trusted())
    }

    /// How long others leave a handover to the one who was named.
    pub(super) fn courtesy(&self) -> Duration {
        self.place.answer.times(ANSWERS_FOR_SUCCESSOR)
    }

    /// ML-8, ML-9. A wait that follows from the group's seed and differs from node to node, in a window with room for everyone that grows
    /// with each failure.
    pub(super) fn pause(&self) -> Duration {
        let Epoch(term) = self.ledger.term;
        let me = u64::from(self.place.me.number());
        let drawn =
            [me, term, u64::from(self.failures)].into_iter().fold(self.place.seed, |word, part| mix(word ^ mix(part)));
        let answer = self.place.answer;
        let room = answer.times(2 * self.place.group.len() as u64).times(1 << self.failures.min(3));
        answer + Duration::from_nanos(drawn % room.nanos().max(1))
    }
}
