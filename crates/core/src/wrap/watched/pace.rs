//! How a peer's heartbeats use to come, and how long it may be silent by that: the accrual detector of Hayashibara and others (2004).
//!
//! The paper takes the gaps between a peer's heartbeats for normally distributed and calls φ = −log₁₀ P(a gap is longer than the present
//! silence) the level of suspicion. Whoever suspects at φ = Φ suspects after *mean* + z(Φ)·*deviation* of silence, where z(Φ) is where
//! the normal tail is 10^−Φ. So nothing has to be computed while a peer is silent, and one timer will do. Everything is in whole numbers:
//! mean and variance from running sums of nanoseconds, z from a table.

use super::Threshold;
use crate::time::{Duration, Time};
use alloc::collections::VecDeque;

/// A gap counts as no more than this, some thirteen days: squares of a whole window of them can then be added up.
const LONGEST: u64 = 1 << 50;

/// Windows hold no more than this, for the same reason.
pub(super) const MOST_GAPS: usize = 1 << 10;

/// The deviation is never taken for less than this part of the period. Otherwise a link that never varies would make a suspect of
/// whoever is late by a moment.
const LEAST_DEVIATION: u64 = 10;

/// The first gaps are taken to be off by this part of the period, until there are others.
const FIRST_DEVIATION: u64 = 4;

/// A gap that was taken for death counts as no more than so many times the silence that was allowed: who learns of nothing longer
/// would suspect again and again, and who believes all of a long outage would suspect nobody for as long.
const MOST_NEWS: u64 = 2;

/// The latest gaps between the heartbeats of one life of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pace {
    gaps: VecDeque<u64>,
    sum: u128,
    squares: u128,
    /// The latest beat: its number, and when it came.
    latest: Option<(u64, Time)>,
    /// The latest sign of any kind.
    pub(super) heard: Time,
}

impl Pace {
    /// What is taken for granted before anything is known: a beat a period, more or less.
    pub(super) fn new(now: Time, period: Duration) -> Self {
        let period = period.nanos().min(LONGEST / 2);
        let off = period / FIRST_DEVIATION;
        let mut pace = Self { gaps: VecDeque::new(), sum: 0, squares: 0, latest: None, heard: now };
        pace.push(period - off);
        pace.push(period + off);
        pace
    }

    /// A beat came. A repetition, or one that was overtaken, is a sign of life but tells nothing of gaps.
    pub(super) fn learn(&mut self, now: Time, number: u64, allowed: Duration, window: usize) {
        if self.latest.is_some_and(|(latest, _)| number <= latest) {
            return;
        }
        let before = self.latest.replace((number, now));
        let Some((_, then)) = before else { return };
        self.push(now.since(then).min(allowed.times(MOST_NEWS)).nanos().min(LONGEST));
        while self.gaps.len() > window.clamp(2, MOST_GAPS) {
            self.pop();
        }
    }

    fn push(&mut self, gap: u64) {
        self.gaps.push_back(gap);
        self.sum += u128::from(gap);
        self.squares += u128::from(gap).pow(2);
    }

    fn pop(&mut self) {
        let Some(gap) = self.gaps.pop_front() else { return };
        self.sum -= u128::from(gap);
        self.squares -= u128::from(gap).pow(2);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.gaps.len()
    }

    /// The mean of the gaps, in nanoseconds.
    pub(super) fn mean(&self) -> u64 {
        let count = self.gaps.len().max(1) as u128;
        // A mean is no longer than the longest gap.
        (self.sum / count) as u64
    }

    /// Their standard deviation, in nanoseconds, but never less than a part of the period.
    pub(super) fn deviation(&self, period: Duration) -> u64 {
        let count = self.gaps.len().max(1) as u128;
        let spread = (count * self.squares).saturating_sub(self.sum.pow(2));
        let deviation = spread.isqrt() / count;
        (deviation as u64).max(period.nanos() / LEAST_DEVIATION)
    }

    /// For how long the peer may be silent before φ is as high as this.
    pub(super) fn allowed(&self, threshold: Threshold, period: Duration) -> Duration {
        let deviations = u128::from(threshold.deviations());
        let slack = u128::from(self.deviation(period)) * deviations / 1_000;
        Duration::from_nanos(self.mean().saturating_add(u64::try_from(slack).unwrap_or(u64::MAX)))
    }

    /// How high φ is after this silence, in thousandths. [`allowed`](Self::allowed) drops a part of a nanosecond, so this rounds up:
    /// otherwise the level after the silence that a threshold allows would lie below that threshold, and after the least one at 0.
    pub(super) fn level(&self, silence: Duration, period: Duration) -> u32 {
        let beyond = u128::from(silence.nanos().saturating_sub(self.mean()));
        let deviations = (beyond * 1_000).div_ceil(u128::from(self.deviation(period).max(1)));
        Threshold::reached(u64::try_from(deviations).unwrap_or(u64::MAX))
    }
}
