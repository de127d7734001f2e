//! Tests that the gathered journal agrees with the journal of the simulated run that was split into
//! the parts.

use crate::gather::runs::{
    election_spec, lock_spec, lock_spec_without_crashes, replay_and_read, replica_spec, replica_spec_with_lost_disk,
    run_journal,
};
use crate::gather::split::{Machines, Part, gather_parts, split};
use quorate_journal::property::Verdict;
use quorate_lab::{FamilyLab, Mutex, Spec};
use serde_json::Value;

/// Returns every line with its time and node, sorted by them. Leaves out the header, the ends of
/// incarnations and the lost messages, which gathering infers.
fn timed_lines(journal: &str) -> Vec<(i64, u64, String)> {
    let line = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        let is_inferred = value["world"].get("lost").or(value["world"].get("ended")).is_some();
        // The end mark has no time.
        let time = value["time"].as_i64().filter(|_| !is_inferred)?;
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

fn property_results(verdicts: &[Verdict]) -> Vec<(&str, bool)> {
    verdicts.iter().map(|verdict| (verdict.name, verdict.holds == Some(true))).collect()
}

/// Asserts that with one clock, gathering restores every line.
fn assert_restored<F: FamilyLab>(spec: &Spec<F>) {
    let truth = run_journal(spec);
    let mut parts =
        split(&truth, Machines { has_fault_journal: true, has_clean_shutdowns: true, ..Machines::default() });
    parts.reverse();
    let (result, gathered) = gather_parts(&parts).unwrap_or_else(|error| panic!("seed {}: {error}", spec.seed));
    let (expected, got) = (timed_lines(&truth), timed_lines(&result));
    for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
        assert_eq!(expected, got, "seed {}, line {index}", spec.seed);
    }
    assert_eq!(expected.len(), got.len(), "seed {}", spec.seed);
    assert_eq!((gathered.delayed_steps, gathered.boots, gathered.torn_files.len()), (0, 1, 0));
    assert_eq!(
        (gathered.skipped_messages, gathered.warnings.len()),
        (0, 0),
        "seed {}: {:?}",
        spec.seed,
        gathered.warnings
    );
    let (original, regained) = (replay_and_read::<F>(&truth), replay_and_read::<F>(&result));
    assert_eq!(original.messages, regained.messages, "seed {}", spec.seed);
    // Only the gathered journal counts as a recording of real processes.
    assert!(regained.is_recorded && !original.is_recorded);
}

/// Asserts that with clean shutdowns, gathering restores the summary and the verdicts too.
fn assert_same_results<F: FamilyLab>(spec: &Spec<F>) {
    let truth = run_journal(spec);
    let (result, gathered) = gather_parts(&split(
        &truth,
        Machines { has_fault_journal: true, has_clean_shutdowns: true, ..Machines::default() },
    ))
    .unwrap();
    let (original, regained) = (replay_and_read::<F>(&truth), replay_and_read::<F>(&result));
    assert_eq!(original.summary, regained.summary, "seed {}", spec.seed);
    assert_eq!(property_results(&original.verdicts), property_results(&regained.verdicts), "seed {}", spec.seed);
    assert_eq!(gathered.sent_messages, gathered.received_messages + gathered.lost_messages + gathered.in_flight);
}

/// Asserts that with clocks that disagree, the gathered journal still replays, and its times never
/// decrease.
fn assert_tolerates_wrong_clocks<F: FamilyLab>(spec: &Spec<F>, error_nanos: i64) {
    let truth = run_journal(spec);
    let machines = Machines {
        has_own_machines: true,
        offset_nanos: 7_777_777_777,
        error_nanos,
        has_fault_journal: false,
        has_clean_shutdowns: true,
    };
    let (result, gathered) = gather_parts(&split(&truth, machines)).unwrap();
    assert_eq!(gathered.boots, spec.nodes);
    assert!(times(&result).is_sorted(), "seed {}", spec.seed);
    let (original, regained) = (replay_and_read::<F>(&truth), replay_and_read::<F>(&result));
    assert_eq!(original.messages, regained.messages, "seed {}", spec.seed);
    // Smaller errors may have no effect.
    if error_nanos > 10_000_000 {
        assert!(gathered.delayed_steps > 0, "no step was moved to a later time");
    }
}

