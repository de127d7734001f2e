//! The legend below the picture: symbols and rules.

use super::arrows::{Kinds, cross};
use super::canvas::{Anchor, Canvas, Number};
use super::lanes::{LEASE_EXPIRED, ribbon_class, triangle};
use super::layout::MARGIN;
use super::text::{shortened, width, wrapped};
use super::views::lease_class;
use crate::scene::{Arrow, Cause, Head, InactiveReason, MarkKind, Scene};
use quorate_core::Class;
use quorate_journal::role::Role;
use std::collections::BTreeSet;

const FONT_SIZE: f64 = 12.5;
const ROW: f64 = 23.0;

/// A symbol of the legend.
enum Symbol {
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
    LeaseExpired,
    Lease(bool),
    Frozen,
    Outside,
    Revoked,
    HeldBack,
}

/// Draws the legend below `top` and left of `right`. Returns its lower edge.
pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, kinds: &Kinds, top: f64, right: f64) -> f64 {
    let mut x = MARGIN;
    let mut y = top + 12.0;
    for (symbol, words) in symbols(scene, kinds) {
        let item_width = 34.0 + width(&words, FONT_SIZE) + 22.0;
        if x + item_width > right && x > MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        swatch(canvas, &symbol, (x, y - 4.5));
        canvas.text("legend", (x + 34.0, y), Anchor::Start, &words);
        x += item_width;
    }
    rules(canvas, scene, y + ROW + 3.0, right)
}

/// Draws the rules that are applied in the picture. Returns their lower edge.
fn rules(canvas: &mut Canvas, scene: &Scene, top: f64, right: f64) -> f64 {
    let used: BTreeSet<&str> = scene.steps.iter().flat_map(|step| &step.rules).map(|(rule, _)| rule.as_str()).collect();
    let known = scene.heading.rules.iter().filter(|(rule, _)| used.contains(rule.as_str()));
    let known: Vec<_> = known.collect();
    let id_width = known.iter().map(|(rule, _)| width(rule, FONT_SIZE) * 1.2).fold(0.0, f64::max) + 14.0;
    // Two columns if there is room.
    let columns = if right - MARGIN > 860.0 && known.len() > 2 { 2 } else { 1 };
    let column_width = (right - MARGIN) / columns as f64;
    let mut heights = vec![top; columns];
    let rules_per_column = known.len().div_ceil(columns).max(1);
    for (index, (rule, text)) in known.iter().enumerate() {
        let column = (index / rules_per_column).min(columns - 1);
        let x = MARGIN + column as f64 * column_width;
        let Some(y) = heights.get_mut(column) else { continue };
        canvas.text("legend-rule", (x, *y), Anchor::Start, rule);
        for line in wrapped(text, FONT_SIZE, column_width - id_width - 16.0) {
            canvas.text("legend", (x + id_width, *y), Anchor::Start, &line);
            *y += 18.0;
        }
        *y += 3.0;
    }
    heights.into_iter().fold(top, f64::max)
}

fn symbols(scene: &Scene, kinds: &Kinds) -> Vec<(Symbol, String)> {
    let mut symbols = Vec::new();
    let roles: Vec<Role> = scene.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.role).collect();
    for role in [Role::Idle, Role::Waiting, Role::Follows, Role::Chosen, Role::Paused, Role::Down] {
        let words = scene.heading.role_name(role);
        if roles.contains(&role) && !words.is_empty() {
            symbols.push((Symbol::Role(role), words.to_owned()));
        }
    }
    for kind in kinds.names() {
        symbols.push((Symbol::Kind(kinds.line_class(kind), kinds.colour(kind)), shortened(kind, 30)));
    }
    let arrows = |wanted: fn(&Arrow) -> bool| scene.arrows.iter().any(wanted);
    let steps = |wanted: fn(&Cause) -> bool| scene.steps.iter().any(|step| wanted(&step.cause));
    let mut add = |occurs: bool, symbol: Symbol, words: &str| {
        if occurs {
            symbols.push((symbol, words.to_owned()));
        }
    };
    add(steps(|cause| matches!(cause, Cause::Command)), Symbol::Command, "client command");
    add(steps(|cause| matches!(cause, Cause::Message(_))), Symbol::Message, "message received");
    add(
        steps(|cause| matches!(cause, Cause::Timer | Cause::Disk | Cause::Membership)),
        Symbol::Timer,
        "timer, disk or membership",
    );
    let has_resumed = scene.marks.iter().any(|mark| mark.kind == MarkKind::Resumed);
    add(has_resumed || steps(|cause| matches!(cause, Cause::Start { .. })), Symbol::Start, "starts or resumes");
    add(scene.marks.iter().any(|mark| mark.kind == MarkKind::Crashed), Symbol::Crash, "crash");
    add(arrows(|arrow| matches!(arrow.head, Head::Lost { .. })), Symbol::Lost, "message lost");
    add(arrows(|arrow| arrow.is_retransmission && !arrow.is_duplicate), Symbol::Repeat, "retransmission");
    add(arrows(|arrow| arrow.is_duplicate), Symbol::Copy, "duplicate made by the network");
    let is_control_of_algorithm_kind = |arrow: &Arrow| {
        arrow.class == Class::Control && !arrow.is_retransmission && kinds.line_class(&arrow.kind) == "arrow"
    };
    add(scene.arrows.iter().any(is_control_of_algorithm_kind), Symbol::Control, "control message");
    let has_queue = scene.lanes.iter().any(|lane| !lane.queues.is_empty());
    add(has_queue, Symbol::HeldBack, "held back");
    symbols.extend(view_symbols(scene));
    symbols
}

