//! Compares deadlock detectors with a search of the actual wait-for graph, which they do not know.

use crate::common::run;
use quorate_check::Findings;
use quorate_core::deadlock::Policy;
use quorate_journal::settings::Script;
use quorate_journal::workload::Ending;
use quorate_lab::FamilyTypes;
use quorate_lab::RunFamily;
use quorate_lab::ScriptFamily;
use quorate_lab::check::{self, CheckSpec};
use quorate_lab::deadlock::Settings;
use quorate_lab::deadlock::check::WaitBehavior;
use quorate_lab::deadlock::run::{AcquireMode, WaitMode};
use quorate_lab::experiment::Outcome;
use quorate_lab::registry::{Entry, Family, all};
use quorate_lab::{Deadlock, LabError, Spec, experiment};

fn detectors() -> impl Iterator<Item = &'static Entry> {
    all().iter().filter(|detector| detector.family() == Family::Deadlock)
}

fn spec(name: &str, nodes: usize, settings: Settings) -> Spec<Deadlock> {
    Spec { nodes, settings, ..Spec::named(name).unwrap() }
}

/// Returns the properties that a run with one of the seeds 1 to `seeds` violates.
fn violated_properties(spec: &Spec<Deadlock>, seeds: u64) -> Vec<&'static str> {
    let mut violated = Vec::new();
    for seed in 1..=seeds {
        let outcome = run(&Spec { seed, ..spec.clone() });
        violated.extend(outcome.violated_verdicts().map(|verdict| verdict.name));
    }
    violated.sort_unstable();
    violated.dedup();
    violated
}

#[test]
fn every_detector_agrees_with_a_plain_search_in_every_stress_experiment() {
    for detector in detectors() {
        let stress_specs = Deadlock::stress_specs(Deadlock::entry(detector).unwrap());
        for (index, spec) in stress_specs.into_iter().enumerate() {
            let mut deadlocks = 0;
            for seed in 1..=20 {
                let spec = Spec { seed: seed * 100 + index as u64, ..spec.clone() };
                let outcome = run(&spec);
                let broken: Vec<_> = outcome.violated_verdicts().collect();
                assert!(broken.is_empty(), "{}\n{:?} {broken:#?}", spec.command("sim"), outcome.ending);
                assert_eq!(outcome.ending, Ending::Done, "{}", spec.command("sim"));
                assert_eq!(outcome.summary.false_reports, 0);
                deadlocks += outcome.summary.reported_deadlocks;
            }
            assert!(deadlocks > 0, "{} in stress experiment {index} has no deadlocks", detector.name());
        }
    }
}

#[test]
fn a_sweep_finds_the_faulty_detectors() {
    let busy = Settings { rounds: 3, ..Settings::default() };
    let short_waits = Settings {
        rounds: 8,
        victim: Some(Policy::Youngest),
        think: Some("uniform:0ms..1ms".parse().unwrap()),
        hold: Some("uniform:0ms..1ms".parse().unwrap()),
        ..Settings::default()
    };
    let slow_links =
        Spec { latency: "uniform:100us..50ms".parse().unwrap(), ..spec("deadlock-or-forgetful", 4, short_waits) };
    let cases = [
        spec("deadlock-central-hasty", 3, busy.clone()),
        spec("deadlock-and-selfish", 3, Settings { victim: Some(Policy::Youngest), ..Settings::default() }),
        slow_links,
    ];
    for spec in cases {
        let violated = violated_properties(&spec, 60);
        assert!(violated.contains(&"no-phantom"), "{}: {violated:?}", spec.algorithm);
    }
}

#[test]
fn acquiring_resources_in_order_prevents_deadlock() {
    for detector in detectors() {
        let settings = Settings { resources: 3, rounds: 4, fan_out: 3, ..Settings::default() };
        let any_order = spec(detector.name(), 4, settings.clone());
        let is_stuck = |spec: Spec<Deadlock>| !run(&spec).summary.deadlocked_at_end.is_empty();
        let stuck_runs =
            |spec: &Spec<Deadlock>| (1..=20).filter(|seed| is_stuck(Spec { seed: *seed, ..spec.clone() })).count();
        assert!(stuck_runs(&any_order) > 5, "{}", detector.name());
        let ordered = Spec { settings: Settings { acquire_mode: AcquireMode::InOrder, ..settings }, ..any_order };
        assert_eq!(stuck_runs(&ordered), 0, "{}", detector.name());
    }
}

