//! A request, and the answer of each replica's voter to it.

use super::Replica;
use crate::clock::Stamp;
use crate::mutex::vote::Stamped;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A node's own request or entry, with the state of each replica's voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bid {
    pub(super) stamp: Stamp,
    pub(super) voters: Vec<VoterState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct VoterState {
    pub(super) answer: Answer,
    /// The turn in which we request or have the vote.
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    /// Not asked in this attempt.
    NotAsked,
    /// Asked, but not answered yet.
    Pending,
    Voted,
    /// Denied in this attempt.
    Denied,
}

/// Distinguishes the votes of one replica that a node requests in successive attempts of one
/// request. Two values are enough: when the node requests the vote again, the previous vote is on
/// its way back, and the voter does not give the vote again before it is back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Turn(bool);

impl Turn {
    const fn next(self) -> Self {
        Self(!self.0)
    }
}

/// The request that asks for a vote or has it: its stamp, and the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    pub stamp: Stamp,
    pub turn: Turn,
}

impl Stamped for Claim {
    fn stamp(&self) -> Stamp {
        self.stamp
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stamp.fmt(f)
    }
}

impl Bid {
    pub(super) fn new(stamp: Stamp, replicas: usize) -> Self {
        let voter = VoterState { answer: Answer::NotAsked, turn: Turn::default() };
        Self { stamp, voters: vec![voter; replicas] }
    }

    pub(super) fn with_all_votes(stamp: Stamp, replicas: usize) -> Self {
        let voter = VoterState { answer: Answer::Voted, turn: Turn::default() };
        Self { stamp, voters: vec![voter; replicas] }
    }

    /// Returns the claim with which this request has the vote of a replica, or `None` if it does
    /// not have that vote.
    pub(super) fn vote_of(&self, replica: Replica) -> Option<Claim> {
        let voter = self.voters.get(replica.index()).filter(|voter| voter.answer == Answer::Voted)?;
        Some(Claim { stamp: self.stamp, turn: voter.turn })
    }

    pub(super) fn count_answers(&self, answer: Answer) -> usize {
        self.voters.iter().filter(|voter| voter.answer == answer).count()
    }

    /// Marks a vote as requested. Returns the claim to send, or `None` if the voter was asked
    /// already.
    pub(super) fn mark_asked(&mut self, replica: Replica) -> Option<Claim> {
        let voter = self.voters.get_mut(replica.index()).filter(|voter| voter.answer == Answer::NotAsked)?;
        voter.answer = Answer::Pending;
        Some(Claim { stamp: self.stamp, turn: voter.turn })
    }

    /// Records the answer of a voter. Returns whether this answer was pending.
    pub(super) fn record_answer(&mut self, replica: Replica, claim: Claim, answer: Answer) -> bool {
        let voter = self.voters.get_mut(replica.index());
        let pending = VoterState { answer: Answer::Pending, turn: claim.turn };
        match voter.filter(|voter| claim.stamp == self.stamp && **voter == pending) {
            Some(voter) => {
                voter.answer = answer;
                true
            }
            None => false,
        }
    }

    /// Marks a vote as returned to its voter. The next request for it has another turn.
    pub(super) fn mark_returned(&mut self, replica: Replica) {
        if let Some(voter) = self.voters.get_mut(replica.index()) {
            *voter = VoterState { answer: Answer::NotAsked, turn: voter.turn.next() };
        }
    }

    /// Marks every vote as returned. Returns the votes, which the caller must send back to their
    /// voters.
    pub(super) fn mark_all_returned(&mut self) -> Vec<(Replica, Claim)> {
        let voted = self.voters.iter().enumerate().filter(|(_, voter)| voter.answer == Answer::Voted);
        let claim = |voter: &VoterState| Claim { stamp: self.stamp, turn: voter.turn };
        let votes: Vec<_> = voted.map(|(index, voter)| (Replica::from_index(index), claim(voter))).collect();
        for (replica, _) in &votes {
            self.mark_returned(*replica);
        }
        votes
    }
}
