//! The faults that algorithms in views must tolerate: crashes, restarts, pauses longer than a
//! lease, clock drift up to the bound, message loss and duplication, partitions, and nodes that
//! receive nothing from another node.

use super::{Mutex, MutexEntry, Settings, ViewSettings};
use crate::chaos::{FaultMix, percent_to_chance};
use crate::mutex::run::Pattern;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_journal::settings::Latency;

/// One experiment with faults in views.
struct ViewFaultCase {
    nodes: usize,
    latency: Latency,
    entries: u64,
    /// Maximum hold time; in one case longer than a holder trusts its lease.
    hold: Duration,
    /// The fault mix, in the syntax of `--random-faults`.
    faults: &'static str,
    /// Whether a member whose kernel closed a connection is removed at once, or when its lease
    /// expires.
    on_close: OnClose,
    loss_percent: u32,
    duplicate_percent: u32,
    try_percent: u32,
    cancel_percent: u32,
}

pub(super) fn view_fault_specs(entry: &'static MutexEntry) -> Vec<Spec<Mutex>> {
    cases().into_iter().map(|case| case.spec_for(entry)).collect()
}

fn cases() -> [ViewFaultCase; 6] {
    let millis = Duration::from_millis;
    let long_tail = Latency::LongTail { median: millis(2) };
    let defaults = ViewFaultCase {
        nodes: 5,
        latency: Latency::Uniform { min: millis(1), max: millis(5) },
        entries: 40,
        hold: millis(10),
        faults: "crash=2,pause=2,cut=2,deaf=1,drift=2",
        on_close: OnClose::Evict,
        loss_percent: 5,
        duplicate_percent: 2,
        try_percent: 10,
        cancel_percent: 10,
    };
    [
        ViewFaultCase { ..defaults },
        // Without loss, nothing retransmits messages: only a change of the view repairs the effects
        // of a crash.
        ViewFaultCase {
            nodes: 3,
            latency: long_tail,
            faults: "crash=4",
            loss_percent: 0,
            duplicate_percent: 0,
            try_percent: 20,
            ..defaults
        },
        ViewFaultCase { nodes: 4, faults: "cut=4,deaf=3", loss_percent: 0, duplicate_percent: 0, ..defaults },
        // Holders that pause for longer than their leases.
        ViewFaultCase {
            hold: millis(80),
            faults: "pause=6,drift=3",
            on_close: OnClose::Lease,
            entries: 25,
            ..defaults
        },
        ViewFaultCase {
            nodes: 3,
            faults: "crash=3,pause=2,drift=3",
            on_close: OnClose::Lease,
            loss_percent: 0,
            ..defaults
        },
        ViewFaultCase {
            nodes: 7,
            latency: long_tail,
            faults: "crash=3,cut=3,pause=2,deaf=2,drift=4",
            loss_percent: 10,
            ..defaults
        },
    ]
}

impl ViewFaultCase {
    fn spec_for(self, entry: &'static MutexEntry) -> Spec<Mutex> {
        let fits = |nodes: &usize| (entry.facts.check_group_size)(*nodes).is_ok();
        let views = ViewSettings::with_short_leases(self.on_close);
        let settings = Settings {
            entries: self.entries,
            workload: Pattern::Random,
            hold: Some(Latency::Uniform { min: Duration::from_millis(1), max: self.hold }),
            // Spreads the requests over the whole time in which faults occur.
            think: Some(Latency::Uniform { min: Duration::ZERO, max: views.lease_terms().lease }),
            tries: percent_to_chance(self.try_percent),
            cancels: percent_to_chance(self.cancel_percent),
            readers: percent_to_chance(if entry.facts.has_shared_access { 50 } else { 0 }),
            views: Some(views),
            ..Settings::default()
        };
        // The smallest group of at least this size that the algorithm supports. Quorums from finite
        // projective planes exist for few sizes, so the search goes far.
        let nodes = (self.nodes..=7 * self.nodes).find(fits).unwrap_or(self.nodes);
        Spec {
            nodes,
            latency: self.latency,
            loss: percent_to_chance(self.loss_percent),
            duplicate: percent_to_chance(self.duplicate_percent),
            random_faults: FaultMix::from_constant(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
