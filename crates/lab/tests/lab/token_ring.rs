//! The token ring that survives its members: safe and alive in the synchronous model, whoever dies, and only there.

use crate::common::{all_hold, parsed, run, swept_through};
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

/// With one crash after the other, each this much later than the last.
fn struck(spec: Spec, victims: &[usize], apart: u64) -> Spec {
    let crash = |(turn, victim): (usize, &usize)| format!("crash {victim} at {}ms", 3 + apart * turn as u64);
    let faults = victims.iter().enumerate().map(crash).map(|text| parsed(&text)).collect();
    Spec { faults, ..spec }
}

/// The names of the properties that fail when this script is played.
fn broken_by(script: &str) -> Vec<&'static str> {
    let script = Script::parse(script, &COMMANDS.map(|command| command.name())).expect("a script");
    let spec = Spec::<Mutex> { links: LinkChoice::Bare, script: Some(script), ..spec(3, "fixed:1ms") };
    let outcome = run(&spec);
    let broken = outcome.verdicts.iter().filter(|verdict| verdict.holds != Some(true));
    broken.map(|verdict| verdict.name).collect()
}

/// Two are inside, but the fence of the second is larger: a resource that checks fences would refuse the first.
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
fn nobody_dies_and_the_bound_holds_to_the_nanosecond() {
    for nodes in 1..=6 {
        for text in ["fixed:5ms", "uniform:0ms..5ms"] {
            let calm = spec(nodes, text);
            all_hold(&calm, 100);
            all_hold(&Spec { processing: parsed("uniform:0ms..2ms"), ..calm }, 100);
        }
    }
    let bound = |nanos| Some(Length(Duration::from_nanos(nanos)));
    all_hold(&Spec { bound: bound(5_000_000), ..spec(3, "fixed:5ms") }, 20);
    assert!(!swept_through(&Spec { bound: bound(4_999_999), ..spec(3, "fixed:5ms") }, 20).holds());
}

/// The trusting form stops where this one goes on.
#[test]
fn whoever_dies_those_who_are_left_are_served() {
    for victims in [&[1][..], &[2], &[3, 2], &[1, 2, 3, 4], &[5, 4, 3, 2], &[2, 4, 1, 5]] {
        for (apart, text) in [(0, "uniform:0ms..2ms"), (11, "uniform:0ms..5ms"), (40, "fixed:3ms")] {
            let doomed = struck(spec(5, text), victims, apart);
            all_hold(&doomed, 150);
            all_hold(&Spec { processing: parsed("uniform:0ms..1ms"), ..doomed }, 80);
        }
    }
    let trusting =
        Spec { algorithm: Algorithm::named("token-ring").unwrap(), ..struck(spec(5, "uniform:0ms..2ms"), &[3], 0) };
    assert!(!swept_through(&trusting, 10).holds());
}
