//! Exhaustive checks of groups whose views change.

use crate::check::common::{list_violations, run_check, spec};
use crate::check::journals::replay_all;
use quorate_check::Views;
use quorate_lab::LabError;
use quorate_lab::ViewError;
use quorate_lab::check::{CheckSpec, run};
use quorate_lab::registry::{Entry, all};
use std::collections::BTreeMap;

/// A group of this size, with one request per node, in which one node may crash or lose its lease.
fn spec_with_views(algorithm: &str, nodes: usize) -> CheckSpec {
    let mut spec = spec(algorithm, nodes, 1);
    spec.setup.crashes = 1;
    spec.setup.views = Some(Views::default());
    spec
}

#[test]
fn every_checkable_algorithm_with_views_is_correct_in_groups_of_two() {
    let mut checked_names = Vec::new();
    for entry in all() {
        let Entry::Mutex(mutex) = entry else { continue };
        let can_check_two = (mutex.facts.check_group_size)(2).is_ok() && mutex.facts.profile.is_checkable;
        if !mutex.runs_in_views() || !can_check_two {
            continue;
        }
        let spec = spec_with_views(entry.name(), 2);
        let run = run_check(&spec);
        assert!(run.is_complete(), "{}", spec.command());
        assert_eq!(list_violations(&run), [], "{}", spec.command());
        checked_names.push(entry.name());
    }
    for name in ["central", "token-request", "ricart-agrawala"] {
        assert!(checked_names.contains(&name), "{checked_names:?}");
    }
}

#[test]
fn an_impatient_membership_violates_exclusion_and_its_journal_replays() {
    let mut violation_counts = BTreeMap::new();
    for algorithm in ["central", "token-request"] {
        let mut spec = spec_with_views(algorithm, 2);
        spec.setup.views = Some(Views { max_changes: 1, waits_for_leases: false });
        replay_all(&run_check(&spec), &spec.command(), &mut violation_counts);
    }
    assert_eq!(violation_counts.get("exclusion"), Some(&2), "{violation_counts:?}");
}

#[test]
fn the_printed_command_contains_the_options_of_views() {
    let mut spec = spec_with_views("central", 3);
    assert_eq!(spec.command(), "quorate check central --nodes 3 --rounds 1 --views --crashes 1 --links bare");
    spec.setup.views = Some(Views { max_changes: 2, waits_for_leases: false });
    assert!(spec.command().contains("--views --changes 2 --membership impatient"), "{}", spec.command());
}

#[test]
fn an_algorithm_without_views_is_refused() {
    let error = run(&spec_with_views("toy-lease", 2), &mut |_, _| true).err();
    assert!(
        matches!(error, Some(LabError::Views(ViewError::ViewsNotSupported { .. }))),
        "{:?}",
        error.map(|error| error.to_string())
    );
}
