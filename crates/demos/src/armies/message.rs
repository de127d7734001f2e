//! What armies are told, tell each other, wait for and show.

use quorate_core::{Describe, NodeId, Time};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Strength(pub u32);

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the commander asks of an army. Both are told, each whenever it is; it makes a difference to the one that leads.
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
    /// The word: it leads, and the attack begins.
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
    Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    Leads { army: NodeId },
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
