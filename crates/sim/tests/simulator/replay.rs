//! Replays: every node repeats the recorded effects, and altered lines are found.

use crate::common::{Actions, Scenario, cancel, emit, ping, random_scenario, save, send, send_message, set};
use expect_test::expect;
use quorate_journal::record::{Journal, Writer};
use quorate_journal::replay::{ReplayError, replay};

fn replay_journal(scenario: &Scenario, journal: &str) -> Result<u64, ReplayError> {
    replay(&mut Journal::open(journal.as_bytes()).unwrap(), scenario.node_factory(), &mut ())
}

/// Seeds 0 to 999: saves, torn crashes and blank restarts, timers, duplicates, losses, pauses,
/// skewed clocks.
#[test]
fn every_recorded_run_replays() {
    for seed in 0..1_000 {
        let scenario = random_scenario(seed);
        let journal = scenario.journal();
        match replay_journal(&scenario, &journal) {
            Ok(lines) => assert_eq!(lines, journal.lines().count() as u64),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

/// The observer of a replay sees the moments of the journal.
#[test]
fn a_replay_shows_its_moments_to_an_observer() {
    let scenario = random_scenario(3);
    let text = scenario.journal();
    let mut journal = Journal::open(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, journal.header());
    replay(&mut journal, scenario.node_factory(), &mut writer).unwrap();
    writer.finish().unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), text);
}

/// Returns a scenario with many kinds of events, and the lines of its journal.
fn example() -> (Scenario, Vec<String>) {
    let scenario = Scenario::new(2)
        .sync("fixed:2ms")
        .command("1ms", 1, [save(7), send(2), emit("fence 3"), set('a', "9ms", [emit("late")]), set('b', "9ms", [])])
        .command("4ms", 2, [send_message(1, ping([cancel('b')])), set('b', "1ms", [])])
        .fault("link 1 > 2 duplicate 1 at 2ms for 3ms")
        .fault("link 2 > 1 loss 1 at 20ms")
        .command("20ms", 2, [send(1)])
        .command("21ms", 1, [save(8), save(9)])
        .fault("crash 1 at 22ms for 3ms");
    let lines = scenario.journal().lines().map(String::from).collect();
    (scenario, lines)
}

/// Returns the result of replaying the example after this alteration.
fn replay_altered(alter: impl FnOnce(&mut Vec<String>)) -> String {
    let (scenario, mut lines) = example();
    alter(&mut lines);
    let journal = lines.join("\n") + "\n";
    replay_journal(&scenario, &journal)
        .map_or_else(|error| format!("{error}"), |lines| format!("{lines} lines replay."))
}

/// Returns the index of the line that contains this text.
fn line_index(lines: &[String], text: &str) -> usize {
    lines.iter().position(|line| line.contains(text)).unwrap()
}

/// Replaces one text by another in the line that contains it.
fn replace<'a>(old: &'a str, new: &'a str) -> impl FnOnce(&mut Vec<String>) + 'a {
    move |lines| {
        let line_index = line_index(lines, old);
        lines[line_index] = lines[line_index].replace(old, new);
    }
}

/// Removes the line that contains this text.
fn remove(text: &str) -> impl FnOnce(&mut Vec<String>) + '_ {
    move |lines| {
        lines.remove(line_index(lines, text));
    }
}

#[test]
fn the_example_replays_and_has_many_kinds_of_events() {
    let (_, lines) = example();
    assert_eq!(replay_altered(|_| {}), format!("{} lines replay.", lines.len()));
    for text in ["saved", "duplicated", "lost\"", "crashed", "\"incarnation\":1", "cancel", "timer"] {
        line_index(&lines, text);
    }
}

#[test]
fn an_altered_effect_is_found() {
    expect![[r#"
        line 6 does not replay: the nodes produce different effects, because the algorithm has changed or the journal was altered.
          recorded: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}},{"emit":"fence 4"}]}
          replayed: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}},{"emit":"fence 3"}]}"#]]
    .assert_eq(&replay_altered(replace("fence 3\"}]", "fence 4\"}]")));
}

