//! Total order by agreement: the ISIS algorithm (Birman and Joseph 1987).
//!
//! There is no sequencer. Each member proposes a priority for a message, greater than all that it has seen, and the sender takes the
//! greatest proposal. Everyone delivers in the order of the agreed priorities: a message is next when its own is agreed and no other in the
//! queue has a smaller one, agreed or proposed, since what is agreed later is never smaller than what we proposed. Proposals are made as an
//! order inside lets messages out, so that what is promised inside holds for all as well.
//!
//! ```text
//! IS-1  the order inside lets one out → propose the greatest priority seen, plus one, to its sender; ties go by the proposer
//! IS-2  all have proposed             → its sender takes the greatest, and tells all
//! IS-3  a priority is agreed          → the message moves back to its place in the queue
//! IS-4  the first one is agreed       → deliver it
//! IS-5  everyone has both             → forget the priority
//! IS-6  a view ends                   → what was agreed stays, known to anybody; what was not comes after all of that, unless the order
//!                                       inside puts it before some of it
//! ```
//!
//! Cost: 3(n−1) messages a multicast. The slowest member delivers after three message times, the sender after two.
//!
//! Why all agree when a view ends: an agreed priority is not smaller than any proposal for the message, and everyone has made one. So whoever
//! delivered a message had all messages with smaller priorities in its queue, and has delivered them; and whoever forgets a priority knew that
//! everyone holds the message and its priority, so that those who have not delivered it yet report it. What nobody who goes on knows as agreed
//! none of them has delivered, and it comes after all that any of them has; if delivery is uniform, after all that the dead have as well, since
//! everyone knew that as agreed. What the order inside puts behind something that is not agreed nobody has delivered: everyone proposed less
//! for that.
//!
//! Assumes: what is sent between two members that stay up arrives.
//!
//! When it fails: without views one dead member stops everyone, since its proposal never comes.

use super::{
    Book, Causes, Desk, Facts, HoldBack, MessageId, Notes, Ordering, Partial, Plan, Promise, Survey, Word, causal,
    fifo, unordered,
};
use crate::about::Profile;
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

/// What the book says of it. Beside this are [`FIFO_FACTS`] and [`CAUSAL_FACTS`].
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "isis",
        class: "total order",
        summary: "everyone proposes a priority, the sender takes the greatest, and all deliver in that order",
        source: include_str!("isis.rs"),
        ..unordered::FACTS.profile
    },
    order: Promise { fifo: false, causal: false, total: true },
    book: Book::agreed,
    ..unordered::FACTS
};

/// What the book says of it if members propose for each sender's messages in turn.
pub const FIFO_FACTS: Facts = Facts {
    profile: Profile {
        name: "fifo-isis",
        summary: "agreed priorities, proposed for each sender's messages in the order in which they were sent",
        ..FACTS.profile
    },
    order: Promise { total: true, ..fifo::FACTS.order },
    ..FACTS
};

/// What the book says of it if members propose for causes first.
pub const CAUSAL_FACTS: Facts = Facts {
    profile: Profile {
        name: "causal-isis",
        summary: "agreed priorities, proposed for no message before one that its sender had heard",
        ..FACTS.profile
    },
    order: Promise { total: true, ..causal::FACTS.order },
    ..FACTS
};

/// A place in the order: a number, and who proposed it. No two proposals are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Priority {
    /// The number, from 1.
    pub number: u64,
    pub proposer: NodeId,
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.proposer)
    }
}

/// The order of agreed priorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Isis<I> {
    inner: I,
    me: NodeId,
    members: Group,
    greatest: u64,
    /// Where each message stands that not everyone holds and knows the place of.
    standing: BTreeMap<MessageId, Standing>,
    /// Those of them that were not delivered, by what we know of their places.
    line: BTreeSet<(Priority, MessageId)>,
    ballots: BTreeMap<MessageId, Ballot>,
}

/// What a member knows of a message's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Standing {
    Proposed(Priority),
    Agreed(Priority),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ballot {
    missing: BTreeSet<NodeId>,
    greatest: Priority,
}

/// What members tell each other about priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Vote {
    /// The sender of this proposes a priority with this number.
    Proposal { id: MessageId, number: u64 },
    /// The sender of the message has agreed on this priority.
    Agreed { id: MessageId, priority: Priority },
}

/// `4 for 2#1` is a proposal, and `2#1 at 4.3` what became of it.
impl fmt::Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proposal { id, number } => write!(f, "{number} for {id}"),
            Self::Agreed { id, priority } => write!(f, "{id} at {priority}"),
        }
    }
}

impl Describe for Vote {
    fn kind(&self) -> &'static str {
        match self {
            Self::Proposal { .. } => "proposal",
            Self::Agreed { .. } => "agreed",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Proposal { id, .. } | Self::Agreed { id, .. } => Some(id.sender),
        }
    }
}

/// What a member knows of priorities when a view ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Standings {
    #[cfg_attr(feature = "serde", serde(with = "crate::pairs"))]
    pub standing: BTreeMap<MessageId, Standing>,
    /// Nothing, where journals show what the order inside knows.
    pub inner: (),
}

impl<I> Isis<I> {
    /// What was not delivered, by what we know of places, agreed or not.
    pub fn line(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.line.iter().map(|(_, id)| *id)
    }
}

