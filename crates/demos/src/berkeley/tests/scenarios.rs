//! Whole scenarios: clocks that are off, with and without faults.

use crate::berkeley::{BerkeleyError, Milestone, Report, RoundReport, Scenario, What, run};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::{Latency, Ppm};

fn with_faults(faults: &[&str]) -> Scenario {
    let faults = faults.iter().map(|fault| fault.parse().expect("a fault")).collect();
    Scenario { faults, ..Scenario::default() }
}

fn of_seed(seed: u64, scenario: &Scenario) -> (Scenario, Report) {
    let scenario = Scenario { seed, ..scenario.clone() };
    let report = run(&scenario).expect("a scenario that makes sense");
    (scenario, report)
}

fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

/// How far two clocks can drift apart in that time, plus rounding.
fn gained(scenario: &Scenario, length: Duration) -> Duration {
    let nanos = u128::from(length.nanos()) * 2 * scenario.drift.parts().unsigned_abs() as u128 / 1_000_000;
    Duration::from_nanos(nanos as u64 + 10)
}

fn find(report: &Report, is_it: impl Fn(&What) -> bool) -> Milestone {
    *report.milestones.iter().find(|milestone| is_it(&milestone.what)).expect("a milestone")
}

#[test]
fn after_one_round_all_clocks_are_within_the_round_trips_uncertainty() {
    for latency in ["fixed:1ms", "uniform:1ms..2ms", "uniform:0ms..20ms"] {
        let latency: Latency = latency.parse().expect("a latency");
        for seed in 1..=40 {
            let length = Duration::from_secs(3);
            let (scenario, report) = of_seed(seed, &Scenario { latency, length, ..Scenario::default() });
            let before = find(&report, |what| *what == What::Begins).spread;
            let after = find(&report, |what| matches!(what, What::FirstRound { .. })).spread;
            assert!(before > Duration::from_millis(100), "seed {seed}: clocks begin {before} apart");
            assert!(after <= scenario.uncertainty(), "seed {seed}, {latency}: {after} is too much");
            assert!(report.rounds.len() >= 3, "seed {seed}: {} rounds", report.rounds.len());
        }
    }
}

#[test]
fn with_equal_delays_and_no_drift_only_rounding_errors_remain() {
    let even = Scenario {
        latency: Latency::Fixed(Duration::from_millis(1)),
        drift: Ppm::default(),
        nodes: 9,
        length: Duration::from_secs(2),
        ..Scenario::default()
    };
    let (_, report) = of_seed(3, &even);
    assert!(report.milestones.last().is_some_and(|last| last.spread <= Duration::from_nanos(2)), "{report:?}");
}

#[test]
fn a_round_costs_three_messages_per_other_node() {
    let (scenario, report) = of_seed(1, &Scenario { length: Duration::from_millis(10_500), ..Scenario::default() });
    assert_eq!(report.rounds.len(), 11);
    assert_eq!(report.messages.rounds, 11 * 3 * (scenario.nodes as u64 - 1));
}

#[test]
fn a_clock_that_is_off_by_an_hour_does_not_move_the_others() {
    for seed in 1..=20 {
        let (_, calm) = of_seed(seed, &Scenario::default());
        let (scenario, report) = of_seed(seed, &with_faults(&["skew 2 by 1h"]));
        let first = &report.rounds[0];
        assert_eq!(first.far.as_slice(), [node(2)], "seed {seed}");
        assert_eq!(first.counted.len(), 4);
        // Its clock is adjusted all the same, so that it counts from the second round on.
        assert!(first.after.is_some_and(|after| after <= scenario.uncertainty()), "seed {seed}: {first:?}");
        assert!(report.rounds[1..].iter().all(|round| round.far.is_empty() && round.counted.len() == 5));
        // The other clocks move by less than a second, not by minutes.
        assert!(calm.rounds[0].far.is_empty() && calm.rounds[0].before < Duration::from_secs(2));
    }
}

#[test]
fn without_a_leader_the_spread_grows_no_faster_than_clocks_drift_apart() {
    for seed in 1..=40 {
        let (scenario, report) = of_seed(seed, &with_faults(&["crash 5 at 8s"]));
        let died = find(&report, |what| *what == What::Crashes { node: node(5), led: true });
        let next = find(&report, |what| matches!(what, What::Elected { without: Some(_), .. }));
        let What::Elected { leader, without: Some(without), .. } = next.what else { panic!("{next:?}") };
        assert_eq!(leader, node(4), "seed {seed}");
        assert!(without > Duration::from_secs(1), "seed {seed}: the leader was missed after only {without}");
        assert!(next.spread <= died.spread + gained(&scenario, without), "seed {seed}: {died:?} then {next:?}");
        let inside = |at: Time| died.at < at && at < next.at;
        for sample in report.samples.iter().filter(|sample| inside(sample.at)) {
            let most = died.spread + gained(&scenario, sample.at.since(died.at));
            assert!(sample.spread <= most, "seed {seed}: {sample:?}, {most} at most");
        }
    }
}

