//! A set of small numbers below a bound that is known from the start.

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bits {
    /// Those below 64, which is all that most histories need: copying them allocates nothing.
    low: u64,
    high: Vec<u64>,
}

impl Bits {
    /// No number yet, all to come below `bound`.
    pub(super) fn below(bound: usize) -> Self {
        Self { low: 0, high: vec![0; bound.div_ceil(64).saturating_sub(1)] }
    }

    pub(super) fn has(&self, number: usize) -> bool {
        let word = if number < 64 { self.low } else { self.high[number / 64 - 1] };
        word & (1 << (number % 64)) != 0
    }

    pub(super) fn put(&mut self, number: usize) {
        *self.word(number) |= 1 << (number % 64);
    }

    pub(super) fn take(&mut self, number: usize) {
        *self.word(number) &= !(1 << (number % 64));
    }

    /// Whether every number here is also in the other set.
    pub(super) fn within(&self, other: &Self) -> bool {
        self.low & !other.low == 0 && self.high.iter().zip(&other.high).all(|(mine, theirs)| mine & !theirs == 0)
    }

    fn word(&mut self, number: usize) -> &mut u64 {
        if number < 64 { &mut self.low } else { &mut self.high[number / 64 - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn numbers_come_and_go_in_every_word() {
        let mut some = Bits::below(130);
        let none = some.clone();
        for number in [0, 63, 64, 129] {
            assert!(!some.has(number));
            some.put(number);
            assert!(some.has(number));
        }
        assert!(none.within(&some) && !some.within(&none));
        let all = some.clone();
        some.take(64);
        assert!(some.within(&all) && !all.within(&some) && !some.has(64) && some.has(129));
    }
}
