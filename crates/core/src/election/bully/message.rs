//! What nodes of the bully algorithm say, wait for and remember.

use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::protocol::Durable;

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    pub word: Word,
    /// The largest epoch that its sender has heard of; that of the result, where one is declared.
    pub epoch: Epoch,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Word {
    /// To a higher node: do you live?
    Election,
    /// To a lower one: I do.
    Answer,
    /// I lead.
    Coordinator,
    /// To a lower node: I have begun a run.
    Begun,
    /// I am back.
    Hello,
    /// What is the largest epoch that you have heard of?
    Inquiry,
    /// This one.
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

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// Answers of higher nodes. If none comes it has won.
    Answers,
    Result,
    /// The arrival of all that was sent by those who did not know that this node is back.
    Quiet,
    Reports,
}

/// The largest epoch that a node has heard of, as its disk knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Heard(pub Epoch);

impl Durable for Heard {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}
