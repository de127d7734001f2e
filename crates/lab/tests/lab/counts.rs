//! Expected message counts and delays of `central` and `ricart-agrawala`, which runs match exactly.

use crate::common::run_to_completion;
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_lab::experiment::Outcome;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::{LinkChoice, Mutex, Spec};

/// The number of entries in a run by default.
const DEFAULT_ENTRIES: u64 = 10;

const PATTERNS: [Pattern; 3] = [Pattern::Single, Pattern::All, Pattern::Random];

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn latencies() -> [Latency; 3] {
    [
        Latency::Fixed(millis(1)),
        Latency::Uniform { min: millis(1), max: millis(5) },
        Latency::LongTail { median: millis(2) },
    ]
}

fn settings(entries: u64, workload: Pattern) -> Settings {
    Settings { entries, workload, ..Settings::default() }
}

fn run(spec: &Spec) -> Outcome<Mutex> {
    let outcome = run_to_completion(spec);
    assert_eq!(outcome.summary.entries, spec.settings.entries, "replay: {}", spec.command("sim"));
    outcome
}

/// Runs the algorithm in groups of 2 to 64 nodes with every workload and latency of this file, and
/// passes each outcome to `check`.
fn for_every_group(algorithm: &str, mut check: impl FnMut(&Spec, &Outcome<Mutex>)) {
    for nodes in 2..=64 {
        for workload in PATTERNS {
            for latency in latencies() {
                let spec = Spec {
                    nodes,
                    latency,
                    seed: nodes as u64,
                    settings: settings(12, workload),
                    ..Spec::named(algorithm).unwrap()
                };
                check(&spec, &run(&spec));
            }
        }
    }
}

#[test]
fn ricart_agrawala_takes_exactly_two_messages_per_peer() {
    for_every_group("ricart-agrawala", |spec, outcome| {
        let peers = spec.nodes as u64 - 1;
        assert_eq!(outcome.messages.total, 2 * peers * spec.settings.entries, "replay: {}", spec.command("sim"));
        assert_eq!(outcome.messages.by_kind["request"], peers * spec.settings.entries);
        assert_eq!(outcome.messages.by_kind["reply"], peers * spec.settings.entries);
        assert_eq!(outcome.messages.control, 0);
    });
}

#[test]
fn central_takes_three_messages_and_none_for_the_coordinators_own_entries() {
    for_every_group("central", |spec, outcome| {
        let summary = &outcome.summary;
        let (others, coordinator) = (summary.other_nodes.as_ref().unwrap(), summary.coordinator.as_ref().unwrap());
        assert_eq!(others.entries + coordinator.entries, spec.settings.entries);
        assert_eq!(outcome.messages.total, 3 * others.entries, "replay: {}", spec.command("sim"));
        assert_eq!(others.messages_per_entry, (others.entries > 0).then_some(3.0));
        assert_eq!(coordinator.messages_per_entry, (coordinator.entries > 0).then_some(0.0));
    });
}

#[test]
fn a_coordinator_that_alone_requests_entry_sends_nothing() {
    for nodes in [1, 2, 9] {
        let settings = Settings { requesters: vec![NodeId::from_index(0)], ..Settings::default() };
        let outcome = run(&Spec { nodes, settings, ..Spec::named("central").unwrap() });
        assert_eq!(outcome.messages.total, 0);
        assert_eq!(outcome.summary.coordinator.expect("a coordinator").entries, DEFAULT_ENTRIES);
    }
}

/// Asserts the client delay with one requester, and the synchronization delay if every node
/// requests entry, in units of the message delay.
fn assert_delays_match_the_literature(sizes: impl Iterator<Item = usize> + Clone) {
    for (algorithm, client_delay, sync_delay) in [("ricart-agrawala", 2.0, 1.0), ("central", 2.0, 2.0)] {
        for nodes in sizes.clone() {
            for length in [Duration::from_micros(250), millis(1), millis(7)] {
                let latency = Latency::Fixed(length);
                let spec = |workload| Spec {
                    nodes,
                    latency,
                    settings: settings(nodes as u64, workload),
                    ..Spec::named(algorithm).unwrap()
                };
                let alone = run(&spec(Pattern::Single));
                let delay = alone.summary.client_delay.expect("a client delay");
                assert_eq!((delay.mean, delay.max, delay.samples), (client_delay, client_delay, nodes as u64));
                let contended = run(&spec(Pattern::All));
                let delay = contended.summary.sync_delay.expect("a synchronization delay");
                assert_eq!((delay.mean, delay.max), (sync_delay, sync_delay));
            }
        }
    }
}

#[test]
fn delays_match_the_literature_under_fixed_latency() {
    assert_delays_match_the_literature((3..=9).chain([16, 33]));
}

#[test]
#[ignore = "long: ./check long"]
fn delays_match_the_literature_in_every_size_under_fixed_latency() {
    assert_delays_match_the_literature(3..=64);
}

#[test]
fn delays_hold_for_random_requests() {
    for (algorithm, client_delay, sync_delay) in [("ricart-agrawala", 2.0, 1.0), ("central", 2.0, 2.0)] {
        let (mut client_samples, mut sync_samples) = (0, 0);
        for seed in 0..40 {
            let latency = Latency::Fixed(millis(1));
            let settings = settings(60, Pattern::Random);
            let outcome = run(&Spec { nodes: 5, latency, seed, settings, ..Spec::named(algorithm).unwrap() });
            if let Some(delay) = outcome.summary.client_delay {
                assert_eq!((delay.mean, delay.max), (client_delay, client_delay), "seed {seed}");
                client_samples += delay.samples;
            }
            if let Some(delay) = outcome.summary.sync_delay {
                assert_eq!((delay.mean, delay.max), (sync_delay, sync_delay), "seed {seed}");
                sync_samples += delay.samples;
            }
        }
        assert!(
            client_samples > 50 && sync_samples > 50,
            "only {client_samples} client and {sync_samples} sync delays"
        );
    }
}

/// Reliable links add acknowledgements, which the expected counts do not include.
#[test]
fn reliable_links_add_control_traffic_only() {
    for nodes in [2, 3, 8, 33] {
        let links = LinkChoice::Reliable;
        let outcome = run(&Spec { nodes, links, fifo: true, ..Spec::named("ricart-agrawala").unwrap() });
        assert_eq!(outcome.messages.total, 2 * (nodes as u64 - 1) * DEFAULT_ENTRIES);
        assert_eq!(outcome.messages.control, outcome.messages.total, "one acknowledgement per message");
        // Where messages can be lost, links are reliable by default.
        let lossy = Spec { nodes, loss: "0.2".parse().expect("a chance"), ..Spec::named("ricart-agrawala").unwrap() };
        let outcome = run(&lossy);
        assert_eq!(outcome.messages.total, 2 * (nodes as u64 - 1) * DEFAULT_ENTRIES, "retransmissions do not count");
        assert!(outcome.messages.control > outcome.messages.total);
    }
}

#[test]
fn the_coordinator_is_the_bottleneck_and_peers_share_equally() {
    let central = run(&Spec { nodes: 8, settings: settings(80, Pattern::All), ..Spec::named("central").unwrap() });
    assert_eq!(central.messages.busiest_share, 1.0);
    let peers =
        run(&Spec { nodes: 8, settings: settings(80, Pattern::All), ..Spec::named("ricart-agrawala").unwrap() });
    assert_eq!(peers.messages.busiest_share, 0.25, "two of eight nodes send or receive each message");
}
