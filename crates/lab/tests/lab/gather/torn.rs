//! Tests of torn journals: the last line of a killed node may be cut off anywhere.

use crate::gather::runs::{lock_spec, lock_spec_without_crashes, replay_and_read, run_journal};
use crate::gather::split::{Machines, Part, gather_parts, split};
use quorate_lab::Mutex;

/// Returns the parts of a run. The first one contains the last step of the run, whose messages no
/// node received.
fn parts() -> Vec<Part> {
    let truth = run_journal(&lock_spec_without_crashes("ricart-agrawala", 3));
    // The line before the end mark.
    let last_step: serde_json::Value = serde_json::from_str(truth.lines().nth_back(1).unwrap()).unwrap();
    let mut parts = split(&truth, Machines::default());
    let index = parts.iter().position(|part| part.name == format!("n{}-0.journal", last_step["node"])).unwrap();
    parts.swap(0, index);
    parts
}

/// The index of the first byte of the last line.
fn last_line_start(part: &Part) -> usize {
    let text = part.bytes.strip_suffix(b"\n").unwrap();
    text.iter().rposition(|byte| *byte == b'\n').unwrap() + 1
}

#[test]
fn a_last_line_torn_at_any_byte_is_dropped_and_reported() {
    let mut parts = parts();
    let (uncut, gathered) = gather_parts(&parts).unwrap();
    assert_eq!(gathered.torn_files, [""; 0]);
    let last_line = last_line_start(&parts[0]);
    let full = parts[0].bytes.clone();
    let mut without_last_line = parts.clone();
    without_last_line[0].bytes.truncate(last_line);
    let (shorter, _) = gather_parts(&without_last_line).unwrap();
    assert_eq!(uncut.lines().count(), shorter.lines().count() + 1);
    for cut in last_line + 1..full.len() {
        parts[0].bytes = full[..cut].to_vec();
        let (result, gathered) = gather_parts(&parts).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(result, shorter, "cut at {cut}");
        assert_eq!(gathered.torn_files, [parts[0].name.as_str()]);
    }
    replay_and_read::<Mutex>(&shorter);
}

/// Texts have multi-byte characters, and a torn line may end within one.
#[test]
fn a_split_character_is_a_torn_line() {
    let mut parts = parts();
    parts[0].bytes.extend_from_slice("{\"time\":9,\"world\":{\"changed\":\"→".as_bytes());
    parts[0].bytes.pop();
    assert_eq!(gather_parts(&parts).unwrap().1.torn_files, [parts[0].name.as_str()]);
}

/// A node that was killed before its journal had a header had no effect on others.
#[test]
fn a_journal_cut_in_its_header_is_left_out() {
    let truth = run_journal(&lock_spec("central", 2));
    let mut parts = split(&truth, Machines { has_fault_journal: true, ..Machines::default() });
    let (uncut, gathered) = gather_parts(&parts).unwrap();
    let header = parts[0].bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in [0, 1, 5, 11, header / 2, header] {
        let bytes = parts[0].bytes[..cut].to_vec();
        parts.push(Part { name: "n3-9.journal".into(), bytes });
        let (result, with_torn) = gather_parts(&parts).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!((&result, with_torn.incarnations), (&uncut, gathered.incarnations));
        assert_eq!(with_torn.torn_files, ["n3-9.journal"]);
        parts.pop();
    }
}

/// A file that is cut anywhere is either gathered or refused with a message that names a file or a
/// node.
#[test]
fn a_file_cut_anywhere_gives_a_journal_that_replays_or_an_error() {
    let truth = run_journal(&lock_spec("central", 4));
    let parts = split(&truth, Machines { has_fault_journal: true, ..Machines::default() });
    let (mut accepted, mut refused) = (0, 0);
    for (index, part) in parts.iter().enumerate() {
        for cut in (0..part.bytes.len()).step_by(97) {
            let mut cut_parts = parts.clone();
            cut_parts[index].bytes.truncate(cut);
            match gather_parts(&cut_parts) {
                Ok((result, _)) => {
                    replay_and_read::<Mutex>(&result);
                    accepted += 1;
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.ends_with('.') && (text.contains(".journal") || text.contains("node")), "{text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(accepted > 20 && refused > 20, "{accepted} gathered, {refused} refused");
}

/// A journal that is still being written is gathered up to its end.
#[test]
fn a_running_incarnation_counts_as_crashed_where_its_journal_ends() {
    let parts = parts();
    let (result, gathered) = gather_parts(&parts).unwrap();
    // The run has 4 nodes, and none of their journals records a shutdown.
    assert_eq!((gathered.incarnations, gathered.clean_shutdowns), (4, 0));
    assert_eq!(result.matches("\"crashed\"").count(), 4);
    replay_and_read::<Mutex>(&result);
}
