//! Stress for deadlock detectors: messages have long delays, and in many cases processes request
//! and release again and again, so that much of the information that sites receive is outdated.

use super::{Deadlock, DeadlockEntry, Settings};
use crate::deadlock::run::{AcquireMode, WaitMode};
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::deadlock::{Policy, Waiting};
use quorate_journal::settings::Latency;

pub(super) fn stress_specs(entry: &'static DeadlockEntry) -> Vec<Spec<Deadlock>> {
    let millis = Duration::from_millis;
    let long_tail = Latency::LongTail { median: millis(2) };
    let wide_range = Latency::Uniform { min: Duration::from_micros(100), max: millis(50) };
    let defaults = Settings::default();
    let one_request = |nodes, processes, fan_out, request_percent| {
        let settings = Settings { processes: Some(processes), fan_out, request_percent, ..defaults.clone() };
        Spec { nodes, latency: wide_range, settings, ..Spec::new(entry) }
    };
    let many_requests = |nodes, rounds, victim| {
        let settings = Settings { rounds, victim: Some(victim), request_percent: 80, ..defaults.clone() };
        Spec { nodes, latency: long_tail, settings, ..Spec::new(entry) }
    };
    let with_resources = |nodes, resources, acquire_mode, victim| {
        let settings = Settings { resources, acquire_mode, victim, rounds: 3, ..defaults.clone() };
        Spec { nodes, latency: wide_range, settings, ..Spec::new(entry) }
    };
    let mut specs = vec![
        // Random graphs. Parameters: nodes, processes, fan-out, probability of a request in
        // percent. Every process sends one request or none, and there are no victims.
        one_request(3, 3, 2, 70),
        one_request(5, 5, 1, 95),
        one_request(4, 8, 3, 80),
        one_request(3, 12, 2, 85),
        one_request(8, 8, 3, 97),
        // Graphs that change all the time, with victims. Parameters: nodes, rounds, victim policy.
        many_requests(3, 4, Policy::Youngest),
        many_requests(5, 3, Policy::FewestLocks),
        many_requests(4, 4, Policy::LowestPriority),
        // Processes that acquire resources in three rounds. Parameters: nodes, resources, how to
        // acquire them, victim policy.
        with_resources(2, 2, AcquireMode::AnyOrder, None),
        with_resources(3, 2, AcquireMode::AnyOrder, Some(Policy::FewestLocks)),
        with_resources(4, 3, AcquireMode::AnyOrder, Some(Policy::Youngest)),
    ];
    if entry.facts.waiting.supports_all() {
        specs.push(with_resources(4, 3, AcquireMode::AtOnce, Some(Policy::Youngest)));
    }
    if entry.facts.waiting == Waiting::Either {
        let with_other_modes = [WaitMode::Any, WaitMode::Mixed].into_iter().flat_map(|mode| {
            let with_mode = move |spec: Spec<Deadlock>| {
                let settings = Settings { wait_mode: Some(mode), ..spec.settings.clone() };
                Spec { settings, ..spec }
            };
            [with_mode(one_request(5, 5, 3, 90)), with_mode(many_requests(4, 4, Policy::Youngest))]
        });
        specs.extend(with_other_modes.collect::<Vec<_>>());
    }
    specs
}
