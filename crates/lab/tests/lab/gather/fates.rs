//! Tests of what happens to messages and nodes when incarnations end and begin.
//!
//! In hand-written journals, `sending_step(10, 1, "1.4", 2)` is a step of node 1 at time 10 that
//! sends message 1.4 (its fourth) to node 2, and `receipt(12, 2, "1.4", &[])` is the step of node 2
//! at time 12 that receives the message; with `&[("2.1", 9)]` it also sends message 2.1 to node 9.
//! `incarnation_journal(2, 0, lines)` is the journal of node 2's incarnation 0. Without an `ended`
//! line in it, the incarnation crashed, at the time in the fault journal or else at its last step.

use crate::gather::hand_written::{fault_journal, incarnation_journal, receipt, sending_step};
use crate::gather::split::{Part, gather_parts};

/// Returns the world events of the gathered journal: time and event, without braces and quotes.
fn world_lines(parts: &[Part]) -> Vec<String> {
    let (result, _) = gather_parts(parts).unwrap_or_else(|error| panic!("{error}"));
    let world_line = |line: &str| {
        let (time, event) = line.strip_prefix("{\"time\":")?.split_once(",\"world\":{")?;
        Some(format!("{time} {}", event.trim_end_matches('}').replace(['"', '{'], "")))
    };
    result.lines().filter_map(world_line).collect()
}

/// Returns the steps of the gathered journal in order: time, node, and the id of the message
/// received, if any.
fn steps(parts: &[Part]) -> Vec<(i64, u64, String)> {
    let (result, _) = gather_parts(parts).unwrap();
    let step = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = value["input"]["message"]["id"].as_str().unwrap_or_default().to_owned();
        Some((value["time"].as_i64()?, value["node"].as_u64()?, id))
    };
    result.lines().filter_map(step).collect()
}

/// Returns the part with its start at another time.
fn starting_at(part: Part, time: i64) -> Part {
    let text = String::from_utf8(part.bytes).unwrap().replacen("{\"time\":0,", &format!("{{\"time\":{time},"), 1);
    Part { name: part.name, bytes: text.into_bytes() }
}

const END_OF_NODE_1: &str = r#"{"time":90,"world":{"ended":{"node":1}}}"#;

