//! One node of the group, with its current process.

use crate::child::{Child, Serial};
use crate::schedule::Action;
use quorate_core::NodeId;
use std::collections::VecDeque;
use std::time::Instant;

pub(crate) struct LiveNode {
    pub(crate) node: NodeId,
    pub(crate) incarnations: u64,
    pub(crate) state: State,
    pub(crate) address: Option<String>,
    /// Pending fault actions, each carried out as soon as the state allows.
    pub(crate) actions: VecDeque<Action>,
}

/// The state of a node's process.
pub(crate) enum State {
    Down,
    Starting {
        child: Child,
        readiness: Readiness,
        since: Instant,
    },
    /// Its address was still in use; it is started again shortly.
    Refused {
        since: Instant,
    },
    Up(Child),
    /// It is paused.
    Stopped(Child),
    /// It was killed, and its last output is still to be read.
    Dying(Child),
}

/// The progress of a starting process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It does not listen yet.
    Silent,
    Listening,
    /// It knows the addresses of its peers.
    Informed,
}

impl LiveNode {
    pub(crate) fn new(node: NodeId) -> Self {
        Self { node, incarnations: 0, state: State::Down, address: None, actions: VecDeque::new() }
    }

    /// The current or last incarnation, from 0.
    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnations.saturating_sub(1)
    }

    pub(crate) fn child(&mut self) -> Option<&mut Child> {
        match &mut self.state {
            State::Starting { child, .. } | State::Up(child) | State::Stopped(child) | State::Dying(child) => {
                Some(child)
            }
            State::Down | State::Refused { .. } => None,
        }
    }

    pub(crate) fn is(&mut self, serial: Serial) -> bool {
        self.child().is_some_and(|child| child.serial == serial)
    }

    /// The process, if it accepts commands. A paused process reads them when it is resumed.
    pub(crate) fn commandable(&self) -> Option<&Child> {
        match &self.state {
            State::Up(child) | State::Stopped(child) => Some(child),
            State::Down | State::Starting { .. } | State::Refused { .. } | State::Dying(_) => None,
        }
    }

    /// The next pending action, if the state allows it now.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        let is_possible = match (self.actions.front()?, &self.state) {
            (Action::Kill(_) | Action::Stop(_), State::Up(_)) => true,
            (Action::Start(_), State::Down) => true,
            (Action::Continue(_), State::Stopped(_)) => true,
            // Network faults are not actions on a node.
            (Action::Sever(_) | Action::Mend(_), _) => true,
            (Action::Kill(_) | Action::Stop(_) | Action::Start(_) | Action::Continue(_), _) => false,
        };
        if is_possible { self.actions.pop_front() } else { None }
    }

    /// A description of the state, unless the node is up.
    pub(crate) fn trouble(&self) -> Option<String> {
        let what = match &self.state {
            State::Up(_) => return None,
            State::Down => "is down",
            State::Starting { .. } | State::Refused { .. } => "is starting",
            State::Stopped(_) => "is paused",
            State::Dying(_) => "was just killed",
        };
        Some(format!("node {} {what}", self.node))
    }
}
