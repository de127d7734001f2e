//! Actions, and their encoding in 16 bits.

/// A transition out of a state. Messages, and likewise notices of views, crashes and restarts, are
/// identified by their position among the messages in flight in that state, nodes by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The network delivers a message.
    Deliver(usize),
    /// A node makes the move with this index among those that its local state offers, such as a
    /// timer or a crash.
    Move { node: usize, index: usize },
    /// The network loses a message.
    Lose(usize),
    /// The network duplicates a message.
    Duplicate(usize),
    /// Time advances.
    Advance,
    /// The membership service decides the next view, which lacks this member.
    Remove(usize),
}

/// Number of bits of a packed move's index.
const MOVE_BITS: u32 = 9;
/// Number of bits of a packed action below its kind: they hold its operand.
const KIND_SHIFT: u32 = 13;

/// Maximum number of nodes that a packed action can distinguish.
pub(crate) const MAX_NODES: usize = 1 << (KIND_SHIFT - MOVE_BITS);
/// Maximum number of messages in flight that a packed action can distinguish.
pub(crate) const MAX_IN_FLIGHT: usize = 1 << KIND_SHIFT;
/// Maximum number of moves of one node that a packed action can distinguish.
pub(crate) const MAX_MOVES: usize = 1 << MOVE_BITS;

impl Action {
    /// Encodes the action. The checker makes sure that its operands are below the maxima above.
    pub(crate) fn pack(self) -> u16 {
        let (kind, operand) = match self {
            Self::Deliver(position) => (0, position),
            Self::Move { node, index } => (1, node << MOVE_BITS | index),
            Self::Lose(position) => (2, position),
            Self::Duplicate(position) => (3, position),
            Self::Advance => (4, 0),
            Self::Remove(node) => (5, node),
        };
        (kind << KIND_SHIFT | operand) as u16
    }

    pub(crate) fn unpack(packed: u16) -> Self {
        let operand = usize::from(packed) & ((1 << KIND_SHIFT) - 1);
        match packed >> KIND_SHIFT {
            0 => Self::Deliver(operand),
            1 => Self::Move { node: operand >> MOVE_BITS, index: operand & (MAX_MOVES - 1) },
            2 => Self::Lose(operand),
            3 => Self::Duplicate(operand),
            4 => Self::Advance,
            _ => Self::Remove(operand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, MAX_IN_FLIGHT, MAX_MOVES, MAX_NODES};

    #[test]
    fn unpacking_returns_the_packed_action() {
        let position = MAX_IN_FLIGHT - 1;
        let last_move = Action::Move { node: MAX_NODES - 1, index: MAX_MOVES - 1 };
        for action in [
            Action::Deliver(position),
            last_move,
            Action::Lose(position),
            Action::Duplicate(position),
            Action::Advance,
            Action::Remove(MAX_NODES - 1),
        ] {
            assert_eq!(Action::unpack(action.pack()), action);
        }
    }
}