/// Message 1.1 reached the first incarnation of node 2, 1.2 was lost when that incarnation crashed,
/// 1.3 was sent while the node was down, 1.4 was still addressed to the first incarnation, and 1.5
/// reached the second one.
#[test]
fn messages_are_lost_with_the_incarnation_they_were_sent_to() {
    let sends: Vec<_> = (1..=5).map(|number| sending_step(number * 10, 1, &format!("1.{number}"), 2)).collect();
    let sends: Vec<_> = sends.iter().map(String::as_str).chain([END_OF_NODE_1]).collect();
    let first = incarnation_journal(2, 0, &[&receipt(12, 2, "1.1", &[])]);
    let second = starting_at(incarnation_journal(2, 1, &[&receipt(52, 2, "1.5", &[])]), 35);
    let killed = fault_journal(&[r#"{"time":25,"world":{"crashed":{"node":2,"lost_writes":0}}}"#]);
    let parts = [incarnation_journal(1, 0, &sends), first, second, killed];
    let expected = [
        "25 crashed:node:2,lost_writes:0",
        "25 lost:id:1.2,to:2,why:down",
        "30 lost:id:1.3,to:2,why:down",
        "40 lost:id:1.4,to:2,why:down",
        "52 crashed:node:2,lost_writes:0",
        "90 ended:node:1",
    ];
    assert_eq!(world_lines(&parts), expected);
}

/// A sender that never connected to the first incarnation keeps its messages for the second one;
/// they are not lost in between.
#[test]
fn messages_before_the_first_connection_may_reach_a_later_incarnation() {
    let one = incarnation_journal(1, 0, &[&sending_step(10, 1, "1.1", 2), END_OF_NODE_1]);
    let second = starting_at(incarnation_journal(2, 1, &[&receipt(52, 2, "1.1", &[])]), 35);
    assert_eq!(
        world_lines(&[one, incarnation_journal(2, 0, &[]), second]),
        ["0 crashed:node:2,lost_writes:0", "52 crashed:node:2,lost_writes:0", "90 ended:node:1"]
    );
}

/// A node may send to a node that does not exist: such a message is neither lost nor in flight.
#[test]
fn a_message_to_a_node_outside_the_group_is_ignored() {
    let parts = [
        incarnation_journal(1, 0, &[&sending_step(10, 1, "1.1", 2)]),
        incarnation_journal(2, 0, &[&receipt(99, 2, "1.1", &[("2.1", 9)])]),
    ];
    let (_, gathered) = gather_parts(&parts).unwrap();
    assert_eq!(
        (gathered.sent_messages, gathered.received_messages, gathered.lost_messages, gathered.in_flight),
        (2, 1, 0, 0)
    );
}

/// The journal of a node that never started has only a header, a part of it, or nothing.
#[test]
fn a_message_to_a_node_that_never_started_is_in_flight() {
    let two = incarnation_journal(2, 0, &[]);
    let header = two.bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for bytes in [two.bytes[..=header].to_vec(), two.bytes[..9].to_vec(), Vec::new()] {
        let parts = [
            incarnation_journal(1, 0, &[&sending_step(10, 1, "1.1", 2), END_OF_NODE_1]),
            Part { name: "n2-0".into(), bytes },
        ];
        let (_, gathered) = gather_parts(&parts).unwrap();
        assert_eq!(
            (gathered.sent_messages, gathered.received_messages, gathered.lost_messages, gathered.in_flight),
            (1, 0, 0, 1)
        );
    }
}

/// Message 1.1 of the second incarnation becomes 1.3 in the gathered journal, and its receipt comes
/// after the step that sent it.
#[test]
fn ids_continue_over_all_incarnations() {
    let first = incarnation_journal(1, 0, &[&sending_step(1, 1, "1.1", 2), &sending_step(2, 1, "1.2", 2)]);
    let second = starting_at(incarnation_journal(1, 1, &[&sending_step(20, 1, "1.1", 2)]), 10);
    // `life` is the incarnation that sent the message.
    let later = receipt(5, 2, "1.1", &[]).replace(r#""kind""#, r#""life":1,"kind""#);
    let two = incarnation_journal(2, 0, &[&receipt(3, 2, "1.1", &[]), &later]);
    let steps_of_2: Vec<_> = steps(&[first, second, two]).into_iter().filter(|(_, node, _)| *node == 2).collect();
    assert_eq!(steps_of_2, [(0, 2, String::new()), (3, 2, "1.1".into()), (20, 2, "1.3".into())]);
}

/// A pause in which its node takes a step begins only after that step. A pause of a node that is
/// down is left out.
#[test]
fn no_node_steps_while_it_is_paused() {
    let sends_at = |time| sending_step(time, 1, &format!("1.{}", time / 10), 2);
    let one = incarnation_journal(
        1,
        0,
        &[&sends_at(10), &sends_at(20), &sends_at(30), r#"{"time":95,"world":{"ended":{"node":1}}}"#],
    );
    let world_line = |time: i64, word: &str| format!(r#"{{"time":{time},"world":{{"{word}":{{"node":1}}}}}}"#);
    let lines = [
        world_line(15, "paused"),
        world_line(25, "resumed"),
        world_line(40, "paused"),
        world_line(60, "resumed"),
        world_line(99, "paused"),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let two = incarnation_journal(2, 0, &[r#"{"time":95,"world":{"ended":{"node":2}}}"#]);
    let expected =
        ["20 paused:node:1", "25 resumed:node:1", "40 paused:node:1", "60 resumed:node:1", "95 ended:node:1"];
    let all = world_lines(&[one, two, fault_journal(&lines)]);
    assert_eq!(all.iter().filter(|event| event.ends_with("node:1")).collect::<Vec<_>>(), expected.each_ref());
}

/// The gathered journal takes its settings from the fault journal, and counts its times from that
/// journal's origin: 3 ns here.
#[test]
fn settings_and_origin_come_from_the_fault_journal() {
    let cut = r#"{"time":4,"world":{"changed":"cut 1 | 2"}}"#;
    let mut faults = fault_journal(&[cut]);
    let text = String::from_utf8(faults.bytes).unwrap().replace(r#""seed":1,"#, r#""seed":1,"origin":3,"#);
    faults.bytes = text.into_bytes();
    let (result, _) = gather_parts(&[incarnation_journal(1, 0, &[]), incarnation_journal(2, 0, &[]), faults]).unwrap();
    let header = result.lines().next().unwrap();
    assert!(header.contains(r#""recorded":true,"run":{"a":1,"faults":["kill"]}"#), "{header}");
    assert!(result.contains(r#"{"time":1,"world":{"changed":"cut 1 | 2"}}"#), "{result}");
    assert!(result.contains(r#"{"time":-3,"node":1,"clock":0,"#), "{result}");
}
