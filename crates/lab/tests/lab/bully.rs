//! Simulated runs of the bully algorithm: message counts, and thousands of random runs with crashes
//! and restarts.

use crate::common::{assert_no_seed_fails, election, parse, run_to_completion, stress_specs};
use quorate_core::election::{Case, Preference, Repair, Starting, bully};
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Latency, TimedFault};
use quorate_lab::election::Settings;
use quorate_lab::{Election, Spec};

fn bully(nodes: usize, starters: &str) -> Spec<Election> {
    Spec { latency: parse("fixed:1ms"), ..election("bully", nodes, starters) }
}

/// Crashes the highest node before the run begins.
fn with_highest_crashed(spec: Spec<Election>) -> Spec<Election> {
    Spec { faults: vec![parse(&format!("crash {}", spec.nodes))], ..spec }
}

/// Runs an election, and returns how many election and announcement messages it took.
fn count_messages(spec: &Spec<Election>) -> u64 {
    let summary = run_to_completion(spec).summary;
    assert_eq!(summary.rounds, 1, "replay: {}", spec.command("sim"));
    summary.election_messages + summary.announcement_messages
}

/// The expected number of messages of an election; panics unless the literature gives an exact one.
fn expected_messages(live: usize, dead: usize, starting: Starting) -> u64 {
    let expected = (bully::FACTS.cost.expected_messages)(&Case { live_nodes: live, dead_nodes: dead, starting })
        .expect("an expected cost");
    assert_eq!(expected.min, expected.max);
    expected.max.expect("a number") as u64
}

const LATENCIES: [&str; 4] = ["fixed:1ms", "fixed:30us", "uniform:1ms..5ms", "uniform:0ms..9ms"];

#[test]
fn a_start_by_the_next_highest_takes_n_minus_2_messages_and_at_most_one_delay() {
    for nodes in 2..=40 {
        let spec = with_highest_crashed(bully(nodes, "highest"));
        assert_eq!(count_messages(&spec), nodes as u64 - 2);
        assert_eq!(expected_messages(nodes - 1, 1, Starting::Highest), nodes as u64 - 2);
        assert_eq!(run_to_completion(&spec).summary.time, Some(if nodes == 2 { 0.0 } else { 1.0 }));
    }
}

#[test]
fn a_start_by_the_lowest_with_the_highest_down_takes_n_squared_minus_n_minus_1_messages() {
    for (nodes, latency) in (3..=40).flat_map(|nodes| LATENCIES.map(|latency| (nodes, latency))) {
        let spec = Spec { latency: parse(latency), ..with_highest_crashed(bully(nodes, "lowest")) };
        let (n, summary) = (nodes as u64, run_to_completion(&spec).summary);
        assert_eq!(count_messages(&spec), n * n - n - 1, "{nodes} nodes, {latency}");
        assert_eq!(expected_messages(nodes - 1, 1, Starting::Lowest), n * n - n - 1);
        assert_eq!(summary.announcement_messages, n - 2);
        // Each of the n − 1 live nodes asks all higher nodes, and the live ones among them answer.
        assert_eq!(summary.election_messages, n * (n - 1) / 2 + (n - 1) * (n - 2) / 2);
    }
}

/// The highest live node receives a message after one delay and waits two more for the crashed
/// node's answer; its announcement takes one.
#[test]
fn a_start_by_the_lowest_with_the_highest_down_takes_four_message_delays() {
    for nodes in 3..=40 {
        assert_eq!(run_to_completion(&with_highest_crashed(bully(nodes, "lowest"))).summary.time, Some(4.0));
    }
}

#[test]
fn a_single_live_node_sends_nothing() {
    for starters in ["lowest", "highest", "all"] {
        assert_eq!(count_messages(&with_highest_crashed(bully(2, starters))), 0);
    }
    let cases = [Starting::Lowest, Starting::Highest, Starting::All, Starting::One];
    assert!(
        cases
            .into_iter()
            .all(|starting| expected_messages(1, 1, starting) == 0 && expected_messages(1, 0, starting) == 0)
    );
}

#[test]
fn with_all_nodes_alive_the_highest_takes_n_minus_1_messages_and_the_lowest_or_all_n_squared_minus_1() {
    for nodes in 1..=40 {
        let n = nodes as u64;
        assert_eq!(count_messages(&bully(nodes, "highest")), n - 1);
        assert_eq!(expected_messages(nodes, 0, Starting::Highest), n - 1);
        assert_eq!(count_messages(&bully(nodes, "lowest")), n * n - 1);
        for latency in LATENCIES {
            assert_eq!(count_messages(&Spec { latency: parse(latency), ..bully(nodes, "all") }), n * n - 1);
        }
        assert_eq!(expected_messages(nodes, 0, Starting::All), n * n - 1);
    }
}

