//! One node of the group: its processes, one life after the other.

use crate::child::{Child, Serial};
use crate::schedule::Act;
use quorate_core::NodeId;
use std::collections::VecDeque;
use std::time::Instant;

pub(crate) struct Member {
    pub(crate) node: NodeId,
    pub(crate) lives: u64,
    pub(crate) state: State,
    pub(crate) address: Option<String>,
    /// What is to be done to it, one after the other, each as soon as it can be.
    pub(crate) acts: VecDeque<Act>,
}

/// What a node's process is doing. One that is `Refused` found its address still taken, and is started again in a moment.
/// One that is `Dying` was killed, and what it said before is still to be heard.
pub(crate) enum State {
    Down,
    Starting { child: Child, stage: Stage, since: Instant },
    Refused { since: Instant },
    Up(Child),
    Stopped(Child),
    Dying(Child),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It does not listen yet.
    Silent,
    Listening,
    Informed,
}

impl Member {
    pub(crate) fn new(node: NodeId) -> Self {
        Self { node, lives: 0, state: State::Down, address: None, acts: VecDeque::new() }
    }

    /// Which life this is or was, from 0.
    pub(crate) fn life(&self) -> u64 {
        self.lives.saturating_sub(1)
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

    /// Its process, if it takes commands: one that is stopped will take them when it goes on.
    pub(crate) fn taker(&self) -> Option<&Child> {
        match &self.state {
            State::Up(child) | State::Stopped(child) => Some(child),
            State::Down | State::Starting { .. } | State::Refused { .. } | State::Dying(_) => None,
        }
    }

    /// The next thing that is to be done to it, if it can be done now.
    pub(crate) fn next_act(&mut self) -> Option<Act> {
        let is_possible = match (self.acts.front()?, &self.state) {
            (Act::Kill(_) | Act::Stop(_), State::Up(_)) => true,
            (Act::Start(_), State::Down) => true,
            (Act::Continue(_), State::Stopped(_)) => true,
            // Nothing is done to the network by doing it to a node.
            (Act::Sever(_) | Act::Mend(_), _) => true,
            (Act::Kill(_) | Act::Stop(_) | Act::Start(_) | Act::Continue(_), _) => false,
        };
        if is_possible { self.acts.pop_front() } else { None }
    }

    /// In what trouble it is, if it is in any.
    pub(crate) fn trouble(&self) -> Option<String> {
        let what = match &self.state {
            State::Up(_) => return None,
            State::Down => "is down",
            State::Starting { .. } | State::Refused { .. } => "is starting",
            State::Stopped(_) => "is stopped",
            State::Dying(_) => "was just killed",
        };
        Some(format!("node {} {what}", self.node))
    }
}
