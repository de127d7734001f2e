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
    let tail = Latency::LongTail { median: millis(2) };
    let wide = Latency::Uniform { min: Duration::from_micros(100), max: millis(50) };
    let defaults = Settings::default();
    let one_request = |nodes, processes, fan_out, share| {
        let settings = Settings { processes: Some(processes), fan_out, share, ..defaults.clone() };
        Spec { nodes, latency: wide, settings, ..Spec::new(entry) }
    };
    let busy = |nodes, rounds, victim| {
        let settings = Settings { rounds, victim: Some(victim), share: 80, ..defaults.clone() };
        Spec { nodes, latency: tail, settings, ..Spec::new(entry) }
    };
    let taking = |nodes, resources, taking, victim| {
        let settings = Settings { resources, taking, victim, rounds: 3, ..defaults.clone() };
        Spec { nodes, latency: wide, settings, ..Spec::new(entry) }
    };
    let mut all = vec![
        // Random graphs: every process sends one request or none, and there are no victims.
        one_request(3, 3, 2, 70),
        one_request(5, 5, 1, 95),
        one_request(4, 8, 3, 80),
        one_request(3, 12, 2, 85),
        one_request(8, 8, 3, 97),
        // Graphs that change all the time, with victims.
        busy(3, 4, Policy::Youngest),
        busy(5, 3, Policy::FewestLocks),
        busy(4, 4, Policy::LowestPriority),
        taking(2, 2, Taking::AnyOrder, None),
        taking(3, 2, Taking::AnyOrder, Some(Policy::FewestLocks)),
        taking(4, 3, Taking::AnyOrder, Some(Policy::Youngest)),
    ];
    if entry.facts.waiting.for_all() {
        all.push(taking(4, 3, Taking::AtOnce, Some(Policy::Youngest)));
    }
    if entry.facts.waiting == Waiting::Either {
        let others = [Asking::Any, Asking::Mixed].into_iter().flat_map(|asking| {
            let with = move |spec: Spec<Deadlock>| {
                let settings = Settings { asking: Some(asking), ..spec.settings.clone() };
                Spec { settings, ..spec }
            };
            [with(one_request(5, 5, 3, 90)), with(busy(4, 4, Policy::Youngest))]
        });
        all.extend(others.collect::<Vec<_>>());
    }
    all
}