#[test]
fn aborting_a_victim_resolves_every_deadlock() {
    for detector in detectors() {
        for victim in Policy::ALL {
            let priorities = if victim == Policy::LowestPriority { vec![3, 1, 2] } else { Vec::new() };
            let settings =
                Settings { resources: 2, rounds: 5, victim: Some(victim), priorities, ..Settings::default() };
            let spec = spec(detector.name(), 3, settings);
            let outcomes: Vec<_> = (1..=15).map(|seed| run(&Spec { seed, ..spec.clone() })).collect();
            assert!(outcomes.iter().all(|outcome| outcome.holds() && outcome.summary.deadlocked_at_end.is_empty()));
            assert!(outcomes.iter().any(|outcome| outcome.summary.aborts > 0), "{}", detector.name());
        }
    }
}

#[test]
fn the_policy_chooses_the_victim() {
    let priorities = |victim| if victim == Policy::LowestPriority { vec![1, 9, 9] } else { Vec::new() };
    let settings = |victim| Settings { victim: Some(victim), priorities: priorities(victim), ..Settings::default() };
    // P3 waits for P1, then P1 for P2 and P2 for P3; so P2's request is the youngest.
    let script = "ask 3 \"P1\"\nask 1 \"P2\" at 3ms\nask 2 \"P3\" at 6ms";
    let script = Script::parse(script, Deadlock::COMMANDS).unwrap();
    let report = |policy| {
        let spec = Spec {
            script: Some(script.clone()),
            latency: "fixed:1ms".parse().unwrap(),
            ..spec("deadlock-and", 3, settings(policy))
        };
        run(&spec).summary.reports[0].clone()
    };
    assert!(report(Policy::Youngest).ends_with("P2 must abort"), "{}", report(Policy::Youngest));
    assert!(report(Policy::LowestPriority).ends_with("P1 must abort"));
}

/// The run waits for a process that starts its detection after ten minutes.
#[test]
fn a_late_detection_costs_only_time() {
    for name in ["deadlock-and", "deadlock-or"] {
        let settings = Settings { patience: Some("10m".parse().unwrap()), fan_out: 1, ..Settings::default() };
        let outcomes: Vec<_> = (1..=10).map(|seed| run(&Spec { seed, ..spec(name, 3, settings.clone()) })).collect();
        assert!(
            outcomes.iter().all(Outcome::holds)
                && outcomes.iter().any(|outcome| outcome.summary.reported_deadlocks > 0)
        );
    }
}

#[test]
fn an_invalid_script_is_refused() {
    for line in ["ask 1 \"banana\"", "ask 1", "ask 1 \"P9\"", "ask 1 \"R1\"", "answer 1 \"P2 P3\"", "look 1 \"P2\""] {
        let script = Some(Script::parse(line, Deadlock::COMMANDS).unwrap());
        let spec = Spec { script, ..spec("deadlock-and", 3, Settings::default()) };
        assert!(experiment::run(&spec).is_err(), "{line}");
    }
}

