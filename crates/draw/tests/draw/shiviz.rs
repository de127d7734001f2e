//! Tests of ShiViz logs: golden outputs, that the rules of ShiViz accept them, and that clocks
//! match happened-before.
//!
//! A script here is a list of `Action`s. Its `Send` and `SendFrame` are effects of the last input's
//! node. `Deliver`, `ReceiveFrame` and `Lose` take the index of a message in flight, in order of
//! sending. The last argument of `SendFrame` is the number of its payload; after a `ReceiveFrame`,
//! which only receives, `DeliverPayload` delivers the payload with this sender and number. In logs,
//! an event that belongs to no node has the host `world`; (1, 2) is a request's timestamp: logical
//! time and node.

mod grammar;
mod oracle;

use crate::common::{Action, MutexRun, Script, any_script, header, hostile_text, node, window_between};
use expect_test::expect;
use grammar::{Event, parse};
use oracle::HappenedBeforeModel;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use quorate_core::Class;
use quorate_draw::Window;
use quorate_draw::shiviz::ShivizWriter;
use quorate_journal::moment::Loss;
use std::io::{self, Write};

fn log_of(window: Window, actions: &[Action]) -> (String, u64) {
    let mut bytes = Vec::new();
    let events =
        Script::new(ShivizWriter::new(&mut bytes, &header(4), window)).with_nodes(4).run(actions).finish().unwrap();
    (String::from_utf8(bytes).unwrap(), events)
}

fn parse_accepted(log: &str) -> Vec<Event> {
    parse(log).unwrap_or_else(|error| panic!("{error}\n{log}"))
}

fn send(to: u32, kind: &str) -> Action {
    Action::Send(to, kind.into(), Class::Algorithm)
}

