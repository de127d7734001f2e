//! A request, and how it stands with the voter of each replica.

use super::Replica;
use crate::clock::Stamp;
use crate::mutex::ballot::Dated;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bid {
    pub(super) stamp: Stamp,
    pub(super) seats: Vec<Seat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seat {
    pub(super) standing: Standing,
    /// The turn of the vote that we ask for or have.
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// Not asked in this attempt.
    Idle,
    Asked,
    Voted,
    /// Has denied us its vote in this attempt.
    Denied,
}

/// Which of the votes that a request asks one replica for again and again. Two are enough: the next one is asked for when
/// the last one is on its way back, and is not given before it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Turn(bool);

impl Turn {
    const fn next(self) -> Self {
        Self(!self.0)
    }
}

/// What a vote is asked for and given to: a request, and which time it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    pub stamp: Stamp,
    pub turn: Turn,
}

impl Dated for Claim {
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
        let seat = Seat { standing: Standing::Idle, turn: Turn::default() };
        Self { stamp, seats: vec![seat; replicas] }
    }

    pub(super) fn elected(stamp: Stamp, replicas: usize) -> Self {
        let seat = Seat { standing: Standing::Voted, turn: Turn::default() };
        Self { stamp, seats: vec![seat; replicas] }
    }

    /// What a replica has voted for, if it has for this one.
    pub(super) fn vote_of(&self, replica: Replica) -> Option<Claim> {
        let seat = self.seats.get(replica.index()).filter(|seat| seat.standing == Standing::Voted)?;
        Some(Claim { stamp: self.stamp, turn: seat.turn })
    }

    pub(super) fn count(&self, standing: Standing) -> usize {
        self.seats.iter().filter(|seat| seat.standing == standing).count()
    }

    /// A voter is asked. Tells for what, unless it has been asked or has answered.
    pub(super) fn ask(&mut self, replica: Replica) -> Option<Claim> {
        let seat = self.seats.get_mut(replica.index()).filter(|seat| seat.standing == Standing::Idle)?;
        seat.standing = Standing::Asked;
        Some(Claim { stamp: self.stamp, turn: seat.turn })
    }

    /// A voter answers. Tells whether that is the answer we wait for.
    pub(super) fn hears(&mut self, replica: Replica, claim: Claim, answer: Standing) -> bool {
        let seat = self.seats.get_mut(replica.index());
        let asked = Seat { standing: Standing::Asked, turn: claim.turn };
        match seat.filter(|seat| claim.stamp == self.stamp && **seat == asked) {
            Some(seat) => {
                seat.standing = answer;
                true
            }
            None => false,
        }
    }

    /// A vote goes back; the next one that is asked for is another one.
    pub(super) fn give_up(&mut self, replica: Replica) {
        if let Some(seat) = self.seats.get_mut(replica.index()) {
            *seat = Seat { standing: Standing::Idle, turn: seat.turn.next() };
        }
    }

    /// Every vote goes back. Tells which there were.
    pub(super) fn give_up_all(&mut self) -> Vec<(Replica, Claim)> {
        let voted = self.seats.iter().enumerate().filter(|(_, seat)| seat.standing == Standing::Voted);
        let claim = |seat: &Seat| Claim { stamp: self.stamp, turn: seat.turn };
        let votes: Vec<_> = voted.map(|(index, seat)| (Replica::from_index(index), claim(seat))).collect();
        for (replica, _) in &votes {
            self.give_up(*replica);
        }
        votes
    }
}
