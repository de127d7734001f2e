//! The network between nodes: delays, losses, duplicates and cuts.

use crate::world::FixedFate;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::Loss;
use quorate_journal::rng::SeededRng;
use quorate_journal::settings::{Chance, Cut, Latency, LinkChange, Links};
use std::collections::HashMap;

/// The default behaviour of links.
#[derive(Clone, Debug)]
pub struct Wire {
    pub latency: Latency,
    pub loss: Chance,
    pub duplicate: Chance,
    /// Whether the messages of a link arrive in the order in which they were sent.
    pub fifo: bool,
}

pub(crate) enum TransmissionOutcome {
    Lost(Loss),
    Arrives(Time),
    Twice(Time, Time),
}

pub(crate) struct Network {
    wire: Wire,
    rng: SeededRng,
    /// Current cuts, each with the serial number of its fault.
    cuts: Vec<(u64, Cut)>,
    /// Links whose behaviour a fault changed, with the serial number of the fault. A later change
    /// overrides an earlier one.
    changed_links: Vec<(u64, Links, LinkChange)>,
    /// The behaviour of links used since the last change.
    cache: HashMap<(NodeId, NodeId), Behaviour>,
    last_arrivals: LastArrivals,
}

/// Latency, probability of loss and probability of duplication.
type Behaviour = (Latency, Chance, Chance);

const MAX_CACHED_LINKS: usize = 1 << 16;

impl Network {
    pub(crate) fn new(wire: Wire, rng: SeededRng) -> Self {
        Self {
            wire,
            rng,
            changed_links: Vec::new(),
            cuts: Vec::new(),
            cache: HashMap::new(),
            last_arrivals: LastArrivals::default(),
        }
    }

    /// Returns the default latency and the default probability of loss.
    pub(crate) fn default_behaviour(&self) -> (Latency, Chance) {
        (self.wire.latency, self.wire.loss)
    }

    /// Decides the fate of a message that is sent now. The cost does not depend on the number of
    /// links.
    #[inline]
    pub(crate) fn outcome(&mut self, now: Time, from: NodeId, to: NodeId) -> TransmissionOutcome {
        if from == to {
            return TransmissionOutcome::Arrives(now);
        }
        if self.is_cut(from, to) {
            return TransmissionOutcome::Lost(Loss::Cut);
        }
        let (latency, loss, duplicate) = self.behaviour(from, to);
        if self.rng.happens(loss) {
            return TransmissionOutcome::Lost(Loss::Chance);
        }
        let arrival = self.arrival(now, from, to, latency);
        if self.rng.happens(duplicate) {
            return TransmissionOutcome::Twice(arrival, self.arrival(now, from, to, latency));
        }
        TransmissionOutcome::Arrives(arrival)
    }

    /// Returns the fate that a script fixed for a message that is sent now, unless a cut blocks it.
    pub(crate) fn fixed_outcome(
        &mut self,
        now: Time,
        from: NodeId,
        to: NodeId,
        fixed: FixedFate,
    ) -> TransmissionOutcome {
        if self.is_cut(from, to) {
            return TransmissionOutcome::Lost(Loss::Cut);
        }
        if fixed.is_lost {
            return TransmissionOutcome::Lost(Loss::Chance);
        }
        let (latency, _, _) = self.behaviour(from, to);
        let arrival = self.arrival(now, from, to, fixed.delay.map_or(latency, Latency::Fixed));
        match fixed.duplicate_delay {
            Some(delay) => TransmissionOutcome::Twice(arrival, self.arrival(now, from, to, Latency::Fixed(delay))),
            None => TransmissionOutcome::Arrives(arrival),
        }
    }

    #[inline]
    pub(crate) fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        !self.cuts.is_empty() && self.cuts.iter().any(|(_, cut)| cut.severs(from, to))
    }

    pub(crate) fn add_cut(&mut self, serial: u64, cut: Cut) {
        self.cuts.push((serial, cut));
    }

    pub(crate) fn change_links(&mut self, serial: u64, links: Links, change: LinkChange) {
        self.changed_links.push((serial, links, change));
        self.cache.clear();
    }

    /// Ends the effect of one fault on the network. Returns whether it was still in effect.
    pub(crate) fn end_fault(&mut self, serial: u64) -> bool {
        let count_before = self.cuts.len() + self.changed_links.len();
        self.cache.clear();
        self.cuts.retain(|(cut_serial, _)| *cut_serial != serial);
        self.changed_links.retain(|(change_serial, _, _)| *change_serial != serial);
        self.cuts.len() + self.changed_links.len() < count_before
    }

    /// Ends all cuts. Other changes of links stay.
    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    #[inline]
    fn behaviour(&mut self, from: NodeId, to: NodeId) -> Behaviour {
        if self.changed_links.is_empty() {
            return (self.wire.latency, self.wire.loss, self.wire.duplicate);
        }
        if let Some(behaviour) = self.cache.get(&(from, to)) {
            return *behaviour;
        }
        if self.cache.len() >= MAX_CACHED_LINKS {
            self.cache.clear();
        }
        let behaviour = self.compute_behaviour(from, to);
        self.cache.insert((from, to), behaviour);
        behaviour
    }

    fn compute_behaviour(&self, from: NodeId, to: NodeId) -> Behaviour {
        let Wire { mut latency, mut loss, mut duplicate, fifo: _ } = self.wire;
        for (_, _, change) in self.changed_links.iter().filter(|(_, links, _)| links.cover(from, to)) {
            match change {
                LinkChange::Latency(changed) => latency = *changed,
                LinkChange::Loss(changed) => loss = *changed,
                LinkChange::Duplicate(changed) => duplicate = *changed,
            }
        }
        (latency, loss, duplicate)
    }

    /// Draws the arrival time of a message that is sent now.
    #[inline]
    fn arrival(&mut self, now: Time, from: NodeId, to: NodeId, latency: Latency) -> Time {
        let arrival = now + self.rng.length(latency);
        if self.wire.fifo { self.last_arrivals.delay_past_previous(now, from, to, arrival) } else { arrival }
    }
}

/// The arrival time of the last message of each link. Links without messages in flight are pruned,
/// so that memory depends on the messages in flight and not on the number of links.
#[derive(Default)]
struct LastArrivals {
    arrivals: HashMap<(NodeId, NodeId), Time>,
    /// Number of links above which links without messages in flight are removed. It is at least
    /// double the number that the last pruning left, so that pruning stays cheap on average.
    prune_above: usize,
}

impl LastArrivals {
    /// Returns `arrival`, delayed if necessary until the previous message of the link has arrived.
    fn delay_past_previous(&mut self, now: Time, from: NodeId, to: NodeId, arrival: Time) -> Time {
        if self.arrivals.len() > self.prune_above {
            self.arrivals.retain(|_, last| *last > now);
            self.prune_above = 2 * self.arrivals.len() + 64;
        }
        let last = self.arrivals.entry((from, to)).or_insert(arrival);
        *last = arrival.max(*last);
        *last
    }
}