#[test]
fn a_run_without_faults_matches_its_golden_log() {
    let mut bytes = Vec::new();
    let log = MutexRun::of_nodes(3).entries(2).seed(1).run_ricart_agrawala(ShivizWriter::new(
        &mut bytes,
        &header(3),
        Window::default(),
    ));
    assert_eq!(log.finish().unwrap(), 12);
    expect![[r#"
        (?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)

        n1 {"n1":1}
        0.000 acquire · RA-1 requests entry with (1, 1) · request → 2,3
        n2 {"n2":1}
        0.000 acquire · RA-1 requests entry with (1, 2) · request → 1,3
        n3 {"n1":1,"n3":1}
        1.203 request from 1 · RA-2 replies to (1, 1) · reply → 1
        n3 {"n1":1,"n2":1,"n3":2}
        1.402 request from 2 · RA-2 replies to (1, 2) · reply → 2
        n1 {"n1":2,"n2":1}
        3.235 request from 2 · RA-2 defers (1, 2): ours (1, 1) goes first
        n2 {"n1":1,"n2":2,"n3":2}
        3.780 reply from 3
        n2 {"n1":1,"n2":3,"n3":2}
        4.407 request from 1 · RA-2 replies to (1, 1) · reply → 1
        n1 {"n1":3,"n2":1,"n3":1}
        6.060 reply from 3
        n1 {"n1":4,"n2":3,"n3":2}
        8.969 reply from 2 · RA-3 has every reply to (1, 1) · ENTERS (fence 0.1)
        n1 {"n1":5,"n2":3,"n3":2}
        13.969 release · LEAVES · RA-4 sends its deferred reply to (1, 2) · reply → 2
        n2 {"n1":5,"n2":4,"n3":2}
        17.699 reply from 1 · RA-3 has every reply to (1, 2) · ENTERS (fence 0.2)
        n2 {"n1":5,"n2":5,"n3":2}
        22.699 release · LEAVES
    "#]]
    .assert_eq(&String::from_utf8(bytes).unwrap());
}

#[test]
fn the_world_receives_lost_messages_and_a_crash_is_an_event_of_its_node() {
    let actions = [
        Action::Command(1, "ask".into()),
        send(2, "request"),
        Action::SendFrame(3, "frame".into(), 0),
        Action::Wait(1),
        Action::Crash(2),
        Action::Lose(1, Loss::Chance),
        Action::Lose(0, Loss::Down),
        Action::Wait(1),
        Action::Start(2, 1),
        Action::Change("cut 1 | 2,3,4".into()),
    ];
    let (log, _) = log_of(Window::default(), &actions);
    parse_accepted(&log);
    expect![[r#"
        (?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)

        n1 {"n1":1}
        0.000 ask · request → 2 · frame → 3
        n2 {"n2":1}
        1.000 node 2 crashes
        world {"n1":1,"world":1}
        1.000 message 1.2 to 3: lost by the network
        world {"n1":1,"world":2}
        1.000 message 1.1 to 2: the receiver is down
        n2 {"n2":2}
        2.000 restarts (incarnation 1)
        world {"n1":1,"world":3}
        2.000 cut 1 | 2,3,4
    "#]]
    .assert_eq(&log);
}

#[test]
fn clocks_count_from_the_start_of_the_window_and_include_paths_through_hidden_nodes() {
    let actions = [
        Action::Command(1, "early".into()),
        send(2, "old"),
        Action::Wait(10),
        Action::Deliver(0),
        Action::Command(1, "ask".into()),
        send(2, "request"),
        Action::Wait(1),
        Action::Deliver(0),
        send(3, "onwards"),
        Action::Wait(1),
        Action::Deliver(0),
        Action::Wait(10),
        Action::Command(3, "late".into()),
    ];
    let window = Window { nodes: [node(1), node(3)].into(), ..window_between(5, 15) };
    let (log, _) = log_of(window, &actions);
    parse_accepted(&log);
    expect![[r#"
        (?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)

        n1 {"n1":1}
        10.000 ask · request → 2
        n3 {"n1":1,"n3":1}
        12.000 onwards from 2
    "#]]
    .assert_eq(&log);
}

#[test]
fn all_sends_of_a_step_depend_on_all_its_deliveries() {
    // The second message of the reliable link (a frame) arrives first, and the link holds it back.
    // When the first one arrives, the link delivers both payloads, and the node sends a message
    // between the two deliveries.
    let actions = [
        Action::Command(1, "first".into()),
        Action::SendFrame(2, "frame".into(), 0),
        Action::Command(1, "second".into()),
        Action::SendFrame(2, "frame".into(), 1),
        Action::ReceiveFrame(1),
        Action::Deliver(0),
        send(3, "answer"),
        Action::DeliverPayload(1, 1),
        Action::Deliver(0),
    ];
    let events = parse_accepted(&log_of(Window::default(), &actions).0);
    assert_eq!(events.last().unwrap().clock.get("n1"), Some(&2));
}

#[test]
fn runs_of_fixtures_and_runs_with_faults_are_accepted() {
    let windows = || {
        [Window::default(), window_between(3, 20), Window { nodes: [node(1), node(3)].into(), ..window_between(2, 70) }]
    };
    for seed in 1..4 {
        for window in windows() {
            let run = MutexRun::of_nodes(3).entries(4).seed(seed).duplicate("0.05").fault("pause 2 at 3ms for 4ms");
            for log in run.run_fixtures(|| ShivizWriter::new(ParsedOnFlush::default(), &header(3), window.clone())) {
                assert!(log.finish().unwrap() > 0);
            }
            let mut bytes = Vec::new();
            MutexRun::with_faults(seed)
                .run_reliable(ShivizWriter::new(&mut bytes, &header(3), window))
                .finish()
                .unwrap();
            parse_accepted(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

/// Collects a log, and parses it like ShiViz when it is flushed.
#[derive(Default)]
struct ParsedOnFlush(Vec<u8>);

impl Write for ParsedOnFlush {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        parse_accepted(std::str::from_utf8(&self.0).unwrap());
        Ok(())
    }
}

/// A writer that fails after this many bytes.
struct FailingWriter(usize);

impl Write for FailingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_error_is_reported_at_the_end() {
    for capacity in [0, 80, 200] {
        let log = MutexRun::of_nodes(3).entries(2).seed(1).run_ricart_agrawala(ShivizWriter::new(
            FailingWriter(capacity),
            &header(3),
            Window::default(),
        ));
        assert_eq!(log.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

#[test]
fn events_of_nodes_outside_the_group_are_ignored() {
    let actions = [
        Action::Command(5, "ask".into()),
        send(1, "x"),
        Action::Crash(5),
        Action::Deliver(0),
        Action::Command(1, "ask".into()),
    ];
    let (log, events) = log_of(Window::default(), &actions);
    assert_eq!(events, 2, "{log}");
    assert!(parse_accepted(&log).iter().all(|event| event.host == "n1"));
}

#[test]
fn the_rules_of_the_tests_refuse_invalid_logs() {
    let head = "(?<host>\\S*) (?<clock>{.*})\\n(?<time>\\S*) (?<event>.*)\n\n";
    let refused = [
        "",
        "n1 {\"n1\":2}\n0 late\n",
        "n1 {\"n1\":1}\n0 x\nn1 {\"n1\":3}\n0 a jump\n",
        "n1 {\"n2\":1}\n0 without its host\n",
        "n1 {\"n1\":1,\"n2\":1}\n0 unknown host\n",
        "n1 {\"n1\":1}\nx\n",
        "n1 {\"n1\":1\n0 no clock\n",
        "n1 {\"n1\":1}\n0 x\nforged\n",
        "n1 {\"n1\":1}\n0 x\nn2 {\"n1\":1,\"n2\":1}\n0 x\nn3 {\"n2\":1,\"n3\":1}\n0 not closed\n",
    ];
    for log in refused {
        assert!(parse(&format!("{head}{log}")).is_err(), "{log:?}");
    }
    assert!(parse("n1 {\"n1\":1}\n0 x\n").is_err(), "without the expression");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_journal_makes_a_log_that_shiviz_refuses(actions in any_script(4), from in -2..20i64, length in 0..60i64, hides_nodes: bool) {
        let nodes = if hides_nodes { vec![node(2), node(3)] } else { Vec::new() };
        let (log, events) = log_of(Window { nodes: nodes.into_iter().collect(), ..window_between(from, from + length) }, &actions);
        // ShiViz refuses every log without events.
        if events > 0 {
            let parsed = parse(&log);
            prop_assert!(parsed.is_ok(), "{:?}\n{log}", parsed.err());
            prop_assert_eq!(parsed.unwrap().len() as u64, events, "{}", log);
        }
    }

    #[test]
    fn texts_are_written_unchanged(text in hostile_text(), rule in hostile_text()) {
        let actions = [Action::Command(1, text), Action::Rule("R-1".into(), rule), Action::Wait(1), Action::Command(2, "ask".into())];
        let (log, _) = log_of(Window::default(), &actions);
        let events = parse_accepted(&log);
        prop_assert_eq!(events.len(), 2, "{}", log);
        let scene = crate::common::scene_of(4, Window::default(), &actions);
        let (step, rule) = (&scene.steps[0], &scene.steps[0].rules[0]);
        let expected = format!("{} · {} {}", step.input, rule.0, rule.1);
        prop_assert_eq!(events[0].text.trim(), expected.trim());
        prop_assert_eq!(&events[1].time, "1.000");
    }

    #[test]
    fn clocks_match_happened_before(actions in any_script(4), from in -2..12i64, length in 0..60i64, hides_nodes: bool) {
        // The model knows neither frames nor payloads.
        let is_unwrapped = |action: &Action| !matches!(action, Action::SendFrame(..) | Action::DeliverPayload(..));
        let actions: Vec<_> = actions.into_iter().filter(is_unwrapped).collect();
        let nodes = if hides_nodes { vec![node(2), node(3)] } else { Vec::new() };
        let window = Window { nodes: nodes.into_iter().collect(), ..window_between(from, from + length) };
        let expected = Script::new(HappenedBeforeModel::new(window.clone())).with_nodes(4).run(&actions).expected_clocks();
        let (log, events) = log_of(window, &actions);
        prop_assert_eq!(expected.len() as u64, events, "{}", log);
        if events > 0 {
            let clocks: Vec<_> = parse_accepted(&log).into_iter().map(|event| (event.host, event.clock)).collect();
            prop_assert_eq!(expected, clocks, "{}", log);
        }
    }
}
