//! The network between nodes: how long a message takes, and whether it arrives at all.

use crate::world::Told;
use quorate_core::{NodeId, Time};
use quorate_journal::dice::Dice;
use quorate_journal::moment::Loss;
use quorate_journal::settings::{Chance, Cut, Latency, LinkChange, Links};
use std::collections::HashMap;

/// How links behave when nothing is wrong with them in particular.
#[derive(Clone, Debug)]
pub struct Wire {
    pub latency: Latency,
    pub loss: Chance,
    pub duplicate: Chance,
    /// Whether messages of one node to another arrive in the order they were sent.
    pub fifo: bool,
}

pub(crate) enum Fate {
    Lost(Loss),
    Arrives(Time),
    Twice(Time, Time),
}

pub(crate) struct Network {
    wire: Wire,
    dice: Dice,
    /// Cuts under way, each with the serial number of its fault.
    cuts: Vec<(u64, Cut)>,
    /// Links that behave unlike the others; of two that concern the same one, the later holds.
    odd: Vec<(u64, Links, LinkChange)>,
    /// How links that were used since the last change behave, so that odd ones are not looked up again and again.
    known: HashMap<(NodeId, NodeId), Manners>,
    last_arrivals: LastArrivals,
}

type Manners = (Latency, Chance, Chance);

const MOST_KNOWN: usize = 1 << 16;

impl Network {
    pub(crate) fn new(wire: Wire, dice: Dice) -> Self {
        Self {
            wire,
            dice,
            odd: Vec::new(),
            cuts: Vec::new(),
            known: HashMap::new(),
            last_arrivals: LastArrivals::default(),
        }
    }

    /// How long a message takes and how likely it is lost where nothing is wrong in particular.
    pub(crate) fn usual(&self) -> (Latency, Chance) {
        (self.wire.latency, self.wire.loss)
    }

    /// Decides what becomes of a message that leaves now. The cost does not depend on the number of links.
    #[inline]
    pub(crate) fn fate(&mut self, now: Time, from: NodeId, to: NodeId) -> Fate {
        if from == to {
            return Fate::Arrives(now);
        }
        if self.is_cut(from, to) {
            return Fate::Lost(Loss::Cut);
        }
        let (latency, loss, duplicate) = self.manners(from, to);
        if self.dice.happens(loss) {
            return Fate::Lost(Loss::Chance);
        }
        let arrival = self.arrival(now, from, to, latency);
        if self.dice.happens(duplicate) {
            return Fate::Twice(arrival, self.arrival(now, from, to, latency));
        }
        Fate::Arrives(arrival)
    }

    /// Does what is told of a message that leaves now, unless a cut stops it.
    pub(crate) fn directed(&mut self, now: Time, from: NodeId, to: NodeId, told: Told) -> Fate {
        if self.is_cut(from, to) {
            return Fate::Lost(Loss::Cut);
        }
        if told.lost {
            return Fate::Lost(Loss::Chance);
        }
        let (latency, _, _) = self.manners(from, to);
        let fixed = |length: Option<_>| length.map_or(latency, Latency::Fixed);
        let arrival = self.arrival(now, from, to, fixed(told.takes));
        match told.again {
            Some(again) => Fate::Twice(arrival, self.arrival(now, from, to, Latency::Fixed(again))),
            None => Fate::Arrives(arrival),
        }
    }

    #[inline]
    pub(crate) fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        !self.cuts.is_empty() && self.cuts.iter().any(|(_, cut)| cut.severs(from, to))
    }

    pub(crate) fn cut(&mut self, serial: u64, cut: Cut) {
        self.cuts.push((serial, cut));
    }

    /// Some links begin to behave unlike the others.
    pub(crate) fn change(&mut self, serial: u64, links: Links, change: LinkChange) {
        self.odd.push((serial, links, change));
        self.known.clear();
    }

    /// What one fault did to the network ends. Tells whether it had not ended before.
    pub(crate) fn mend(&mut self, serial: u64) -> bool {
        let before = self.cuts.len() + self.odd.len();
        self.known.clear();
        self.cuts.retain(|(cut, _)| *cut != serial);
        self.odd.retain(|(change, _, _)| *change != serial);
        self.cuts.len() + self.odd.len() < before
    }

    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    #[inline]
    fn manners(&mut self, from: NodeId, to: NodeId) -> Manners {
        if self.odd.is_empty() {
            return (self.wire.latency, self.wire.loss, self.wire.duplicate);
        }
        if let Some(known) = self.known.get(&(from, to)) {
            return *known;
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let manners = self.look_up(from, to);
        self.known.insert((from, to), manners);
        manners
    }

    fn look_up(&self, from: NodeId, to: NodeId) -> Manners {
        let Wire { mut latency, mut loss, mut duplicate, fifo: _ } = self.wire;
        for (_, _, change) in self.odd.iter().filter(|(_, links, _)| links.cover(from, to)) {
            match change {
                LinkChange::Latency(odd) => latency = *odd,
                LinkChange::Loss(odd) => loss = *odd,
                LinkChange::Duplicate(odd) => duplicate = *odd,
            }
        }
        (latency, loss, duplicate)
    }

    #[inline]
    fn arrival(&mut self, now: Time, from: NodeId, to: NodeId, latency: Latency) -> Time {
        let arrival = now + self.dice.length(latency);
        if self.wire.fifo { self.last_arrivals.push_back(now, from, to, arrival) } else { arrival }
    }
}

/// When the last message of each busy link arrives. Links that have fallen silent are forgotten, so that memory
/// follows what is under way and not the number of links.
#[derive(Default)]
struct LastArrivals {
    arrivals: HashMap<(NodeId, NodeId), Time>,
    prune_at: usize,
}

impl LastArrivals {
    /// No earlier than the message before it on the same link.
    fn push_back(&mut self, now: Time, from: NodeId, to: NodeId, arrival: Time) -> Time {
        if self.arrivals.len() > self.prune_at {
            self.arrivals.retain(|_, last| *last > now);
            self.prune_at = 2 * self.arrivals.len() + 64;
        }
        let last = self.arrivals.entry((from, to)).or_insert(arrival);
        *last = arrival.max(*last);
        *last
    }
}
