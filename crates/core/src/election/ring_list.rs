//! The ring election with a list (the "modified ring" of textbooks).
//!
//! A message goes round the ring and collects the rank of everyone who is up. When it is back, whoever started it knows them all, and sends
//! the greatest round as the new leader. The announcement collects names too: if the winner is not on it, it died meanwhile.
//!
//! ```text
//! RL-1  a node starts                      → send a list with one's own rank on
//! RL-2  another's list arrives             → add one's own rank, and pass it on
//! RL-3  one's own list is back             → the greatest on it has won: send the announcement on
//! RL-4  another's announcement             → know the leader, add oneself, and pass it on
//! RL-5  one's own announcement is back     → start over if the winner is not on it
//! RL-6  another's list that one is on      → whoever began it is dead, and the node after it is the first to notice: start over
//! ```
//!
//! Cost: 2n messages, n of them the announcement; 2nk if k start at once. Lists grow to n ranks.
//!
//! Assumes: links lose nothing and repeat nothing; every node knows the next one that is up. No bound on time, and links need not keep order.
//!
//! When it fails: bare (`--repair none`), a node that dies in a run takes the list with it, and all wait for ever. With repair the run is
//! done again without it under the next epoch: a dead neighbour is skipped, a dead winner or starter noticed.
//!
//! Departs from the paper: the dead are skipped by the next run, not in the middle of one. Else two who started at once could read two
//! different winners off lists of the same epoch.

use super::circuit::{Circuit, Contest, Side, Turn};
use super::{Book, Case, Cost, Counts, Facts, Rank, Shape, Starting};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use alloc::vec;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "ring-list",
        class: "on a ring",
        summary: "one message collects the ranks of all who are up",
        source: include_str!("ring_list.rs"),
        flaw: None,
        checkable: true,
    },
    Shape::Ring,
    Cost { formula: "2n a starter", book },
);

fn book(case: &Case) -> Option<Book> {
    let starters = match case.starting {
        Starting::One | Starting::Lowest | Starting::Highest => 1,
        Starting::Several(starters) => starters,
        Starting::All => case.live,
    };
    Some(Book::exactly(Counts::WithAnnouncement, (2 * case.live * starters) as f64))
}

/// One node of it.
pub type RingList = Circuit<Collector>;

/// A node's part in a run: there is nothing to remember but that it takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Collector;

/// What goes round the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Who is up? The first on the list asks.
    List(Vec<Rank>),
    /// This one has won. The first on the list says so, and the others have heard it.
    Elected { leader: Rank, heard: Vec<Rank> },
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
        turn.note("RL-1", format_args!("asks who is up"));
        turn.onward(Message::List(vec![turn.rank()]));
    }

    fn hear(&mut self, _from: Side, message: Message, turn: &mut Turn<'_, '_, Self>) {
        let own = turn.rank();
        match message {
            Message::List(list) | Message::Elected { heard: list, .. } if list.len() > turn.members() => {
                turn.note("RL-2", format_args!("ignores a list that is longer than the ring"));
            }
            Message::List(list) if list.first() == Some(&own) => choose(&list, turn),
            Message::List(list) if list.contains(&own) => miss_starter(&list, turn),
            Message::List(list) => sign(list, turn),
            Message::Elected { leader, heard } if heard.first() == Some(&own) => confirm(leader, &heard, turn),
            Message::Elected { heard, .. } if heard.contains(&own) => {
                turn.note("RL-4", format_args!("has heard that already"));
            }
            Message::Elected { leader, heard } => pass_on(leader, heard, turn),
        }
    }

    fn hops(members: usize) -> u64 {
        2 * members as u64
    }
}

/// RL-2.
fn sign(mut list: Vec<Rank>, turn: &mut Turn<'_, '_, Collector>) {
    turn.note("RL-2", format_args!("adds itself to the list"));
    list.push(turn.rank());
    turn.onward(Message::List(list));
}

/// RL-3.
fn choose(list: &[Rank], turn: &mut Turn<'_, '_, Collector>) {
    let Some(leader) = list.iter().copied().max() else { return };
    turn.note("RL-3", format_args!("its list is back: {leader} has won"));
    if turn.is_multicast() {
        return turn.win(leader);
    }
    turn.onward(Message::Elected { leader, heard: vec![turn.rank()] });
    turn.learn(leader);
}

/// RL-4.
fn pass_on(leader: Rank, mut heard: Vec<Rank>, turn: &mut Turn<'_, '_, Collector>) {
    turn.note("RL-4", format_args!("learns that {leader} has won"));
    heard.push(turn.rank());
    turn.onward(Message::Elected { leader, heard });
    turn.learn(leader);
}

/// RL-5.
fn confirm(leader: Rank, heard: &[Rank], turn: &mut Turn<'_, '_, Collector>) {
    if heard.contains(&leader) {
        turn.note("RL-5", format_args!("everyone has heard, {leader} too"));
    } else {
        turn.note("RL-5", format_args!("{leader} has not heard that it has won: starts over"));
        turn.again();
    }
}

/// RL-6.
fn miss_starter(list: &[Rank], turn: &mut Turn<'_, '_, Collector>) {
    if let Some(starter) = list.first() {
        turn.note("RL-6", format_args!("the list of {starter} came by again: starts over"));
    }
    turn.again();
}
