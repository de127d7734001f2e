//! Peterson's election (1982), also found by Dolev, Klawe and Rodeh.
//!
//! Messages travel in one direction only. In each round every candidate learns the values of the
//! two candidates before it. It remains a candidate if the nearer value is the greatest of the
//! three, and then adopts that value in place of its own. So at most every second candidate
//! remains. A candidate that receives its own value is the only one left, and its value is the
//! greatest rank of all.
//!
//! ```text
//! PE-1  this node starts, or receives its
//!       first message                      → become a candidate with its own rank, and send it on
//! PE-2  the value of the candidate before
//!       this one arrives (the nearer
//!       value)                             → send on the greater of it and its own value
//! PE-3  the next value arrives: the
//!       greater of the nearer value and
//!       that of the second candidate
//!       before this one                    → if the nearer value is the greatest, adopt it and
//!                                            send it on
//! PE-4  the nearer value is not the
//!       greatest                           → stop being a candidate, and pass on all messages
//! PE-5  the nearer value is its own value  → no other candidate is left: that rank has won
//! ```
//!
//! Cost: at most 2n⌊log₂ n⌋+n messages, plus n for the announcement.
//!
//! Assumes: links are FIFO and neither lose nor duplicate messages; every node knows the next node
//! that is up. No bound on time.
//!
//! When it fails: without repair (`--repair none`), a message is lost with a node that crashes
//! during a run, and all nodes wait forever. With repair, the run is repeated without the crashed
//! node in the next epoch.

use super::circuit::{Circuit, Claim, Contest, Side, Turn};
use super::{Case, Cost, Counts, ExpectedMessages, Facts, Links, Rank, Starting, Structure};
use crate::about::Profile;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts {
    links: Links::Fifo,
    ..Facts::new(
        Profile {
            name: "peterson",
            class: "on a ring",
            summary: "in each round, local maxima among two predecessors remain",
            source: include_str!("peterson.rs"),
            flaw: None,
            is_checkable: true,
        },
        Structure::Ring,
        Cost { formula: "≤ 2n⌊log₂ n⌋+n", expected_messages },
    )
};

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let n = case.live_nodes as f64;
    let rounds = f64::from(case.live_nodes.max(1).ilog2());
    Some(match (case.starting, case.live_nodes) {
        // Counted over all orders of eight nodes on the ring.
        (Starting::All, 8) => ExpectedMessages {
            counts: Counts::Election,
            min: Some(24.0),
            mean: Some(40.05),
            max: Some(56.0),
            is_max_reached: true,
        },
        _ => ExpectedMessages::at_most(Counts::Election, 2.0 * n * rounds + n),
    })
}

/// A node of Peterson's election.
pub type Peterson = Circuit<Candidate>;

/// A node's state in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidate {
    status: Status,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Status {
    /// The node has neither started nor received a message.
    #[default]
    Fresh,
    /// The node is a candidate with the value `own`, and waits for the value of the candidate
    /// before it.
    Awaits { own: Rank },
    /// The node has received the nearer value, and waits for the next one.
    Compares { own: Rank, nearer: Rank },
    /// The node passes values on.
    Passive,
}

impl Contest for Candidate {
    type Message = Claim;

    /// PE-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        if self.status == Status::Fresh {
            turn.note("PE-1", format_args!("is a candidate"));
            self.adopt(turn.own_rank(), turn);
        }
    }

    fn receive(&mut self, _from: Side, Claim(value): Claim, turn: &mut Turn<'_, '_, Self>) {
        self.start(turn);
        match self.status {
            Status::Fresh => {}
            Status::Awaits { own } if value == own => win(own, turn),
            Status::Awaits { own } => self.receive_nearer(own, value, turn),
            Status::Compares { own, nearer } => self.receive_further(own, nearer, value, turn),
            Status::Passive => turn.send_onward(Claim(value)),
        }
    }

    /// Enough for n hops until all members have started, 2n in each of at most ⌊log₂ n⌋ rounds, n
    /// for the value that returns, and n for the announcement.
    fn max_hops(members: usize) -> u64 {
        let members = members as u64;
        2 * members * u64::from(members.max(1).ilog2() + 2)
    }
}

impl Candidate {
    /// Begins a round as a candidate with this value.
    fn adopt(&mut self, own: Rank, turn: &mut Turn<'_, '_, Self>) {
        self.status = Status::Awaits { own };
        turn.send_onward(Claim(own));
    }

    /// PE-2.
    fn receive_nearer(&mut self, own: Rank, nearer: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("PE-2", format_args!("receives {nearer} from the candidate before it"));
        self.status = Status::Compares { own, nearer };
        turn.send_onward(Claim(own.max(nearer)));
    }

    /// PE-3 and PE-4. By PE-2, `further` is the greater of `nearer` and the value of the second
    /// candidate before this one.
    fn receive_further(&mut self, own: Rank, nearer: Rank, further: Rank, turn: &mut Turn<'_, '_, Self>) {
        if nearer >= own.max(further) { self.adopt_nearer(nearer, turn) } else { self.withdraw(turn) }
    }

    /// PE-3.
    fn adopt_nearer(&mut self, nearer: Rank, turn: &mut Turn<'_, '_, Self>) {
        turn.note("PE-3", format_args!("adopts the value {nearer}"));
        self.adopt(nearer, turn);
    }

    /// PE-4.
    fn withdraw(&mut self, turn: &mut Turn<'_, '_, Self>) {
        turn.note("PE-4", format_args!("is no longer a candidate"));
        self.status = Status::Passive;
    }
}

/// PE-5.
fn win(value: Rank, turn: &mut Turn<'_, '_, Candidate>) {
    turn.note("PE-5", format_args!("receives its own value: {value} has won"));
    turn.win(value);
}
