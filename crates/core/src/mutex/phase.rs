//! Where a node stands with its own user, which is the same for every algorithm of the family.

use super::{Access, Command, Past, Patience, Refusal, Standing};
use crate::node::NodeId;

/// Where a node stands with its user's request. An algorithm says what it knows of a request that waits, and of one
/// that is inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase<W, I> {
    Idle,
    Waiting(W),
    Inside(I),
}

/// What a command means to a node that stands as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The user, who wants nothing so far, wants in.
    Enter(Patience, Access),
    /// The user, who waits, wants in no longer.
    GiveUp,
    /// The user, who is inside, wants out.
    Leave,
    /// Nothing: the command makes no sense now.
    Nonsense(Refusal),
}

impl<W, I> Phase<W, I> {
    /// What this command means now.
    pub const fn understand(&self, command: Command) -> Wish {
        match (self, command) {
            (Self::Idle, Command::Acquire) => Wish::Enter(Patience::Wait, Access::Exclusive),
            (Self::Idle, Command::Try) => Wish::Enter(Patience::Try, Access::Exclusive),
            (Self::Idle, Command::Share) => Wish::Enter(Patience::Wait, Access::Shared),
            (Self::Waiting(_), Command::Cancel) => Wish::GiveUp,
            (Self::Inside(_), Command::Release) => Wish::Leave,
            (Self::Idle, Command::Cancel) => Wish::Nonsense(Refusal::NotWaiting),
            (Self::Idle | Self::Waiting(_), Command::Release) => Wish::Nonsense(Refusal::NotInside),
            (Self::Waiting(_), Command::Acquire | Command::Try | Command::Share) => {
                Wish::Nonsense(Refusal::AlreadyWaiting)
            }
            (Self::Inside(_), Command::Acquire | Command::Try | Command::Share | Command::Cancel) => {
                Wish::Nonsense(Refusal::AlreadyInside)
            }
        }
    }

    /// What is known of the request that waits.
    pub const fn waiting(&self) -> Option<&W> {
        match self {
            Self::Waiting(waiting) => Some(waiting),
            Self::Idle | Self::Inside(_) => None,
        }
    }

    /// What is known of the request that is inside.
    pub const fn inside(&self) -> Option<&I> {
        match self {
            Self::Inside(inside) => Some(inside),
            Self::Idle | Self::Waiting(_) => None,
        }
    }

    /// Whether the user wants nothing.
    pub const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// The user wants nothing from now on. Tells where the node stood.
    pub const fn end(&mut self) -> Self {
        core::mem::replace(self, Self::Idle)
    }

    /// Where the user stands, in an algorithm without readers. `waiting` tells how it waits.
    pub(super) fn standing_of(&self, waiting: impl FnOnce(&W) -> Standing) -> Standing {
        match self {
            Self::Idle => Standing::Idle,
            Self::Waiting(request) => waiting(request),
            Self::Inside(_) => Standing::Inside(Access::Exclusive),
        }
    }
}

impl Phase<Patience, ()> {
    /// Where the user stands, in an algorithm that knows neither the age of requests nor readers.
    pub const fn standing(&self) -> Standing {
        match self {
            Self::Idle => Standing::Idle,
            Self::Waiting(patience) => Standing::waiting(*patience, Access::Exclusive),
            Self::Inside(()) => Standing::Inside(Access::Exclusive),
        }
    }

    /// Where a user stands at the beginning of a view in which nobody has asked for anything yet.
    pub fn of_view(me: NodeId, past: &Past) -> Self {
        if past.access(me).is_some() { Self::Inside(()) } else { Self::Idle }
    }
}
