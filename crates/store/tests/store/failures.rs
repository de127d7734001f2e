//! An input/output error at every operation: the store takes nothing more, and what it acknowledged is there.

use crate::common::{Ledger, SMALL, Story, contents, create, losses, open};
use quorate_store::StoreError;
use quorate_store::faults::{Fault, FaultyFiles, Loss};

/// Plays the story with an error at this operation. Yields how many appends were acknowledged, or nothing if the story
/// ended before.
fn play(files: &FaultyFiles, story: &Story, operation: u64) -> Option<usize> {
    let (mut store, ..) = open(files, SMALL).unwrap();
    files.fail_at(files.operations() + operation, Fault::Error);
    for (acknowledged, writes) in story.appends.iter().enumerate() {
        let Err(error) = store.append(writes) else { continue };
        assert!(matches!(error, StoreError::Io { .. }), "{operation}: {error}");
        // Not even when the disk is well again.
        files.heal();
        for refused in [store.append(writes).unwrap_err(), store.checkpoint().unwrap_err()] {
            assert!(matches!(refused, StoreError::Poisoned { .. }), "{operation}: {refused}");
        }
        assert_eq!(store.contents(), &story.states[acknowledged]);
        return Some(acknowledged);
    }
    None
}

#[test]
fn after_an_error_at_any_operation_nothing_more_is_taken_and_nothing_is_lost() {
    let story = Story::new(31, 60, 700);
    let mut failures = 0;
    for operation in 1.. {
        let files = FaultyFiles::new();
        create(&files).unwrap();
        let Some(acknowledged) = play(&files, &story, operation) else { break };
        failures += 1;
        for loss in losses(operation, 2) {
            let files = files.duplicate();
            files.power_on(loss);
            let found = contents(&files).unwrap_or_else(|error| panic!("{operation} {loss:?}: {error}"));
            assert!(story.allows(acknowledged, &found), "{operation} {loss:?}");
        }
        restart_without_power_loss(&files, &story, acknowledged, operation);
    }
    assert!(failures > 150, "{failures}");
}

/// The process starts again on a system that takes the pages of a failed sync for written. What it then finds, and acts
/// upon, must still be there when the power goes.
fn restart_without_power_loss(files: &FaultyFiles, story: &Story, acknowledged: usize, operation: u64) {
    files.restart_process();
    let (mut store, found, _) = open(files, SMALL).unwrap_or_else(|error| panic!("{operation}: {error}"));
    assert!(story.allows(acknowledged, &found), "{operation}");
    let copy = files.duplicate();
    copy.power_on(Loss::Everything);
    assert_eq!(contents(&copy).unwrap(), found, "{operation}: found, then lost with the power");
    let told = if found == story.states[acknowledged] { acknowledged } else { acknowledged + 1 };
    for writes in &story.appends[told..] {
        store.append(writes).unwrap();
    }
    drop(store);
    files.power_on(Loss::Everything);
    assert_eq!(&contents(files).unwrap(), story.end(), "{operation}");
}

#[test]
fn an_error_during_recovery_is_told_and_changes_nothing() {
    let story = Story::new(32, 25, 400);
    let before = FaultyFiles::new();
    drop(story.play(&before, SMALL).unwrap_or_else(|stop| panic!("{stop:?}")));
    for operation in 1.. {
        let files = before.duplicate();
        files.fail_at(files.operations() + operation, Fault::Error);
        let outcome = contents(&files);
        if let Ok(found) = outcome {
            assert_eq!(&found, story.end());
            assert!(operation > 3, "only {operation} operations: which of them did not fail?");
            break;
        }
        files.restart_process();
        assert_eq!(&contents(&files).unwrap(), story.end(), "{operation}");
    }
}

#[test]
fn an_empty_append_touches_nothing() {
    let files = FaultyFiles::new();
    create(&files).unwrap();
    let (mut store, found, _) = open(&files, SMALL).unwrap();
    let before = files.operations();
    store.append(&[]).unwrap();
    assert_eq!((files.operations(), found), (before, Ledger::default()));
}
