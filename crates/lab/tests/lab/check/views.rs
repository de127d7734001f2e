//! Checks of groups whose views change, by name.

use crate::check::common::{checked, spec, violated};
use crate::check::journals::replay_all;
use quorate_check::Views;
use quorate_lab::LabError;
use quorate_lab::ViewError;
use quorate_lab::check::{CheckSpec, run};
use quorate_lab::registry::{Entry, all};
use std::collections::BTreeMap;

/// A group of this size in which one node may crash or lose its lease, with one request each.
fn in_views(algorithm: &str, nodes: usize) -> CheckSpec {
    let mut spec = spec(algorithm, nodes, 1);
    spec.setup.crashes = 1;
    spec.setup.views = Some(Views::default());
    spec
}

#[test]
fn every_algorithm_with_views_is_safe_and_serves_two_members() {
    let mut checked_names = Vec::new();
    for entry in all() {
        let Entry::Mutex(mutex) = entry else { continue };
        let small = (mutex.facts.fits)(2).is_ok() && mutex.facts.profile.checkable;
        if !mutex.runs_in_views() || !small {
            continue;
        }
        let spec = in_views(entry.name(), 2);
        let run = checked(&spec);
        assert!(run.is_complete(), "{}", spec.command());
        assert_eq!(violated(&run), [], "{}", spec.command());
        checked_names.push(entry.name());
    }
    for name in ["central", "token-request", "ricart-agrawala"] {
        assert!(checked_names.contains(&name), "{checked_names:?}");
    }
}

#[test]
fn an_impatient_membership_violates_exclusion_and_its_journal_replays() {
    let mut seen = BTreeMap::new();
    for algorithm in ["central", "token-request"] {
        let mut spec = in_views(algorithm, 2);
        spec.setup.views = Some(Views { changes: 1, waits_for_leases: false });
        replay_all(&checked(&spec), &spec.command(), &mut seen);
    }
    assert_eq!(seen.get("exclusion"), Some(&2), "{seen:?}");
}

#[test]
fn the_command_says_how_views_change() {
    let mut spec = in_views("central", 3);
    assert_eq!(spec.command(), "quorate check central --nodes 3 --rounds 1 --views --crashes 1 --links bare");
    spec.setup.views = Some(Views { changes: 2, waits_for_leases: false });
    assert!(spec.command().contains("--views --changes 2 --membership impatient"), "{}", spec.command());
}

#[test]
fn an_algorithm_without_views_is_refused() {
    let refused = run(&in_views("toy-lease", 2), &mut |_, _| true).err();
    assert!(
        matches!(refused, Some(LabError::Views(ViewError::NoViews { .. }))),
        "{:?}",
        refused.map(|error| error.to_string())
    );
}
