//! An overview as SVG: a ribbon per node, and message counts as bars.

use super::Options;
use super::canvas::{Anchor, Canvas, Number};
use super::lanes::ribbon_class;
use super::layout::MARGIN;
use super::row_layout::short_millis;
use super::text::{bold_width, text_width, truncate, wrap};
use crate::overview::{Bin, NodeRow, Overview, ROLES};
use crate::plural::count_with_noun;
use crate::scene::Band;
use quorate_core::Time;
use quorate_journal::role::Role;
use quorate_journal::words::format_millis;
use std::fmt::Write;

/// Total width of all bins (equal spans of time), in pixels, as are all sizes here.
const TOTAL_WIDTH: f64 = 1_080.0;
const RIBBON_HEIGHT: f64 = 20.0;
const LANE_DISTANCE: f64 = 29.0;
const NAME_ROW_HEIGHT: f64 = 18.0;
const BARS_HEIGHT: f64 = 84.0;
const LEGEND_FONT_SIZE: f64 = 12.5;
const LEGEND_ROW_HEIGHT: f64 = 23.0;
/// Width of a legend symbol and the space after it, and the distance between two items side by
/// side.
const SYMBOL_WIDTH: f64 = 34.0;
const ITEM_GAP: f64 = 22.0;

/// Roles from the bottom of a ribbon to its top.
const STACKED_ROLES: [Role; 5] = [Role::Chosen, Role::Waiting, Role::Follows, Role::Paused, Role::Down];

pub(super) fn draw(overview: &Overview, options: &Options) -> String {
    let mut canvas = Canvas::default();
    let name_widths = overview.rows.iter().map(|row| text_width(&format!("node {}", row.node), 15.0));
    let left = MARGIN + name_widths.fold(70.0, f64::max) + 18.0;
    let right = left + TOTAL_WIDTH + MARGIN;
    canvas.text("title", (MARGIN, MARGIN + 16.0), Anchor::Start, &overview.heading.algorithm);
    let mut y = MARGIN + 38.0;
    for line in wrap(
        &format!("{} · {}", overview.heading.detail, overview.totals(|count| count.to_string())),
        13.0,
        TOTAL_WIDTH,
    ) {
        canvas.text("detail", (MARGIN, y), Anchor::Start, &line);
        y += 19.0;
    }
    let scale = Scale { from: overview.from, to: overview.to, left };
    let (name_rows, name_row_count) = assign_name_rows(overview, &scale);
    let top = y + 4.0 + name_row_count as f64 * NAME_ROW_HEIGHT;
    let bottom = top + overview.rows.len() as f64 * LANE_DISTANCE + 14.0 + BARS_HEIGHT;
    draw_bands(&mut canvas, overview, &scale, &name_rows, (top, bottom));
    for (index, row) in overview.rows.iter().enumerate() {
        draw_lane(&mut canvas, overview, row, &scale, top + index as f64 * LANE_DISTANCE);
    }
    draw_bars(&mut canvas, overview, &scale, (bottom - BARS_HEIGHT, bottom));
    draw_violations(&mut canvas, overview, &scale, (top, bottom));
    let mut y = draw_axis(&mut canvas, overview, &scale, bottom + 6.0);
    if options.has_legend {
        y = draw_legend(&mut canvas, overview, y + 10.0, right - MARGIN);
    }
    let mut closing =
        vec![format!("One column covers {} ms.", short_millis(Time::from_nanos(overview.bin_width.nanos() as i64)))];
    match overview.nodes_without_row {
        0 => {}
        1 => closing.push("One more node has no row.".into()),
        more => closing.push(format!("{more} more nodes have no row.")),
    }
    closing.extend(overview.omitted.summary());
    for line in wrap(&closing.join(" "), 12.0, right - 2.0 * MARGIN) {
        canvas.text("footer", (MARGIN, y), Anchor::Start, &line);
        y += 17.0;
    }
    let (steps, nodes) =
        (count_with_noun(overview.total.steps, "step"), count_with_noun(overview.heading.nodes as u64, "node"));
    let description = format!("An overview of {steps} in a group of {nodes}.");
    canvas.finish((right, y + 12.0), options.theme, &overview.heading.algorithm, &description)
}