fn view_symbols(scene: &Scene) -> Vec<(Symbol, String)> {
    let has_leases = |is_holder_up: bool| {
        scene.lanes.iter().flat_map(|lane| &lane.leases).any(|lease| lease.is_holder_up == is_holder_up)
    };
    let inactive_spans = |reason: InactiveReason| {
        scene.lanes.iter().flat_map(|lane| &lane.inactive_spans).any(|span| span.reason == reason)
    };
    let has_expired = scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.lease_expired);
    let chosen = scene.heading.role_name(Role::Chosen);
    let symbols = [
        (has_leases(true), Symbol::Lease(true), "lease".to_owned()),
        (has_leases(false), Symbol::Lease(false), "lease of a node that is down".to_owned()),
        (inactive_spans(InactiveReason::Frozen), Symbol::Frozen, "frozen: no lease, or reports are missing".to_owned()),
        (inactive_spans(InactiveReason::Outside), Symbol::Outside, InactiveReason::Outside.label().to_owned()),
        (has_expired, Symbol::LeaseExpired, format!("{chosen}, but its lease has expired")),
        (scene.steps.iter().any(|step| step.revoked), Symbol::Revoked, "removed from the view".to_owned()),
    ];
    symbols.into_iter().filter(|(occurs, _, _)| *occurs).map(|(_, symbol, words)| (symbol, words)).collect()
}

fn swatch(canvas: &mut Canvas, symbol: &Symbol, (x, y): (f64, f64)) {
    let middle = (x + 13.0, y);
    let stroke = |canvas: &mut Canvas, class: &str, colour: &str| {
        let [left, right, y] = [x, x + 26.0, y].map(Number);
        canvas.raw(format_args!(
            "<path class=\"{class}\" style=\"stroke:var(--{colour})\" d=\"M{left} {y}L{right} {y}\"/>"
        ));
    };
    match symbol {
        Symbol::Role(role) => {
            if let Some(class) = ribbon_class(*role) {
                canvas.rectangle(class, (x, y - 6.5), (26.0, 13.0), 3.0);
            }
            canvas.line(if *role == Role::Down { "gone" } else { "lane" }, (x, y), (x + 26.0, y));
        }
        Symbol::Kind(line_class, colour) => stroke(canvas, line_class, colour),
        Symbol::Command => canvas.circle("command", middle, 5.2),
        Symbol::Message => canvas.circle("dot", middle, 5.0),
        Symbol::Timer => canvas.circle("tick", middle, 4.4),
        Symbol::Start => triangle(canvas, middle),
        Symbol::Crash => cross(canvas, middle, 6.0),
        Symbol::Lost => {
            stroke(canvas, "arrow", "faint");
            cross(canvas, (x + 24.0, y), 4.5);
        }
        Symbol::Repeat => stroke(canvas, "repeat", "faint"),
        Symbol::Copy => stroke(canvas, "copy", "faint"),
        Symbol::Control => stroke(canvas, "control", "faint"),
        Symbol::LeaseExpired => {
            canvas.rectangle(LEASE_EXPIRED, (x, y - 6.5), (26.0, 13.0), 3.0);
            canvas.line("lane", (x, y), (x + 26.0, y));
        }
        Symbol::Lease(is_holder_up) => canvas.line(lease_class(*is_holder_up), (x, y), (x + 26.0, y)),
        Symbol::Frozen => {
            canvas.line("lane", (x, y), (x + 26.0, y));
            canvas.rectangle("frozen", (x, y - 6.5), (26.0, 13.0), 3.0);
        }
        Symbol::Outside => canvas.line("outside", (x, y), (x + 26.0, y)),
        Symbol::Revoked => cross(canvas, middle, 5.5),
        Symbol::HeldBack => {
            canvas.rectangle("tray", (x, y - 6.5), (26.0, 13.0), 4.0);
            canvas.rectangle("chip", (x + 4.0, y - 4.5), (14.0, 9.0), 3.0);
        }
    }
}
