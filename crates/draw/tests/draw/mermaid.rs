//! Mermaid diagrams: as they read, and that Mermaid's own grammar takes every one of them for what it is meant to be.

mod grammar;

use crate::common::{Act, Contest, any_tale, between, hostile, scene, scene_of};
use expect_test::expect;
use grammar::{Statement, parse};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use quorate_core::{Class, NodeId, Time};
use quorate_draw::mermaid::{MOST_CHARACTERS, draw};
use quorate_draw::scene::{Arrow, Band, Cause, Head, Lane, Place, Step, Tail};
use quorate_draw::{Scene, Window};

#[test]
fn three_want_in_at_once() {
    expect![[r#"
        sequenceDiagram
            title ricart-agrawala, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 1
            Note over n1: 0.000 ms · acquire<br/>RA-1 asks everyone with (1, 1)
            Note over n2: 0.000 ms · acquire<br/>RA-1 asks everyone with (1, 2)
            n1->>n3: request
            Note over n3: 1.203 ms · RA-2 lets (1, 1) pass
            n2->>n3: request
            Note over n3: 1.402 ms · RA-2 lets (1, 2) pass
            n2->>n1: request
            Note over n1: 3.235 ms · RA-2 defers (1, 2): ours (1, 1)<br/>goes first
            n3-->>n2: reply
            n1->>n2: request
            Note over n2: 4.407 ms · RA-2 lets (1, 1) pass
            n3-->>n1: reply
            n2-->>n1: reply
            Note over n1: 8.969 ms · RA-3 has every reply to (1, 1)<br/>ENTERS (fence 0.1)
            activate n1
            Note over n1: 13.969 ms · release<br/>LEAVES<br/>RA-4 lets (1, 2) pass at last
            deactivate n1
            n1-->>n2: reply
            Note over n2: 17.699 ms · RA-3 has every reply to (1, 2)<br/>ENTERS (fence 0.2)
            activate n2
            Note over n2: 22.699 ms · release<br/>LEAVES
            deactivate n2
    "#]]
    .assert_eq(&draw(&Contest::of(3, 2, 1).scene()));
}

#[test]
fn trouble_in_a_window() {
    let contest = Contest::trouble(5);
    expect![[r#"
        sequenceDiagram
            title reliable, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 5
            Note over n1,n3: 31 lines of the journal before this
            activate n1
            n1-->>n2: ack (sent before this)
            n1-->>n3: ack (sent before this)
            n2-->>n1: ack (sent before this)
            n2-->>n3: ack (sent before this)
            Note over n1: 10.775 ms · release<br/>LEAVES<br/>RA-4 lets (1, 2) pass at last<br/>RA-4 lets (1, 3) pass at last
            deactivate n1
            n1-xn2: reply (stopped by a cut)
            n1-xn3: reply (stopped by a cut)
            rect rgba(200, 50, 43, 0.12)
            Note over n1,n3: 12.000 ms · cut 1 | 2,3
            Note over n3: 25.578 ms · timer {retransmit#58;2}<br/>RL-2 sends 1 to 2 again
            n3-->>n2: reply (again)
            Note over n1: 30.398 ms · timer {retransmit#58;2}<br/>RL-2 sends 1 to 2 again
            n1--xn2: reply (again, stopped by a cut)
            Note over n1: 30.651 ms · timer {retransmit#58;3}<br/>RL-2 sends 1 to 3 again
            n1--xn3: reply (again, stopped by a cut)
            n2-->>n3: ack
            end
            Note over n1,n3: 32.000 ms · cut 1 | 2,3 is over
            Note over n1,n3: 10 lines of the journal after this
    "#]].assert_eq(&draw(&scene(contest.reliable(contest.sketch("reliable", between(8, 32))))));
}

#[test]
fn a_stretch_that_overlaps_with_another_is_told_by_notes() {
    let acts = [
        Act::Change("link 1 > 2 loss 0.5".into()),
        Act::Command(1, "ask".into()),
        Act::Change("cut 1 | 2,3".into()),
        Act::Command(2, "ask".into()),
        Act::Change("end of link 1 > 2 loss 0.5".into()),
        Act::Command(3, "ask".into()),
        Act::Change("heal".into()),
    ];
    expect![[r#"
        sequenceDiagram
            title told-by-hand, 3 nodes
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
            Note over n1,n3: 0.000 ms · link 1 #62; 2 loss 0.5 is over
            Note over n3: 0.000 ms · ask
            Note over n1,n3: 0.000 ms · cut 1 | 2,3 is over
    "#]]
    .assert_eq(&draw(&scene_of(3, Window::default(), &acts)));
}

#[test]
fn a_token_that_goes_round_is_no_reply_and_an_answer_is_one() {
    let acts = [
        Act::Command(1, "ask".into()),
        Act::Multicast("request".into()),
        Act::Deliver(0),
        Act::Send(1, "reply".into(), Class::Algorithm),
        Act::Deliver(1),
        Act::Send(2, "request".into(), Class::Algorithm),
        Act::Deliver(0),
        Act::Deliver(0),
    ];
    let text = draw(&scene_of(3, Window::default(), &acts));
    assert!(text.contains("n2-->>n1: reply\n"), "an answer has dots: {text}");
    assert!(text.contains("n1->>n2: request\n"), "what is sent to all has none: {text}");
}

#[test]
fn an_answer_that_waits_for_the_disk_is_one() {
    let acts = [
        Act::Command(1, "ask".into()),
        Act::Multicast("vote".into()),
        Act::Deliver(0),
        Act::Saved(2),
        Act::Send(1, "vote-reply".into(), Class::Algorithm),
        Act::Deliver(1),
    ];
    let text = draw(&scene_of(3, Window::default(), &acts));
    assert!(text.contains("n2-->>n1: vote-reply\n"), "{text}");
    assert!(!text.contains("saved"), "the disk is told of by what comes of it: {text}");
}

#[test]
fn runs_of_every_algorithm_that_is_wrong_on_purpose_are_accepted() {
    for seed in 1..4 {
        let contest = Contest::of(3, 4, seed).duplicate("0.05").fault("pause 2 at 3ms for 4ms");
        for sketch in contest.fixtures(|| contest.sketch("fixture", Window::default())) {
            accepted(&scene(sketch));
        }
    }
    let contest = Contest::trouble(5);
    accepted(&scene(contest.reliable(contest.sketch("reliable", Window::default()))));
    accepted(&scene(contest.central(contest.sketch("central", Window::default()))));
}

#[test]
fn what_is_too_long_for_mermaid_loses_its_rules_and_then_its_end() {
    let asks = |count: u32, text: &str| -> Vec<Act> {
        let rule = || Act::Rule("R-1".into(), text.into());
        let ask =
            |number: u32| [Act::Command(1 + number % 3, format!("ask {number}")), rule(), Act::Emit("ENTERS".into())];
        (0..count).flat_map(ask).collect()
    };
    let shorter = draw(&scene_of(3, Window::default(), &asks(600, "says so much that it cannot be told")));
    assert!(parse(&shorter).is_ok());
    assert!(!shorter.contains("R-1") && shorter.contains("ask 599"), "all steps, no rules");
    assert!(in_one_line(&shorter).contains("What rules say does not fit into a diagram and is left out"), "it says so");
    let cut = draw(&scene_of(3, Window::default(), &asks(3_000, "")));
    let length = cut.encode_utf16().count();
    assert!((MOST_CHARACTERS - 500..=MOST_CHARACTERS).contains(&length), "as much as there is room for, not {length}");
    assert!(parse(&cut).is_ok());
    assert!(cut.contains("more do not fit into a diagram"), "it says so");
    let bare: Vec<Act> = (0..3_000).map(|number| Act::Command(1, format!("ask {number}"))).collect();
    let bare = draw(&scene_of(3, Window::default(), &bare));
    assert!(!bare.contains("What rules say"), "there are no rules to leave out");
}

#[test]
fn what_is_left_out_is_told() {
    let acts = |count: u32| -> Vec<Act> {
        let early = (0..count).map(|_| Act::Command(1, "early".into()));
        let late = (0..count).map(|_| Act::Command(1, "late".into()));
        let quiet = (0..count).flat_map(|_| [Act::Wait(1), Act::Timer(1)]);
        let now = [Act::Wait(10), Act::Command(1, "ask".into())];
        early.chain(now).chain(quiet).chain([Act::Wait(90)]).chain(late).collect()
    };
    let of = |count: u32, nodes: usize| draw(&scene_of(nodes, between(5, 50), &acts(count)));
    expect![[r#"
        sequenceDiagram
            title told-by-hand, 3 nodes
            participant n1 as Node 1
            participant n2 as Node 2
            participant n3 as Node 3
            Note over n1,n3: seed 1
            Note over n1,n3: 1 line of the journal before this
            Note over n1,n3: Not shown: one step that does nothing.
            Note over n1: 10.000 ms · ask
            Note over n1,n3: 1 line of the journal after this
    "#]]
    .assert_eq(&of(1, 3));
    expect![[r#"
        sequenceDiagram
            title told-by-hand, 14 nodes
            participant n1 as Node 1
            Note over n1: seed 1
            Note over n1: 2 lines of the journal before this
            Note over n1: Not shown: 2 steps that do nothing, 13 nodes<br/>that nothing happens to.
            Note over n1: 10.000 ms · ask
            Note over n1: 2 lines of the journal after this
    "#]]
    .assert_eq(&of(2, 14));
}

/// A scene with so many lanes, the first of which sends to all others and hears from the last one.
fn wide(lanes: usize) -> Scene {
    let acts = [Act::Command(1, "ask".into()), Act::Multicast("request".into()), Act::Command(2, "ask too".into())];
    let mut scene = scene_of(2, Window::default(), &acts);
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
    for (lanes, shown, note) in [
        (300, 300, None),
        (301, 300, Some("1 more node does not fit into a diagram, choose some of them")),
        (2_501, 300, Some("2201 more nodes do not fit into a diagram, choose some of them")),
    ] {
        let scene = wide(lanes);
        let statements = accepted(&scene);
        let text = in_one_line(&draw(&scene));
        assert_eq!(count(&statements), shown);
        assert!(note.is_none_or(|note| text.contains(note)), "{text}");
        assert_eq!(text.contains("more node"), note.is_some());
        // What comes from a node that found no room is told in words, and nothing is drawn of that node itself.
        assert_eq!(text.contains("far away"), note.is_none());
        assert_eq!(text.contains(&format!("ms · request from {lanes}")), note.is_some());
    }
}

#[test]
fn what_lasts_since_before_does_not_fill_the_diagram() {
    let mut scene = scene_of(3, between(1, 9), &[Act::Wait(5), Act::Command(1, "ask".into())]);
    let from = Place { time: Time::ZERO, order: 0 };
    let band = |number: usize| Band { text: format!("{}{number}", "<".repeat(150)), cut: true, from, to: None };
    scene.bands = (0..1_000).map(band).collect();
    accepted(&scene);
    let text = draw(&scene);
    assert!(text.contains("988 cuts and odd links") && text.contains("5.000 ms · ask"), "{text}");
}

#[test]
fn the_grammar_of_the_tests_refuses_what_mermaid_refuses() {
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

/// Notes without their line breaks.
fn in_one_line(text: &str) -> String {
    text.replace("<br/>", " ")
}

/// Everything in the diagram is a statement, and says what the scene says.
fn accepted(scene: &Scene) -> Vec<Statement> {
    match parse(&draw(scene)) {
        Ok(statements) => statements,
        Err(error) => panic!("{error}\n{}", draw(scene)),
    }
}

/// The messages of a diagram, as a reader sees them: from, to, whether it is lost, and the name.
fn shown(statements: &[Statement]) -> Vec<(String, String, bool, String)> {
    let message = |statement: &Statement| match statement {
        Statement::Message { from, to, arrow, text } => {
            Some((from.clone(), to.clone(), arrow.ends_with('x'), text.clone()))
        }
        _ => None,
    };
    statements.iter().filter_map(message).collect()
}

fn seen(text: &str) -> String {
    let short: String = text.chars().take(160).collect();
    let cut = if text.chars().count() > 160 { "…" } else { "" };
    format!("{short}{cut}").trim().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_journal_can_say_more_than_text(acts in any_tale(4), from in -2..20i64, length in 0..60i64) {
        let scene = scene_of(4, between(from, from + length), &acts);
        let text = draw(&scene);
        let statements = parse(&text);
        prop_assert!(statements.is_ok(), "{:?}\n{text}", statements.err());
        let statements = statements.unwrap();
        let participants = statements.iter().filter(|statement| matches!(statement, Statement::Participant { .. }));
        prop_assert_eq!(participants.count(), scene.lanes.len(), "nobody can add a participant");
        let arrived = scene.steps.iter().filter(|step| matches!(step.cause, Cause::Message(Some(_)))).count();
        let others = scene.arrows.iter().filter(|arrow| match arrow.head {
            Head::Lost { .. } => true,
            Head::Open => matches!(arrow.tail, Tail::Step(_)),
            Head::Step(_) => false,
        });
        prop_assert_eq!(shown(&statements).len(), arrived + others.count(), "every arrow is there once");
    }

    #[test]
    fn a_name_is_seen_as_it_is(kind in hostile(), rule in hostile(), event in hostile()) {
        let acts = [
            Act::Command(1, "ask".into()),
            Act::Send(2, kind, Class::Algorithm),
            Act::Rule(rule, "said".into()),
            Act::Emit(event),
            Act::Deliver(0),
        ];
        let scene = scene_of(2, Window::default(), &acts);
        let statements = accepted(&scene);
        let name = shown(&statements)[0].3.trim().to_owned();
        prop_assert_eq!(name, seen(&scene.arrows[0].kind));
        let note = statements.iter().find_map(|statement| match statement {
            Statement::Note { over, text } if over == &["n1"] => Some(text.clone()),
            _ => None,
        });
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let (rule, event) = (&scene.steps[0].rules[0], &scene.steps[0].events[0]);
        let told = format!("0.000 ms · ask {} {} {event}", rule.0, rule.1);
        prop_assert_eq!(words(&note.unwrap()), words(&told));
    }
}
