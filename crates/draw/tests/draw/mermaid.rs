//! Tests of Mermaid diagrams: golden outputs, and that a grammar made after Mermaid's parses the
//! diagrams as intended.
//!
//! A script here is a list of `Action`s. Its `Send` and `Multicast` are effects of the last input's
//! node. `Deliver` takes the index of a message in flight, in order of sending. In notes, (1, 2) is
//! a request's timestamp: logical time and node.

mod grammar;

use crate::common::{Action, MutexRun, any_script, finish_scene, hostile_text, scene_of, window_between};
use expect_test::expect;
use grammar::{Statement, parse};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use quorate_core::{Class, NodeId, Time};
use quorate_draw::mermaid::{MAX_CHARACTERS, draw};
use quorate_draw::scene::{Arrow, Band, Cause, Head, Lane, Step, Tail, TimePosition};
use quorate_draw::{Scene, Window};

#[test]
fn a_run_without_faults_matches_its_golden_diagram() {
    expect![[r#"
        sequenceDiagram
            title ricart-agrawala, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 1
            Note over n1: 0.000 ms · acquire<br/>RA-1 requests entry with (1, 1)
            Note over n2: 0.000 ms · acquire<br/>RA-1 requests entry with (1, 2)
            n1->>n3: request
            Note over n3: 1.203 ms · RA-2 replies to (1, 1)
            n2->>n3: request
            Note over n3: 1.402 ms · RA-2 replies to (1, 2)
            n2->>n1: request
            Note over n1: 3.235 ms · RA-2 defers (1, 2): ours (1, 1)<br/>goes first
            n3-->>n2: reply
            n1->>n2: request
            Note over n2: 4.407 ms · RA-2 replies to (1, 1)
            n3-->>n1: reply
            n2-->>n1: reply
            Note over n1: 8.969 ms · RA-3 has every reply to (1, 1)<br/>ENTERS (fence 0.1)
            activate n1
            Note over n1: 13.969 ms · release<br/>LEAVES<br/>RA-4 sends its deferred reply to (1, 2)
            deactivate n1
            n1-->>n2: reply
            Note over n2: 17.699 ms · RA-3 has every reply to (1, 2)<br/>ENTERS (fence 0.2)
            activate n2
            Note over n2: 22.699 ms · release<br/>LEAVES
            deactivate n2
    "#]]
    .assert_eq(&draw(&MutexRun::of_nodes(3).entries(2).seed(1).scene()));
}

#[test]
fn a_window_shows_its_faults_and_counts_the_lines_outside() {
    let run = MutexRun::with_faults(5);
    expect![[r#"
        sequenceDiagram
            title reliable, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 5
            Note over n1,n3: 31 earlier journal lines
            activate n1
            n1-->>n2: ack (sent earlier)
            n1-->>n3: ack (sent earlier)
            n2-->>n1: ack (sent earlier)
            n2-->>n3: ack (sent earlier)
            Note over n1: 10.775 ms · release<br/>LEAVES<br/>RA-4 sends its deferred reply to (1, 2)<br/>RA-4 sends its deferred reply to (1, 3)
            deactivate n1
            n1-xn2: reply (blocked by a cut)
            n1-xn3: reply (blocked by a cut)
            rect rgba(200, 50, 43, 0.12)
            Note over n1,n3: 12.000 ms · cut 1 | 2,3
            Note over n3: 25.578 ms · timer {retransmit#58;2}<br/>RL-2 retransmits message 1 to node 2
            n3-->>n2: reply (retransmission)
            Note over n1: 30.398 ms · timer {retransmit#58;2}<br/>RL-2 retransmits message 1 to node 2
            n1--xn2: reply (retransmission, blocked by a cut)
            Note over n1: 30.651 ms · timer {retransmit#58;3}<br/>RL-2 retransmits message 1 to node 3
            n1--xn3: reply (retransmission, blocked by a cut)
            n2-->>n3: ack
            end
            Note over n1,n3: 32.000 ms · cut 1 | 2,3 ends
            Note over n1,n3: 10 later journal lines
    "#]].assert_eq(&draw(&finish_scene(run.run_reliable(run.scene_builder("reliable", window_between(8, 32))))));
}

#[test]
fn a_fault_that_overlaps_another_is_shown_by_notes() {
    let actions = [
        Action::Change("link 1 > 2 loss 0.5".into()),
        Action::Command(1, "ask".into()),
        Action::Change("cut 1 | 2,3".into()),
        Action::Command(2, "ask".into()),
        Action::Change("end of link 1 > 2 loss 0.5".into()),
        Action::Command(3, "ask".into()),
        Action::Change("heal".into()),
    ];
    expect![[r#"
        sequenceDiagram
            title scripted, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 1
            rect rgba(232, 164, 23, 0.12)
            Note over n1,n3: 0.000 ms · link 1 #62; 2 loss 0.5
            Note over n1: 0.000 ms · ask
            Note over n1,n3: 0.000 ms · cut 1 | 2,3
            Note over n2: 0.000 ms · ask
            end
            Note over n1,n3: 0.000 ms · link 1 #62; 2 loss 0.5 ends
            Note over n3: 0.000 ms · ask
            Note over n1,n3: 0.000 ms · cut 1 | 2,3 ends
    "#]]
    .assert_eq(&draw(&scene_of(3, Window::default(), &actions)));
}

#[test]
fn a_reply_is_dotted_and_a_request_sent_after_it_is_not() {
    let actions = [
        Action::Command(1, "ask".into()),
        Action::Multicast("request".into()),
        Action::Deliver(0),
        Action::Send(1, "reply".into(), Class::Algorithm),
        Action::Deliver(1),
        Action::Send(2, "request".into(), Class::Algorithm),
        Action::Deliver(0),
        Action::Deliver(0),
    ];
    let text = draw(&scene_of(3, Window::default(), &actions));
    assert!(text.contains("n2-->>n1: reply\n"), "a reply is dotted: {text}");
    assert!(text.contains("n1->>n2: request\n"), "a request is not dotted, even if a reply causes it: {text}");
}

#[test]
fn a_reply_after_a_save_is_dotted() {
    let actions = [
        Action::Command(1, "ask".into()),
        Action::Multicast("vote".into()),
        Action::Deliver(0),
        Action::Saved(2),
        Action::Send(1, "vote-reply".into(), Class::Algorithm),
        Action::Deliver(1),
    ];
    let text = draw(&scene_of(3, Window::default(), &actions));
    assert!(text.contains("n2-->>n1: vote-reply\n"), "{text}");
    assert!(!text.contains("durable"), "a disk confirmation with a reply needs no note: {text}");
}

/// Node 2 replies at the end of a turn. Node 3 saves there, and replies once the save is durable.
#[test]
fn a_reply_at_the_end_of_a_turn_or_after_its_save_is_dotted() {
    let actions = [
        Action::Command(1, "ask".into()),
        Action::Multicast("vote".into()),
        Action::EndOfTurn(1),
        Action::Deliver(0),
        Action::EndOfTurn(2),
        Action::Send(1, "turn-reply".into(), Class::Algorithm),
        Action::Deliver(0),
        Action::EndOfTurn(3),
        Action::SetTimer,
        Action::Saved(3),
        Action::Send(1, "saved-reply".into(), Class::Algorithm),
        Action::Deliver(0),
        Action::Deliver(0),
    ];
    let scene = scene_of(3, Window::default(), &actions);
    let text = draw(&scene);
    assert!(text.contains("n2-->>n1: turn-reply\n") && text.contains("n3-->>n1: saved-reply\n"), "{text}");
    assert!(!text.contains("ends its turn"), "an end of a turn with a reply needs no note: {text}");
    // The ends of the turns of nodes 1 and 3 have no visible effect, and do not count as omitted.
    assert_eq!((scene.steps.len(), scene.omitted.quiet_steps), (7, 0));
}

#[test]
fn runs_of_fixtures_and_runs_with_faults_are_accepted() {
    for seed in 1..4 {
        let run = MutexRun::of_nodes(3).entries(4).seed(seed).duplicate("0.05").fault("pause 2 at 3ms for 4ms");
        for scene_builder in run.run_fixtures(|| run.scene_builder("fixture", Window::default())) {
            parse_accepted(&finish_scene(scene_builder));
        }
    }
    let run = MutexRun::with_faults(5);
    parse_accepted(&finish_scene(run.run_reliable(run.scene_builder("reliable", Window::default()))));
    parse_accepted(&finish_scene(run.run_central(run.scene_builder("central", Window::default()))));
}

#[test]
fn a_diagram_that_is_too_long_loses_its_rules_and_then_its_end() {
    let commands = |count: u32, text: &str| -> Vec<Action> {
        let rule = || Action::Rule("R-1".into(), text.into());
        let command = |number: u32| {
            [Action::Command(1 + number % 3, format!("ask {number}")), rule(), Action::Emit("ENTERS".into())]
        };
        (0..count).flat_map(command).collect()
    };
    let without_rules = draw(&scene_of(3, Window::default(), &commands(600, "has a note that is too long to show")));
    assert!(parse(&without_rules).is_ok());
    assert!(!without_rules.contains("R-1") && without_rules.contains("ask 599"), "all steps, no rules");
    assert!(
        in_one_line(&without_rules).contains("The notes of rules do not fit into the diagram"),
        "a note must say so"
    );
    let truncated = draw(&scene_of(3, Window::default(), &commands(3_000, "")));
    let length = truncated.encode_utf16().count();
    assert!(
        (MAX_CHARACTERS - 500..=MAX_CHARACTERS).contains(&length),
        "the diagram must use the allowed length; got {length}"
    );
    assert!(parse(&truncated).is_ok());
    assert!(truncated.contains("more events do not fit into"), "a note must say so");
    let only_commands: Vec<Action> = (0..3_000).map(|number| Action::Command(1, format!("ask {number}"))).collect();
    let text = draw(&scene_of(3, Window::default(), &only_commands));
    assert!(!text.contains("notes of rules"), "there are no rules to leave out");
}

#[test]
fn omissions_are_reported() {
    let actions = |count: u32| -> Vec<Action> {
        let early_commands = (0..count).map(|_| Action::Command(1, "early".into()));
        let late_commands = (0..count).map(|_| Action::Command(1, "late".into()));
        let quiet_steps = (0..count).flat_map(|_| [Action::Wait(1), Action::Timer(1)]);
        let shown_command = [Action::Wait(10), Action::Command(1, "ask".into())];
        early_commands.chain(shown_command).chain(quiet_steps).chain([Action::Wait(90)]).chain(late_commands).collect()
    };
    let text_of = |count: u32, nodes: usize| draw(&scene_of(nodes, window_between(5, 50), &actions(count)));
    expect![[r#"
        sequenceDiagram
            title scripted, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 1
            Note over n1,n3: 1 earlier journal line
            Note over n1,n3: Not shown: one step without visible effect.
            Note over n1: 10.000 ms · ask
            Note over n1,n3: 1 later journal line
    "#]]
    .assert_eq(&text_of(1, 3));
    expect![[r#"
        sequenceDiagram
            title scripted, 14 nodes
            participant n1 as Node 1
            Note over n1: seed 1
            Note over n1: 2 earlier journal lines
            Note over n1: Not shown: 2 steps without visible effect,<br/>13 idle nodes.
            Note over n1: 10.000 ms · ask
            Note over n1: 2 later journal lines
    "#]]
    .assert_eq(&text_of(2, 14));
}

/// A scene with this many lanes. The first one sends to all others and receives from the last.
fn wide_scene(lanes: usize) -> Scene {
    let actions =
        [Action::Command(1, "ask".into()), Action::Multicast("request".into()), Action::Command(2, "ask too".into())];
    let mut scene = scene_of(2, Window::default(), &actions);
    let (lane, step, arrow) = (scene.lanes[0].clone(), scene.steps[1].clone(), scene.arrows[0].clone());
    scene.lanes = (0..lanes).map(|index| Lane { node: NodeId::from_index(index), ..lane.clone() }).collect();
    scene.arrows = (1..lanes).map(|to| Arrow { to, ..arrow.clone() }).collect();
    scene.steps.push(Step { lane: lanes - 1, input: "far away".into(), ..step.clone() });
    scene.arrows.push(Arrow { from: lanes - 1, to: 0, tail: Tail::Step(2), head: Head::Step(3), ..arrow });
    let cause = Cause::Message(Some(scene.arrows.len() - 1));
    scene.steps.push(Step { lane: 0, cause, input: format!("request from {lanes}"), ..step });
    scene
}

#[test]
fn the_names_of_very_many_nodes_do_not_fill_the_diagram() {
    let count = |statements: &[Statement]| {
        statements.iter().filter(|statement| matches!(statement, Statement::Participant { .. })).count()
    };
    // At most 300 nodes are drawn.
    for (lanes, drawn_lanes, note) in [
        (300, 300, None),
        (301, 300, Some("1 more node does not fit into the diagram, select fewer nodes")),
        (2_501, 300, Some("2201 more nodes do not fit into the diagram, select fewer nodes")),
    ] {
        let scene = wide_scene(lanes);
        let statements = parse_accepted(&scene);
        let text = in_one_line(&draw(&scene));
        assert_eq!(count(&statements), drawn_lanes);
        assert!(note.is_none_or(|note| text.contains(note)), "{text}");
        assert_eq!(text.contains("more node"), note.is_some());
        // A message from a node whose lane is not drawn is described in a note, and the node's own
        // steps are not drawn.
        assert_eq!(text.contains("far away"), note.is_none());
        assert_eq!(text.contains(&format!("ms · request from {lanes}")), note.is_some());
    }
}

#[test]
fn faults_from_before_the_window_do_not_fill_the_diagram() {
    let mut scene = scene_of(3, window_between(1, 9), &[Action::Wait(5), Action::Command(1, "ask".into())]);
    let from = TimePosition { time: Time::ZERO, order: 0 };
    let band =
        |number: usize| Band { text: format!("{}{number}", "<".repeat(150)), is_partition: true, from, to: None };
    scene.bands = (0..1_000).map(band).collect();
    parse_accepted(&scene);
    let text = draw(&scene);
    // Of 1000 faults, 12 are drawn.
    assert!(text.contains("988 faults of links and disks") && text.contains("5.000 ms · ask"), "{text}");
}

#[test]
fn the_grammar_of_the_tests_refuses_what_mermaid_refuses_or_interprets() {
    let refused = [
        "",
        "graph TD",
        "sequenceDiagram\n    n1->>n2 no text\n",
        "sequenceDiagram\n    n1->>n2: a; b\n",
        "sequenceDiagram\n    n1->>n2: a # b\n",
        "sequenceDiagram\n    n1->>n2: a %% b\n",
        "sequenceDiagram\n    n1->>n2: <b>bold</b>\n",
        "sequenceDiagram\n    rect red\n",
        "sequenceDiagram\n    end\n",
        "sequenceDiagram\n    deactivate n1\n",
        "sequenceDiagram\n    participant n1 as\n",
        "sequenceDiagram\n    Note over n1,n2,n3: x\n",
    ];
    for text in refused {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

/// Returns a diagram without the line breaks in its notes.
fn in_one_line(text: &str) -> String {
    text.replace("<br/>", " ")
}

/// Parses the diagram of a scene; panics if Mermaid would refuse it or interpret a text as syntax.
fn parse_accepted(scene: &Scene) -> Vec<Statement> {
    match parse(&draw(scene)) {
        Ok(statements) => statements,
        Err(error) => panic!("{error}\n{}", draw(scene)),
    }
}

/// Returns the messages of a diagram: sender, receiver, whether it is lost, and its text.
fn messages_of(statements: &[Statement]) -> Vec<(String, String, bool, String)> {
    let message = |statement: &Statement| match statement {
        Statement::Message { from, to, arrow, text } => {
            Some((from.clone(), to.clone(), arrow.ends_with('x'), text.clone()))
        }
        _ => None,
    };
    statements.iter().filter_map(message).collect()
}

/// Returns a text as a diagram displays it: only the first 160 characters of a long one.
fn as_displayed(text: &str) -> String {
    let displayed: String = text.chars().take(160).collect();
    let ellipsis = if text.chars().count() > 160 { "…" } else { "" };
    format!("{displayed}{ellipsis}").trim().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_journal_can_inject_statements(actions in any_script(4), from in -2..20i64, length in 0..60i64) {
        let scene = scene_of(4, window_between(from, from + length), &actions);
        let text = draw(&scene);
        let statements = parse(&text);
        prop_assert!(statements.is_ok(), "{:?}\n{text}", statements.err());
        let statements = statements.unwrap();
        let participants = statements.iter().filter(|statement| matches!(statement, Statement::Participant { .. }));
        prop_assert_eq!(participants.count(), scene.lanes.len(), "a journal must not add a participant");
        let arrivals = scene.steps.iter().filter(|step| matches!(step.cause, Cause::Message(Some(_)))).count();
        let other_arrows = scene.arrows.iter().filter(|arrow| match arrow.head {
            Head::Lost { .. } => true,
            Head::InFlight => matches!(arrow.tail, Tail::Step(_)),
            Head::Step(_) => false,
        });
        prop_assert_eq!(messages_of(&statements).len(), arrivals + other_arrows.count(), "every arrow must be drawn once");
    }

    #[test]
    fn names_are_shown_unchanged(kind in hostile_text(), rule in hostile_text(), event in hostile_text()) {
        let actions = [
            Action::Command(1, "ask".into()),
            Action::Send(2, kind, Class::Algorithm),
            Action::Rule(rule, "note".into()),
            Action::Emit(event),
            Action::Deliver(0),
        ];
        let scene = scene_of(2, Window::default(), &actions);
        let statements = parse_accepted(&scene);
        let name = messages_of(&statements)[0].3.trim().to_owned();
        prop_assert_eq!(name, as_displayed(&scene.arrows[0].kind));
        let note = statements.iter().find_map(|statement| match statement {
            Statement::Note { over, text } if over == &["n1"] => Some(text.clone()),
            _ => None,
        });
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let (rule, event) = (&scene.steps[0].rules[0], &scene.steps[0].events[0]);
        let expected = format!("0.000 ms · ask {} {} {event}", rule.0, rule.1);
        prop_assert_eq!(words(&note.unwrap()), words(&expected));
    }
}
