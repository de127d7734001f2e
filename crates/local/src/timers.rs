//! Timers on a real clock.

use quorate_core::{Duration, Span, Time};
use std::time::Instant;

/// A node's clock: it begins when the node does, and never goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(i64::try_from(self.0.elapsed().as_nanos()).unwrap_or(i64::MAX))
    }
}

/// The timers that are set. There are few, so they are searched.
pub(crate) struct Timers<T> {
    set: Vec<(Time, T)>,
    draws: u64,
}

impl<T: Eq> Timers<T> {
    pub(crate) fn new(seed: u64) -> Self {
        Self { set: Vec::new(), draws: seed }
    }

    pub(crate) fn set(&mut self, now: Time, timer: T, span: Span) {
        self.cancel(&timer);
        let length = self.draw(span);
        self.set.push((now + length, timer));
    }

    pub(crate) fn cancel(&mut self, timer: &T) {
        self.set.retain(|(_, set)| set != timer);
    }

    /// How long until the next one fires.
    pub(crate) fn wait(&self, now: Time) -> Option<Duration> {
        self.set.iter().map(|(due, _)| due.since(now)).min()
    }

    /// The next one that is due.
    pub(crate) fn fire(&mut self, now: Time) -> Option<T> {
        let (place, _) =
            self.set.iter().enumerate().filter(|(_, (due, _))| *due <= now).min_by_key(|(_, (due, _))| *due)?;
        Some(self.set.swap_remove(place).1)
    }

    /// Any length in the span, by a small generator of our own: nothing depends on its quality.
    fn draw(&mut self, span: Span) -> Duration {
        self.draws = self.draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let room = span.latest.nanos().saturating_sub(span.earliest.nanos()).saturating_add(1);
        span.earliest + Duration::from_nanos((self.draws >> 33) % room.max(1))
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
        timers.cancel(&"never");
        timers.set(at(0), "early", exactly(20));
        assert_eq!(timers.wait(at(0)), Some(Duration::from_millis(20)));
        assert_eq!(timers.fire(at(19)), None);
        assert_eq!(timers.fire(at(40)), Some("early"));
        assert_eq!(timers.fire(at(40)), Some("late"));
        assert_eq!(timers.fire(at(40)), None);
    }

    #[test]
    fn a_draw_lies_in_its_span() {
        let mut timers = Timers::<()>::new(7);
        let [least, most] = [3, 9].map(Duration::from_nanos);
        let draws: std::collections::BTreeSet<_> =
            (0..1_000).map(|_| timers.draw(Span::between(least, most))).collect();
        assert_eq!((draws.first(), draws.last(), draws.len()), (Some(&least), Some(&most), 7));
    }
}
