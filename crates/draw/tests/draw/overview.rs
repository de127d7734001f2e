//! Tests of overviews: counts, time range, and robustness.
//!
//! A script here is a list of `Action`s. Its `Send`, `Multicast` and `Emit` are effects of the last
//! input's node. `Deliver` and `Lose` take the index of a message in flight, in order of sending.

use crate::common::{Action, Script, any_script, header, heading, ms, node, window_between};
use expect_test::expect;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use quorate_core::{Class, NodeId, Time};
use quorate_draw::overview::{Bin, Overview, draw_text};
use quorate_draw::scene::{Band, TimePosition, Violation};
use quorate_draw::scene_builder::{Options, SceneBuilder};
use quorate_draw::{Drawing, Window, svg};
use quorate_journal::moment::{Loss, Moment, ObservedEffect, ObservedInput, Observer};
use quorate_journal::role::Role;
use unicode_width::UnicodeWidthStr;

/// A node waits after `acquire`, is chosen after `ENTERS` and idle after `LEAVES`.
fn roles(moment: &Moment<'_, String, String>, _before: &[Role]) -> Option<(NodeId, Role)> {
    match moment {
        Moment::Effect { node, effect: ObservedEffect::Emit(text), .. } if *text == "ENTERS" => {
            Some((*node, Role::Chosen))
        }
        Moment::Effect { node, effect: ObservedEffect::Emit(text), .. } if *text == "LEAVES" => {
            Some((*node, Role::Idle))
        }
        Moment::Input { node, input: ObservedInput::Command(text), .. } if *text == "acquire" => {
            Some((*node, Role::Waiting))
        }
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}

fn scene_builder(nodes: usize, window: Window) -> SceneBuilder<String, String> {
    let options = Options { window, forces_overview: true, ..Options::default() };
    SceneBuilder::new(&header(nodes), heading(nodes), roles, options)
}

fn finish(scene_builder: SceneBuilder<String, String>) -> Overview {
    match scene_builder.finish() {
        Drawing::Overview(overview) => *overview,
        Drawing::Scene(_) => panic!("expected an overview, got a scene"),
    }
}

fn overview_of(nodes: usize, window: Window, actions: &[Action]) -> Overview {
    finish(Script::new(scene_builder(nodes, window)).with_nodes(nodes).run(actions))
}

/// Draws an overview as text. Some tests draw only to check that drawing does not panic.
fn text_of(overview: &Overview, columns: usize) -> String {
    draw_text(overview, columns, &|_, text| text.to_owned())
}

fn svg_of(overview: &Overview) -> String {
    svg::draw(&Drawing::Overview(Box::new(overview.clone())), &svg::Options::default())
}

fn acquire(id: u32) -> Action {
    Action::Command(id, "acquire".into())
}

fn emit(text: &str) -> Action {
    Action::Emit(text.into())
}

fn send(to: u32) -> Action {
    Action::Send(to, "request".into(), Class::Algorithm)
}

/// Events of most kinds within thirty milliseconds.
fn events_of_most_kinds() -> Vec<Action> {
    vec![
        acquire(1),
        send(2),
        send(3),
        Action::Wait(2),
        Action::Deliver(0),
        Action::Send(1, "ack".into(), Class::Control),
        Action::Lose(0, Loss::Cut),
        Action::Wait(3),
        Action::Deliver(0),
        emit("ENTERS"),
        Action::Wait(5),
        Action::Change("cut 1 | 2,3".into()),
        Action::Crash(2),
        Action::Wait(5),
        Action::Change("link 1 > 3 loss 0.5".into()),
        Action::Timer(1),
        emit("LEAVES"),
        Action::Wait(5),
        Action::Change("heal".into()),
        Action::Pause(3),
        Action::Wait(10),
        Action::Change("skew 3 by 1ms".into()),
    ]
}

#[test]
fn the_text_shows_roles_faults_counts_and_violations() {
    let mut overview = overview_of(3, Window::default(), &events_of_most_kinds());
    overview.violations.push(Violation { time: ms(15), line: 9, text: "safety fails".into() });
    overview.violations.push(Violation { time: ms(99), line: 99, text: "a later property fails".into() });
    // An unindented first line keeps the indentation of the others.
    expect![[r#"
        text
            node 1  ?????????▂███████████████████▃·····························
            node 2  ····················✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗
            node 3  ·······································‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖
            faults                     ━━━━━━━━━━━━━━━━━━━━━╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍
          messages  █
           control     █
              lost     █
           crashes                     █
        violations                               ▲
                    0.000                                             30.000 ms
                    10.000 ms to 20.000 ms: cut 1 | 2,3
                    15.000 ms to the end: link 1 > 3 loss 0.5
                    ▲ 15.000 ms: safety fails
                    · outside   ? waiting   ‖ paused   ✗ down
                    ▁▂█ inside for part of the time   ━ partition
                    ╍ link fault or full disk   ▲ property violated
    "#]]
    .assert_eq(&format!("text\n{}", text_of(&overview, 72)));
}

#[test]
fn an_overview_reports_earlier_journal_lines_but_neither_quiet_steps_nor_idle_nodes() {
    let mut actions = events_of_most_kinds();
    actions.extend([Action::Timer(1), Action::Timer(2)]);
    let overview = overview_of(20, window_between(5, 30), &actions);
    assert_eq!((overview.omitted.quiet_steps, overview.omitted.idle_nodes), (0, 0));
    let (text, svg) = (text_of(&overview, 100), svg_of(&overview));
    assert!(text.contains("Not shown: 3 earlier journal lines.\n"), "{text}");
    for picture in [text, svg] {
        assert!(!picture.contains("without visible effect") && !picture.contains("idle"), "{picture}");
    }
    // A scene that becomes an overview after too many steps has counted omissions before.
    let options = Options { max_steps: 3, ..Options::default() };
    let limited = SceneBuilder::new(&header(20), heading(20), roles, options);
    let actions: Vec<Action> = (0..9).flat_map(|_| [Action::Timer(1), acquire(2)]).collect();
    let overview = finish(Script::new(limited).with_nodes(20).run(&actions));
    assert_eq!((overview.total.steps, overview.omitted.quiet_steps, overview.omitted.idle_nodes), (18, 0, 0));
}

#[test]
fn only_violations_in_the_window_are_shown() {
    let mut overview = overview_of(3, window_between(0, 20), &events_of_most_kinds());
    assert!(!text_of(&overview, 100).contains('▲'));
    for (time, text) in [(25, "outside-of-it"), (-1, "before-it")] {
        overview.violations.push(Violation { time: ms(time), line: 9, text: text.into() });
    }
    for picture in [text_of(&overview, 100), svg_of(&overview)] {
        assert!(!picture.contains("-it") && !picture.contains("violation\""), "{picture}");
    }
    overview.violations.push(Violation { time: ms(10), line: 9, text: "within-it".into() });
    for picture in [text_of(&overview, 100), svg_of(&overview)] {
        assert!(
            picture.contains("within-it") && !picture.contains("outside-of-it") && !picture.contains("before-it"),
            "{picture}"
        );
    }
}

#[test]
fn only_activity_that_involves_a_shown_node_counts() {
    let actions = [
        acquire(1),
        send(2),
        acquire(3),
        send(4),
        send(2),
        acquire(2),
        Action::Multicast("all".into()),
        acquire(4),
        Action::Multicast("all".into()),
        emit("ENTERS"),
        Action::Lose(1, Loss::Chance),
        Action::Lose(1, Loss::Chance),
        Action::Crash(3),
        Action::Crash(2),
        Action::Crash(4),
    ];
    let window = Window { nodes: [node(1), node(2)].into(), ..Window::default() };
    let overview = overview_of(4, window, &actions);
    // Messages from or to nodes 1 and 2: 1 → 2, 3 → 2, 2 → 1,3,4 and 4 → 1,2. Node 3 sent both lost
    // messages, to 4 and to 2.
    let expected = Bin { steps: 2, messages: 7, control_messages: 0, lost_messages: 1, times_chosen: 0, crashes: 1 };
    assert_eq!(overview.total, expected);
    assert_eq!(overview.bins, [expected]);
    let total = overview_of(4, Window::default(), &actions).total;
    assert_eq!(
        total,
        Bin { steps: 4, messages: 9, control_messages: 0, lost_messages: 2, times_chosen: 1, crashes: 3 }
    );
}

#[test]
fn nodes_without_a_row_are_counted() {
    let actions: Vec<Action> = (1..=50).flat_map(|id| [acquire(id), emit("ENTERS")]).collect();
    let overview = overview_of(50, Window::default(), &actions);
    // An overview has at most 40 rows.
    assert_eq!((overview.rows.len(), overview.nodes_without_row), (40, 10));
    assert_eq!((overview.total.steps, overview.total.times_chosen), (50, 50));
    assert!(overview.totals(|count| count.to_string()).ends_with(", inside 50 times"));
    assert!(svg_of(&overview).contains("inside 50 times"));
    assert!(text_of(&overview, 80).contains("and 10 more nodes\n"));
    let one_more = overview_of(41, Window::default(), &actions[..2]);
    assert!(text_of(&one_more, 80).contains("and 1 more node\n"));
    assert!(svg_of(&one_more).contains("One more node has no row."));
    assert_eq!(one_more.totals(|count| count.to_string()), "1 step, 0 messages, inside 1 time");
}

#[test]
fn bins_cover_the_time_after_the_last_counted_event() {
    let actions = [acquire(1), emit("ENTERS"), Action::Wait(1_000), Action::Change("skew 2 by 3ms".into())];
    let overview = overview_of(2, Window::default(), &actions);
    assert_eq!(overview.to, ms(1_000));
    let covered_nanos = overview.bin_width.nanos() * overview.bins.len() as u64;
    assert!(
        covered_nanos > 1_000_000_000 && covered_nanos - overview.bin_width.nanos() <= 1_000_000_000,
        "{covered_nanos}"
    );
    assert!(overview.rows.iter().all(|row| row.role_times.len() == overview.bins.len()));
    let text = text_of(&overview, 120);
    let row = text.lines().next().unwrap();
    assert!(row.ends_with("████████") && row.width() > 90, "{text}");
}

#[test]
fn an_overview_ends_at_the_latest_time_even_if_time_goes_back() {
    let actions =
        [acquire(1), Action::Wait(100), acquire(2), Action::Wait(-90), acquire(1), Action::Wait(-30), acquire(2)];
    let overview = overview_of(2, Window::default(), &actions);
    assert_eq!((overview.from, overview.to), (ms(0), ms(100)));
    assert_eq!(overview.bins.iter().map(|bin| bin.steps).sum::<u64>(), 4);
    text_of(&overview, 80);
    svg_of(&overview);
}

#[test]
fn extreme_times_do_not_overflow() {
    for (first, second) in [(0, i64::MAX), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
        let mut scene_builder = scene_builder(2, Window::default());
        let [enters, leaves] = ["ENTERS", "LEAVES"].map(String::from);
        // In turns, the node is inside for the whole time and outside for the whole time, so often
        // that the sums of durations exceed 64 bits.
        let inside = [(first, &enters), (second, &leaves)];
        let outside = [(first, &enters), (first, &leaves), (second, &enters), (second, &leaves)];
        for (time, event) in (0..600).flat_map(|_| inside.into_iter().chain(outside)) {
            let (time, node) = (Time::from_nanos(time), node(1));
            scene_builder.observe(&Moment::Input {
                time,
                now: time,
                node,
                input: ObservedInput::Command(&"ask".into()),
            });
            scene_builder.observe(&Moment::Effect { time, node, effect: ObservedEffect::Emit(event) });
        }
        let overview = finish(scene_builder);
        assert_eq!((overview.total.steps, overview.total.times_chosen), (3_600, 1_800));
        // An overview has at most 480 bins.
        assert!(overview.bins.len() <= 480 && overview.to == Time::from_nanos(first.max(second)));
        for columns in [0, 32, 80, 400] {
            text_of(&overview, columns);
        }
        assert!(!svg_of(&overview).contains("NaN"));
    }
}

#[test]
fn a_long_legend_takes_more_rows_but_no_more_width() {
    let mut overview = overview_of(3, Window::default(), &events_of_most_kinds());
    let svg_width = |overview: &Overview| {
        let svg = svg_of(overview);
        let view_box = svg.split("viewBox=\"0 0 ").nth(1).unwrap();
        view_box.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let legend_rows = |overview: &Overview| {
        let svg = svg_of(overview);
        let mut y_positions: Vec<String> = svg
            .split("<text class=\"legend\"")
            .skip(1)
            .map(|text| text.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
            .collect();
        y_positions.dedup();
        y_positions.len()
    };
    let width_before = svg_width(&overview);
    assert_eq!(legend_rows(&overview), 1);
    for (_, words) in &mut overview.heading.roles {
        *words = "a role whose name is as long as a name can be, and even a little longer than that".into();
    }
    assert_eq!(svg_width(&overview).to_bits(), width_before.to_bits());
    assert!(legend_rows(&overview) > 1);
}

#[test]
fn lasting_faults_beyond_the_limit_are_counted() {
    let mut overview = overview_of(3, Window::default(), &events_of_most_kinds());
    let position = TimePosition { time: ms(3), order: 0 };
    let band =
        |number: usize| Band { text: format!("cut {number} | rest"), is_partition: true, from: position, to: None };
    overview.bands = (0..9).map(band).collect();
    // Eight are listed.
    assert!(text_of(&overview, 100).contains("and 1 more lasting fault\n"));
    overview.bands = (0..30).map(band).collect();
    let text = text_of(&overview, 100);
    assert!(text.contains("and 22 more lasting faults\n") && text.contains("3.000 ms to the end: cut 7 | rest\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn counts_add_up_and_lines_fit_for_any_run(actions in any_script(4), columns in 32..130usize, hides_nodes in any::<bool>()) {
        let nodes = if hides_nodes { [node(1), node(3)].into() } else { [].into() };
        let mut overview = overview_of(4, Window { nodes, ..Window::default() }, &actions);
        overview.violations.push(Violation { time: overview.from, line: 1, text: "שלום fails".into() });
        let sum = overview.bins.iter().fold(0, |sum, bin| sum + bin.messages + bin.steps + bin.lost_messages);
        prop_assert_eq!(sum, overview.total.messages + overview.total.steps + overview.total.lost_messages);
        let text = text_of(&overview, columns);
        for line in text.lines() {
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            prop_assert!(line.width() <= columns, "{} columns of {columns}: {line:?}", line.width());
        }
        svg_of(&overview);
    }
}
