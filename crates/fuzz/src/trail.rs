//! Which way an input went, as a number: two inputs that were read alike have the same.

/// Which way an input went. It is built from what the reader did, not from what the input says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trail(u64);

impl Default for Trail {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Trail {
    pub fn step(&mut self, step: u64) {
        for byte in step.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// How many of something there were, roughly: the number of binary digits.
    pub fn about(&mut self, count: usize) {
        self.step(u64::from(usize::BITS - count.leading_zeros()));
    }

    /// A sentence about what went wrong. Its figures and quotations are left out: they are the input's.
    pub fn say(&mut self, sentence: impl ToString) {
        let mut is_quoted = false;
        for letter in sentence.to_string().chars() {
            is_quoted ^= matches!(letter, '\'' | '"' | '`');
            if letter.is_ascii_alphabetic() && !is_quoted {
                self.step(letter as u64);
            }
        }
    }
}
