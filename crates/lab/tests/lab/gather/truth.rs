//! Tests that the gathered journal matches what happened.

use crate::gather::runs::{journal, locks, quiet_locks, replayed, replicas, replicas_with_a_lost_disk, votes};
use crate::gather::split::{Machines, Part, gathered, split};
use quorate_journal::property::Verdict;
use quorate_lab::{FamilyLab, Mutex, Spec};
use serde_json::Value;

/// Returns every line by time, except the header, the ends of incarnations and the fates of lost
/// messages.
fn lines(journal: &str) -> Vec<(i64, u64, String)> {
    let line = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        let is_ours = value["world"].get("lost").or(value["world"].get("ended")).is_some();
        // The end mark has no time.
        let time = value["time"].as_i64().filter(|_| !is_ours)?;
        Some((time, value["node"].as_u64().unwrap_or(0), text.to_owned()))
    };
    let mut lines: Vec<_> = journal.lines().skip(1).filter_map(line).collect();
    lines.sort_by_key(|(time, node, _)| (*time, *node));
    lines
}

fn times(journal: &str) -> Vec<i64> {
    let time = |text: &str| serde_json::from_str::<Value>(text).unwrap()["time"].as_i64();
    journal.lines().skip(1).filter_map(time).collect()
}

fn held(verdicts: &[Verdict]) -> Vec<(&str, bool)> {
    verdicts.iter().map(|verdict| (verdict.name, verdict.holds == Some(true))).collect()
}

/// With one clock, every line is restored with its number and position.
fn assert_restored<F: FamilyLab>(spec: &Spec<F>) {
    let truth = journal(spec);
    let mut parts = split(&truth, Machines { world: true, ends: true, ..Machines::default() });
    parts.reverse();
    let (result, found) = gathered(&parts).unwrap_or_else(|error| panic!("seed {}: {error}", spec.seed));
    let (expected, got) = (lines(&truth), lines(&result));
    for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
        assert_eq!(expected, got, "seed {}, line {index}", spec.seed);
    }
    assert_eq!(expected.len(), got.len(), "seed {}", spec.seed);
    assert_eq!((found.raised, found.boots, found.torn.len()), (0, 1, 0));
    assert_eq!((found.skipped, found.warnings.len()), (0, 0), "seed {}: {:?}", spec.seed, found.warnings);
    let (was, is) = (replayed::<F>(&truth), replayed::<F>(&result));
    assert_eq!(was.messages, is.messages, "seed {}", spec.seed);
    assert!(is.recorded && !was.recorded);
}

/// With clean shutdowns, the summaries and verdicts are restored too.
fn assert_same_results<F: FamilyLab>(spec: &Spec<F>) {
    let truth = journal(spec);
    let (result, found) =
        gathered(&split(&truth, Machines { world: true, ends: true, ..Machines::default() })).unwrap();
    let (was, is) = (replayed::<F>(&truth), replayed::<F>(&result));
    assert_eq!(was.summary, is.summary, "seed {}", spec.seed);
    assert_eq!(held(&was.verdicts), held(&is.verdicts), "seed {}", spec.seed);
    assert_eq!(found.sent, found.matched + found.lost + found.under_way);
}

/// With clocks that disagree, the result still replays, and time never goes back.
fn assert_tolerates_wrong_clocks<F: FamilyLab>(spec: &Spec<F>, error: i64) {
    let truth = journal(spec);
    let machines = Machines { own: true, apart: 7_777_777_777, error, world: false, ends: true };
    let (result, found) = gathered(&split(&truth, machines)).unwrap();
    assert_eq!(found.boots, spec.nodes);
    assert!(times(&result).is_sorted(), "seed {}", spec.seed);
    let (was, is) = (replayed::<F>(&truth), replayed::<F>(&result));
    assert_eq!(was.messages, is.messages, "seed {}", spec.seed);
    // Message delays hide small errors.
    if error > 10_000_000 {
        assert!(found.raised > 0, "wrong clocks must raise some times");
    }
}

#[test]
fn locks_are_restored_line_by_line() {
    for seed in 1..=12 {
        assert_restored(&locks("central", seed));
        assert_restored(&locks("ricart-agrawala", seed));
    }
}

#[test]
fn elections_are_restored_line_by_line() {
    for seed in 1..=6 {
        assert_restored(&votes(seed));
    }
}

#[test]
fn replicas_are_restored_line_by_line() {
    for seed in 1..=4 {
        assert_restored(&replicas(seed));
        assert_restored(&replicas_with_a_lost_disk(seed));
    }
}

#[test]
fn summaries_and_verdicts_are_restored() {
    for seed in 1..=8 {
        assert_same_results(&quiet_locks("ricart-agrawala", seed));
        assert_same_results(&locks("central", seed));
        assert_same_results(&votes(seed));
    }
    assert_same_results(&replicas(3));
}

#[test]
fn clocks_of_several_machines_are_put_in_order() {
    for seed in 1..=6 {
        for error in [0, 300_000, 40_000_000] {
            assert_tolerates_wrong_clocks(&locks("ricart-agrawala", seed), error);
            assert_tolerates_wrong_clocks(&quiet_locks("central", seed), error);
        }
        assert_tolerates_wrong_clocks(&votes(seed), 900_000_000);
    }
    assert_tolerates_wrong_clocks(&replicas(1), 5_000_000);
}

/// Wrong clocks reorder only concurrent steps, so no two nodes seem to hold the lock together.
#[test]
fn exclusion_is_judged_correctly_with_wrong_clocks() {
    for seed in 1..=10 {
        let truth = journal(&quiet_locks("ricart-agrawala", seed));
        let machines = Machines { own: true, apart: -1_234_567, error: 9_000_000, ends: true, world: false };
        let (result, _) = gathered(&split(&truth, machines)).unwrap();
        assert!(replayed::<Mutex>(&result).holds(), "seed {seed}");
    }
}

/// Without a record of the faults, crashes are inferred from where incarnations end and begin.
#[test]
fn crashes_are_inferred() {
    for seed in 1..=6 {
        let truth = journal(&replicas(seed));
        let (result, found) = gathered(&split(&truth, Machines { ends: true, ..Machines::default() })).unwrap();
        replayed::<quorate_lab::Replica>(&result);
        let crashed = |text: &str| text.lines().filter(|line| line.contains("\"crashed\"")).count();
        assert_eq!(crashed(&truth), crashed(&result));
        assert_eq!((found.lives, found.ended), (3 + crashed(&truth), 3));
    }
}

/// The order of the files has no effect.
#[test]
fn the_order_of_files_does_not_matter() {
    let truth = journal(&locks("central", 5));
    let parts = split(&truth, Machines { world: true, ends: true, ..Machines::default() });
    let first = gathered(&parts).unwrap();
    let mut turned: Vec<Part> = parts;
    for _ in 0..turned.len() {
        turned.rotate_left(1);
        assert_eq!(gathered(&turned).unwrap(), first);
    }
}
