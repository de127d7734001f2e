//! Timeouts and delays of the majority lease algorithm. The header of `majority_lease.rs` lists the
//! rules ML-1 to ML-13.

use super::MajorityLease;
use crate::election::overlay::mix_bits;
use crate::group::Epoch;
use crate::time::Duration;

/// Number of renewals in the time for which a leader trusts a lease, unless answers may take
/// longer than a quarter of that time.
const RENEWALS_PER_LEASE: u64 = 4;

/// Timeout for votes, in answer times: more than one, so that voters have time to save.
const VOTE_TIMEOUT_ANSWER_TIMES: u64 = 4;

/// Time that other nodes leave to the successor of a leader that resigns, in answer times.
const HANDOVER_ANSWER_TIMES: u64 = 4;

impl MajorityLease {
    /// Returns the time from one renewal to the next: at least the answer time, because only
    /// answers to the current round count.
    pub(super) fn renewal_interval(&self) -> Duration {
        let trusted = self.config.lease_settings.trusted_duration();
        Duration::from_nanos(trusted.nanos() / RENEWALS_PER_LEASE).max(self.config.answer_time)
    }

    /// Returns how long a candidate waits for votes: at most as long as a leader would trust the
    /// lease that they grant.
    pub(super) fn vote_timeout(&self) -> Duration {
        self.config.answer_time.times(VOTE_TIMEOUT_ANSWER_TIMES).min(self.config.lease_settings.trusted_duration())
    }

    /// Returns the extra delay of all other nodes after a leader has resigned and named a
    /// successor, which campaigns at once.
    pub(super) fn handover_delay(&self) -> Duration {
        self.config.answer_time.times(HANDOVER_ANSWER_TIMES)
    }

    /// ML-8, ML-9. Returns a pseudo-random delay that differs from node to node. Its range grows
    /// with the size of the group, and doubles with each of the first three failed campaigns.
    pub(super) fn retry_delay(&self) -> Duration {
        let Epoch(term) = self.vote_record.term;
        let me = u64::from(self.config.me.number());
        let random = [me, term, u64::from(self.failed_campaigns)]
            .into_iter()
            .fold(self.config.seed, |word, part| mix_bits(word ^ mix_bits(part)));
        let answer_time = self.config.answer_time;
        let range = answer_time.times(2 * self.config.group.len() as u64).times(1 << self.failed_campaigns.min(3));
        answer_time + Duration::from_nanos(random % range.nanos().max(1))
    }
}
