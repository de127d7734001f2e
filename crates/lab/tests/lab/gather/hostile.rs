//! Tests with journals that contradict each other or are malformed.
//!
//! In hand-written journals, `sending_step(10, 1, "1.4", 2)` is a step of node 1 at time 10 that
//! sends message 1.4 (its fourth) to node 2, and `receipt(12, 2, "1.4", &[])` is the step of node 2
//! at time 12 that receives the message. `incarnation_journal(2, 0, lines)` is the journal of node
//! 2's incarnation 0.

use crate::gather::hand_written::{incarnation_journal, receipt, sending_step};
use crate::gather::runs::{lock_spec_without_crashes, run_journal};
use crate::gather::split::{Machines, Part, gather_parts, split};
use quorate_journal::record::Journal;
use quorate_lab::{Mutex, replay};

fn refusal(parts: &[Part]) -> String {
    gather_parts(parts).map(|(result, _)| result).expect_err("contradictory journals were accepted").to_string()
}

#[test]
fn a_message_that_arrives_before_it_was_sent_is_gathered_with_a_warning() {
    let parts = [
        incarnation_journal(1, 0, &[&sending_step(5, 1, "1.1", 2)]),
        incarnation_journal(2, 0, &[&receipt(3, 2, "1.1", &[])]),
    ];
    let (result, gathered) = gather_parts(&parts).unwrap();
    assert_eq!((gathered.received_messages, gathered.delayed_steps, gathered.boots), (1, 1, 1));
    let warning = "a message arrived before it was sent, and 1 step had to be moved to a later time: the files may belong to \
               different runs.";
    assert!(gathered.warnings[0].contains(warning) && gathered.warnings.len() == 1, "{:?}", gathered.warnings);
    assert!(result.contains(r#"{"time":5,"node":2,"clock":3,"input":{"message""#), "{result}");
}

#[test]
fn two_messages_each_received_before_the_other_is_sent_are_a_contradiction() {
    let parts = [
        incarnation_journal(1, 0, &[&receipt(5, 1, "2.1", &[("1.1", 2)])]),
        incarnation_journal(2, 0, &[&receipt(4, 2, "1.1", &[("2.1", 1)])]),
    ];
    let text = refusal(&parts);
    assert!(text.contains("contradict each other: in n2-0, line 3, message 1.1 of incarnation 0 arrives"), "{text}");
    let itself = [incarnation_journal(1, 0, &[&receipt(5, 1, "1.1", &[("1.1", 1)])]), incarnation_journal(2, 0, &[])];
    assert!(refusal(&itself).contains("contradict"));
}

#[test]
fn a_message_without_a_sender_is_named_with_its_line() {
    let text = refusal(&[incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[&receipt(3, 2, "1.4", &[])])]);
    assert!(
        text.starts_with("in n2-0, line 3: message 1.4 of incarnation 0 of node 1 arrives, but n1-0 ends before"),
        "{text}"
    );
    let from_unknown_incarnation = receipt(3, 2, "1.1", &[]).replace(r#""kind""#, r#""life":7,"kind""#);
    let text = refusal(&[incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[&from_unknown_incarnation])]);
    assert!(text.contains("no journal of incarnation 7 of node 1 is among these files"), "{text}");
}

#[test]
fn a_message_arrives_once_and_where_it_was_sent_to() {
    let sends = sending_step(1, 1, "1.1", 2);
    let twice = [receipt(3, 2, "1.1", &[]), receipt(4, 2, "1.1", &[])];
    let text = refusal(&[incarnation_journal(1, 0, &[&sends]), incarnation_journal(2, 0, &[&twice[0], &twice[1]])]);
    assert!(
        text.starts_with(
            "in n2-0, line 4: message 1.1 of incarnation 0 arrives a second time; it first arrived on line 3"
        ),
        "{text}"
    );
    let text =
        refusal(&[incarnation_journal(1, 0, &[&sends, &receipt(3, 1, "1.1", &[])]), incarnation_journal(2, 0, &[])]);
    assert!(text.starts_with("in n1-0, line 4"), "{text}");
    let never_sent = [
        incarnation_journal(1, 0, &[&receipt(0, 1, "2.1", &[])]),
        incarnation_journal(2, 0, &[&receipt(0, 2, "2.1", &[])]),
    ];
    assert!(refusal(&never_sent).contains("line 3"));
}

#[test]
fn lines_that_a_node_cannot_write_are_refused() {
    let cases = [
        (
            r#"{"time":1,"world":{"crashed":{"node":1,"lost_writes":0}}}"#,
            "a node cannot record this event about itself",
        ),
        (r#"{"time":1,"world":{"ended":{"node":2}}}"#, "a node cannot record this event about itself"),
        (
            r#"{"time":1,"world":{"lost":{"id":"1.1","to":2,"why":"down"}}}"#,
            "a node cannot record this event about itself",
        ),
        (r#"{"time":1,"node":1,"input":{"start":{"incarnation":0}},"effects":[]}"#, "which starts once"),
        (
            r#"{"time":1,"node":2,"input":{"saved":1},"effects":[]}"#,
            "node 2 takes a step, but the journal is one of node 1",
        ),
        (&sending_step(1, 1, "1.2", 2), "message 1.2 is sent, but the next number of this incarnation is 1.1"),
        (&sending_step(1, 1, "2.1", 2), "message 2.1 is sent"),
        (r#"{"time":1}"#, "neither a step of a node nor a world event"),
        ("garbage", "malformed"),
        ("", "it is blank"),
        (r#"{"time":1,"node":3,"input":{"saved":1},"effects":[]}"#, "names node 3"),
    ];
    for (line, expected) in cases {
        let text = refusal(&[incarnation_journal(1, 0, &[line]), incarnation_journal(2, 0, &[])]);
        assert!(text.contains(expected) && text.contains("n1-0"), "{line}: {text}");
    }
    let end = r#"{"time":1,"world":{"ended":{"node":1}}}"#;
    let text =
        refusal(&[incarnation_journal(1, 0, &[end, &sending_step(2, 1, "1.1", 2)]), incarnation_journal(2, 0, &[])]);
    assert!(text.contains("in n1-0, line 4: the node shut down on the line before"), "{text}");
}

#[test]
fn files_that_do_not_form_one_run_are_refused() {
    let [one, two] = [incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[])];
    let altered = |from: &str, to: &str| {
        let text = String::from_utf8(two.bytes.clone()).unwrap().replacen(from, to, 1);
        Part { name: "odd".into(), bytes: text.into_bytes() }
    };
    let in_group = |name: &str| altered(r#""boot""#, &format!(r#""group":"{name}","boot""#));
    let cases = [
        (
            altered("central", "ricart-agrawala"),
            "odd and n1-0 belong to different runs: its algorithm is ricart-agrawala",
        ),
        (in_group("b"), "odd and n1-0 belong to different runs: its group is 'b', not absent"),
        (altered(r#""seed":1"#, r#""seed":2"#), "its seed is 2, not 1"),
        (altered(r#""nodes":2"#, r#""nodes":3"#), "its number of nodes is 3, not 2"),
        (altered(r#"{"a":1}"#, r#"{"a":2}"#), "its setting 'a' is 2, not 1"),
        (altered(r#"{"a":1}"#, r#"{}"#), "its setting 'a' is absent, not 1"),
        (one.clone(), "n1-0 and n1-0 are both journals of incarnation 0 of node 1"),
        (
            altered(r#""node":2,"incarnation""#, r#""node":9,"incarnation""#),
            "the journal is one of node 9, but declares 2 nodes",
        ),
        (Part { name: "odd".into(), bytes: b"garbage".to_vec() }, "in odd: "),
        (Part { name: "odd".into(), bytes: b"\xff\xfe\n".to_vec() }, "UTF-8"),
    ];
    for (other_part, expected) in cases {
        let text = refusal(&[one.clone(), other_part]);
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text = String::from_utf8(one.bytes.clone()).unwrap().replacen(r#""boot""#, r#""group":"a","boot""#, 1);
    let in_group_a = Part { name: "n1".into(), bytes: text.into_bytes() };
    assert!(refusal(&[in_group_a.clone(), in_group("b\\n")]).contains(r"its group is 'b\n', not 'a'"));
    gather_parts(&[in_group_a, in_group("a")]).unwrap();
    assert!(refusal(&[one]).contains("no journal of node 2"));
    assert!(refusal(&[]).contains("no journals given"));
    let empty = Part { name: "empty".into(), bytes: Vec::new() };
    assert!(refusal(&[empty]).contains("none of these files has a header line"));
}

#[test]
fn a_fault_journal_has_no_steps_and_a_whole_run_is_not_one_incarnation() {
    let truth = run_journal(&lock_spec_without_crashes("central", 1));
    let run_part = Part { name: "run.journal".into(), bytes: truth.clone().into_bytes() };
    assert!(refusal(&[run_part]).contains("journal of a whole run"));
    let mut parts =
        split(&truth, Machines { has_fault_journal: true, has_clean_shutdowns: true, ..Machines::default() });
    let step = parts[0].bytes.split(|byte| *byte == b'\n').nth(1).unwrap().to_vec();
    let fault_journal = parts.last_mut().unwrap();
    fault_journal.bytes.extend([step, b"\n".to_vec()].concat());
    assert!(refusal(&parts).contains("the journal is one of world events only"));
}

/// Extreme times are clamped.
#[test]
fn extreme_clocks_do_not_overflow() {
    let sends = sending_step(i64::MAX, 1, "1.1", 2);
    let mut parts =
        [incarnation_journal(1, 0, &[&sends]), incarnation_journal(2, 0, &[&receipt(i64::MIN, 2, "1.1", &[])])];
    // `boot` names a boot of a machine. `zero` and `offset` relate the journal's time 0 to that
    // boot and to the wall clock.
    let text = String::from_utf8(parts[1].bytes.clone()).unwrap();
    let text =
        text.replace(r#""boot":"b","offset":0"#, &format!(r#""boot":"c","zero":{},"offset":{}"#, i64::MAX, i64::MIN));
    parts[1].bytes = text.into_bytes();
    assert_eq!(gather_parts(&parts).unwrap().1.received_messages, 1);
}

#[test]
fn disks_that_lose_confirmed_writes_are_reported() {
    let save = r#"{"time":1,"node":1,"input":{"command":"acquire"},"effects":[{"save":1},{"save":2}]}"#;
    let saved = r#"{"time":2,"node":1,"input":{"saved":2},"effects":[]}"#;
    let next_incarnation = |found_writes: u64| {
        let part = incarnation_journal(1, 1, &[]);
        let text =
            String::from_utf8(part.bytes).unwrap().replace(r#""writes":0"#, &format!(r#""writes":{found_writes}"#));
        let text = text.replace(r#"{"time":0"#, r#"{"time":9"#);
        Part { name: part.name, bytes: text.into_bytes() }
    };
    let gather = |lines: &[&str], found_writes| {
        gather_parts(&[
            incarnation_journal(1, 0, lines),
            next_incarnation(found_writes),
            incarnation_journal(2, 0, &[]),
        ])
        .unwrap()
    };
    let (result, gathered) = gather(&[save, saved], 2);
    assert!(result.contains(r#""crashed":{"node":1,"lost_writes":0}"#) && gathered.warnings.is_empty(), "{result}");
    let (result, gathered) = gather(&[save], 1);
    assert!(result.contains(r#""crashed":{"node":1,"lost_writes":1}"#) && gathered.warnings.is_empty(), "{result}");
    assert_eq!((gathered.forgotten_writes, &gathered.first_forgotten_write), (0, &None));
    let (_, gathered) = gather(&[save, saved], 1);
    assert!(
        gathered.warnings[0]
            .contains("lost confirmed writes: 2 writes were durable, but incarnation 1 of node 1 found 1")
    );
    assert_eq!((gathered.forgotten_writes, gathered.first_forgotten_write.is_some()), (1, true));
    let (_, gathered) = gather(&[save, saved], 3);
    assert!(gathered.warnings[0].contains("the journal of an incarnation may be missing."), "{:?}", gathered.warnings);
}

/// The journal of one incarnation can be read, but neither judged nor replayed.
#[test]
fn one_incarnation_is_not_judged() {
    let truth = run_journal(&lock_spec_without_crashes("central", 1));
    let part = &split(&truth, Machines::default())[0];
    let mut reader = Journal::open(part.bytes.as_slice()).unwrap();
    let error = replay::summarise::<Mutex, _>(&mut reader).unwrap_err().to_string();
    assert!(error.contains("journal of incarnation 0 of node 1") && error.contains("quorate record"), "{error}");
    assert!(replay::replay::<Mutex, _, _>(&mut reader, ()).is_err());
}
