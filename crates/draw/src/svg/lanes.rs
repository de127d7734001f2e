//! Draws the lanes: the roles of nodes as coloured ribbons, their steps, and the faults that affect
//! them.

use super::arrows::draw_cross;
use super::canvas::{Anchor, Canvas, Number};
use super::layout::{Layout, MARGIN, RIBBON_HALF_HEIGHT};
use super::notes::format_vector_clock;
use super::text::bold_width;
use super::views;
use crate::scene::{Cause, Lane, MarkKind, RoleSpan, Scene, Step, TimePosition};
use quorate_journal::role::Role;
use quorate_journal::words::format_millis;

/// Returns the CSS class of the ribbon of a role, if it has one.
pub(super) fn ribbon_class(role: Role) -> Option<&'static str> {
    match role {
        Role::Idle => None,
        Role::Waiting => Some("waiting"),
        Role::Follows => Some("follows"),
        Role::Chosen => Some("chosen"),
        Role::Paused => Some("paused"),
        Role::Down => Some("down"),
    }
}

/// CSS class of the ribbon of a chosen node (in the critical section or leader) whose lease has
/// expired.
pub(super) const LEASE_EXPIRED_CLASS: &str = "lease-expired";

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    for (lane_index, (lane, y)) in scene.lanes.iter().zip(&layout.lanes).enumerate() {
        canvas.text("node", (MARGIN, y + 5.0), Anchor::Start, &format!("node {}", lane.node));
        let steps = scene.steps.iter().filter(|step| step.lane == lane_index);
        let mut dots: Vec<f64> = steps.map(|step| layout.axis.x_of_event(step.position.order)).collect();
        dots.sort_by(f64::total_cmp);
        for (index, span) in lane.spans.iter().enumerate() {
            let begin = if index == 0 { layout.axis.left_edge() } else { layout.axis.x_at(span.from) };
            let (from, to) = (begin, span_end_x(scene, layout, span.to));
            let line_class = if span.role == Role::Down { "down-lane" } else { "lane" };
            for (from, to, is_outside) in views::split_at_view_edges(scene, layout, lane, (from, to)) {
                let part_class = if is_outside && span.role != Role::Down { "outside" } else { line_class };
                canvas.line(part_class, (from, *y), (to, *y));
            }
            if to > from {
                draw_ribbon(canvas, scene, lane, &dots, span, (from, to), *y);
            }
        }
        views::draw_lane(canvas, scene, layout, lane, &dots, *y);
    }
}

/// Returns the horizontal position at which a span ends: the right edge of the lanes if no step or
/// mark follows.
pub(super) fn span_end_x(scene: &Scene, layout: &Layout, to: TimePosition) -> f64 {
    let event_count = scene.steps.len() + scene.marks.len();
    if to.order >= event_count { layout.axis.right_edge() } else { layout.axis.x_at(to) }
}

fn draw_ribbon(
    canvas: &mut Canvas,
    scene: &Scene,
    lane: &Lane,
    dots: &[f64],
    span: &RoleSpan,
    (from, to): (f64, f64),
    y: f64,
) {
    // A paused node keeps its role, which is drawn under the stripes.
    let role_under_pause = (span.role == Role::Paused).then_some(span.family_role);
    let class = |role: Role| {
        if role == Role::Chosen && span.is_lease_expired { Some(LEASE_EXPIRED_CLASS) } else { ribbon_class(role) }
    };
    let classes: Vec<_> = role_under_pause.into_iter().chain([span.role]).filter_map(class).collect();
    if classes.is_empty() {
        return;
    }
    let role_name = scene.heading.role_name(span.role);
    let name_under_pause = role_under_pause.map_or("", |role| scene.heading.role_name(role));
    let under_pause = if name_under_pause.is_empty() { String::new() } else { format!(" ({name_under_pause})") };
    let lease_suffix = if span.is_lease_expired { ", but its lease has expired" } else { "" };
    let tooltip = format!("node {}: {role_name}{under_pause}{lease_suffix}", lane.node);
    canvas.group_with_tooltip("span", &tooltip, |canvas| {
        for class in classes {
            canvas.rectangle(class, (from, y - RIBBON_HALF_HEIGHT), (to - from, 2.0 * RIBBON_HALF_HEIGHT), 4.0);
        }
        let words = scene.heading.role_name(Role::Chosen);
        if role_under_pause.unwrap_or(span.role) == Role::Chosen
            && !span.is_lease_expired
            && let Some(middle) = widest_gap_middle(dots, from, to, bold_width(words, 12.0) + 18.0)
        {
            canvas.text("role-name", (middle, y + 4.0), Anchor::Middle, words);
        }
    });
}

