//! Franklin's election (1982).
//!
//! At first every node is a candidate. In each round every candidate sends its rank to the next
//! candidates on both sides and receives theirs. Only a candidate of greater rank than both remains
//! a candidate, so at most every second one does. The other nodes pass on all messages. A candidate
//! that receives its own rank is the only one left.
//!
//! ```text
//! FR-1  this node starts, or receives its
//!       first message                      → become a candidate, and send its own rank both ways
//! FR-2  both next candidates are less      → remain, and send its own rank both ways again
//! FR-3  a next candidate is greater        → stop being a candidate, and pass on all messages
//! FR-4  its own rank arrives, on both
//!       sides                              → no other candidate is left: this node has won
//! ```
//!
//! Cost: at most 2n(⌊log₂ n⌋+1) messages, plus n for the announcement.
//!
//! Assumes: links are FIFO and neither lose nor duplicate messages; every node knows its neighbours
//! that are up, on both sides. No bound on time.
//!
//! When it fails: without repair (`--repair none`), messages are lost with a node that crashes
//! during a run, and all nodes wait forever. With repair, the run is repeated without the crashed
//! node in the next epoch.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Case, Cost, Counts, ExpectedMessages, Facts, Links, Rank, Starting, Structure};
use crate::about::Profile;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts {
    links: Links::Fifo,
    ..Facts::new(
        Profile {
            name: "franklin",
            class: "on a ring",
            summary: "in each round, local maxima among both neighbours remain",
            source: include_str!("franklin.rs"),
            flaw: None,
            is_checkable: true,
        },
        Structure::Ring,
        Cost { formula: "≤ 2n(⌊log₂ n⌋+1)", expected_messages },
    )
};

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let n = case.live_nodes as f64;
    let rounds = f64::from(case.live_nodes.max(1).ilog2()) + 1.0;
    Some(match (case.starting, case.live_nodes) {
        // Counted over all orders of eight nodes on the ring.
        (Starting::All, 8) => ExpectedMessages {
            counts: Counts::Election,
            min: Some(32.0),
            mean: Some(48.05),
            max: Some(64.0),
            is_max_reached: true,
        },
        _ => ExpectedMessages::at_most(Counts::Election, 2.0 * n * rounds),
    })
}

/// Maximum number of ranks from one side that wait for those of the other side; further ones are
/// dropped. Correct nodes are at most one round ahead, so at most two of their ranks wait.
const MAX_WAITING_RANKS: usize = 64;

/// A node of Franklin's election.
pub type Franklin = Circuit<Candidate>;

/// A node's state in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidate {
    status: Status,
    /// Ranks from the predecessor's side that wait for the rank of the same round from the other
    /// side.
    ranks_before: VecDeque<Rank>,
    /// Likewise from the successor's side.
    ranks_after: VecDeque<Rank>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Status {
    /// The node has neither started nor received a message.
    #[default]
    Fresh,
    Candidate,
    /// The node passes messages on.
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
            Side::Before => &mut self.ranks_before,
            Side::After => &mut self.ranks_after,
        };
        if waiting.len() < MAX_WAITING_RANKS {
            waiting.push_back(rank);
        }
        while let (Status::Candidate, Some(before), Some(after)) =
            (self.status, self.ranks_before.front(), self.ranks_after.front())
        {
            let (before, after) = (*before, *after);
            self.ranks_before.pop_front();
            self.ranks_after.pop_front();
            self.end_round(before, after, turn);
        }
    }

    /// Twice the hops until a node has won: at most n until all members have started, and n in each
    /// of at most ⌊log₂ n⌋+1 rounds. The rest leaves time for the announcement.
    fn max_hops(members: usize) -> u64 {
        let members = members as u64;
        2 * members * u64::from(members.max(1).ilog2() + 2)
    }
}

impl Candidate {
    /// Compares the node's rank with those of the next candidates before and after it.
    fn end_round(&mut self, before: Rank, after: Rank, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.own_rank();
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
        for rank in self.ranks_before.drain(..) {
            turn.send(Side::After, Claim(rank));
        }
        for rank in self.ranks_after.drain(..) {
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
    let claim = Claim(turn.own_rank());
    turn.send(Side::After, claim);
    turn.send(Side::Before, claim);
}
