//! Whole scenarios: clocks that are off, with and without faults.
//!
//! By default, five nodes run for 20 s, with a round every second. Clocks begin up to 500 ms fast
//! or slow, and drift by up to 200 ppm. A follower suspects the leader after 3 s without a poll,
//! and the election chooses the live node with the highest number.

use crate::berkeley::{BerkeleyError, Milestone, MilestoneKind, Report, RoundReport, Scenario, run};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::{Latency, Ppm};

fn with_faults(faults: &[&str]) -> Scenario {
    let faults = faults.iter().map(|fault| fault.parse().expect("a fault")).collect();
    Scenario { faults, ..Scenario::default() }
}

fn run_seed(seed: u64, scenario: &Scenario) -> (Scenario, Report) {
    let scenario = Scenario { seed, ..scenario.clone() };
    let report = run(&scenario).expect("a valid scenario");
    (scenario, report)
}

fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

/// How far two clocks can drift apart in this time, plus 10 ns for rounding.
fn max_drift_apart(scenario: &Scenario, length: Duration) -> Duration {
    let nanos = u128::from(length.nanos()) * 2 * scenario.max_drift.parts().unsigned_abs() as u128 / 1_000_000;
    Duration::from_nanos(nanos as u64 + 10)
}

fn find_milestone(report: &Report, is_wanted: impl Fn(&MilestoneKind) -> bool) -> Milestone {
    *report.milestones.iter().find(|milestone| is_wanted(&milestone.kind)).expect("a milestone")
}

#[test]
fn after_one_round_all_clocks_are_within_the_round_trips_uncertainty() {
    for latency in ["fixed:1ms", "uniform:1ms..2ms", "uniform:0ms..20ms"] {
        let latency: Latency = latency.parse().expect("a latency");
        for seed in 1..=40 {
            let run_length = Duration::from_secs(3);
            let (scenario, report) = run_seed(seed, &Scenario { latency, run_length, ..Scenario::default() });
            let spread_before = find_milestone(&report, |kind| *kind == MilestoneKind::Begins).spread;
            let spread_after = find_milestone(&report, |kind| matches!(kind, MilestoneKind::FirstRound { .. })).spread;
            assert!(spread_before > Duration::from_millis(100), "seed {seed}: clocks begin only {spread_before} apart");
            assert!(spread_after <= scenario.uncertainty(), "seed {seed}, {latency}: {spread_after} is too much");
            assert!(report.rounds.len() >= 3, "seed {seed}: {} rounds", report.rounds.len());
        }
    }
}

#[test]
fn with_equal_delays_and_no_drift_only_rounding_errors_remain() {
    let without_drift = Scenario {
        latency: Latency::Fixed(Duration::from_millis(1)),
        max_drift: Ppm::default(),
        nodes: 9,
        run_length: Duration::from_secs(2),
        ..Scenario::default()
    };
    let (_, report) = run_seed(3, &without_drift);
    assert!(report.milestones.last().is_some_and(|last| last.spread <= Duration::from_nanos(2)), "{report:?}");
}

#[test]
fn a_round_costs_three_messages_per_other_node() {
    // One round at time zero, and one in each of the ten seconds that follow.
    let (scenario, report) =
        run_seed(1, &Scenario { run_length: Duration::from_millis(10_500), ..Scenario::default() });
    assert_eq!(report.rounds.len(), 11);
    assert_eq!(report.messages.rounds, 11 * 3 * (scenario.nodes as u64 - 1));
}

