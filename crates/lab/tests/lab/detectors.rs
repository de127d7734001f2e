//! Tests of elections with failure detectors. With a complete and accurate detector, elections
//! work; with an incomplete or inaccurate one, they fail as the literature says.

use crate::common::{assert_repeatable, parse, run, run_recorded, run_without_violations};
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;
use quorate_lab::election::ElectionError;
use quorate_lab::election::{Detector, Settings};
use quorate_lab::experiment::Outcome;
use quorate_lab::{Election, LabError, LinkChoice, Spec};

fn spec(algorithm: &str, detector: Detector) -> Spec<Election> {
    let settings = Settings { detector, starters: parse("lowest"), ..Settings::default() };
    Spec { nodes: 5, settings, ..Spec::named(algorithm).unwrap() }
}

/// Returns the text of the violation of a property as an error; `Ok` if it is not violated.
fn property_result(outcome: &Outcome<Election>, name: &str) -> Result<(), String> {
    let verdict = outcome.verdicts.iter().find(|verdict| verdict.name == name).expect("the property is judged");
    verdict.violation.as_ref().map_or(Ok(()), |violation| Err(violation.text.clone()))
}

/// The leader crashes long after every node knew it, and only the failure detector reports it.
#[test]
fn heartbeats_alone_detect_a_crashed_leader() {
    for algorithm in ["chang-roberts", "lelann", "ring-list", "hirschberg-sinclair", "franklin", "peterson"] {
        for detector in [Detector::Heartbeat, Detector::Accrual] {
            for seed in 0..20 {
                let faults = vec![parse("crash 5 at 400ms")];
                let spec = Spec { seed, faults, ..spec(algorithm, detector) };
                let outcome = run_without_violations(&spec);
                assert_eq!(outcome.summary.leader, Some(NodeId::from_index(3)), "replay: {}", spec.command("sim"));
                assert_eq!(outcome.ending, Ending::Done, "the run must end although the detector never does");
            }
        }
    }
}

/// Incompleteness violates safety: the elected node is not alive.
#[test]
fn an_incomplete_detector_breaks_safety() {
    for seed in 0..20 {
        let faults = vec![parse("crash 5 at 400ms")];
        let incomplete = Spec { seed, faults, ..spec("chang-roberts", Detector::None) };
        let outcome = run(&incomplete);
        let violation = property_result(&outcome, "agreed").expect_err("a dead leader");
        assert_eq!(violation, "all nodes know leader 5 (epoch 1), which is down at the end", "seed {seed}");
    }
}

/// The winner crashes during the election, no node detects it, and every node waits forever.
#[test]
fn without_a_detector_a_run_waits_for_a_crashed_node() {
    let faults = vec![parse("crash 5 at 2500us")];
    let without_detector = Spec { latency: parse("fixed:1ms"), faults, ..spec("chang-roberts", Detector::None) };
    let outcome = run(&without_detector);
    assert_ne!(outcome.ending, Ending::Done);
    assert!(property_result(&outcome, "agreed").is_err());
    for detector in [Detector::Heartbeat, Detector::Accrual] {
        let complete =
            Spec { settings: Settings { detector, ..without_detector.settings.clone() }, ..without_detector.clone() };
        assert!(run(&complete).holds(), "{:?}", run(&complete).verdicts);
    }
}

/// Inaccuracy violates liveness: nodes start new elections forever. But no epoch ever has two
/// leaders.
#[test]
fn an_inaccurate_detector_breaks_liveness() {
    for seed in 0..3 {
        let base = spec("chang-roberts", Detector::Heartbeat);
        let settings = |silence: &str| Settings {
            heartbeat: Some(parse("20ms")),
            silence: Some(parse(silence)),
            ..base.settings.clone()
        };
        let until = Some(parse("20s"));
        let inaccurate = Spec { seed, until, settings: settings("20ms"), ..base.clone() };
        let outcome = run(&inaccurate);
        assert_eq!(outcome.ending, Ending::Stopped, "seed {seed}");
        // The run was stopped, so the property is undecided; but the nodes had 20 s and did not
        // agree.
        let agreed = outcome.verdicts.iter().find(|verdict| verdict.name == "agreed");
        assert!(agreed.is_some_and(|agreed| agreed.holds.is_none()), "seed {seed}: {agreed:?}");
        assert_eq!(property_result(&outcome, "one-leader-per-epoch"), Ok(()), "seed {seed}");
        assert!(outcome.summary.rounds > 1_000, "seed {seed}: {} rounds", outcome.summary.rounds);
        // A timeout of one heartbeat interval plus the delay bound of 5 ms makes the detector
        // accurate.
        let accurate = Spec { seed, until, settings: settings("25ms"), ..base };
        assert_eq!(run_without_violations(&accurate).summary.rounds, 1, "seed {seed}");
    }
}