/// One message fewer than if the lowest starts. The highest live node suspects the only node above
/// it, so it announces its victory at once; the others have more nodes to ask.
#[test]
fn when_all_start_only_the_highest_live_node_does_not_ask_the_crashed_node() {
    for (nodes, latency) in (3..=40).flat_map(|nodes| LATENCIES.map(|latency| (nodes, latency))) {
        let spec = Spec { latency: parse(latency), ..with_highest_crashed(bully(nodes, "all")) };
        let n = nodes as u64;
        assert_eq!(count_messages(&spec), n * n - n - 2);
        assert_eq!(expected_messages(nodes - 1, 1, Starting::All), n * n - n - 2);
    }
}

/// One or two nodes start, and random delays vary the order of arrival.
#[test]
fn every_run_stays_within_the_expected_bounds_and_elects_the_highest_live_node() {
    for (nodes, seed) in (2..=9).flat_map(|nodes| (0..40).map(move |seed| (nodes, seed))) {
        for (starters, starting) in [("lowest", Starting::Lowest), ("1-2", Starting::Several(2)), ("2", Starting::One)]
        {
            for crashes_highest in [false, true] {
                let alive = Spec { seed, latency: parse("uniform:0ms..9ms"), ..bully(nodes, starters) };
                // In a group of two, the highest node may be the only starter.
                let spec = if crashes_highest && nodes > 2 { with_highest_crashed(alive) } else { alive };
                let dead = spec.faults.len();
                let expected = (bully::FACTS.cost.expected_messages)(&Case {
                    live_nodes: nodes - dead,
                    dead_nodes: dead,
                    starting,
                })
                .expect("known");
                let messages = count_messages(&spec) as f64;
                let is_within =
                    expected.min.is_none_or(|min| min <= messages) && messages <= expected.max.expect("a bound");
                assert!(is_within, "{messages} of {expected:?}\nreplay: {}", spec.command("sim"));
                assert_eq!(run_to_completion(&spec).summary.leader, Some(NodeId::from_index(nodes - dead - 1)));
            }
        }
    }
}

#[test]
fn the_winner_depends_on_attributes_and_not_on_the_starters() {
    for starters in ["lowest", "highest", "all", "2", "1,3", "2-4"] {
        for (attribute, prefer, leader) in [
            ("id", Preference::Highest, 5),
            ("id", Preference::Lowest, 1),
            ("7,9,9,1,2", Preference::Highest, 3),
            ("7,2,9,2,8", Preference::Lowest, 2),
        ] {
            for (seed, latency) in (0..20).flat_map(|seed| LATENCIES.map(|latency| (seed, latency))) {
                let spec = Spec { seed, latency: parse(latency), ..bully(5, starters) };
                let settings = Settings { attribute: parse(attribute), prefer, ..spec.settings.clone() };
                let summary = run_to_completion(&Spec { settings, ..spec }).summary;
                assert_eq!(summary.leader, NodeId::new(leader), "{starters} {attribute} {prefer:?}");
            }
        }
    }
}

/// Busy nodes answer late, and the timeouts allow for it.
#[test]
fn a_busy_node_is_not_suspected() {
    for (nodes, seed) in [(3, 1), (9, 2), (25, 3)] {
        for processing in ["fixed:1ms", "fixed:20ms", "uniform:0ms..5ms"] {
            let spec = Spec { seed, processing: parse(processing), ..with_highest_crashed(bully(nodes, "lowest")) };
            let n = nodes as u64;
            assert_eq!(count_messages(&spec), n * n - n - 1, "{nodes} nodes busy for {processing}");
            run_to_completion(&Spec { faults: Vec::new(), ..spec });
        }
    }
}

#[test]
fn a_crashed_leader_is_replaced_and_takes_over_after_its_restart() {
    for seed in 0..100 {
        let crash = |text: &str| vec![parse::<TimedFault>(text)];
        let settings = Settings { repair: Repair::Detector, ..bully(5, "all").settings };
        let spec = Spec { seed, latency: parse("uniform:1ms..5ms"), settings, ..bully(5, "all") };
        let without_crash = run_to_completion(&spec).summary;
        let replaced = run_to_completion(&Spec { faults: crash("crash 5 at 1s"), ..spec.clone() }).summary;
        let restarted = run_to_completion(&Spec { faults: crash("crash 5 at 1s for 1s"), ..spec }).summary;
        assert_eq!((without_crash.leader, replaced.leader), (NodeId::new(5), NodeId::new(4)));
        assert_eq!(restarted.leader, NodeId::new(5));
        assert!(without_crash.epoch < replaced.epoch && replaced.epoch < restarted.epoch);
    }
}

