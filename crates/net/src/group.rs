//! The name of a group of nodes, and the ids derived from it.

use quorate_store::ClusterId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The name of a group: lower-case letters, digits and hyphens, so that it is a valid DNS label in
/// certificates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(String);

/// The hash of a group's name that every frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupNumber(pub u64);

/// A text is not a valid group name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{}' is not a valid group name: use 1 to {MAX_LENGTH} lower-case letters, digits and hyphens, such as \
     orders-east, with no hyphen at either end.",
    .0.escape_debug()
)]
pub struct InvalidGroupName(String);

/// Maximum length of a DNS label in bytes.
const MAX_LENGTH: usize = 63;

impl GroupName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number that frames carry: the 64-bit FNV-1a hash of the name. The handshake compares the
    /// names as well.
    pub fn number(&self) -> GroupNumber {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        GroupNumber(self.0.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// The owner id of the data folders of this group's nodes when they run `algorithm`: the
    /// 128-bit FNV-1a hash of both names, so that a node never opens a data folder of another
    /// group or algorithm.
    pub fn cluster(&self, algorithm: &str) -> ClusterId {
        let step =
            |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        // A group name contains no slash, so the concatenation is unambiguous.
        let bytes = self.0.bytes().chain([b'/']).chain(algorithm.bytes());
        ClusterId(bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step))
    }
}

impl FromStr for GroupName {
    type Err = InvalidGroupName;
    fn from_str(text: &str) -> Result<Self, InvalidGroupName> {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_label = (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(is_allowed);
        if is_label && !text.starts_with('-') && !text.ends_with('-') {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidGroupName(text.to_owned()))
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
    fn only_dns_labels_are_valid_group_names() {
        for good in ["a", "orders-east", "7", "quorate"] {
            assert!(good.parse::<GroupName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "Orders", "a.b", "a b", "ä", &"x".repeat(64)] {
            assert!(bad.parse::<GroupName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn different_names_have_different_ids() {
        let [one, other] = ["east", "west"].map(|name| name.parse::<GroupName>().unwrap());
        assert_ne!(one.number(), other.number());
        assert_ne!(one.cluster("raft"), other.cluster("raft"));
        assert_ne!(one.cluster("raft"), one.cluster("replica"));
    }
}
