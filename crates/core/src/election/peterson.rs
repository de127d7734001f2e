//! Peterson's election (1982), found by Dolev, Klawe and Rodeh too.
//!
//! Messages go one way only. In each round every candidate learns the values of the two candidates before it, and stays if the nearer of them
//! is the greatest of the three: it then stands for that value in place of its own. At most every second candidate stays. When a value meets
//! itself, one is left, and it is the greatest rank of all.
//!
//! ```text
//! PE-1  a node starts, or is first heard
//!       from                               → be a candidate for one's own rank, and send it on
//! PE-2  the value of the candidate before  → send on the greater of it and one's own
//! PE-3  the value of the one before that   → if the nearer one is the greatest, stand for it, and send it on
//! PE-4  it is not                          → be no candidate any more, and pass on whatever comes
//! PE-5  that value is one's own            → nobody else is left: that rank has won
//! ```
//!
//! Cost: at most 2n⌊log₂ n⌋+n messages, and n for the announcement.
//!
//! Assumes: links lose nothing, repeat nothing and keep order; every node knows the next one that is up. No bound on time.
//!
//! When it fails: bare (`--repair none`), a node that dies in a run takes a message with it, and all wait for ever. With repair the run is
//! done again without it under the next epoch.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Book, Case, Cost, Counts, Facts, Links, Rank, Shape, Starting};
use crate::about::Profile;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    links: Links::Fifo,
    ..Facts::new(
        Profile {
            name: "peterson",
            class: "on a ring",
            summary: "rounds of local maxima, heard on one side",
            source: include_str!("peterson.rs"),
            flaw: None,
            checkable: true,
        },
        Shape::Ring,
        Cost { formula: "≤ 2n⌊log₂ n⌋+n", book },
    )
};

fn book(case: &Case) -> Option<Book> {
    let n = case.live as f64;
    let rounds = f64::from(case.live.max(1).ilog2());
    Some(match (case.starting, case.live) {
        (Starting::All, 8) => {
            Book { counts: Counts::Election, least: Some(24.0), mean: Some(40.05), most: Some(56.0), tight: true }
        }
        _ => Book::at_most(Counts::Election, 2.0 * n * rounds + n),
    })
}

/// One node of it.
pub type Peterson = Circuit<Candidate>;

/// A node's part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidate {
    stand: Stand,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stand {
    #[default]
    Fresh,
    /// It stands for a value, and waits for that of the candidate before it.
    Awaits { own: Rank },
    /// It waits for the value of the one before that.
    Compares { own: Rank, nearer: Rank },
    /// It passes values on.
    Passive,
}

impl Contest for Candidate {
    type Message = Claim;

    /// PE-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if self.stand == Stand::Fresh {
            turn.note("PE-1", format_args!("is a candidate"));
            self.stand_for(turn.rank(), turn);
        }
    }

    fn hear(&mut self, _from: Side, Claim(value): Claim, turn: &mut Turn<'_, '_, Self>) {
        self.start(turn);
        match self.stand {
            Stand::Fresh => {}
            Stand::Awaits { own } if value == own => win(own, turn),
            Stand::Awaits { own } => self.hear_nearer(own, value, turn),
            Stand::Compares { own, nearer } => self.hear_further(own, nearer, value, turn),
            Stand::Passive => turn.onward(Claim(value)),
        }
    }

    fn hops(members: usize) -> u64 {
        let members = members as u64;
        2 * members * u64::from(members.max(1).ilog2() + 2)
    }
}

impl Candidate {
    fn stand_for(&mut self, own: Rank, turn: &mut Turn<'_, '_, Self>) {
        self.stand = Stand::Awaits { own };
        turn.onward(Claim(own));
    }

    /// PE-2.
    fn hear_nearer(&mut self, own: Rank, nearer: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("PE-2", format_args!("hears {nearer} from the candidate before it"));
        self.stand = Stand::Compares { own, nearer };
        turn.onward(Claim(own.max(nearer)));
    }

    fn hear_further(&mut self, own: Rank, nearer: Rank, further: Rank, turn: &mut Turn<'_, '_, Self>) {
        if nearer >= own.max(further) { self.change_to(nearer, turn) } else { self.give_up(turn) }
    }

    /// PE-3.
    fn change_to(&mut self, nearer: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("PE-3", format_args!("stands for {nearer} now"));
        self.stand_for(nearer, turn);
    }

    /// PE-4.
    fn give_up(&mut self, turn: &mut Turn<'_, '_, Self>) {
        turn.note("PE-4", format_args!("is no candidate any more"));
        self.stand = Stand::Passive;
    }
}

/// PE-5.
fn win(value: Rank, turn: &mut Turn<'_, '_, Candidate>) {
    turn.note("PE-5", format_args!("meets its own value: {value} has won"));
    turn.win(value);
}