#[test]
fn invalid_settings_are_refused() {
    let defaults = Settings::default;
    let cases = [
        ("deadlock-and", Settings { wait_mode: Some(WaitMode::Any), ..defaults() }),
        ("deadlock-or", Settings { wait_mode: Some(WaitMode::Mixed), ..defaults() }),
        ("deadlock-or", Settings { resources: 2, acquire_mode: AcquireMode::AtOnce, ..defaults() }),
        ("deadlock-and", Settings { acquire_mode: AcquireMode::InOrder, ..defaults() }),
        ("deadlock-and", Settings { processes: Some(0), ..defaults() }),
        ("deadlock-and", Settings { processes: Some(9), resources: 2, ..defaults() }),
        ("deadlock-and", Settings { fan_out: 0, ..defaults() }),
        ("deadlock-and", Settings { request_percent: 101, ..defaults() }),
        ("deadlock-and", Settings { priorities: vec![1], ..defaults() }),
        ("deadlock-and", Settings { priorities: vec![1; 4], victim: Some(Policy::LowestPriority), ..defaults() }),
        ("deadlock-central", Settings { resources: 2, wait_mode: Some(WaitMode::All), ..defaults() }),
        ("deadlock-central", Settings { patience: Some("1ms".parse().unwrap()), ..defaults() }),
    ];
    for (name, settings) in cases {
        let result = experiment::run(&spec(name, 3, settings.clone())).map(drop);
        assert!(result.is_err(), "{name} {settings:?}");
    }
}

fn check_completely(name: &str, nodes: usize, rounds: u8, settings: Settings) -> Findings {
    let mut check = CheckSpec::<Deadlock>::named(name).unwrap();
    (check.setup.nodes, check.rounds, check.behavior) = (nodes, Some(rounds), WaitBehavior { settings });
    let run = check::run(&check, &mut |_, _| true).unwrap_or_else(|error: LabError| panic!("{error}"));
    assert!(run.is_complete(), "{}", check.command());
    run.findings
}

#[test]
fn detectors_of_small_graphs_are_correct_in_every_schedule() {
    let youngest = Some(Policy::Youngest);
    for detector in detectors() {
        let cases = [
            (2, 2, Settings { victim: youngest, ..Settings::default() }),
            (3, 1, Settings { fan_out: 1, ..Settings::default() }),
            (2, 2, Settings { resources: 2, ..Settings::default() }),
        ];
        for (nodes, rounds, settings) in cases {
            let findings = check_completely(detector.name(), nodes, rounds, settings);
            assert!(!findings.has_violation() && findings.main_pass.states > 100, "{} {findings:?}", detector.name());
        }
    }
}

#[test]
fn the_checker_finds_two_faulty_detectors() {
    let one_dependency = Settings { fan_out: 1, ..Settings::default() };
    let selfish = check_completely(
        "deadlock-and-selfish",
        2,
        1,
        Settings { victim: Some(Policy::Youngest), ..one_dependency.clone() },
    );
    let hasty = check_completely("deadlock-central-hasty", 2, 2, one_dependency);
    for findings in [selfish, hasty] {
        // The first verdict is the one on "no-phantom".
        assert_eq!(findings.verdicts[0].holds, Some(false), "{findings:?}");
    }
}

#[test]
fn acquiring_in_order_prevents_cycles_in_every_schedule() {
    let settings = Settings {
        resources: 2,
        acquire_mode: AcquireMode::InOrder,
        victim: Some(Policy::Youngest),
        ..Settings::default()
    };
    let ordered = check_completely("deadlock-and-selfish", 2, 2, settings.clone());
    assert!(!ordered.has_violation(), "without deadlocks the seeded bug has no effect");
    let any_order =
        check_completely("deadlock-and-selfish", 2, 2, Settings { acquire_mode: AcquireMode::AnyOrder, ..settings });
    assert!(any_order.has_violation());
}

/// The policy counts the locks that a process holds when the deadlock is detected, not those that
/// it held when it made its request.
#[test]
fn locks_acquired_while_waiting_count_for_the_victim_policy() {
    let settings = Settings { resources: 3, victim: Some(Policy::FewestLocks), ..Settings::default() };
    // P1 requests R1 and R3 at once, and holds R1 when P3 closes the cycle.
    let script = "ask 3 \"R3\"\nask 2 \"R2\"\nask 1 \"R1 R3\" at 4ms\nask 3 \"R1\" at 8ms";
    let script = Script::parse(script, Deadlock::COMMANDS).unwrap();
    let spec =
        Spec { script: Some(script), latency: "fixed:1ms".parse().unwrap(), ..spec("deadlock-and", 3, settings) };
    let summary = run(&spec).summary;
    assert!(summary.reports[0].ends_with("P3 must abort"), "tied at one lock each, and P3 sorts last: {summary:?}");
}
