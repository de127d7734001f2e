//! The token ring with acknowledgements, which tolerates crashes: safe and live if no delay exceeds
//! the assumed bound, and possibly unsafe otherwise.

use crate::common::{assert_every_seed_holds, parse, run, sweep_seeds};
use quorate_core::Duration;
use quorate_core::mutex::COMMANDS;
use quorate_journal::settings::{Length, Script};
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::{Algorithm, LinkChoice, Mutex, Spec};

const ACKNOWLEDGED: &str = "token-ring-acknowledged";
const LOST_ACKNOWLEDGEMENT: &str = include_str!("../../../../docs/scenarios/lost-acknowledgement.script");

fn spec(nodes: usize, latency: &str) -> Spec {
    let settings = Settings { entries: 20, workload: Pattern::All, ..Settings::default() };
    Spec { nodes, latency: parse(latency), settings, ..Spec::named(ACKNOWLEDGED).unwrap() }
}

/// Adds a crash of each of these nodes, one after another at this interval.
fn with_crashes(spec: Spec, crashing: &[usize], interval_millis: u64) -> Spec {
    let crash = |(turn, node): (usize, &usize)| format!("crash {node} at {}ms", 3 + interval_millis * turn as u64);
    let faults = crashing.iter().enumerate().map(crash).map(|text| parse(&text)).collect();
    Spec { faults, ..spec }
}

/// Returns the properties that do not hold when this script is run. Every message takes 1 ms, which
/// is also the bound on delays, unless the script says otherwise.
fn violations_of_script(script: &str) -> Vec<&'static str> {
    let script = Script::parse(script, &COMMANDS.map(|command| command.name())).expect("a script");
    let spec = Spec::<Mutex> { links: LinkChoice::Bare, script: Some(script), ..spec(3, "fixed:1ms") };
    let outcome = run(&spec);
    let broken = outcome.verdicts.iter().filter(|verdict| verdict.holds != Some(true));
    broken.map(|verdict| verdict.name).collect()
}

/// Two nodes hold the lock, but the fence of the second is larger: a resource that checks fences
/// refuses the first. `message 1 of 2 > 1` is the first from node 2 to node 1, an acknowledgement.
#[test]
fn a_lost_acknowledgement_makes_two_tokens() {
    assert_eq!(violations_of_script(LOST_ACKNOWLEDGEMENT), ["exclusion"]);
    let (script_without_loss, loss_line) = LOST_ACKNOWLEDGEMENT.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(loss_line, "message 1 of 2 > 1 is lost");
    assert_eq!(violations_of_script(script_without_loss), [""; 0]);
    let in_time = format!("{script_without_loss}\nmessage 1 of 2 > 1 takes 1ms");
    assert_eq!(violations_of_script(&in_time), [""; 0]);
    let too_late = format!("{script_without_loss}\nmessage 1 of 2 > 1 takes 1.1ms");
    assert_eq!(violations_of_script(&too_late), ["exclusion"]);
}

/// By default nodes assume the maximum latency as the bound on delays. A bound one nanosecond below
/// the real delay is too short.
#[test]
fn without_crashes_the_bound_holds_to_the_nanosecond() {
    for nodes in 1..=6 {
        for latency in ["fixed:5ms", "uniform:0ms..5ms"] {
            let base = spec(nodes, latency);
            assert_every_seed_holds(&base, 100);
            assert_every_seed_holds(&Spec { processing: parse("uniform:0ms..2ms"), ..base }, 100);
        }
    }
    let bound = |nanos| Some(Length(Duration::from_nanos(nanos)));
    assert_every_seed_holds(&Spec { delay_bound: bound(5_000_000), ..spec(3, "fixed:5ms") }, 20);
    assert!(!sweep_seeds(&Spec { delay_bound: bound(4_999_999), ..spec(3, "fixed:5ms") }, 20).holds());
}

/// The plain token ring stops even after a single crash.
#[test]
fn after_any_crashes_the_remaining_nodes_are_served() {
    for crashing in [&[1][..], &[2], &[3, 2], &[1, 2, 3, 4], &[5, 4, 3, 2], &[2, 4, 1, 5]] {
        for (interval_millis, latency) in [(0, "uniform:0ms..2ms"), (11, "uniform:0ms..5ms"), (40, "fixed:3ms")] {
            let spec = with_crashes(spec(5, latency), crashing, interval_millis);
            assert_every_seed_holds(&spec, 150);
            assert_every_seed_holds(&Spec { processing: parse("uniform:0ms..1ms"), ..spec }, 80);
        }
    }
    let plain_ring = Spec {
        algorithm: Algorithm::named("token-ring").unwrap(),
        ..with_crashes(spec(5, "uniform:0ms..2ms"), &[3], 0)
    };
    assert!(!sweep_seeds(&plain_ring, 10).holds());
}
