//! Le Lann's election (1977).
//!
//! Everyone sends its rank all the way round the ring, and everyone sees all of them. Whoever has seen as many as there are members knows the
//! greatest, and needs nobody to tell it.
//!
//! ```text
//! LL-1  a node starts                      → send one's rank on
//! LL-2  another's rank arrives             → send one's own, if that is not done yet, and pass the other on
//! LL-3  all ranks have arrived, one's own
//!       included                           → the greatest of them has won
//! ```
//!
//! Cost: n² messages, whoever starts. There is nothing to announce.
//!
//! Assumes: links lose nothing and repeat nothing; every node knows the next one that is up, and how many there are. No bound on time, and links need not
//! keep order, since ranks are counted.
//!
//! When it fails: bare (`--repair none`), a node that dies in a run takes messages with it, and all wait for ever. With repair the run is
//! done again without it under the next epoch.
//!
//! Departs from the paper: a node is done when it has counted all ranks, not when its own comes back, which is the same on links that
//! keep order.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Book, Cost, Counts, Facts, Rank, Shape};
use crate::about::Profile;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "lelann",
        class: "on a ring",
        summary: "everyone sends its rank round, and everyone sees them all",
        source: include_str!("lelann.rs"),
        flaw: None,
        checkable: true,
    },
    Shape::Ring,
    Cost { formula: "n²", book: |case| Some(Book::exactly(Counts::WithAnnouncement, (case.live * case.live) as f64)) },
);

/// One node of it.
pub type LeLann = Circuit<Roll>;

/// A node's part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roll {
    has_sent: bool,
    seen: usize,
    greatest: Option<Rank>,
}

impl Contest for Roll {
    type Message = Claim;

    /// LL-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if !self.has_sent {
            self.has_sent = true;
            turn.note("LL-1", format_args!("sends its rank on"));
            turn.onward(Claim(turn.rank()));
        }
    }

    /// LL-2.
    fn hear(&mut self, _from: Side, Claim(rank): Claim, turn: &mut Turn<'_, '_, Self>) {
        self.start(turn);
        if rank != turn.rank() {
            turn.note("LL-2", format_args!("passes {rank} on"));
            turn.onward(Claim(rank));
        }
        self.seen += 1;
        self.greatest = self.greatest.max(Some(rank));
        self.conclude(turn);
    }

    fn hops(members: usize) -> u64 {
        2 * members as u64
    }
}

impl Roll {
    /// LL-3.
    fn conclude(&self, turn: &mut Turn<'_, '_, Self>) {
        if let Some(greatest) = self.greatest.filter(|_| self.seen == turn.members()) {
            turn.note("LL-3", format_args!("has seen all ranks: {greatest} has won"));
            turn.learn(greatest);
        }
    }
}
