//! Tests of elections with failure detectors: accurate and complete ones work, and the other two
//! kinds fail as the literature says.

use crate::common::{assert_repeatable, parsed, recorded, run, run_without_violations};
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;
use quorate_lab::election::ElectionError;
use quorate_lab::election::{Detector, Settings};
use quorate_lab::experiment::Outcome;
use quorate_lab::{Election, LabError, LinkChoice, Spec};

fn spec(algorithm: &str, detector: Detector) -> Spec<Election> {
    let settings = Settings { detector, starters: parsed("lowest"), ..Settings::default() };
    Spec { nodes: 5, settings, ..Spec::named(algorithm).unwrap() }
}

fn verdict(outcome: &Outcome<Election>, name: &str) -> Result<(), String> {
    let verdict = outcome.verdicts.iter().find(|verdict| verdict.name == name).expect("such a property");
    verdict.violation.as_ref().map_or(Ok(()), |violation| Err(violation.text.clone()))
}

/// The leader crashes long after every node knew it, and only the failure detector reports it.
#[test]
fn heartbeats_alone_detect_a_crashed_leader() {
    for algorithm in ["chang-roberts", "lelann", "ring-list", "hirschberg-sinclair", "franklin", "peterson"] {
        for detector in [Detector::Heartbeat, Detector::Accrual] {
            for seed in 0..20 {
                let faults = vec![parsed("crash 5 at 400ms")];
                let spec = Spec { seed, faults, ..spec(algorithm, detector) };
                let outcome = run_without_violations(&spec);
                assert_eq!(outcome.summary.leader, Some(NodeId::from_index(3)), "replay: {}", spec.command("sim"));
                assert_eq!(outcome.ending, Ending::Done, "the run must end although the detector never does");
            }
        }
    }
}

/// Incompleteness violates safety: the elected process is not alive.
#[test]
fn an_incomplete_detector_breaks_safety() {
    for seed in 0..20 {
        let faults = vec![parsed("crash 5 at 400ms")];
        let incomplete = Spec { seed, faults, ..spec("chang-roberts", Detector::None) };
        let outcome = run(&incomplete);
        let obstacle = verdict(&outcome, "agreed").expect_err("a dead leader");
        assert_eq!(obstacle, "all nodes know leader 5 (epoch 1), which is down at the end", "seed {seed}");
    }
}

/// The same in the middle of a run: the winner's crash goes undetected, and every node waits
/// forever.
#[test]
fn without_a_detector_a_run_waits_for_a_crashed_node() {
    let faults = vec![parsed("crash 5 at 2500us")];
    let waits = Spec { latency: parsed("fixed:1ms"), faults, ..spec("chang-roberts", Detector::None) };
    let outcome = run(&waits);
    assert_ne!(outcome.ending, Ending::Done);
    assert!(verdict(&outcome, "agreed").is_err());
    for detector in [Detector::Heartbeat, Detector::Accrual] {
        let complete = Spec { settings: Settings { detector, ..waits.settings.clone() }, ..waits.clone() };
        assert!(run(&complete).holds(), "{:?}", run(&complete).verdicts);
    }
}

/// Inaccuracy violates liveness: nodes start new elections forever. But no epoch ever has two
/// leaders.
#[test]
fn an_inaccurate_detector_breaks_liveness() {
    for seed in 0..3 {
        let bare = spec("chang-roberts", Detector::Heartbeat);
        let settings = |silence: &str| Settings {
            heartbeat: Some(parsed("20ms")),
            silence: Some(parsed(silence)),
            ..bare.settings.clone()
        };
        let until = Some(parsed("20s"));
        let inaccurate = Spec { seed, until, settings: settings("20ms"), ..bare.clone() };
        let outcome = run(&inaccurate);
        assert_eq!(outcome.ending, Ending::Stopped, "seed {seed}");
        // The run was stopped, so the verdict is open; but the nodes had 20 s and did not agree.
        let agreed = outcome.verdicts.iter().find(|verdict| verdict.name == "agreed");
        assert!(agreed.is_some_and(|agreed| agreed.holds.is_none()), "seed {seed}: {agreed:?}");
        assert_eq!(verdict(&outcome, "one-leader-an-epoch"), Ok(()), "seed {seed}");
        assert!(outcome.summary.rounds > 1_000, "seed {seed}: {} rounds", outcome.summary.rounds);
        // The same with a heartbeat interval plus the model's delay bound.
        let accurate = Spec { seed, until, settings: settings("25ms"), ..bare };
        assert_eq!(run_without_violations(&accurate).summary.rounds, 1, "seed {seed}");
    }
}

/// Heartbeats are counted separately and do not change the cost of an election.
#[test]
fn heartbeats_do_not_count_towards_election_costs() {
    for algorithm in ["chang-roberts", "raft"] {
        let costs = |detector| {
            let summary =
                run_without_violations(&Spec { latency: parsed("fixed:1ms"), ..spec(algorithm, detector) }).summary;
            (summary.election_messages, summary.announcement_messages, summary.leader)
        };
        assert_eq!(costs(Detector::Oracle), costs(Detector::Heartbeat), "{algorithm}");
        assert_eq!(costs(Detector::Oracle), costs(Detector::Accrual), "{algorithm}");
    }
}

/// The detector wraps the reliable links: a lost message is retransmitted, a lost heartbeat is not.
#[test]
fn heartbeats_are_not_retransmitted() {
    let mut text = String::new();
    for seed in 1..=10 {
        let lossy = Spec { loss: parsed("20%"), links: LinkChoice::Reliable, seed, ..spec("raft", Detector::Accrual) };
        let (outcome, bytes) = recorded(&lossy);
        assert!(outcome.holds(), "{:?}", outcome.verdicts);
        text.push_str(&String::from_utf8(bytes).unwrap());
    }
    let again: Vec<_> = text.lines().filter(|line| line.contains("\"again\":true")).collect();
    assert!(again.iter().all(|line| !line.contains("\"beat\"")), "a heartbeat was retransmitted");
}

#[test]
fn a_run_under_a_detector_replays_from_its_journal() {
    for detector in [Detector::Oracle, Detector::Heartbeat, Detector::Accrual, Detector::None] {
        let faults = vec![parsed("crash 5 at 300ms for 200ms")];
        let spec = Spec { faults, loss: parsed("5%"), ..spec("ring-list", detector) };
        assert_repeatable(&spec);
    }
}

#[test]
fn invalid_detector_settings_are_refused() {
    let with = |change: fn(&mut Settings)| {
        let mut spec = spec("chang-roberts", Detector::Heartbeat);
        change(&mut spec.settings);
        spec.validate().map(drop)
    };
    assert!(with(|_| {}).is_ok());
    assert!(matches!(
        with(|settings| settings.heartbeat = Some(parsed("0ms"))),
        Err(LabError::Election(ElectionError::NoHeartbeat))
    ));
    assert!(matches!(
        with(|settings| settings.silence = Some(parsed("49ms"))),
        Err(LabError::Election(ElectionError::SilenceTooShort { .. }))
    ));
    assert!(with(|settings| settings.silence = Some(parsed("50ms"))).is_ok());
}

#[test]
fn the_command_repeats_the_detector() {
    let mut spec = spec("chang-roberts", Detector::Accrual);
    spec.settings.heartbeat = Some(parsed("20ms"));
    spec.settings.threshold = Some(parsed("2.5"));
    spec.latency = Latency::Fixed(Duration::from_millis(1));
    let command = spec.command("sim");
    assert!(
        command.contains("--detector accrual") && command.contains("--heartbeat 20ms --threshold 2.5"),
        "{command}"
    );
}
