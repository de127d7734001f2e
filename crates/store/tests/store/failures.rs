//! Input/output errors at every operation: the store accepts no more writes, and loses no
//! acknowledged one.

use crate::common::{SMALL_SEGMENTS, Workload, WorkloadSize, create_data_folder, losses, open_store, read_contents};
use quorate_store::StoreError;
use quorate_store::faults::{Fault, FaultyFiles, Loss};

/// Runs the workload with an error at this operation, counted from the opening of the store.
/// Returns the number of acknowledged appends, or `None` if the workload ended before the error.
fn run(files: &FaultyFiles, workload: &Workload, operation: u64) -> Option<usize> {
    let (mut store, ..) = open_store(files, SMALL_SEGMENTS).unwrap();
    files.fail_at(files.operation_count() + operation, Fault::Error);
    for (acknowledged, writes) in workload.appends.iter().enumerate() {
        let Err(error) = store.append(writes) else { continue };
        assert!(matches!(error, StoreError::Io { .. }), "{operation}: {error}");
        // The store refuses writes even when the disk works again.
        files.heal();
        for refused in [store.append(writes).unwrap_err(), store.checkpoint().unwrap_err()] {
            assert!(matches!(refused, StoreError::Poisoned { .. }), "{operation}: {refused}");
        }
        assert_eq!(store.contents(), &workload.states[acknowledged]);
        return Some(acknowledged);
    }
    None
}

#[test]
fn after_an_error_at_any_operation_no_write_is_accepted_and_none_is_lost() {
    let workload = Workload::new(WorkloadSize { seed: 31, appends: 60, entry_bytes: 700 });
    let mut failures = 0;
    for operation in 1.. {
        let files = FaultyFiles::new();
        create_data_folder(&files).unwrap();
        let Some(acknowledged) = run(&files, &workload, operation) else { break };
        failures += 1;
        let loss_seeds = 2;
        for loss in losses(operation, loss_seeds) {
            let files = files.duplicate();
            files.power_on(loss);
            let found = read_contents(&files).unwrap_or_else(|error| panic!("{operation} {loss:?}: {error}"));
            assert!(workload.allows(acknowledged, &found), "{operation} {loss:?}");
        }
        restart_without_power_loss(&files, &workload, acknowledged, operation);
    }
    assert!(failures > 150, "{failures}");
}

/// The process restarts on a system that considers the pages of a failed sync clean. The contents
/// that it finds must survive a power loss.
fn restart_without_power_loss(files: &FaultyFiles, workload: &Workload, acknowledged: usize, operation: u64) {
    files.restart_process();
    let (mut store, found, _) =
        open_store(files, SMALL_SEGMENTS).unwrap_or_else(|error| panic!("{operation}: {error}"));
    assert!(workload.allows(acknowledged, &found), "{operation}");
    let copy = files.duplicate();
    copy.power_on(Loss::Everything);
    assert_eq!(read_contents(&copy).unwrap(), found, "{operation}: found, then lost with the power");
    let recovered = if found == workload.states[acknowledged] { acknowledged } else { acknowledged + 1 };
    for writes in &workload.appends[recovered..] {
        store.append(writes).unwrap();
    }
    drop(store);
    files.power_on(Loss::Everything);
    assert_eq!(&read_contents(files).unwrap(), workload.final_state(), "{operation}");
}

#[test]
fn an_error_during_recovery_loses_nothing() {
    let workload = Workload::new(WorkloadSize { seed: 32, appends: 25, entry_bytes: 400 });
    let before = FaultyFiles::new();
    drop(workload.run(&before, SMALL_SEGMENTS).unwrap_or_else(|interruption| panic!("{interruption:?}")));
    for operation in 1.. {
        let files = before.duplicate();
        files.fail_at(files.operation_count() + operation, Fault::Error);
        let outcome = read_contents(&files);
        if let Ok(found) = outcome {
            assert_eq!(&found, workload.final_state());
            assert!(operation > 3, "only {operation} operations; expected more that can fail");
            break;
        }
        files.restart_process();
        assert_eq!(&read_contents(&files).unwrap(), workload.final_state(), "{operation}");
    }
}

#[test]
fn an_empty_append_touches_nothing() {
    let files = FaultyFiles::new();
    create_data_folder(&files).unwrap();
    let (mut store, found, _) = open_store(&files, SMALL_SEGMENTS).unwrap();
    let before = files.operation_count();
    store.append(&[]).unwrap();
    assert_eq!((files.operation_count(), store.contents()), (before, &found));
}
