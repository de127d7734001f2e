//! Malformed journals cause an error message and never a panic.

use crate::common::{Actions, random_scenario};
use expect_test::expect;
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use quorate_core::mutex::{Command, Event};
use quorate_journal::causality::Causality;
use quorate_journal::metrics::MessageCounts;
use quorate_journal::record::{Journal, JournalError, Writer};
use quorate_journal::replay::replay;

/// Returns the error message for these bytes, or a success message.
fn error_message(bytes: &[u8]) -> String {
    let result = Journal::open(bytes).and_then(|mut journal| journal.show_all::<Actions, String>(&mut ()));
    result.map_or_else(|error| error.to_string(), |()| "It is valid.".into())
}

/// The header of a journal of format 1, which needs no end mark.
const HEADER: &str = r#"{"journal":1,"algorithm":"scripted","family":"toys","nodes":3,"seed":1,"run":null}"#;

/// Returns the error message for this line after a valid one.
fn error_message_for_line(line: &str) -> String {
    let valid_line = r#"{"time":5,"world":{"paused":{"node":3}}}"#;
    format!("{}\n", error_message(format!("{HEADER}\n{valid_line}\n{line}\n").as_bytes()))
}

#[test]
fn a_file_that_is_not_a_journal_is_rejected() {
    let files: [&[u8]; 9] = [
        b"",
        b"\n",
        b"hello\n",
        b"{}\n",
        b"[1,2]\n",
        br#"{"journal":1}"#,
        b"{\"journal\":1,\"algorithm\":\"scripted\"}\n",
        b"{\"journal\":\"1\"}\n",
        b"\xff\xfe\n",
    ];
    expect![[r#"
        the journal is empty: it has no header line.
        this is not a journal: its first line is not a header (EOF while parsing a value at line 2 column 0). The option --trace FILE writes journals.
        this is not a journal: its first line is not a header (expected value at line 1 column 1). The option --trace FILE writes journals.
        this is not a journal: its first line is not a header (missing field `journal` at line 1 column 2). The option --trace FILE writes journals.
        this is not a journal: its first line is not a header (trailing characters at line 1 column 4). The option --trace FILE writes journals.
        line 1 of the journal is malformed: the file is truncated in the middle of this line. All lines before it are valid.
        this is not a journal: its first line is not a header (missing field `family` at line 1 column 36). The option --trace FILE writes journals.
        this is not a journal: its first line is not a header (invalid type: string "1", expected u32 at line 1 column 14). The option --trace FILE writes journals.
        line 1 of the journal is malformed: it is not valid UTF-8. All lines before it are valid.
    "#]]
    .assert_eq(&files.map(|file| format!("{}\n", error_message(file))).concat());
}

#[test]
fn a_newer_format_is_reported_even_if_the_header_differs() {
    expect!["the journal has format 3, but this program reads formats up to 2. Use a newer quorate."]
        .assert_eq(&error_message(b"{\"journal\":3,\"whatever\":[]}\n"));
}

#[test]
fn a_malformed_line_is_rejected_with_its_number_and_the_reason() {
    let lines = [
        "garbage",
        "",
        "{}",
        r#"{"time":6}"#,
        r#"{"time":"6","world":{"changed":"heal"}}"#,
        r#"{"time":6,"node":1,"world":{"changed":"heal"}}"#,
        r#"{"time":6,"node":1,"effects":[]}"#,
        r#"{"time":6,"world":{"exploded":{"node":1}}}"#,
        r#"{"time":6,"world":{"lost":{"id":"1","to":2,"why":"chance"}}}"#,
        r#"{"time":6,"world":{"lost":{"id":"0.1","to":2,"why":"chance"}}}"#,
        r#"{"time":6,"world":{"lost":{"id":"1.1","to":2,"why":"bad luck"}}}"#,
        r#"{"time":6,"node":1,"input":{"saved":1},"effects":[{"dance":1}]}"#,
        r#"{"time":6,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2}}]}"#,
        r#"{"time":6,"node":1,"input":{"saved":-1},"effects":[]}"#,
        r#"{"time":6,"node":1,"input":{"command":"fly"},"effects":[]}"#,
        r#"{"time":6,"node":1,"input":{"saved":1},"effects":[]} {"time":7}"#,
    ];
    expect![[r#"
        line 3 of the journal is malformed: expected value at column 1. All lines before it are valid.
        line 3 of the journal is malformed: it is blank. All lines before it are valid.
        line 3 of the journal is malformed: missing field `time` at column 2. All lines before it are valid.
        line 3 of the journal is malformed: it is neither a step of a node nor a world event. All lines before it are valid.
        line 3 of the journal is malformed: invalid type: string "6", expected i64 at column 11. All lines before it are valid.
        line 3 of the journal is malformed: it is neither a step of a node nor a world event. All lines before it are valid.
        line 3 of the journal is malformed: it is neither a step of a node nor a world event. All lines before it are valid.
        line 3 of the journal is malformed: unknown variant `exploded`, expected one of `lost`, `duplicated`, `crashed`, `ended`, `paused`, `resumed`, `changed` at column 29. All lines before it are valid.
        line 3 of the journal is malformed: '1' is not a message id such as 2.17 at column 35. All lines before it are valid.
        line 3 of the journal is malformed: '0.1' is not a message id such as 2.17 at column 37. All lines before it are valid.
        line 3 of the journal is malformed: unknown variant `bad luck`, expected one of `chance`, `cut`, `down` at column 61. All lines before it are valid.
        line 3 of the journal is malformed: unknown variant `dance`, expected one of `send`, `multicast`, `save`, `timer`, `cancel`, `emit`, `rule`, `handed`, `waiting`, `view`, `lease` at column 58. All lines before it are valid.
        line 3 of the journal is malformed: missing field `body` at column 77. All lines before it are valid.
        line 3 of the journal is malformed: invalid value: integer `-1`, expected u64 at column 38. All lines before it are valid.
        line 3 of the journal is malformed: invalid type: string "fly", expected a sequence at column 43. All lines before it are valid.
        line 3 of the journal is malformed: trailing characters at column 54. All lines before it are valid.
    "#]]
    .assert_eq(&lines.map(error_message_for_line).concat());
}

#[test]
fn a_line_that_names_an_unknown_node_is_rejected() {
    let lines = [
        r#"{"time":6,"node":4,"input":{"saved":1},"effects":[]}"#,
        r#"{"time":6,"node":0,"input":{"saved":1},"effects":[]}"#,
        r#"{"time":6,"world":{"crashed":{"node":4,"lost_writes":0}}}"#,
        r#"{"time":6,"world":{"duplicated":{"id":"4.1"}}}"#,
        r#"{"time":6,"world":{"lost":{"id":"4.1","to":2,"why":"cut"}}}"#,
        // Receivers are not checked: a node may send to any id.
        r#"{"time":6,"world":{"lost":{"id":"1.1","to":4,"why":"down"}}}"#,
    ];
    expect![[r#"
        line 3 of the journal is malformed: it names node 4, but the header declares 3 nodes. All lines before it are valid.
        line 3 of the journal is malformed: invalid value: integer `0`, expected a nonzero u32 at column 18. All lines before it are valid.
        line 3 of the journal is malformed: it names node 4, but the header declares 3 nodes. All lines before it are valid.
        line 3 of the journal is malformed: it names node 4, but the header declares 3 nodes. All lines before it are valid.
        line 3 of the journal is malformed: it names node 4, but the header declares 3 nodes. All lines before it are valid.
        It is valid.
    "#]]
    .assert_eq(&lines.map(error_message_for_line).concat());
}

#[test]
fn a_truncated_or_binary_file_is_rejected() {
    let valid = format!("{HEADER}\n{}\n", r#"{"time":5,"world":{"paused":{"node":3}}}"#);
    let truncated = &valid.as_bytes()[..valid.len() - 9];
    let without_newline = &valid.as_bytes()[..valid.len() - 1];
    let mut binary = valid.clone().into_bytes();
    binary.extend_from_slice(b"{\"time\":6,\"world\":{\"changed\":\"\xff\"}}\n");
    expect![[r#"
        line 2 of the journal is malformed: the file is truncated in the middle of this line. All lines before it are valid.
        line 2 of the journal is malformed: the file is truncated in the middle of this line. All lines before it are valid.
        line 3 of the journal is malformed: it is not valid UTF-8. All lines before it are valid."#]]
    .assert_eq(&[truncated, without_newline, &binary].map(error_message).join("\n"));
}

/// A complete journal of format 2, whose last line is an end mark with the number of lines.
const COMPLETE_JOURNAL: &str = concat!(
    r#"{"journal":2,"algorithm":"scripted","family":"toys","nodes":3,"seed":1,"run":null}"#,
    "\n",
    r#"{"time":5,"world":{"paused":{"node":3}}}"#,
    "\n",
    r#"{"time":6,"world":{"resumed":{"node":3}}}"#,
    "\n{\"end\":4}\n"
);

#[test]
fn truncation_is_detected_at_every_byte() {
    assert_eq!(error_message(COMPLETE_JOURNAL.as_bytes()), "It is valid.");
    for length in 0..COMPLETE_JOURNAL.len() {
        let message = error_message(&COMPLETE_JOURNAL.as_bytes()[..length]);
        assert_ne!(message, "It is valid.", "cut off after {length} bytes");
    }
    let second_step = COMPLETE_JOURNAL.find("{\"time\":6").unwrap();
    expect!["the journal is truncated after line 2: its end mark is missing. Either the file was cut off, or the program that wrote it was killed. All lines are valid, but the rest of the run is unknown. Record the run again, or copy the file again."]
        .assert_eq(&error_message(&COMPLETE_JOURNAL.as_bytes()[..second_step]));
}

/// The reader shows the lines before the missing end mark, and only then returns the error.
#[test]
fn a_truncated_journal_is_read_up_to_its_end() {
    let text = random_scenario(3).journal();
    let truncated = &text[..text.rfind("{\"end\"").unwrap()];
    let mut journal = Journal::open(truncated.as_bytes()).unwrap();
    let mut shown_lines = 0;
    let error = loop {
        match journal.show::<Actions, String>(&mut ()) {
            Ok(true) => shown_lines += 1,
            Ok(false) => panic!("the end mark is missing"),
            Err(error) => break error,
        }
    };
    assert_eq!(shown_lines, truncated.lines().count() - 1);
    assert!(matches!(error, JournalError::NoEnd { line } if line == truncated.lines().count() as u64), "{error}");
    let mut journal = Journal::open(truncated.as_bytes()).unwrap();
    let replayed = replay(&mut journal, random_scenario(3).node_factory(), &mut ()).unwrap_err().to_string();
    assert_eq!(replayed, error.to_string());
}

#[test]
fn an_end_mark_has_its_line_number_and_is_the_last_line() {
    let lines: Vec<_> = COMPLETE_JOURNAL.lines().collect();
    let without_a_line = [lines[0], lines[2], lines[3]].join("\n") + "\n";
    let line_after_end = format!("{COMPLETE_JOURNAL}{}\n", lines[1]);
    let two_end_marks = format!("{COMPLETE_JOURNAL}{}\n", lines[3]);
    let not_a_number = COMPLETE_JOURNAL.replace("{\"end\":4}", "{\"end\":\"4\"}");
    let extra_field = COMPLETE_JOURNAL.replace("{\"end\":4}", "{\"end\":4,\"time\":7}");
    expect![[r#"
        line 3 of the journal is malformed: it is the end mark of a journal with 4 lines, so lines were removed or added before it. All lines before it are valid.
        line 5 of the journal is malformed: it follows the end mark, which must be the last line. All lines before it are valid.
        line 5 of the journal is malformed: it follows the end mark, which must be the last line. All lines before it are valid.
        line 4 of the journal is malformed: invalid type: string "4", expected u64 at column 10. All lines before it are valid.
        line 4 of the journal is malformed: unknown field `time`, expected `end` or `ending` at column 15. All lines before it are valid."#]]
    .assert_eq(&[without_a_line, line_after_end, two_end_marks, not_a_number, extra_field].map(|text| error_message(text.as_bytes())).join("\n"));
}

/// Journals of format 1 have no end mark, and the process that writes a live journal may be killed.
#[test]
fn old_and_live_journals_need_no_end_mark() {
    let lines: Vec<_> = COMPLETE_JOURNAL.lines().collect();
    let format_1 = format!("{HEADER}\n{}\n", lines[1]);
    assert_eq!(error_message(format_1.as_bytes()), "It is valid.");
    let live_header_end = r#""live":{"node":1,"boot":"b","offset":0},"run":null}"#;
    let live_without_end_mark =
        COMPLETE_JOURNAL.replace(r#""run":null}"#, live_header_end).replace("{\"end\":4}\n", "");
    assert_eq!(error_message(live_without_end_mark.as_bytes()), "It is valid.");
    let live_with_end_mark = COMPLETE_JOURNAL.replace(r#""run":null}"#, live_header_end);
    assert_eq!(error_message(live_with_end_mark.as_bytes()), "It is valid.");
    expect!["line 3 of the journal is malformed: missing field `time` at column 9. All lines before it are valid."]
        .assert_eq(&error_message(format!("{HEADER}\n{}\n{{\"end\":3}}\n", lines[1]).as_bytes()));
}

/// A reader that always fails.
struct FailingReader;

impl std::io::Read for FailingReader {
    fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the pipe is broken"))
    }
}

#[test]
fn a_read_error_is_reported() {
    let error = Journal::open(std::io::BufReader::new(FailingReader)).err().unwrap();
    assert!(matches!(error, JournalError::Io(_)));
    assert_eq!(error.to_string(), "cannot read the journal: the pipe is broken.");
}

/// Shows a journal to several observers, and replays it. Ignores errors: nothing may panic.
fn read_and_replay(text: &[u8]) {
    let Ok(mut journal) = Journal::open(text) else { return };
    let nodes = journal.header().nodes;
    // The observers allocate memory for every node.
    if nodes > 1_000 {
        return;
    }
    let mut writer = Writer::new(Vec::new(), journal.header());
    let mut observers = ((&mut Causality::new(nodes), &mut MessageCounts::new(nodes)), &mut writer);
    let _ = journal.show_all::<Actions, String>(&mut observers);
    if let Ok(mut journal) = Journal::open(text) {
        let _ = replay(&mut journal, |_| crate::common::ScriptedNode::default(), &mut ());
    }
}

/// A journal with the largest possible numbers is read, and neither an observer nor a replay
/// panics.
#[test]
fn the_largest_numbers_are_accepted() {
    let lines = [
        r#"{"time":9223372036854775807,"node":1,"input":{"start":{"incarnation":18446744073709551615}},"effects":[{"multicast":{"id":"1.18446744073709551615","to":[1,2,3],"kind":"ping","bytes":18446744073709551615,"body":1}},{"multicast":{"id":"1.18446744073709551615","to":[1,2,3],"kind":"ping","bytes":18446744073709551615,"class":"control","body":1}}]}"#,
        r#"{"time":-9223372036854775808,"node":1,"clock":9223372036854775807,"input":{"saved":18446744073709551615},"effects":[{"send":{"id":"1.18446744073709551615","to":4294967295,"kind":"ping","bytes":18446744073709551615,"body":1}},{"emit":"news"}]}"#,
        r#"{"time":0,"node":2,"input":{"command":[]},"effects":[{"timer":{"name":"a","earliest":18446744073709551615,"latest":18446744073709551615}}]}"#,
        r#"{"time":0,"world":{"crashed":{"node":1,"lost_writes":18446744073709551615}}}"#,
        r#"{"time":0,"world":{"duplicated":{"id":"1.18446744073709551615"}}}"#,
    ];
    let journal = format!("{HEADER}\n{}\n", lines.join("\n"));
    assert_eq!(error_message(journal.as_bytes()), "It is valid.");
    read_and_replay(journal.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), has_header in any::<bool>()) {
        let mut text = if has_header { format!("{HEADER}\n").into_bytes() } else { Vec::new() };
        text.extend(bytes);
        read_and_replay(&text);
    }

    /// Journals with up to three bytes changed, a line repeated and usually a line removed.
    #[test]
    fn altered_journals_cause_no_panic(
        seed in 0u64..50,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        dropped in any::<prop::sample::Index>(),
        repeated in any::<prop::sample::Index>(),
    ) {
        let journal = random_scenario(seed).journal();
        let mut lines: Vec<_> = journal.lines().collect();
        let (dropped, repeated) = (dropped.index(lines.len()), repeated.index(lines.len()));
        let line = lines[repeated];
        lines.insert(repeated, line);
        if dropped > 0 {
            lines.remove(dropped);
        }
        let mut bytes = (lines.join("\n") + "\n").into_bytes();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            // A printable ASCII character.
            bytes[index] = b' ' + byte % 95;
        }
        read_and_replay(&bytes);
    }
}

/// Error messages quote at most a part of the journal, and are printed on a terminal.
#[test]
fn error_messages_contain_no_control_characters() {
    let long = "x".repeat(9_000);
    for name in ["\u{1b}[31mred\u{7}", "\u{202e}desrever", "a\nb\u{0}", long.as_str()] {
        let name = serde_json::to_string(name).unwrap();
        let lines = format!(
            "{{\"journal\":1,\"algorithm\":\"a\",\"family\":\"f\",\"nodes\":2,\"seed\":7,\"run\":null}}\n\
             {{\"time\":0,\"node\":1,\"input\":{{\"command\":{name}}},\"effects\":[]}}\n"
        );
        let mut journal = Journal::open(lines.as_bytes()).unwrap();
        let error = journal.show::<Command, Event>(&mut ()).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("column"), "{error:?}");
        assert!(!error.chars().any(|character| character.is_control() || character == '\u{202e}'), "{error:?}");
        assert!(error.chars().count() < 600, "{} characters", error.chars().count());
        let header = format!("{{\"journal\":{name}}}\n");
        let error = Journal::open(header.as_bytes()).err().unwrap().to_string();
        assert!(!error.chars().any(|character| character.is_control() || character == '\u{202e}'), "{error:?}");
    }
}
