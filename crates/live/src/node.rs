//! One node of the group, with its current process.

use crate::child::{Child, Serial};
use crate::schedule::Action;
use quorate_core::NodeId;
use std::collections::VecDeque;
use std::time::Instant;

pub(crate) struct LiveNode {
    pub(crate) node: NodeId,
    /// Number of incarnations started so far.
    pub(crate) incarnations: u64,
    pub(crate) state: State,
    /// Where every incarnation listens: at the address that the first one chose; `None` until that
    /// one has reported it.
    pub(crate) address: Option<String>,
    /// Fault actions to carry out in this order, each as soon as the state allows.
    pub(crate) pending_actions: VecDeque<Action>,
}

/// The state of a node's process.
pub(crate) enum State {
    Down,
    Starting {
        child: Child,
        readiness: Readiness,
        /// When the first attempt to start this incarnation began.
        first_attempt: Instant,
    },
    /// The process ended because its address was still in use; the group retries shortly.
    AddressInUse {
        first_attempt: Instant,
    },
    Up(Child),
    Paused(Child),
    /// The process was killed, but its last output has not been read yet.
    Dying(Child),
}

/// The progress of a starting process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    NotListening,
    Listening,
    /// The group has sent the process the addresses of its peers.
    HasPeers,
}

impl LiveNode {
    pub(crate) fn new(node: NodeId) -> Self {
        Self { node, incarnations: 0, state: State::Down, address: None, pending_actions: VecDeque::new() }
    }

    /// The current or last incarnation, from 0.
    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnations.saturating_sub(1)
    }

    pub(crate) fn child(&mut self) -> Option<&mut Child> {
        match &mut self.state {
            State::Starting { child, .. } | State::Up(child) | State::Paused(child) | State::Dying(child) => {
                Some(child)
            }
            State::Down | State::AddressInUse { .. } => None,
        }
    }

    /// Whether this is the serial number of the node's current process.
    pub(crate) fn is_current(&mut self, serial: Serial) -> bool {
        self.child().is_some_and(|child| child.serial == serial)
    }

    /// The process, if it accepts commands. A paused process reads them when it is resumed.
    pub(crate) fn command_receiver(&self) -> Option<&Child> {
        match &self.state {
            State::Up(child) | State::Paused(child) => Some(child),
            State::Down | State::Starting { .. } | State::AddressInUse { .. } | State::Dying(_) => None,
        }
    }

    /// Removes and returns the next pending action, if the state allows it now.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        let is_possible = match (self.pending_actions.front()?, &self.state) {
            (Action::Kill(_) | Action::Pause(_), State::Up(_)) => true,
            (Action::Start(_), State::Down) => true,
            (Action::Resume(_), State::Paused(_)) => true,
            // Network faults are not actions on a node, so they are never pending.
            (Action::Sever(_) | Action::Mend(_), _) => true,
            (Action::Kill(_) | Action::Pause(_) | Action::Start(_) | Action::Resume(_), _) => false,
        };
        if is_possible { self.pending_actions.pop_front() } else { None }
    }

    /// A phrase such as `node 2 is down`; `None` if the node is up.
    pub(crate) fn problem(&self) -> Option<String> {
        let description = match &self.state {
            State::Up(_) => return None,
            State::Down => "is down",
            State::Starting { .. } | State::AddressInUse { .. } => "is starting",
            State::Paused(_) => "is paused",
            State::Dying(_) => "was just killed",
        };
        Some(format!("node {} {description}", self.node))
    }
}