#[test]
fn heartbeats_do_not_count_towards_election_costs() {
    for algorithm in ["chang-roberts", "raft"] {
        let costs = |detector| {
            let summary =
                run_without_violations(&Spec { latency: parse("fixed:1ms"), ..spec(algorithm, detector) }).summary;
            (summary.election_messages, summary.announcement_messages, summary.leader)
        };
        assert_eq!(costs(Detector::Oracle), costs(Detector::Heartbeat), "{algorithm}");
        assert_eq!(costs(Detector::Oracle), costs(Detector::Accrual), "{algorithm}");
    }
}

/// The detector wraps the reliable links: a lost message is retransmitted, a lost heartbeat is not.
#[test]
fn heartbeats_are_not_retransmitted() {
    let mut retransmissions = 0;
    for seed in 1..=10 {
        let lossy = Spec { loss: parse("20%"), links: LinkChoice::Reliable, seed, ..spec("raft", Detector::Accrual) };
        let (outcome, bytes) = run_recorded(&lossy);
        assert!(outcome.holds(), "{:?}", outcome.verdicts);
        for line in String::from_utf8(bytes).unwrap().lines() {
            let step: serde_json::Value = serde_json::from_str(line).unwrap();
            for effect in step["effects"].as_array().into_iter().flatten() {
                let send = &effect["send"];
                // In a journal, a control message with a payload (`parcel`) is a retransmission,
                // unless `first` marks it. The detector's heartbeats are of kind `beat`, Raft's own
                // are of kind `heartbeat`.
                if send["class"] == "control" && send["parcel"].is_object() && send["first"].is_null() {
                    assert_ne!(send["kind"], "beat", "a heartbeat was retransmitted");
                    retransmissions += 1;
                }
            }
        }
    }
    assert!(retransmissions > 0, "no message was retransmitted");
}

#[test]
fn a_run_under_a_detector_replays_from_its_journal() {
    for detector in [Detector::Oracle, Detector::Heartbeat, Detector::Accrual, Detector::None] {
        let faults = vec![parse("crash 5 at 300ms for 200ms")];
        let spec = Spec { faults, loss: parse("5%"), ..spec("ring-list", detector) };
        assert_repeatable(&spec);
    }
}

#[test]
fn invalid_detector_settings_are_refused() {
    let validate_with = |change: fn(&mut Settings)| {
        let mut spec = spec("chang-roberts", Detector::Heartbeat);
        change(&mut spec.settings);
        spec.validate().map(drop)
    };
    // The default heartbeat interval is 50 ms: ten message times of 5 ms.
    assert!(validate_with(|_| {}).is_ok());
    assert!(matches!(
        validate_with(|settings| settings.heartbeat = Some(parse("0ms"))),
        Err(LabError::Election(ElectionError::ZeroHeartbeat))
    ));
    assert!(matches!(
        validate_with(|settings| settings.silence = Some(parse("49ms"))),
        Err(LabError::Election(ElectionError::SilenceTooShort { .. }))
    ));
    assert!(validate_with(|settings| settings.silence = Some(parse("50ms"))).is_ok());
}

#[test]
fn the_command_repeats_the_detector() {
    let mut spec = spec("chang-roberts", Detector::Accrual);
    spec.settings.heartbeat = Some(parse("20ms"));
    spec.settings.threshold = Some(parse("2.5"));
    spec.latency = Latency::Fixed(Duration::from_millis(1));
    let command = spec.command("sim");
    assert!(
        command.contains("--detector accrual") && command.contains("--heartbeat 20ms --threshold 2.5"),
        "{command}"
    );
}
