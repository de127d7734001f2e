//! What is gathered is what happened.

use crate::gather::scenes::{journal, locks, quiet_locks, replayed, replicas, replicas_with_a_lost_disk, votes};
use crate::gather::split::{Machines, Part, gathered, split};
use quorate_journal::property::Verdict;
use quorate_lab::{FamilyLab, Mutex, Spec};
use serde_json::Value;

/// Every line but the header, the ends of lives and what became of lost messages, by time.
fn lines(journal: &str) -> Vec<(i64, u64, String)> {
    let line = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        let is_ours = value["world"].get("lost").or(value["world"].get("ended")).is_some();
        // The mark at the end has no time.
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

/// With one clock, every line comes back, with its number, in its place.
fn comes_back<F: FamilyLab>(spec: &Spec<F>) {
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

/// With nodes stopped in good order, the figures and the verdicts come back too.
fn comes_to_the_same<F: FamilyLab>(spec: &Spec<F>) {
    let truth = journal(spec);
    let (result, found) =
        gathered(&split(&truth, Machines { world: true, ends: true, ..Machines::default() })).unwrap();
    let (was, is) = (replayed::<F>(&truth), replayed::<F>(&result));
    assert_eq!(was.summary, is.summary, "seed {}", spec.seed);
    assert_eq!(held(&was.verdicts), held(&is.verdicts), "seed {}", spec.seed);
    assert_eq!(found.sent, found.matched + found.lost + found.under_way);
}

/// With machines whose clocks disagree, the result still replays, and time never goes back.
fn bears_wrong_clocks<F: FamilyLab>(spec: &Spec<F>, error: i64) {
    let truth = journal(spec);
    let machines = Machines { own: true, apart: 7_777_777_777, error, world: false, ends: true };
    let (result, found) = gathered(&split(&truth, machines)).unwrap();
    assert_eq!(found.boots, spec.nodes);
    assert!(times(&result).is_sorted(), "seed {}", spec.seed);
    let (was, is) = (replayed::<F>(&truth), replayed::<F>(&result));
    assert_eq!(was.messages, is.messages, "seed {}", spec.seed);
    // Small errors are hidden by how long messages take.
    if error > 10_000_000 {
        assert!(found.raised > 0, "the clocks are wrong, but that does not show");
    }
}

#[test]
fn locks_come_back_line_by_line() {
    for seed in 1..=12 {
        comes_back(&locks("central", seed));
        comes_back(&locks("ricart-agrawala", seed));
    }
}

#[test]
fn elections_come_back_line_by_line() {
    for seed in 1..=6 {
        comes_back(&votes(seed));
    }
}

#[test]
fn replicas_come_back_line_by_line() {
    for seed in 1..=4 {
        comes_back(&replicas(seed));
        comes_back(&replicas_with_a_lost_disk(seed));
    }
}

#[test]
fn figures_and_verdicts_come_back() {
    for seed in 1..=8 {
        comes_to_the_same(&quiet_locks("ricart-agrawala", seed));
        comes_to_the_same(&locks("central", seed));
        comes_to_the_same(&votes(seed));
    }
    comes_to_the_same(&replicas(3));
}

#[test]
fn clocks_of_several_machines_are_put_in_order() {
    for seed in 1..=6 {
        for error in [0, 300_000, 40_000_000] {
            bears_wrong_clocks(&locks("ricart-agrawala", seed), error);
            bears_wrong_clocks(&quiet_locks("central", seed), error);
        }
        bears_wrong_clocks(&votes(seed), 900_000_000);
    }
    bears_wrong_clocks(&replicas(1), 5_000_000);
}

/// Wrong clocks move what is concurrent, never what is caused: nobody seems to be inside together.
#[test]
fn exclusion_is_judged_rightly_with_wrong_clocks() {
    for seed in 1..=10 {
        let truth = journal(&quiet_locks("ricart-agrawala", seed));
        let machines = Machines { own: true, apart: -1_234_567, error: 9_000_000, ends: true, world: false };
        let (result, _) = gathered(&split(&truth, machines)).unwrap();
        assert!(replayed::<Mutex>(&result).holds(), "seed {seed}");
    }
}

/// Nobody wrote down what was done to the nodes: crashes follow from where lives end and begin.
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

/// The order of the files says nothing.
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
