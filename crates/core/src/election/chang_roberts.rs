//! Chang and Roberts' election (1979).
//!
//! A node that starts sends its rank around the ring. A node passes on a rank greater than its own.
//! It replaces a lesser rank by its own if it has sent none yet, and drops it otherwise. So only
//! the greatest rank comes all the way around, and its node has won.
//!
//! ```text
//! CR-1  this node starts                   → take part, and send its own rank on
//! CR-2  a greater rank arrives             → take part, and pass it on
//! CR-3  a lesser rank arrives              → take part, and send its own rank instead; drop it if
//!                                            this node takes part already
//! CR-4  its own rank arrives               → the rank went all the way around: this node has won
//! ```
//!
//! Cost: one starter: 2n messages at best, 3n−1 at worst, (5n−1)/2 on average, n of them the
//! announcement. All start: 2n−1 at best, n(n+1)/2 at worst, n·H_n on average over all orders, with
//! the harmonic number H_n, plus n for the announcement.
//!
//! Assumes: links neither lose nor duplicate messages; every node knows the next node that is up.
//! No bound on time, and links need not be FIFO.
//!
//! When it fails: without repair (`--repair none`), a message is lost with a node that crashes
//! during a run, and all nodes wait forever. With repair, the run is repeated without the crashed
//! node in the next epoch, and messages of the old epoch, even an announcement of a dead winner,
//! are dropped.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Case, Cost, Counts, ExpectedMessages, Facts, Rank, Starting, Structure};
use crate::about::Profile;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "chang-roberts",
        class: "on a ring",
        summary: "only the greatest rank comes all the way around",
        source: include_str!("chang_roberts.rs"),
        flaw: None,
        is_checkable: true,
    },
    Structure::Ring,
    Cost { formula: "2n … n(n+1)/2+n", expected_messages },
);

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let n = case.live_nodes as f64;
    match case.starting {
        Starting::Highest => Some(ExpectedMessages::exactly(Counts::WithAnnouncement, 2.0 * n)),
        Starting::One => Some(ExpectedMessages {
            counts: Counts::WithAnnouncement,
            min: Some(2.0 * n),
            mean: Some((5.0 * n - 1.0) / 2.0),
            max: Some(3.0 * n - 1.0),
            is_max_reached: true,
        }),
        // The lowest node is at least one hop away from the highest.
        Starting::Lowest => Some(ExpectedMessages {
            counts: Counts::WithAnnouncement,
            min: Some(2.0 * n + 1.0),
            mean: Some(2.5 * n),
            max: Some(3.0 * n - 1.0),
            is_max_reached: true,
        }),
        Starting::Several(_) => None,
        Starting::All => Some(ExpectedMessages {
            counts: Counts::Election,
            min: Some(2.0 * n - 1.0),
            mean: Some(n * (1..=case.live_nodes).map(|number| 1.0 / number as f64).sum::<f64>()),
            max: Some(n * (n + 1.0) / 2.0),
            is_max_reached: true,
        }),
    }
}

/// A node of Chang and Roberts' election.
pub type ChangRoberts = Circuit<Candidacy>;

/// A node's state in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidacy {
    /// Whether the node has sent a rank.
    is_taking_part: bool,
}

impl Contest for Candidacy {
    type Message = Claim;

    /// CR-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        self.is_taking_part = true;
        turn.note("CR-1", format_args!("sends its rank on"));
        turn.send_onward(Claim(turn.own_rank()));
    }

    fn receive(&mut self, _from: Side, Claim(rank): Claim, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.own_rank();
        if rank > own {
            self.pass_on(rank, turn);
        } else if rank < own {
            self.replace(rank, turn);
        } else {
            win(rank, turn);
        }
    }

    /// Once around the ring until the greatest rank has been sent, once until it has returned, and
    /// once for the announcement.
    fn max_hops(members: usize) -> u64 {
        3 * members as u64
    }
}

impl Candidacy {
    /// CR-2.
    fn pass_on(&mut self, rank: Rank, turn: &mut Turn<'_, '_, Self>) {
        self.is_taking_part = true;
        turn.note("CR-2", format_args!("passes {rank} on"));
        turn.send_onward(Claim(rank));
    }

    /// CR-3.
    fn replace(&mut self, rank: Rank, turn: &mut Turn<'_, '_, Self>) {
        if self.is_taking_part {
            return turn.note("CR-3", format_args!("drops {rank}: a greater rank was sent"));
        }
        self.is_taking_part = true;
        turn.note("CR-3", format_args!("sends its own rank in place of {rank}"));
        turn.send_onward(Claim(turn.own_rank()));
    }
}

/// CR-4.
fn win(own: Rank, turn: &mut Turn<'_, '_, Candidacy>) {
    turn.note("CR-4", format_args!("its rank came all the way around: it has won"));
    turn.win(own);
}
