//! Seeded random numbers that are the same on every machine.

use quorate_core::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::settings::{Chance, Latency};

/// The purpose of a stream of random numbers. Streams are independent: drawing more from one does
/// not shift another.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Delays, losses and duplicates of messages.
    Network = 1,
    /// When each timer fires within its span.
    Timers = 2,
    /// Processing times, durations of disk syncs, and how many of a node's unconfirmed saves
    /// survive the faults `crash NODE torn` and `disk NODE fails`.
    Nodes = 3,
    /// Which client sends which request, and when.
    Workload = 4,
    /// The faults of a run, if the seed chooses them.
    Faults = 5,
    /// Delays and losses of messages to and from the membership service, and the drift of its
    /// clock.
    Membership = 6,
    /// The order of the nodes on a ring.
    RingOrder = 7,
    /// The random attributes by which elections rank nodes.
    Attributes = 8,
    /// The senders, receivers and times of multicasts.
    Multicasts = 9,
    /// The delays of reports that a process has ended or restarted.
    CrashNotices = 10,
}

/// A seeded random number generator for one purpose.
#[derive(Clone, Debug)]
pub struct SeededRng(ChaCha8Rng);

impl SeededRng {
    /// Creates the generator of this seed for one purpose.
    pub fn new(seed: u64, stream: Stream) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream as u64);
        Self(generator)
    }

    /// Creates the generator of this seed for one purpose and one event, whose key has at most 56
    /// bits. What it draws does not depend on the events before, so it stays the same if a script
    /// repeats a part of a run.
    pub fn of_event(seed: u64, stream: Stream, key: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(key << 8 | stream as u64);
        Self(generator)
    }

    /// Returns a uniformly distributed number below `bound`, or 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product. Its bias is below bound / 2^64, too small to matter in any
        // run.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a uniformly distributed duration from `min` to `max`, both included, or `min` if
    /// `max` is not greater.
    #[inline]
    pub fn between(&mut self, min: Duration, max: Duration) -> Duration {
        let width = max.nanos().saturating_sub(min.nanos());
        if width == 0 {
            return min;
        }
        Duration::from_nanos(min.nanos() + self.below(width.saturating_add(1)))
    }

    /// Returns true with the probability `chance`. A probability of zero draws no random number.
    #[inline]
    pub fn happens(&mut self, chance: Chance) -> bool {
        !chance.is_zero() && self.below(1_000_000_000) < u64::from(chance.parts_per_billion())
    }

    /// Returns a duration drawn from this latency distribution.
    #[inline]
    pub fn draw_latency(&mut self, distribution: Latency) -> Duration {
        match distribution {
            Latency::Fixed(length) => length,
            Latency::Uniform { min, max } => self.between(min, max),
            Latency::LongTail { median } => self.draw_long_tail(median),
        }
    }

    /// Draws from a distribution without upper bound. Half of all values lie between a quarter of
    /// the median and the median. A value above the median exceeds twice the median with
    /// probability 1/4, four times the median with probability 1/16, and so on.
    ///
    /// Uses integers only: floating-point logarithms and powers differ in the last bit between
    /// machines.
    fn draw_long_tail(&mut self, median: Duration) -> Duration {
        let nanos = median.nanos();
        if self.below(2) == 0 {
            return Duration::from_nanos(nanos / 4 + self.below(nanos - nanos / 4 + 1));
        }
        let mut min_nanos = nanos;
        // The limit prevents an overflow.
        while self.below(4) == 0 && min_nanos < u64::MAX / 16 {
            min_nanos *= 2;
        }
        Duration::from_nanos(min_nanos) + Duration::from_nanos(self.below(min_nanos.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::{SeededRng, Stream};
    use crate::settings::Latency;
    use quorate_core::Duration;

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut rng = SeededRng::new(7, Stream::Network);
        let drawn: Vec<_> = (0..4).map(|_| rng.below(1_000_000)).collect();
        // With other numbers, seeds that older versions printed would not repeat their runs.
        assert_eq!(drawn, NUMBERS_OF_SEED_7);
        assert_ne!(
            SeededRng::new(8, Stream::Network).below(1 << 60),
            SeededRng::new(7, Stream::Network).below(1 << 60)
        );
        assert_ne!(SeededRng::new(7, Stream::Timers).below(1 << 60), SeededRng::new(7, Stream::Network).below(1 << 60));
    }

    const NUMBERS_OF_SEED_7: [u64; 4] = [992_108, 9_051, 721_611, 528_105];

    #[test]
    fn uniform_durations_include_both_ends() {
        let (min, max) = (Duration::from_nanos(10), Duration::from_nanos(13));
        let mut rng = SeededRng::new(1, Stream::Network);
        let mut drawn: Vec<_> = (0..200).map(|_| rng.draw_latency(Latency::Uniform { min, max }).nanos()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [10, 11, 12, 13]);
    }

    #[test]
    fn the_long_tail_has_its_median_and_a_tail() {
        let median = Duration::from_millis(2);
        let mut rng = SeededRng::new(3, Stream::Network);
        let drawn: Vec<_> = (0..100_000).map(|_| rng.draw_latency(Latency::LongTail { median })).collect();
        let beyond = |factor| drawn.iter().filter(|length| **length > median.times(factor)).count();
        assert!((49_000..51_000).contains(&beyond(1)), "{} beyond the median", beyond(1));
        assert!((11_500..13_500).contains(&beyond(2)), "{} beyond twice the median", beyond(2));
        assert!(beyond(64) > 0, "no value beyond 64 times the median");
    }
}
