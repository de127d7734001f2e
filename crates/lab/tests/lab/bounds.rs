//! An algorithm that relies on a bound on message delay is correct while no message exceeds the
//! bound; a bound that is one nanosecond too short suffices for it to fail.

use crate::common::{assert_every_seed_holds, parse, run, sweep_seeds};
use quorate_core::Duration;
use quorate_journal::settings::Length;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::shrink::{self, DEFAULT_MAX_RUNS, ShrinkRequest};
use quorate_lab::{Algorithm, Mutex, Spec};

/// An algorithm in which silence for a round trip counts as consent.
const IMPLICIT: &str = "ricart-agrawala-implicit";
/// A faulty variant, which waits for one message delay where a round trip is needed.
const ONE_WAY: &str = "ricart-agrawala-implicit-one-way";

fn spec(algorithm: &str, nodes: usize, latency: &str) -> Spec {
    let settings = Settings { entries: 12, workload: Pattern::All, ..Settings::default() };
    Spec { nodes, latency: parse(latency), settings, ..Spec::named(algorithm).unwrap() }
}

fn with_bound(bound: Duration, spec: Spec) -> Spec {
    Spec { delay_bound: Some(Length(bound)), ..spec }
}

/// The bound that nodes assume is by default the maximum latency: some delays are equal to it,
/// others below.
#[test]
fn silence_counts_as_consent_while_the_bound_holds() {
    for nodes in 2..=6 {
        for latency in ["fixed:5ms", "uniform:0ms..5ms", "uniform:5ms..5ms"] {
            let base = spec(IMPLICIT, nodes, latency);
            assert_every_seed_holds(&Spec { processing: parse("uniform:0ms..2ms"), ..base.clone() }, 200);
            assert_every_seed_holds(&base, 200);
        }
    }
}

/// A bound one nanosecond below the longest delay is too short.
#[test]
fn a_bound_below_the_real_delay_makes_the_algorithm_fail() {
    let real_delay = Duration::from_millis(5);
    let just_below = Duration::from_nanos(real_delay.nanos() - 1);
    let random = Settings { entries: 20, ..Settings::default() };
    let fixed = Spec { settings: random, ..spec(IMPLICIT, 3, "fixed:5ms") };
    assert!(sweep_seeds(&with_bound(real_delay, fixed.clone()), 300).holds());
    assert!(!sweep_seeds(&with_bound(just_below, fixed), 300).holds());
    assert!(!sweep_seeds(&with_bound(Duration::from_millis(2), spec(IMPLICIT, 3, "uniform:1ms..5ms")), 100).holds());
}

/// If shrinking shortened the bound, the correct algorithm would fail too.
#[test]
fn a_failure_of_the_faulty_variant_shrinks_without_breaking_the_correct_one() {
    let seed =
        (1..200).find(|seed| !sweep_seeds(&Spec { seed: *seed, ..spec(ONE_WAY, 4, "uniform:1ms..5ms") }, 1).holds());
    let spec = Spec { seed: seed.expect("no seed revealed the seeded bug"), ..spec(ONE_WAY, 4, "uniform:1ms..5ms") };
    let request = ShrinkRequest { spec, property: Some("exclusion".into()), max_runs: DEFAULT_MAX_RUNS };
    let shrunk = shrink::run(&request, &mut |_| true).unwrap().spec;
    assert_eq!(shrunk.delay_bound, Some(Length(Duration::from_millis(5))), "{}", shrunk.command("sim"));
    assert_eq!(shrunk.nodes, 2, "{}", shrunk.command("sim"));
    let correct = Spec::<Mutex> { algorithm: Algorithm::named(IMPLICIT).unwrap(), ..shrunk.clone() };
    let outcome = run(&correct);
    let exclusion = outcome.verdicts.iter().find(|verdict| verdict.name == "exclusion");
    assert!(
        exclusion.is_some_and(|verdict| verdict.holds == Some(true)),
        "{}\n{:?}",
        shrunk.command("sim"),
        shrunk.script
    );
}
