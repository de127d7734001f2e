//! The disk is full, after every number of bytes.

use crate::common::{SMALL, Story, Write, contents, losses, open};
use quorate_store::faults::{Fault, FaultyFiles};
use quorate_store::{Settings, StoreError};

/// Plays on; whenever the disk is full, checks that nothing changed, makes some more room and tries the same again.
fn play_on(files: &FaultyFiles, story: &Story, settings: Settings, step: u64) -> u64 {
    let (mut store, ..) = open(files, settings).unwrap();
    let mut limit = files.used();
    let mut refusals = 0;
    for (acknowledged, writes) in story.appends.iter().enumerate() {
        loop {
            match store.append(writes) {
                Ok(()) => break,
                Err(StoreError::Full { .. }) => refusals += 1,
                Err(error) => panic!("limit {limit}: {error}"),
            }
            assert_eq!(store.contents(), &story.states[acknowledged], "limit {limit}");
            // Nothing of the append remains, whatever happens next.
            for loss in losses(limit, 1) {
                let copy = files.duplicate();
                copy.power_on(loss);
                assert_eq!(contents(&copy).unwrap(), story.states[acknowledged], "limit {limit} {loss:?}");
            }
            limit += step;
            files.limit(limit);
        }
    }
    drop(store);
    assert_eq!(&contents(files).unwrap(), story.end());
    refusals
}

#[test]
fn a_full_disk_at_every_byte_refuses_an_append_and_takes_it_later() {
    let story = Story::new(21, 10, 150);
    let files = created();
    files.limit(files.used());
    let refusals = play_on(&files, &story, Settings { segment_bytes: 700, ahead_bytes: 300 }, 1);
    assert!(refusals > 500, "{refusals}");
}

#[test]
fn a_full_disk_refuses_large_appends_in_every_phase() {
    for step in [3, 7, 64, 513] {
        let story = Story::new(step, 40, 900);
        let files = created();
        files.limit(files.used());
        assert!(play_on(&files, &story, SMALL, step) > 20);
    }
}

/// At every limit: the story goes on as far as it can, then the room returns at once, and all of it succeeds.
#[test]
fn when_room_returns_the_same_append_succeeds() {
    let story = Story::new(22, 12, 300);
    let begin = created().used();
    for limit in begin..begin + 4_500 {
        let files = created();
        files.limit(limit);
        let (mut store, ..) = open(&files, SMALL).unwrap();
        let mut was_full = false;
        for (acknowledged, writes) in story.appends.iter().enumerate() {
            if let Err(error) = store.append(writes) {
                assert!(error.is_full(), "{limit}: {error}");
                assert_eq!(store.contents(), &story.states[acknowledged]);
                was_full = true;
                files.heal();
                store.append(writes).unwrap();
            }
        }
        drop(store);
        assert_eq!(&contents(&files).unwrap(), story.end(), "{limit}");
        assert!(was_full || limit > begin + 1_500, "a disk of {limit} bytes was never full");
    }
}

/// A log that cannot change its segment for want of room goes on in the old one.
#[test]
fn a_checkpoint_without_room_is_put_off() {
    let files = created();
    let story = Story::new(23, 30, 40);
    let settings = Settings { segment_bytes: 300, ahead_bytes: 8_000 };
    let (mut store, ..) = open(&files, settings).unwrap();
    store.append(&story.appends[0]).unwrap();
    files.limit(files.used());
    for writes in &story.appends[1..] {
        store.append(writes).unwrap();
    }
    let full = store.checkpoint().unwrap_err();
    assert!(full.is_full(), "{full}");
    let is_unfinished = |path: &std::path::PathBuf| path.extension().is_some();
    assert_eq!(files.paths().into_iter().find(is_unfinished), None, "what did not fit takes no room");
    files.heal();
    store.checkpoint().unwrap();
    drop(store);
    let (_, found, recovery) = open(&files, settings).unwrap();
    assert_eq!(&found, story.end());
    assert_eq!((recovery.segment.as_str(), recovery.appends), ("log-00000002", 0));
}

/// The disk is full of nothing but votes that were overwritten long ago: the log gives that room back by itself.
#[test]
fn a_log_that_fills_the_disk_with_its_own_past_makes_room() {
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

/// Plays on a disk that is full again and again, until something worse happens. Yields how many appends were
/// acknowledged, or nothing if the story came to its end.
fn play_until(files: &FaultyFiles, story: &Story, operation: u64, fault: Fault) -> Option<usize> {
    let (mut store, ..) = open(files, SMALL).unwrap();
    let mut limit = files.used() + 100;
    files.limit(limit);
    files.fail_at(files.operations() + operation, fault);
    for (acknowledged, writes) in story.appends.iter().enumerate() {
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

/// The power goes, or the disk fails, while the store deals with a full disk.
#[test]
fn a_full_disk_that_fails_too_loses_nothing() {
    let story = Story::new(24, 40, 500);
    for fault in [Fault::PowerLoss, Fault::Error] {
        let mut operation = 0;
        loop {
            operation += 1;
            let crashed = created();
            let Some(acknowledged) = play_until(&crashed, &story, operation, fault) else { break };
            for loss in losses(operation, 3) {
                let files = crashed.duplicate();
                files.power_on(loss);
                let found = contents(&files).unwrap_or_else(|error| panic!("{fault:?} {operation} {loss:?}: {error}"));
                assert!(story.allows(acknowledged, &found), "{fault:?} {operation} {loss:?}");
            }
            if fault == Fault::Error {
                crashed.heal();
                crashed.restart_process();
                let found = contents(&crashed).unwrap_or_else(|error| panic!("{operation}: {error}"));
                assert!(story.allows(acknowledged, &found), "{operation}");
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
