//! Tests of torn journals: the last line of a killed node may be cut off anywhere.

use crate::gather::runs::{journal, locks, quiet_locks, replayed};
use crate::gather::split::{Machines, Part, gathered, split};
use quorate_lab::Mutex;

/// Returns the parts of a run, starting with the one that contains the last line, whose messages no
/// node received.
fn parts() -> Vec<Part> {
    let truth = journal(&quiet_locks("ricart-agrawala", 3));
    let last: serde_json::Value = serde_json::from_str(truth.lines().nth_back(1).unwrap()).unwrap();
    let mut parts = split(&truth, Machines::default());
    let place = parts.iter().position(|part| part.name == format!("n{}-0.journal", last["node"])).unwrap();
    parts.swap(0, place);
    parts
}

fn last_line(part: &Part) -> usize {
    let text = part.bytes.strip_suffix(b"\n").unwrap();
    text.iter().rposition(|byte| *byte == b'\n').unwrap() + 1
}

#[test]
fn a_last_line_torn_at_any_byte_is_dropped_and_reported() {
    let mut parts = parts();
    let (whole, found) = gathered(&parts).unwrap();
    assert_eq!(found.torn, [""; 0]);
    let starting_at = last_line(&parts[0]);
    let full = parts[0].bytes.clone();
    let mut without = parts.clone();
    without[0].bytes.truncate(starting_at);
    let (shorter, _) = gathered(&without).unwrap();
    assert_eq!(whole.lines().count(), shorter.lines().count() + 1);
    for cut in starting_at + 1..full.len() {
        parts[0].bytes = full[..cut].to_vec();
        let (result, found) = gathered(&parts).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(result, shorter, "cut at {cut}");
        assert_eq!(found.torn, [parts[0].name.as_str()]);
    }
    replayed::<Mutex>(&shorter);
}

/// The text of a rule has multi-byte characters, and the cut may split one.
#[test]
fn a_split_character_is_a_torn_line() {
    let mut parts = parts();
    parts[0].bytes.extend_from_slice("{\"time\":9,\"world\":{\"changed\":\"→".as_bytes());
    parts[0].bytes.pop();
    assert_eq!(gathered(&parts).unwrap().1.torn, [parts[0].name.as_str()]);
}

/// A node that was killed before its header was written had no effect on others.
#[test]
fn a_journal_cut_in_its_header_is_left_out() {
    let truth = journal(&locks("central", 2));
    let mut parts = split(&truth, Machines { world: true, ..Machines::default() });
    let (whole, found) = gathered(&parts).unwrap();
    let header = parts[0].bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in [0, 1, 5, 11, header / 2, header] {
        let bytes = parts[0].bytes[..cut].to_vec();
        parts.push(Part { name: "n3-9.journal".into(), bytes });
        let (result, with_torn) = gathered(&parts).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!((&result, with_torn.lives), (&whole, found.lives));
        assert_eq!(with_torn.torn, ["n3-9.journal"]);
        parts.pop();
    }
}

/// A file that is cut anywhere is either gathered or refused with a message that names it.
#[test]
fn a_file_cut_anywhere_gives_a_journal_that_replays_or_an_error() {
    let truth = journal(&locks("central", 4));
    let parts = split(&truth, Machines { world: true, ..Machines::default() });
    let (mut fine, mut refused) = (0, 0);
    for (place, part) in parts.iter().enumerate() {
        for cut in (0..part.bytes.len()).step_by(97) {
            let mut cut_parts = parts.clone();
            cut_parts[place].bytes.truncate(cut);
            match gathered(&cut_parts) {
                Ok((result, _)) => {
                    replayed::<Mutex>(&result);
                    fine += 1;
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.ends_with('.') && (text.contains(".journal") || text.contains("node")), "{text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(fine > 20 && refused > 20, "{fine} gathered, {refused} refused");
}

/// A journal that is still being written is gathered up to its end.
#[test]
fn a_running_incarnation_counts_as_crashed_where_its_journal_ends() {
    let parts = parts();
    let (result, found) = gathered(&parts).unwrap();
    assert_eq!((found.lives, found.ended), (4, 0));
    assert_eq!(result.matches("\"crashed\"").count(), 4);
    replayed::<Mutex>(&result);
}
