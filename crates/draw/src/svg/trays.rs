//! Draws hold-back queues: while a node holds messages back, a rectangle (the tray) below its lane
//! contains their names, each in a smaller rectangle (the chip). A [`Queue`] is the content between
//! two changes, so a tray can show several of them one after another.

use super::areas::Area;
use super::canvas::{Anchor, Canvas};
use super::lanes::span_end_x;
use super::layout::{Layout, RIBBON_HALF_HEIGHT};
use super::text::bold_width;
use crate::scene::{Queue, Scene};
use quorate_journal::words::format_millis;

/// Height reserved for a tray below its lane, in pixels, as are all sizes here.
const RESERVED_HEIGHT: f64 = 21.0;
/// Distance above the tray, and height of the tray.
const TRAY_GAP: f64 = 2.0;
const TRAY_HEIGHT: f64 = 17.0;
/// Font size of a name, its horizontal padding, and the distance between two names.
const FONT_SIZE: f64 = 11.0;
const PADDING: f64 = 4.0;
const NAME_GAP: f64 = 4.0;
/// Inset at both ends of a [`Queue`] in its tray.
const INSET: f64 = 5.0;
/// Step by which names are shifted to avoid arrows.
const NAME_SHIFT: f64 = 4.0;

/// The names in one [`Queue`], placed in its tray.
pub(super) struct Chips {
    /// Left edge, width and text of each name, and of the number of the other messages.
    chips: Vec<(f64, f64, String)>,
    /// Upper edge of the tray.
    top: f64,
    tooltip: String,
}

pub(super) fn reserved_height(scene: &Scene, lane: usize) -> f64 {
    let has_queue = scene.lanes.get(lane).is_some_and(|lane| !lane.queues.is_empty());
    if has_queue { RESERVED_HEIGHT } else { 0.0 }
}

/// Places the names of each queue's messages at the part of its tray where the fewest arrows cross
/// them, as counted by `count_crossings`. Returns the number of queues for which nothing fits,
/// not counting those that end at or before the first event.
pub(super) fn place_names(scene: &Scene, layout: &mut Layout, count_crossings: impl Fn(&Area) -> usize) -> usize {
    let mut queues_without_room = 0;
    for (lane, y) in scene.lanes.iter().zip(layout.lanes.clone()) {
        let top = tray_top(layout, y);
        for queue in &lane.queues {
            let (from, to) = x_range(scene, layout, queue);
            let area = |left: f64, right: f64| Area { left, right, top, bottom: top + TRAY_HEIGHT };
            layout.occupied_areas.occupy(area(from, to));
            let available_width = to - from - 2.0 * INSET;
            let Some(names) = fitting_names(queue, available_width) else {
                // An order of 0 is that of the first event. Before it there is never enough room.
                queues_without_room += usize::from(queue.to.order > 0);
                continue;
            };
            let width = row_width(&names);
            let max_shifts = ((available_width - width) / NAME_SHIFT).floor().max(0.0) as usize;
            let lefts = (0..=max_shifts).map(|shifts| from + INSET + shifts as f64 * NAME_SHIFT);
            let best = lefts.map(|left| (count_crossings(&area(left, left + width)), left)).reduce(|best, other| {
                // Of equally good positions, take the leftmost. It is nearest to the change after
                // which the queue has these contents.
                if other.0 < best.0 { other } else { best }
            });
            let mut left = best.map_or(from + INSET, |(_, left)| left);
            let mut chips = Vec::with_capacity(names.len());
            for name in names {
                let width = chip_width(&name);
                chips.push((left, width, name));
                left += width + NAME_GAP;
            }
            layout.chips.push(Chips { chips, top, tooltip: tooltip(scene, lane.node.to_string(), queue) });
        }
    }
    queues_without_room
}

