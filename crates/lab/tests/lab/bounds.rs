//! Algorithms that rely on a bound on message delay: correct while the bound holds, to the
//! nanosecond, and no longer.

use crate::common::{assert_all_hold, parsed, run, sweep_all};
use quorate_core::Duration;
use quorate_journal::settings::Length;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::shrink::{self, Request, TRIES};
use quorate_lab::{Algorithm, Mutex, Spec};

const IMPLICIT: &str = "ricart-agrawala-implicit";
const ONE_WAY: &str = "ricart-agrawala-implicit-one-way";

fn spec(algorithm: &str, nodes: usize, latency: &str) -> Spec {
    let settings = Settings { entries: 12, workload: Pattern::All, ..Settings::default() };
    Spec { nodes, latency: parsed(latency), settings, ..Spec::named(algorithm).unwrap() }
}

fn with_bound(bound: Duration, spec: Spec) -> Spec {
    Spec { bound: Some(Length(bound)), ..spec }
}

/// Message delays equal to the bound, and up to the bound.
#[test]
fn silence_counts_as_consent_while_the_bound_holds() {
    for nodes in 2..=6 {
        for latency in ["fixed:5ms", "uniform:0ms..5ms", "uniform:5ms..5ms"] {
            let idle = spec(IMPLICIT, nodes, latency);
            assert_all_hold(&Spec { processing: parsed("uniform:0ms..2ms"), ..idle.clone() }, 200);
            assert_all_hold(&idle, 200);
        }
    }
}

/// A wait one nanosecond shorter than the longest round trip is too short.
#[test]
fn a_bound_below_the_real_delay_violates_exclusion() {
    let exactly = Duration::from_millis(5);
    let less = Duration::from_nanos(exactly.nanos() - 1);
    let random = Settings { entries: 20, ..Settings::default() };
    let fixed = Spec { settings: random, ..spec(IMPLICIT, 3, "fixed:5ms") };
    assert!(sweep_all(&with_bound(exactly, fixed.clone()), 300).holds());
    assert!(!sweep_all(&with_bound(less, fixed), 300).holds());
    assert!(!sweep_all(&with_bound(Duration::from_millis(2), spec(IMPLICIT, 3, "uniform:1ms..5ms")), 100).holds());
}

/// If shrinking shortened the bound, the correct algorithm would fail too.
#[test]
fn a_failure_of_the_faulty_variant_shrinks_without_breaking_the_correct_one() {
    let seed =
        (1..200).find(|seed| !sweep_all(&Spec { seed: *seed, ..spec(ONE_WAY, 4, "uniform:1ms..5ms") }, 1).holds());
    let spec = Spec { seed: seed.expect("no seed revealed the seeded bug"), ..spec(ONE_WAY, 4, "uniform:1ms..5ms") };
    let request = Request { spec, property: Some("exclusion".into()), tries: TRIES };
    let small = shrink::run(&request, &mut |_| true).unwrap().spec;
    assert_eq!(small.bound, Some(Length(Duration::from_millis(5))), "{}", small.command("sim"));
    assert_eq!(small.nodes, 2, "{}", small.command("sim"));
    let right = Spec::<Mutex> { algorithm: Algorithm::named(IMPLICIT).unwrap(), ..small.clone() };
    let outcome = run(&right);
    let exclusion = outcome.verdicts.iter().find(|verdict| verdict.name == "exclusion");
    assert!(
        exclusion.is_some_and(|verdict| verdict.holds == Some(true)),
        "{}\n{:?}",
        small.command("sim"),
        small.script
    );
}