/// Horizontal scale of time.
struct Scale {
    from: Time,
    to: Time,
    left: f64,
}

impl Scale {
    fn x(&self, time: Time) -> f64 {
        let nanos_since_start =
            |time: Time| if time > self.from { time.nanos().abs_diff(self.from.nanos()) } else { 0 };
        let part = nanos_since_start(time) as f64 / nanos_since_start(self.to).max(1) as f64;
        self.left + part.clamp(0.0, 1.0) * TOTAL_WIDTH
    }

    /// Returns the left and right edges of a bin.
    fn bin_edges(&self, overview: &Overview, index: usize) -> (f64, f64) {
        let at = |index: usize| {
            let nanos = overview.bin_width.nanos().saturating_mul(index as u64);
            self.x(Time::from_nanos(self.from.nanos().saturating_add_unsigned(nanos)))
        };
        (at(index), at(index + 1))
    }
}

/// Maximum number of characters of a lasting fault's name.
const MAX_NAME_CHARS: usize = 40;
/// Maximum number of rows for the names of lasting faults; other names are only in tooltips.
const MAX_NAME_ROWS: usize = 3;

/// Returns the row of each band's name, if it fits, and the number of rows, at
/// least 1.
fn assign_name_rows(overview: &Overview, scale: &Scale) -> (Vec<Option<usize>>, usize) {
    let mut row_ends: Vec<f64> = Vec::new();
    let mut row_of = |band: &Band| {
        let from = scale.x(band.from.time);
        let end = from + bold_width(&truncate(&band.text, MAX_NAME_CHARS), 12.5) + 12.0;
        let free_row = row_ends.iter().position(|row_end| *row_end < from);
        let row = free_row
            .or((row_ends.len() < MAX_NAME_ROWS).then_some(row_ends.len()))
            .filter(|_| end < scale.left + TOTAL_WIDTH)?;
        match row_ends.get_mut(row) {
            Some(row_end) => *row_end = end,
            None => row_ends.push(end),
        }
        Some(row)
    };
    let rows = overview.bands.iter().map(&mut row_of).collect();
    (rows, row_ends.len().max(1))
}

fn draw_bands(
    canvas: &mut Canvas,
    overview: &Overview,
    scale: &Scale,
    name_rows: &[Option<usize>],
    (top, bottom): (f64, f64),
) {
    for (band, row) in overview.bands.iter().zip(name_rows) {
        let (from, to) =
            (scale.x(band.from.time), band.to.map_or(scale.left + TOTAL_WIDTH, |position| scale.x(position.time)));
        let (area, edge, name_class) = if band.is_partition {
            ("partition", "partition-edge", "partition-label")
        } else {
            ("other-change", "other-change-edge", "other-change-label")
        };
        canvas.group_with_tooltip("annotation", &band.text, |canvas| {
            canvas.rectangle(area, (from, top - 4.0), ((to - from).max(1.5), bottom - top + 4.0), 0.0);
            if let Some(row) = row {
                let y = top - 8.0 - *row as f64 * NAME_ROW_HEIGHT;
                canvas.line(edge, (from, y - 6.0), (from, top));
                canvas.text(name_class, (from + 3.0, y), Anchor::Start, &truncate(&band.text, MAX_NAME_CHARS));
            }
        });
    }
}

/// Draws the property violations within the time shown, with their texts.
fn draw_violations(canvas: &mut Canvas, overview: &Overview, scale: &Scale, (top, bottom): (f64, f64)) {
    let shown_violations = overview.shown_violations();
    for violation in &shown_violations {
        let x = scale.x(violation.time);
        let tooltip = format!("{} ms: {}", format_millis(overview.relative(violation.time)), violation.text);
        canvas
            .group_with_tooltip("annotation", &tooltip, |canvas| canvas.line("violation", (x, top - 4.0), (x, bottom)));
    }
    if let Some(first) = shown_violations.iter().map(|violation| violation.time).min() {
        let texts: Vec<&str> = shown_violations.iter().map(|violation| violation.text.as_str()).collect();
        let label = truncate(&texts.join(" · "), 120);
        let at = (scale.x(first) + 5.0).min(scale.left + TOTAL_WIDTH - bold_width(&label, 13.0));
        canvas.text("violation-label", (at.max(scale.left), bottom - BARS_HEIGHT + 8.0), Anchor::Start, &label);
    }
}

