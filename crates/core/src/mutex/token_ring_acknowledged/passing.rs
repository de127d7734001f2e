//! Acknowledged passing: what goes round a ring and is not acknowledged yet, and who has turned out to be dead.

use super::super::token::Token;
use super::super::token_ring::Lap;
use crate::group::Epoch;
use crate::mutex::prelude::*;

/// The number of a pass. Each node counts its own, and never uses one again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Number(pub u64);

/// What goes round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Cargo {
    /// It is your turn.
    Token(Token<Lap>),
    /// Have you got the token?
    Search(Search),
}

impl Cargo {
    /// The same, so many hops further on. A token counts no more of them than make a round.
    pub(super) fn moved(self, hops: u32, round: u32) -> Self {
        match self {
            Self::Token(token) => {
                let hops = token.label.hops.saturating_add(hops).min(round);
                Self::Token(Token { label: Lap { hops, ..token.label }, ..token })
            }
            Self::Search(search) => Self::Search(search),
        }
    }
}

/// A search for the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Search {
    /// Who will make a new token if nobody has one.
    pub starter: NodeId,
    /// The generation of that token. It also tells a search from an earlier one of the same starter.
    pub generation: Epoch,
}

/// What a node has passed on, and to whom it does not pass any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Passing {
    /// The others, in the order of the ring, from the next one on.
    ring: Fixed<Vec<NodeId>>,
    dead: BTreeSet<NodeId>,
    last: Number,
    /// What is not acknowledged yet: whom it was passed to, and what it was before it moved on.
    unanswered: BTreeMap<Number, (NodeId, Cargo)>,
}

pub(super) struct Pass {
    pub(super) number: Number,
    pub(super) to: NodeId,
    /// How far it goes, the dead counted.
    pub(super) hops: u32,
}

impl Passing {
    pub(super) fn new(me: NodeId, group: &Group) -> Self {
        let behind = group.iter().filter(|node| *node > me);
        let before = group.iter().filter(|node| *node < me);
        Self {
            ring: Fixed::new(behind.chain(before).collect()),
            dead: BTreeSet::new(),
            last: Number::default(),
            unanswered: BTreeMap::new(),
        }
    }

    pub(super) fn is_peer(&self, node: NodeId) -> bool {
        self.ring.contains(&node)
    }

    pub(super) fn is_alone(&self) -> bool {
        self.dead.len() == self.ring.len()
    }

    pub(super) fn has_token(&self) -> bool {
        self.token().is_some()
    }

    /// Begins to pass something to the next one that is not known to be dead. Nobody comes behind a search's starter.
    pub(super) fn begin(&mut self, cargo: Cargo) -> Option<Pass> {
        let reach = match cargo {
            Cargo::Token(_) => None,
            Cargo::Search(search) => self.ring.iter().position(|node| *node == search.starter),
        };
        let ring = self.ring.iter().take(reach.map_or(self.ring.len(), |place| place + 1));
        let (place, to) = ring.enumerate().find(|(_, node)| !self.dead.contains(node))?;
        let to = *to;
        self.last = Number(self.last.0.saturating_add(1));
        self.unanswered.insert(self.last, (to, cargo));
        Some(Pass { number: self.last, to, hops: u32::try_from(place + 1).unwrap_or(u32::MAX) })
    }

    /// What was passed is acknowledged. Tells whether this node still waited for that.
    pub(super) fn end(&mut self, from: NodeId, number: Number) -> bool {
        let awaited = self.unanswered.get(&number).is_some_and(|(to, _)| *to == from);
        if awaited {
            self.unanswered.remove(&number);
        }
        awaited
    }

    /// Nobody has acknowledged what was passed: who is dead, and what is to be passed again.
    pub(super) fn give_up(&mut self, number: Number) -> Option<(NodeId, Cargo)> {
        let (to, cargo) = self.unanswered.remove(&number)?;
        self.dead.insert(to);
        Some((to, cargo))
    }

    /// The token that was passed has been seen again: its acknowledgement is no longer waited for.
    pub(super) fn forget_token(&mut self) -> Option<Number> {
        let number = self.token()?;
        self.unanswered.remove(&number);
        Some(number)
    }

    /// This node is alive. Tells whether it was taken for dead.
    pub(super) fn revive(&mut self, node: NodeId) -> bool {
        self.dead.remove(&node)
    }

    fn token(&self) -> Option<Number> {
        let mut tokens = self.unanswered.iter().filter(|(_, (_, cargo))| matches!(cargo, Cargo::Token(_)));
        tokens.next().map(|(number, _)| *number)
    }
}
