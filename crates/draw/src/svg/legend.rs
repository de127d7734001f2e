//! The legend below the picture: symbols and rules.

use super::arrows::{MessageKinds, draw_cross};
use super::canvas::{Anchor, Canvas, Number};
use super::lanes::{LEASE_EXPIRED_CLASS, draw_triangle, ribbon_class};
use super::layout::MARGIN;
use super::text::{text_width, truncate, wrap};
use super::views::lease_class;
use crate::scene::{Arrow, Cause, Head, InactiveReason, MarkKind, Scene};
use quorate_core::Class;
use quorate_journal::role::Role;
use std::collections::BTreeSet;

const FONT_SIZE: f64 = 12.5;
const ROW_HEIGHT: f64 = 23.0;
/// Width of a symbol and the space after it, in pixels.
const SYMBOL_WIDTH: f64 = 34.0;
/// Distance between two items side by side, in pixels.
const ITEM_GAP: f64 = 22.0;
/// Minimum width, in pixels, of a legend with two columns of rules.
const MIN_TWO_COLUMN_WIDTH: f64 = 860.0;

enum Symbol {
    Role(Role),
    MessageKind { line_class: &'static str, colour: &'static str },
    Command,
    Message,
    OtherInput,
    Start,
    Crash,
    Lost,
    Retransmission,
    Duplicate,
    Control,
    LeaseExpired,
    Lease { is_holder_up: bool },
    Frozen,
    Outside,
    Revoked,
    HeldBack,
}

/// Draws the legend below `top` and left of `right`. Returns its lower edge.
pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, kinds: &MessageKinds, top: f64, right: f64) -> f64 {
    let mut x = MARGIN;
    let mut y = top + 12.0;
    for (symbol, words) in symbols(scene, kinds) {
        let item_width = SYMBOL_WIDTH + text_width(&words, FONT_SIZE) + ITEM_GAP;
        if x + item_width > right && x > MARGIN {
            (x, y) = (MARGIN, y + ROW_HEIGHT);
        }
        draw_symbol(canvas, &symbol, (x, y - 4.5));
        canvas.text("legend", (x + SYMBOL_WIDTH, y), Anchor::Start, &words);
        x += item_width;
    }
    draw_rules(canvas, scene, y + ROW_HEIGHT + 3.0, right)
}

/// Draws the rules that are applied in the picture. Returns their lower edge.
fn draw_rules(canvas: &mut Canvas, scene: &Scene, top: f64, right: f64) -> f64 {
    let applied: BTreeSet<&str> =
        scene.steps.iter().flat_map(|step| &step.rules).map(|(rule, _)| rule.as_str()).collect();
    let rules = scene.heading.rules.iter().filter(|(rule, _)| applied.contains(rule.as_str()));
    let rules: Vec<_> = rules.collect();
    // Ids are bold, and so wider than regular text.
    let id_width = rules.iter().map(|(rule, _)| text_width(rule, FONT_SIZE) * 1.2).fold(0.0, f64::max) + 14.0;
    let columns = if right - MARGIN > MIN_TWO_COLUMN_WIDTH && rules.len() > 2 { 2 } else { 1 };
    let column_width = (right - MARGIN) / columns as f64;
    let mut column_bottoms = vec![top; columns];
    let rules_per_column = rules.len().div_ceil(columns).max(1);
    for (index, (rule, text)) in rules.iter().enumerate() {
        let column = (index / rules_per_column).min(columns - 1);
        let x = MARGIN + column as f64 * column_width;
        let Some(y) = column_bottoms.get_mut(column) else { continue };
        canvas.text("legend-rule", (x, *y), Anchor::Start, rule);
        for line in wrap(text, FONT_SIZE, column_width - id_width - 16.0) {
            canvas.text("legend", (x + id_width, *y), Anchor::Start, &line);
            *y += 18.0;
        }
        *y += 3.0;
    }
    column_bottoms.into_iter().fold(top, f64::max)
}

fn symbols(scene: &Scene, kinds: &MessageKinds) -> Vec<(Symbol, String)> {
    let mut symbols = Vec::new();
    let roles: Vec<Role> = scene.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.role).collect();
    for role in [Role::Idle, Role::Waiting, Role::Follows, Role::Chosen, Role::Paused, Role::Down] {
        let words = scene.heading.role_name(role);
        if roles.contains(&role) && !words.is_empty() {
            symbols.push((Symbol::Role(role), words.to_owned()));
        }
    }
    for kind in kinds.names() {
        let symbol = Symbol::MessageKind { line_class: kinds.line_class(kind), colour: kinds.colour(kind) };
        symbols.push((symbol, truncate(kind, 30)));
    }
    let has_arrow = |is_wanted: fn(&Arrow) -> bool| scene.arrows.iter().any(is_wanted);
    let has_step = |is_wanted: fn(&Cause) -> bool| scene.steps.iter().any(|step| is_wanted(&step.cause));
    let mut add_if = |occurs: bool, symbol: Symbol, words: &str| {
        if occurs {
            symbols.push((symbol, words.to_owned()));
        }
    };
    add_if(has_step(|cause| matches!(cause, Cause::Command)), Symbol::Command, "client command");
    add_if(has_step(|cause| matches!(cause, Cause::Message(_))), Symbol::Message, "message received");
    add_if(
        has_step(|cause| matches!(cause, Cause::Timer | Cause::Disk | Cause::Membership)),
        Symbol::OtherInput,
        "timer, disk or membership",
    );
    add_if(has_step(|cause| matches!(cause, Cause::EndOfTurn)), Symbol::OtherInput, "end of a turn");
    let has_resumed = scene.marks.iter().any(|mark| mark.kind == MarkKind::Resumed);
    add_if(has_resumed || has_step(|cause| matches!(cause, Cause::Start { .. })), Symbol::Start, "starts or resumes");
    add_if(scene.marks.iter().any(|mark| mark.kind == MarkKind::Crashed), Symbol::Crash, "crash");
    add_if(has_arrow(|arrow| matches!(arrow.head, Head::Lost { .. })), Symbol::Lost, "message lost");
    let is_retransmission = |arrow: &Arrow| arrow.is_retransmission && !arrow.is_duplicate;
    add_if(has_arrow(is_retransmission), Symbol::Retransmission, "retransmission");
    add_if(has_arrow(|arrow| arrow.is_duplicate), Symbol::Duplicate, "duplicate made by the network");
    // Control messages whose kind already has an item with a solid line: their dashes need an item
    // of their own.
    let is_control_of_coloured_kind =
        |arrow: &Arrow| arrow.class == Class::Control && !arrow.is_retransmission && kinds.is_coloured(&arrow.kind);
    add_if(scene.arrows.iter().any(is_control_of_coloured_kind), Symbol::Control, "control message");
    let has_queue = scene.lanes.iter().any(|lane| !lane.queues.is_empty());
    add_if(has_queue, Symbol::HeldBack, "held back");
    symbols.extend(view_symbols(scene));
    symbols
}

