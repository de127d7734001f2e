//! Fingerprints of states that are the same on every machine, and cheap to keep up to date.

use postcard::ser_flavors::Flavor;
use serde::Serialize;

/// A fingerprint of a value: of the bytes by which postcard encodes it. Values that postcard cannot
/// encode all have the same fingerprint.
pub fn fingerprint(value: &(impl Serialize + ?Sized)) -> u64 {
    postcard::serialize_with_flavor(value, WordMixer::default()).unwrap_or_default()
}

/// The fingerprint of a collection: the sum of its parts' fingerprints, so that adding or removing
/// a part costs the same in a large collection as in a small one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FingerprintSum(u64);

impl FingerprintSum {
    /// Adds a part to the collection.
    pub fn add(&mut self, part: u64) {
        self.0 = self.0.wrapping_add(part);
    }

    /// Removes a part that was added before.
    pub fn remove(&mut self, part: u64) {
        self.0 = self.0.wrapping_sub(part);
    }

    /// The fingerprint of the whole collection.
    pub const fn total(self) -> u64 {
        self.0
    }
}

/// Mixes the bytes of an encoding in words of eight.
#[derive(Default)]
struct WordMixer {
    state: u64,
    word: u64,
    length: u64,
}

impl Flavor for WordMixer {
    type Output = u64;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.word = self.word << 8 | u64::from(byte);
        self.length += 1;
        if self.length.is_multiple_of(8) {
            self.state = mix_bits(self.state.rotate_left(5) ^ mix_bits(self.word));
            self.word = 0;
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<u64> {
        Ok(mix_bits(self.state.rotate_left(5) ^ mix_bits(self.word) ^ self.length))
    }
}

/// Spreads the bits of a word (the finisher of splitmix64).
pub(crate) const fn mix_bits(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::{FingerprintSum, fingerprint};

    #[test]
    fn values_of_any_length_have_their_own_fingerprints() {
        let texts = (0..40).map(|length| "x".repeat(length));
        let fingerprints: std::collections::BTreeSet<_> = texts.map(|text| fingerprint(&text)).collect();
        assert_eq!(fingerprints.len(), 40);
        assert_eq!(fingerprint(&(1_u64, "a")), fingerprint(&(1_u64, "a")));
    }

    #[test]
    fn a_sum_depends_on_its_parts_and_not_on_their_order() {
        let sum = |parts: &[u64]| {
            let mut sum = FingerprintSum::default();
            parts.iter().for_each(|part| sum.add(fingerprint(part)));
            sum
        };
        let mut shrunk = sum(&[1, 2, 3]);
        assert_eq!(shrunk, sum(&[3, 1, 2]));
        shrunk.remove(fingerprint(&2_u64));
        assert_eq!(shrunk.total(), sum(&[1, 3]).total());
    }
}
