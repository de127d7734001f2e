//! The network between nodes: delays, losses, duplicates and cuts.

use crate::world::FixedFate;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::Loss;
use quorate_journal::rng::SeededRng;
use quorate_journal::settings::{Chance, Cut, Latency, LinkChange, Links};
use std::collections::HashMap;

/// The behavior of links that no fault has changed.
#[derive(Clone, Debug)]
pub struct LinkDefaults {
    pub latency: Latency,
    pub loss: Chance,
    pub duplicate: Chance,
    /// Whether the messages of a link arrive in the order in which they were sent.
    pub is_fifo: bool,
}

pub(crate) enum TransmissionOutcome {
    Lost(Loss),
    Arrives(Time),
    /// The original and the duplicate arrive at these times.
    Duplicated(Time, Time),
}

pub(crate) struct Network {
    link_defaults: LinkDefaults,
    rng: SeededRng,
    /// Current cuts, each with the serial number of its fault.
    cuts: Vec<(u64, Cut)>,
    /// Sets of links whose behavior a fault changed, each with the serial number of the fault. A
    /// later change of the same kind overrides an earlier one.
    changed_links: Vec<(u64, Links, LinkChange)>,
    /// The behavior of links used since the cache was emptied; each change of a link empties it.
    cache: HashMap<(NodeId, NodeId), Behavior>,
    last_arrivals: LastArrivals,
}

/// Latency, probability of loss and probability of duplication.
type Behavior = (Latency, Chance, Chance);

/// The cache is emptied when it has this many links, which bounds its memory in large groups.
const MAX_CACHED_LINKS: usize = 1 << 16;

impl Network {
    pub(crate) fn new(link_defaults: LinkDefaults, rng: SeededRng) -> Self {
        Self {
            link_defaults,
            rng,
            changed_links: Vec::new(),
            cuts: Vec::new(),
            cache: HashMap::new(),
            last_arrivals: LastArrivals::default(),
        }
    }

    /// Returns the default latency and the default probability of loss.
    pub(crate) fn default_behavior(&self) -> (Latency, Chance) {
        (self.link_defaults.latency, self.link_defaults.loss)
    }

    /// Draws the outcome of a transmission that starts now. The cost does not depend on the number
    /// of links.
    #[inline]
    pub(crate) fn draw_outcome(&mut self, now: Time, from: NodeId, to: NodeId) -> TransmissionOutcome {
        if from == to {
            return TransmissionOutcome::Arrives(now);
        }
        if self.is_cut(from, to) {
            return TransmissionOutcome::Lost(Loss::Cut);
        }
        let (latency, loss, duplicate) = self.link_behavior(from, to);
        if self.rng.happens(loss) {
            return TransmissionOutcome::Lost(Loss::Chance);
        }
        let arrival = self.draw_arrival(now, from, to, latency);
        if self.rng.happens(duplicate) {
            return TransmissionOutcome::Duplicated(arrival, self.draw_arrival(now, from, to, latency));
        }
        TransmissionOutcome::Arrives(arrival)
    }

    /// Returns the outcome of a transmission that starts now and whose fate a script fixed. A cut
    /// blocks it all the same.
    pub(crate) fn apply_fixed_fate(
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
        let (latency, _, _) = self.link_behavior(from, to);
        let arrival = self.draw_arrival(now, from, to, fixed.delay.map_or(latency, Latency::Fixed));
        match fixed.duplicate_delay {
            Some(delay) => {
                TransmissionOutcome::Duplicated(arrival, self.draw_arrival(now, from, to, Latency::Fixed(delay)))
            }
            None => TransmissionOutcome::Arrives(arrival),
        }
    }

    #[inline]
    pub(crate) fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        !self.cuts.is_empty() && self.cuts.iter().any(|(_, cut)| cut.severs(from, to))
    }

    pub(crate) fn add_cut(&mut self, fault_serial: u64, cut: Cut) {
        self.cuts.push((fault_serial, cut));
    }

    pub(crate) fn change_links(&mut self, fault_serial: u64, links: Links, change: LinkChange) {
        self.changed_links.push((fault_serial, links, change));
        self.cache.clear();
    }

    /// Ends the effect of one fault. Returns `false` if it had none, as after `end_all_cuts`.
    pub(crate) fn end_fault(&mut self, fault_serial: u64) -> bool {
        let count_before = self.cuts.len() + self.changed_links.len();
        self.cache.clear();
        self.cuts.retain(|(cut_serial, _)| *cut_serial != fault_serial);
        self.changed_links.retain(|(change_serial, _, _)| *change_serial != fault_serial);
        self.cuts.len() + self.changed_links.len() < count_before
    }

    /// Ends all cuts. Other changes of links stay.
    pub(crate) fn end_all_cuts(&mut self) {
        self.cuts.clear();
    }

    #[inline]
    fn link_behavior(&mut self, from: NodeId, to: NodeId) -> Behavior {
        if self.changed_links.is_empty() {
            return (self.link_defaults.latency, self.link_defaults.loss, self.link_defaults.duplicate);
        }
        if let Some(behavior) = self.cache.get(&(from, to)) {
            return *behavior;
        }
        if self.cache.len() >= MAX_CACHED_LINKS {
            self.cache.clear();
        }
        let behavior = self.compute_behavior(from, to);
        self.cache.insert((from, to), behavior);
        behavior
    }

    fn compute_behavior(&self, from: NodeId, to: NodeId) -> Behavior {
        let LinkDefaults { mut latency, mut loss, mut duplicate, is_fifo: _ } = self.link_defaults;
        for (_, _, change) in self.changed_links.iter().filter(|(_, links, _)| links.include(from, to)) {
            match change {
                LinkChange::Latency(changed) => latency = *changed,
                LinkChange::Loss(changed) => loss = *changed,
                LinkChange::Duplicate(changed) => duplicate = *changed,
            }
        }
        (latency, loss, duplicate)
    }

    /// Draws the arrival time of a message that is sent now. On FIFO links it is not before that of
    /// the previous message.
    #[inline]
    fn draw_arrival(&mut self, now: Time, from: NodeId, to: NodeId, latency: Latency) -> Time {
        let arrival = now + self.rng.draw_latency(latency);
        if self.link_defaults.is_fifo {
            self.last_arrivals.delay_past_previous(now, from, to, arrival)
        } else {
            arrival
        }
    }
}

/// The arrival time of the last message of each link. Links without messages in flight are pruned,
/// so memory depends on the number of messages in flight and not on the number of links.
#[derive(Default)]
struct LastArrivals {
    arrivals: HashMap<(NodeId, NodeId), Time>,
    /// Number of links above which links without messages in flight are removed. It is at least
    /// double the number that the last pruning left, which keeps pruning cheap on average.
    prune_above: usize,
}

impl LastArrivals {
    /// Returns `arrival`, delayed if necessary until the previous message of the link has arrived.
    fn delay_past_previous(&mut self, now: Time, from: NodeId, to: NodeId, arrival: Time) -> Time {
        if self.arrivals.len() > self.prune_above {
            self.arrivals.retain(|_, last| *last > now);
            // The constant avoids frequent pruning while few messages are in flight.
            self.prune_above = 2 * self.arrivals.len() + 64;
        }
        let last_arrival = self.arrivals.entry((from, to)).or_insert(arrival);
        *last_arrival = arrival.max(*last_arrival);
        *last_arrival
    }
}