impl<I: Partial> Isis<I> {
    /// IS-1.
    fn propose(&mut self, queue: &HoldBack, desk: &mut dyn Desk) {
        while let Some(id) = self.inner.next(queue) {
            self.inner.delivered(id, queue);
            self.greatest = self.greatest.saturating_add(1);
            let ours = Priority { number: self.greatest, proposer: self.me };
            self.standing.insert(id, Standing::Proposed(ours));
            self.line.insert((ours, id));
            desk.note("IS-1", format_args!("proposes {ours} for {id}"));
            if id.sender == self.me {
                let missing = self.members.others(self.me).collect();
                self.ballots.insert(id, Ballot { missing, greatest: ours });
                self.decide(id, desk);
            } else {
                desk.send(id.sender, Word::Vote(Vote::Proposal { id, number: ours.number }));
            }
        }
    }

    /// IS-2. What nobody was asked for, or has answered already, is no proposal.
    fn count(&mut self, from: NodeId, id: MessageId, number: u64, desk: &mut dyn Desk) {
        let Some(ballot) = self.ballots.get_mut(&id) else { return };
        if ballot.missing.remove(&from) {
            ballot.greatest = ballot.greatest.max(Priority { number, proposer: from });
            self.decide(id, desk);
        }
    }

    /// IS-2.
    fn decide(&mut self, id: MessageId, desk: &mut dyn Desk) {
        let Some(ballot) = self.ballots.get(&id).filter(|ballot| ballot.missing.is_empty()) else { return };
        let priority = ballot.greatest;
        self.ballots.remove(&id);
        desk.note("IS-2", format_args!("{id} has priority {priority}"));
        desk.multicast(Word::Vote(Vote::Agreed { id, priority }));
        self.agree(id, priority, desk);
    }

    /// IS-3. What is smaller than our own proposal was not agreed by all.
    fn agree(&mut self, id: MessageId, priority: Priority, desk: &mut dyn Desk) {
        let Some(Standing::Proposed(ours)) = self.standing.get(&id).copied() else { return };
        if priority < ours {
            return;
        }
        self.greatest = self.greatest.max(priority.number);
        self.line.remove(&(ours, id));
        self.line.insert((priority, id));
        self.standing.insert(id, Standing::Agreed(priority));
        desk.note("IS-3", format_args!("{id} stands at {priority}"));
    }
}

impl<I: Partial> Ordering for Isis<I> {
    fn begin(plan: &Plan, me: NodeId, members: &Group) -> Self {
        Self {
            inner: I::begin(plan, me, members),
            me,
            members: members.clone(),
            greatest: 0,
            standing: BTreeMap::new(),
            line: BTreeSet::new(),
            ballots: BTreeMap::new(),
        }
    }

    fn tag(&mut self) -> Causes {
        self.inner.tag()
    }

    fn received(&mut self, id: MessageId, queue: &HoldBack, desk: &mut dyn Desk) {
        self.inner.received(id, queue, desk);
        self.propose(queue, desk);
    }

    fn heard(&mut self, from: NodeId, word: Word, _queue: &HoldBack, desk: &mut dyn Desk) {
        match word {
            Word::Vote(Vote::Proposal { id, number }) => self.count(from, id, number, desk),
            Word::Vote(Vote::Agreed { id, priority }) if id.sender == from => self.agree(id, priority, desk),
            // Only its sender says what was agreed, and there is no sequencer.
            Word::Vote(Vote::Agreed { .. }) | Word::Place(_) => {}
        }
    }

    /// IS-4.
    fn next(&self, _queue: &HoldBack) -> Option<MessageId> {
        self.line().next().filter(|id| self.is_placed(*id))
    }

    /// IS-4.
    fn delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        if let Some(Standing::Proposed(priority) | Standing::Agreed(priority)) = self.standing.get(&id) {
            self.line.remove(&(*priority, id));
        }
    }

    fn is_placed(&self, id: MessageId) -> bool {
        matches!(self.standing.get(&id), Some(Standing::Agreed(_)))
    }

    /// IS-5.
    fn forget(&mut self, id: MessageId) {
        self.standing.remove(&id);
        self.inner.forget(id);
    }

    fn notes(&self) -> Notes {
        Notes::Standings(Standings { standing: self.standing.clone(), inner: () })
    }

    /// IS-6. What was not agreed is placed in the order inside, each after those before it.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        let members = survey.members();
        let all = self.inner.settle(survey);
        let mut decided: Vec<_> = all.iter().filter_map(|id| Some((agreed(survey, *id)?, *id))).collect();
        decided.sort_unstable();
        let mut order: Vec<MessageId> = decided.into_iter().map(|(_, id)| id).collect();
        for id in all.into_iter().filter(|id| agreed(survey, *id).is_none()) {
            let tag_of = |other: MessageId| survey.held.get(&other).map(|tag| (other, tag));
            let precedes = |other: &MessageId| {
                tag_of(id).zip(tag_of(*other)).is_some_and(|(one, other)| self.inner.precedes(one, other, &members))
            };
            let place = order.iter().position(precedes).unwrap_or(order.len());
            order.insert(place, id);
        }
        self.inner.prune(order, survey)
    }

    /// IS-6.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        self.inner.prune(settled, survey)
    }
}

/// What was agreed for a message, as far as anybody knows.
fn agreed(survey: &Survey, id: MessageId) -> Option<Priority> {
    survey.notes.values().filter_map(Notes::standings).find_map(|known| match known.standing.get(&id) {
        Some(Standing::Agreed(priority)) => Some(*priority),
        Some(Standing::Proposed(_)) | None => None,
    })
}

#[cfg(test)]
mod tests;
