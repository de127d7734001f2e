//! Tests of space-time diagrams: what is drawn, that text is escaped, and that texts do not
//! overlap.

use crate::common::{check_layout, parse_svg};
use quorate_core::{NodeId, Time};
use quorate_draw::Window;
use quorate_draw::scene::{Arrow, Head, Heading, Scene, Step, Tail, Violation};
use quorate_draw::scene_builder::{Drawing, Options, SceneBuilder};
use quorate_draw::style::Theme;
use quorate_draw::svg::{self, Clocks, Notes};
use quorate_journal::moment::Moment;
use quorate_journal::record::Journal;
use quorate_journal::role::Role;
use quorate_lab::PresentFamily;
use quorate_lab::mutex::ViewSettings;
use quorate_lab::{Election, FamilyLab, Mutex, Replica, Spec, experiment};
use serde_json::Value;
use std::collections::BTreeSet;

fn draw_run<F: FamilyLab>(spec: &Spec<F>, options: Options) -> Drawing {
    let header = experiment::header(spec).unwrap();
    let roles = F::ROLES.iter().map(|(role, words)| (*role, (*words).to_owned())).collect();
    let heading = Heading { algorithm: spec.algorithm.to_string(), nodes: spec.nodes, roles, ..Heading::default() };
    let scene_builder = SceneBuilder::<F::Command, F::Event>::new(&header, heading, F::role_after, options);
    let (_, scene_builder) = experiment::run_with(spec, std::io::sink(), scene_builder).unwrap();
    scene_builder.finish()
}

fn expect_scene(drawing: &Drawing) -> &Scene {
    match drawing {
        Drawing::Scene(scene) => scene,
        Drawing::Overview(_) => panic!("too much for a scene"),
    }
}

/// A run with losses, duplicates, a partition, a pause, a slow link and a crash.
fn spec_with_faults(seed: u64) -> Spec<Mutex> {
    let mut spec = Spec::<Mutex>::named("ricart-agrawala").unwrap();
    spec.seed = seed;
    spec.loss = "0.1".parse().unwrap();
    spec.duplicate = "0.1".parse().unwrap();
    spec.settings.entries = 4;
    spec.faults = vec![
        "cut 1 | 2,3 at 4ms for 9ms".parse().unwrap(),
        "pause 2 at 20ms for 8ms".parse().unwrap(),
        "link 1 > 3 latency fixed:9ms at 2ms for 20ms".parse().unwrap(),
        "crash 3 at 60ms".parse().unwrap(),
    ];
    spec.until = Some("90ms".parse().unwrap());
    spec
}

#[test]
fn texts_do_not_overlap_and_are_not_cut_off() {
    for seed in 1..=12 {
        let drawing = draw_run(&spec_with_faults(seed), Options::default());
        for clocks in [Clocks::None, Clocks::Logical, Clocks::Vector, Clocks::Both] {
            for notes in [Notes::Auto, Notes::Full, Notes::RuleIds, Notes::None] {
                let options = svg::Options { clocks, notes, ..svg::Options::default() };
                check_layout(&svg::draw(&drawing, &options), &format!("seed {seed}, {clocks:?}, {notes:?}"));
            }
        }
    }
}

/// A run of a group with views and one fault, with leases short enough for a picture.
fn spec_with_views(seed: u64, fault: &str) -> Spec<Mutex> {
    let mut spec = Spec::<Mutex>::named("token-request").unwrap();
    spec.nodes = 4;
    spec.seed = seed;
    spec.settings.entries = 4;
    let (lease, keepalive) = ("30ms".parse().unwrap(), "6ms".parse().unwrap());
    spec.settings.views = Some(ViewSettings { lease, keepalive, ..ViewSettings::default() });
    spec.faults = vec![fault.parse().unwrap()];
    spec.until = Some("150ms".parse().unwrap());
    spec
}

const VIEW_FAULTS: [&str; 4] =
    ["crash 2 at 9ms", "pause 1 at 5ms for 70ms", "cut 1,2 | 3,4 at 9ms for 60ms", "crash 3 at 9ms for 20ms"];

