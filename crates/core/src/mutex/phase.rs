//! The state of a node's own request, which has the same phases in most algorithms of the family.

use super::{Access, ClientState, Command, Patience, Refusal, ViewStart};
use crate::node::NodeId;

/// The phase of a node's own request. `W` is what the algorithm stores while the request waits, `I`
/// while the node is in the critical section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase<W, I> {
    Idle,
    Waiting(W),
    Inside(I),
}

/// The meaning of a command in the current phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// An idle client requests entry.
    Enter { patience: Patience, access: Access },
    /// A waiting client cancels its request.
    Cancel,
    /// A client in the critical section releases it.
    Release,
    /// The command is not valid in this phase.
    Refuse(Refusal),
}

impl<W, I> Phase<W, I> {
    /// Returns the meaning of a command in this phase.
    pub const fn interpret(&self, command: Command) -> Intent {
        match (self, command) {
            (Self::Idle, Command::Acquire) => Intent::Enter { patience: Patience::Wait, access: Access::Exclusive },
            (Self::Idle, Command::Try) => Intent::Enter { patience: Patience::Try, access: Access::Exclusive },
            (Self::Idle, Command::Share) => Intent::Enter { patience: Patience::Wait, access: Access::Shared },
            (Self::Waiting(_), Command::Cancel) => Intent::Cancel,
            (Self::Inside(_), Command::Release) => Intent::Release,
            (Self::Idle, Command::Cancel) => Intent::Refuse(Refusal::NotWaiting),
            (Self::Idle | Self::Waiting(_), Command::Release) => Intent::Refuse(Refusal::NotInside),
            (Self::Waiting(_), Command::Acquire | Command::Try | Command::Share) => {
                Intent::Refuse(Refusal::AlreadyWaiting)
            }
            (Self::Inside(_), Command::Acquire | Command::Try | Command::Share | Command::Cancel) => {
                Intent::Refuse(Refusal::AlreadyInside)
            }
        }
    }

    /// Returns the data of the waiting request, or `None` if no request waits.
    pub const fn waiting(&self) -> Option<&W> {
        match self {
            Self::Waiting(waiting) => Some(waiting),
            Self::Idle | Self::Inside(_) => None,
        }
    }

    /// Returns the data of the current entry, or `None` outside the critical section.
    pub const fn inside(&self) -> Option<&I> {
        match self {
            Self::Inside(inside) => Some(inside),
            Self::Idle | Self::Waiting(_) => None,
        }
    }

    /// Returns whether the client neither waits nor is in the critical section.
    pub const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// Sets the phase to idle and returns the previous phase.
    pub const fn end(&mut self) -> Self {
        core::mem::replace(self, Self::Idle)
    }

    /// Returns the client's state in an algorithm without shared access. `map_waiting` turns
    /// the data of a waiting request into the client's state.
    pub(super) fn client_state_with(&self, map_waiting: impl FnOnce(&W) -> ClientState) -> ClientState {
        match self {
            Self::Idle => ClientState::Idle,
            Self::Waiting(request) => map_waiting(request),
            Self::Inside(_) => ClientState::Inside(Access::Exclusive),
        }
    }
}

impl Phase<Patience, ()> {
    /// Returns the client's state in an algorithm without shared access that does not record when
    /// a client requested entry.
    pub const fn client_state(&self) -> ClientState {
        match self {
            Self::Idle => ClientState::Idle,
            Self::Waiting(patience) => ClientState::waiting(*patience, Access::Exclusive),
            Self::Inside(()) => ClientState::Inside(Access::Exclusive),
        }
    }

    /// Returns a node's phase at the beginning of a view, in an algorithm with a token: in the
    /// critical section if the node was there when the last view ended, otherwise idle. The node
    /// repeats the request of a waiting client afterwards.
    pub fn at_view_start(me: NodeId, start: &ViewStart) -> Self {
        if start.inside_access(me).is_some() { Self::Inside(()) } else { Self::Idle }
    }
}
