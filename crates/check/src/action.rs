//! One transition of the group, in sixteen bits.

/// A transition, identified by its position in the source state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Deliver(usize),
    /// A node makes one of its moves.
    Move {
        node: usize,
        index: usize,
    },
    Lose(usize),
    Duplicate(usize),
    Advance,
    /// The membership service removes a member: the next view is decided.
    Remove(usize),
}

pub(crate) const MAX_NODES: usize = 16;
pub(crate) const MAX_IN_FLIGHT: usize = 1 << 13;
pub(crate) const MAX_MOVES: usize = 1 << 9;

const KIND: u32 = 13;

impl Action {
    pub(crate) fn pack(self) -> u16 {
        let (kind, rest) = match self {
            Self::Deliver(place) => (0, place),
            Self::Move { node, index } => (1, node << 9 | index),
            Self::Lose(place) => (2, place),
            Self::Duplicate(place) => (3, place),
            Self::Advance => (4, 0),
            Self::Remove(node) => (5, node),
        };
        (kind << KIND | rest) as u16
    }

    pub(crate) fn unpack(packed: u16) -> Self {
        let rest = usize::from(packed) & ((1 << KIND) - 1);
        match packed >> KIND {
            0 => Self::Deliver(rest),
            1 => Self::Move { node: rest >> 9, index: rest & 0x1ff },
            2 => Self::Lose(rest),
            3 => Self::Duplicate(rest),
            4 => Self::Advance,
            _ => Self::Remove(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, MAX_IN_FLIGHT, MAX_MOVES, MAX_NODES};

    #[test]
    fn every_action_survives_packing() {
        let place = MAX_IN_FLIGHT - 1;
        let own = Action::Move { node: MAX_NODES - 1, index: MAX_MOVES - 1 };
        for action in [Action::Deliver(place), own, Action::Lose(place), Action::Duplicate(0), Action::Advance] {
            assert_eq!(Action::unpack(action.pack()), action);
        }
    }
}
