//! The legend below the picture: symbols and rules.

use super::arrows::{Kinds, cross};
use super::canvas::{Anchor, Canvas, Number};
use super::lanes::{OVER, class, triangle};
use super::sheet::MARGIN;
use super::text::{shortened, width, wrapped};
use super::views::lease_class;
use crate::scene::{Arrow, Blow, Cause, Head, Scene, Stillness};
use quorate_core::Class;
use quorate_journal::role::Role;
use std::collections::BTreeSet;

const LETTERS: f64 = 12.5;
const ROW: f64 = 23.0;

/// A symbol of the legend.
enum Sign {
    Role(Role),
    Kind(&'static str, &'static str),
    Command,
    Message,
    Timer,
    Start,
    Crash,
    Lost,
    Repeat,
    Copy,
    Control,
    Over,
    Lease(bool),
    Frozen,
    Outside,
    Loses,
    HeldBack,
}

/// Draws the legend below `top` and left of `right`. Returns its lower edge.
pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, kinds: &Kinds, top: f64, right: f64) -> f64 {
    let mut x = MARGIN;
    let mut y = top + 12.0;
    for (sign, words) in signs(scene, kinds) {
        let wide = 34.0 + width(&words, LETTERS) + 22.0;
        if x + wide > right && x > MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        swatch(canvas, &sign, (x, y - 4.5));
        canvas.text("legend", (x + 34.0, y), Anchor::Start, &words);
        x += wide;
    }
    rules(canvas, scene, y + ROW + 3.0, right)
}

/// Draws the rules that are applied in the picture. Returns their lower edge.
fn rules(canvas: &mut Canvas, scene: &Scene, top: f64, right: f64) -> f64 {
    let used: BTreeSet<&str> = scene.steps.iter().flat_map(|step| &step.rules).map(|(rule, _)| rule.as_str()).collect();
    let known = scene.heading.rules.iter().filter(|(rule, _)| used.contains(rule.as_str()));
    let known: Vec<_> = known.collect();
    let names = known.iter().map(|(rule, _)| width(rule, LETTERS) * 1.2).fold(0.0, f64::max) + 14.0;
    // Two columns if there is room.
    let columns = if right - MARGIN > 860.0 && known.len() > 2 { 2 } else { 1 };
    let wide = (right - MARGIN) / columns as f64;
    let mut heights = vec![top; columns];
    let each = known.len().div_ceil(columns).max(1);
    for (index, (rule, text)) in known.iter().enumerate() {
        let column = (index / each).min(columns - 1);
        let x = MARGIN + column as f64 * wide;
        let Some(y) = heights.get_mut(column) else { continue };
        canvas.text("legend-rule", (x, *y), Anchor::Start, rule);
        for line in wrapped(text, LETTERS, wide - names - 16.0) {
            canvas.text("legend", (x + names, *y), Anchor::Start, &line);
            *y += 18.0;
        }
        *y += 3.0;
    }
    heights.into_iter().fold(top, f64::max)
}

fn signs(scene: &Scene, kinds: &Kinds) -> Vec<(Sign, String)> {
    let mut signs = Vec::new();
    let stood: Vec<Role> = scene.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.role).collect();
    for role in [Role::Idle, Role::Waiting, Role::Follows, Role::Chosen, Role::Paused, Role::Down] {
        let words = scene.heading.words(role);
        if stood.contains(&role) && !words.is_empty() {
            signs.push((Sign::Role(role), words.to_owned()));
        }
    }
    for kind in kinds.names() {
        signs.push((Sign::Kind(kinds.manner(kind), kinds.colour(kind)), shortened(kind, 30)));
    }
    let arrows = |wanted: fn(&Arrow) -> bool| scene.arrows.iter().any(wanted);
    let steps = |wanted: fn(&Cause) -> bool| scene.steps.iter().any(|step| wanted(&step.cause));
    let mut add = |there: bool, sign: Sign, words: &str| {
        if there {
            signs.push((sign, words.to_owned()));
        }
    };
    add(steps(|cause| matches!(cause, Cause::Command)), Sign::Command, "client command");
    add(steps(|cause| matches!(cause, Cause::Message(_))), Sign::Message, "message received");
    add(
        steps(|cause| matches!(cause, Cause::Timer | Cause::Disk | Cause::Membership)),
        Sign::Timer,
        "timer, disk or membership",
    );
    let resumed = scene.marks.iter().any(|mark| mark.what == Blow::Resumed);
    add(resumed || steps(|cause| matches!(cause, Cause::Start { .. })), Sign::Start, "starts or resumes");
    add(scene.marks.iter().any(|mark| mark.what == Blow::Crashed), Sign::Crash, "crash");
    add(arrows(|arrow| matches!(arrow.head, Head::Lost { .. })), Sign::Lost, "message lost");
    add(arrows(|arrow| arrow.again && !arrow.copy), Sign::Repeat, "retransmission");
    add(arrows(|arrow| arrow.copy), Sign::Copy, "duplicate made by the network");
    let shared = |arrow: &Arrow| arrow.class == Class::Control && !arrow.again && kinds.manner(&arrow.kind) == "arrow";
    add(scene.arrows.iter().any(shared), Sign::Control, "control message");
    let holds = scene.lanes.iter().any(|lane| !lane.queues.is_empty());
    add(holds, Sign::HeldBack, "held back");
    signs.extend(view_signs(scene));
    signs
}

