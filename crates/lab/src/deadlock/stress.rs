//! Stress for detectors: messages have long delays, and processes send requests and release all the
//! time, so that much received information is outdated.

use super::{Deadlock, DeadlockEntry, Settings};
use crate::deadlock::run::{Asking, Taking};
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::deadlock::{Policy, Waiting};
use quorate_journal::settings::Latency;

pub(super) fn stress_specs(entry: &'static DeadlockEntry) -> Vec<Spec<Deadlock>> {
    let millis = Duration::from_millis;
    let long_tail = Latency::LongTail { median: millis(2) };
    let wide_range = Latency::Uniform { min: Duration::from_micros(100), max: millis(50) };
    let defaults = Settings::default();
    let one_request = |nodes, processes, fan_out, share| {
        let settings = Settings { processes: Some(processes), fan_out, share, ..defaults.clone() };
        Spec { nodes, latency: wide_range, settings, ..Spec::new(entry) }
    };
    let many_requests = |nodes, rounds, victim| {
        let settings = Settings { rounds, victim: Some(victim), share: 80, ..defaults.clone() };
        Spec { nodes, latency: long_tail, settings, ..Spec::new(entry) }
    };
    let with_resources = |nodes, resources, taking, victim| {
        let settings = Settings { resources, taking, victim, rounds: 3, ..defaults.clone() };
        Spec { nodes, latency: wide_range, settings, ..Spec::new(entry) }
    };
    let mut specs = vec![
        // Random graphs: every process sends one request or none, and there are no victims.
        one_request(3, 3, 2, 70),
        one_request(5, 5, 1, 95),
        one_request(4, 8, 3, 80),
        one_request(3, 12, 2, 85),
        one_request(8, 8, 3, 97),
        // Graphs that change all the time, with victims.
        many_requests(3, 4, Policy::Youngest),
        many_requests(5, 3, Policy::FewestLocks),
        many_requests(4, 4, Policy::LowestPriority),
        with_resources(2, 2, Taking::AnyOrder, None),
        with_resources(3, 2, Taking::AnyOrder, Some(Policy::FewestLocks)),
        with_resources(4, 3, Taking::AnyOrder, Some(Policy::Youngest)),
    ];
    if entry.facts.waiting.for_all() {
        specs.push(with_resources(4, 3, Taking::AtOnce, Some(Policy::Youngest)));
    }
    if entry.facts.waiting == Waiting::Either {
        let others = [Asking::Any, Asking::Mixed].into_iter().flat_map(|asking| {
            let with_asking = move |spec: Spec<Deadlock>| {
                let settings = Settings { asking: Some(asking), ..spec.settings.clone() };
                Spec { settings, ..spec }
            };
            [with_asking(one_request(5, 5, 3, 90)), with_asking(many_requests(4, 4, Policy::Youngest))]
        });
        specs.extend(others.collect::<Vec<_>>());
    }
    specs
}
