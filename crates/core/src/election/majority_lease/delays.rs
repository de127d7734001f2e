//! Timeouts and delays of the majority lease algorithm.

use super::MajorityLease;
use crate::election::overlay::mix;
use crate::group::Epoch;
use crate::time::Duration;

/// Number of renewals during one lease, if no message is lost.
const RENEWALS: u64 = 4;

/// Timeout for votes, in answer times, so that saves fit in too.
const ANSWERS_FOR_VOTES: u64 = 4;

/// Time for a handover, in answer times, before other nodes campaign.
const ANSWERS_FOR_SUCCESSOR: u64 = 4;

impl MajorityLease {
    /// Returns the time from one renewal to the next. An answer must arrive before the next
    /// request.
    pub(super) fn renewal_interval(&self) -> Duration {
        let trusted = self.config.lease_terms.trusted();
        Duration::from_nanos(trusted.nanos() / RENEWALS).max(self.config.answer_time)
    }

    /// Returns how long a candidate waits for votes: at most as long as a lease based on them would
    /// last.
    pub(super) fn vote_timeout(&self) -> Duration {
        self.config.answer_time.times(ANSWERS_FOR_VOTES).min(self.config.lease_terms.trusted())
    }

    /// Returns how long other nodes wait for the named successor to campaign.
    pub(super) fn handover_delay(&self) -> Duration {
        self.config.answer_time.times(ANSWERS_FOR_SUCCESSOR)
    }

    /// ML-8, ML-9. Returns a delay derived from the group's seed that differs from node to node.
    /// Its range grows with the size of the group and with each failure.
    pub(super) fn retry_delay(&self) -> Duration {
        let Epoch(term) = self.record.term;
        let me = u64::from(self.config.me.number());
        let random =
            [me, term, u64::from(self.failures)].into_iter().fold(self.config.seed, |word, part| mix(word ^ mix(part)));
        let answer_time = self.config.answer_time;
        // Doubles with each failure, up to eight times the initial range.
        let range = answer_time.times(2 * self.config.group.len() as u64).times(1 << self.failures.min(3));
        answer_time + Duration::from_nanos(random % range.nanos().max(1))
    }
}
