//! Power losses at every operation of a workload, and again at every operation of the recovery.

use crate::common::{SMALL, Stop, TestLog, Workload, contents, create, losses, open};
use quorate_store::StoreError;
use quorate_store::faults::{Fault, FaultyFiles, Loss};

/// Checks that recovery finds the acknowledged appends, perhaps with the unfinished one. If the
/// folder was not created yet, it may be missing, and it must be possible to create it.
fn check(files: &FaultyFiles, workload: &Workload, stop: &Stop, context: &str) -> Option<TestLog> {
    match contents(files) {
        Ok(found) => {
            assert!(
                workload.allows(stop.acknowledged, &found),
                "{context}: {} acknowledged, found {}",
                stop.acknowledged,
                found.writes
            );
            Some(found)
        }
        Err(StoreError::NotFound { .. }) if !stop.created => {
            create(files).unwrap_or_else(|error| panic!("{context}: cannot create it again: {error}"));
            assert_eq!(contents(files).unwrap(), TestLog::default(), "{context}");
            None
        }
        Err(error) => panic!("{context}: {error}"),
    }
}

/// Runs the workload until the power fails at this operation. Nothing is lost yet.
fn run_until_power_loss(workload: &Workload, operation: u64) -> (FaultyFiles, Stop) {
    let files = FaultyFiles::new();
    files.fail_at(operation, Fault::PowerLoss);
    let stop = workload.run(&files, SMALL).err().expect("the power fails during the workload");
    assert!(matches!(stop.error, StoreError::Io { .. }), "{}", stop.error);
    (files, stop)
}

fn operations(workload: &Workload) -> u64 {
    let files = FaultyFiles::new();
    let store = workload.run(&files, SMALL).unwrap_or_else(|stop| panic!("{stop:?}"));
    assert_eq!(store.contents(), workload.end());
    files.operations()
}

/// Crashes at every operation; recovers; and crashes at every operation of that recovery too.
fn crash_everywhere(seed: u64, appends: usize, entry_bytes: u64, seeds: u64) {
    let workload = Workload::new(seed, appends, entry_bytes);
    let total = operations(&workload);
    let mut torn = 0;
    let mut kept_unfinished = 0;
    for operation in 1..=total {
        let (crashed, stop) = run_until_power_loss(&workload, operation);
        for loss in losses(operation, seeds) {
            let context = format!("workload {seed}, power loss at operation {operation} of {total}, {loss:?}");
            let files = crashed.duplicate();
            files.power_on(loss);
            let before = files.duplicate();
            let operations_before = files.operations();
            let found = check(&files, &workload, &stop, &context);
            let recovery_operations = files.operations() - operations_before;
            // The state that recovery returned must survive the next crash.
            files.power_on(Loss::Everything);
            if let Some(found) = &found {
                assert_eq!(&contents(&files).unwrap(), found, "{context}: recovered, then lost");
                kept_unfinished += u64::from(found != &workload.states[stop.acknowledged]);
                torn += u64::from(open(&before.duplicate(), SMALL).unwrap().2.torn_bytes > 0);
            }
            crash_during_recovery(&before, recovery_operations, &workload, &stop, &context);
        }
    }
    assert!(torn > 50, "only {torn} crashes tore a frame: the test no longer covers them");
    assert!(
        kept_unfinished > 50,
        "only {kept_unfinished} crashes kept the unfinished append: the test no longer covers them"
    );
}

fn crash_during_recovery(before: &FaultyFiles, operations: u64, workload: &Workload, stop: &Stop, context: &str) {
    for operation in 1..=operations {
        for loss in losses(operation, 1) {
            let files = before.duplicate();
            files.fail_at(files.operations() + operation, Fault::PowerLoss);
            let context = format!("{context}, then at operation {operation} of the recovery, {loss:?}");
            // It may succeed, because creating the folder again counts among the operations.
            let _ = contents(&files).err();
            files.power_on(loss);
            check(&files, workload, stop, &context);
        }
    }
}

#[test]
fn small_appends_survive_a_crash_at_every_operation() {
    crash_everywhere(1, 100, 60, 1);
}

#[test]
fn appends_of_many_sectors_survive_a_crash_at_every_operation() {
    crash_everywhere(2, 45, 1_500, 1);
}

#[test]
#[ignore = "long: ./check long"]
fn many_small_appends_survive_a_crash_at_every_operation() {
    crash_everywhere(1, 240, 60, 2);
}

#[test]
#[ignore = "long: ./check long"]
fn many_appends_of_many_sectors_survive_a_crash_at_every_operation() {
    crash_everywhere(2, 90, 1_500, 4);
}

#[test]
fn a_workload_changes_its_segment_often() {
    let files = FaultyFiles::new();
    let workload = Workload::new(1, 240, 60);
    drop(workload.run(&files, SMALL).unwrap_or_else(|stop| panic!("{stop:?}")));
    let (_, found, recovery) = open(&files, SMALL).unwrap();
    assert_eq!(&found, workload.end());
    let number: u64 = recovery.segment.strip_prefix("log-").unwrap().parse().unwrap();
    assert!(number > 5, "{recovery:?}");
}
