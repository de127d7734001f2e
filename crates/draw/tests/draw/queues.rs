//! Tests of hold-back queues in pictures: a held-back message is visible until it is delivered.
//!
//! A script is a list of `Action`s. A `Command`, `Timer`, `Start` or `Deliver` is an input, which
//! begins a step of a node. The effects after it, such as `emit`, belong to that step. `Deliver`
//! takes the index of a message in flight, in order of sending.

use crate::common::{Action, any_script, check_layout, header, ms, parse_svg, scene_builder, scene_of, window_between};
use expect_test::{expect, expect_file};
use proptest::prelude::proptest;
use quorate_draw::scene::Queue;
use quorate_draw::svg::{self, Clocks, Notes};
use quorate_draw::terminal::{Options, draw, plain};
use quorate_draw::{Scene, Window, mermaid};
use quorate_journal::record::{Journal, Lines};

fn rule(rule: &str, text: &str) -> Action {
    Action::Rule(rule.into(), text.into())
}

fn emit(text: &str) -> Action {
    Action::Emit(text.into())
}

fn queue(count: usize, names: &str) -> Action {
    Action::SetHoldBackQueue(count, names.into())
}

/// The vector-clock example: node 2 replies to a message of node 1, and node 3 receives the reply
/// first. A message is named by its sender and number: 2#1 is the first message of node 2. By rule
/// CA-2 a node holds a message back, by CA-3 it delivers one.
fn example() -> Vec<Action> {
    let actions = [
        vec![Action::Wait(1), Action::Command(1, "send \"m0\"".into()), emit("sends 1#1"), emit("DELIVERS 1#1 \"m0\"")],
        // After this multicast, in flight: 1#1 to 2, 1#1 to 3. `Deliver(0)` delivers the first.
        vec![Action::LabelledMulticast("1#1 (1,0,0)".into()), Action::Wait(4), Action::Deliver(0)],
        vec![rule("CA-3", "delivers 1#1: (0,0,0) becomes (1,0,0)"), emit("DELIVERS 1#1 \"m0\"")],
        vec![Action::Wait(2), Action::Command(2, "send \"m1\"".into()), emit("sends 2#1"), emit("DELIVERS 2#1 \"m1\"")],
        // After this multicast, in flight: 1#1 to 3, 2#1 to 1, 2#1 to 3.
        vec![Action::LabelledMulticast("2#1 (1,1,0)".into()), Action::Wait(4), Action::Deliver(2)],
        vec![rule("CA-2", "2#1 waits: (0,0,0) lacks 1#1"), queue(1, "2#1")],
        vec![Action::Wait(1), Action::Deliver(1), emit("DELIVERS 2#1 \"m1\"")],
        vec![Action::Wait(4), Action::Deliver(0)],
        vec![rule("CA-3", "delivers 1#1: (0,0,0) becomes (1,0,0)"), emit("DELIVERS 1#1 \"m0\"")],
        vec![rule("CA-3", "delivers 2#1: (1,0,0) becomes (1,1,0)"), emit("DELIVERS 2#1 \"m1\""), queue(0, "")],
        vec![Action::Wait(2)],
    ];
    actions.concat()
}

/// Returns the contents of the hold-back queues over time: the node's number, the messages, and the
/// start and end in milliseconds.
fn held_back_spans(scene: &Scene) -> Vec<(usize, String, i64, i64)> {
    let millis = |queue: &Queue| [queue.from, queue.to].map(|position| position.time.nanos() / 1_000_000);
    let lane = |lane: &quorate_draw::scene::Lane| {
        let node = lane.node.index() + 1;
        let queue = move |queue: &Queue| (node, queue.names.join(", "), millis(queue)[0], millis(queue)[1]);
        lane.queues.iter().map(queue).collect::<Vec<_>>()
    };
    scene.lanes.iter().flat_map(lane).collect()
}

