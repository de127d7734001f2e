//! The commands, messages, timers and events of the armies.

use quorate_core::{Describe, NodeId, Time};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Strength(pub u32);

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The commander's order to an army. Both armies get it, at any time; it has an effect only on the
/// leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    Attack,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attack => f.pad("attack"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    Strength(Strength),
    /// The order to attack, sent by the leader.
    Attack,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Strength(_) => "strength",
            Self::Attack => "attack",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// The leader has waited for the minimum delay of a message.
    #[serde(rename = "word")]
    MinimumDelay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The army knows that `army` leads.
    Leads { army: NodeId },
    /// The army attacks; `at` is the time of its own clock.
    Attacks { at: Time },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leads { army } => write!(f, "army {army} leads"),
            Self::Attacks { .. } => f.write_str("attacks"),
        }
    }
}
