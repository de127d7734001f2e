//! The messages under way, and what becomes of each one.

use super::lives::Life;
use super::survey::Heard;
use quorate_core::{Incarnation, NodeId, Time};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// A message as its sender's journal names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Letter {
    pub(super) sender: NodeId,
    pub(super) life: Incarnation,
    /// Which of that life's messages it is.
    pub(super) number: u64,
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} of life {}", self.sender, self.number, self.life)
    }
}

/// All messages that were sent and did not arrive yet, and for each receiver what its lives will hear.
pub(super) struct Post {
    boxes: Vec<Mailbox>,
    /// How many messages each life sent so far.
    sent: BTreeMap<(NodeId, Incarnation), u64>,
}

struct Mailbox {
    /// When each message was sent.
    under_way: BTreeMap<Letter, Time>,
    /// From each life of a sender, the numbers that each life of this node hears. Links skip none between them.
    hears: Vec<BTreeMap<(NodeId, Incarnation), RangeInclusive<u64>>>,
    /// How many of its lives began.
    began: usize,
    is_up: bool,
}

/// What becomes of a message that is sent now.
pub(super) enum Fate {
    UnderWay,
    /// Its receiver is not the one that it was meant for: it will not arrive.
    Lost,
    /// It is for nobody in the group.
    Nobody,
}

impl Post {
    pub(super) fn new<'a>(nodes: impl Iterator<Item = &'a [Life]>) -> Self {
        let hears = |life: &Life| {
            // What was sent to the first life of all was meant for no other, so it hears everything from the beginning.
            let is_first = life.incarnation == Incarnation::FIRST;
            let numbers = |heard: &Heard| if is_first { 1 } else { heard.first.number }..=heard.last.number;
            life.heard.iter().map(|(who, heard)| (*who, numbers(heard))).collect()
        };
        let mailbox = |lives: &[Life]| Mailbox {
            under_way: BTreeMap::new(),
            hears: lives.iter().map(hears).collect(),
            began: 0,
            is_up: false,
        };
        Self { boxes: nodes.map(mailbox).collect(), sent: BTreeMap::new() }
    }

    pub(super) fn starts(&mut self, node: NodeId) {
        if let Some(mailbox) = self.boxes.get_mut(node.index()) {
            mailbox.began += 1;
            mailbox.is_up = true;
        }
    }

    pub(super) fn send(&mut self, letter: Letter, to: NodeId, time: Time) -> Fate {
        self.sent.insert((letter.sender, letter.life), letter.number);
        let Some(mailbox) = self.boxes.get_mut(to.index()) else { return Fate::Nobody };
        if mailbox.is_lost(letter) {
            return Fate::Lost;
        }
        mailbox.under_way.insert(letter, time);
        Fate::UnderWay
    }

    /// When a message was sent that can arrive at this node now.
    pub(super) fn sent_at(&self, letter: Letter, at: NodeId) -> Option<Time> {
        self.boxes.get(at.index())?.under_way.get(&letter).copied()
    }

    /// Whether a message has left, whatever became of it.
    pub(super) fn has_left(&self, letter: Letter) -> bool {
        self.sent.get(&(letter.sender, letter.life)).is_some_and(|sent| *sent >= letter.number)
    }

    /// The messages that the present life of a node should have heard before this one, which arrives now. They never will.
    pub(super) fn skipped(&mut self, letter: Letter, at: NodeId) -> Vec<Letter> {
        let Some(mailbox) = self.boxes.get_mut(at.index()) else { return Vec::new() };
        let present = mailbox.began.checked_sub(1).and_then(|index| mailbox.hears.get(index));
        let Some(heard) = present.and_then(|life| life.get(&(letter.sender, letter.life))) else { return Vec::new() };
        let first = Letter { number: letter.number.min(*heard.start()), ..letter };
        let skipped: Vec<_> = mailbox.under_way.range(first..letter).map(|(letter, _)| *letter).collect();
        for letter in &skipped {
            mailbox.under_way.remove(letter);
        }
        skipped
    }

    pub(super) fn arrive(&mut self, letter: Letter, at: NodeId) -> bool {
        self.boxes.get_mut(at.index()).is_some_and(|mailbox| mailbox.under_way.remove(&letter).is_some())
    }

    /// A node goes down. Tells which messages went down with it; the others a later life will hear.
    pub(super) fn goes_down(&mut self, node: NodeId) -> Vec<Letter> {
        let Some(mailbox) = self.boxes.get_mut(node.index()) else { return Vec::new() };
        mailbox.is_up = false;
        let lost: Vec<_> = mailbox.under_way.keys().copied().filter(|letter| mailbox.is_lost(*letter)).collect();
        for letter in &lost {
            mailbox.under_way.remove(letter);
        }
        lost
    }

    pub(super) fn under_way(&self) -> u64 {
        self.boxes.iter().map(|mailbox| mailbox.under_way.len() as u64).sum()
    }
}

impl Mailbox {
    /// Whether it is certain that neither the life that is up nor one to come hears this message. A link that meets
    /// another life than it is bound to drops what it holds, and skips nothing from then on.
    fn is_lost(&self, letter: Letter) -> bool {
        let from = (letter.sender, letter.life);
        let mut to_come = self.hears.iter().skip(self.began).filter_map(|life| life.get(&from));
        if to_come.any(|heard| heard.contains(&letter.number)) {
            return false;
        }
        // Who has not met the first life yet keeps everything for it.
        if self.began == 0 {
            return false;
        }
        let present = self.hears.get(self.began - 1).and_then(|life| life.get(&from));
        let was_dropped = self.began > 1 && present.is_some_and(|heard| letter.number < *heard.start());
        !self.is_up || was_dropped
    }
}
