//! The faults that algorithms in views must tolerate: crashes, restarts, pauses longer than a
//! lease, clock drift up to the bound, message loss and duplication, and all kinds of partitions.

use super::{Mutex, MutexEntry, Settings, ViewSettings};
use crate::chaos::{FaultMix, percent};
use crate::mutex::run::Pattern;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_journal::settings::Latency;

/// One experiment with faults in views.
struct ViewFaults {
    nodes: usize,
    latency: Latency,
    entries: u64,
    /// Maximum hold time; in some cases longer than a lease is trusted.
    hold: Duration,
    /// The fault mix, in the syntax of `--random-faults`.
    faults: &'static str,
    on_close: OnClose,
    /// Probabilities in percent: message loss, message duplication, a try, a cancelled request.
    loss: u32,
    duplicate: u32,
    tries: u32,
    cancels: u32,
}

pub(super) fn view_fault_specs(entry: &'static MutexEntry) -> Vec<Spec<Mutex>> {
    all_view_faults().into_iter().map(|faults| faults.spec_for(entry)).collect()
}

fn all_view_faults() -> [ViewFaults; 6] {
    let millis = Duration::from_millis;
    let long_tail = Latency::LongTail { median: millis(2) };
    let defaults = ViewFaults {
        nodes: 5,
        latency: Latency::Uniform { min: millis(1), max: millis(5) },
        entries: 40,
        hold: millis(10),
        faults: "crash=2,pause=2,cut=2,deaf=1,drift=2",
        on_close: OnClose::Evict,
        loss: 5,
        duplicate: 2,
        tries: 10,
        cancels: 10,
    };
    [
        ViewFaults { ..defaults },
        // Links without loss: only views repair the effects of a crash.
        ViewFaults { nodes: 3, latency: long_tail, faults: "crash=4", loss: 0, duplicate: 0, tries: 20, ..defaults },
        ViewFaults { nodes: 4, faults: "cut=4,deaf=3", loss: 0, duplicate: 0, ..defaults },
        // Holders that pause for longer than their leases.
        ViewFaults { hold: millis(80), faults: "pause=6,drift=3", on_close: OnClose::Lease, entries: 25, ..defaults },
        ViewFaults { nodes: 3, faults: "crash=3,pause=2,drift=3", on_close: OnClose::Lease, loss: 0, ..defaults },
        ViewFaults {
            nodes: 7,
            latency: long_tail,
            faults: "crash=3,cut=3,pause=2,deaf=2,drift=4",
            loss: 10,
            ..defaults
        },
    ]
}

impl ViewFaults {
    fn spec_for(self, entry: &'static MutexEntry) -> Spec<Mutex> {
        let fits = |nodes: &usize| (entry.facts.fits)(*nodes).is_ok();
        let views = ViewSettings::with_short_leases(self.on_close);
        let settings = Settings {
            entries: self.entries,
            workload: Pattern::Random,
            hold: Some(Latency::Uniform { min: Duration::from_millis(1), max: self.hold }),
            // Keeps clients busy for as long as faults occur.
            think: Some(Latency::Uniform { min: Duration::ZERO, max: views.terms().lease }),
            tries: percent(self.tries),
            cancels: percent(self.cancels),
            readers: percent(if entry.facts.shares { 50 } else { 0 }),
            views: Some(views),
            ..Settings::default()
        };
        // The smallest group of at least this size that the algorithm supports.
        let nodes = (self.nodes..=7 * self.nodes).find(fits).unwrap_or(self.nodes);
        Spec {
            nodes,
            latency: self.latency,
            loss: percent(self.loss),
            duplicate: percent(self.duplicate),
            random_faults: FaultMix::from_constant(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
