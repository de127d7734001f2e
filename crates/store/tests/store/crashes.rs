//! Power losses at every operation of a workload, and again at every operation of the recovery.

use crate::common::{
    Interruption, SMALL_SEGMENTS, TestLog, Workload, WorkloadSize, create_data_folder, losses, open_store,
    read_contents,
};
use quorate_store::StoreError;
use quorate_store::faults::{Fault, FaultyFiles, Loss};

/// Checks that recovery finds the acknowledged appends, perhaps with the unfinished one. Returns
/// the state that it finds. If the creation of the folder was not acknowledged, the folder may be
/// missing, and it must be possible to create it; then returns `None`.
fn check(files: &FaultyFiles, workload: &Workload, interruption: &Interruption, context: &str) -> Option<TestLog> {
    match read_contents(files) {
        Ok(found) => {
            assert!(
                workload.allows(interruption.acknowledged, &found),
                "{context}: {} acknowledged, found {}",
                interruption.acknowledged,
                found.write_count
            );
            Some(found)
        }
        Err(StoreError::NotFound { .. }) if !interruption.has_folder => {
            create_data_folder(files).unwrap_or_else(|error| panic!("{context}: cannot create it again: {error}"));
            assert_eq!(read_contents(files).unwrap(), TestLog::default(), "{context}");
            None
        }
        Err(error) => panic!("{context}: {error}"),
    }
}

/// Runs the workload until the power fails at this operation. Unsynced changes are not lost yet.
fn run_until_power_loss(workload: &Workload, operation: u64) -> (FaultyFiles, Interruption) {
    let files = FaultyFiles::new();
    files.fail_at(operation, Fault::PowerLoss);
    let interruption = workload.run(&files, SMALL_SEGMENTS).err().expect("the power fails during the workload");
    assert!(matches!(interruption.error, StoreError::Io { .. }), "{}", interruption.error);
    (files, interruption)
}

fn count_operations(workload: &Workload) -> u64 {
    let files = FaultyFiles::new();
    let store = workload.run(&files, SMALL_SEGMENTS).unwrap_or_else(|interruption| panic!("{interruption:?}"));
    assert_eq!(store.contents(), workload.final_state());
    files.operation_count()
}

/// Crashes at every operation of a workload; recovers; and crashes at every operation of that
/// recovery too. Tries each random kind of loss with `loss_seeds` seeds.
fn crash_everywhere(size: WorkloadSize, loss_seeds: u64) {
    let workload = Workload::new(size);
    let total = count_operations(&workload);
    let mut torn = 0;
    let mut kept_unfinished = 0;
    for operation in 1..=total {
        let (crashed, interruption) = run_until_power_loss(&workload, operation);
        for loss in losses(operation, loss_seeds) {
            let context = format!("{size:?}, power loss at operation {operation} of {total}, {loss:?}");
            let files = crashed.duplicate();
            files.power_on(loss);
            let before = files.duplicate();
            let operations_before = files.operation_count();
            let found = check(&files, &workload, &interruption, &context);
            let recovery_operations = files.operation_count() - operations_before;
            // The state that recovery returned must survive the next crash.
            files.power_on(Loss::Everything);
            if let Some(found) = &found {
                assert_eq!(&read_contents(&files).unwrap(), found, "{context}: recovered, then lost");
                kept_unfinished += u64::from(found != &workload.states[interruption.acknowledged]);
                torn += u64::from(open_store(&before.duplicate(), SMALL_SEGMENTS).unwrap().2.torn_bytes > 0);
            }
            crash_during_recovery(&before, recovery_operations, &workload, &interruption, &context);
        }
    }
    assert!(torn > 50, "only {torn} crashes tore a frame: the test no longer covers them");
    assert!(
        kept_unfinished > 50,
        "only {kept_unfinished} crashes kept the unfinished append: the test no longer covers them"
    );
}

fn crash_during_recovery(
    before: &FaultyFiles,
    operations: u64,
    workload: &Workload,
    interruption: &Interruption,
    context: &str,
) {
    for operation in 1..=operations {
        let loss_seeds = 1;
        for loss in losses(operation, loss_seeds) {
            let files = before.duplicate();
            files.fail_at(files.operation_count() + operation, Fault::PowerLoss);
            let context = format!("{context}, then at operation {operation} of the recovery, {loss:?}");
            // The power does not always fail here: `operations` also counts those with which
            // `check` creates a missing folder, and this call creates none.
            let _ = read_contents(&files).err();
            files.power_on(loss);
            check(&files, workload, interruption, &context);
        }
    }
}

#[test]
fn small_appends_survive_a_crash_at_every_operation() {
    let loss_seeds = 1;
    crash_everywhere(WorkloadSize { seed: 1, appends: 100, entry_bytes: 60 }, loss_seeds);
}

#[test]
fn appends_of_many_sectors_survive_a_crash_at_every_operation() {
    let loss_seeds = 1;
    crash_everywhere(WorkloadSize { seed: 2, appends: 45, entry_bytes: 1_500 }, loss_seeds);
}

#[test]
#[ignore = "long: ./check long"]
fn many_small_appends_survive_a_crash_at_every_operation() {
    let loss_seeds = 2;
    crash_everywhere(WorkloadSize { seed: 1, appends: 240, entry_bytes: 60 }, loss_seeds);
}

#[test]
#[ignore = "long: ./check long"]
fn many_appends_of_many_sectors_survive_a_crash_at_every_operation() {
    let loss_seeds = 4;
    crash_everywhere(WorkloadSize { seed: 2, appends: 90, entry_bytes: 1_500 }, loss_seeds);
}

#[test]
fn a_workload_begins_new_segments_often() {
    let files = FaultyFiles::new();
    let workload = Workload::new(WorkloadSize { seed: 1, appends: 240, entry_bytes: 60 });
    drop(workload.run(&files, SMALL_SEGMENTS).unwrap_or_else(|interruption| panic!("{interruption:?}")));
    let (_, found, recovery) = open_store(&files, SMALL_SEGMENTS).unwrap();
    assert_eq!(&found, workload.final_state());
    let number: u64 = recovery.segment.strip_prefix("log-").unwrap().parse().unwrap();
    assert!(number > 5, "{recovery:?}");
}