/// The next highest node receives the suspicion, waits until the crashed node's last messages must
/// have arrived, and announces.
#[test]
fn a_leader_known_to_have_crashed_is_not_asked_by_the_next_highest() {
    let script = parse("campaign 5 at 0ms\n");
    let faults = vec![parse("crash 5 at 100ms")];
    let summary = run_to_completion(&Spec { faults, script: Some(script), ..bully(5, "all") }).summary;
    assert_eq!((summary.leader, summary.rounds), (NodeId::new(4), 2));
    // First, node 5 announces to the four others. After its crash, all four suspect it at the same
    // time: the lower three ask every higher node, and live ones answer; node 4 announces to the
    // three.
    let (questions, answers, announcements) = (4 + 3 + 2, 3 + 2 + 1, 3);
    assert_eq!((summary.election_messages, summary.announcement_messages), (questions + answers, 4 + announcements));
}

#[test]
fn a_false_alarm_elects_the_same_leader_in_a_later_epoch() {
    for suspecting_node in 1..=4 {
        let script = parse(&format!("campaign 1 at 0ms\ncampaign {suspecting_node} at 200ms\n"));
        let summary = run_to_completion(&Spec { script: Some(script), ..bully(4, "all") }).summary;
        assert_eq!((summary.leader, summary.rounds, summary.epoch.map(|epoch| epoch.0)), (NodeId::new(4), 2, Some(2)));
    }
}

#[test]
fn optional_notices_inform_lower_nodes_and_all_nodes() {
    let base = bully(5, "3");
    let with_notices = Settings { tell_lower: true, broadcast: true, ..base.settings.clone() };
    let without_notices = run_to_completion(&base);
    let with_extra_notices = run_to_completion(&Spec { settings: with_notices.clone(), ..base });
    assert_eq!(with_extra_notices.summary.leader, NodeId::new(5));
    // Nodes 3 and 4 campaign, and notify the 2 and 3 nodes below them.
    assert_eq!((without_notices.messages.control, with_extra_notices.messages.control), (0, 2 + 3));
    let settings = Settings { starters: parse("lowest"), ..with_notices };
    let spec = Spec { settings, ..with_highest_crashed(bully(5, "lowest")) };
    assert_eq!(count_messages(&spec), 5 * 5 - 5 - 1 + 1, "the announcement goes to the crashed node too");
}

#[test]
fn crashes_and_restarts_that_leave_a_majority_end_with_one_leader_known_to_all() {
    for (nodes, starters, crashes) in
        [(3, "all", 3), (4, "2,3", 2), (5, "all", 4), (5, "lowest", 6), (7, "all", 9), (9, "highest", 8)]
    {
        let base = bully(nodes, starters);
        let settings = Settings { crashes, repair: Repair::Detector, ..base.settings.clone() };
        assert_no_seed_fails(&Spec { latency: parse("uniform:0ms..5ms"), settings, ..base }, 300);
    }
}

#[test]
fn the_bully_algorithm_survives_the_stress_experiments_for_elections() {
    for spec in stress_specs::<Election>("bully") {
        assert_no_seed_fails(&spec, 150);
    }
}

/// Optional notices, attributes, busy nodes and slow disks make no difference.
#[test]
fn crashes_are_survived_with_other_settings() {
    let base = Spec { latency: parse("uniform:0ms..5ms"), ..bully(5, "all") };
    for (tell_lower, broadcast) in [(true, false), (false, true), (true, true)] {
        let settings =
            Settings { crashes: 5, tell_lower, broadcast, prefer: Preference::Lowest, ..base.settings.clone() };
        assert_no_seed_fails(&Spec { settings, disk: parse("uniform:0ms..5ms"), ..base.clone() }, 300);
    }
    let settings = Settings { crashes: 5, attribute: parse("random"), ..base.settings.clone() };
    assert_no_seed_fails(&Spec { settings, processing: Latency::Fixed(Duration::from_millis(2)), ..base }, 300);
}

/// Crashes like those of the sweeps above cause new elections, on average more than two in each
/// run.
#[test]
fn the_sweeps_inject_faults() {
    let base = Spec { latency: parse("uniform:0ms..5ms"), ..bully(5, "all") };
    let with_faults = Spec { settings: Settings { crashes: 4, ..base.settings.clone() }, ..base.clone() };
    let total_rounds = |spec: &Spec<Election>| -> u64 {
        (0..50).map(|seed| run_to_completion(&Spec { seed, ..spec.clone() }).summary.rounds).sum()
    };
    assert_eq!(total_rounds(&base), 50);
    assert!(total_rounds(&with_faults) > 150, "{}", total_rounds(&with_faults));
}