#[test]
fn the_next_leader_brings_the_spread_down_again() {
    // Clocks that drift apart fast enough to be visible, and equal message delays.
    let fast = Scenario {
        drift: Ppm::new(20_000).expect("a drift"),
        latency: Latency::Fixed(Duration::from_millis(1)),
        ..with_faults(&["crash 5 at 8s"])
    };
    for seed in 1..=20 {
        let (scenario, report) = of_seed(seed, &fast);
        let next = find(&report, |what| matches!(what, What::Elected { without: Some(_), .. }));
        let after = |round: &&RoundReport| round.leader == node(4);
        let first = report.rounds.iter().find(after).expect("a round of the next leader");
        assert!(next.spread > Duration::from_millis(10), "seed {seed}: {next:?}");
        assert!(first.after.is_some_and(|after| after <= scenario.uncertainty()), "seed {seed}: {first:?}");
        assert_eq!(first.silent.as_slice(), [node(5)]);
    }
}

#[test]
fn a_leader_that_restarts_leads_again_and_begins_with_its_own_clock() {
    for seed in 1..=20 {
        let (scenario, report) = of_seed(seed, &with_faults(&["crash 5 at 8s for 6s"]));
        let back = find(&report, |what| *what == What::Returns { node: node(5) });
        let again =
            |what: &What| matches!(what, What::Elected { leader, epoch, .. } if *leader == node(5) && epoch.0 > 1);
        let again = find(&report, again);
        assert!(again.at > back.at, "seed {seed}");
        let last = report.milestones.last().expect("an end");
        assert!(last.spread <= scenario.uncertainty() + gained(&scenario, scenario.every), "seed {seed}: {last:?}");
        let epochs: Vec<_> = report.rounds.iter().map(|round| round.round).collect();
        assert!(epochs.is_sorted(), "seed {seed}: no leader polls after the next one has");
    }
}

#[test]
fn the_clocks_converge_again_after_a_pause_of_the_leader() {
    for seed in 1..=20 {
        let (scenario, report) = of_seed(seed, &with_faults(&["pause 5 at 8s for 6s"]));
        let last = report.rounds.last().expect("a round");
        assert!(last.round.epoch.0 > 1, "seed {seed}: {last:?}");
        let last = report.milestones.last().expect("an end");
        assert!(last.spread <= scenario.uncertainty() + gained(&scenario, scenario.every), "seed {seed}: {last:?}");
    }
}

#[test]
fn a_clock_that_jumps_is_corrected_by_the_next_round() {
    let (scenario, report) = of_seed(5, &with_faults(&["skew 3 by -40s at 5500ms"]));
    let sample = |at: u64| report.samples.iter().find(|sample| sample.at >= Time::ZERO + Duration::from_millis(at));
    assert!(sample(5_600).is_some_and(|sample| sample.spread > Duration::from_secs(39)));
    let most = scenario.uncertainty() + gained(&scenario, scenario.every);
    assert!(sample(6_200).is_some_and(|sample| sample.spread <= most), "{:?}", sample(6_200));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scenario = with_faults(&["crash 5 at 8s for 6s", "skew 2 by 1h"]);
    let bytes = |seed| serde_json::to_string(&of_seed(seed, &scenario).1).expect("JSON");
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
        (Scenario { drift: Ppm::new(-7).expect("a drift"), ..defaults.clone() }, "Use 7ppm"),
        (Scenario { skew: Duration::from_nanos(u64::MAX), ..defaults.clone() }, "--skew must be at most"),
        (Scenario { every: Duration::from_millis(2), ..defaults.clone() }, "got 2ms"),
        (Scenario { every: Duration::ZERO, ..defaults.clone() }, "got 0ms"),
        (Scenario { length: Duration::from_secs(200_000), ..defaults.clone() }, "--for must be at most 100000s"),
        (
            Scenario { patience: Some(Duration::from_secs(1)), ..defaults.clone() },
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
    let (_, report) = of_seed(1, &with_faults(&["crash 1", "crash 2", "crash 3", "crash 4", "crash 5"]));
    assert!(report.rounds.is_empty() && report.samples.iter().all(|sample| sample.spread == Duration::ZERO));
}
