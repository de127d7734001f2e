//! Creating and re-seeding folders, with crashes in between.

use crate::common::{
    FOLDER, SMALL_SEGMENTS, TestLog, Workload, WorkloadSize, create_data_folder, folder, losses, open_store, owner,
    read_contents,
};
use quorate_core::Incarnation;
use quorate_store::faults::{Fault, FaultyFiles, Loss};
use quorate_store::{FileSystem, Origin, StoreError, replace_lost_log_in};
use std::path::{Path, PathBuf};

/// A disk on which a workload has run.
fn disk_after_workload() -> (FaultyFiles, Workload) {
    let files = FaultyFiles::new();
    let workload = Workload::new(WorkloadSize { seed: 9, appends: 30, entry_bytes: 200 });
    drop(workload.run(&files, SMALL_SEGMENTS).unwrap_or_else(|interruption| panic!("{interruption:?}")));
    (files, workload)
}

/// Re-seeds the node. Returns the folder with the old log.
fn reseed(files: &FaultyFiles) -> Result<PathBuf, StoreError> {
    // Used only for a folder without an incarnation file; all folders of these tests have one.
    let first_incarnation = Incarnation(1_000);
    replace_lost_log_in::<TestLog, _>(files.clone(), folder(), owner(), first_incarnation)
}

/// The contents of a node that knows that it lost its log.
fn wiped() -> TestLog {
    TestLog { was_wiped: true, ..TestLog::default() }
}

#[test]
fn a_reseeded_node_knows_that_it_lost_its_log_and_the_old_one_is_set_aside() {
    let (files, _) = disk_after_workload();
    let segment = files.paths().into_iter().find(|path| path.to_string_lossy().contains("log-")).unwrap();
    let old = files.read(&segment).unwrap();
    let aside = reseed(&files).unwrap();
    assert_eq!(aside, Path::new(FOLDER).join("set-aside-1"));
    assert_eq!(files.read(&aside.join(segment.file_name().unwrap())).unwrap(), old);
    let (mut store, found, _) = open_store(&files, SMALL_SEGMENTS).unwrap();
    assert_eq!((found, store.identity().origin), (wiped(), Origin::Reseeded));
    store.append(&[crate::common::Write::Vote(3)]).unwrap();
    drop(store);
    assert_eq!(read_contents(&files).unwrap().vote, 3);
    assert_eq!(reseed(&files).unwrap(), folder().join("set-aside-2"));
    assert_eq!(read_contents(&files).unwrap(), wiped());
}

#[test]
fn an_open_folder_is_not_reseeded() {
    let (files, workload) = disk_after_workload();
    let (store, ..) = open_store(&files, SMALL_SEGMENTS).unwrap();
    let refused = reseed(&files).unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(store);
    assert_eq!(&read_contents(&files).unwrap(), workload.final_state());
}

#[test]
fn damage_is_refused_until_the_node_is_reseeded_even_if_its_identity_is_damaged_too() {
    let (files, _) = disk_after_workload();
    let is_empty = |path: &Path| path.ends_with("lock") || path.to_string_lossy().contains("life-");
    for path in files.paths().into_iter().filter(|path| !is_empty(path)) {
        assert!(files.flip_bits(&path, 50, 0xFF));
    }
    assert!(matches!(read_contents(&files).unwrap_err(), StoreError::BadIdentity { .. }));
    reseed(&files).unwrap();
    assert_eq!(read_contents(&files).unwrap(), wiped());
}

/// After an interruption there is the old log unchanged, or no log until re-seeding is repeated, or
/// the new log.
#[test]
fn reseeding_survives_a_crash_at_every_operation() {
    let (before, workload) = disk_after_workload();
    let operations_before = before.operation_count();
    let operations = {
        let files = before.duplicate();
        reseed(&files).unwrap();
        files.operation_count() - operations_before
    };
    for operation in 1..=operations {
        let loss_seeds = 4;
        for loss in losses(operation, loss_seeds) {
            let files = before.duplicate();
            files.fail_at(operations_before + operation, Fault::PowerLoss);
            reseed(&files).unwrap_err();
            files.power_on(loss);
            match read_contents(&files) {
                Ok(found) => assert!(&found == workload.final_state() || found == wiped(), "{operation} {loss:?}"),
                Err(StoreError::NoLog { .. }) => {}
                Err(error) => panic!("{operation} {loss:?}: {error}"),
            }
            reseed(&files).unwrap();
            files.power_on(Loss::Everything);
            assert_eq!(read_contents(&files).unwrap(), wiped(), "{operation} {loss:?}");
        }
    }
}

#[test]
fn a_log_whose_identity_was_removed_is_not_overwritten() {
    let (files, workload) = disk_after_workload();
    let identity = folder().join("identity");
    let text = files.read(&identity).unwrap();
    files.remove(&identity).unwrap();
    assert!(matches!(create_data_folder(&files).unwrap_err(), StoreError::BadIdentity { .. }));
    assert!(matches!(read_contents(&files).unwrap_err(), StoreError::BadIdentity { .. }));
    files.create(&identity).unwrap();
    assert!(files.replace(&identity, &text));
    assert_eq!(&read_contents(&files).unwrap(), workload.final_state());
    // Without a copy of the text, the node is re-seeded.
    files.remove(&identity).unwrap();
    reseed(&files).unwrap();
    assert_eq!(read_contents(&files).unwrap(), wiped());
}

#[test]
fn creation_that_fails_can_be_done_again() {
    for operation in 1.. {
        let files = FaultyFiles::new();
        files.fail_at(operation, Fault::Error);
        let outcome = create_data_folder(&files);
        if outcome.is_ok() {
            assert!(operation > 8, "only {operation} operations; expected more that can fail");
            return;
        }
        files.restart_process();
        match create_data_folder(&files) {
            Ok(()) => {}
            // The last sync failed after the identity had got its final name.
            Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => panic!("{operation}: {error}"),
        }
        assert_eq!(read_contents(&files).unwrap(), TestLog::default(), "{operation}");
        files.power_on(Loss::Everything);
        assert_eq!(read_contents(&files).unwrap(), TestLog::default(), "{operation}");
    }
}

/// Incarnations never repeat, even if starts are interrupted, the disk is full, or the node is
/// re-seeded.
#[test]
fn no_two_starts_have_the_same_incarnation() {
    let (files, _) = disk_after_workload();
    let mut last = None;
    let mut start = |files: &FaultyFiles| {
        if let Ok((_, _, recovery)) = open_store(files, SMALL_SEGMENTS) {
            assert!(Some(recovery.incarnation) > last, "{:?} after {last:?}", recovery.incarnation);
            last = Some(recovery.incarnation);
        }
    };
    for operation in 1..20 {
        let loss_seeds = 2;
        for loss in losses(operation, loss_seeds) {
            files.fail_at(files.operation_count() + operation, Fault::PowerLoss);
            start(&files);
            files.power_on(loss);
            start(&files);
        }
    }
    files.limit_bytes(files.used_bytes());
    start(&files);
    files.heal();
    reseed(&files).unwrap();
    start(&files);
    // The loop tries 19 operations with 5 losses each, and starts the node up to twice for each.
    assert!(last.is_some_and(|last| last.0 > 100), "{last:?}");
}
