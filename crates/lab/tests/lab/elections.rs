//! Simulated runs of `raft`: message counts, thousands of random runs with faults, journals that
//! replay, and invalid input.

use crate::common::{
    assert_every_seed_holds, assert_repeatable, election, parse, run, run_recorded, run_without_violations,
};
use quorate_core::{Duration, Epoch, NodeId};
use quorate_journal::record::Journal;
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;
use quorate_lab::AlgorithmError;
use quorate_lab::check::CheckSpecError;
use quorate_lab::check::{self, CheckSpec};
use quorate_lab::experiment::Outcome;
use quorate_lab::{Election, LabError, LinkChoice, Mutex, Spec, replay};

fn raft(nodes: usize, starters: &str) -> Spec<Election> {
    election("raft", nodes, starters)
}

fn latencies() -> [Latency; 3] {
    [parse("fixed:1ms"), parse("uniform:1ms..5ms"), parse("long-tail:2ms")]
}

/// Runs an election that this node, counted from 1, must win in the first round.
fn run_won_by(spec: &Spec<Election>, leader: usize) -> Outcome<Election> {
    let outcome = run_without_violations(spec);
    assert_eq!(outcome.summary.leader, Some(NodeId::from_index(leader - 1)), "a single starter must win");
    assert_eq!((outcome.summary.rounds, outcome.ending), (1, Ending::Done), "replay: {}", spec.command("sim"));
    outcome
}

