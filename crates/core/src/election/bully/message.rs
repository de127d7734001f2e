//! Messages, timers and durable state of the bully algorithm.

use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::protocol::Durable;

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    #[cfg_attr(feature = "serde", serde(rename = "word"))]
    pub kind: Kind,
    /// The largest epoch that the sender knows; in a `Coordinator` message, that of the result.
    pub epoch: Epoch,
}

/// The purpose of a message. A higher node is one of higher rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Kind {
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
    /// This is the largest epoch that I know: the answer to an `Inquiry`, or to a `Coordinator`
    /// message with an outdated epoch.
    Report,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Election => "election",
            Kind::Answer => "answer",
            Kind::Coordinator => "coordinator",
            Kind::Begun => "begun",
            Kind::Hello => "hello",
            Kind::Inquiry => "inquiry",
            Kind::Report => "report",
        }
    }

    fn class(&self) -> Class {
        match self.kind {
            Kind::Election | Kind::Answer => Class::Algorithm,
            Kind::Coordinator => Class::Announcement,
            Kind::Begun | Kind::Hello | Kind::Inquiry | Kind::Report => Class::Control,
        }
    }
}

/// A timeout, named after the event that the node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// Answers of higher nodes. If none arrives in time, this node has won. If the only higher node
    /// is suspected, it is not asked, and the timer ends when its last messages must have arrived:
    /// a result may be among them.
    Answers,
    /// The result of a higher node that is alive. If none arrives in time, this node starts another
    /// election.
    Result,
    /// The arrival of all messages of nodes that did not know of this node's restart.
    Quiet,
    /// Answers to the inquiry after a restart.
    Reports,
}

/// The largest epoch that a node knows, as saved on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedEpoch(pub Epoch);

impl Durable for SavedEpoch {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}
