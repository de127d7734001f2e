//! Dice that fall the same way for the same seed, on every machine.

use quorate_core::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::settings::{Chance, Latency};

/// What a stream of dice decides. Streams are independent: more throws of one do not shift another.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Delays, losses and duplicates of messages.
    Network = 1,
    /// When timers fire inside their spans.
    Timers = 2,
    /// Processing times, and how much of a torn save survives.
    Nodes = 3,
    /// Who asks for what and when.
    Workload = 4,
    /// Which faults strike, when the seed chooses them.
    Faults = 5,
    /// How long it takes to the membership and back, and how its clock drifts.
    Membership = 6,
    /// How nodes sit round a ring.
    Seating = 7,
    /// What elections compare.
    Attributes = 8,
    /// Who says what to whom and when.
    Multicasts = 9,
}

/// A seeded stream of chance.
#[derive(Clone, Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// The dice of this seed for this purpose.
    pub fn new(seed: u64, stream: Stream) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream as u64);
        Self(generator)
    }

    /// A number below `bound`, all equally likely; 0 if the bound is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product. Its bias is below bound / 2^64, far beyond what any run can show.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A length from `least` to `most`, both included.
    #[inline]
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let width = most.nanos().saturating_sub(least.nanos());
        if width == 0 {
            return least;
        }
        Duration::from_nanos(least.nanos() + self.below(width.saturating_add(1)))
    }

    /// Whether a chance comes true. An impossible one throws no dice.
    #[inline]
    pub fn happens(&mut self, chance: Chance) -> bool {
        !chance.is_zero() && self.below(1_000_000_000) < u64::from(chance.parts_per_billion())
    }

    /// A length by this model.
    #[inline]
    pub fn length(&mut self, model: Latency) -> Duration {
        match model {
            Latency::Fixed(length) => length,
            Latency::Uniform { least, most } => self.between(least, most),
            Latency::LongTail { median } => self.long_tail(median),
        }
    }

    /// Half of all lengths are up to the median; beyond it, every doubling is four times as rare, without end.
    ///
    /// Whole numbers only: logarithms and powers differ in the last bit from one machine to another.
    fn long_tail(&mut self, median: Duration) -> Duration {
        let nanos = median.nanos();
        if self.below(2) == 0 {
            return Duration::from_nanos(nanos / 4 + self.below(nanos - nanos / 4 + 1));
        }
        let mut least = nanos;
        while self.below(4) == 0 && least < u64::MAX / 16 {
            least *= 2;
        }
        Duration::from_nanos(least) + Duration::from_nanos(self.below(least.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Dice, Stream};
    use crate::settings::Latency;
    use quorate_core::Duration;

    #[test]
    fn the_same_seed_falls_the_same_way_for_ever() {
        let mut dice = Dice::new(7, Stream::Network);
        let thrown: Vec<_> = (0..4).map(|_| dice.below(1_000_000)).collect();
        // Written down once: if this ever changes, every printed seed loses its meaning.
        assert_eq!(thrown, GOLDEN);
        assert_ne!(Dice::new(8, Stream::Network).below(1 << 60), Dice::new(7, Stream::Network).below(1 << 60));
        assert_ne!(Dice::new(7, Stream::Timers).below(1 << 60), Dice::new(7, Stream::Network).below(1 << 60));
    }

    const GOLDEN: [u64; 4] = [992_108, 9_051, 721_611, 528_105];

    #[test]
    fn uniform_lengths_reach_both_ends_and_nothing_else() {
        let (least, most) = (Duration::from_nanos(10), Duration::from_nanos(13));
        let mut dice = Dice::new(1, Stream::Network);
        let mut seen: Vec<_> = (0..200).map(|_| dice.length(Latency::Uniform { least, most }).nanos()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [10, 11, 12, 13]);
    }

    #[test]
    fn the_long_tail_has_its_median_and_a_tail() {
        let median = Duration::from_millis(2);
        let mut dice = Dice::new(3, Stream::Network);
        let drawn: Vec<_> = (0..100_000).map(|_| dice.length(Latency::LongTail { median })).collect();
        let beyond = |factor| drawn.iter().filter(|length| **length > median.times(factor)).count();
        assert!((49_000..51_000).contains(&beyond(1)), "{} beyond the median", beyond(1));
        assert!((11_500..13_500).contains(&beyond(2)), "{} beyond twice the median", beyond(2));
        assert!(beyond(64) > 0, "no tail at all");
    }
}