fn draw_lane(canvas: &mut Canvas, overview: &Overview, row: &NodeRow, scale: &Scale, top: f64) {
    canvas.text("node", (MARGIN, top + 15.0), Anchor::Start, &format!("node {}", row.node));
    canvas.rectangle("groove", (scale.left, top), (TOTAL_WIDTH, RIBBON_HEIGHT), 3.0);
    for role in STACKED_ROLES {
        let Some(class) = ribbon_class(role) else { continue };
        let mut area = MergedRectangles::default();
        for (index, shares) in row.role_times.iter().enumerate() {
            let total = shares.exact_total().max(1) as f64;
            let below = STACKED_ROLES
                .iter()
                .take_while(|other| **other != role)
                .map(|other| u128::from(shares.time_in(*other)));
            let (base, part) = (
                below.sum::<u128>() as f64 / total * RIBBON_HEIGHT,
                shares.time_in(role) as f64 / total * RIBBON_HEIGHT,
            );
            if part > 0.0 {
                let (from, to) = scale.bin_edges(overview, index);
                area.add(from, to, top + RIBBON_HEIGHT - base, part.max(0.8));
            }
        }
        area.draw(canvas, class);
    }
}

/// Rectangles of one CSS class; adjacent rectangles of equal height are merged.
#[derive(Default)]
struct MergedRectangles {
    path: String,
    /// The last rectangle: left, right, bottom, height.
    last: Option<(f64, f64, f64, f64)>,
}

