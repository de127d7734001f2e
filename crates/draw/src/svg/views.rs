//! Draws the effects of views on lanes: leases, frozen nodes and nodes outside the view. A frozen
//! node is in the view, but may not act: it has no lease, or lacks reports of other members. The
//! views themselves are drawn in `bands`.

use super::canvas::{Anchor, Canvas};
use super::lanes::{span_end_x, widest_gap_middle};
use super::layout::{Layout, RIBBON_HALF_HEIGHT};
use super::text::text_width;
use crate::scene::{InactiveReason, InactiveSpan, Lane, Lease, Scene, TimePosition};
use quorate_journal::role::Role;
use quorate_journal::words::format_millis;

/// Distance of a lease line below the middle of its lane.
pub(super) const LEASE_OFFSET: f64 = RIBBON_HALF_HEIGHT + 3.0;
/// Half height of the uncoloured area around the lane of a node outside the view.
const HOLE_HALF_HEIGHT: f64 = RIBBON_HALF_HEIGHT + 7.0;
const FONT_SIZE: f64 = 11.0;

fn x_range(scene: &Scene, layout: &Layout, from: TimePosition, to: TimePosition) -> (f64, f64) {
    let edge = layout.axis.left_edge();
    (layout.axis.x_at(from).max(edge), span_end_x(scene, layout, to).max(edge))
}

fn ends_in_scene(scene: &Scene, to: TimePosition) -> bool {
    to.time <= scene.to || to.order < scene.steps.len() + scene.marks.len()
}

/// Erases the colour of a view around the lanes of nodes that are not in it.
pub(super) fn draw_holes(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    for (lane, y) in scene.lanes.iter().zip(&layout.lanes) {
        for inactive in lane.inactive_spans.iter().filter(|inactive| inactive.reason == InactiveReason::Outside) {
            let (from, to) = x_range(scene, layout, inactive.from, inactive.to);
            if to > from {
                canvas.rectangle("hole", (from, y - HOLE_HALF_HEIGHT), (to - from, 2.0 * HOLE_HALF_HEIGHT), 0.0);
            }
        }
    }
}

/// Splits a horizontal range of a lane into parts: left and right edge, and whether the node is
/// outside the view.
pub(super) fn split_at_view_edges(
    scene: &Scene,
    layout: &Layout,
    lane: &Lane,
    (from, to): (f64, f64),
) -> Vec<(f64, f64, bool)> {
    let mut parts = Vec::new();
    let mut covered_to = from;
    for inactive in lane.inactive_spans.iter().filter(|inactive| inactive.reason == InactiveReason::Outside) {
        let (begin, end) = x_range(scene, layout, inactive.from, inactive.to);
        let (begin, end) = (begin.clamp(covered_to, to.max(covered_to)), end.clamp(covered_to, to.max(covered_to)));
        parts.extend([(covered_to, begin, false), (begin, end, true)]);
        covered_to = end;
    }
    parts.push((covered_to, to, false));
    parts.retain(|(from, to, _)| to > from);
    parts
}

/// Draws the frozen spans and the leases of a node. `dots` are the horizontal positions of its
/// steps, which the word for a frozen span must not touch.
pub(super) fn draw_lane(canvas: &mut Canvas, scene: &Scene, layout: &Layout, lane: &Lane, dots: &[f64], y: f64) {
    for inactive in lane.inactive_spans.iter().filter(|inactive| inactive.reason == InactiveReason::Frozen) {
        draw_frozen(canvas, scene, layout, lane, inactive, dots, y);
    }
    for lease in &lane.leases {
        draw_lease(canvas, scene, layout, lane, lease, y + LEASE_OFFSET);
    }
}

fn draw_frozen(
    canvas: &mut Canvas,
    scene: &Scene,
    layout: &Layout,
    lane: &Lane,
    inactive: &InactiveSpan,
    dots: &[f64],
    y: f64,
) {
    let (from, to) = x_range(scene, layout, inactive.from, inactive.to);
    if to <= from {
        return;
    }
    let [begin, end] = [inactive.from, inactive.to].map(|position| format_millis(scene.relative(position.time)));
    let tooltip = format!("node {}: frozen, from {begin} ms to {end} ms", lane.node);
    canvas.group_with_tooltip("span", &tooltip, |canvas| {
        canvas.rectangle("frozen", (from, y - RIBBON_HALF_HEIGHT), (to - from, 2.0 * RIBBON_HALF_HEIGHT), 4.0);
        let word = inactive.reason.label();
        // The ribbon of a leader, or of a node in the critical section, may contain its role as a
        // word.
        let has_role_name = lane.spans.iter().any(|span| {
            let is_chosen = [span.role, span.family_role].contains(&Role::Chosen);
            is_chosen && !span.is_lease_expired && span.from < inactive.to && inactive.from < span.to
        });
        if let Some(middle) =
            widest_gap_middle(dots, from, to, text_width(word, FONT_SIZE) + 12.0).filter(|_| !has_role_name)
        {
            canvas.text("frozen-label", (middle, y + 4.0), Anchor::Middle, word);
        }
    });
}

fn draw_lease(canvas: &mut Canvas, scene: &Scene, layout: &Layout, lane: &Lane, lease: &Lease, y: f64) {
    let (from, to) = x_range(scene, layout, lease.from, lease.to);
    if to <= from {
        return;
    }
    let class = lease_class(lease.is_holder_up);
    let lease_text = if lease.is_holder_up { "its lease" } else { "the lease of its crashed incarnation" };
    let tooltip =
        format!("node {}: {lease_text} lasts until {} ms", lane.node, format_millis(scene.relative(lease.to.time)));
    canvas.group_with_tooltip("span", &tooltip, |canvas| {
        canvas.line(class, (from, y), (to, y));
        // When a node crashes, its lease continues as a lease whose holder is down.
        let continues =
            lease.is_holder_up && lane.leases.iter().any(|next| !next.is_holder_up && next.from == lease.to);
        if ends_in_scene(scene, lease.to) && !continues {
            canvas.line("lease-end", (to, y - 4.0), (to, y + 4.0));
        }
    });
}

pub(super) const fn lease_class(is_holder_up: bool) -> &'static str {
    if is_holder_up { "lease" } else { "lease-of-down-node" }
}
