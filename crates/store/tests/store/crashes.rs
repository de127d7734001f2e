//! The power goes at every operation of a story, and again at every operation of the recovery.

use crate::common::{Ledger, SMALL, Stop, Story, contents, create, losses, open};
use quorate_store::StoreError;
use quorate_store::faults::{Fault, FaultyFiles, Loss};

/// What is found must be what was acknowledged, perhaps with the append under way; before the folder was there, it may
/// as well be missing, and can then be created.
fn check(files: &FaultyFiles, story: &Story, stop: &Stop, context: &str) -> Option<Ledger> {
    match contents(files) {
        Ok(found) => {
            assert!(
                story.allows(stop.acknowledged, &found),
                "{context}: {} acknowledged, found {}",
                stop.acknowledged,
                found.writes
            );
            Some(found)
        }
        Err(StoreError::NotThere { .. }) if !stop.created => {
            create(files).unwrap_or_else(|error| panic!("{context}: cannot create it again: {error}"));
            assert_eq!(contents(files).unwrap(), Ledger::default(), "{context}");
            None
        }
        Err(error) => panic!("{context}: {error}"),
    }
}

/// Plays the story until the power goes at this operation. Nothing is lost yet.
fn until(story: &Story, operation: u64) -> (FaultyFiles, Stop) {
    let files = FaultyFiles::new();
    files.fail_at(operation, Fault::PowerLoss);
    let stop = story.play(&files, SMALL).err().expect("the power goes within the story");
    assert!(matches!(stop.error, StoreError::Io { .. }), "{}", stop.error);
    (files, stop)
}

fn operations(story: &Story) -> u64 {
    let files = FaultyFiles::new();
    let store = story.play(&files, SMALL).unwrap_or_else(|stop| panic!("{stop:?}"));
    assert_eq!(store.contents(), story.end());
    files.operations()
}

/// Crashes at every operation; recovers; and crashes at every operation of that recovery too.
fn crash_everywhere(seed: u64, appends: usize, entry_bytes: u64, seeds: u64) {
    let story = Story::new(seed, appends, entry_bytes);
    let all = operations(&story);
    let mut torn = 0;
    let mut under_way = 0;
    for operation in 1..=all {
        let (crashed, stop) = until(&story, operation);
        for loss in losses(operation, seeds) {
            let context = format!("story {seed}, power loss at operation {operation} of {all}, {loss:?}");
            let files = crashed.duplicate();
            files.power_on(loss);
            let before = files.duplicate();
            let begun = files.operations();
            let found = check(&files, &story, &stop, &context);
            let recovery = files.operations() - begun;
            // What recovery showed to the node must not go with the next crash.
            files.power_on(Loss::Everything);
            if let Some(found) = &found {
                assert_eq!(&contents(&files).unwrap(), found, "{context}: recovered, then lost");
                under_way += u64::from(found != &story.states[stop.acknowledged]);
                torn += u64::from(open(&before.duplicate(), SMALL).unwrap().2.torn_bytes > 0);
            }
            crash_during_recovery(&before, recovery, &story, &stop, &context);
        }
    }
    assert!(torn > 50, "only {torn} crashes tore a frame: this test has become blind");
    assert!(under_way > 50, "only {under_way} crashes left the append under way: this test has become blind");
}

fn crash_during_recovery(before: &FaultyFiles, operations: u64, story: &Story, stop: &Stop, context: &str) {
    for operation in 1..=operations {
        for loss in losses(operation, 1) {
            let files = before.duplicate();
            files.fail_at(files.operations() + operation, Fault::PowerLoss);
            let context = format!("{context}, then at operation {operation} of the recovery, {loss:?}");
            // It may succeed without: creating the folder again counts among the operations.
            let _ = contents(&files).err();
            files.power_on(loss);
            check(&files, story, stop, &context);
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
fn a_story_changes_its_segment_often() {
    let files = FaultyFiles::new();
    let story = Story::new(1, 240, 60);
    drop(story.play(&files, SMALL).unwrap_or_else(|stop| panic!("{stop:?}")));
    let (_, found, recovery) = open(&files, SMALL).unwrap();
    assert_eq!(&found, story.end());
    let number: u64 = recovery.segment.strip_prefix("log-").unwrap().parse().unwrap();
    assert!(number > 5, "{recovery:?}");
}