#[test]
fn a_clock_that_is_off_by_an_hour_does_not_move_the_others() {
    for seed in 1..=20 {
        let (_, without_skew) = run_seed(seed, &Scenario::default());
        let (scenario, report) = run_seed(seed, &with_faults(&["skew 2 by 1h"]));
        let first_round = &report.rounds[0];
        assert_eq!(first_round.outliers.as_slice(), [node(2)], "seed {seed}");
        assert_eq!(first_round.counted.len(), 4);
        // The wrong clock is adjusted too, so it counts from the second round on.
        assert!(
            first_round.spread_after.is_some_and(|after| after <= scenario.uncertainty()),
            "seed {seed}: {first_round:?}"
        );
        assert!(report.rounds[1..].iter().all(|round| round.outliers.is_empty() && round.counted.len() == 5));
        // Without the fault, all clocks begin within a second of each other, which is less than the
        // tolerance, so all count.
        assert!(
            without_skew.rounds[0].outliers.is_empty()
                && without_skew.rounds[0].spread_before < scenario.averaging_settings().tolerance
        );
    }
}

#[test]
fn without_a_leader_the_spread_grows_no_faster_than_clocks_drift_apart() {
    for seed in 1..=40 {
        let (scenario, report) = run_seed(seed, &with_faults(&["crash 5 at 8s"]));
        let crash = find_milestone(&report, |kind| *kind == MilestoneKind::Crashes { node: node(5), was_leader: true });
        let election =
            find_milestone(&report, |kind| matches!(kind, MilestoneKind::Elected { leaderless_time: Some(_), .. }));
        let MilestoneKind::Elected { leader, leaderless_time: Some(leaderless_time), .. } = election.kind else {
            panic!("{election:?}")
        };
        assert_eq!(leader, node(4), "seed {seed}");
        assert!(leaderless_time > Duration::from_secs(1), "seed {seed}: no leader for only {leaderless_time}");
        assert!(
            election.spread <= crash.spread + max_drift_apart(&scenario, leaderless_time),
            "seed {seed}: {crash:?} then {election:?}"
        );
        let is_between = |at: Time| crash.at < at && at < election.at;
        for sample in report.samples.iter().filter(|sample| is_between(sample.at)) {
            let max_spread = crash.spread + max_drift_apart(&scenario, sample.at.since(crash.at));
            assert!(sample.spread <= max_spread, "seed {seed}: {sample:?}, more than {max_spread}");
        }
    }
}

#[test]
fn the_next_leader_brings_the_spread_down_again() {
    // Clocks that drift far apart before the next election, and equal message delays.
    let fast_drift = Scenario {
        max_drift: Ppm::new(20_000).expect("a drift"),
        latency: Latency::Fixed(Duration::from_millis(1)),
        ..with_faults(&["crash 5 at 8s"])
    };
    for seed in 1..=20 {
        let (scenario, report) = run_seed(seed, &fast_drift);
        let election =
            find_milestone(&report, |kind| matches!(kind, MilestoneKind::Elected { leaderless_time: Some(_), .. }));
        let is_of_next_leader = |round: &&RoundReport| round.leader == node(4);
        let first_round = report.rounds.iter().find(is_of_next_leader).expect("a round of the next leader");
        assert!(election.spread > Duration::from_millis(10), "seed {seed}: {election:?}");
        assert!(
            first_round.spread_after.is_some_and(|after| after <= scenario.uncertainty()),
            "seed {seed}: {first_round:?}"
        );
        assert_eq!(first_round.silent.as_slice(), [node(5)]);
    }
}

#[test]
fn a_leader_that_restarts_leads_again_and_the_clocks_converge() {
    for seed in 1..=20 {
        let (scenario, report) = run_seed(seed, &with_faults(&["crash 5 at 8s for 6s"]));
        let restart = find_milestone(&report, |kind| *kind == MilestoneKind::Restarts { node: node(5) });
        let is_re_election = |kind: &MilestoneKind| matches!(kind, MilestoneKind::Elected { leader, epoch, .. } if *leader == node(5) && epoch.0 > 1);
        let re_election = find_milestone(&report, is_re_election);
        assert!(re_election.at > restart.at, "seed {seed}");
        let end = report.milestones.last().expect("an end");
        assert!(
            end.spread <= scenario.uncertainty() + max_drift_apart(&scenario, scenario.period),
            "seed {seed}: {end:?}"
        );
        let rounds: Vec<_> = report.rounds.iter().map(|round| round.round).collect();
        assert!(rounds.is_sorted(), "seed {seed}: a leader averaged clocks after the next one had");
    }
}