#[test]
fn texts_do_not_overlap_with_views() {
    for (seed, fault) in (1..=8).zip(VIEW_FAULTS.iter().cycle()) {
        let drawing = draw_run(&spec_with_views(seed, fault), Options::default());
        for width in [700, svg::DEFAULT_WIDTH] {
            let svg = svg::draw(&drawing, &svg::Options { width, ..svg::Options::default() });
            check_layout(&svg, &format!("seed {seed}, {fault}, {width}"));
            assert!(svg.contains("view 1: 1,2,3,4"), "seed {seed}, {fault}");
        }
    }
}

#[test]
fn runs_of_three_families_can_be_drawn() {
    let mut election = Spec::<Election>::named("raft").unwrap();
    election.nodes = 5;
    election.faults = vec!["crash 1 at 5ms for 300ms".parse().unwrap()];
    check_layout(
        &svg::draw(&draw_run(&election, Options { max_steps: 4_000, ..Options::default() }), &svg::Options::default()),
        "raft",
    );
    let window = Window { to: Some(Time::from_nanos(200_000_000)), ..Window::default() };
    let replica = Spec::<Replica>::named("replica").unwrap();
    check_layout(
        &svg::draw(&draw_run(&replica, Options { window, ..Options::default() }), &svg::Options::default()),
        "replica",
    );
    let central = Spec::<Mutex>::named("central").unwrap();
    check_layout(&svg::draw(&draw_run(&central, Options::default()), &svg::Options::default()), "central");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let bytes = || svg::draw(&draw_run(&spec_with_faults(3), Options::default()), &svg::Options::default());
    assert_eq!(bytes(), bytes());
}

#[test]
fn faults_and_roles_are_shown() {
    let drawing = draw_run(&spec_with_faults(5), Options::default());
    let svg = svg::draw(&drawing, &svg::Options::default());
    let (_, texts) = parse_svg(&svg);
    let is_shown = |wanted: &str| texts.iter().any(|text| text.text.contains(wanted));
    for wanted in [
        "cut 1 | 2,3",
        "link 1 > 3",
        "pause",
        "resumes",
        "crash",
        "message lost",
        "retransmission",
        "in the critical section",
    ] {
        assert!(is_shown(wanted), "no '{wanted}'");
    }
}

/// A picture of a window shows its steps with the same roles and logical clocks as the picture of
/// the whole run.
#[test]
fn a_window_shows_the_same_steps_as_the_whole_run() {
    for seed in 1..=8 {
        let whole = draw_run(&spec_with_faults(seed), Options::default());
        let whole = expect_scene(&whole);
        let (from, to) = (Time::from_nanos(6_000_000), Time::from_nanos(40_000_000));
        let nodes = BTreeSet::from([NodeId::new(1).unwrap(), NodeId::new(3).unwrap()]);
        let window = Window { from: Some(from), to: Some(to), nodes: nodes.clone() };
        let part = draw_run(&spec_with_faults(seed), Options { window, ..Options::default() });
        let part = expect_scene(&part);
        let steps_in_window = |scene: &Scene| -> Vec<(u64, String, Role, u64)> {
            let shown = scene.steps.iter().filter(|step| (from..=to).contains(&step.position.time));
            let node = |lane: usize| scene.lanes[lane].node;
            let shown = shown.filter(|step| nodes.contains(&node(step.lane)));
            shown.map(|step| (step.line, step.input.clone(), step.role, step.logical_clock)).collect()
        };
        assert_eq!(steps_in_window(whole), steps_in_window(part));
        assert_eq!(part.lanes.iter().map(|lane| lane.node).collect::<BTreeSet<_>>(), nodes);
        assert!(part.omitted.lines_before > 0 && part.omitted.lines_after > 0);
        check_layout(&svg::draw_scene(part, &svg::Options::default()), "a window");
    }
}

#[test]
fn spans_are_contiguous_and_arrows_lead_to_later_steps() {
    for seed in 1..=40 {
        let drawing = draw_run(&spec_with_faults(seed), Options::default());
        let scene = expect_scene(&drawing);
        for lane in &scene.lanes {
            for pair in lane.spans.windows(2) {
                assert_eq!(pair[0].to, pair[1].from);
                assert_ne!(pair[0].role, pair[1].role);
            }
        }
        for (tail, head, arrow) in arrived_arrows(scene) {
            assert!(tail.position < head.position);
            assert_eq!((tail.lane, head.lane), (arrow.from, arrow.to));
        }
    }
}