fn view_signs(scene: &Scene) -> Vec<(Sign, String)> {
    let leases = |used: bool| scene.lanes.iter().flat_map(|lane| &lane.leases).any(|lease| lease.used == used);
    let stills = |why: Stillness| scene.lanes.iter().flat_map(|lane| &lane.stills).any(|still| still.why == why);
    let over = scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.over);
    let chosen = scene.heading.words(Role::Chosen);
    let signs = [
        (leases(true), Sign::Lease(true), "lease".to_owned()),
        (leases(false), Sign::Lease(false), "lease of a node that is down".to_owned()),
        (stills(Stillness::Frozen), Sign::Frozen, "frozen: no lease, or reports are missing".to_owned()),
        (stills(Stillness::Outside), Sign::Outside, Stillness::Outside.words().to_owned()),
        (over, Sign::Over, format!("{chosen}, but its lease has expired")),
        (scene.steps.iter().any(|step| step.loses), Sign::Loses, "removed from the view".to_owned()),
    ];
    signs.into_iter().filter(|(there, _, _)| *there).map(|(_, sign, words)| (sign, words)).collect()
}

fn swatch(canvas: &mut Canvas, sign: &Sign, (x, y): (f64, f64)) {
    let middle = (x + 13.0, y);
    let stroke = |canvas: &mut Canvas, class: &str, colour: &str| {
        let [left, right, y] = [x, x + 26.0, y].map(Number);
        canvas.raw(format_args!(
            "<path class=\"{class}\" style=\"stroke:var(--{colour})\" d=\"M{left} {y}L{right} {y}\"/>"
        ));
    };
    match sign {
        Sign::Role(role) => {
            if let Some(class) = class(*role) {
                canvas.rectangle(class, (x, y - 6.5), (26.0, 13.0), 3.0);
            }
            canvas.line(if *role == Role::Down { "gone" } else { "lane" }, (x, y), (x + 26.0, y));
        }
        Sign::Kind(manner, colour) => stroke(canvas, manner, colour),
        Sign::Command => canvas.circle("asked", middle, 5.2),
        Sign::Message => canvas.circle("dot", middle, 5.0),
        Sign::Timer => canvas.circle("tick", middle, 4.4),
        Sign::Start => triangle(canvas, middle),
        Sign::Crash => cross(canvas, middle, 6.0),
        Sign::Lost => {
            stroke(canvas, "arrow", "faint");
            cross(canvas, (x + 24.0, y), 4.5);
        }
        Sign::Repeat => stroke(canvas, "repeat", "faint"),
        Sign::Copy => stroke(canvas, "copy", "faint"),
        Sign::Control => stroke(canvas, "control", "faint"),
        Sign::Over => {
            canvas.rectangle(OVER, (x, y - 6.5), (26.0, 13.0), 3.0);
            canvas.line("lane", (x, y), (x + 26.0, y));
        }
        Sign::Lease(used) => canvas.line(lease_class(*used), (x, y), (x + 26.0, y)),
        Sign::Frozen => {
            canvas.line("lane", (x, y), (x + 26.0, y));
            canvas.rectangle("frozen", (x, y - 6.5), (26.0, 13.0), 3.0);
        }
        Sign::Outside => canvas.line("outside", (x, y), (x + 26.0, y)),
        Sign::Loses => cross(canvas, middle, 5.5),
        Sign::HeldBack => {
            canvas.rectangle("tray", (x, y - 6.5), (26.0, 13.0), 4.0);
            canvas.rectangle("chip", (x + 4.0, y - 4.5), (14.0, 9.0), 3.0);
        }
    }
}
