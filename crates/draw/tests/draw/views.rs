//! Tests of views in pictures: the members that act together, their leases, and inactive nodes.
//!
//! A script here is a list of `Action`s; an effect, such as `rule` and `emit`, belongs to the step
//! of the last input. The scripts apply the view rules: by VW-1 a member freezes when its lease
//! expires, by VW-2 it is admitted or stops acting in a view, by VW-3 it begins to act, and by VW-5
//! its stay ends.

use crate::common::{Action, ms, scene_of, window_between};
use expect_test::{Expect, expect};
use quorate_core::Class;
use quorate_draw::scene::{InactiveReason, Lane};
use quorate_draw::terminal::{Options, draw, plain};
use quorate_draw::{Scene, Window, mermaid, svg};

fn rule(rule: &str, text: &str) -> Action {
    Action::Rule(rule.into(), text.into())
}

fn emit(text: &str) -> Action {
    Action::Emit(text.into())
}

fn report(to: u32) -> Action {
    Action::Send(to, "report".into(), Class::Control)
}

/// Three nodes form a group, each with a lease of 30 ms.
fn founding_script() -> Vec<Action> {
    // Each member's node, incarnation, and the view that it joined in.
    let members = vec![(1, 0, 1), (2, 0, 1), (3, 0, 1)];
    let member = |id| {
        let view = Action::View(id, 1, members.clone());
        [view, rule("VW-2", "is admitted"), Action::Lease(id, 30), Action::SetTimer, rule("VW-3", "begins")]
    };
    (1..=3).flat_map(member).collect()
}

/// Node 1 holds the lock and pauses for longer than its lease. The others continue without it, and
/// node 1 is no longer a member when it resumes.
fn removal_script() -> Vec<Action> {
    let members = vec![(2, 0, 1), (3, 0, 1)];
    let actions = [
        vec![Action::Wait(2), Action::Command(1, "acquire".into()), emit("ENTERS")],
        // Renewals are not shown, whatever events they cause.
        vec![
            Action::Wait(3),
            Action::Lease(1, 30),
            Action::SetTimer,
            emit("renewed"),
            Action::Lease(2, 60),
            Action::Lease(3, 60),
        ],
        vec![Action::Wait(5), Action::Pause(1), Action::Wait(30)],
        vec![Action::View(2, 2, members.clone()), rule("VW-2", "stops"), report(3)],
        vec![Action::View(3, 2, members.clone()), rule("VW-2", "stops"), report(2), Action::Wait(2)],
        vec![Action::Deliver(0), rule("VW-3", "begins"), Action::Wait(3), Action::Deliver(0), rule("VW-3", "begins")],
        vec![
            Action::Wait(5),
            Action::Resume(1),
            Action::Timer(1),
            rule("VW-1", "freezes: its lease has expired"),
            Action::Wait(1),
        ],
        vec![Action::View(1, 2, members), rule("VW-5", "is out"), emit("LEAVES"), rule("VW-5", "takes no part")],
    ];
    founding_script().into_iter().chain(actions.into_iter().flatten()).collect()
}

/// Returns the time spans in which a node is inactive: reason, start and end in milliseconds.
fn inactive_spans(lane: &Lane) -> Vec<(InactiveReason, i64, i64)> {
    let millis = |time: quorate_core::Time| time.nanos() / 1_000_000;
    lane.inactive_spans.iter().map(|span| (span.reason, millis(span.from.time), millis(span.to.time))).collect()
}

/// Returns the leases of a node: start and end in milliseconds, and whether the node is up.
fn leases(lane: &Lane) -> Vec<(i64, i64, bool)> {
    let millis = |time: quorate_core::Time| time.nanos() / 1_000_000;
    lane.leases.iter().map(|lease| (millis(lease.from.time), millis(lease.to.time), lease.is_holder_up)).collect()
}

fn check(scene: &Scene, expected: Expect) {
    expected.assert_eq(&draw(scene, &Options { width: Some(96) }, &plain));
}

#[test]
fn a_view_begins_when_the_first_member_acts_in_it() {
    let scene = scene_of(3, Window::default(), &removal_script());
    let view_spans: Vec<_> = scene
        .view_spans
        .iter()
        .map(|view_span| (view_span.label(), view_span.from.time, view_span.to.map(|to| to.time)))
        .collect();
    assert_eq!(view_spans, [("view 1: 1,2,3".into(), ms(0), Some(ms(42))), ("view 2: 2,3".into(), ms(42), None)]);
}

