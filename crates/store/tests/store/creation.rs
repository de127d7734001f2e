//! Creating and re-seeding folders, with crashes in between.

use crate::common::{FOLDER, SMALL, TestLog, Workload, contents, create, folder, losses, open, owner};
use quorate_core::Incarnation;
use quorate_store::faults::{Fault, FaultyFiles, Loss};
use quorate_store::{FileSystem, Origin, StoreError, replace_lost_in};
use std::path::Path;

/// A disk on which a workload has run.
fn completed() -> (FaultyFiles, Workload) {
    let files = FaultyFiles::new();
    let workload = Workload::new(9, 30, 200);
    drop(workload.run(&files, SMALL).unwrap_or_else(|stop| panic!("{stop:?}")));
    (files, workload)
}

fn wiped() -> TestLog {
    TestLog { was_wiped: true, ..TestLog::default() }
}

#[test]
fn a_reseeded_node_knows_that_it_lost_its_log_and_the_old_one_is_set_aside() {
    let (files, _) = completed();
    let segment = files.paths().into_iter().find(|path| path.to_string_lossy().contains("log-")).unwrap();
    let old = files.read(&segment).unwrap();
    let aside = replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap();
    assert_eq!(aside, Path::new(FOLDER).join("set-aside-1"));
    assert_eq!(files.read(&aside.join(segment.file_name().unwrap())).unwrap(), old);
    let (mut store, found, _) = open(&files, SMALL).unwrap();
    assert_eq!((found, store.identity().origin), (wiped(), Origin::Reseeded));
    store.append(&[crate::common::Write::Vote(3)]).unwrap();
    drop(store);
    assert_eq!(contents(&files).unwrap().vote, 3);
    assert_eq!(
        replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap(),
        folder().join("set-aside-2")
    );
    assert_eq!(contents(&files).unwrap(), wiped());
}

#[test]
fn an_open_folder_is_not_reseeded() {
    let (files, workload) = completed();
    let (store, ..) = open(&files, SMALL).unwrap();
    let refused = replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(store);
    assert_eq!(&contents(&files).unwrap(), workload.end());
}

#[test]
fn damage_is_refused_until_the_node_is_reseeded_even_if_its_identity_is_damaged_too() {
    let (files, _) = completed();
    let is_empty = |path: &Path| path.ends_with("lock") || path.to_string_lossy().contains("life-");
    for path in files.paths().into_iter().filter(|path| !is_empty(path)) {
        assert!(files.flip(&path, 50, 0xFF));
    }
    assert!(matches!(contents(&files).unwrap_err(), StoreError::BadIdentity { .. }));
    replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap();
    assert_eq!(contents(&files).unwrap(), wiped());
}

/// After an interruption there is the old log unchanged, or no log until re-seeding is repeated, or
/// the new log.
#[test]
fn reseeding_survives_a_crash_at_every_operation() {
    let (before, workload) = completed();
    let operations_before = before.operations();
    let operations = {
        let files = before.duplicate();
        replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap();
        files.operations() - operations_before
    };
    for operation in 1..=operations {
        for loss in losses(operation, 4) {
            let files = before.duplicate();
            files.fail_at(operations_before + operation, Fault::PowerLoss);
            replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap_err();
            files.power_on(loss);
            match contents(&files) {
                Ok(found) => assert!(&found == workload.end() || found == wiped(), "{operation} {loss:?}"),
                Err(StoreError::NoLog { .. }) => {}
                Err(error) => panic!("{operation} {loss:?}: {error}"),
            }
            replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap();
            files.power_on(Loss::Everything);
            assert_eq!(contents(&files).unwrap(), wiped(), "{operation} {loss:?}");
        }
    }
}

#[test]
fn a_log_whose_identity_was_removed_is_not_overwritten() {
    let (files, workload) = completed();
    let identity = folder().join("identity");
    let text = files.read(&identity).unwrap();
    files.remove(&identity).unwrap();
    assert!(matches!(create(&files).unwrap_err(), StoreError::BadIdentity { .. }));
    assert!(matches!(contents(&files).unwrap_err(), StoreError::BadIdentity { .. }));
    files.create(&identity).unwrap();
    assert!(files.replace(&identity, &text));
    assert_eq!(&contents(&files).unwrap(), workload.end());
    // Without a copy of the text, the node is re-seeded.
    files.remove(&identity).unwrap();
    replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap();
    assert_eq!(contents(&files).unwrap(), wiped());
}

#[test]
fn creation_that_fails_can_be_done_again() {
    for operation in 1.. {
        let files = FaultyFiles::new();
        files.fail_at(operation, Fault::Error);
        let outcome = create(&files);
        if outcome.is_ok() {
            assert!(operation > 8, "only {operation} operations; expected more that can fail");
            return;
        }
        files.restart_process();
        match create(&files) {
            Ok(()) => {}
            // The last sync failed after the identity had got its final name.
            Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => panic!("{operation}: {error}"),
        }
        assert_eq!(contents(&files).unwrap(), TestLog::default(), "{operation}");
        files.power_on(Loss::Everything);
        assert_eq!(contents(&files).unwrap(), TestLog::default(), "{operation}");
    }
}

/// Incarnations never repeat, even if starts are interrupted, the disk is full, or the node is
/// re-seeded.
#[test]
fn no_two_starts_have_the_same_incarnation() {
    let (files, _) = completed();
    let mut last = None;
    let mut start = |files: &FaultyFiles| {
        if let Ok((_, _, recovery)) = open(files, SMALL) {
            assert!(Some(recovery.incarnation) > last, "{:?} after {last:?}", recovery.incarnation);
            last = Some(recovery.incarnation);
        }
    };
    for operation in 1..20 {
        for loss in losses(operation, 2) {
            files.fail_at(files.operations() + operation, Fault::PowerLoss);
            start(&files);
            files.power_on(loss);
            start(&files);
        }
    }
    files.limit(files.used());
    start(&files);
    files.heal();
    replace_lost_in::<TestLog, _>(files.clone(), folder(), owner(), Incarnation(1_000)).unwrap();
    start(&files);
    assert!(last.is_some_and(|last| last.0 > 100), "{last:?}");
}
