//! Algorithms that rely on how long a message takes: right as long as the bound holds, to the nanosecond, and no longer.

use crate::common::{all_hold, parsed, run, swept_through};
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

fn told(bound: Duration, spec: Spec) -> Spec {
    Spec { bound: Some(Length(bound)), ..spec }
}

/// Where every message takes exactly as long as it may, and where some do.
#[test]
fn silence_is_consent_as_long_as_the_bound_holds() {
    for nodes in 2..=6 {
        for latency in ["fixed:5ms", "uniform:0ms..5ms", "uniform:5ms..5ms"] {
            let idle = spec(IMPLICIT, nodes, latency);
            all_hold(&Spec { processing: parsed("uniform:0ms..2ms"), ..idle.clone() }, 200);
            all_hold(&idle, 200);
        }
    }
}

/// A nanosecond less than there and back is too little where both take as long as they may.
#[test]
fn two_are_inside_where_nodes_are_told_too_little() {
    let exactly = Duration::from_millis(5);
    let less = Duration::from_nanos(exactly.nanos() - 1);
    let random = Settings { entries: 20, ..Settings::default() };
    let fixed = Spec { settings: random, ..spec(IMPLICIT, 3, "fixed:5ms") };
    assert!(swept_through(&told(exactly, fixed.clone()), 300).holds());
    assert!(!swept_through(&told(less, fixed), 300).holds());
    assert!(!swept_through(&told(Duration::from_millis(2), spec(IMPLICIT, 3, "uniform:1ms..5ms")), 100).holds());
}

/// Were nodes told a shorter bound in what is small, the algorithm without the flaw would break there too.
#[test]
fn what_breaks_a_flawed_wait_becomes_small_and_breaks_nothing_else() {
    let seed =
        (1..200).find(|seed| !swept_through(&Spec { seed: *seed, ..spec(ONE_WAY, 4, "uniform:1ms..5ms") }, 1).holds());
    let spec = Spec { seed: seed.expect("the flaw shows"), ..spec(ONE_WAY, 4, "uniform:1ms..5ms") };
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
