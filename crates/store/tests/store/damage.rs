//! Corruption of every single byte of every file.

use crate::common::{FOLDER, SMALL, TestLog, Workload, contents, folder, open, put};
use quorate_store::faults::FaultyFiles;
use quorate_store::{FileSystem, Settings, StoreError};
use std::path::{Path, PathBuf};

const ONE_SEGMENT: Settings = Settings { segment_bytes: 1 << 20, ahead_bytes: 600 };

/// A small log that ends with an append of one entry.
fn log(last: Vec<u8>) -> (FaultyFiles, Workload, TestLog) {
    let files = FaultyFiles::new();
    let workload = Workload::new(5, 6, 120);
    let mut store = workload.run(&files, ONE_SEGMENT).unwrap_or_else(|stop| panic!("{stop:?}"));
    store.append(&[put(store.contents().last(), last)]).unwrap();
    let end = store.contents().clone();
    drop(store);
    (files, workload, end)
}

fn segment() -> PathBuf {
    folder().join("log-00000001")
}

/// Changes every byte. Each time the store must have equal contents or report the offset of the
/// damage.
fn flip_every_byte(last: Vec<u8>) {
    let (files, _, end) = log(last);
    for path in files.paths() {
        let bytes = files.read(&path).unwrap();
        let mut equal = 0;
        for (offset, byte) in bytes.iter().enumerate() {
            for mask in [0x01, 0x20, 0x80, 0xFF, *byte].into_iter().filter(|mask| *mask != 0) {
                let files = files.duplicate();
                assert!(files.flip(&path, offset, mask));
                match contents(&files) {
                    Ok(found) => {
                        assert_eq!(found, end, "{path:?} byte {offset} mask {mask}");
                        equal += 1;
                    }
                    Err(StoreError::Damaged { offset: reported, .. }) => {
                        assert!(reported <= offset as u64, "{path:?} byte {offset}, but the error says {reported}");
                        assert_eq!(files.read(&path).unwrap()[offset], byte ^ mask, "a refused log was changed");
                    }
                    Err(StoreError::Newer { .. } | StoreError::BadIdentity { .. } | StoreError::Foreign { .. }) => {}
                    Err(error) => panic!("{path:?} byte {offset} mask {mask}: {error}"),
                }
            }
        }
        // Only changes of zeros ahead of the frames and of end marks may go undetected.
        let frames_end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let undetectable = (bytes.len() - frames_end) * 4 + 8 * 5;
        assert!(equal <= undetectable, "{path:?}: {equal} changes went undetected");
    }
}

#[test]
fn a_changed_byte_before_a_small_last_append_is_detected() {
    flip_every_byte(vec![1; 10]);
}

#[test]
fn a_changed_byte_before_a_last_append_of_zeros_is_detected() {
    flip_every_byte(vec![0; 2_000]);
}

/// A log alone cannot detect that whole appends are missing at its end, but none may be missing
/// from the middle.
#[test]
fn a_log_cut_at_any_length_contains_a_prefix_of_the_workload() {
    let (files, workload, end) = log(vec![0; 700]);
    let bytes = files.read(&segment()).unwrap();
    let mut refused = 0;
    for length in 0..bytes.len() {
        let files = files.duplicate();
        assert!(files.replace(&segment(), &bytes[..length]));
        match contents(&files) {
            Ok(found) => assert!(workload.states.contains(&found) || found == end, "{length}"),
            Err(StoreError::Damaged { .. }) => refused += 1,
            Err(error) => panic!("{length}: {error}"),
        }
    }
    assert!(
        refused > 44 && refused < 100,
        "{refused} lengths were refused; expected those within the header and the checkpoint"
    );
}

#[test]
fn a_frame_inside_an_entry_is_not_read_as_a_frame_of_the_log() {
    let (files, ..) = log(vec![1; 100]);
    let copy = files.read(&segment()).unwrap();
    let frames = copy[..copy.iter().rposition(|byte| *byte != 0).unwrap()].to_vec();
    let (mut store, found, _) = open(&files, ONE_SEGMENT).unwrap();
    store.append(&[put(found.last(), frames.clone())]).unwrap();
    let before = files.read(&segment()).unwrap();
    store.append(&[put(found.last() + 1, frames)]).unwrap();
    let expected = store.contents().clone();
    drop(store);
    assert_eq!(contents(&files).unwrap(), expected);
    // Tear the last append in its second sector. The frames inside it must not make it look like
    // damage.
    let bytes = files.read(&segment()).unwrap();
    let begin = before.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let sector = (begin / 512 + 1) * 512;
    let torn: Vec<u8> =
        bytes.iter().enumerate().map(|(index, byte)| if index / 512 == sector / 512 { 0 } else { *byte }).collect();
    assert!(files.replace(&segment(), &torn));
    let (_, found, recovery) = open(&files, SMALL).unwrap();
    assert!(recovery.torn_bytes > 0);
    assert_eq!(found.writes, expected.writes - 1);
}

#[test]
fn frames_of_two_segments_do_not_mix() {
    let files = FaultyFiles::new();
    let workload = Workload::new(11, 40, 200);
    drop(workload.run(&files, SMALL).unwrap_or_else(|stop| panic!("{stop:?}")));
    let newest = files.paths().into_iter().find(|path| path.to_string_lossy().contains("log-")).unwrap();
    let bytes = files.read(&newest).unwrap();
    // Copy the file to the name of a later segment.
    let other = Path::new(FOLDER).join("log-99999999");
    files.create(&other).unwrap();
    assert!(files.replace(&other, &bytes));
    let error = contents(&files).unwrap_err();
    assert!(error.to_string().contains("its segment number differs from its name"), "{error}");
}