#[test]
fn a_dropped_effect_is_found() {
    expect![[r#"
        line 6 does not replay: the nodes produce different effects, because the algorithm has changed or the journal was altered.
          recorded: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}}]}
          replayed: {"time":3000000,"node":1,"input":{"saved":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"ping","bytes":3,"body":{"class":"algorithm","on_behalf_of":null,"then":[]}}},{"emit":"fence 3"}]}"#]]
    .assert_eq(&replay_altered(replace(r#",{"emit":"fence 3"}]"#, "]")));
}

#[test]
fn impossible_inputs_are_found() {
    let errors = [
        // A message that was never sent, one to another node, and one that arrives once too often.
        replay_altered(replace(r#""input":{"message":{"id":"2.1""#, r#""input":{"message":{"id":"2.9""#)),
        replay_altered(replace(
            r#""node":1,"input":{"message":{"id":"2.1""#,
            r#""node":2,"input":{"message":{"id":"2.1""#,
        )),
        replay_altered(remove("duplicated")),
        // A timer that was not set, and a sync up to a save that was never submitted.
        replay_altered(replace(r#""input":{"timer":"a"}"#, r#""input":{"timer":"c"}"#)),
        replay_altered(replace(r#""input":{"saved":1}"#, r#""input":{"saved":2}"#)),
        // A step of a node that is down, a start of a node that is up, an incarnation that starts
        // twice, a step while paused.
        replay_altered(replace(r#""input":{"start":{"incarnation":1}}"#, r#""input":{"command":[]}"#)),
        replay_altered(remove("crashed")),
        replay_altered(replace(r#""input":{"start":{"incarnation":1}}"#, r#""input":{"start":{"incarnation":0}}"#)),
        replay_altered(replace(r#"{"lost":{"id":"2.2","to":1,"why":"chance"}}"#, r#"{"paused":{"node":1}}"#)),
        // Losses and copies of messages that are not in flight, and more lost writes than are
        // pending.
        replay_altered(replace(r#""lost":{"id":"2.2""#, r#""lost":{"id":"2.3""#)),
        replay_altered(replace(r#""lost":{"id":"2.2","to":1"#, r#""lost":{"id":"2.2","to":2"#)),
        replay_altered(replace(r#""duplicated":{"id":"1.1""#, r#""duplicated":{"id":"1.2""#)),
        replay_altered(replace(r#""lost_writes":2"#, r#""lost_writes":3"#)),
    ];
    expect![[r#"
        line 12 cannot be replayed: no message 2.9 to node 1 is in flight.
        line 12 cannot be replayed: no message 2.1 to node 2 is in flight.
        line 8 cannot be replayed: no message 1.1 to node 2 is in flight.
        line 14 cannot be replayed: node 1 has not set timer "c".
        line 6 cannot be replayed: node 1 has no pending save 2.
        line 20 cannot be replayed: node 1 is down.
        line 19 cannot be replayed: node 1 is already up.
        line 20 cannot be replayed: incarnation 0 of node 1 has already started.
        line 18 cannot be replayed: node 1 is paused.
        line 17 cannot be replayed: no message 2.3 to node 1 is in flight.
        line 17 cannot be replayed: no message 2.2 to node 2 is in flight.
        line 7 cannot be replayed: no message 1.2 is in flight.
        line 19 cannot be replayed: node 1 cannot lose 3 writes: it has 2 pending.
    "#]]
    .assert_eq(&errors.map(|error| error + "\n").concat());
}

#[test]
fn an_altered_kind_is_found() {
    let error =
        replay_altered(replace(r#""message":{"id":"2.1","kind":"ping""#, r#""message":{"id":"2.1","kind":"pong""#));
    assert!(error.starts_with("line 12 does not replay"), "{error}");
}

/// A removed line is detected at the first later line that depends on it.
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
    let errors = removed.map(|text| {
        let line_number = line_index(&example().1, text) + 1;
        let error = replay_altered(remove(text));
        format!("without line {line_number}: {}\n", error.lines().next().unwrap())
    });
    expect![[r#"
        without line 2: line 3 cannot be replayed: node 1 is down.
        without line 4: line 5 cannot be replayed: node 1 has no pending save 1.
        without line 6: line 6 cannot be replayed: no message 1.1 is in flight.
        without line 7: line 8 cannot be replayed: no message 1.1 to node 2 is in flight.
        without line 10: line 11 cannot be replayed: no message 2.1 to node 1 is in flight.
        without line 16: line 16 cannot be replayed: no message 2.2 to node 1 is in flight.
        without line 18: line 18 cannot be replayed: node 1 cannot lose 2 writes: it has 0 pending.
        without line 19: line 19 cannot be replayed: node 1 is already up.
    "#]]
    .assert_eq(&errors.concat());
}

#[test]
fn the_journal_of_another_algorithm_does_not_replay() {
    let (_, lines) = example();
    let other = Scenario::new(2).on_start([emit("hello")]);
    let error = replay_journal(&other, &(lines.join("\n") + "\n")).unwrap_err();
    assert!(matches!(error, ReplayError::DifferentEffects { line: 2, .. }), "{error}");
}

#[test]
fn a_malformed_journal_is_reported_as_such() {
    let (scenario, lines) = example();
    let journal = lines[..3].join("\n") + "\n{\n";
    let error = replay_journal(&scenario, &journal).unwrap_err();
    assert!(matches!(error, ReplayError::Journal(_)), "{error}");
    let shown: Result<(), _> = Journal::open(journal.as_bytes()).unwrap().show_all::<Actions, String>(&mut ());
    assert_eq!(error.to_string(), shown.unwrap_err().to_string());
}
