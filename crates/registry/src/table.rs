//! The table: one line an algorithm.

use crate::erased::Erased;
use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{
    Central, Command, Event, Facts, RicartAgrawala, RicartAgrawalaModulo, central, ricart_agrawala,
    ricart_agrawala_modulo,
};
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

static ALGORITHMS: [Entry; 3] = [
    Entry { facts: &central::FACTS, make: |me, group| Erased::new(Central::new(me, group)) },
    Entry { facts: &ricart_agrawala::FACTS, make: |me, group| Erased::new(RicartAgrawala::new(me, group)) },
    Entry {
        facts: &ricart_agrawala_modulo::FACTS,
        make: |me, group| Erased::new(RicartAgrawalaModulo::new(me, group)),
    },
];

static FIXTURES: [Entry; 14] = [
    Entry { facts: &Flaw::BareReplies.facts(), make: |me, group| flawed(me, group, Flaw::BareReplies) },
    Entry { facts: &Flaw::ClockOnly.facts(), make: |me, group| flawed(me, group, Flaw::ClockOnly) },
    Entry { facts: &Flaw::NodeOnly.facts(), make: |me, group| flawed(me, group, Flaw::NodeOnly) },
    Entry { facts: &Flaw::FirstOnly.facts(), make: |me, group| flawed(me, group, Flaw::FirstOnly) },
    Entry { facts: &Memory::Forgetful.facts(), make: |me, group| Erased::new(Memory::Forgetful.node(me, group)) },
    Entry { facts: &Memory::Mindful.facts(), make: |me, group| Erased::new(Memory::Mindful.node(me, group)) },
    Entry { facts: &Asking::Embrace.facts(), make: |me, group| Erased::new(Asking::Embrace.node(me, group)) },
    Entry { facts: &Asking::Ordered.facts(), make: |me, group| Erased::new(Asking::Ordered.node(me, group)) },
    Entry { facts: &Favour::Favourite.facts(), make: |me, group| Erased::new(Favour::Favourite.node(me, group)) },
    Entry { facts: &Favour::Fair.facts(), make: |me, group| Erased::new(Favour::Fair.node(me, group)) },
    Entry { facts: &Care::Slip.facts(), make: |me, group| Erased::new(Care::Slip.node(me, group)) },
    Entry { facts: &Care::Tidy.facts(), make: |me, group| Erased::new(Care::Tidy.node(me, group)) },
    Entry { facts: &Margin::Tick.facts(), make: |me, group| Erased::new(Margin::Tick.node(me, group)) },
    Entry { facts: &Margin::Drift.facts(), make: |me, group| Erased::new(Margin::Drift.node(me, group)) },
];

fn flawed(me: NodeId, group: Group, flaw: Flaw) -> MutexNode {
    Erased::new(RicartAgrawala1981::new(me, group, flaw))
}

/// Every algorithm, in the order in which lists show them.
pub fn all() -> &'static [Entry] {
    &ALGORITHMS
}

/// Protocols that are wrong on purpose, and correct twins of some of them.
pub fn fixtures() -> &'static [Entry] {
    &FIXTURES
}

/// The algorithm or fixture of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().chain(fixtures()).find(|entry| entry.name() == name)
}
