//! Stress for mutual exclusion without failures: messages have long delays and overtake each other,
//! and clients try, cancel, read and send requests in quick succession.

use super::{Mutex, MutexEntry, Settings};
use crate::chaos::percent_to_chance;
use crate::mutex::run::Pattern;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::mutex::Model;
use quorate_journal::settings::Latency;

struct StressCase {
    nodes: usize,
    latency: Latency,
    entries: u64,
    workload: Pattern,
    try_percent: u32,
    cancel_percent: u32,
    /// The time between requests, if not the default for the workload.
    think: Option<Latency>,
}

pub(super) fn stress_specs(entry: &'static MutexEntry) -> Vec<Spec<Mutex>> {
    cases().into_iter().map(|case| case.spec_for(entry)).collect()
}

fn cases() -> [StressCase; 6] {
    let millis = Duration::from_millis;
    let long_tail = Latency::LongTail { median: millis(2) };
    let wide_range = Latency::Uniform { min: Duration::from_micros(100), max: millis(50) };
    let short_think = Some(Latency::Uniform { min: Duration::ZERO, max: millis(3) });
    let base = StressCase {
        nodes: 3,
        latency: long_tail,
        entries: 12,
        workload: Pattern::Random,
        try_percent: 0,
        cancel_percent: 0,
        think: None,
    };
    [
        StressCase { ..base },
        StressCase { nodes: 5, entries: 15, workload: Pattern::All, ..base },
        StressCase { nodes: 4, latency: wide_range, entries: 16, try_percent: 20, cancel_percent: 20, ..base },
        StressCase { nodes: 2, workload: Pattern::All, try_percent: 30, cancel_percent: 30, ..base },
        StressCase { nodes: 7, latency: wide_range, entries: 21, cancel_percent: 10, think: short_think, ..base },
        StressCase { nodes: 3, entries: 18, try_percent: 10, cancel_percent: 30, think: short_think, ..base },
    ]
}

impl StressCase {
    fn spec_for(self, entry: &'static MutexEntry) -> Spec<Mutex> {
        let fits = |nodes: &usize| (entry.facts.check_group_size)(*nodes).is_ok();
        let settings = Settings {
            entries: self.entries,
            workload: self.workload,
            think: self.think,
            tries: percent_to_chance(self.try_percent),
            cancels: percent_to_chance(self.cancel_percent),
            readers: percent_to_chance(if entry.facts.has_shared_access { 50 } else { 0 }),
            ..Settings::default()
        };
        let latency = match (entry.facts.model, self.latency) {
            // An algorithm that relies on a bound gets a bounded latency: up to ten medians, the
            // bound that nodes assume for a long tail.
            (Model::Synchronous, Latency::LongTail { median }) => {
                Latency::Uniform { min: Duration::ZERO, max: median.times(10) }
            }
            (Model::Synchronous | Model::Asynchronous, latency) => latency,
        };
        // The smallest group of at least this size that the algorithm supports. Quorums from finite
        // projective planes exist for few sizes, so the search goes far.
        let nodes = (self.nodes..=7 * self.nodes).find(fits).unwrap_or(self.nodes);
        Spec { nodes, latency, settings, ..Spec::new(entry) }
    }
}