#[test]
fn the_clocks_converge_again_after_a_pause_of_the_leader() {
    for seed in 1..=20 {
        let (scenario, report) = run_seed(seed, &with_faults(&["pause 5 at 8s for 6s"]));
        let last_round = report.rounds.last().expect("a round");
        assert!(last_round.round.epoch.0 > 1, "seed {seed}: {last_round:?}");
        let end = report.milestones.last().expect("an end");
        assert!(
            end.spread <= scenario.uncertainty() + max_drift_apart(&scenario, scenario.period),
            "seed {seed}: {end:?}"
        );
    }
}

#[test]
fn a_clock_that_jumps_is_corrected_by_the_next_round() {
    let (scenario, report) = run_seed(5, &with_faults(&["skew 3 by -40s at 5500ms"]));
    let sample_at =
        |millis: u64| report.samples.iter().find(|sample| sample.at >= Time::ZERO + Duration::from_millis(millis));
    assert!(sample_at(5_600).is_some_and(|sample| sample.spread > Duration::from_secs(39)));
    let max_spread = scenario.uncertainty() + max_drift_apart(&scenario, scenario.period);
    assert!(sample_at(6_200).is_some_and(|sample| sample.spread <= max_spread), "{:?}", sample_at(6_200));
}

#[test]
fn a_report_depends_only_on_the_scenario_and_its_seed() {
    let scenario = with_faults(&["crash 5 at 8s for 6s", "skew 2 by 1h"]);
    let bytes = |seed| serde_json::to_string(&run_seed(seed, &scenario).1).expect("JSON");
    assert_eq!(bytes(7), bytes(7));
    assert_ne!(bytes(7), bytes(8));
}

#[test]
fn invalid_scenarios_are_refused() {
    let defaults = Scenario::default();
    let message = |scenario: Scenario| run(&scenario).map(|_| ()).expect_err("an invalid scenario").to_string();
    for (scenario, words) in [
        (Scenario { nodes: 1, ..defaults.clone() }, "--nodes must be at least 2"),
        (Scenario { nodes: 1_001, ..defaults.clone() }, "--nodes must be at most 1000"),
        (Scenario { latency: "long-tail:2ms".parse().expect("a latency"), ..defaults.clone() }, "has no upper bound"),
        (Scenario { latency: Latency::Fixed(Duration::ZERO), ..defaults.clone() }, "--latency fixed:1ms"),
        (Scenario { max_drift: Ppm::new(-7).expect("a drift"), ..defaults.clone() }, "Use 7ppm"),
        (Scenario { max_skew: Duration::from_nanos(u64::MAX), ..defaults.clone() }, "--skew must be at most"),
        (Scenario { period: Duration::from_millis(2), ..defaults.clone() }, "got 2ms"),
        (Scenario { period: Duration::ZERO, ..defaults.clone() }, "got 0ms"),
        (Scenario { run_length: Duration::from_secs(200_000), ..defaults.clone() }, "--for must be at most 100000s"),
        (
            Scenario { leader_timeout: Some(Duration::from_secs(1)), ..defaults.clone() },
            "--leader-timeout must be at least 2s",
        ),
        (with_faults(&["crash 9 at 1s"]), "9"),
    ] {
        let message = message(scenario);
        assert!(message.contains(words), "no '{words}' in: {message}");
    }
    assert_eq!(Scenario { nodes: 0, ..defaults }.validate(), Err(BerkeleyError::TooFew { nodes: 0 }));
}

#[test]
fn a_run_without_live_nodes_succeeds() {
    let (_, report) = run_seed(1, &with_faults(&["crash 1", "crash 2", "crash 3", "crash 4", "crash 5"]));
    assert!(report.rounds.is_empty() && report.samples.iter().all(|sample| sample.spread == Duration::ZERO));
}
