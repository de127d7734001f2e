//! Replays: every node does again what the journal says, and whoever altered a line is found out.

use crate::common::{Acts, Stage, cancel, chaos, emit, ping, save, send, send_message, set};
use expect_test::expect;
use quorate_journal::record::{Journal, Writer};
use quorate_journal::replay::{ReplayError, replay};

fn replayed(stage: &Stage, journal: &str) -> Result<u64, ReplayError> {
    replay(&mut Journal::open(journal.as_bytes()).unwrap(), stage.maker(), &mut ())
}

/// Seeds 0 to 999: saves, crashes torn and blank, timers, duplicates, losses, pauses, clocks that are off.
#[test]
fn every_recorded_run_replays() {
    for seed in 0..1_000 {
        let stage = chaos(seed);
        let journal = stage.journal();
        match replayed(&stage, &journal) {
            Ok(lines) => assert_eq!(lines, journal.lines().count() as u64),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

/// Whoever watches a replay sees what is in the journal.
#[test]
fn a_replay_shows_what_it_replays() {
    let stage = chaos(3);
    let journal = stage.journal();
    let mut read = Journal::open(journal.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, read.header());
    replay(&mut read, stage.maker(), &mut writer).unwrap();
    writer.finish().unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), journal);
}

/// A run with something of everything, and its journal.
fn example() -> (Stage, Vec<String>) {
    let stage = Stage::of(2)
        .sync("fixed:2ms")
        .tell("1ms", 1, [save(7), send(2), emit("fence 3"), set('a', "9ms", [emit("late")]), set('b', "9ms", [])])
        .tell("4ms", 2, [send_message(1, ping([cancel('b')])), set('b', "1ms", [])])
        .fault("link 1 > 2 duplicate 1 at 2ms for 3ms")
        .fault("link 2 > 1 loss 1 at 20ms")
        .tell("20ms", 2, [send(1)])
        .tell("21ms", 1, [save(8), save(9)])
        .fault("crash 1 at 22ms for 3ms");
    let lines = stage.journal().lines().map(String::from).collect();
    (stage, lines)
}

/// What a replay of the example says after this alteration.
fn altered(alter: impl FnOnce(&mut Vec<String>)) -> String {
    let (stage, mut lines) = example();
    alter(&mut lines);
    let journal = lines.join("\n") + "\n";
    replayed(&stage, &journal).map_or_else(|error| format!("{error}"), |lines| format!("{lines} lines replay."))
}

/// The place of the line with this text.
fn place(lines: &[String], text: &str) -> usize {
    lines.iter().position(|line| line.contains(text)).unwrap()
}

/// Puts one text in place of another, in the line that has it.
fn put<'a>(from: &'a str, to: &'a str) -> impl FnOnce(&mut Vec<String>) + 'a {
    move |lines| {
        let place = place(lines, from);
        lines[place] = lines[place].replace(from, to);
    }
}

fn remove(text: &str) -> impl FnOnce(&mut Vec<String>) + '_ {
    move |lines| {
        lines.remove(place(lines, text));
    }
}

#[test]
fn the_example_replays_and_has_something_of_everything() {
    let (_, lines) = example();
    assert_eq!(altered(|_| {}), format!("{} lines replay.", lines.len()));
    for text in ["saved", "duplicated", "lost\"", "crashed", "\"incarnation\":1", "cancel", "timer"] {
        place(&lines, text);
    }
}

#[test]
fn an_altered_effect_is_found() {
    expect![[r#"
        Line 6 does not replay: the algorithm does something else now, or the journal was altered.
          recorded: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}},{"emit":"fence 4"}]}
          replayed: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}},{"emit":"fence 3"}]}"#]]
    .assert_eq(&altered(put("fence 3\"}]", "fence 4\"}]")));
}

