//! The pace of a peer's heartbeats, and the silence it allows: the accrual detector of Hayashibara
//! and others (2004).
//!
//! The paper assumes that the gaps between a peer's heartbeats are normally distributed, and calls
//! φ = −log₁₀ P(a gap is longer than the current silence) the level of suspicion. A detector with
//! threshold Φ suspects after *mean* + z(Φ)·*deviation* of silence, where z(Φ) is the point at
//! which the normal tail is 10^−Φ. So nothing has to be computed while a peer is silent, and one
//! timer is enough. All arithmetic is in integers: mean and variance from running sums of
//! nanoseconds, z from a table.

use super::Threshold;
use crate::time::{Duration, Time};
use alloc::collections::VecDeque;

/// Maximum length of a gap, about thirteen days. With it, the sum of squares over [`MAX_GAPS`] gaps
/// does not overflow, not even times their number.
const MAX_GAP_NANOS: u64 = 1 << 50;

/// Maximum number of gaps to remember, for the same reason.
pub(super) const MAX_GAPS: usize = 1 << 10;

/// The deviation is at least this fraction of the period. Otherwise a peer on a link without jitter
/// would be suspected as soon as it is slightly late.
const MIN_DEVIATION_DIVISOR: u64 = 10;

/// Until there are real gaps, the deviation is assumed to be this fraction of the period.
const INITIAL_DEVIATION_DIVISOR: u64 = 4;

/// A gap that led to a suspicion counts as at most this multiple of the silence that was allowed.
/// If such gaps did not count, the detector would suspect again and again; if they counted in full,
/// a long outage would blind it for as long.
const OUTAGE_FACTOR: u64 = 2;

/// The latest gaps between the heartbeats of one incarnation of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pace {
    /// Oldest first.
    gaps_nanos: VecDeque<u64>,
    /// The sum of the gaps.
    sum: u128,
    sum_of_squares: u128,
    /// The number of the latest heartbeat, and its time.
    latest_heartbeat: Option<(u64, Time)>,
    /// The time of the latest sign of life of any kind.
    pub(super) last_sign: Time,
}

impl Pace {
    /// Creates the pace that is assumed at first: one heartbeat per period, with some deviation.
    pub(super) fn new(now: Time, period: Duration) -> Self {
        // Half the maximum, so that a period with its deviation does not exceed it.
        let period = period.nanos().min(MAX_GAP_NANOS / 2);
        let deviation = period / INITIAL_DEVIATION_DIVISOR;
        let mut pace =
            Self { gaps_nanos: VecDeque::new(), sum: 0, sum_of_squares: 0, latest_heartbeat: None, last_sign: now };
        pace.push_gap(period - deviation);
        pace.push_gap(period + deviation);
        pace
    }

    /// Records the heartbeat with this number, which arrived `now`. Ignores a duplicate and an
    /// overtaken one. `allowed_silence` is the silence that was allowed before it, `window` the
    /// number of gaps to remember.
    pub(super) fn learn(&mut self, now: Time, number: u64, allowed_silence: Duration, window: usize) {
        if self.latest_heartbeat.is_some_and(|(latest, _)| number <= latest) {
            return;
        }
        let previous = self.latest_heartbeat.replace((number, now));
        let Some((_, previous_at)) = previous else { return };
        self.push_gap(now.since(previous_at).min(allowed_silence.times(OUTAGE_FACTOR)).nanos().min(MAX_GAP_NANOS));
        while self.gaps_nanos.len() > window.clamp(2, MAX_GAPS) {
            self.pop_gap();
        }
    }

    fn push_gap(&mut self, gap: u64) {
        self.gaps_nanos.push_back(gap);
        self.sum += u128::from(gap);
        self.sum_of_squares += u128::from(gap).pow(2);
    }

    fn pop_gap(&mut self) {
        let Some(gap) = self.gaps_nanos.pop_front() else { return };
        self.sum -= u128::from(gap);
        self.sum_of_squares -= u128::from(gap).pow(2);
    }

    #[cfg(test)]
    pub(super) fn gap_count(&self) -> usize {
        self.gaps_nanos.len()
    }

    /// Returns the mean gap.
    pub(super) fn mean_nanos(&self) -> u64 {
        let count = self.gaps_nanos.len().max(1) as u128;
        // A mean is not longer than the longest gap, so it fits.
        (self.sum / count) as u64
    }

    /// Returns the standard deviation of the gaps, but at least a tenth of the period.
    pub(super) fn deviation_nanos(&self, period: Duration) -> u64 {
        let count = self.gaps_nanos.len().max(1) as u128;
        // The variance, times count².
        let scaled_variance = (count * self.sum_of_squares).saturating_sub(self.sum.pow(2));
        let deviation = scaled_variance.isqrt() / count;
        (deviation as u64).max(period.nanos() / MIN_DEVIATION_DIVISOR)
    }

    /// Returns how long the peer may be silent before φ reaches the threshold.
    pub(super) fn allowed_silence(&self, threshold: Threshold, period: Duration) -> Duration {
        let z_thousandths = u128::from(threshold.deviation_thousandths());
        let slack = u128::from(self.deviation_nanos(period)) * z_thousandths / 1_000;
        Duration::from_nanos(self.mean_nanos().saturating_add(u64::try_from(slack).unwrap_or(u64::MAX)))
    }

    /// Returns φ after this silence, in thousandths. [`allowed_silence`](Self::allowed_silence)
    /// rounds down to nanoseconds, so this rounds up: otherwise the level after the silence that a
    /// threshold allows would be below that threshold, and 0 for the lowest one.
    pub(super) fn phi(&self, silence: Duration, period: Duration) -> u32 {
        let excess_nanos = u128::from(silence.nanos().saturating_sub(self.mean_nanos()));
        let z_thousandths = (excess_nanos * 1_000).div_ceil(u128::from(self.deviation_nanos(period).max(1)));
        Threshold::phi_after(u64::try_from(z_thousandths).unwrap_or(u64::MAX))
    }
}
