//! Messages, timers and events of clock averaging. They wrap those of the election that chooses the
//! leader.

use super::Shift;
use quorate_core::election;
use quorate_core::{Class, Describe, Epoch, Group, NodeId, PayloadId, Time};
use std::fmt;

/// Identifies one averaging of the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Round {
    /// The epoch of the leader that started the round.
    pub epoch: Epoch,
    /// The number of the round in its epoch, from 1.
    pub number: u64,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {} of epoch {}", self.number, self.epoch)
    }
}

/// A message between nodes; `M` is a message of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message<M> {
    Election(M),
    /// The leader asks a node for the reading of its clock.
    Poll(Round),
    /// The answer to a poll: the sender's clock shows this time.
    Clock {
        round: Round,
        #[serde(rename = "shows")]
        reading: Time,
    },
    /// The leader tells a node how far to move its clock.
    Adjust {
        round: Round,
        by: Shift,
    },
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Election(message) => message.kind(),
            Self::Poll(_) => "poll",
            Self::Clock { .. } => "clock",
            Self::Adjust { .. } => "adjust",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        self.inner().and_then(Describe::label)
    }

    fn class(&self) -> Class {
        match self {
            Self::Election(message) => message.class(),
            Self::Poll(_) | Self::Clock { .. } | Self::Adjust { .. } => Class::Algorithm,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        self.inner().and_then(Describe::on_behalf_of)
    }

    fn payload_id(&self) -> Option<PayloadId> {
        self.inner().and_then(Describe::payload_id)
    }

    fn is_retransmission(&self) -> bool {
        self.inner().is_some_and(Describe::is_retransmission)
    }

    fn is_wrapped(&self) -> bool {
        self.inner().is_some_and(Describe::is_wrapped)
    }
}

impl<M> Message<M> {
    fn inner(&self) -> Option<&M> {
        match self {
            Self::Election(message) => Some(message),
            Self::Poll(_) | Self::Clock { .. } | Self::Adjust { .. } => None,
        }
    }
}

/// A timer of a node; `T` is a timer of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer<T> {
    Election(T),
    /// The leader starts the next round.
    Round,
    /// The leader stops waiting for answers to its poll.
    Answers,
    /// The node has received no poll for too long, and suspects the leader.
    Leader,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// An event of the election.
    Election(election::Event),
    /// The node has moved its clock.
    Adjusted { by: Shift },
    /// The leader has averaged the clocks of the nodes in `counted`. Those of `outliers` deviated
    /// too much to count, but are adjusted too. The nodes in `silent` did not answer.
    Averaged {
        round: Round,
        counted: Group,
        #[serde(rename = "far")]
        outliers: Group,
        silent: Group,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Election(event) => event.fmt(f),
            Self::Adjusted { by } => write!(f, "its clock was moved by {by}"),
            Self::Averaged { round, counted, outliers, silent } => {
                write!(f, "averages the clocks of {counted} ({round})")?;
                if !outliers.is_empty() {
                    write!(f, ", without {outliers}, too far off")?;
                }
                if !silent.is_empty() {
                    write!(f, ", without {silent}, silent")?;
                }
                Ok(())
            }
        }
    }
}
