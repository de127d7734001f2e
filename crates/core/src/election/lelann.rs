//! Le Lann's election (1977).
//!
//! Every node sends its rank all the way around the ring, so every node sees all ranks. A node that
//! has seen as many ranks as there are members knows the greatest, and needs no announcement.
//!
//! ```text
//! LL-1  this node starts                   → send its own rank on
//! LL-2  another rank arrives               → send its own rank if not sent yet, and pass the other
//!                                            on
//! LL-3  all ranks have arrived, its own
//!       rank included                      → the greatest of them has won
//! ```
//!
//! Cost: n² messages, for any number of starters. There is no announcement.
//!
//! Assumes: links neither lose nor duplicate messages; every node knows the next node that is up,
//! and the number of members. No bound on time. Links need not be FIFO, since ranks are counted.
//!
//! When it fails: without repair (`--repair none`), messages are lost with a node that crashes
//! during a run, and all nodes wait forever. With repair, the run is repeated without the crashed
//! node in the next epoch.
//!
//! Departs from the paper: a node decides when it has counted all ranks, not when its own returns.
//! On FIFO links the two are the same.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Cost, Counts, ExpectedMessages, Facts, Rank, Structure};
use crate::about::Profile;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "lelann",
        class: "on a ring",
        summary: "every node sends its rank around, and every node sees all ranks",
        source: include_str!("lelann.rs"),
        flaw: None,
        is_checkable: true,
    },
    Structure::Ring,
    Cost {
        formula: "n²",
        expected_messages: |case| {
            Some(ExpectedMessages::exactly(Counts::WithAnnouncement, (case.live_nodes * case.live_nodes) as f64))
        },
    },
);

/// A node of Le Lann's election.
pub type LeLann = Circuit<RankCount>;

/// A node's state in one run of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RankCount {
    has_sent_rank: bool,
    /// Number of ranks that have arrived, its own included.
    rank_count: usize,
    /// The greatest of them.
    greatest: Option<Rank>,
}

impl Contest for RankCount {
    type Message = Claim;

    /// LL-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if !self.has_sent_rank {
            self.has_sent_rank = true;
            turn.note("LL-1", format_args!("sends its rank on"));
            turn.send_onward(Claim(turn.own_rank()));
        }
    }

    /// LL-2.
    fn receive(&mut self, _from: Side, Claim(rank): Claim, turn: &mut Turn<'_, '_, Self>) {
        self.start(turn);
        if rank != turn.own_rank() {
            turn.note("LL-2", format_args!("passes {rank} on"));
            turn.send_onward(Claim(rank));
        }
        self.rank_count += 1;
        self.greatest = self.greatest.max(Some(rank));
        self.conclude(turn);
    }

    /// Once around the ring until the last node has sent its rank, and once until it has returned.
    fn max_hops(members: usize) -> u64 {
        2 * members as u64
    }
}

impl RankCount {
    /// LL-3.
    fn conclude(&self, turn: &mut Turn<'_, '_, Self>) {
        if let Some(greatest) = self.greatest.filter(|_| self.rank_count == turn.member_count()) {
            turn.note("LL-3", format_args!("has seen all ranks: {greatest} has won"));
            turn.learn(greatest);
        }
    }
}
