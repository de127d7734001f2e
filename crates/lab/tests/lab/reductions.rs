//! Simulated reductions: an election by a lock (`by-mutex`), a lock by elections
//! (`mutex-by-election`), consensus by an election (`consensus-by-election`).

use crate::common::{assert_every_seed_holds, election, parse, run, run_to_completion};
use quorate_core::NodeId;
use quorate_lab::election::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::{Mutex, Spec, mutex};

const LATENCIES: [&str; 3] = ["fixed:1ms", "uniform:1ms..5ms", "long-tail:2ms"];

#[test]
fn by_mutex_the_first_requester_leads_for_three_messages_per_peer() {
    for nodes in 1..=30 {
        for (starters, leader) in [("lowest", 1), ("highest", nodes), ("successor-of-highest", 1)] {
            let outcome = run_to_completion(&Spec {
                latency: parse("uniform:1ms..5ms"),
                ..election("by-mutex", nodes, starters)
            });
            let (summary, peers) = (outcome.summary, nodes as u64 - 1);
            assert_eq!(summary.leader, Some(NodeId::from_index(leader - 1)), "the rank must not decide the winner");
            assert_eq!((summary.election_messages, summary.announcement_messages), (2 * peers, peers));
            assert_eq!(summary.rounds, 1);
        }
    }
}

#[test]
fn by_mutex_several_starters_and_false_alarms_end_with_one_leader() {
    for latency in LATENCIES {
        for (nodes, starters) in [(2, "all"), (5, "all"), (9, "all"), (5, "2,4")] {
            assert_every_seed_holds(&Spec { latency: parse(latency), ..election("by-mutex", nodes, starters) }, 150);
        }
        let false_alarms =
            "campaign 1 at 0ms\ncampaign 3 at 4ms\ncampaign 2 at 40ms\ncampaign 4 at 41ms\ncampaign 3 at 42ms";
        let script = Some(parse(false_alarms));
        assert_every_seed_holds(&Spec { latency: parse(latency), script, ..election("by-mutex", 4, "all") }, 150);
    }
    assert_every_seed_holds(
        &Spec { loss: parse("0.2"), duplicate: parse("0.2"), ..election("by-mutex", 4, "all") },
        100,
    );
}

/// A crashed node blocks the lock that the election uses, so no node becomes leader.
#[test]
fn by_mutex_one_crashed_node_blocks_the_election() {
    let spec = Spec { faults: vec![parse("crash 2")], ..election("by-mutex", 3, "all") };
    let outcome = run(&spec);
    assert_eq!(outcome.violated_verdicts().map(|verdict| verdict.name).collect::<Vec<_>>(), ["agreed"]);
    assert_eq!(outcome.summary.leader, None);
}

#[test]
fn consensus_costs_an_election_and_one_message_per_peer() {
    for nodes in 1..=20 {
        let summary_of =
            |name| run_to_completion(&Spec { latency: parse("fixed:1ms"), ..election(name, nodes, "lowest") }).summary;
        let (plain, decided) = (summary_of("chang-roberts"), summary_of("consensus-by-election"));
        assert_eq!((decided.leader, decided.epoch), (plain.leader, plain.epoch));
        assert_eq!(decided.election_messages, plain.election_messages);
        assert_eq!(decided.announcement_messages, plain.announcement_messages + nodes as u64 - 1);
    }
}

#[test]
fn all_live_nodes_reach_consensus_with_any_starters_and_crash() {
    for latency in LATENCIES {
        for (nodes, starters) in [(3, "all"), (5, "all"), (7, "2,5")] {
            let base = Spec { latency: parse(latency), ..election("consensus-by-election", nodes, starters) };
            assert_every_seed_holds(&base, 100);
            let settings = Settings { attribute: parse("random"), order: parse("random"), ..base.settings.clone() };
            assert_every_seed_holds(&Spec { settings, random_faults: parse("crash=1"), ..base }, 100);
        }
    }
}

fn lock_spec(nodes: usize, entries: u64, workload: Pattern) -> Spec<Mutex> {
    let settings = mutex::Settings { entries, workload, ..mutex::Settings::default() };
    Spec { nodes, settings, ..Spec::named("mutex-by-election").unwrap() }
}

#[test]
fn mutex_by_election_costs_one_round_per_entry_without_contention() {
    for nodes in 2..=24 {
        for latency in LATENCIES {
            let outcome = run_to_completion(&Spec { latency: parse(latency), ..lock_spec(nodes, 6, Pattern::Single) });
            // Each of the 6 entries costs one round of 3n − 2 messages.
            assert_eq!(outcome.messages.total, 6 * (3 * nodes as u64 - 2), "{nodes} nodes, {latency}");
        }
        // The winner's rank travels around the ring in n messages. A synchronization delay also
        // includes the message that ends the previous round.
        let single_requester =
            run_to_completion(&Spec { latency: parse("fixed:1ms"), ..lock_spec(nodes, 6, Pattern::Single) });
        let delay = single_requester.summary.client_delay.expect("a client delay");
        assert_eq!((delay.mean, delay.max), (nodes as f64, nodes as f64));
        let contended =
            run_to_completion(&Spec { latency: parse("fixed:1ms"), ..lock_spec(nodes, nodes as u64, Pattern::All) });
        let delay = contended.summary.sync_delay.expect("a synchronization delay");
        assert_eq!((delay.mean, delay.max), (nodes as f64 + 1.0, nodes as f64 + 1.0));
    }
}

/// No property is violated in workloads with several requesters.
#[test]
fn mutex_by_election_serves_every_requester_in_turn() {
    for latency in LATENCIES {
        for (nodes, workload) in [(2, Pattern::All), (5, Pattern::All), (5, Pattern::Random), (9, Pattern::Random)] {
            assert_every_seed_holds(&Spec { latency: parse(latency), ..lock_spec(nodes, 40, workload) }, 60);
        }
    }
    assert_every_seed_holds(
        &Spec { loss: parse("0.2"), duplicate: parse("0.2"), ..lock_spec(4, 20, Pattern::All) },
        40,
    );
}
