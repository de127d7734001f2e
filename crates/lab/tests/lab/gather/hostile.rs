//! Tests with journals that contradict each other or are malformed.

use crate::gather::hand_written::{incarnation_journal, receives, sends};
use crate::gather::runs::{journal, quiet_locks};
use crate::gather::split::{Machines, Part, gathered, split};
use quorate_journal::record::Journal;
use quorate_lab::{Mutex, replay};

fn refusal(parts: &[Part]) -> String {
    gathered(parts).map(|(result, _)| result).expect_err("contradictory journals were accepted").to_string()
}

#[test]
fn consistent_journals_are_gathered() {
    let parts = [
        incarnation_journal(1, 0, &[&sends(5, 1, "1.1", 2)]),
        incarnation_journal(2, 0, &[&receives(3, 2, "1.1", &[])]),
    ];
    let (result, found) = gathered(&parts).unwrap();
    assert_eq!((found.matched, found.raised, found.boots), (1, 1, 1));
    let odd = "a message arrived before it was sent, and 1 step had to be moved to a later time: the files may belong to \
               different runs.";
    assert!(found.warnings[0].contains(odd) && found.warnings.len() == 1, "{:?}", found.warnings);
    assert!(result.contains(r#"{"time":5,"node":2,"clock":3,"input":{"message""#), "{result}");
}

#[test]
fn messages_received_before_each_other_is_sent_are_a_contradiction() {
    let parts = [
        incarnation_journal(1, 0, &[&receives(5, 1, "2.1", &[("1.1", 2)])]),
        incarnation_journal(2, 0, &[&receives(4, 2, "1.1", &[("2.1", 1)])]),
    ];
    let text = refusal(&parts);
    assert!(text.contains("contradict each other: in n2-0, line 3, message 1.1 of incarnation 0 arrives"), "{text}");
    let itself = [incarnation_journal(1, 0, &[&receives(5, 1, "1.1", &[("1.1", 1)])]), incarnation_journal(2, 0, &[])];
    assert!(refusal(&itself).contains("contradict"));
}

#[test]
fn a_message_without_a_sender_is_named_with_its_line() {
    let text = refusal(&[incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[&receives(3, 2, "1.4", &[])])]);
    assert!(
        text.starts_with("In n2-0, line 3: message 1.4 of incarnation 0 of node 1 arrives, but n1-0 ends before"),
        "{text}"
    );
    let stranger = receives(3, 2, "1.1", &[]).replace(r#""kind""#, r#""life":7,"kind""#);
    let text = refusal(&[incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[&stranger])]);
    assert!(text.contains("no journal of incarnation 7 of node 1 is among these files"), "{text}");
}

#[test]
fn a_message_arrives_once_and_where_it_was_sent_to() {
    let sends = sends(1, 1, "1.1", 2);
    let twice = [receives(3, 2, "1.1", &[]), receives(4, 2, "1.1", &[])];
    let text = refusal(&[incarnation_journal(1, 0, &[&sends]), incarnation_journal(2, 0, &[&twice[0], &twice[1]])]);
    assert!(
        text.starts_with(
            "In n2-0, line 4: message 1.1 of incarnation 0 arrives a second time; it first arrived on line 3"
        ),
        "{text}"
    );
    let text =
        refusal(&[incarnation_journal(1, 0, &[&sends, &receives(3, 1, "1.1", &[])]), incarnation_journal(2, 0, &[])]);
    assert!(text.starts_with("In n1-0, line 4"), "{text}");
    let early = [
        incarnation_journal(1, 0, &[&receives(0, 1, "2.1", &[])]),
        incarnation_journal(2, 0, &[&receives(0, 2, "2.1", &[])]),
    ];
    assert!(refusal(&early).contains("line 3"));
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
        (&sends(1, 1, "1.2", 2), "message 1.2 is sent, but the next number of this incarnation is 1.1"),
        (&sends(1, 1, "2.1", 2), "message 2.1 is sent"),
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
    let text = refusal(&[incarnation_journal(1, 0, &[end, &sends(2, 1, "1.1", 2)]), incarnation_journal(2, 0, &[])]);
    assert!(text.contains("In n1-0, line 4: the node shut down on the line before"), "{text}");
}

#[test]
fn files_of_different_runs_incarnations_and_nodes_are_refused() {
    let [one, two] = [incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[])];
    let other = |from: &str, to: &str| {
        let text = String::from_utf8(two.bytes.clone()).unwrap().replacen(from, to, 1);
        Part { name: "odd".into(), bytes: text.into_bytes() }
    };
    let in_group = |name: &str| other(r#""boot""#, &format!(r#""group":"{name}","boot""#));
    let cases = [
        (
            other("central", "ricart-agrawala"),
            "odd and n1-0 belong to different runs: its algorithm is ricart-agrawala",
        ),
        (in_group("b"), "odd and n1-0 belong to different runs: its group is 'b', not absent"),
        (other(r#""seed":1"#, r#""seed":2"#), "its seed is 2, not 1"),
        (other(r#""nodes":2"#, r#""nodes":3"#), "its number of nodes is 3, not 2"),
        (other(r#"{"a":1}"#, r#"{"a":2}"#), "its setting 'a' is 2, not 1"),
        (other(r#"{"a":1}"#, r#"{}"#), "its setting 'a' is absent, not 1"),
        (one.clone(), "n1-0 and n1-0 are both journals of incarnation 0 of node 1"),
        (
            other(r#""node":2,"incarnation""#, r#""node":9,"incarnation""#),
            "the journal is one of node 9, but declares 2 nodes",
        ),
        (Part { name: "odd".into(), bytes: b"garbage".to_vec() }, "In odd: "),
        (Part { name: "odd".into(), bytes: b"\xff\xfe\n".to_vec() }, "UTF-8"),
    ];
    for (odd, expected) in cases {
        let text = refusal(&[one.clone(), odd]);
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text = String::from_utf8(one.bytes.clone()).unwrap().replacen(r#""boot""#, r#""group":"a","boot""#, 1);
    let grouped = Part { name: "n1".into(), bytes: text.into_bytes() };
    assert!(refusal(&[grouped.clone(), in_group("b\\n")]).contains(r"its group is 'b\n', not 'a'"));
    gathered(&[grouped, in_group("a")]).unwrap();
    assert!(refusal(&[one]).contains("no journal of node 2"));
    assert!(refusal(&[]).contains("No journals given"));
}

#[test]
fn a_fault_journal_has_no_steps_and_a_whole_run_is_not_one_incarnation() {
    let truth = journal(&quiet_locks("central", 1));
    let whole = Part { name: "run.journal".into(), bytes: truth.clone().into_bytes() };
    assert!(refusal(&[whole]).contains("journal of a whole run"));
    let mut parts = split(&truth, Machines { world: true, ends: true, ..Machines::default() });
    let step = parts[0].bytes.split(|byte| *byte == b'\n').nth(1).unwrap().to_vec();
    let world = parts.last_mut().unwrap();
    world.bytes.extend([step, b"\n".to_vec()].concat());
    assert!(refusal(&parts).contains("the journal is one of world events only"));
}

/// Extreme times are clamped, and nothing overflows.
#[test]
fn extreme_clocks_do_not_overflow() {
    let sends = sends(i64::MAX, 1, "1.1", 2);
    let mut parts =
        [incarnation_journal(1, 0, &[&sends]), incarnation_journal(2, 0, &[&receives(i64::MIN, 2, "1.1", &[])])];
    let text = String::from_utf8(parts[1].bytes.clone()).unwrap();
    let text =
        text.replace(r#""boot":"b","offset":0"#, &format!(r#""boot":"c","zero":{},"offset":{}"#, i64::MAX, i64::MIN));
    parts[1].bytes = text.into_bytes();
    assert_eq!(gathered(&parts).unwrap().1.matched, 1);
}

#[test]
fn disks_that_lose_confirmed_writes_are_reported() {
    let save = r#"{"time":1,"node":1,"input":{"command":"acquire"},"effects":[{"save":1},{"save":2}]}"#;
    let saved = r#"{"time":2,"node":1,"input":{"saved":2},"effects":[]}"#;
    let next = |writes: u64| {
        let part = incarnation_journal(1, 1, &[]);
        let text = String::from_utf8(part.bytes).unwrap().replace(r#""writes":0"#, &format!(r#""writes":{writes}"#));
        let text = text.replace(r#"{"time":0"#, r#"{"time":9"#);
        Part { name: part.name, bytes: text.into_bytes() }
    };
    let gather = |lines: &[&str], writes| {
        gathered(&[incarnation_journal(1, 0, lines), next(writes), incarnation_journal(2, 0, &[])]).unwrap()
    };
    let (result, found) = gather(&[save, saved], 2);
    assert!(result.contains(r#""crashed":{"node":1,"lost_writes":0}"#) && found.warnings.is_empty(), "{result}");
    let (result, found) = gather(&[save], 1);
    assert!(result.contains(r#""crashed":{"node":1,"lost_writes":1}"#) && found.warnings.is_empty(), "{result}");
    assert_eq!((found.forgotten, &found.first_forgotten), (0, &None));
    let (_, found) = gather(&[save, saved], 1);
    assert!(
        found.warnings[0].contains("lost confirmed writes: 2 writes were durable, but incarnation 1 of node 1 found 1")
    );
    assert_eq!((found.forgotten, found.first_forgotten.is_some()), (1, true));
    let (_, found) = gather(&[save, saved], 3);
    assert!(found.warnings[0].contains("the journal of an incarnation may be missing."), "{:?}", found.warnings);
}

/// The journal of one incarnation can be read, but neither judged nor replayed.
#[test]
fn one_incarnation_is_not_judged() {
    let truth = journal(&quiet_locks("central", 1));
    let part = &split(&truth, Machines::default())[0];
    let mut reader = Journal::open(part.bytes.as_slice()).unwrap();
    let error = replay::summarise::<Mutex, _>(&mut reader).unwrap_err().to_string();
    assert!(error.contains("journal of incarnation 0 of node 1") && error.contains("quorate record"), "{error}");
    assert!(replay::replay::<Mutex, _, _>(&mut reader, ()).is_err());
}