impl MergedRectangles {
    fn add(&mut self, from: f64, to: f64, bottom: f64, height: f64) {
        match &mut self.last {
            Some((_, end, base, last_height)) if *end == from && *base == bottom && *last_height == height => *end = to,
            _ => {
                self.flush();
                self.last = Some((from, to, bottom, height));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((from, to, bottom, height)) = self.last.take() {
            let [x, y, width, height] = [from, bottom - height, to - from, height].map(Number);
            // Writing into memory cannot fail.
            let _ = write!(self.path, "M{x} {y}h{width}v{height}h-{width}z");
        }
    }

    fn draw(mut self, canvas: &mut Canvas, class: &str) {
        self.flush();
        if !self.path.is_empty() {
            canvas.write_markup(format_args!("<path class=\"{class}\" d=\"{}\"/>", self.path));
        }
    }
}

/// Draws a bar of messages per bin, with control messages stacked on algorithm messages, and lost
/// messages in front of both.
fn draw_bars(canvas: &mut Canvas, overview: &Overview, scale: &Scale, (top, bottom): (f64, f64)) {
    let counted_messages = |bin: &Bin| bin.messages.saturating_add(bin.control_messages).max(bin.lost_messages);
    let maximum = overview.bins.iter().map(counted_messages).max().unwrap_or_default().max(1) as f64;
    let max_height = bottom - top - 18.0;
    canvas.text("label", (MARGIN, bottom - 4.0), Anchor::Start, "messages");
    let [mut messages, mut control, mut lost] = <[MergedRectangles; 3]>::default();
    for (index, bin) in overview.bins.iter().enumerate() {
        let (from, to) = scale.bin_edges(overview, index);
        let end = from + (to - from - 0.3).max(0.4);
        let height_of = |count: u64| count as f64 / maximum * max_height;
        if bin.messages > 0 {
            messages.add(from, end, bottom, height_of(bin.messages));
        }
        if bin.control_messages > 0 {
            control.add(from, end, bottom - height_of(bin.messages), height_of(bin.control_messages));
        }
        if bin.lost_messages > 0 {
            lost.add(from, end, bottom, height_of(bin.lost_messages).max(1.5));
        }
    }
    messages.draw(canvas, "bar");
    control.draw(canvas, "bar-control");
    lost.draw(canvas, "bar-lost");
}

/// Maximum number of round times that the axis may label.
const MAX_TIMES: usize = 40;

/// Draws times at round intervals. Returns their lower edge.
fn draw_axis(canvas: &mut Canvas, overview: &Overview, scale: &Scale, y: f64) -> f64 {
    canvas.line("axis", (scale.left, y), (scale.left + TOTAL_WIDTH, y));
    let origin = overview.origin.nanos();
    let span = overview.to.nanos().saturating_sub(overview.from.nanos()).max(1);
    let step = round_step(span / 10);
    // An overview of 20 seconds or more is labelled in seconds.
    let (millis_per_unit, name) = if span >= 20_000_000_000 { (1_000, "time in s") } else { (1, "time in ms") };
    let mut label_nanos = overview.from.nanos().saturating_sub(origin).div_euclid(step).saturating_mul(step);
    let mut last_label_end = f64::MIN;
    for _ in 0..MAX_TIMES {
        let time = Time::from_nanos(label_nanos.saturating_add(origin));
        if time > overview.to {
            break;
        }
        if time >= overview.from {
            let (x, text) = (scale.x(time), short_millis(Time::from_nanos(label_nanos / millis_per_unit)));
            let half_width = text_width(&text, 11.5) / 2.0;
            if x - half_width > last_label_end {
                last_label_end = x + half_width + 9.0;
                canvas.line("axis", (x, y), (x, y + 4.0));
                canvas.text("time", (x, y + 17.0), Anchor::Middle, &text);
            }
        }
        label_nanos = label_nanos.saturating_add(step);
    }
    canvas.text("time", (MARGIN, y + 17.0), Anchor::Start, name);
    y + 30.0
}

/// Returns the smallest number of nanoseconds that is 1, 2 or 5 times a power of ten and at least
/// `minimum`, but at least 1000: labels show whole microseconds.
fn round_step(minimum: i64) -> i64 {
    let mut step: i64 = 1_000;
    loop {
        for factor in [1, 2, 5] {
            if step.saturating_mul(factor) >= minimum {
                return step.saturating_mul(factor);
            }
        }
        step = step.saturating_mul(10);
    }
}

/// Draws the legend of the colours that occur, and the range of time, in as many rows as needed.
/// Returns its lower edge.
fn draw_legend(canvas: &mut Canvas, overview: &Overview, top: f64, right: f64) -> f64 {
    let occurs =
        |role: Role| overview.rows.iter().flat_map(|row| &row.role_times).any(|shares| shares.time_in(role) > 0);
    let roles = ROLES.into_iter().filter(|role| occurs(*role));
    let roles = roles.filter_map(|role| Some((ribbon_class(role)?, overview.heading.role_name(role))));
    let bars = [
        (overview.total.messages, "bar", "algorithm messages"),
        (overview.total.control_messages, "bar-control", "control messages"),
        (overview.total.lost_messages, "bar-lost", "lost"),
    ];
    let bars = bars.into_iter().filter(|(count, _, _)| *count > 0).map(|(_, class, words)| (class, words));
    let has_band = |is_partition: bool| overview.bands.iter().any(|band| band.is_partition == is_partition);
    let areas =
        [(has_band(true), "partition", "partition"), (has_band(false), "other-change", "link fault or full disk")];
    let areas = areas.into_iter().filter(|(occurs, _, _)| *occurs).map(|(_, class, words)| (class, words));
    let mut at = (MARGIN, top + 10.0);
    for (class, words) in roles.chain(bars).chain(areas) {
        let (x, y) =
            next_legend_position(&mut at, SYMBOL_WIDTH + text_width(words, LEGEND_FONT_SIZE) + ITEM_GAP, right);
        canvas.rectangle(class, (x, y - 11.0), (26.0, 13.0), 3.0);
        canvas.text("legend", (x + SYMBOL_WIDTH, y), Anchor::Start, words);
    }
    let [from, to] = [overview.from, overview.to].map(|time| format_millis(overview.relative(time)));
    let times = format!("{from} ms to {to} ms");
    let position = next_legend_position(&mut at, text_width(&times, LEGEND_FONT_SIZE), right);
    canvas.text("footer", position, Anchor::Start, &times);
    at.1 + 26.0
}

/// Returns the position of the next legend item: after the previous one, or on a new row.
fn next_legend_position((x, y): &mut (f64, f64), width: f64, right: f64) -> (f64, f64) {
    if *x + width > right && *x > MARGIN {
        (*x, *y) = (MARGIN, *y + LEGEND_ROW_HEIGHT);
    }
    let position = (*x, *y);
    *x += width;
    position
}