/// Returns the middle of the widest gap between dots, if a text of this width fits into it.
pub(super) fn widest_gap_middle(dots: &[f64], from: f64, to: f64, min_width: f64) -> Option<f64> {
    let inner = dots.iter().copied().filter(|dot| from < *dot && *dot < to);
    let edges: Vec<f64> = std::iter::once(from).chain(inner).chain([to]).collect();
    let gaps = edges.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    let widest = gaps.max_by(|one, other| (one.1 - one.0).total_cmp(&(other.1 - other.0)));
    widest.filter(|(left, right)| right - left >= min_width).map(|(left, right)| f64::midpoint(left, right))
}

/// Draws steps and marks on top of ribbons and arrows.
pub(super) fn draw_steps(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    for step in &scene.steps {
        let Some(y) = layout.lanes.get(step.lane) else { continue };
        let position = (layout.axis.x_of_event(step.position.order), *y);
        canvas.group_with_tooltip("step", &tooltip(scene, step), |canvas| match step.cause {
            Cause::Command => canvas.circle("command", position, 5.2),
            Cause::Start { .. } => draw_triangle(canvas, position),
            Cause::Message(_) => canvas.circle("dot", position, 5.0),
            Cause::Membership if step.reports_revocation => draw_cross(canvas, position, 5.5),
            Cause::Timer | Cause::Disk | Cause::EndOfTurn | Cause::Membership => {
                canvas.circle("other-input", position, 4.4);
            }
        });
    }
    for mark in &scene.marks {
        let Some(y) = mark.lane.and_then(|lane| layout.lanes.get(lane)) else { continue };
        let (x, y) = (layout.axis.x_of_event(mark.position.order), *y);
        let tooltip = format!("{} ms: {}", format_millis(scene.relative(mark.position.time)), mark.text);
        canvas.group_with_tooltip("fault", &tooltip, |canvas| match mark.kind {
            MarkKind::Crashed => draw_cross(canvas, (x, y), 6.5),
            MarkKind::Stopped => canvas.line("lane", (x, y - 9.0), (x, y + 9.0)),
            MarkKind::Paused => {
                canvas.line("cross", (x - 2.5, y - 7.0), (x - 2.5, y + 7.0));
                canvas.line("cross", (x + 2.5, y - 7.0), (x + 2.5, y + 7.0));
            }
            MarkKind::Resumed => draw_triangle(canvas, (x, y)),
            // Such a mark has no lane; `bands` draws it over all lanes.
            MarkKind::Changed => {}
        });
    }
}

pub(super) fn draw_triangle(canvas: &mut Canvas, (x, y): (f64, f64)) {
    let [left, right, top, middle, bottom] = [x - 4.0, x + 7.0, y - 7.0, y, y + 7.0].map(Number);
    canvas.write_markup(format_args!("<path class=\"start\" d=\"M{left} {top}L{right} {middle}L{left} {bottom}Z\"/>"));
}

fn tooltip(scene: &Scene, step: &Step) -> String {
    let node = scene.lanes.get(step.lane).map_or_else(String::new, |lane| lane.node.to_string());
    let mut text = format!("node {node} at {} ms: {}", format_millis(scene.relative(step.position.time)), step.input);
    for (_, effect) in &step.effects {
        text.push_str("\n  ");
        text.push_str(effect);
    }
    text.push_str(&format!("\nlogical clock {}", step.logical_clock));
    if step.vector_clock.is_some() {
        text.push_str(&format!(", vector clock {}", format_vector_clock(step)));
    }
    text.push_str(&format!("\nline {} of the journal", step.line));
    text
}