fn view_symbols(scene: &Scene) -> Vec<(Symbol, String)> {
    let has_leases = |is_holder_up: bool| {
        scene.lanes.iter().flat_map(|lane| &lane.leases).any(|lease| lease.is_holder_up == is_holder_up)
    };
    let has_inactive_span = |reason: InactiveReason| {
        scene.lanes.iter().flat_map(|lane| &lane.inactive_spans).any(|span| span.reason == reason)
    };
    let has_expired = scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.is_lease_expired);
    let chosen = scene.heading.role_name(Role::Chosen);
    let symbols = [
        (has_leases(true), Symbol::Lease { is_holder_up: true }, "lease".to_owned()),
        (has_leases(false), Symbol::Lease { is_holder_up: false }, "lease of a node that is down".to_owned()),
        (
            has_inactive_span(InactiveReason::Frozen),
            Symbol::Frozen,
            "frozen: no lease, or reports are missing".to_owned(),
        ),
        (has_inactive_span(InactiveReason::Outside), Symbol::Outside, InactiveReason::Outside.label().to_owned()),
        (has_expired, Symbol::LeaseExpired, format!("{chosen}, but its lease has expired")),
        (scene.steps.iter().any(|step| step.reports_revocation), Symbol::Revoked, "removed from the view".to_owned()),
    ];
    symbols.into_iter().filter(|(occurs, _, _)| *occurs).map(|(_, symbol, words)| (symbol, words)).collect()
}

fn draw_symbol(canvas: &mut Canvas, symbol: &Symbol, (x, y): (f64, f64)) {
    let middle = (x + 13.0, y);
    let stroke = |canvas: &mut Canvas, class: &str, colour: &str| {
        let [left, right, y] = [x, x + 26.0, y].map(Number);
        canvas.write_markup(format_args!(
            "<path class=\"{class}\" style=\"stroke:var(--{colour})\" d=\"M{left} {y}L{right} {y}\"/>"
        ));
    };
    match symbol {
        Symbol::Role(role) => {
            if let Some(class) = ribbon_class(*role) {
                canvas.rectangle(class, (x, y - 6.5), (26.0, 13.0), 3.0);
            }
            canvas.line(if *role == Role::Down { "down-lane" } else { "lane" }, (x, y), (x + 26.0, y));
        }
        Symbol::MessageKind { line_class, colour } => stroke(canvas, line_class, colour),
        Symbol::Command => canvas.circle("command", middle, 5.2),
        Symbol::Message => canvas.circle("dot", middle, 5.0),
        Symbol::OtherInput => canvas.circle("other-input", middle, 4.4),
        Symbol::Start => draw_triangle(canvas, middle),
        Symbol::Crash => draw_cross(canvas, middle, 6.0),
        Symbol::Lost => {
            stroke(canvas, "arrow", "faint");
            draw_cross(canvas, (x + 24.0, y), 4.5);
        }
        Symbol::Retransmission => stroke(canvas, "retransmission", "faint"),
        Symbol::Duplicate => stroke(canvas, "duplicate", "faint"),
        Symbol::Control => stroke(canvas, "control", "faint"),
        Symbol::LeaseExpired => {
            canvas.rectangle(LEASE_EXPIRED_CLASS, (x, y - 6.5), (26.0, 13.0), 3.0);
            canvas.line("lane", (x, y), (x + 26.0, y));
        }
        Symbol::Lease { is_holder_up } => canvas.line(lease_class(*is_holder_up), (x, y), (x + 26.0, y)),
        Symbol::Frozen => {
            canvas.line("lane", (x, y), (x + 26.0, y));
            canvas.rectangle("frozen", (x, y - 6.5), (26.0, 13.0), 3.0);
        }
        Symbol::Outside => canvas.line("outside", (x, y), (x + 26.0, y)),
        Symbol::Revoked => draw_cross(canvas, middle, 5.5),
        Symbol::HeldBack => {
            canvas.rectangle("tray", (x, y - 6.5), (26.0, 13.0), 4.0);
            canvas.rectangle("chip", (x + 4.0, y - 4.5), (14.0, 9.0), 3.0);
        }
    }
}
