//! Fingerprints of content: equal values have equal fingerprints in every run and on every thread,
//! whatever the order in which the search finds them.

use std::hash::{Hash, Hasher};

/// Hashes the content of a value. Each word is folded in by a full multiplication, so that every
/// bit counts.
#[derive(Clone)]
struct ContentHasher(u64);

// Arbitrary odd numbers with well-mixed bits. Changing one changes every fingerprint.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const HASH_STATE_OFFSET: u64 = 0xd6e8_feb8_6659_fd93;
const WORD_MASK: u64 = 0xa076_1d64_78bd_642f;

/// Returns the fingerprint of a value's content.
pub(crate) fn content_fingerprint<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = ContentHasher(SEED);
    value.hash(&mut hasher);
    hasher.finish()
}

/// Mixes the bits of a word, as the random generator SplitMix64 does; different words stay
/// different. The result serves as the fingerprint of a single word, or as a pseudo-random number.
/// 0 becomes 0, so words whose fingerprints are added up must not be 0.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Multiplies two words and combines the halves of the product.
fn fold_product(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for ContentHasher {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = fold_product(self.0.wrapping_add(HASH_STATE_OFFSET), word ^ WORD_MASK) ^ self.0.rotate_left(23);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::{content_fingerprint, mix};
    use std::collections::HashSet;

    #[test]
    fn small_differences_in_content_give_other_fingerprints() {
        let mut fingerprints = HashSet::new();
        for a in 0_u64..64 {
            for b in 0_u8..64 {
                assert!(fingerprints.insert(content_fingerprint(&(a, b, [b; 3]))));
                assert!(fingerprints.insert(content_fingerprint(&(a, Some(b)))));
                assert!(fingerprints.insert(content_fingerprint(&format!("{a}:{b}"))));
            }
        }
    }

    /// States are distinguished by sums of fingerprints, so sums must not collide either.
    #[test]
    fn sums_of_fingerprints_differ() {
        let mut sums = HashSet::new();
        for a in 0..200_u64 {
            for b in a..200 {
                // `mix(0)` is 0, which would not change a sum.
                assert!(sums.insert(mix(a + 1).wrapping_add(mix(b + 1))));
            }
        }
    }
}
