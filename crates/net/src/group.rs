//! Which group of processes a node belongs to, by a name that people choose.

use quorate_store::ClusterId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The name of a group: lower-case letters, digits and hyphens, so that it can stand in a certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(String);

/// The number that stands for a group's name in every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupNumber(pub u64);

/// Why a text is no name of a group.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{}' is not a name for a group: use 1 to {MOST} lower-case letters, digits and hyphens, such as orders-east, with \
     no hyphen at either end.",
    .0.escape_debug()
)]
pub struct NotAName(String);

/// A label of a domain name is at most 63 long.
const MOST: usize = 63;

impl GroupName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number that stands for it in frames: FNV-1a, 64 bits. Names are compared too when nodes meet.
    pub fn number(&self) -> GroupNumber {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        GroupNumber(self.0.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// Whose data folders its nodes own when they run this algorithm: a hash of both names (FNV-1a, 128 bits), so that
    /// no algorithm takes another's disk for its own.
    pub fn cluster(&self, algorithm: &str) -> ClusterId {
        let step =
            |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        // No name of a group has a slash in it.
        let bytes = self.0.bytes().chain([b'/']).chain(algorithm.bytes());
        ClusterId(bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step))
    }
}

impl FromStr for GroupName {
    type Err = NotAName;
    fn from_str(text: &str) -> Result<Self, NotAName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = (1..=MOST).contains(&text.len()) && text.bytes().all(is_plain);
        if fits && !text.starts_with('-') && !text.ends_with('-') {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAName(text.to_owned()))
        }
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::GroupName;

    #[test]
    fn names_that_fit_a_certificate_are_names() {
        for good in ["a", "orders-east", "7", "quorate"] {
            assert!(good.parse::<GroupName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "Orders", "a.b", "a b", "ä", &"x".repeat(64)] {
            assert!(bad.parse::<GroupName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn two_names_are_two_groups() {
        let [one, other] = ["east", "west"].map(|name| name.parse::<GroupName>().unwrap());
        assert_ne!(one.number(), other.number());
        assert_ne!(one.cluster("raft"), other.cluster("raft"));
        assert_ne!(one.cluster("raft"), one.cluster("replica"));
    }
}
