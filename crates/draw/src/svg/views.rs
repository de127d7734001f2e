//! Draws views, leases and inactive nodes.

use super::canvas::{Anchor, Canvas};
use super::lanes::{end, gap};
use super::sheet::{RIBBON, Sheet};
use super::text::width;
use crate::scene::{Lane, Lease, Place, Scene, Still, Stillness};
use quorate_journal::role::Role;
use quorate_journal::words::millis;

/// Distance of a lease line below the middle of its lane.
pub(super) const LEASE: f64 = RIBBON + 3.0;
/// Half height of the uncoloured area around the lane of a node outside the view.
const HOLE: f64 = RIBBON + 7.0;
const LETTERS: f64 = 11.0;

fn reach(scene: &Scene, sheet: &Sheet, from: Place, to: Place) -> (f64, f64) {
    let edge = sheet.axis.left - 24.0;
    (sheet.axis.at(from).max(edge), end(scene, sheet, to).max(edge))
}

fn ends(scene: &Scene, to: Place) -> bool {
    to.time <= scene.to || to.order < scene.steps.len() + scene.marks.len()
}

/// Removes the view's colour around nodes that are not in the view.
pub(super) fn draw_holes(canvas: &mut Canvas, scene: &Scene, sheet: &Sheet) {
    for (lane, y) in scene.lanes.iter().zip(&sheet.lanes) {
        for still in lane.stills.iter().filter(|still| still.why == Stillness::Outside) {
            let (from, to) = reach(scene, sheet, still.from, still.to);
            if to > from {
                canvas.rectangle("hole", (from, y - HOLE), (to - from, 2.0 * HOLE), 0.0);
            }
        }
    }
}

/// Splits a horizontal range of a lane into parts, each with whether the node is outside the view.
pub(super) fn parts(scene: &Scene, sheet: &Sheet, lane: &Lane, (from, to): (f64, f64)) -> Vec<(f64, f64, bool)> {
    let mut parts = Vec::new();
    let mut at = from;
    for still in lane.stills.iter().filter(|still| still.why == Stillness::Outside) {
        let (begin, end) = reach(scene, sheet, still.from, still.to);
        let (begin, end) = (begin.clamp(at, to.max(at)), end.clamp(at, to.max(at)));
        parts.extend([(at, begin, false), (begin, end, true)]);
        at = end;
    }
    parts.push((at, to, false));
    parts.retain(|(from, to, _)| to > from);
    parts
}

pub(super) fn draw_lane(canvas: &mut Canvas, scene: &Scene, sheet: &Sheet, lane: &Lane, dots: &[f64], y: f64) {
    for still in lane.stills.iter().filter(|still| still.why == Stillness::Frozen) {
        frozen(canvas, scene, sheet, lane, still, dots, y);
    }
    for lease in &lane.leases {
        draw_lease(canvas, scene, sheet, lane, lease, y + LEASE);
    }
}

fn frozen(canvas: &mut Canvas, scene: &Scene, sheet: &Sheet, lane: &Lane, still: &Still, dots: &[f64], y: f64) {
    let (from, to) = reach(scene, sheet, still.from, still.to);
    if to <= from {
        return;
    }
    let [begins, ends] = [still.from, still.to].map(|place| millis(scene.shown(place.time)));
    let title = format!("node {}: frozen, from {begins} ms to {ends} ms", lane.node);
    canvas.titled("stand", &title, |canvas| {
        canvas.rectangle("frozen", (from, y - RIBBON), (to - from, 2.0 * RIBBON), 4.0);
        let word = still.why.words();
        let chosen = |role: Role| role == Role::Chosen;
        let is_named = lane.spans.iter().any(|span| {
            let held = chosen(span.role) || chosen(span.standing);
            held && !span.over && span.from < still.to && still.from < span.to
        });
        if let Some(middle) = gap(dots, from, to, width(word, LETTERS) + 12.0).filter(|_| !is_named) {
            canvas.text("frozen-word", (middle, y + 4.0), Anchor::Middle, word);
        }
    });
}

fn draw_lease(canvas: &mut Canvas, scene: &Scene, sheet: &Sheet, lane: &Lane, lease: &Lease, y: f64) {
    let (from, to) = reach(scene, sheet, lease.from, lease.to);
    if to <= from {
        return;
    }
    let class = lease_class(lease.used);
    let whose = if lease.used { "its lease" } else { "the lease of its previous incarnation" };
    let title = format!("node {}: {whose} lasts until {} ms", lane.node, millis(scene.shown(lease.to.time)));
    canvas.titled("stand", &title, |canvas| {
        canvas.line(class, (from, y), (to, y));
        // The lease of a node that crashes continues as an unused lease.
        let goes_on = lease.used && lane.leases.iter().any(|next| !next.used && next.from == lease.to);
        if ends(scene, lease.to) && !goes_on {
            canvas.line("lease-end", (to, y - 4.0), (to, y + 4.0));
        }
    });
}

pub(super) const fn lease_class(used: bool) -> &'static str {
    if used { "lease" } else { "lease-left" }
}
