//! The table: one line an algorithm.

use crate::erased::Erased;
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Central, Command, Event, Facts, RicartAgrawala, central, ricart_agrawala};
use quorate_core::{Group, NodeId};
use serde::Serialize;
use std::fmt;

/// A node of any mutual-exclusion algorithm.
pub type MutexNode = Erased<Command, Event>;

/// Algorithms that take the same commands and tell the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// At most one node inside at a time.
    Mutex,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Mutex => "mutex",
        })
    }
}

/// One algorithm.
pub struct Entry {
    /// What the book says of it.
    pub facts: &'static Facts,
    /// Makes a node of a group.
    pub make: fn(NodeId, Group) -> MutexNode,
}

impl Entry {
    /// The name that users type.
    pub fn name(&self) -> &'static str {
        self.facts.name
    }

    /// Its family.
    pub fn family(&self) -> Family {
        Family::Mutex
    }
}

static ALGORITHMS: [Entry; 2] = [
    Entry { facts: &central::FACTS, make: |me, group| Erased::new(Central::new(me, group)) },
    Entry { facts: &ricart_agrawala::FACTS, make: |me, group| Erased::new(RicartAgrawala::new(me, group)) },
];

static FIXTURES: [Entry; 4] = [
    Entry { facts: &Flaw::BareReplies.facts(), make: |me, group| flawed(me, group, Flaw::BareReplies) },
    Entry { facts: &Flaw::ClockOnly.facts(), make: |me, group| flawed(me, group, Flaw::ClockOnly) },
    Entry { facts: &Flaw::NodeOnly.facts(), make: |me, group| flawed(me, group, Flaw::NodeOnly) },
    Entry { facts: &Flaw::FirstOnly.facts(), make: |me, group| flawed(me, group, Flaw::FirstOnly) },
];

fn flawed(me: NodeId, group: Group, flaw: Flaw) -> MutexNode {
    Erased::new(RicartAgrawala1981::new(me, group, flaw))
}

/// Every algorithm, in the order in which lists show them.
pub fn all() -> &'static [Entry] {
    &ALGORITHMS
}

/// Protocols that are wrong on purpose.
pub fn fixtures() -> &'static [Entry] {
    &FIXTURES
}

/// The algorithm or fixture of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().chain(fixtures()).find(|entry| entry.name() == name)
}
