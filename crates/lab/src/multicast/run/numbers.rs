//! Sets of numbers from 1 with few gaps, such as those of delivered messages.

use std::collections::BTreeMap;

/// A set of numbers. Its memory use is proportional to the number of gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// All numbers from 1 to this one are in the set.
    prefix: u64,
    /// The other numbers as ranges, from first to last. No range touches another, and only the
    /// range of the number 0 may touch the prefix.
    ranges: BTreeMap<u64, u64>,
}

impl Numbers {
    pub(super) fn contains(&self, number: u64) -> bool {
        (number > 0 && number <= self.prefix)
            || self.ranges.range(..=number).next_back().is_some_and(|(_, last)| *last >= number)
    }

    pub(super) fn has_all_below(&self, number: u64) -> bool {
        number.saturating_sub(1) <= self.prefix
    }

    /// Adds a number. Returns `false` if it was present.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let next = number.checked_add(1);
        let last = next.and_then(|next| self.ranges.remove(&next)).unwrap_or(number);
        if number.checked_sub(1) == Some(self.prefix) {
            self.prefix = last;
            return true;
        }
        match self.ranges.range_mut(..number).next_back() {
            Some((_, end)) if end.checked_add(1) == Some(number) => *end = last,
            Some(_) | None => {
                self.ranges.insert(number, last);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn numbers_behave_like_a_set(numbers in proptest::collection::vec(0_u64..20, 0..30)) {
            let (mut compact, mut reference_set) = (Numbers::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(compact.insert(number), reference_set.insert(number));
                for probe in 0..22 {
                    prop_assert_eq!(compact.contains(probe), reference_set.contains(&probe));
                    prop_assert_eq!(compact.has_all_below(probe), (1..probe).all(|below| reference_set.contains(&below)));
                }
                // Each gap ends one range. The number 0 may need another one, outside the prefix.
                let gaps = (1..20).filter(|probe| reference_set.contains(probe) && !reference_set.contains(&(probe + 1))).count();
                prop_assert!(compact.ranges.len() <= gaps + 1);
            }
        }
    }

    #[test]
    fn inserting_the_largest_number_does_not_overflow() {
        let mut numbers = Numbers::default();
        assert!(numbers.insert(u64::MAX));
        assert!(numbers.contains(u64::MAX));
        assert!(!numbers.insert(u64::MAX));
    }
}