fn arrived_arrows(scene: &Scene) -> impl Iterator<Item = (&Step, &Step, &Arrow)> {
    scene.arrows.iter().filter_map(|arrow| match (arrow.tail, arrow.head) {
        (Tail::Step(tail), Head::Step(head)) => Some((&scene.steps[tail], &scene.steps[head], arrow)),
        (_, _) => None,
    })
}

/// Without loss, links send no messages of their own, such as acknowledgements, so every message
/// carries its sender's clock. The first step in the picture has clock 1.
#[test]
fn clocks_grow_along_every_message() {
    for seed in 1..=20 {
        let mut spec = Spec::<Mutex>::named("ricart-agrawala").unwrap();
        spec.seed = seed;
        let drawing = draw_run(&spec, Options::default());
        let scene = expect_scene(&drawing);
        for (tail, head, _) in arrived_arrows(scene) {
            assert!(tail.logical_clock < head.logical_clock);
            let (before, after) = (tail.vector_clock.as_ref().unwrap(), head.vector_clock.as_ref().unwrap());
            assert!(before.iter().zip(after).all(|(before, after)| before <= after) && before != after);
        }
        let first = &scene.steps[0];
        assert_eq!((first.logical_clock, first.vector_clock.as_ref().unwrap().iter().sum::<u64>()), (1, 1));
    }
}

#[test]
fn a_lost_duplicate_and_the_copy_that_arrived_are_both_drawn() {
    let journal = concat!(
        r#"{"journal":1,"algorithm":"a","family":"f","nodes":2,"seed":7,"run":null}"#,
        "\n",
        r#"{"time":0,"node":1,"input":{"command":1},"effects":[{"send":{"id":"1.1","to":2,"kind":"k","bytes":3,"body":1}}]}"#,
        "\n",
        r#"{"time":1,"world":{"duplicated":{"id":"1.1"}}}"#,
        "\n",
        r#"{"time":5,"node":2,"input":{"message":{"id":"1.1","kind":"k"}},"effects":[]}"#,
        "\n",
        r#"{"time":6,"world":{"lost":{"id":"1.1","to":2,"why":"cut"}}}"#,
        "\n",
    );
    let drawing = draw_journal(journal, "a");
    let ends: Vec<_> = expect_scene(&drawing).arrows.iter().map(|arrow| (arrow.is_duplicate, arrow.head)).collect();
    assert!(matches!(ends[..], [(false, Head::Step(1)), (true, Head::Lost { .. })]), "{ends:?}");
}

#[test]
fn too_much_for_a_scene_becomes_an_overview() {
    let mut spec = spec_with_faults(1);
    spec.settings.entries = 400;
    spec.until = None;
    // Without the crash, which is the last fault, clients make all 400 entries.
    spec.faults.pop();
    let drawing = draw_run(&spec, Options::default());
    let Drawing::Overview(overview) = &drawing else { panic!("expected an overview, got a scene") };
    // Bins are merged in pairs when there would be more than 480.
    assert!(overview.bins.len() <= 480 && overview.bins.len() > 200, "{} bins", overview.bins.len());
    assert_eq!(overview.bins.iter().map(|bin| bin.steps).sum::<u64>(), overview.total.steps);
    assert_eq!(overview.total.times_chosen, 400);
    let covered_nanos: u64 = overview.rows[0].role_times.iter().map(|shares| shares.total()).sum();
    assert_eq!(covered_nanos, overview.to.since(overview.from).nanos());
    check_layout(&svg::draw(&drawing, &svg::Options::default()), "an overview");
}

#[test]
fn a_theme_can_be_forced() {
    let drawing = draw_run(&spec_with_faults(2), Options::default());
    let svg_of = |theme| svg::draw(&drawing, &svg::Options { theme, ..svg::Options::default() });
    assert!(svg_of(Theme::Auto).contains("prefers-color-scheme:dark"));
    assert!(
        !svg_of(Theme::Light).contains("prefers-color-scheme") && !svg_of(Theme::Dark).contains("prefers-color-scheme")
    );
    assert_ne!(svg_of(Theme::Light), svg_of(Theme::Dark));
}

