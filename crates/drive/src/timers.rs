//! Timers on a real clock.

use quorate_core::{Duration, Span, Time};

/// The timers that are set. A linear search is enough, because a node has few.
pub(crate) struct Timers<T> {
    pending: Vec<(Time, T)>,
    random_state: u64,
}

impl<T: Eq> Timers<T> {
    pub(crate) fn new(seed: u64) -> Self {
        Self { pending: Vec::new(), random_state: seed }
    }

    /// Sets a timer to expire after a random delay in this span; replaces an equal timer that is
    /// already set.
    pub(crate) fn set(&mut self, now: Time, timer: T, span: Span) {
        self.cancel(&timer);
        let delay = self.draw_delay(span);
        self.pending.push((now + delay, timer));
    }

    /// Cancels a timer. Returns whether it was set.
    pub(crate) fn cancel(&mut self, timer: &T) -> bool {
        let index = self.pending.iter().position(|(_, pending)| pending == timer);
        index.map(|index| self.pending.swap_remove(index)).is_some()
    }

    /// Returns when the next timer expires; `None` if no timer is set.
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.pending.iter().map(|(time, _)| *time).min()
    }

    /// Removes and returns the earliest timer whose time is not after `now`, if any.
    pub(crate) fn take_expired(&mut self, now: Time) -> Option<T> {
        let expired = self.pending.iter().enumerate().filter(|(_, (time, _))| *time <= now);
        let (index, _) = expired.min_by_key(|(_, (time, _))| *time)?;
        Some(self.pending.swap_remove(index).1)
    }

    /// Returns a random duration in the span. The generator is SplitMix64.
    fn draw_delay(&mut self, span: Span) -> Duration {
        self.random_state = self.random_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let width = span.latest.nanos().saturating_sub(span.earliest.nanos()).saturating_add(1);
        span.earliest + Duration::from_nanos(mixed % width)
    }
}

#[cfg(test)]
mod tests {
    use super::Timers;
    use quorate_core::{Duration, Span, Time};

    #[test]
    fn timers_fire_in_order_once_and_not_when_cancelled_or_replaced() {
        let mut timers = Timers::new(1);
        let at = |millis: i64| Time::from_nanos(millis * 1_000_000);
        let exactly = |millis| Span::exactly(Duration::from_millis(millis));
        timers.set(at(0), "late", exactly(30));
        timers.set(at(0), "early", exactly(10));
        timers.set(at(0), "never", exactly(5));
        assert!(timers.cancel(&"never"));
        assert!(!timers.cancel(&"never"));
        timers.set(at(0), "early", exactly(20));
        assert_eq!(timers.next_expiry(), Some(at(20)));
        assert_eq!(timers.take_expired(at(19)), None);
        assert_eq!(timers.take_expired(at(40)), Some("early"));
        assert_eq!(timers.take_expired(at(40)), Some("late"));
        assert_eq!(timers.take_expired(at(40)), None);
    }

    #[test]
    fn a_draw_lies_in_its_span() {
        let mut timers = Timers::<()>::new(7);
        let [minimum, maximum] = [3, 9].map(Duration::from_nanos);
        let draws: std::collections::BTreeSet<_> =
            (0..1_000).map(|_| timers.draw_delay(Span::between(minimum, maximum))).collect();
        assert_eq!((draws.first(), draws.last(), draws.len()), (Some(&minimum), Some(&maximum), 7));
    }

    #[test]
    fn draws_reach_the_end_of_a_long_span() {
        let mut timers = Timers::<()>::new(7);
        let span = Span::between(Duration::ZERO, Duration::from_secs(3_600));
        assert!((0..1_000).any(|_| timers.draw_delay(span) > Duration::from_secs(3_000)));
    }
}