#[test]
fn a_renewed_lease_is_one_line_and_no_steps() {
    let scene = scene_of(3, Window::default(), &removal_script());
    assert_eq!(leases(&scene.lanes[0]), [(0, 35, true)]);
    assert_eq!(leases(&scene.lanes[1]), [(0, 65, true)]);
    let inputs: Vec<_> = scene.steps.iter().map(|step| step.input.as_str()).collect();
    let expected =
        ["acquire", "view 2 of 2,3", "view 2 of 2,3", "report from 2", "report from 3", "timer tick", "view 2 of 2,3"];
    assert_eq!(inputs, expected);
    assert_eq!(scene.omitted.quiet_steps, 0, "renewals are shown by the lease line, so they do not count as omitted");
}

#[test]
fn members_without_reports_or_lease_are_frozen_and_others_are_outside() {
    let scene = scene_of(3, Window::default(), &removal_script());
    // The lease of node 1 ended at 35 ms; at 42 ms node 3 began to act in a view without it.
    assert_eq!(inactive_spans(&scene.lanes[0]), [(InactiveReason::Frozen, 35, 42), (InactiveReason::Outside, 42, 51)]);
    assert_eq!(inactive_spans(&scene.lanes[1]), [(InactiveReason::Frozen, 40, 45)]);
    assert_eq!(inactive_spans(&scene.lanes[2]), [(InactiveReason::Frozen, 40, 42)]);
}

#[test]
fn an_entry_expires_with_the_lease_and_is_revoked_when_the_node_learns_of_it() {
    let scene = scene_of(3, Window::default(), &removal_script());
    let expired_spans = scene.lanes[0].spans.iter().filter(|span| span.is_lease_expired);
    let expired_spans: Vec<_> = expired_spans.map(|span| (span.from.time, span.to.time)).collect();
    assert_eq!((expired_spans.first().unwrap().0, expired_spans.last().unwrap().1), (ms(35), ms(51)));
    assert!(scene.lanes[1..].iter().flat_map(|lane| &lane.spans).all(|span| !span.is_lease_expired));
    let revocations: Vec<_> =
        scene.steps.iter().filter(|step| step.reports_revocation).map(|step| (step.lane, step.position.time)).collect();
    assert_eq!(revocations, [(0, ms(51))]);
}

#[test]
fn the_lease_of_a_crashed_node_lasts_until_it_expires_or_the_group_continues() {
    let members = vec![(2, 0, 1), (3, 0, 1)];
    let next_view =
        [Action::View(2, 2, members), rule("VW-2", "stops"), rule("VW-3", "begins"), Action::Wait(9), Action::Timer(2)];
    let leases_of_crashed_node = |wait_ms: i64| {
        let actions = [Action::Wait(5), Action::Crash(1), Action::Wait(wait_ms)];
        let actions: Vec<_> = founding_script().into_iter().chain(actions).chain(next_view.clone()).collect();
        leases(&scene_of(3, Window::default(), &actions).lanes[0])
    };
    assert_eq!(leases_of_crashed_node(30), [(0, 5, true), (5, 30, false)], "until it expires");
    assert_eq!(leases_of_crashed_node(10), [(0, 5, true), (5, 15, false)], "until the others act without it");
}

#[test]
fn a_lease_belongs_to_one_incarnation() {
    let members = vec![(1, 1, 2), (2, 0, 1), (3, 0, 1)];
    let actions = [
        vec![Action::Wait(5), Action::Crash(1), Action::Wait(1), Action::Start(1, 1), Action::Wait(1)],
        // The node's next incarnation is in no view yet, so this lease has no effect.
        vec![
            Action::Lease(1, 30),
            Action::Wait(1),
            Action::View(2, 2, members.clone()),
            rule("VW-3", "begins"),
            Action::Wait(1),
        ],
        vec![Action::View(1, 2, members), rule("VW-2", "is admitted"), Action::Wait(1)],
        vec![Action::Lease(1, 30), rule("VW-3", "begins"), Action::Wait(1), Action::Timer(1), rule("X-1", "continues")],
    ];
    let actions: Vec<_> = founding_script().into_iter().chain(actions.into_iter().flatten()).collect();
    let scene = scene_of(3, Window::default(), &actions);
    assert_eq!(leases(&scene.lanes[0]), [(0, 5, true), (5, 8, false), (10, 40, true)]);
    assert_eq!(inactive_spans(&scene.lanes[0]), [(InactiveReason::Outside, 6, 8), (InactiveReason::Frozen, 8, 10)]);
}

