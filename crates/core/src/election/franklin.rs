//! Franklin's election (1982).
//!
//! At first every node is a candidate. In each round every candidate sends its rank to the next
//! candidates on both sides and receives theirs. Only a candidate greater than both remains one, so
//! at most every second one does. The other nodes pass on all messages. A candidate that receives
//! its own rank is the only one left.
//!
//! ```text
//! FR-1  this node starts, or receives its
//!       first message                      → become a candidate, and send its own rank both ways
//! FR-2  both neighbours are less           → remain, and send its own rank both ways again
//! FR-3  a neighbour is greater             → stop being a candidate, and pass on all messages
//! FR-4  its own rank arrives, on both
//!       sides                              → no other candidate is left: this node has won
//! ```
//!
//! Cost: at most 2n(⌊log₂ n⌋+1) messages, plus n for the announcement.
//!
//! Assumes: links are FIFO and neither lose nor duplicate messages; every node knows its
//! neighbours that are up, on both sides. No bound on time.
//!
//! When it fails: without repair (`--repair none`), messages are lost with a node that crashes
//! during a run, and all nodes wait forever. With repair, the run is repeated without the crashed
//! node in the next epoch.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Case, Cost, Counts, ExpectedMessages, Facts, Links, Rank, Shape, Starting};
use crate::about::Profile;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// The algorithm's entry in the table.
pub const FACTS: Facts = Facts {
    links: Links::Fifo,
    ..Facts::new(
        Profile {
            name: "franklin",
            class: "on a ring",
            summary: "in each round, local maxima among both neighbours remain",
            source: include_str!("franklin.rs"),
            flaw: None,
            checkable: true,
        },
        Shape::Ring,
        Cost { formula: "≤ 2n(⌊log₂ n⌋+1)", expected: expected_messages },
    )
};

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let n = case.live as f64;
    let rounds = f64::from(case.live.max(1).ilog2()) + 1.0;
    Some(match (case.starting, case.live) {
        // Over all orders of eight nodes on the ring.
        (Starting::All, 8) => ExpectedMessages {
            counts: Counts::Election,
            least: Some(32.0),
            mean: Some(48.05),
            most: Some(64.0),
            tight: true,
        },
        _ => ExpectedMessages::at_most(Counts::Election, 2.0 * n * rounds),
    })
}

/// Maximum number of claims from one side that wait for those of the other side.
const MAX_WAITING: usize = 64;

/// A node of Franklin's election.
pub type Franklin = Circuit<Candidate>;

/// A node's state in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidate {
    status: Status,
    /// Ranks received from each side that wait for their counterpart. A neighbour may be a round
    /// ahead.
    before: VecDeque<Rank>,
    after: VecDeque<Rank>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Status {
    #[default]
    Fresh,
    Candidate,
    Passive,
}

impl Contest for Candidate {
    type Message = Claim;

    /// FR-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if self.status == Status::Fresh {
            self.status = Status::Candidate;
            turn.note("FR-1", format_args!("is a candidate"));
            send_both_ways(turn);
        }
    }

    fn receive(&mut self, from: Side, Claim(rank): Claim, turn: &mut Turn<'_, '_, Self>) {
        self.start(turn);
        if self.status == Status::Passive {
            return turn.send(from.opposite(), Claim(rank));
        }
        let waiting = match from {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        };
        // A neighbour is ahead by a round or two, never by `MAX_WAITING`.
        if waiting.len() < MAX_WAITING {
            waiting.push_back(rank);
        }
        while let (Status::Candidate, Some(before), Some(after)) =
            (self.status, self.before.front(), self.after.front())
        {
            let (before, after) = (*before, *after);
            self.before.pop_front();
            self.after.pop_front();
            self.end_round(before, after, turn);
        }
    }

    fn hops(members: usize) -> u64 {
        let members = members as u64;
        2 * members * u64::from(members.max(1).ilog2() + 2)
    }
}

impl Candidate {
    fn end_round(&mut self, before: Rank, after: Rank, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.rank();
        if before == own && after == own {
            win(own, turn);
        } else if before < own && after < own {
            remain(before, after, turn);
        } else {
            self.withdraw(before.max(after), turn);
        }
    }

    /// FR-3. Passes on the ranks that waited for their counterpart.
    fn withdraw(&mut self, greater: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("FR-3", format_args!("is no longer a candidate: {greater} is greater"));
        self.status = Status::Passive;
        for rank in self.before.drain(..) {
            turn.send(Side::After, Claim(rank));
        }
        for rank in self.after.drain(..) {
            turn.send(Side::Before, Claim(rank));
        }
    }
}

/// FR-2.
fn remain(before: Rank, after: Rank, turn: &mut Turn<'_, '_, Candidate>) {
    turn.note("FR-2", format_args!("is greater than {before} and {after}, and remains a candidate"));
    send_both_ways(turn);
}

/// FR-4.
fn win(own: Rank, turn: &mut Turn<'_, '_, Candidate>) {
    turn.note("FR-4", format_args!("receives its own rank from both sides: it has won"));
    turn.win(own);
}

fn send_both_ways(turn: &mut Turn<'_, '_, Candidate>) {
    let claim = Claim(turn.rank());
    turn.send(Side::After, claim);
    turn.send(Side::Before, claim);
}
