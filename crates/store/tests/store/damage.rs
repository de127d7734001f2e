//! Damaged files: every byte changed, the log cut at every length, a frame forged inside an entry,
//! and a renamed segment.

use crate::common::{
    FOLDER, SMALL_SEGMENTS, TestLog, Workload, WorkloadSize, folder, open_store, put_after, read_contents,
};
use quorate_store::faults::FaultyFiles;
use quorate_store::{FileSystem, Settings, StoreError};
use std::path::{Path, PathBuf};

const ONE_SEGMENT: Settings = Settings { segment_bytes: 1 << 20, preallocated_bytes: 600 };

/// A small log that ends with an append of one entry, on a disk. Also returns the workload before
/// that append, and the contents after it.
fn log_ending_with(last: Vec<u8>) -> (FaultyFiles, Workload, TestLog) {
    let files = FaultyFiles::new();
    let workload = Workload::new(WorkloadSize { seed: 5, appends: 6, entry_bytes: 120 });
    let mut store = workload.run(&files, ONE_SEGMENT).unwrap_or_else(|interruption| panic!("{interruption:?}"));
    store.append(&[put_after(store.contents().last_number(), last)]).unwrap();
    let final_contents = store.contents().clone();
    drop(store);
    (files, workload, final_contents)
}

fn segment() -> PathBuf {
    folder().join("log-00000001")
}

/// Changes every byte. Each time the store must have equal contents or refuse to open; an offset
/// that it reports must be at or before the changed byte.
fn flip_every_byte(last: Vec<u8>) {
    let (files, _, final_contents) = log_ending_with(last);
    for path in files.paths() {
        let bytes = files.read(&path).unwrap();
        let mut undetected = 0;
        for (offset, byte) in bytes.iter().enumerate() {
            // The last mask makes the byte zero.
            for mask in [0x01, 0x20, 0x80, 0xFF, *byte].into_iter().filter(|mask| *mask != 0) {
                let files = files.duplicate();
                assert!(files.flip_bits(&path, offset, mask));
                match read_contents(&files) {
                    Ok(found) => {
                        assert_eq!(found, final_contents, "{path:?} byte {offset} mask {mask}");
                        undetected += 1;
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
        // A frame ends with a mark, one byte that only has to be nonzero and that no checksum
        // covers. Only changes of these marks and of the zeros after the last frame may go
        // undetected.
        let frames_end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |index| index + 1);
        // Four different masks for each zero, and five for each end mark. There are eight frames:
        // the checkpoint, the six appends of the workload and the last append.
        let max_undetected = (bytes.len() - frames_end) * 4 + 8 * 5;
        assert!(undetected <= max_undetected, "{path:?}: {undetected} changes went undetected");
    }
}

#[test]
fn a_changed_byte_is_detected_in_a_log_that_ends_with_a_small_append() {
    flip_every_byte(vec![1; 10]);
}

#[test]
fn a_changed_byte_is_detected_in_a_log_that_ends_with_an_append_of_zeros() {
    flip_every_byte(vec![0; 2_000]);
}

/// A log alone cannot detect that whole appends are missing at its end, but none may be missing
/// from the middle.
#[test]
fn a_log_cut_at_any_length_contains_a_prefix_of_the_workload() {
    let (files, workload, final_contents) = log_ending_with(vec![0; 700]);
    let bytes = files.read(&segment()).unwrap();
    let mut refused = 0;
    for length in 0..bytes.len() {
        let files = files.duplicate();
        assert!(files.replace(&segment(), &bytes[..length]));
        match read_contents(&files) {
            Ok(found) => assert!(workload.states.contains(&found) || found == final_contents, "{length}"),
            Err(StoreError::Damaged { .. }) => refused += 1,
            Err(error) => panic!("{length}: {error}"),
        }
    }
    // The header has 48 bytes, the checkpoint of an empty log fewer than 50. The bounds are loose.
    assert!(
        refused > 44 && refused < 100,
        "{refused} lengths were refused; expected those within the header and the checkpoint"
    );
}

#[test]
fn a_frame_inside_an_entry_is_not_read_as_a_frame_of_the_log() {
    let (files, ..) = log_ending_with(vec![1; 100]);
    let segment_bytes = files.read(&segment()).unwrap();
    let header_and_frames = segment_bytes[..=segment_bytes.iter().rposition(|byte| *byte != 0).unwrap()].to_vec();
    let (mut store, found, _) = open_store(&files, ONE_SEGMENT).unwrap();
    store.append(&[put_after(found.last_number(), header_and_frames.clone())]).unwrap();
    let before = files.read(&segment()).unwrap();
    store.append(&[put_after(found.last_number() + 1, header_and_frames)]).unwrap();
    let expected = store.contents().clone();
    drop(store);
    assert_eq!(read_contents(&files).unwrap(), expected);
    // Tear the last append in its second sector. The frames inside it must not make it look like
    // damage.
    let bytes = files.read(&segment()).unwrap();
    let append_begin = before.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let second_sector = append_begin / 512 + 1;
    let torn: Vec<u8> =
        bytes.iter().enumerate().map(|(index, byte)| if index / 512 == second_sector { 0 } else { *byte }).collect();
    assert!(files.replace(&segment(), &torn));
    let (_, found, recovery) = open_store(&files, SMALL_SEGMENTS).unwrap();
    assert!(recovery.torn_bytes > 0);
    assert_eq!(found.write_count, expected.write_count - 1);
}

#[test]
fn a_segment_with_the_name_of_another_is_refused() {
    let files = FaultyFiles::new();
    let workload = Workload::new(WorkloadSize { seed: 11, appends: 40, entry_bytes: 200 });
    drop(workload.run(&files, SMALL_SEGMENTS).unwrap_or_else(|interruption| panic!("{interruption:?}")));
    let original = files.paths().into_iter().find(|path| path.to_string_lossy().contains("log-")).unwrap();
    let bytes = files.read(&original).unwrap();
    // Copy the file to the name of a later segment.
    let other = Path::new(FOLDER).join("log-99999999");
    files.create(&other).unwrap();
    assert!(files.replace(&other, &bytes));
    let error = read_contents(&files).unwrap_err();
    assert!(error.to_string().contains("its segment number differs from its name"), "{error}");
}