#[test]
fn a_dropped_effect_is_found() {
    expect![[r#"
        Line 6 does not replay: the algorithm does something else now, or the journal was altered.
          recorded: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}}]}
          replayed: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}},{"emit":"fence 3"}]}"#]]
    .assert_eq(&altered(put(r#",{"emit":"fence 3"}]"#, "]")));
}

#[test]
fn inputs_that_cannot_be_are_found() {
    let found = [
        // A message that nobody sent, one that went elsewhere, one of another kind, one that came once too often.
        altered(put(r#""input":{"message":{"id":"2.1""#, r#""input":{"message":{"id":"2.9""#)),
        altered(put(r#""node":1,"input":{"message":{"id":"2.1""#, r#""node":2,"input":{"message":{"id":"2.1""#)),
        altered(remove("duplicated")),
        // A timer that was not set, a sync of what was not saved, a second sync of the same.
        altered(put(r#""input":{"timer":"a"}"#, r#""input":{"timer":"c"}"#)),
        altered(put(r#""input":{"saved":1}"#, r#""input":{"saved":2}"#)),
        // A node that is down does nothing, one that is up does not start, and no life begins twice.
        altered(put(r#""input":{"start":{"incarnation":1}}"#, r#""input":{"command":[]}"#)),
        altered(remove("crashed")),
        altered(put(r#""input":{"start":{"incarnation":1}}"#, r#""input":{"start":{"incarnation":0}}"#)),
        altered(put(r#"{"lost":{"id":"2.2","to":1,"why":"chance"}}"#, r#"{"paused":{"node":1}}"#)),
        // Losses and copies of what is not under way, and writes that are lost though they were never made.
        altered(put(r#""lost":{"id":"2.2""#, r#""lost":{"id":"2.3""#)),
        altered(put(r#""lost":{"id":"2.2","to":1"#, r#""lost":{"id":"2.2","to":2"#)),
        altered(put(r#""duplicated":{"id":"1.1""#, r#""duplicated":{"id":"1.2""#)),
        altered(put(r#""lost_writes":2"#, r#""lost_writes":3"#)),
    ];
    expect![[r#"
        Line 12 cannot be replayed: no message 2.9 to node 1 is under way.
        Line 12 cannot be replayed: no message 2.1 to node 2 is under way.
        Line 8 cannot be replayed: no message 1.1 to node 2 is under way.
        Line 14 cannot be replayed: no timer "c" is set.
        Line 6 cannot be replayed: node 1 has no save 2 that waits for its disk.
        Line 20 cannot be replayed: node 1 is down.
        Line 19 cannot be replayed: node 1 is up, and starts only once.
        Line 20 cannot be replayed: life 0 of node 1 began before.
        Line 18 cannot be replayed: node 1 is paused.
        Line 17 cannot be replayed: no message 2.3 to node 1 is under way.
        Line 17 cannot be replayed: no message 2.2 to node 2 is under way.
        Line 7 cannot be replayed: no message 1.2 is under way.
        Line 19 cannot be replayed: node 1 cannot lose 3 writes: 2 wait for its disk.
    "#]]
    .assert_eq(&found.map(|error| error + "\n").concat());
}

#[test]
fn an_altered_kind_is_found() {
    let error = altered(put(r#""message":{"id":"2.1","kind":"ping""#, r#""message":{"id":"2.1","kind":"pong""#));
    assert!(error.starts_with("Line 12 does not replay"), "{error}");
}

/// A removed line is found where something is missing that follows from it.
#[test]
fn a_removed_line_is_found() {
    let removed = [
        r#""node":1,"input":{"start":{"incarnation":0"#,
        r#"{"Set":{"timer":"a""#,
        r#""saved":1"#,
        r#""duplicated""#,
        r#"{"time":4000000,"node":2,"input":{"command""#,
        r#"{"time":20000000,"node":2,"input":{"command""#,
        r#"{"time":21000000,"node":1,"input":{"command""#,
        r#""crashed""#,
    ];
    let found = removed.map(|text| {
        let place = place(&example().1, text) + 1;
        let error = altered(remove(text));
        format!("without line {place}: {}\n", error.lines().next().unwrap())
    });
    expect![[r#"
        without line 2: Line 3 cannot be replayed: node 1 is down.
        without line 4: Line 5 cannot be replayed: node 1 has no save 1 that waits for its disk.
        without line 6: Line 6 cannot be replayed: no message 1.1 is under way.
        without line 7: Line 8 cannot be replayed: no message 1.1 to node 2 is under way.
        without line 10: Line 11 cannot be replayed: no message 2.1 to node 1 is under way.
        without line 16: Line 16 cannot be replayed: no message 2.2 to node 1 is under way.
        without line 18: Line 18 cannot be replayed: node 1 cannot lose 2 writes: 0 wait for its disk.
        without line 19: Line 19 cannot be replayed: node 1 is up, and starts only once.
    "#]]
    .assert_eq(&found.concat());
}

/// Another algorithm is not the one that ran.
#[test]
fn another_algorithm_does_something_else() {
    let (_, lines) = example();
    let other = Stage::of(2).opening([emit("hello")]);
    let error = replayed(&other, &(lines.join("\n") + "\n")).unwrap_err();
    assert!(matches!(error, ReplayError::Differs { line: 2, .. }), "{error}");
}

#[test]
fn a_broken_journal_is_not_blamed_on_the_replay() {
    let (stage, lines) = example();
    let journal = lines[..3].join("\n") + "\n{\n";
    let error = replayed(&stage, &journal).unwrap_err();
    assert!(matches!(error, ReplayError::Journal(_)), "{error}");
    let shown: Result<(), _> = Journal::open(journal.as_bytes()).unwrap().show_all::<Acts, String>(&mut ());
    assert_eq!(error.to_string(), shown.unwrap_err().to_string());
}
