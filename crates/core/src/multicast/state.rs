//! The replicated state of a group, which all members derive from the delivered messages. A joiner
//! loads it before it sends or delivers messages.

use super::{MessageId, Payload, Plan};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;

/// A state that is a function of all messages delivered since the group began.
pub trait State: Clone + fmt::Debug + Eq + Hash {
    /// Returns the state before any delivery.
    fn initial(plan: &Plan) -> Self;
    /// Applies a delivered message.
    fn apply(&mut self, id: MessageId, payload: &Payload);
    /// Returns a number that is equal at all members that have delivered the same messages. If
    /// members may deliver in different orders, it must not depend on the order.
    fn digest(&self) -> u64;
    /// Serializes the state for a joiner.
    fn save(&self) -> Vec<u8>;
    /// Restores a state; `None` if the bytes are not a valid state.
    fn load(plan: &Plan, bytes: &[u8]) -> Option<Self>;
}

impl State for () {
    fn initial(_plan: &Plan) -> Self {}
    fn apply(&mut self, _id: MessageId, _payload: &Payload) {}
    fn digest(&self) -> u64 {
        0
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn load(_plan: &Plan, bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(())
    }
}

/// A bulletin board: the latest messages, and a digest of all messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Board {
    count: u64,
    digest: u64,
    /// The latest messages, oldest first; at most `capacity`.
    posts: VecDeque<Payload>,
    capacity: usize,
}

impl Board {
    /// Returns the total number of messages.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the latest messages, oldest first.
    pub fn posts(&self) -> impl Iterator<Item = &Payload> {
        self.posts.iter()
    }
}

impl State for Board {
    fn initial(plan: &Plan) -> Self {
        Self { capacity: plan.board_capacity, ..Self::default() }
    }

    /// Adds the message to the board. The digest is a sum over messages, so it does not depend on
    /// their order.
    fn apply(&mut self, id: MessageId, payload: &Payload) {
        let id_words = [u64::from(id.group.0), id.view.0, u64::from(id.sender.number()), id.number];
        let hash = id_words.into_iter().fold(HASH_SEED, |hash, word| scramble(hash ^ word));
        let hash = payload.bytes().iter().fold(hash, |hash, byte| scramble(hash ^ u64::from(*byte)));
        self.count += 1;
        self.digest = self.digest.wrapping_add(hash);
        self.posts.push_back(payload.clone());
        if self.posts.len() > self.capacity {
            self.posts.pop_front();
        }
    }

    fn digest(&self) -> u64 {
        scramble(self.digest ^ self.count)
    }

    /// Writes the count, the digest, and each post preceded by its length.
    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.digest.to_le_bytes());
        for post in &self.posts {
            bytes.extend((post.len() as u64).to_le_bytes());
            bytes.extend(post.bytes());
        }
        bytes
    }

    fn load(plan: &Plan, mut bytes: &[u8]) -> Option<Self> {
        let mut board = Self::initial(plan);
        board.count = read_word(&mut bytes)?;
        board.digest = read_word(&mut bytes)?;
        while !bytes.is_empty() {
            let length = usize::try_from(read_word(&mut bytes)?).ok()?;
            let (post, rest) = bytes.split_at_checked(length)?;
            board.posts.push_back(Payload::from(Vec::from(post)));
            bytes = rest;
        }
        Some(board)
    }
}

/// An arbitrary number: the first digits of the fraction of π.
const HASH_SEED: u64 = 0x243f_6a88_85a3_08d3;

/// Hashes a number. Different numbers have different hashes, and every bit of the result depends on
/// every bit of the number.
pub(super) const fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let number = (number ^ (number >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    number ^ (number >> 32)
}

/// Reads a number from the front of `bytes` and advances them; `None` if they are too short.
fn read_word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::{Board, State};
    use crate::group::Group;
    use crate::multicast::{GroupId, MessageId, Payload, Plan};
    use crate::node::NodeId;
    use crate::view::View;

    fn id(sender: usize, number: u64) -> MessageId {
        MessageId { group: GroupId::ONLY, view: View::FIRST, sender: NodeId::from_index(sender), number }
    }

    #[test]
    fn a_board_is_restored_from_its_bytes_and_invalid_bytes_are_rejected() {
        let plan = Plan { board_capacity: 2, ..Plan::new(Group::of_size(2)) };
        let mut board = Board::initial(&plan);
        for (number, text) in [(1, "one"), (2, "two"), (3, "")] {
            board.apply(id(0, number), &Payload::from(text));
        }
        let bytes = board.save();
        assert_eq!(Board::load(&plan, &bytes), Some(board));
        assert_eq!(Board::load(&plan, &bytes[..bytes.len() - 1]), None);
        assert_eq!(Board::load(&plan, &[]), None);
    }

    #[test]
    fn the_digest_depends_on_messages_but_not_on_their_order() {
        let plan = Plan::new(Group::of_size(2));
        let digest_of = |posts: &[(MessageId, &str)]| {
            let mut board = Board::initial(&plan);
            posts.iter().for_each(|(id, text)| board.apply(*id, &Payload::from(*text)));
            board.digest()
        };
        let (first, second) = ((id(0, 1), "a"), (id(1, 1), "b"));
        assert_eq!(digest_of(&[first, second]), digest_of(&[second, first]));
        assert_ne!(digest_of(&[first, second]), digest_of(&[first]));
        assert_ne!(digest_of(&[first]), digest_of(&[(id(0, 1), "b")]));
        assert_ne!(digest_of(&[first]), digest_of(&[(id(0, 2), "a")]));
    }
}
