//! Signatures of the path that an input takes through a parser.

/// A hash (FNV-1a) of the parser's decisions on an input, not of the input itself. Inputs that are
/// parsed alike have equal signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathSignature(u64);

impl Default for PathSignature {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl PathSignature {
    /// Adds a decision to the signature.
    pub fn record(&mut self, decision: u64) {
        for byte in decision.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds the magnitude of a count: its number of binary digits.
    pub fn record_magnitude(&mut self, count: usize) {
        self.record(u64::from(usize::BITS - count.leading_zeros()));
    }

    /// Adds an error message without its digits and quotations, which come from the input.
    pub fn record_message(&mut self, message: impl ToString) {
        let mut is_quoted = false;
        for character in message.to_string().chars() {
            is_quoted ^= matches!(character, '\'' | '"' | '`');
            if character.is_ascii_alphabetic() && !is_quoted {
                self.record(character as u64);
            }
        }
    }
}
