//! The ring election with a list (the "modified ring" of textbooks).
//!
//! A message goes around the ring and collects the ranks of all nodes that are up. When it returns,
//! the node that started it knows them all, and announces the greatest around the ring. The
//! announcement collects ranks too: if the winner's is missing, the winner has crashed meanwhile.
//!
//! ```text
//! RL-1  this node starts                   → send a list with its own rank on
//! RL-2  another node's list arrives        → add its own rank, and pass it on
//! RL-3  its own list returns               → the greatest rank on it has won: send the
//!                                            announcement
//! RL-4  another node's announcement
//!       arrives                            → know the leader, add its own rank, and pass it on
//! RL-5  its own announcement returns       → start over if the winner is not on it
//! RL-6  another node's list arrives again  → its starter has crashed, and this node is the first
//!                                            to notice: start over
//! ```
//!
//! Cost: 2n messages, n of them the announcement; 2nk if k nodes start at once. Lists grow to n
//! ranks.
//!
//! Assumes: links neither lose nor duplicate messages; every node knows the next node that is up.
//! No bound on time, and links need not be FIFO.
//!
//! When it fails: without repair (`--repair none`), the list is lost with a node that crashes
//! during a run, and all nodes wait forever. With repair, the run is repeated without the crashed
//! node in the next epoch: nodes skip a crashed neighbour, and notice a crashed winner or starter.
//!
//! Departs from the textbook: only the next run skips crashed nodes, not the current one. Otherwise
//! two nodes that start at once could find two different winners on lists of the same epoch.

use super::circuit::{Circuit, Contest, Side, Turn};
use super::{Case, Cost, Counts, ExpectedMessages, Facts, Rank, Structure};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use alloc::vec;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "ring-list",
        class: "on a ring",
        summary: "one message collects the ranks of all nodes that are up",
        source: include_str!("ring_list.rs"),
        flaw: None,
        is_checkable: true,
    },
    Structure::Ring,
    Cost { formula: "2n per starter", expected_messages },
);

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    Some(ExpectedMessages::exactly(Counts::WithAnnouncement, (2 * case.live_nodes * case.starter_count()) as f64))
}

/// A node of the ring election with a list.
pub type RingList = Circuit<Collector>;

/// A node's state in one run of the election. It is empty: messages carry all that the algorithm
/// needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Collector;

/// A message between neighbours on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// The ranks of nodes that are up. The first one belongs to the starter.
    List(Vec<Rank>),
    /// Announces the winner. The first rank in `receivers` belongs to the announcing node; the
    /// others belong to the nodes that have received the announcement so far.
    Elected {
        leader: Rank,
        #[cfg_attr(feature = "serde", serde(rename = "heard"))]
        receivers: Vec<Rank>,
    },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::List(_) => "list",
            Self::Elected { .. } => "elected",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::List(_) => Class::Algorithm,
            Self::Elected { .. } => Class::Announcement,
        }
    }
}

impl Contest for Collector {
    type Message = Message;

    /// RL-1.
    fn start(&mut self, turn: &mut Turn<'_, '_, Self>) {
        turn.note("RL-1", format_args!("collects the ranks of nodes that are up"));
        turn.send_onward(Message::List(vec![turn.own_rank()]));
    }

    fn receive(&mut self, _from: Side, message: Message, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.own_rank();
        match message {
            Message::List(list) | Message::Elected { receivers: list, .. } if list.len() > turn.member_count() => {
                turn.note("RL-2", format_args!("ignores a list that is longer than the ring"));
            }
            Message::List(list) if list.first() == Some(&own) => choose(&list, turn),
            Message::List(list) if list.contains(&own) => start_over(&list, turn),
            Message::List(list) => add_rank(list, turn),
            Message::Elected { leader, receivers } if receivers.first() == Some(&own) => {
                confirm(leader, &receivers, turn);
            }
            Message::Elected { receivers, .. } if receivers.contains(&own) => {
                turn.note("RL-4", format_args!("has received this announcement already"));
            }
            Message::Elected { leader, receivers } => pass_on(leader, receivers, turn),
        }
    }

    /// Once around the ring for the list, and once for the announcement.
    fn max_hops(members: usize) -> u64 {
        2 * members as u64
    }
}

/// RL-2.
fn add_rank(mut list: Vec<Rank>, turn: &mut Turn<'_, '_, Collector>) {
    turn.note("RL-2", format_args!("adds itself to the list"));
    list.push(turn.own_rank());
    turn.send_onward(Message::List(list));
}

/// RL-3.
fn choose(list: &[Rank], turn: &mut Turn<'_, '_, Collector>) {
    let Some(leader) = list.iter().copied().max() else { return };
    turn.note("RL-3", format_args!("its list has returned: {leader} has won"));
    // RL-4 and RL-5 apply only to an announcement that goes around the ring.
    if turn.announces_by_multicast() {
        return turn.win(leader);
    }
    turn.send_onward(Message::Elected { leader, receivers: vec![turn.own_rank()] });
    turn.learn(leader);
}

/// RL-4.
fn pass_on(leader: Rank, mut receivers: Vec<Rank>, turn: &mut Turn<'_, '_, Collector>) {
    turn.note("RL-4", format_args!("learns that {leader} has won"));
    receivers.push(turn.own_rank());
    turn.send_onward(Message::Elected { leader, receivers });
    turn.learn(leader);
}

/// RL-5.
fn confirm(leader: Rank, receivers: &[Rank], turn: &mut Turn<'_, '_, Collector>) {
    if receivers.contains(&leader) {
        turn.note("RL-5", format_args!("every node has received the announcement, node {leader} too"));
    } else {
        turn.note("RL-5", format_args!("node {leader} has not received the announcement: starts over"));
        turn.fail();
    }
}

/// RL-6.
fn start_over(list: &[Rank], turn: &mut Turn<'_, '_, Collector>) {
    if let Some(starter) = list.first() {
        turn.note("RL-6", format_args!("the list of {starter} arrived again: starts over"));
    }
    turn.fail();
}
