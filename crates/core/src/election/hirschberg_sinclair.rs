//! Hirschberg and Sinclair's election (1980).
//!
//! A node probes the ring on both sides: first one hop, then two, then four. A node of greater rank
//! drops the probe; the last node within its reach returns a reply. Only a node that is the
//! greatest within its reach on both sides probes further, so few nodes probe far. A probe that
//! returns from the other side went all the way around.
//!
//! ```text
//! HS-1  this node starts                   → probe one hop on both sides
//! HS-2  a probe of a greater rank          → pass it on, or reply at the end of its reach; a node
//!                                            that has not started yet will not start
//! HS-3  a probe of a lesser rank           → drop it; start, unless this node has started or has
//!                                            seen a greater rank
//! HS-4  both replies to its own probes
//!       have arrived                       → probe twice as far
//! HS-5  a reply to another node arrives    → pass it on
//! HS-6  both its probes have come all the
//!       way around                         → this node has won
//! ```
//!
//! Cost: at most 8n(1+⌈log₂ n⌉) messages, plus n for the announcement. The last two probes both go
//! all the way around.
//!
//! Assumes: links neither lose nor duplicate messages; every node knows its neighbours that are up,
//! on both sides. No bound on time, and links need not be FIFO.
//!
//! When it fails: without repair (`--repair none`), probes are lost with a node that crashes during
//! a run, and all nodes wait forever. With repair, the run is repeated without the crashed node in
//! the next epoch.

use super::circuit::{Circuit, Contest, Side, Turn};
use super::{Case, Cost, Counts, ExpectedMessages, Facts, Rank, Starting, Structure};
use crate::about::Profile;
use crate::describe::Describe;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "hirschberg-sinclair",
        class: "on a ring",
        summary: "probes on both sides whose reach doubles",
        source: include_str!("hirschberg_sinclair.rs"),
        flaw: None,
        is_checkable: true,
    },
    Structure::Ring,
    Cost { formula: "≤ 8n(1+⌈log₂ n⌉)", expected_messages },
);

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let exact_range = |min, mean, max| ExpectedMessages {
        counts: Counts::Election,
        min: Some(min),
        mean: Some(mean),
        max: Some(max),
        is_max_reached: true,
    };
    // The figures for four and eight nodes were counted over all orders on the ring; means are
    // rounded.
    Some(match (case.starting, case.live_nodes) {
        (Starting::All, 4) => exact_range(28.0, 29.33, 32.0),
        (Starting::All, 8) => exact_range(64.0, 80.08, 89.0),
        (_, live) => {
            let doublings = live.max(1).next_power_of_two().trailing_zeros();
            ExpectedMessages::at_most(Counts::Election, 8.0 * live as f64 * (1.0 + f64::from(doublings)))
        }
    })
}

/// A node of Hirschberg and Sinclair's election.
pub type HirschbergSinclair = Circuit<Probing>;

/// A node's state in one run of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Probing {
    status: Status,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Status {
    /// The node has neither started nor seen a greater rank.
    #[default]
    Fresh,
    /// The node probes up to `reach` hops on both sides. `replied` are the sides whose reply has
    /// arrived, `returned` the sides from which its own probe came back around the ring.
    Probes { reach: u32, replied: Sides, returned: Sides },
    /// The node saw a greater rank before it started.
    Passive,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Sides {
    before: bool,
    after: bool,
}

impl Sides {
    /// Marks a side. Returns whether this completes the pair of sides.
    fn mark(&mut self, side: Side) -> bool {
        let was_complete = self.before && self.after;
        match side {
            Side::Before => self.before = true,
            Side::After => self.after = true,
        }
        !was_complete && self.before && self.after
    }
}

/// A message between neighbours on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Is there a greater rank within `reach` hops?
    Probe {
        rank: Rank,
        reach: u32,
        /// Number of hops that remain after this one.
        #[cfg_attr(feature = "serde", serde(rename = "left"))]
        remaining_hops: u32,
    },
    /// There is no greater rank within `reach` hops on this side.
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
        if self.status == Status::Fresh {
            turn.note("HS-1", format_args!("probes one hop on both sides"));
            self.probe(1, turn);
        }
    }

    fn receive(&mut self, from: Side, message: Message, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.own_rank();
        match message {
            Message::Probe { rank, reach, remaining_hops } if rank > own => {
                self.pass_probe(from, rank, (reach, remaining_hops), turn);
            }
            Message::Probe { rank, .. } if rank < own => self.drop_probe(rank, turn),
            Message::Probe { reach, .. } => self.receive_own_probe(from, reach, turn),
            Message::Reply { rank, reach } if rank == own => self.receive_reply(from, reach, turn),
            Message::Reply { rank, reach } => pass_back(from, rank, reach, turn),
        }
    }

    /// A single prober needs less than 5n hops for n members: less than 4n for probes with replies,
    /// and n for the last probes. Twice that leaves time for nodes that start late and for the
    /// announcement.
    fn max_hops(members: usize) -> u64 {
        10 * members as u64
    }
}

impl Probing {
    /// Sends a probe of this reach to both sides.
    fn probe(&mut self, reach: u32, turn: &mut Turn<'_, '_, Self>) {
        self.status = Status::Probes { reach, replied: Sides::default(), returned: Sides::default() };
        let probe = Message::Probe { rank: turn.own_rank(), reach, remaining_hops: reach - 1 };
        turn.send(Side::After, probe);
        turn.send(Side::Before, probe);
    }

    /// HS-2.
    fn pass_probe(
        &mut self,
        from: Side,
        rank: Rank,
        (reach, remaining_hops): (u32, u32),
        turn: &mut Turn<'_, '_, Self>,
    ) {
        if self.status == Status::Fresh {
            self.status = Status::Passive;
        }
        match remaining_hops.checked_sub(1) {
            Some(remaining_hops) => {
                turn.note("HS-2", format_args!("passes the probe of {rank} on"));
                turn.send(from.opposite(), Message::Probe { rank, reach, remaining_hops });
            }
            None => {
                turn.note("HS-2", format_args!("replies to {rank}: the reach of the probe ends here"));
                turn.send(from, Message::Reply { rank, reach });
            }
        }
    }

    /// HS-3.
    fn drop_probe(&mut self, rank: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("HS-3", format_args!("drops the probe of {rank}"));
        self.start(turn);
    }

    /// HS-4.
    fn receive_reply(&mut self, from: Side, replied_reach: u32, turn: &mut Turn<'_, '_, Self>) {
        let Status::Probes { reach, replied, .. } = &mut self.status else { return };
        if replied_reach == *reach && replied.mark(from) {
            let doubled_reach = reach.saturating_mul(2);
            turn.note("HS-4", format_args!("is the greatest within reach: probes {doubled_reach} hops"));
            self.probe(doubled_reach, turn);
        }
    }

    /// HS-6.
    fn receive_own_probe(&mut self, from: Side, returned_reach: u32, turn: &mut Turn<'_, '_, Self>) {
        let Status::Probes { reach, returned, .. } = &mut self.status else { return };
        if returned_reach == *reach && returned.mark(from) {
            turn.note("HS-6", format_args!("both probes came all the way around: it has won"));
            turn.win(turn.own_rank());
        }
    }
}

/// HS-5.
fn pass_back(from: Side, rank: Rank, reach: u32, turn: &mut Turn<'_, '_, Probing>) {
    turn.note("HS-5", format_args!("passes the reply to {rank} on"));
    turn.send(from.opposite(), Message::Reply { rank, reach });
}
