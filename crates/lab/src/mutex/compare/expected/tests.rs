//! Simulations have the expected figures, and unexpected figures are reported.
//!
//! `simulation_spec` takes the algorithm, the number of nodes, the seed and the settings.

use super::{DelayUnit, ExpectedCost, Figure, Measured, Variants, select_algorithms, simulate, simulation_spec};
use crate::algorithm::AlgorithmError;
use crate::error::LabError;
use crate::experiment;
use crate::mutex::Settings;
use crate::mutex::run::Pattern;
use quorate_journal::workload::Ending;

fn settings(entries: u64, workload: Pattern) -> Settings {
    Settings { entries, workload, ..Settings::default() }
}

/// Checks every figure of every algorithm at each of these sizes that it supports, under every
/// workload.
///
/// To be sure that there is something to check, more than `min_runs` runs must have a client delay,
/// more than `min_runs` runs must have an exact expected number of messages, and more than half of
/// `min_runs` runs must have a synchronization delay.
fn assert_expected_figures(sizes: impl Iterator<Item = usize> + Clone, min_runs: u64) {
    let (mut client_delays, mut sync_delays, mut exact) = (0, 0, 0);
    for entry in select_algorithms(&[], Variants::All).unwrap() {
        for nodes in sizes.clone().filter(|nodes| (entry.facts.check_group_size)(*nodes).is_ok()) {
            for workload in [Pattern::Single, Pattern::All, Pattern::Random] {
                // Any seed would do.
                let seed = nodes as u64 * 7;
                let spec = simulation_spec(entry, nodes, seed, &settings(50, workload));
                let (expected, measured) = simulate(&spec).unwrap();
                assert_eq!(
                    measured.is_as_expected(&expected),
                    Some(true),
                    "{:?}: {}",
                    measured.differences,
                    spec.command("sim")
                );
                assert!(measured.holds() && measured.entries == 50, "{}", spec.command("sim"));
                client_delays += u64::from(measured.client_delay.is_some());
                sync_delays += u64::from(measured.sync_delay.is_some());
                exact += u64::from(expected.total_messages(measured.counted_entries).exact().is_some());
            }
        }
    }
    assert!(
        client_delays > min_runs && sync_delays > min_runs / 2,
        "{client_delays} client delays, {sync_delays} synchronization delays"
    );
    assert!(exact > min_runs, "only {exact} runs have an exact expectation");
}

#[test]
fn every_figure_is_as_expected() {
    assert_expected_figures((2..=9).chain([13, 16]), 250);
}

/// Some of the sizes up to 49: `quorate compare mutex --nodes 2-49` checks all of them.
#[test]
#[ignore = "long: ./check long"]
fn every_figure_is_as_expected_in_large_groups() {
    assert_expected_figures((2..=17).chain([25, 31, 36, 49]), 500);
}

/// The coordinator's own entries cost nothing, and would hide the cost of the others.
#[test]
fn the_coordinators_entries_are_counted_separately() {
    let [entry] = select_algorithms(&["central".into()], Variants::Default).unwrap()[..] else {
        panic!("one name, one algorithm")
    };
    let (expected, measured) = simulate(&simulation_spec(entry, 3, 1, &settings(60, Pattern::Random))).unwrap();
    // The minimum and the maximum are three: a request, a grant and a release. Any number of
    // entries would do.
    assert_eq!((expected.messages_per_entry(7), expected.has_coordinator), ((3.0, Some(3.0)), true));
    assert_eq!((measured.messages_per_entry, measured.coordinator_messages_per_entry), (Some(3.0), Some(0.0)));
    assert_eq!(measured.busiest_share, 1.0);
}

/// Compared with the expected cost of another algorithm or size, a run differs in the right
/// figures.
#[test]
fn unexpected_figures_are_reported() {
    let found = select_algorithms(&["central".into(), "ricart-agrawala".into()], Variants::Default).unwrap();
    let [central, ricart_agrawala] = found[..] else { panic!("two names, two algorithms") };
    let outcome = experiment::run(&simulation_spec(ricart_agrawala, 4, 3, &settings(60, Pattern::Random))).unwrap();
    let compare_with = |expected: &ExpectedCost, delay_unit, ending| {
        let measured =
            Measured::new(expected, delay_unit, ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
        let figures: Vec<_> = measured.differences.iter().map(|difference| difference.figure).collect();
        (figures, measured.is_as_expected(expected))
    };
    let random = settings(60, Pattern::Random);
    let larger = ExpectedCost::of_experiment(ricart_agrawala, &simulation_spec(ricart_agrawala, 5, 1, &random));
    let (times, millis) = (DelayUnit::MessageTimes, DelayUnit::Milliseconds);
    assert_eq!(compare_with(&larger, times, Ending::Done), (vec![Figure::Messages], Some(false)));
    let other = ExpectedCost::of_experiment(central, &simulation_spec(central, 4, 1, &random));
    assert_eq!(compare_with(&other, times, Ending::Done), (vec![Figure::Messages, Figure::SyncDelay], Some(false)));
    // There is no expected delay in milliseconds.
    assert_eq!(compare_with(&other, millis, Ending::Done), (vec![Figure::Messages], Some(false)));
    assert_eq!(compare_with(&other, times, Ending::Stopped), (vec![], None));
    let not_binding = ExpectedCost { is_binding: false, ..other };
    assert_eq!(compare_with(&not_binding, times, Ending::Done), (vec![], None));
}

#[test]
fn fixtures_are_compared_only_if_named() {
    let name = |entry: &crate::mutex::MutexEntry| entry.facts.profile.name;
    assert!(select_algorithms(&[], Variants::All).unwrap().into_iter().all(|entry| {
        ExpectedCost::of_experiment(entry, &simulation_spec(entry, 3, 1, &settings(1, Pattern::All))).is_binding
    }));
    let [wrong] = select_algorithms(&["ricart-agrawala-clock-only".into()], Variants::Default).unwrap()[..] else {
        panic!("one algorithm")
    };
    assert_eq!(name(wrong), "ricart-agrawala-clock-only");
    let (expected, measured) = simulate(&simulation_spec(wrong, 4, 1, &settings(100, Pattern::All))).unwrap();
    assert_eq!((measured.holds(), measured.is_as_expected(&expected)), (false, None));
}

#[test]
fn a_run_without_entries_is_not_judged() {
    for entry in select_algorithms(&[], Variants::All).unwrap() {
        let (expected, measured) = simulate(&simulation_spec(entry, 3, 1, &settings(0, Pattern::Random))).unwrap();
        assert_eq!(measured.is_as_expected(&expected), None);
    }
}

#[test]
fn unknown_names_and_names_of_other_families_are_rejected() {
    let found =
        |name: &str| select_algorithms(&["central".into(), name.into()], Variants::Default).map(|found| found.len());
    assert!(matches!(found("raft"), Err(LabError::Algorithm(AlgorithmError::OtherFamily { .. }))));
    assert!(matches!(found("centrel"), Err(LabError::Algorithm(AlgorithmError::UnknownAlgorithm { .. }))));
}
