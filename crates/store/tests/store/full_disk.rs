//! Disks that are full after any number of bytes.

use crate::common::{SMALL, Workload, Write, contents, losses, open};
use quorate_store::faults::{Fault, FaultyFiles};
use quorate_store::{Settings, StoreError};

/// Runs the workload. Whenever the disk is full, checks that nothing changed, adds some space and
/// retries.
fn run_with_retries(files: &FaultyFiles, workload: &Workload, settings: Settings, step: u64) -> u64 {
    let (mut store, ..) = open(files, settings).unwrap();
    let mut limit = files.used();
    let mut refusals = 0;
    for (acknowledged, writes) in workload.appends.iter().enumerate() {
        loop {
            match store.append(writes) {
                Ok(()) => break,
                Err(StoreError::Full { .. }) => refusals += 1,
                Err(error) => panic!("limit {limit}: {error}"),
            }
            assert_eq!(store.contents(), &workload.states[acknowledged], "limit {limit}");
            // No part of the append may remain, whatever a crash destroys.
            for loss in losses(limit, 1) {
                let copy = files.duplicate();
                copy.power_on(loss);
                assert_eq!(contents(&copy).unwrap(), workload.states[acknowledged], "limit {limit} {loss:?}");
            }
            limit += step;
            files.limit(limit);
        }
    }
    drop(store);
    assert_eq!(&contents(files).unwrap(), workload.end());
    refusals
}

#[test]
fn a_full_disk_at_every_byte_refuses_an_append_and_accepts_it_later() {
    let workload = Workload::new(21, 10, 150);
    let files = created();
    files.limit(files.used());
    let refusals = run_with_retries(&files, &workload, Settings { segment_bytes: 700, ahead_bytes: 300 }, 1);
    assert!(refusals > 500, "{refusals}");
}

#[test]
fn a_full_disk_refuses_large_appends_in_every_phase() {
    for step in [3, 7, 64, 513] {
        let workload = Workload::new(step, 40, 900);
        let files = created();
        files.limit(files.used());
        assert!(run_with_retries(&files, &workload, SMALL, step) > 20);
    }
}

/// At every limit, the workload runs until the disk is full. Then the limit is removed, and all of
/// it succeeds.
#[test]
fn when_space_returns_the_same_append_succeeds() {
    let workload = Workload::new(22, 12, 300);
    let begin = created().used();
    for limit in begin..begin + 4_500 {
        let files = created();
        files.limit(limit);
        let (mut store, ..) = open(&files, SMALL).unwrap();
        let mut was_full = false;
        for (acknowledged, writes) in workload.appends.iter().enumerate() {
            if let Err(error) = store.append(writes) {
                assert!(error.is_full(), "{limit}: {error}");
                assert_eq!(store.contents(), &workload.states[acknowledged]);
                was_full = true;
                files.heal();
                store.append(writes).unwrap();
            }
        }
        drop(store);
        assert_eq!(&contents(&files).unwrap(), workload.end(), "{limit}");
        assert!(was_full || limit > begin + 1_500, "a disk of {limit} bytes was never full");
    }
}

/// A log without space for a new segment continues in the old one.
#[test]
fn a_checkpoint_without_space_is_postponed() {
    let files = created();
    let workload = Workload::new(23, 30, 40);
    let settings = Settings { segment_bytes: 300, ahead_bytes: 8_000 };
    let (mut store, ..) = open(&files, settings).unwrap();
    store.append(&workload.appends[0]).unwrap();
    files.limit(files.used());
    for writes in &workload.appends[1..] {
        store.append(writes).unwrap();
    }
    let full = store.checkpoint().unwrap_err();
    assert!(full.is_full(), "{full}");
    let is_unfinished = |path: &std::path::PathBuf| path.extension().is_some();
    assert_eq!(files.paths().into_iter().find(is_unfinished), None, "an unfinished segment takes no space");
    files.heal();
    store.checkpoint().unwrap();
    drop(store);
    let (_, found, recovery) = open(&files, settings).unwrap();
    assert_eq!(&found, workload.end());
    assert_eq!((recovery.segment.as_str(), recovery.appends), ("log-00000002", 0));
}

/// The disk is full of obsolete votes: the log frees that space with a new segment.
#[test]
fn a_log_that_fills_the_disk_with_obsolete_frames_frees_space() {
    let files = created();
    let settings = Settings { segment_bytes: 1 << 20, ahead_bytes: 500 };
    let (mut store, ..) = open(&files, settings).unwrap();
    files.limit(20_000);
    for vote in 0..5_000 {
        store.append(&[Write::Vote(vote)]).unwrap();
    }
    drop(store);
    let found = contents(&files).unwrap();
    assert_eq!((found.writes, found.vote), (5_000, 4_999));
    assert!(files.used() <= 20_000);
}

/// Runs the workload on a disk that is full repeatedly, until the fault occurs. Returns the number
/// of acknowledged appends, or `None` if the workload ended before.
fn run_until_fault(files: &FaultyFiles, workload: &Workload, operation: u64, fault: Fault) -> Option<usize> {
    let (mut store, ..) = open(files, SMALL).unwrap();
    let mut limit = files.used() + 100;
    files.limit(limit);
    files.fail_at(files.operations() + operation, fault);
    for (acknowledged, writes) in workload.appends.iter().enumerate() {
        while let Err(error) = store.append(writes) {
            if !error.is_full() {
                return Some(acknowledged);
            }
            limit += 211;
            files.limit(limit);
        }
    }
    None
}

/// The power or the disk fails while the store handles a full disk.
#[test]
fn a_full_disk_that_fails_too_loses_nothing() {
    let workload = Workload::new(24, 40, 500);
    for fault in [Fault::PowerLoss, Fault::Error] {
        let mut operation = 0;
        loop {
            operation += 1;
            let crashed = created();
            let Some(acknowledged) = run_until_fault(&crashed, &workload, operation, fault) else { break };
            for loss in losses(operation, 3) {
                let files = crashed.duplicate();
                files.power_on(loss);
                let found = contents(&files).unwrap_or_else(|error| panic!("{fault:?} {operation} {loss:?}: {error}"));
                assert!(workload.allows(acknowledged, &found), "{fault:?} {operation} {loss:?}");
            }
            if fault == Fault::Error {
                crashed.heal();
                crashed.restart_process();
                let found = contents(&crashed).unwrap_or_else(|error| panic!("{operation}: {error}"));
                assert!(workload.allows(acknowledged, &found), "{operation}");
            }
        }
        assert!(operation > 300, "{fault:?}: only {operation} operations");
    }
}

fn created() -> FaultyFiles {
    let files = FaultyFiles::new();
    crate::common::create(&files).unwrap();
    files
}
