//! Messages, timers and durable state of the bully algorithm.

use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::protocol::Durable;

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    pub word: Word,
    /// The largest epoch that the sender knows; in a `Coordinator` message, the epoch of the
    /// result.
    pub epoch: Epoch,
}

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Word {
    /// To a higher node: are you alive?
    Election,
    /// To a lower node: I am alive.
    Answer,
    /// I am the leader.
    Coordinator,
    /// To a lower node: I have started an election.
    Begun,
    /// I have restarted.
    Hello,
    /// Which is the largest epoch that you know?
    Inquiry,
    /// The answer to an inquiry: the largest epoch known.
    Report,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self.word {
            Word::Election => "election",
            Word::Answer => "answer",
            Word::Coordinator => "coordinator",
            Word::Begun => "begun",
            Word::Hello => "hello",
            Word::Inquiry => "inquiry",
            Word::Report => "report",
        }
    }

    fn class(&self) -> Class {
        match self.word {
            Word::Election | Word::Answer => Class::Algorithm,
            Word::Coordinator => Class::Announcement,
            Word::Begun | Word::Hello | Word::Inquiry | Word::Report => Class::Control,
        }
    }
}

/// The event that a node waits for, with a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// Answers of higher nodes. If none arrives in time, this node has won.
    Answers,
    Result,
    /// The arrival of messages sent by nodes that did not know of this node's restart.
    Quiet,
    Reports,
}

/// The largest epoch that a node knows, as saved on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Heard(pub Epoch);

impl Durable for Heard {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}