#[test]
fn a_violation_is_shown_with_its_text() {
    let mut drawing = draw_run(&spec_with_faults(2), Options::default());
    let (time, line) = expect_scene(&drawing).steps.get(9).map(|step| (step.position.time, step.line)).unwrap();
    drawing.add_violation(Violation { time, line, text: "exclusion <fails>".into() });
    let svg = svg::draw(&drawing, &svg::Options::default());
    let (_, texts) = parse_svg(&svg);
    assert!(texts.iter().any(|text| text.class == "violation-label" && text.text == "exclusion <fails>"));
    check_layout(&svg, "a violation");
}

fn draw_journal(journal: &str, name: &str) -> Drawing {
    fn no_roles(_: &Moment<'_, Value, Value>, _: &[Role]) -> Option<(NodeId, Role)> {
        None
    }
    let mut journal = Journal::open(journal.as_bytes()).unwrap();
    let header = journal.header().clone();
    let heading = Heading { algorithm: name.to_owned(), nodes: 2, detail: name.to_owned(), ..Heading::default() };
    let mut scene_builder = SceneBuilder::<Value, Value>::new(&header, heading, no_roles, Options::default());
    journal.show_all(&mut scene_builder).unwrap();
    scene_builder.finish()
}

/// A journal is untrusted input.
#[test]
fn hostile_names_are_escaped() {
    let names = [
        "<script>alert(1)</script>",
        "\"'><svg onload=alert(1)>",
        "]]>--><!--",
        "&amp;&lt;&#x41;",
        "\u{202e}desrever\u{2066}\u{200f}",
        "שלום עולם",
        "\u{1b}[31mred\u{7}\u{0}\r\n",
        &"long ".repeat(2_000),
        "",
        "\u{fffe}\u{ffff}\u{feff}",
    ];
    for name in names {
        let text = serde_json::to_string(name).unwrap();
        let journal = format!(
            "{{\"journal\":1,\"algorithm\":{text},\"family\":{text},\"nodes\":2,\"seed\":7,\"run\":null}}\n\
             {{\"time\":0,\"node\":1,\"input\":{{\"command\":{text}}},\"effects\":[{{\"rule\":{{\"id\":{text},\"text\":{text}}}}},\
             {{\"emit\":{text}}},{{\"send\":{{\"id\":\"1.1\",\"to\":2,\"kind\":{text},\"bytes\":3,\"body\":{text}}}}}]}}\n\
             {{\"time\":5,\"node\":2,\"input\":{{\"message\":{{\"id\":\"1.1\",\"kind\":{text}}}}},\"effects\":[]}}\n\
             {{\"time\":6,\"world\":{{\"changed\":{text}}}}}\n"
        );
        let drawing = draw_journal(&journal, &quorate_journal::words::escape_controls(name));
        let svg = svg::draw(&drawing, &svg::Options::default());
        let (_, texts) = parse_svg(&svg);
        assert!(!svg.contains("<script") && !svg.contains("onload=alert(1)>"));
        if name.starts_with('<') {
            assert!(texts.iter().any(|text| text.class == "kind" && text.text.starts_with("<script>")));
        }
    }
}

#[test]
fn an_empty_run_can_be_drawn() {
    let header = experiment::header(&Spec::<Mutex>::named("central").unwrap()).unwrap();
    for nodes in [0, 1] {
        let header = quorate_journal::record::Header { nodes, ..header.clone() };
        let scene_builder = SceneBuilder::<quorate_core::mutex::Command, quorate_core::mutex::Event>::new(
            &header,
            Heading { algorithm: "central".into(), nodes, ..Heading::default() },
            Mutex::role_after,
            Options::default(),
        );
        check_layout(&svg::draw(&scene_builder.finish(), &svg::Options::default()), "an empty run");
    }
}

