//! What becomes of messages and nodes when lives end and begin.

use crate::gather::by_hand::{hears, life, says, world};
use crate::gather::split::{Part, gathered};

/// The lines of the result that are not steps, without their braces.
fn acts(parts: &[Part]) -> Vec<String> {
    let (result, _) = gathered(parts).unwrap_or_else(|error| panic!("{error}"));
    let act = |line: &str| {
        let (time, what) = line.strip_prefix("{\"time\":")?.split_once(",\"world\":{")?;
        Some(format!("{time} {}", what.trim_end_matches('}').replace(['"', '{'], "")))
    };
    result.lines().filter_map(act).collect()
}

/// The order of steps in the result: time, node, and the message that came if one did.
fn steps(parts: &[Part]) -> Vec<(i64, u64, String)> {
    let (result, _) = gathered(parts).unwrap();
    let step = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = value["input"]["message"]["id"].as_str().unwrap_or_default().to_owned();
        Some((value["time"].as_i64()?, value["node"].as_u64()?, id))
    };
    result.lines().filter_map(step).collect()
}

/// The same part with its start at another time.
fn begins(part: Part, time: i64) -> Part {
    let text = String::from_utf8(part.bytes).unwrap().replacen("{\"time\":0,", &format!("{{\"time\":{time},"), 1);
    Part { name: part.name, bytes: text.into_bytes() }
}

const END_1: &str = r#"{"time":90,"world":{"ended":{"node":1}}}"#;

/// 1.1 reached the first life, 1.2 went down with it, 1.3 was sent to nobody, 1.4 was still bound to the old life, and
/// 1.5 reached the second one.
#[test]
fn messages_are_lost_with_the_life_they_were_for() {
    let says: Vec<_> = (1..=5).map(|number| says(number * 10, 1, &format!("1.{number}"), 2)).collect();
    let says: Vec<_> = says.iter().map(String::as_str).chain([END_1]).collect();
    let first = life(2, 0, &[&hears(12, 2, "1.1", &[])]);
    let second = begins(life(2, 1, &[&hears(52, 2, "1.5", &[])]), 35);
    let killed = world(&[r#"{"time":25,"world":{"crashed":{"node":2,"lost_writes":0}}}"#]);
    let parts = [life(1, 0, &says), first, second, killed];
    let expected = [
        "25 crashed:node:2,lost_writes:0",
        "25 lost:id:1.2,to:2,why:down",
        "30 lost:id:1.3,to:2,why:down",
        "40 lost:id:1.4,to:2,why:down",
        "52 crashed:node:2,lost_writes:0",
        "90 ended:node:1",
    ];
    assert_eq!(acts(&parts), expected);
}

/// Who has not met the first life keeps its messages for the second one, and they are not lost in between.
#[test]
fn what_waits_for_a_first_meeting_may_reach_a_later_life() {
    let one = life(1, 0, &[&says(10, 1, "1.1", 2), END_1]);
    let second = begins(life(2, 1, &[&hears(52, 2, "1.1", &[])]), 35);
    assert_eq!(
        acts(&[one, life(2, 0, &[]), second]),
        ["0 crashed:node:2,lost_writes:0", "52 crashed:node:2,lost_writes:0", "90 ended:node:1"]
    );
}

/// Whom a node sends to is its own affair: a message to nobody is neither lost nor under way.
#[test]
fn a_message_to_nobody_is_let_go() {
    let parts = [life(1, 0, &[&says(10, 1, "1.1", 2)]), life(2, 0, &[&hears(99, 2, "1.1", &[("2.1", 9)])])];
    let (_, found) = gathered(&parts).unwrap();
    assert_eq!((found.sent, found.matched, found.lost, found.under_way), (2, 1, 0, 0));
}

/// What is sent to a node that never started waits for it, as far as anybody can tell.
#[test]
fn a_message_to_a_node_that_never_started_is_under_way() {
    let two = life(2, 0, &[]);
    let header = two.bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for bytes in [two.bytes[..=header].to_vec(), two.bytes[..9].to_vec(), Vec::new()] {
        let parts = [life(1, 0, &[&says(10, 1, "1.1", 2), END_1]), Part { name: "n2-0".into(), bytes }];
        let (_, found) = gathered(&parts).unwrap();
        assert_eq!((found.sent, found.matched, found.lost, found.under_way), (1, 0, 0, 1));
    }
}

/// Ids count over all lives, and who hears from a later life needs that life to have begun.
#[test]
fn ids_count_over_all_lives() {
    let first = life(1, 0, &[&says(1, 1, "1.1", 2), &says(2, 1, "1.2", 2)]);
    let second = begins(life(1, 1, &[&says(20, 1, "1.1", 2)]), 10);
    let later = hears(5, 2, "1.1", &[]).replace(r#""kind""#, r#""life":1,"kind""#);
    let two = life(2, 0, &[&hears(3, 2, "1.1", &[]), &later]);
    let of_two: Vec<_> = steps(&[first, second, two]).into_iter().filter(|(_, node, _)| *node == 2).collect();
    assert_eq!(of_two, [(0, 2, String::new()), (3, 2, "1.1".into()), (20, 2, "1.3".into())]);
}

/// A node that was still at work when it was said to stand still did so a little later; one that is down cannot.
#[test]
fn nobody_works_while_standing_still() {
    let works = |time| says(time, 1, &format!("1.{}", time / 10), 2);
    let one = life(1, 0, &[&works(10), &works(20), &works(30), r#"{"time":95,"world":{"ended":{"node":1}}}"#]);
    let act = |time: i64, word: &str| format!(r#"{{"time":{time},"world":{{"{word}":{{"node":1}}}}}}"#);
    let lines = [act(15, "paused"), act(25, "resumed"), act(40, "paused"), act(60, "resumed"), act(99, "paused")];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let two = life(2, 0, &[r#"{"time":95,"world":{"ended":{"node":2}}}"#]);
    let expected =
        ["20 paused:node:1", "25 resumed:node:1", "40 paused:node:1", "60 resumed:node:1", "95 ended:node:1"];
    let all = acts(&[one, two, world(&lines)]);
    assert_eq!(all.iter().filter(|act| act.ends_with("node:1")).collect::<Vec<_>>(), expected.each_ref());
}

/// The parent knows what it did, so its settings and its origin are those of the result.
#[test]
fn the_run_is_what_the_parent_says() {
    let cut = r#"{"time":4,"world":{"changed":"cut 1 | 2"}}"#;
    let mut parent = world(&[cut]);
    let text = String::from_utf8(parent.bytes).unwrap().replace(r#""seed":1,"#, r#""seed":1,"origin":3,"#);
    parent.bytes = text.into_bytes();
    let (result, _) = gathered(&[life(1, 0, &[]), life(2, 0, &[]), parent]).unwrap();
    let header = result.lines().next().unwrap();
    assert!(header.contains(r#""recorded":true,"run":{"a":1,"faults":["kill"]}"#), "{header}");
    assert!(result.contains(r#"{"time":1,"world":{"changed":"cut 1 | 2"}}"#), "{result}");
    assert!(result.contains(r#"{"time":-3,"node":1,"clock":0,"#), "{result}");
}