#[test]
fn a_window_begins_in_the_current_view() {
    let scene = scene_of(3, window_between(44, 60), &removal_script());
    let view_spans: Vec<_> = scene.view_spans.iter().map(quorate_draw::scene::ViewSpan::label).collect();
    assert_eq!(view_spans, ["view 2: 2,3"]);
    assert_eq!(inactive_spans(&scene.lanes[0]), [(InactiveReason::Outside, 42, 51)]);
    assert_eq!(leases(&scene.lanes[0]), [], "node 1's lease ended before the window");
    assert!(scene.lanes[0].spans.iter().any(|span| span.is_lease_expired));
    let text = draw(&scene, &Options { width: Some(96) }, &plain);
    assert!(text.contains("view 2 of 2,3 continues"), "{text}");
}

#[test]
fn only_the_first_report_for_a_view_is_named() {
    let scene = scene_of(3, Window::default(), &removal_script());
    let svg = svg::draw_scene(&scene, &svg::Options::default());
    let named_count = svg.matches("class=\"kind\"").count();
    let drawn_count = svg.matches("<path class=\"report\"").count();
    assert_eq!((named_count, drawn_count), (1, 3), "two arrows, and one in the legend");
}

#[test]
fn the_legend_explains_only_what_occurs() {
    let svg = svg::draw_scene(&scene_of(3, Window::default(), &removal_script()), &svg::Options::default());
    let words = [
        "view 1: 1,2,3",
        "view 2: 2,3",
        ">lease<",
        "frozen: no lease",
        "not in the view",
        "its lease has expired",
        "removed from the view",
    ];
    for wanted in words {
        assert!(svg.contains(wanted), "no '{wanted}'");
    }
    assert!(!svg.contains("node that is down"));
    let undisturbed = svg::draw_scene(&scene_of(3, Window::default(), &founding_script()), &svg::Options::default());
    assert!(
        undisturbed.contains(">lease<") && !undisturbed.contains("frozen:") && !undisturbed.contains("not in the view")
    );
    let actions = [Action::Command(1, "acquire".into()), emit("ENTERS")];
    let without_views = svg::draw_scene(&scene_of(3, Window::default(), &actions), &svg::Options::default());
    assert!(
        !without_views.contains("lease") && !without_views.contains("view-"),
        "the picture of a group without views must not mention them"
    );
}

#[test]
fn a_terminal_shows_views() {
    check(
        &scene_of(3, Window::default(), &removal_script()),
        expect![[r#"
            scripted · 3 nodes · seed 1
               time  1         2         3
              0.000 ═│═════════│═════════│═  view 1 of 1,2,3
              2.000  ◙         │         │   acquire · ENTERS
             10.000  ‖         │         │   node 1 is paused
             40.000  ▒         ●         │   view 2 of 2,3 · VW-2 stops · report → 3
                     ▒         ░         ●   view 2 of 2,3 · VW-2 stops · report → 2
             42.000 ═▒═════════░═════════│═  view 2 of 2,3
                     ▒         ├─report─▶○   VW-3 begins
             45.000  ▒         ○◀─report─┤   VW-3 begins
             50.000  ▸         │         │   node 1 resumes
                     ◙         │         │   timer tick · VW-1 freezes: its lease has expired
             51.000  ○         │         │   view 2 of 2,3 · VW-5 is out · LEAVES · VW-5 takes no part
            │ outside   █ inside   ┊ paused   ░ frozen   · not in the view
            ▒ inside, but its lease has expired   ● sends   ○ ◙ sends nothing   ‖ pauses   ▸ resumes
            times in milliseconds
        "#]],
    );
}

#[test]
fn a_sequence_diagram_shows_views_in_notes() {
    let text = mermaid::draw(&scene_of(3, Window::default(), &removal_script()));
    for wanted in ["Note over n1,n3: 42.000 ms · view 2 of 2,3", "VW-1 freezes", "VW-5 is out", "n2-->>n3: report"] {
        assert!(text.contains(wanted), "no '{wanted}' in {text}");
    }
    assert!(!text.contains("lease until"), "renewals must be left out: {text}");
}