/// A run of several rows with many losses.
fn draw_long_run() -> Drawing {
    let mut spec = spec_with_faults(7);
    spec.settings.entries = 9;
    spec.loss = "0.3".parse().unwrap();
    spec.until = Some("120ms".parse().unwrap());
    draw_run(&spec, Options::default())
}

fn row_count(svg: &str) -> usize {
    svg.matches("<g transform=\"translate(0 ").count()
}

/// Wherever a property is violated, exactly one row shows it, even if the step itself is not drawn.
#[test]
fn a_violation_is_shown_in_one_of_many_rows() {
    let whole = draw_long_run();
    let lines: Vec<_> = expect_scene(&whole).steps.iter().map(|step| (step.position.time, step.line)).collect();
    for (time, line) in lines {
        for offset in [0, 1] {
            let mut drawing = whole.clone();
            drawing.add_violation(Violation { time, line: line + offset, text: "exclusion fails".into() });
            let svg = svg::draw(&drawing, &svg::Options::default());
            assert!(row_count(&svg) > 1);
            assert_eq!(svg.matches("class=\"violation-label\"").count(), 1, "line {line} + {offset}");
        }
    }
}

/// A message whose ends are in two rows is drawn twice with the same tooltip. A lost message has
/// one cross.
#[test]
fn rows_describe_messages_like_the_whole_scene() {
    let whole = draw_long_run();
    let svg = svg::draw(&whole, &svg::Options::default());
    assert!(row_count(&svg) > 2);
    let in_flight = expect_scene(&whole).arrows.iter().filter(|arrow| arrow.head == Head::InFlight).count();
    assert_eq!(svg.matches("does not arrive in this picture").count(), in_flight);
    assert_eq!(svg.matches("sent before this picture").count(), 0);
    let lost = expect_scene(&whole).arrows.iter().filter(|arrow| matches!(arrow.head, Head::Lost { .. })).count();
    let crosses = svg.matches("class=\"cross\"").count();
    let crashes =
        expect_scene(&whole).marks.iter().filter(|mark| mark.kind == quorate_draw::scene::MarkKind::Crashed).count();
    let pauses =
        expect_scene(&whole).marks.iter().filter(|mark| mark.kind == quorate_draw::scene::MarkKind::Paused).count();
    // A pause has two bars of this class, and the legend has two crosses.
    assert_eq!(crosses, lost + crashes + 2 * pauses + 2);
}

/// A node that holds the lock throughout a window in which nothing happens is shown, also in a
/// large group.
#[test]
fn a_window_without_events_shows_the_holder() {
    let mut spec = Spec::<Mutex>::named("central").unwrap();
    spec.nodes = 20;
    spec.settings.entries = 1;
    spec.settings.requesters = vec![NodeId::new(3).unwrap()];
    spec.settings.hold = Some("fixed:50ms".parse().unwrap());
    let whole = draw_run(&spec, Options::default());
    let enters = expect_scene(&whole).steps.iter().find(|step| step.role == Role::Chosen).unwrap().position.time;
    let later = |nanos: i64| Time::from_nanos(enters.nanos() + nanos);
    let window = Window { from: Some(later(10_000_000)), to: Some(later(20_000_000)), ..Window::default() };
    let part = draw_run(&spec, Options { window, ..Options::default() });
    let lanes: Vec<_> =
        expect_scene(&part).lanes.iter().map(|lane| (lane.node.index() + 1, lane.spans[0].role)).collect();
    assert_eq!(lanes, [(3, Role::Chosen)]);
    assert_eq!(expect_scene(&part).omitted.idle_nodes, 19);
}

/// A scene with too many messages becomes an overview, however few steps it has.
#[test]
fn too_many_messages_become_an_overview() {
    let mut spec = Spec::<Mutex>::named("ricart-agrawala").unwrap();
    spec.nodes = 60;
    spec.settings.entries = 20;
    let drawing =
        draw_run(&spec, Options { window: Window { to: Some(Time::ZERO), ..Window::default() }, ..Options::default() });
    assert!(matches!(drawing, Drawing::Scene(_)), "few messages are sent at time zero");
    let drawing = draw_run(&spec, Options { max_steps: 100_000, ..Options::default() });
    assert!(matches!(drawing, Drawing::Overview(_)));
}
