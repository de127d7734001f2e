//! The behavior of raft-engine on damaged logs, which is why Quorate has its own log.
//!
//! A log must cut off a torn tail, because any crash can leave one, and must refuse damage in the
//! middle, because acknowledged records follow it. These tests record what the recovery modes of
//! raft-engine 0.4.2 do instead. If one of them fails after an update, reconsider the choice.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use quorate_rivals::logs::{Log, RaftEngine};
use raft_engine::RecoveryMode;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const RECORDS: u64 = 30;

/// What happens to acknowledged records when a log is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    /// The log opens without an error, and acknowledged records are missing.
    Lost,
    /// The log opens without an error, and contains a record that it cannot read.
    Unreadable,
    /// The log opens, and reads a record with another content.
    Wrong,
    /// All records are as they were acknowledged.
    Whole,
}

fn content(number: u64) -> Vec<u8> {
    (0..100).map(|index| (number * 7 + index) as u8).collect()
}

/// The name and the bytes of a log's only file, whose records were acknowledged one by one.
fn log() -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = RaftEngine::open(folder.path(), RecoveryMode::AbsoluteConsistency).unwrap();
    for number in 1..=RECORDS {
        engine.append(&[content(number).into()]).unwrap();
    }
    drop(engine);
    let path = last_file(folder.path());
    (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
}

fn last_file(folder: &Path) -> PathBuf {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "raftlog")).max().unwrap()
}

fn outcome(name: &str, bytes: &[u8], mode: RecoveryMode) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let Ok(engine) = RaftEngine::open(folder.path(), mode) else { return Outcome::Refused };
    if engine.len() < RECORDS {
        return Outcome::Lost;
    }
    let check = |number| match engine.record(number) {
        Err(_) => Outcome::Unreadable,
        Ok(record) if record != content(number) => Outcome::Wrong,
        Ok(_) => Outcome::Whole,
    };
    // The first variant of `Outcome` that any record has.
    (1..=RECORDS).map(check).min().unwrap()
}

/// Changes single bytes in the middle third of the log, and counts the outcomes.
fn damage_the_middle(mode: RecoveryMode) -> BTreeMap<Outcome, usize> {
    let (name, bytes) = log();
    let mut counts = BTreeMap::new();
    for offset in (bytes.len() / 3..bytes.len() * 2 / 3).step_by(5) {
        let mut changed = bytes.clone();
        changed[offset] ^= 0xFF;
        *counts.entry(outcome(&name, &changed, mode)).or_default() += 1;
    }
    println!("{mode:?}: {counts:?}");
    counts
}

#[test]
fn tolerating_tail_corruption_silently_loses_acknowledged_records() {
    let counts = damage_the_middle(RecoveryMode::TolerateTailCorruption);
    assert_eq!(counts.get(&Outcome::Refused), None, "damage in the middle of the last file is never refused");
    assert!(counts[&Outcome::Lost] > 0, "{counts:?}");
    // If only the payload is damaged, the log opens, and reading the record fails.
    assert!(counts[&Outcome::Unreadable] > 0, "{counts:?}");
    assert_eq!(counts.get(&Outcome::Whole), None, "{counts:?}");
}

#[test]
fn absolute_consistency_opens_a_log_whose_payload_is_damaged() {
    let counts = damage_the_middle(RecoveryMode::AbsoluteConsistency);
    assert!(counts[&Outcome::Refused] > 0, "{counts:?}");
    assert!(counts[&Outcome::Unreadable] > 0, "{counts:?}");
    assert_eq!(counts.get(&Outcome::Lost), None, "{counts:?}");
}

#[test]
fn absolute_consistency_refuses_the_tail_that_any_crash_can_leave() {
    let (name, bytes) = log();
    for cut in 1..40 {
        let torn = &bytes[..bytes.len() - cut];
        assert_eq!(outcome(&name, torn, RecoveryMode::AbsoluteConsistency), Outcome::Refused, "{cut}");
        assert_eq!(outcome(&name, torn, RecoveryMode::TolerateTailCorruption), Outcome::Lost, "{cut}");
    }
}
