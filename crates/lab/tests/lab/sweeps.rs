//! Sweeps over many seeds: correct algorithms pass, and faulty ones are found.

use crate::common::{assert_every_seed_holds, parse, run, sweep_seeds, sweep_until_failure};
use quorate_journal::settings::Chance;
use quorate_lab::mutex::Settings;
use quorate_lab::sweep::{self, Sweep};
use quorate_lab::{LinkChoice, Mutex, Spec};

/// A smaller version of the million-seed command of `quorate sweep --help`.
#[test]
fn reliable_links_carry_both_algorithms_through_loss_duplication_and_reordering() {
    for algorithm in ["ricart-agrawala", "central"] {
        let spec = Spec::<Mutex> { loss: parse("0.1"), duplicate: parse("0.05"), ..Spec::named(algorithm).unwrap() };
        assert_every_seed_holds(&spec, 10_000);
    }
}

#[test]
fn tries_and_cancellations_violate_nothing() {
    for algorithm in ["ricart-agrawala", "central"] {
        for links in [LinkChoice::Bare, LinkChoice::Reliable] {
            let (tries, cancels) = (parse("0.3"), parse("0.4"));
            let settings = Settings { entries: 20, tries, cancels, ..Settings::default() };
            let base = Spec::<Mutex> { nodes: 4, links, settings, ..Spec::named(algorithm).unwrap() };
            assert_every_seed_holds(&Spec { latency: parse("long-tail:2ms"), ..base.clone() }, 1_000);
            assert_every_seed_holds(&base, 1_000);
        }
    }
}

#[test]
fn pauses_cuts_and_wrong_clocks_violate_nothing() {
    for algorithm in ["ricart-agrawala", "central"] {
        let random_faults = parse("pause=2,cut=2,deaf=2,skew=1,drift=1");
        let (loss, duplicate) = (parse("0.05"), parse("0.05"));
        let settings = Settings { entries: 15, ..Settings::default() };
        assert_every_seed_holds(
            &Spec::<Mutex> { nodes: 5, random_faults, loss, duplicate, settings, ..Spec::named(algorithm).unwrap() },
            2_000,
        );
    }
}

#[test]
fn crashes_block_the_textbook_algorithms_but_exclusion_holds() {
    for algorithm in ["ricart-agrawala", "central"] {
        let faults = vec![parse("crash 2 at 20ms")];
        let settings = Settings { entries: 20, ..Settings::default() };
        let spec: Spec =
            Spec { nodes: 4, links: LinkChoice::Bare, faults, settings, ..Spec::named(algorithm).unwrap() };
        let mut blocked_runs = 0;
        for seed in 0..500 {
            let outcome = run(&Spec { seed, ..spec.clone() });
            let violations: Vec<_> = outcome.violated_verdicts().map(|verdict| verdict.name).collect();
            assert!(violations.iter().all(|name| *name == "served"), "seed {seed}: {violations:?}");
            blocked_runs += usize::from(!violations.is_empty());
        }
        assert!(blocked_runs > 50, "only {blocked_runs} runs of {algorithm} blocked");
    }
}

#[test]
fn lossy_bare_links_block_ricart_agrawala() {
    let spec = Spec::<Mutex> { links: LinkChoice::Bare, loss: parse("0.1"), ..Spec::named("ricart-agrawala").unwrap() };
    let (_, violation) = sweep_until_failure(&spec, 100)
        .first_failure
        .expect("without retransmission, a lost reply blocks its requester");
    assert_eq!(violation.name, "served");
}

#[test]
fn flaws_of_ricart_agrawala_variants_are_found_within_a_thousand_seeds() {
    let half = parse("0.5");
    for (algorithm, cancels, expected) in [
        ("ricart-agrawala-clock-only", Chance::default(), "exclusion"),
        ("ricart-agrawala-node-only", Chance::default(), "exclusion"),
        ("ricart-agrawala-first-only", Chance::default(), "served"),
        ("ricart-agrawala-1981", Chance::default(), "happened-before-order"),
        ("ricart-agrawala-1981", half, "exclusion"),
    ] {
        let settings = Settings {
            entries: 40,
            cancels,
            hold: Some(parse("fixed:0.1ms")),
            think: Some(parse("uniform:0ms..3ms")),
            ..Settings::default()
        };
        let latency = parse("long-tail:2ms");
        let spec = Spec::<Mutex> { nodes: 4, latency, settings, ..Spec::named(algorithm).unwrap() };
        let summary = sweep_seeds(&spec, 1_000);
        let held_seeds = summary.properties.iter().find(|tally| tally.name == expected).map(|tally| tally.held_seeds);
        assert!(
            held_seeds.is_some_and(|held_seeds| held_seeds < 1_000),
            "{algorithm} was not caught breaking '{expected}'"
        );
    }
}

/// The reported seed does not depend on thread timing.
#[test]
fn the_lowest_failing_seed_is_named() {
    let spec: Spec = Spec { links: LinkChoice::Bare, loss: parse("0.001"), ..Spec::named("central").unwrap() };
    let lowest = |threads| {
        let sweep = Sweep { spec: spec.clone(), seeds: 20_000, threads, keep_going: false };
        sweep::run(&sweep, |_| true).unwrap().first_failure.map(|(seed, _)| seed)
    };
    let with_one_thread = lowest(1);
    assert!(with_one_thread.is_some());
    for _ in 0..5 {
        assert_eq!(lowest(4), with_one_thread);
    }
}

#[test]
fn an_interrupted_sweep_counts_exactly_the_seeds_it_tried() {
    let sweep = Sweep { spec: Spec::<Mutex>::named("central").unwrap(), seeds: 100_000, threads: 2, keep_going: false };
    let mut reported = 0;
    let summary = sweep::run(&sweep, |so_far| {
        reported = so_far.seeds;
        so_far.seeds < 200
    });
    let summary = summary.unwrap();
    assert_eq!((summary.seeds, summary.failed_seeds), (reported, 0));
    // Seeds are counted in batches, so the sweep stops a little after 200 seeds.
    assert!((200..1_000).contains(&summary.seeds), "{}", summary.seeds);
}
