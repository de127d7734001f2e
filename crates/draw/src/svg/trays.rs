//! Draws hold-back queues: a tray below the lane while messages are held back, with their names in
//! it.

use super::boxes::Area;
use super::canvas::{Anchor, Canvas};
use super::lanes::end;
use super::sheet::{RIBBON, Sheet};
use super::text::bold;
use crate::scene::{Queue, Scene};
use quorate_journal::words::millis;

/// Height reserved for a tray below its lane.
const TRAY: f64 = 21.0;
/// Distance between ribbon and tray, and height of the tray.
const ABOVE: f64 = 2.0;
const HIGH: f64 = 17.0;
/// Font size of a name, its horizontal padding, and the distance between two names.
const LETTERS: f64 = 11.0;
const PADDING: f64 = 4.0;
const BETWEEN: f64 = 4.0;
/// Inset at both ends of a tray.
const INSET: f64 = 5.0;
/// Step by which names are shifted to avoid arrows.
const STRIDE: f64 = 4.0;

/// The names of messages held back from one position on.
pub(super) struct Chips {
    /// Left edge, width and text of each name.
    chips: Vec<(f64, f64, String)>,
    /// Upper edge of the tray.
    top: f64,
    title: String,
}

pub(super) fn height(scene: &Scene, lane: usize) -> f64 {
    let waits = scene.lanes.get(lane).is_some_and(|lane| !lane.queues.is_empty());
    if waits { TRAY } else { 0.0 }
}

/// Places the names of held-back messages in every tray where the fewest lines cross them, as
/// counted by `across`. Returns the number of trays without room.
pub(super) fn place(scene: &Scene, sheet: &mut Sheet, across: impl Fn(&Area) -> usize) -> usize {
    let mut missing = 0;
    for (lane, y) in scene.lanes.iter().zip(sheet.lanes.clone()) {
        let top = top(sheet, y);
        for queue in &lane.queues {
            let (from, to) = reach(scene, sheet, queue);
            let area = |left: f64, right: f64| Area { left, right, top, bottom: top + HIGH };
            sheet.boxes.take(area(from, to));
            let room = to - from - 2.0 * INSET;
            let Some(names) = told(queue, room) else {
                // Before the first event there is never enough room.
                missing += usize::from(queue.to.order > 0);
                continue;
            };
            let wide = row_width(&names);
            let strides = ((room - wide) / STRIDE).floor().max(0.0) as usize;
            let lefts = (0..=strides).map(|stride| from + INSET + stride as f64 * STRIDE);
            let best = lefts.map(|left| (across(&area(left, left + wide)), left)).reduce(|best, other| {
                // Of equally good positions take the first, which is next to the change.
                if other.0 < best.0 { other } else { best }
            });
            let mut left = best.map_or(from + INSET, |(_, left)| left);
            let mut chips = Vec::with_capacity(names.len());
            for name in names {
                let wide = chip_width(&name);
                chips.push((left, wide, name));
                left += wide + BETWEEN;
            }
            sheet.chips.push(Chips { chips, top, title: title(scene, lane.node.to_string(), queue) });
        }
    }
    missing
}

/// Returns all names if they fit, else as many as fit with the number of the others, else only
/// their number.
fn told(queue: &Queue, room: f64) -> Option<Vec<String>> {
    let all = queue.names.len();
    let some = |shown: usize| {
        let more = queue.count.saturating_sub(shown);
        let rest = (more > 0).then(|| if shown > 0 { format!("+{more}") } else { more.to_string() });
        queue.names.iter().take(shown).cloned().chain(rest).collect::<Vec<_>>()
    };
    (0..=all).rev().map(some).find(|names| row_width(names) <= room)
}

fn chip_width(name: &str) -> f64 {
    bold(name, LETTERS) + 2.0 * PADDING
}

fn row_width(names: &[String]) -> f64 {
    let chips: f64 = names.iter().map(|name| chip_width(name)).sum();
    chips + BETWEEN * names.len().saturating_sub(1) as f64
}

fn top(sheet: &Sheet, y: f64) -> f64 {
    y + RIBBON + sheet.leases + ABOVE
}

/// Returns the horizontal range in which a queue does not change.
fn reach(scene: &Scene, sheet: &Sheet, queue: &Queue) -> (f64, f64) {
    let edge = sheet.axis.left - 24.0;
    let from = if queue.from.order == 0 && queue.from.time < first(scene) { edge } else { sheet.axis.at(queue.from) };
    (from.max(edge), end(scene, sheet, queue.to).max(edge))
}

fn first(scene: &Scene) -> quorate_core::Time {
    let steps = scene.steps.iter().map(|step| step.place.time);
    steps.chain(scene.marks.iter().map(|mark| mark.place.time)).min().unwrap_or(scene.from)
}

fn title(scene: &Scene, node: String, queue: &Queue) -> String {
    let [from, to] = [queue.from, queue.to].map(|place| millis(scene.shown(place.time)));
    let more = queue.count.saturating_sub(queue.names.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("node {node} holds back {}{rest}, from {from} ms to {to} ms", queue.names.join(", "))
}

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, sheet: &Sheet) {
    for (lane, y) in scene.lanes.iter().zip(&sheet.lanes) {
        let top = top(sheet, *y);
        let mut queues = lane.queues.iter().peekable();
        while let Some(queue) = queues.next() {
            let (from, mut to) = reach(scene, sheet, queue);
            let mut last = queue;
            let mut changes = Vec::new();
            // One tray spans the whole time until the queue is empty.
            while let Some(next) = queues.next_if(|next| next.from == last.to) {
                changes.push(to);
                to = reach(scene, sheet, next).1;
                last = next;
            }
            let ends = last.to.order < scene.steps.len() + scene.marks.len();
            canvas.titled("stand", &title(scene, lane.node.to_string(), queue), |canvas| {
                canvas.rectangle("tray", (from, top), (to - from, HIGH), 4.0);
                canvas.line("tray-edge", (from, *y), (from, top + HIGH));
                if ends {
                    canvas.line("tray-edge", (to, *y), (to, top + HIGH));
                }
                for x in changes {
                    canvas.line("tray-edge", (x, top), (x, top + HIGH));
                }
            });
        }
    }
}

pub(super) fn draw_chips(canvas: &mut Canvas, sheet: &Sheet) {
    for Chips { chips, top, title } in &sheet.chips {
        canvas.titled("stand", title, |canvas| {
            for (left, wide, name) in chips {
                canvas.rectangle("chip", (*left, top + 1.5), (*wide, HIGH - 3.0), 5.0);
                canvas.text("chip-name", (left + wide / 2.0, top + 12.5), Anchor::Middle, name);
            }
        });
    }
}