#[test]
fn locks_are_restored_line_by_line() {
    for seed in 1..=12 {
        assert_restored(&lock_spec("central", seed));
        assert_restored(&lock_spec("ricart-agrawala", seed));
    }
}

#[test]
fn elections_are_restored_line_by_line() {
    for seed in 1..=6 {
        assert_restored(&election_spec(seed));
    }
}

#[test]
fn replicas_are_restored_line_by_line() {
    for seed in 1..=4 {
        assert_restored(&replica_spec(seed));
        assert_restored(&replica_spec_with_lost_disk(seed));
    }
}

#[test]
fn summaries_and_verdicts_are_restored() {
    for seed in 1..=8 {
        assert_same_results(&lock_spec_without_crashes("ricart-agrawala", seed));
        assert_same_results(&lock_spec("central", seed));
        assert_same_results(&election_spec(seed));
    }
    assert_same_results(&replica_spec(3));
}

#[test]
fn journals_of_machines_with_wrong_clocks_are_put_in_order() {
    for seed in 1..=6 {
        for error_nanos in [0, 300_000, 40_000_000] {
            assert_tolerates_wrong_clocks(&lock_spec("ricart-agrawala", seed), error_nanos);
            assert_tolerates_wrong_clocks(&lock_spec_without_crashes("central", seed), error_nanos);
        }
        assert_tolerates_wrong_clocks(&election_spec(seed), 900_000_000);
    }
    assert_tolerates_wrong_clocks(&replica_spec(1), 5_000_000);
}

/// Wrong clocks reorder only concurrent steps, so no two nodes seem to hold the lock together.
#[test]
fn exclusion_is_judged_correctly_with_wrong_clocks() {
    for seed in 1..=10 {
        let truth = run_journal(&lock_spec_without_crashes("ricart-agrawala", seed));
        let machines = Machines {
            has_own_machines: true,
            offset_nanos: -1_234_567,
            error_nanos: 9_000_000,
            has_clean_shutdowns: true,
            has_fault_journal: false,
        };
        let (result, _) = gather_parts(&split(&truth, machines)).unwrap();
        assert!(replay_and_read::<Mutex>(&result).holds(), "seed {seed}");
    }
}

/// Without a record of the faults, crashes are inferred from where incarnations end and begin.
#[test]
fn crashes_are_inferred() {
    for seed in 1..=6 {
        let truth = run_journal(&replica_spec(seed));
        let (result, gathered) =
            gather_parts(&split(&truth, Machines { has_clean_shutdowns: true, ..Machines::default() })).unwrap();
        replay_and_read::<quorate_lab::Replica>(&result);
        let crashed = |text: &str| text.lines().filter(|line| line.contains("\"crashed\"")).count();
        assert_eq!(crashed(&truth), crashed(&result));
        // Each of the 3 nodes restarts after each of its crashes, and is up at the end.
        assert_eq!((gathered.incarnations, gathered.clean_shutdowns), (3 + crashed(&truth), 3));
    }
}

#[test]
fn the_order_of_files_does_not_matter() {
    let truth = run_journal(&lock_spec("central", 5));
    let parts = split(&truth, Machines { has_fault_journal: true, has_clean_shutdowns: true, ..Machines::default() });
    let first = gather_parts(&parts).unwrap();
    let mut rotated: Vec<Part> = parts;
    for _ in 0..rotated.len() {
        rotated.rotate_left(1);
        assert_eq!(gather_parts(&rotated).unwrap(), first);
    }
}
