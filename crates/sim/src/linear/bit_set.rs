//! A set of small integers below a fixed bound.

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BitSet {
    /// The integers below 64, as bits. Most histories need no others, so copying their sets
    /// allocates nothing.
    low: u64,
    /// The other integers, 64 to a word.
    high: Vec<u64>,
}

impl BitSet {
    /// Creates an empty set of integers below `bound`.
    pub(super) fn with_bound(bound: usize) -> Self {
        Self { low: 0, high: vec![0; bound.div_ceil(64).saturating_sub(1)] }
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        let word = if number < 64 { self.low } else { self.high[number / 64 - 1] };
        word & (1 << (number % 64)) != 0
    }

    pub(super) fn insert(&mut self, number: usize) {
        *self.word_mut(number) |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        *self.word_mut(number) &= !(1 << (number % 64));
    }

    /// Returns whether every integer of this set is also in the other set, which must have the same
    /// bound.
    pub(super) fn is_subset(&self, other: &Self) -> bool {
        self.low & !other.low == 0
            && self.high.iter().zip(&other.high).all(|(word, other_word)| word & !other_word == 0)
    }

    fn word_mut(&mut self, number: usize) -> &mut u64 {
        if number < 64 { &mut self.low } else { &mut self.high[number / 64 - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    #[test]
    fn inserted_integers_are_contained_until_they_are_removed() {
        let mut some = BitSet::with_bound(130);
        let none = some.clone();
        for number in [0, 63, 64, 129] {
            assert!(!some.contains(number));
            some.insert(number);
            assert!(some.contains(number));
        }
        assert!(none.is_subset(&some) && !some.is_subset(&none));
        let all = some.clone();
        some.remove(64);
        assert!(some.is_subset(&all) && !all.is_subset(&some) && !some.contains(64) && some.contains(129));
    }
}
