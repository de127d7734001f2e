//! Hirschberg and Sinclair's election (1980).
//!
//! A node probes the ring on both sides, first one hop, then two, then four. A probe is thrown away by any node of a greater rank; where its
//! reach ends it turns into a reply. Only a node that is the greatest as far as it reached on both sides probes further, so that few nodes
//! probe far. A probe that comes back from the other side has been all the way round.
//!
//! ```text
//! HS-1  a node starts                      → probe one hop on both sides
//! HS-2  a probe of a greater rank          → pass it on; where its reach ends, reply. Whoever has not started never will
//! HS-3  a probe of a lesser rank           → drop it, and start if one has neither started nor seen a greater one
//! HS-4  both replies to one's own probes   → probe twice as far
//! HS-5  another's reply                    → pass it on
//! HS-6  both of one's probes have come
//!       all the way round                  → one has won
//! ```
//!
//! Cost: at most 8n(1+⌈log₂ n⌉) messages, and n for the announcement. Of the last two probes both go all the way round.
//!
//! Assumes: links lose nothing and repeat nothing; every node knows its neighbours that are up, on both sides. No bound on time, and links need not keep
//! order.
//!
//! When it fails: bare (`--repair none`), a node that dies in a run takes probes with it, and all wait for ever. With repair the run is
//! done again without it under the next epoch.

use super::circuit::{Circuit, Contest, Side, Turn};
use super::{Book, Case, Cost, Counts, Facts, Rank, Shape, Starting};
use crate::about::Profile;
use crate::describe::Describe;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "hirschberg-sinclair",
        class: "on a ring",
        summary: "probes of doubling reach on both sides",
        source: include_str!("hirschberg_sinclair.rs"),
        flaw: None,
        checkable: true,
    },
    Shape::Ring,
    Cost { formula: "≤ 8n(1+⌈log₂ n⌉)", book },
);

fn book(case: &Case) -> Option<Book> {
    let known = |least, mean, most| Book {
        counts: Counts::Election,
        least: Some(least),
        mean: Some(mean),
        most: Some(most),
        tight: true,
    };
    Some(match (case.starting, case.live) {
        (Starting::All, 4) => known(28.0, 29.33, 32.0),
        (Starting::All, 8) => known(64.0, 80.08, 89.0),
        (_, live) => {
            let doublings = live.max(1).next_power_of_two().trailing_zeros();
            Book::at_most(Counts::Election, 8.0 * live as f64 * (1.0 + f64::from(doublings)))
        }
    })
}

/// One node of it.
pub type HirschbergSinclair = Circuit<Probing>;

/// A node's part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Probing {
    stand: Stand,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stand {
    /// It has neither started nor seen a greater rank.
    #[default]
    Fresh,
    /// It probes so far on both sides.
    Probes { reach: u32, replied: Sides, returned: Sides },
    /// It has seen a greater rank before it started.
    Passive,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Sides {
    before: bool,
    after: bool,
}

impl Sides {
    /// Whether this is the second of the two.
    fn complete(&mut self, side: Side) -> bool {
        let was_complete = self.before && self.after;
        match side {
            Side::Before => self.before = true,
            Side::After => self.after = true,
        }
        !was_complete && self.before && self.after
    }
}

/// What goes round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Is anybody within reach greater?
    Probe {
        rank: Rank,
        reach: u32,
        /// How many more hops it goes after this one.
        left: u32,
    },
    /// Nobody on this side is.
    Reply { rank: Rank, reach: u32 },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Probe { .. } => "probe",
            Self::Reply { .. } => "reply",
        }
    }
}

impl Contest for Probing {
    type Message = Message;

    /// HS-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if self.stand == Stand::Fresh {
            turn.note("HS-1", format_args!("probes one hop on both sides"));
            self.probe(1, turn);
        }
    }

    fn hear(&mut self, from: Side, message: Message, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.rank();
        match message {
            Message::Probe { rank, reach, left } if rank > own => self.let_by(from, rank, (reach, left), turn),
            Message::Probe { rank, .. } if rank < own => self.stop(rank, turn),
            Message::Probe { reach, .. } => self.come_round(from, reach, turn),
            Message::Reply { rank, reach } if rank == own => self.hear_reply(from, reach, turn),
            Message::Reply { rank, reach } => pass_back(from, rank, reach, turn),
        }
    }

    fn hops(members: usize) -> u64 {
        10 * members as u64
    }
}

impl Probing {
    fn probe(&mut self, reach: u32, turn: &mut Turn<'_, '_, Self>) {
        self.stand = Stand::Probes { reach, replied: Sides::default(), returned: Sides::default() };
        let probe = Message::Probe { rank: turn.rank(), reach, left: reach - 1 };
        turn.send(Side::After, probe);
        turn.send(Side::Before, probe);
    }

    /// HS-2.
    fn let_by(&mut self, from: Side, rank: Rank, (reach, left): (u32, u32), turn: &mut Turn<'_, '_, Self>) {
        if self.stand == Stand::Fresh {
            self.stand = Stand::Passive;
        }
        match left.checked_sub(1) {
            Some(left) => {
                turn.note("HS-2", format_args!("passes the probe of {rank} on"));
                turn.send(from.opposite(), Message::Probe { rank, reach, left });
            }
            None => {
                turn.note("HS-2", format_args!("replies to {rank}: its reach ends here"));
                turn.send(from, Message::Reply { rank, reach });
            }
        }
    }

    /// HS-3.
    fn stop(&mut self, rank: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("HS-3", format_args!("drops the probe of {rank}"));
        self.start(turn);
    }

    /// HS-4.
    fn hear_reply(&mut self, from: Side, answered: u32, turn: &mut Turn<'_, '_, Self>) {
        let Stand::Probes { reach, replied, .. } = &mut self.stand else { return };
        if answered == *reach && replied.complete(from) {
            let further = reach.saturating_mul(2);
            turn.note("HS-4", format_args!("is the greatest so far: probes {further} hops"));
            self.probe(further, turn);
        }
    }

    /// HS-6.
    fn come_round(&mut self, from: Side, went: u32, turn: &mut Turn<'_, '_, Self>) {
        let Stand::Probes { reach, returned, .. } = &mut self.stand else { return };
        if went == *reach && returned.complete(from) {
            turn.note("HS-6", format_args!("both probes have been all the way round: it has won"));
            turn.win(turn.rank());
        }
    }
}

/// HS-5.
fn pass_back(from: Side, rank: Rank, reach: u32, turn: &mut Turn<'_, '_, Probing>) {
    turn.note("HS-5", format_args!("passes the reply to {rank} on"));
    turn.send(from.opposite(), Message::Reply { rank, reach });
}