/// The values of `--starters` that let one node start, each with that node, counted from 1.
fn single_starters(nodes: usize) -> [(&'static str, usize); 3] {
    [("lowest", 1), ("highest", nodes), ("successor-of-highest", 1)]
}

/// 2(n−1) messages to elect and n−1 to announce, whichever node starts.
#[test]
fn raft_takes_two_messages_per_peer_and_one_to_announce() {
    for nodes in 1..=49 {
        for (starters, leader) in single_starters(nodes) {
            for latency in ["fixed:1ms", "fixed:30us", "fixed:2s", "uniform:1ms..5ms"] {
                let spec = Spec { latency: parse(latency), seed: nodes as u64, ..raft(nodes, starters) };
                let outcome = run_won_by(&spec, leader);
                let (summary, peers) = (outcome.summary, nodes as u64 - 1);
                let messages = (summary.election_messages, summary.announcement_messages);
                assert_eq!(messages, (2 * peers, peers), "replay: {}", spec.command("sim"));
                assert_eq!(outcome.messages.total, 3 * peers, "there are no other messages");
            }
        }
    }
}

/// A vote round trip and an announcement take 3T in groups of two and more nodes.
#[test]
fn raft_takes_three_message_delays() {
    for nodes in 1..=49 {
        for delay in [Duration::from_micros(250), Duration::from_millis(7)] {
            let summary = run(&Spec { latency: Latency::Fixed(delay), ..raft(nodes, "lowest") }).summary;
            assert_eq!((summary.time, summary.time_unit), (Some(if nodes == 1 { 0.0 } else { 3.0 }), "T"));
        }
    }
}

#[test]
fn messages_to_crashed_nodes_count_and_live_nodes_agree() {
    for nodes in 3..=20 {
        let faults = vec![parse(&format!("crash {nodes}"))];
        let outcome = run_without_violations(&Spec { faults, latency: parse("fixed:1ms"), ..raft(nodes, "highest") });
        let (summary, peers) = (outcome.summary, nodes as u64 - 1);
        assert_eq!(summary.leader, Some(NodeId::from_index(nodes - 2)), "the highest live node starts");
        // A crashed node does not reply. The announcement to it may be repeated.
        assert_eq!(summary.election_messages, 2 * peers - 1);
        assert!(summary.announcement_messages >= peers, "{summary:?}");
    }
}

#[test]
fn crashes_and_partitions_end_with_one_leader_known_to_all() {
    for (nodes, starters) in [(3, "all"), (5, "all"), (5, "lowest"), (4, "2,3")] {
        assert_every_seed_holds(&Spec { random_faults: parse("crash=1,cut=1"), ..raft(nodes, starters) }, 500);
    }
}

#[test]
fn elections_survive_many_kinds_of_faults_at_once() {
    let random_faults = parse("crash=2,cut=2,pause=2,deaf=2,skew=2,drift=2");
    let base = Spec { random_faults, loss: parse("0.1"), duplicate: parse("0.1"), ..raft(5, "all") };
    for latency in latencies() {
        assert_every_seed_holds(&Spec { latency, disk: parse("uniform:0ms..4ms"), ..base.clone() }, 200);
    }
    assert_every_seed_holds(&Spec { links: LinkChoice::Reliable, ..base }, 200);
}

/// The leader crashes after every node knows it. Clients notice the crash, and the group elects a
/// new leader in a later epoch.
#[test]
fn a_crashed_leader_is_replaced() {
    for seed in 0..50 {
        let without_crash = run(&Spec { seed, ..raft(5, "lowest") }).summary;
        let faults = vec![parse("crash 1 at 1s")];
        let outcome = run_without_violations(&Spec { seed, faults, ..raft(5, "lowest") });
        assert_eq!(without_crash.leader, Some(NodeId::from_index(0)));
        assert_eq!(outcome.summary.leader, Some(NodeId::from_index(1)), "the lowest live node starts");
        assert!(outcome.summary.epoch > without_crash.epoch);
    }
}

/// Candidates that can never win retry forever, so the simulator stops the run.
#[test]
fn without_a_majority_no_leader_is_elected_and_the_run_ends() {
    let faults = ["crash 3", "crash 4", "crash 5"].map(parse).to_vec();
    let outcome = run(&Spec { faults, ..raft(5, "all") });
    assert_eq!((outcome.ending, outcome.summary.leader), (Ending::Stopped, None));
    let violations: Vec<_> = outcome.violated_verdicts().map(|violation| violation.name).collect();
    assert_eq!(violations, ["agreed"]);
}

#[test]
fn a_needless_campaign_starts_an_election_in_a_later_epoch() {
    let script = parse("campaign 1 at 0ms\ncampaign 3 at 200ms\n");
    let summary = run_without_violations(&Spec { script: Some(script), ..raft(3, "all") }).summary;
    assert_eq!((summary.leader, summary.rounds), (Some(NodeId::from_index(2)), 2));
    // Two elections, each with 2·2 messages to elect and 2 to announce.
    assert_eq!((summary.election_messages, summary.announcement_messages), (2 * 4, 2 * 2));
}

fn replayed_specs() -> Vec<Spec<Election>> {
    let faults = ["crash 2 at 9ms for 30ms", "cut 1 | rest at 20ms for 40ms", "pause 3 at 5ms for 9ms"];
    let with_faults = Spec { faults: faults.map(parse).to_vec(), loss: parse("0.1"), fifo: true, ..raft(4, "all") };
    vec![raft(5, "lowest"), raft(3, "all"), Spec { disk: parse("fixed:1ms"), ..with_faults }]
}

#[test]
fn every_journal_replays_with_the_same_verdicts() {
    for spec in replayed_specs() {
        assert_repeatable(&spec);
    }
}

#[test]
fn a_header_with_invalid_settings_or_of_another_family_is_refused() {
    let text = String::from_utf8(run_recorded(&raft(3, "lowest")).1).unwrap();
    let replay_error = |from: &str, to: &str| {
        let altered = text.replacen(from, to, 1);
        assert_ne!(text, altered);
        let mut journal = Journal::open(altered.as_bytes()).unwrap();
        match replay::replay::<Election, _, _>(&mut journal, ()) {
            Ok(_) => panic!("the journal replayed with {to}"),
            Err(error) => error.to_string(),
        }
    };
    assert!(
        replay_error("\"starters\":\"lowest\"", "\"entries\":3,\"starters\":\"lowest\"")
            .contains("unknown field `entries`")
    );
    assert!(
        replay_error("\"starters\":\"lowest\"", "\"starters\":\"9\"")
            .contains("--starters must name nodes of the group; got node 9")
    );
    assert!(replay_error("\"starters\":\"lowest\",", "").contains("missing field `starters`"));
    let mut journal = Journal::open(text.as_bytes()).unwrap();
    let Err(error) = replay::replay::<Mutex, _, _>(&mut journal, ()) else {
        panic!("the journal of an election replayed as mutual exclusion")
    };
    assert!(matches!(error, LabError::Header(_)), "{error}");
}

#[test]
fn an_algorithm_of_another_family_is_refused() {
    let Err(error) = Spec::<Mutex>::named("raft") else { panic!("raft was accepted as mutual exclusion") };
    assert!(matches!(error, LabError::Algorithm(AlgorithmError::OtherFamily { .. })), "{error}");
    let Err(error) = Spec::<Election>::named("central") else { panic!("central was accepted as an election") };
    assert!(error.to_string().contains("'central' is of the mutex family"), "{error}");
}

/// The check is refused before the search begins.
#[test]
fn an_algorithm_whose_nodes_cannot_be_cloned_cannot_be_checked() {
    let mut progress_reports = 0;
    let Err(error) = check::run(&CheckSpec::<Election>::named("raft").unwrap(), &mut |_, _| {
        progress_reports += 1;
        true
    }) else {
        panic!("raft was checked")
    };
    assert!(matches!(error, LabError::CheckSpec(CheckSpecError::NotCheckable { .. })), "{error}");
    assert_eq!(progress_reports, 0);
}

#[test]
fn the_printed_command_contains_the_starters() {
    let spec = Spec { seed: 9, loss: parse("0.1"), ..raft(5, "2,4-5") };
    assert_eq!(spec.command("sim"), "quorate sim raft --nodes 5 --seed 9 --starters 2,4,5 --loss 0.1");
    // These starters also elect a leader.
    assert!(run(&Spec { loss: parse("0"), ..spec }).summary.epoch >= Some(Epoch(1)));
}