/// Returns the texts by which a picture shows the hold-back queues: the names of held-back
/// messages, and the number of those whose names do not fit.
fn chip_names(svg: &str) -> Vec<String> {
    let (_, texts) = parse_svg(svg);
    texts.into_iter().filter(|text| text.class == "chip-name").map(|text| text.text).collect()
}

#[test]
fn the_vector_clock_example_shows_the_held_back_message() {
    let scene = scene_of(3, Window::default(), &example());
    assert_eq!(held_back_spans(&scene), [(3, "2#1".into(), 11, 16)]);
    let svg = svg::draw_scene(&scene, &svg::Options::default());
    check_layout(&svg, "the example");
    assert_eq!(chip_names(&svg), ["2#1"]);
    for text in [">1#1 (1,0,0)<", ">2#1 (1,1,0)<", ">held back<", "node 3 holds back 2#1, from 11.000 ms to 16.000 ms"]
    {
        assert!(svg.contains(text), "{text} is missing");
    }
    expect_file!["queues/vector_clocks.svg"].assert_eq(&svg);
}

#[test]
fn a_terminal_and_a_sequence_diagram_show_held_back_messages() {
    let scene = scene_of(3, Window::default(), &example());
    let text = draw(&scene, &Options { width: Some(140) }, &plain);
    assert!(text.contains("holds back 2#1") && text.contains("holds back no messages"), "{text}");
    assert!(text.contains("2#1 (1,1,0)"), "{text}");
    let text = mermaid::draw(&scene);
    let lines: Vec<_> = text.lines().filter(|line| line.contains("n2->>") || line.contains("holds")).collect();
    expect![[r#"
        [
            "    n2->>n3: 2#35;1 (1,1,0)",
            "    Note over n3: 11.000 ms · CA-2 2#35;1 waits: (0,0,0) lacks<br/>1#35;1<br/>holds back 2#35;1",
            "    n2->>n1: 2#35;1 (1,1,0)",
            "    Note over n3: 16.000 ms · CA-3 delivers 1#35;1: (0,0,0)<br/>becomes (1,0,0)<br/>DELIVERS 1#35;1 #34;m0#34;<br/>CA-3 delivers 2#35;1: (1,0,0) becomes (1,1,0)<br/>DELIVERS 2#35;1 #34;m1#34;<br/>holds back no messages",
        ]
    "#]].assert_debug_eq(&lines);
}

#[test]
fn a_message_delivered_in_the_step_that_receives_it_is_not_held_back() {
    let actions =
        [Action::Timer(1), queue(1, "2#1"), emit("DELIVERS 2#1"), queue(0, ""), Action::Wait(3), Action::Timer(2)];
    let scene = scene_of(3, Window::default(), &actions);
    assert_eq!(held_back_spans(&scene), []);
    assert!(!svg::draw_scene(&scene, &svg::Options::default()).contains("tray"), "no queue, no style for queues");
}

#[test]
fn a_queue_changes_and_ends_with_a_crash_and_extends_over_window_edges() {
    let actions = [
        vec![Action::Wait(1), Action::Timer(1), queue(1, "2#1"), Action::Timer(2), queue(1, "3#9")],
        vec![
            Action::Wait(4),
            Action::Timer(1),
            queue(2, "2#1, 3#1"),
            Action::Wait(5),
            Action::Timer(3),
            emit("y"),
            Action::Wait(5),
        ],
        vec![
            Action::Crash(1),
            Action::Wait(5),
            Action::Start(1, 1),
            emit("is back"),
            Action::Wait(5),
            Action::Timer(3),
            emit("x"),
        ],
    ];
    let actions = actions.concat();
    let whole = scene_of(3, Window::default(), &actions);
    let (first, second) = ((1, "2#1".to_owned(), 1, 5), (1, "2#1, 3#1".to_owned(), 5, 15));
    assert_eq!(held_back_spans(&whole), [first, second, (2, "3#9".into(), 1, 25)]);
    // A queue from before the window is shown within it.
    let part = scene_of(3, window_between(7, 20), &actions);
    assert_eq!(held_back_spans(&part), [(1, "2#1, 3#1".into(), 7, 15), (2, "3#9".into(), 7, 20)]);
    assert_eq!(part.lanes[0].queues[0].from.time, ms(7));
    for scene in [&whole, &part] {
        check_layout(&svg::draw_scene(scene, &svg::Options::default()), "queues over the edges");
    }
    assert_eq!(chip_names(&svg::draw_scene(&part, &svg::Options::default())), ["2#1", "3#1", "3#9"]);
}

/// In a long run of several rows, a message is held back across rows.
#[test]
fn every_row_shows_held_back_messages() {
    let mut actions = vec![Action::Wait(1), Action::Timer(1), queue(1, "3#1")];
    for round in 0..40 {
        actions.extend([
            Action::Wait(2),
            Action::Command(2, format!("send {round}")),
            emit("sends"),
            Action::LabelledMulticast("2#7".into()),
        ]);
        actions.extend([Action::Wait(1), Action::Deliver(0), Action::Deliver(0)]);
    }
    let scene = scene_of(3, Window::default(), &actions);
    let svg = svg::draw_scene(&scene, &svg::Options::default());
    check_layout(&svg, "rows");
    let rows = svg.matches(">time in ms<").count();
    assert!(rows > 2, "{rows} rows");
    assert_eq!(chip_names(&svg), vec!["3#1"; rows]);
}

#[test]
fn held_back_messages_are_counted_where_there_is_no_room() {
    let many: Vec<String> = (1..=30).map(|number| format!("2#{number}")).collect();
    let actions = [
        vec![Action::Wait(1), Action::Timer(1), queue(30, &many.join(", ")), Action::Wait(2)],
        vec![Action::Timer(1), queue(1, "2#1"), Action::Wait(2), Action::Timer(1), queue(0, "")],
    ];
    let scene = scene_of(3, Window::default(), &actions.concat());
    let [first, _] = &scene.lanes[0].queues[..] else { panic!("expected two queues") };
    assert_eq!((first.count, first.names.len()), (30, 12), "a scene keeps at most 12 names");
    let svg = svg::draw_scene(&scene, &svg::Options::default());
    check_layout(&svg, "many");
    let names = chip_names(&svg);
    // The last name is that of the second queue.
    let shown_count = names.iter().filter(|name| name.contains('#')).count() - 1;
    assert!(names.contains(&format!("+{}", 30 - shown_count)) || names.contains(&"30".to_owned()), "{names:?}");
}

/// Labels and held-back messages are in the journal, so it yields the same picture.
#[test]
fn a_journal_draws_the_same_picture() {
    let mut bytes = Vec::new();
    let mut lines = crate::common::Script::new(Lines::new(&header(3))).run(&example());
    lines.end(None);
    lines.flush_to(&mut bytes).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains(r#""kind":"data","label":"1#1 (1,0,0)","#));
    let mut from_journal = scene_builder(3, Window::default());
    Journal::open(&bytes[..]).unwrap().show_all::<String, String>(&mut from_journal).unwrap();
    let options = svg::Options::default();
    let observed = scene_of(3, Window::default(), &example());
    assert_eq!(
        svg::draw_scene(&crate::common::finish_scene(from_journal), &options),
        svg::draw_scene(&observed, &options)
    );
}

proptest! {
    /// No names of held-back messages break the picture, and no queue ends before it begins.
    #[test]
    fn any_script_with_queues_can_be_drawn(actions in any_script(3)) {
        let scene = scene_of(3, Window::default(), &actions);
        for queue in scene.lanes.iter().flat_map(|lane| &lane.queues) {
            assert!(queue.count > 0 && queue.from.order <= queue.to.order);
        }
        for notes in [Notes::Auto, Notes::None] {
            let options = svg::Options { notes, clocks: Clocks::Vector, ..svg::Options::default() };
            parse_svg(&svg::draw_scene(&scene, &options));
        }
    }
}
