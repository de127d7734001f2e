//! Franklin's election (1982).
//!
//! Everyone is a candidate at first. In each round every candidate sends its rank to the next candidates on both sides and hears theirs; only
//! those who are greater than both stay candidates, which at most every second one is. The others pass on whatever comes. A candidate that
//! hears its own rank is the only one left.
//!
//! ```text
//! FR-1  a node starts, or is first heard
//!       from                               → be a candidate, and send one's rank both ways
//! FR-2  both neighbours are less           → stay, and send one's rank both ways again
//! FR-3  a neighbour is greater             → be no candidate any more, and pass on whatever comes
//! FR-4  one's own rank arrives, on both
//!       sides                              → nobody else is left: one has won
//! ```
//!
//! Cost: at most 2n(⌊log₂ n⌋+1) messages, and n for the announcement.
//!
//! Assumes: links lose nothing, repeat nothing and keep order; every node knows its neighbours that are up, on both sides. No bound on time.
//!
//! When it fails: bare (`--repair none`), a node that dies in a run takes messages with it, and all wait for ever. With repair the run is
//! done again without it under the next epoch.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Book, Case, Cost, Counts, Facts, Links, Rank, Shape, Starting};
use crate::about::Profile;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    links: Links::Fifo,
    ..Facts::new(
        Profile {
            name: "franklin",
            class: "on a ring",
            summary: "rounds of local maxima, heard on both sides",
            source: include_str!("franklin.rs"),
            flaw: None,
            checkable: true,
        },
        Shape::Ring,
        Cost { formula: "≤ 2n(⌊log₂ n⌋+1)", book },
    )
};

fn book(case: &Case) -> Option<Book> {
    let n = case.live as f64;
    let rounds = f64::from(case.live.max(1).ilog2()) + 1.0;
    Some(match (case.starting, case.live) {
        (Starting::All, 8) => {
            Book { counts: Counts::Election, least: Some(32.0), mean: Some(48.05), most: Some(64.0), tight: true }
        }
        _ => Book::at_most(Counts::Election, 2.0 * n * rounds),
    })
}

/// How many claims of one side wait for those of the other at most.
const MOST_AHEAD: usize = 64;

/// One node of it.
pub type Franklin = Circuit<Candidate>;

/// A node's part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidate {
    stand: Stand,
    /// What has arrived from each side and waits for its counterpart. A neighbour may be a round ahead.
    before: VecDeque<Rank>,
    after: VecDeque<Rank>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stand {
    #[default]
    Fresh,
    Candidate,
    Passive,
}

impl Contest for Candidate {
    type Message = Claim;

    /// FR-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if self.stand == Stand::Fresh {
            self.stand = Stand::Candidate;
            turn.note("FR-1", format_args!("is a candidate"));
            send_both_ways(turn);
        }
    }

    fn hear(&mut self, from: Side, Claim(rank): Claim, turn: &mut Turn<'_, '_, Self>) {
        self.start(turn);
        if self.stand == Stand::Passive {
            return turn.send(from.opposite(), Claim(rank));
        }
        let waiting = match from {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        };
        // A neighbour is ahead by a round or two, never by so many.
        if waiting.len() < MOST_AHEAD {
            waiting.push_back(rank);
        }
        while let (Stand::Candidate, Some(before), Some(after)) = (self.stand, self.before.front(), self.after.front())
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
            stay(before, after, turn);
        } else {
            self.give_up(before.max(after), turn);
        }
    }

    /// FR-3. What waited for its counterpart goes on to others now.
    fn give_up(&mut self, greater: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("FR-3", format_args!("is no candidate any more: {greater} is greater"));
        self.stand = Stand::Passive;
        for rank in self.before.drain(..) {
            turn.send(Side::After, Claim(rank));
        }
        for rank in self.after.drain(..) {
            turn.send(Side::Before, Claim(rank));
        }
    }
}

/// FR-2.
fn stay(before: Rank, after: Rank, turn: &mut Turn<'_, '_, Candidate>) {
    turn.note("FR-2", format_args!("is greater than {before} and {after}, and stays"));
    send_both_ways(turn);
}

/// FR-4.
fn win(own: Rank, turn: &mut Turn<'_, '_, Candidate>) {
    turn.note("FR-4", format_args!("hears itself on both sides: it has won"));
    turn.win(own);
}

fn send_both_ways(turn: &mut Turn<'_, '_, Candidate>) {
    let claim = Claim(turn.rank());
    turn.send(Side::After, claim);
    turn.send(Side::Before, claim);
}
