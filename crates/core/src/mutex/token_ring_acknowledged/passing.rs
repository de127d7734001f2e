//! Acknowledged passing round a ring: a node's passes that are not acknowledged yet, and the nodes
//! that it skips because they have crashed.

use super::super::token::Token;
use super::super::token_ring::Lap;
use crate::group::Epoch;
use crate::mutex::prelude::*;

/// The number of a pass. Each node counts its own passes and never reuses a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PassNumber(pub u64);

/// The content of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum PassContent {
    Token(Token<Lap>),
    /// A search for the token.
    Search(Search),
}

impl PassContent {
    /// Returns the content after `hops` more hops. A token counts its hops since the
    /// last entry, up to a full round.
    pub(super) fn after_hops(self, hops: u32, hops_per_round: u32) -> Self {
        match self {
            Self::Token(token) => {
                let hops = token.label.hops.saturating_add(hops).min(hops_per_round);
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
    /// The node that creates a new token if the search returns.
    pub starter: NodeId,
    /// The generation of that token. It also distinguishes the searches of one starter.
    pub generation: Epoch,
}

/// The passes of a node, and the members it skips.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Passing {
    /// The other members in the order of the ring, starting with the next one.
    ring: Fixed<Vec<NodeId>>,
    /// The members that this node skips, because they did not acknowledge a pass in time.
    crashed_members: BTreeSet<NodeId>,
    last_number: PassNumber,
    /// The passes without acknowledgement: the receiver, and the content without the hops of this
    /// pass.
    unanswered: BTreeMap<PassNumber, (NodeId, PassContent)>,
}

/// A pass to send.
pub(super) struct Pass {
    pub(super) number: PassNumber,
    pub(super) to: NodeId,
    /// The number of hops to the receiver, skipped members included.
    pub(super) hops: u32,
}

impl Passing {
    pub(super) fn new(me: NodeId, group: &Group) -> Self {
        let after_me = group.iter().filter(|node| *node > me);
        let before_me = group.iter().filter(|node| *node < me);
        Self {
            ring: Fixed::new(after_me.chain(before_me).collect()),
            crashed_members: BTreeSet::new(),
            last_number: PassNumber::default(),
            unanswered: BTreeMap::new(),
        }
    }

    pub(super) fn is_peer(&self, node: NodeId) -> bool {
        self.ring.contains(&node)
    }

    /// Returns whether this node skips all other members, or there are none.
    pub(super) fn is_alone(&self) -> bool {
        self.crashed_members.len() == self.ring.len()
    }

    /// Returns whether a pass of the token is not acknowledged yet.
    pub(super) fn is_passing_token(&self) -> bool {
        self.token_pass().is_some()
    }

    /// Begins to pass the token or a search to the next member that is not known to have crashed. A
    /// search goes no further than its starter. Returns `None` if there is no such member.
    pub(super) fn begin_pass(&mut self, content: PassContent) -> Option<Pass> {
        let starter_position = match content {
            PassContent::Token(_) => None,
            PassContent::Search(search) => self.ring.iter().position(|node| *node == search.starter),
        };
        let candidates = self.ring.iter().take(starter_position.map_or(self.ring.len(), |position| position + 1));
        let (position, to) = candidates.enumerate().find(|(_, node)| !self.crashed_members.contains(node))?;
        let to = *to;
        self.last_number = PassNumber(self.last_number.0.saturating_add(1));
        self.unanswered.insert(self.last_number, (to, content));
        Some(Pass { number: self.last_number, to, hops: u32::try_from(position + 1).unwrap_or(u32::MAX) })
    }

    /// Handles an acknowledgement. Returns whether the node was still waiting for it.
    pub(super) fn acknowledge(&mut self, from: NodeId, number: PassNumber) -> bool {
        let is_awaited = self.unanswered.get(&number).is_some_and(|(to, _)| *to == from);
        if is_awaited {
            self.unanswered.remove(&number);
        }
        is_awaited
    }

    /// Handles a missing acknowledgement: skips the receiver from now on. Returns the receiver and
    /// the content to pass again, or `None` if this pass does not wait for an acknowledgement.
    pub(super) fn time_out(&mut self, number: PassNumber) -> Option<(NodeId, PassContent)> {
        let (to, content) = self.unanswered.remove(&number)?;
        self.crashed_members.insert(to);
        Some((to, content))
    }

    /// Stops waiting for the acknowledgement of the token, which has returned. Returns the number
    /// of its pass.
    pub(super) fn forget_token(&mut self) -> Option<PassNumber> {
        let number = self.token_pass()?;
        self.unanswered.remove(&number);
        Some(number)
    }

    /// Records that a node is alive. Returns whether it was suspected.
    pub(super) fn revive(&mut self, node: NodeId) -> bool {
        self.crashed_members.remove(&node)
    }

    fn token_pass(&self) -> Option<PassNumber> {
        let mut tokens = self.unanswered.iter().filter(|(_, (_, content))| matches!(content, PassContent::Token(_)));
        tokens.next().map(|(number, _)| *number)
    }
}
