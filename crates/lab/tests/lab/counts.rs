//! Expected message counts, matched exactly: every group from 2 to 64 nodes, every workload, no
//! faults.

use crate::common::run_to_completion;
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_lab::experiment::Outcome;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::{LinkChoice, Mutex, Spec};

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

fn asks(entries: u64, workload: Pattern) -> Settings {
    Settings { entries, workload, ..Settings::default() }
}

fn run(spec: &Spec) -> Outcome<Mutex> {
    let outcome = run_to_completion(spec);
    assert_eq!(outcome.summary.entries, spec.settings.entries, "replay: {}", spec.command("sim"));
    outcome
}

fn every_group(algorithm: &str, mut check: impl FnMut(&Spec, &Outcome<Mutex>)) {
    for nodes in 2..=64 {
        for workload in PATTERNS {
            for latency in latencies() {
                let spec = Spec {
                    nodes,
                    latency,
                    seed: nodes as u64,
                    settings: asks(12, workload),
                    ..Spec::named(algorithm).unwrap()
                };
                check(&spec, &run(&spec));
            }
        }
    }
}

#[test]
fn ricart_agrawala_takes_exactly_two_messages_per_peer() {
    every_group("ricart-agrawala", |spec, outcome| {
        let peers = spec.nodes as u64 - 1;
        assert_eq!(outcome.messages.total, 2 * peers * spec.settings.entries, "replay: {}", spec.command("sim"));
        assert_eq!(outcome.messages.by_kind["request"], peers * spec.settings.entries);
        assert_eq!(outcome.messages.by_kind["reply"], peers * spec.settings.entries);
        assert_eq!(outcome.messages.control, 0);
    });
}

#[test]
fn central_takes_three_messages_and_none_for_the_coordinators_own_entries() {
    every_group("central", |spec, outcome| {
        let (others, own) = (outcome.summary.others.expect("others"), outcome.summary.own.expect("own"));
        assert_eq!(others.entries + own.entries, spec.settings.entries);
        assert_eq!(outcome.messages.total, 3 * others.entries, "replay: {}", spec.command("sim"));
        assert_eq!(others.messages_per_entry, (others.entries > 0).then_some(3.0));
        assert_eq!(own.messages_per_entry, (own.entries > 0).then_some(0.0));
    });
}

#[test]
fn a_coordinator_alone_sends_nothing() {
    for nodes in [1, 2, 9] {
        let settings = Settings { requesters: vec![NodeId::from_index(0)], ..Settings::default() };
        let outcome = run(&Spec { nodes, settings, ..Spec::named("central").unwrap() });
        assert_eq!(outcome.messages.total, 0);
        assert_eq!(outcome.summary.own.expect("own").entries, 10);
    }
}

/// Client delay with one requester; synchronization delay where every node requests entry.
fn delays_match_the_literature(sizes: impl Iterator<Item = usize> + Clone) {
    for (algorithm, client, sync) in [("ricart-agrawala", 2.0, 1.0), ("central", 2.0, 2.0)] {
        for nodes in sizes.clone() {
            for length in [Duration::from_micros(250), millis(1), millis(7)] {
                let latency = Latency::Fixed(length);
                let of = |workload| Spec {
                    nodes,
                    latency,
                    settings: asks(nodes as u64, workload),
                    ..Spec::named(algorithm).unwrap()
                };
                let alone = run(&of(Pattern::Single));
                let delay = alone.summary.client_delay.expect("a client delay");
                assert_eq!((delay.mean, delay.max, delay.samples), (client, client, nodes as u64));
                let contended = run(&of(Pattern::All));
                let delay = contended.summary.sync_delay.expect("a synchronization delay");
                assert_eq!((delay.mean, delay.max), (sync, sync));
            }
        }
    }
}

#[test]
fn delays_match_the_literature_under_fixed_latency() {
    delays_match_the_literature((3..=9).chain([16, 33]));
}

#[test]
#[ignore = "long: ./check long"]
fn delays_match_the_literature_in_every_size_under_fixed_latency() {
    delays_match_the_literature(3..=64);
}

#[test]
fn delays_hold_for_any_mixture_of_requests() {
    for (algorithm, client, sync) in [("ricart-agrawala", 2.0, 1.0), ("central", 2.0, 2.0)] {
        let (mut clients, mut syncs) = (0, 0);
        for seed in 0..40 {
            let latency = Latency::Fixed(millis(1));
            let settings = asks(60, Pattern::Random);
            let outcome = run(&Spec { nodes: 5, latency, seed, settings, ..Spec::named(algorithm).unwrap() });
            if let Some(delay) = outcome.summary.client_delay {
                assert_eq!((delay.mean, delay.max), (client, client), "seed {seed}");
                clients += delay.samples;
            }
            if let Some(delay) = outcome.summary.sync_delay {
                assert_eq!((delay.mean, delay.max), (sync, sync), "seed {seed}");
                syncs += delay.samples;
            }
        }
        assert!(clients > 50 && syncs > 50, "{clients} client and {syncs} synchronization delays are too few");
    }
}

/// Reliable links add acknowledgements, which the expected counts do not include.
#[test]
fn reliable_links_add_control_traffic_only() {
    for nodes in [2, 3, 8, 33] {
        let links = LinkChoice::Reliable;
        let outcome = run(&Spec { nodes, links, fifo: true, ..Spec::named("ricart-agrawala").unwrap() });
        assert_eq!(outcome.messages.total, 2 * (nodes as u64 - 1) * 10);
        assert_eq!(outcome.messages.control, outcome.messages.total, "one acknowledgement per message");
        let lossy = Spec { nodes, loss: "0.2".parse().expect("a chance"), ..Spec::named("ricart-agrawala").unwrap() };
        let outcome = run(&lossy);
        assert_eq!(outcome.messages.total, 2 * (nodes as u64 - 1) * 10, "retransmissions do not count");
        assert!(outcome.messages.control > outcome.messages.total);
    }
}

#[test]
fn the_coordinator_is_the_bottleneck_and_peers_share_equally() {
    let central = run(&Spec { nodes: 8, settings: asks(80, Pattern::All), ..Spec::named("central").unwrap() });
    assert_eq!(central.messages.busiest_share, 1.0);
    let peers = run(&Spec { nodes: 8, settings: asks(80, Pattern::All), ..Spec::named("ricart-agrawala").unwrap() });
    assert_eq!(peers.messages.busiest_share, 0.25, "two of eight touch each message");
}
