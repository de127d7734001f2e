//! The token ring that tolerates crashes: safe and live in the synchronous model, and only there.

use crate::common::{assert_all_hold, parsed, run, sweep_all};
use quorate_core::Duration;
use quorate_core::mutex::COMMANDS;
use quorate_journal::settings::{Length, Script};
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::{Algorithm, LinkChoice, Mutex, Spec};

const ACKNOWLEDGED: &str = "token-ring-acknowledged";
const LOST_ACKNOWLEDGEMENT: &str = include_str!("../../../../docs/scenarios/lost-acknowledgement.script");

fn spec(nodes: usize, text: &str) -> Spec {
    let settings = Settings { entries: 20, workload: Pattern::All, ..Settings::default() };
    Spec { nodes, latency: parsed(text), settings, ..Spec::named(ACKNOWLEDGED).unwrap() }
}

/// Adds one crash after the other at this distance in milliseconds.
fn with_crashes(spec: Spec, victims: &[usize], apart: u64) -> Spec {
    let crash = |(turn, victim): (usize, &usize)| format!("crash {victim} at {}ms", 3 + apart * turn as u64);
    let faults = victims.iter().enumerate().map(crash).map(|text| parsed(&text)).collect();
    Spec { faults, ..spec }
}

/// Returns the properties that fail when this script is run.
fn broken_by(script: &str) -> Vec<&'static str> {
    let script = Script::parse(script, &COMMANDS.map(|command| command.name())).expect("a script");
    let spec = Spec::<Mutex> { links: LinkChoice::Bare, script: Some(script), ..spec(3, "fixed:1ms") };
    let outcome = run(&spec);
    let broken = outcome.verdicts.iter().filter(|verdict| verdict.holds != Some(true));
    broken.map(|verdict| verdict.name).collect()
}

/// Two nodes hold the lock, but the fence of the second is larger: a resource that checks fences
/// refuses the first.
#[test]
fn a_lost_acknowledgement_makes_two_tokens() {
    assert_eq!(broken_by(LOST_ACKNOWLEDGEMENT), ["exclusion"]);
    let (without, lost) = LOST_ACKNOWLEDGEMENT.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(lost, "message 1 of 2 > 1 is lost");
    assert_eq!(broken_by(without), [""; 0]);
    let in_time = format!("{without}\nmessage 1 of 2 > 1 takes 1ms");
    assert_eq!(broken_by(&in_time), [""; 0]);
    let late = format!("{without}\nmessage 1 of 2 > 1 takes 1.1ms");
    assert_eq!(broken_by(&late), ["exclusion"]);
}

#[test]
fn without_crashes_the_bound_holds_to_the_nanosecond() {
    for nodes in 1..=6 {
        for text in ["fixed:5ms", "uniform:0ms..5ms"] {
            let calm = spec(nodes, text);
            assert_all_hold(&calm, 100);
            assert_all_hold(&Spec { processing: parsed("uniform:0ms..2ms"), ..calm }, 100);
        }
    }
    let bound = |nanos| Some(Length(Duration::from_nanos(nanos)));
    assert_all_hold(&Spec { bound: bound(5_000_000), ..spec(3, "fixed:5ms") }, 20);
    assert!(!sweep_all(&Spec { bound: bound(4_999_999), ..spec(3, "fixed:5ms") }, 20).holds());
}

/// The plain token ring stops where this one continues.
#[test]
fn after_any_crashes_the_remaining_nodes_are_served() {
    for victims in [&[1][..], &[2], &[3, 2], &[1, 2, 3, 4], &[5, 4, 3, 2], &[2, 4, 1, 5]] {
        for (apart, text) in [(0, "uniform:0ms..2ms"), (11, "uniform:0ms..5ms"), (40, "fixed:3ms")] {
            let crashing = with_crashes(spec(5, text), victims, apart);
            assert_all_hold(&crashing, 150);
            assert_all_hold(&Spec { processing: parsed("uniform:0ms..1ms"), ..crashing }, 80);
        }
    }
    let trusting = Spec {
        algorithm: Algorithm::named("token-ring").unwrap(),
        ..with_crashes(spec(5, "uniform:0ms..2ms"), &[3], 0)
    };
    assert!(!sweep_all(&trusting, 10).holds());
}
