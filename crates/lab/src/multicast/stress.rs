//! Stress for multicasts: in a fixed group, links with widely varying delays, some of which also
//! lose and duplicate messages; in views, members that crash, restart, pause, are partitioned and
//! leave, while views change in quick succession.

use super::{Multicast, MulticastEntry, Settings};
use crate::chaos::{FaultMix, percent_to_chance};
use crate::multicast::run::Traffic;
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
    traffic: Traffic,
    window: u64,
    /// The fault mix, in the syntax of `--random-faults`. `deaf`: one node receives nothing from
    /// another.
    faults: &'static str,
    /// In views: whether a member whose kernel closed a connection is removed at once, or when its
    /// lease expires.
    on_close: OnClose,
    loss_percent: u32,
    duplicate_percent: u32,
    leaves: usize,
    is_uniform: bool,
    /// Whether messages go via the sequencer, if there is one.
    via_sequencer: bool,
    /// Whether receivers relay every message to all other members. Some algorithms always do.
    is_relayed: bool,
}

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

fn base_case() -> StressCase {
    StressCase {
        nodes: 4,
        latency: Latency::Uniform { min: MILLIS(1), max: MILLIS(5) },
        messages: 40,
        traffic: Traffic::Random,
        window: 8,
        faults: "",
        on_close: OnClose::Evict,
        loss_percent: 0,
        duplicate_percent: 0,
        leaves: 0,
        is_uniform: false,
        via_sequencer: false,
        is_relayed: false,
    }
}

/// The stress experiments of this algorithm in a fixed group.
pub(super) fn stress_specs(entry: &'static MulticastEntry) -> Vec<Spec<Multicast>> {
    let long_tail = Latency::LongTail { median: MILLIS(2) };
    let wide_range = Latency::Uniform { min: Duration::from_micros(100), max: MILLIS(50) };
    let defaults = base_case();
    let cases = [
        StressCase { nodes: 3, latency: long_tail, ..defaults },
        StressCase { nodes: 5, latency: wide_range, loss_percent: 10, duplicate_percent: 5, ..defaults },
        StressCase {
            nodes: 4,
            latency: long_tail,
            traffic: Traffic::Flood,
            window: 3,
            via_sequencer: true,
            ..defaults
        },
        StressCase { nodes: 3, latency: wide_range, traffic: Traffic::Flood, is_uniform: true, window: 2, ..defaults },
        StressCase {
            nodes: 6,
            latency: wide_range,
            is_relayed: true,
            via_sequencer: true,
            loss_percent: 5,
            ..defaults
        },
        StressCase { nodes: 2, latency: long_tail, is_uniform: true, is_relayed: true, ..defaults },
    ];
    cases.into_iter().map(|case| case.spec_for(entry, None)).collect()
}

/// The stress experiments of this algorithm in views.
pub(super) fn view_fault_specs(entry: &'static MulticastEntry) -> Vec<Spec<Multicast>> {
    let long_tail = Latency::LongTail { median: MILLIS(2) };
    let defaults = StressCase { nodes: 5, messages: 60, ..base_case() };
    let cases = [
        StressCase { faults: "crash=3,pause=1,cut=1,drift=2", loss_percent: 5, duplicate_percent: 2, ..defaults },
        // Links without loss: only views repair the effects of a crash.
        StressCase { nodes: 3, latency: long_tail, faults: "crash=4", via_sequencer: true, ..defaults },
        // Some members miss messages that others deliver, and then a node crashes.
        StressCase { nodes: 4, faults: "deaf=4,crash=3", ..defaults },
        StressCase { nodes: 4, faults: "deaf=3,crash=2,cut=1", is_uniform: true, leaves: 1, ..defaults },
        StressCase {
            nodes: 6,
            latency: long_tail,
            faults: "crash=5,pause=2",
            leaves: 2,
            traffic: Traffic::Flood,
            window: 4,
            ..defaults
        },
        StressCase {
            nodes: 3,
            faults: "crash=3,pause=2,drift=3",
            on_close: OnClose::Lease,
            is_uniform: true,
            via_sequencer: true,
            loss_percent: 3,
            ..defaults
        },
        StressCase {
            nodes: 7,
            latency: long_tail,
            faults: "crash=4,cut=2,pause=2,deaf=2,drift=4",
            loss_percent: 10,
            leaves: 1,
            is_relayed: true,
            ..defaults
        },
    ];
    cases.into_iter().map(|case| case.spec_for(entry, Some(case.on_close))).collect()
}

impl StressCase {
    /// The experiment of this case; in a fixed group if `on_close` is `None`.
    fn spec_for(self, entry: &'static MulticastEntry, on_close: Option<OnClose>) -> Spec<Multicast> {
        let views = on_close.map(ViewSettings::with_short_leases);
        let settings = Settings {
            messages: self.messages,
            traffic: self.traffic,
            // Keeps senders busy for as long as faults occur.
            interval: views.map(|_| Latency::Uniform { min: Duration::ZERO, max: MILLIS(60) }),
            window: self.window,
            delivery: if self.is_uniform { Delivery::Uniform } else { Delivery::Prompt },
            sequencing: if self.via_sequencer && entry.facts.has_sequencer {
                Sequencing::ThroughSequencer
            } else {
                Sequencing::ToAll
            },
            relay: self.is_relayed,
            leaves: if views.is_some() { self.leaves } else { 0 },
            // Small enough that a joiner receives the state in several pieces.
            piece: 64,
            views,
            ..Settings::default()
        };
        Spec {
            nodes: self.nodes,
            latency: self.latency,
            loss: percent_to_chance(self.loss_percent),
            duplicate: percent_to_chance(self.duplicate_percent),
            random_faults: FaultMix::from_constant(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