/// Returns all names if they fit; else as many as fit and the number of the others; else only the
/// number of messages. `None` if nothing fits.
fn fitting_names(queue: &Queue, available_width: f64) -> Option<Vec<String>> {
    let first_names = |shown_count: usize| {
        let more = queue.count.saturating_sub(shown_count);
        let rest = (more > 0).then(|| if shown_count > 0 { format!("+{more}") } else { more.to_string() });
        queue.names.iter().take(shown_count).cloned().chain(rest).collect::<Vec<_>>()
    };
    (0..=queue.names.len()).rev().map(first_names).find(|names| row_width(names) <= available_width)
}

fn chip_width(name: &str) -> f64 {
    bold_width(name, FONT_SIZE) + 2.0 * PADDING
}

fn row_width(names: &[String]) -> f64 {
    let chips: f64 = names.iter().map(|name| chip_width(name)).sum();
    chips + NAME_GAP * names.len().saturating_sub(1) as f64
}

fn tray_top(layout: &Layout, y: f64) -> f64 {
    y + RIBBON_HALF_HEIGHT + layout.lease_height + TRAY_GAP
}

/// Returns the horizontal range of a [`Queue`].
fn x_range(scene: &Scene, layout: &Layout, queue: &Queue) -> (f64, f64) {
    let edge = layout.axis.left_edge();
    // A queue from before the first event begins at the left edge.
    let from =
        if queue.from.order == 0 && queue.from.time < first_time(scene) { edge } else { layout.axis.x_at(queue.from) };
    (from.max(edge), span_end_x(scene, layout, queue.to).max(edge))
}

fn first_time(scene: &Scene) -> quorate_core::Time {
    let steps = scene.steps.iter().map(|step| step.position.time);
    steps.chain(scene.marks.iter().map(|mark| mark.position.time)).min().unwrap_or(scene.from)
}

fn tooltip(scene: &Scene, node: String, queue: &Queue) -> String {
    let [from, to] = [queue.from, queue.to].map(|position| format_millis(scene.relative(position.time)));
    let more = queue.count.saturating_sub(queue.names.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("node {node} holds back {}{rest}, from {from} ms to {to} ms", queue.names.join(", "))
}

/// Draws the trays; the names in them are drawn later, on top of the arrows.
pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    for (lane, y) in scene.lanes.iter().zip(&layout.lanes) {
        let top = tray_top(layout, *y);
        let mut queues = lane.queues.iter().peekable();
        while let Some(queue) = queues.next() {
            let (from, mut to) = x_range(scene, layout, queue);
            let mut last = queue;
            let mut changes = Vec::new();
            // One tray spans the whole time until the hold-back queue is empty.
            while let Some(next) = queues.next_if(|next| next.from == last.to) {
                changes.push(to);
                to = x_range(scene, layout, next).1;
                last = next;
            }
            let ends_in_scene = last.to.order < scene.steps.len() + scene.marks.len();
            canvas.group_with_tooltip("span", &tooltip(scene, lane.node.to_string(), queue), |canvas| {
                canvas.rectangle("tray", (from, top), (to - from, TRAY_HEIGHT), 4.0);
                canvas.line("tray-edge", (from, *y), (from, top + TRAY_HEIGHT));
                if ends_in_scene {
                    canvas.line("tray-edge", (to, *y), (to, top + TRAY_HEIGHT));
                }
                for x in changes {
                    canvas.line("tray-edge", (x, top), (x, top + TRAY_HEIGHT));
                }
            });
        }
    }
}

pub(super) fn draw_chips(canvas: &mut Canvas, layout: &Layout) {
    for Chips { chips, top, tooltip } in &layout.chips {
        canvas.group_with_tooltip("span", tooltip, |canvas| {
            for (left, width, name) in chips {
                canvas.rectangle("chip", (*left, top + 1.5), (*width, TRAY_HEIGHT - 3.0), 5.0);
                canvas.text("chip-name", (left + width / 2.0, top + 12.5), Anchor::Middle, name);
            }
        });
    }
}
