//! Input/output errors at every operation: the store accepts no more writes, and loses no
//! acknowledged one.

use crate::common::{SMALL, TestLog, Workload, contents, create, losses, open};
use quorate_store::StoreError;
use quorate_store::faults::{Fault, FaultyFiles, Loss};

/// Runs the workload with an error at this operation. Returns the number of acknowledged appends,
/// or `None` if the workload ended before.
fn run(files: &FaultyFiles, workload: &Workload, operation: u64) -> Option<usize> {
    let (mut store, ..) = open(files, SMALL).unwrap();
    files.fail_at(files.operations() + operation, Fault::Error);
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
    let workload = Workload::new(31, 60, 700);
    let mut failures = 0;
    for operation in 1.. {
        let files = FaultyFiles::new();
        create(&files).unwrap();
        let Some(acknowledged) = run(&files, &workload, operation) else { break };
        failures += 1;
        for loss in losses(operation, 2) {
            let files = files.duplicate();
            files.power_on(loss);
            let found = contents(&files).unwrap_or_else(|error| panic!("{operation} {loss:?}: {error}"));
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
    let (mut store, found, _) = open(files, SMALL).unwrap_or_else(|error| panic!("{operation}: {error}"));
    assert!(workload.allows(acknowledged, &found), "{operation}");
    let copy = files.duplicate();
    copy.power_on(Loss::Everything);
    assert_eq!(contents(&copy).unwrap(), found, "{operation}: found, then lost with the power");
    let recovered = if found == workload.states[acknowledged] { acknowledged } else { acknowledged + 1 };
    for writes in &workload.appends[recovered..] {
        store.append(writes).unwrap();
    }
    drop(store);
    files.power_on(Loss::Everything);
    assert_eq!(&contents(files).unwrap(), workload.end(), "{operation}");
}

#[test]
fn an_error_during_recovery_changes_nothing() {
    let workload = Workload::new(32, 25, 400);
    let before = FaultyFiles::new();
    drop(workload.run(&before, SMALL).unwrap_or_else(|stop| panic!("{stop:?}")));
    for operation in 1.. {
        let files = before.duplicate();
        files.fail_at(files.operations() + operation, Fault::Error);
        let outcome = contents(&files);
        if let Ok(found) = outcome {
            assert_eq!(&found, workload.end());
            assert!(operation > 3, "only {operation} operations; expected more that can fail");
            break;
        }
        files.restart_process();
        assert_eq!(&contents(&files).unwrap(), workload.end(), "{operation}");
    }
}

#[test]
fn an_empty_append_touches_nothing() {
    let files = FaultyFiles::new();
    create(&files).unwrap();
    let (mut store, found, _) = open(&files, SMALL).unwrap();
    let before = files.operations();
    store.append(&[]).unwrap();
    assert_eq!((files.operations(), found), (before, TestLog::default()));
}
