//! Disks that are full after any number of bytes.

use crate::common::{SMALL_SEGMENTS, Workload, WorkloadSize, Write, losses, open_store, read_contents};
use quorate_store::faults::{Fault, FaultyFiles};
use quorate_store::{Settings, StoreError};

/// Runs the workload. Whenever the disk is full, checks that nothing changed, adds `added_bytes`
/// of space and retries. Returns how often the disk was full.
fn run_with_retries(files: &FaultyFiles, workload: &Workload, settings: Settings, added_bytes: u64) -> u64 {
    let (mut store, ..) = open_store(files, settings).unwrap();
    let mut limit = files.used_bytes();
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
            let (seed, seeds_per_kind) = (limit, 1);
            for loss in losses(seed, seeds_per_kind) {
                let copy = files.duplicate();
                copy.power_on(loss);
                assert_eq!(read_contents(&copy).unwrap(), workload.states[acknowledged], "limit {limit} {loss:?}");
            }
            limit += added_bytes;
            files.limit_bytes(limit);
        }
    }
    drop(store);
    assert_eq!(&read_contents(files).unwrap(), workload.final_state());
    refusals
}

#[test]
fn a_full_disk_at_every_byte_refuses_an_append_and_accepts_it_later() {
    let workload = Workload::new(WorkloadSize { seed: 21, appends: 10, entry_bytes: 150 });
    let files = disk_with_folder();
    files.limit_bytes(files.used_bytes());
    let added_bytes = 1;
    let settings = Settings { segment_bytes: 700, preallocated_bytes: 300 };
    let refusals = run_with_retries(&files, &workload, settings, added_bytes);
    assert!(refusals > 500, "{refusals}");
}

#[test]
fn a_full_disk_refuses_large_appends_and_accepts_them_later() {
    for added_bytes in [3, 7, 64, 513] {
        let workload = Workload::new(WorkloadSize { seed: added_bytes, appends: 40, entry_bytes: 900 });
        let files = disk_with_folder();
        files.limit_bytes(files.used_bytes());
        assert!(run_with_retries(&files, &workload, SMALL_SEGMENTS, added_bytes) > 20);
    }
}

/// At every limit, the workload runs until the disk is full. Then the limit is removed, and the
/// rest of the workload succeeds.
#[test]
fn when_space_returns_the_same_append_succeeds() {
    let workload = Workload::new(WorkloadSize { seed: 22, appends: 12, entry_bytes: 300 });
    let begin = disk_with_folder().used_bytes();
    for limit in begin..begin + 4_500 {
        let files = disk_with_folder();
        files.limit_bytes(limit);
        let (mut store, ..) = open_store(&files, SMALL_SEGMENTS).unwrap();
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
        assert_eq!(&read_contents(&files).unwrap(), workload.final_state(), "{limit}");
        // The whole workload needs more than 1,500 bytes.
        assert!(was_full || limit > begin + 1_500, "a disk of {limit} bytes was never full");
    }
}

/// A log without space for a new segment continues in the old one. The first append extends it by
/// so many zeros that all later appends need no more space.
#[test]
fn a_checkpoint_without_space_is_postponed() {
    let files = disk_with_folder();
    let workload = Workload::new(WorkloadSize { seed: 23, appends: 30, entry_bytes: 40 });
    let settings = Settings { segment_bytes: 300, preallocated_bytes: 8_000 };
    let (mut store, ..) = open_store(&files, settings).unwrap();
    store.append(&workload.appends[0]).unwrap();
    files.limit_bytes(files.used_bytes());
    for writes in &workload.appends[1..] {
        store.append(writes).unwrap();
    }
    let error = store.checkpoint().unwrap_err();
    assert!(error.is_full(), "{error}");
    let is_unfinished = |path: &std::path::PathBuf| path.extension().is_some();
    assert_eq!(files.paths().into_iter().find(is_unfinished), None, "the unfinished segment is removed");
    files.heal();
    store.checkpoint().unwrap();
    drop(store);
    let (_, found, recovery) = open_store(&files, settings).unwrap();
    assert_eq!(&found, workload.final_state());
    assert_eq!((recovery.segment.as_str(), recovery.appends), ("log-00000002", 0));
}

/// The disk is full of obsolete votes: the log frees that space with a new segment.
#[test]
fn a_log_that_fills_the_disk_with_obsolete_frames_frees_space() {
    let files = disk_with_folder();
    let settings = Settings { segment_bytes: 1 << 20, preallocated_bytes: 500 };
    let (mut store, ..) = open_store(&files, settings).unwrap();
    files.limit_bytes(20_000);
    for vote in 0..5_000 {
        store.append(&[Write::Vote(vote)]).unwrap();
    }
    drop(store);
    let found = read_contents(&files).unwrap();
    assert_eq!((found.write_count, found.vote), (5_000, 4_999));
    assert!(files.used_bytes() <= 20_000);
}

/// Runs the workload on a disk that is full repeatedly, until the fault occurs. Returns the number
/// of acknowledged appends, or `None` if the workload ended before.
fn run_until_fault(files: &FaultyFiles, workload: &Workload, operation: u64, fault: Fault) -> Option<usize> {
    let (mut store, ..) = open_store(files, SMALL_SEGMENTS).unwrap();
    // The limit begins low and grows in small steps, so that the disk is full often.
    let mut limit = files.used_bytes() + 100;
    files.limit_bytes(limit);
    files.fail_at(files.operation_count() + operation, fault);
    for (acknowledged, writes) in workload.appends.iter().enumerate() {
        while let Err(error) = store.append(writes) {
            if !error.is_full() {
                return Some(acknowledged);
            }
            limit += 211;
            files.limit_bytes(limit);
        }
    }
    None
}

/// The power or the disk fails while the store handles a full disk.
#[test]
fn a_full_disk_that_fails_too_loses_nothing() {
    let workload = Workload::new(WorkloadSize { seed: 24, appends: 40, entry_bytes: 500 });
    for fault in [Fault::PowerLoss, Fault::Error] {
        let mut operation = 0;
        loop {
            operation += 1;
            let crashed = disk_with_folder();
            let Some(acknowledged) = run_until_fault(&crashed, &workload, operation, fault) else { break };
            let (seed, seeds_per_kind) = (operation, 3);
            for loss in losses(seed, seeds_per_kind) {
                let files = crashed.duplicate();
                files.power_on(loss);
                let found =
                    read_contents(&files).unwrap_or_else(|error| panic!("{fault:?} {operation} {loss:?}: {error}"));
                assert!(workload.allows(acknowledged, &found), "{fault:?} {operation} {loss:?}");
            }
            if fault == Fault::Error {
                crashed.heal();
                crashed.restart_process();
                let found = read_contents(&crashed).unwrap_or_else(|error| panic!("{operation}: {error}"));
                assert!(workload.allows(acknowledged, &found), "{operation}");
            }
        }
        assert!(operation > 300, "{fault:?}: only {operation} operations");
    }
}

fn disk_with_folder() -> FaultyFiles {
    let files = FaultyFiles::new();
    crate::common::create_data_folder(&files).unwrap();
    files
}
