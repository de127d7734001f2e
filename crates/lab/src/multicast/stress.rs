//! Stress for multicasts: in a fixed group, links with any delays; in views, members that crash,
//! restart, pause, are partitioned and leave, while views change in quick succession.

use super::{Multicast, MulticastEntry, Settings};
use crate::chaos::{FaultMix, percent};
use crate::multicast::run::Pattern;
use crate::spec::Spec;
use crate::views::ViewSettings;
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_core::multicast::{Delivery, Sequencing};
use quorate_journal::settings::Latency;

/// One stress experiment.
#[derive(Clone, Copy)]
struct StressCase {
    nodes: usize,
    latency: Latency,
    messages: u64,
    traffic: Pattern,
    window: u64,
    /// The fault mix, in the syntax of `--random-faults`.
    faults: &'static str,
    on_close: OnClose,
    /// Probabilities in percent: message loss, message duplication.
    loss: u32,
    duplicate: u32,
    leaves: usize,
    uniform: bool,
    /// Whether messages go via the sequencer, if there is one.
    via_sequencer: bool,
    relay: bool,
}

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

fn base_case() -> StressCase {
    StressCase {
        nodes: 4,
        latency: Latency::Uniform { min: MILLIS(1), max: MILLIS(5) },
        messages: 40,
        traffic: Pattern::Random,
        window: 8,
        faults: "",
        on_close: OnClose::Evict,
        loss: 0,
        duplicate: 0,
        leaves: 0,
        uniform: false,
        via_sequencer: false,
        relay: false,
    }
}

/// The stress experiments of this algorithm in a fixed group.
pub(super) fn stress_specs(entry: &'static MulticastEntry) -> Vec<Spec<Multicast>> {
    let long_tail = Latency::LongTail { median: MILLIS(2) };
    let wide_range = Latency::Uniform { min: Duration::from_micros(100), max: MILLIS(50) };
    let defaults = base_case();
    let cases = [
        StressCase { nodes: 3, latency: long_tail, ..defaults },
        StressCase { nodes: 5, latency: wide_range, loss: 10, duplicate: 5, ..defaults },
        StressCase {
            nodes: 4,
            latency: long_tail,
            traffic: Pattern::Flood,
            window: 3,
            via_sequencer: true,
            ..defaults
        },
        StressCase { nodes: 3, latency: wide_range, traffic: Pattern::Flood, uniform: true, window: 2, ..defaults },
        StressCase { nodes: 6, latency: wide_range, relay: true, via_sequencer: true, loss: 5, ..defaults },
        StressCase { nodes: 2, latency: long_tail, uniform: true, relay: true, ..defaults },
    ];
    cases.into_iter().map(|case| case.spec_for(entry, None)).collect()
}

/// The stress experiments of this algorithm in views.
pub(super) fn view_fault_specs(entry: &'static MulticastEntry) -> Vec<Spec<Multicast>> {
    let long_tail = Latency::LongTail { median: MILLIS(2) };
    let defaults = StressCase { nodes: 5, messages: 60, ..base_case() };
    let cases = [
        StressCase { faults: "crash=3,pause=1,cut=1,drift=2", loss: 5, duplicate: 2, ..defaults },
        // Links without loss: only views repair the effects of a crash.
        StressCase { nodes: 3, latency: long_tail, faults: "crash=4", via_sequencer: true, ..defaults },
        // Some members miss messages that others deliver, and then a node crashes.
        StressCase { nodes: 4, faults: "deaf=4,crash=3", ..defaults },
        StressCase { nodes: 4, faults: "deaf=3,crash=2,cut=1", uniform: true, leaves: 1, ..defaults },
        StressCase {
            nodes: 6,
            latency: long_tail,
            faults: "crash=5,pause=2",
            leaves: 2,
            traffic: Pattern::Flood,
            window: 4,
            ..defaults
        },
        StressCase {
            nodes: 3,
            faults: "crash=3,pause=2,drift=3",
            on_close: OnClose::Lease,
            uniform: true,
            via_sequencer: true,
            loss: 3,
            ..defaults
        },
        StressCase {
            nodes: 7,
            latency: long_tail,
            faults: "crash=4,cut=2,pause=2,deaf=2,drift=4",
            loss: 10,
            leaves: 1,
            relay: true,
            ..defaults
        },
    ];
    cases.into_iter().map(|case| case.spec_for(entry, Some(case.on_close))).collect()
}

impl StressCase {
    fn spec_for(self, entry: &'static MulticastEntry, on_close: Option<OnClose>) -> Spec<Multicast> {
        let views = on_close.map(ViewSettings::with_short_leases);
        let settings = Settings {
            messages: self.messages,
            traffic: self.traffic,
            // Keeps senders busy for as long as faults occur.
            interval: views.map(|_| Latency::Uniform { min: Duration::ZERO, max: MILLIS(60) }),
            window: self.window,
            delivery: if self.uniform { Delivery::Uniform } else { Delivery::Prompt },
            sequencing: if self.via_sequencer && entry.facts.sequences {
                Sequencing::ThroughSequencer
            } else {
                Sequencing::ToAll
            },
            relay: self.relay,
            leaves: if views.is_some() { self.leaves } else { 0 },
            // Small enough that a state is sent in several pieces.
            piece: 64,
            views,
            ..Settings::default()
        };
        Spec {
            nodes: self.nodes,
            latency: self.latency,
            loss: percent(self.loss),
            duplicate: percent(self.duplicate),
            random_faults: FaultMix::from_constant(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
