//! A whole diagram: heading, rows and legend.

use super::arrows::MessageKinds;
use super::axis::{Axis, Scale};
use super::canvas::{Anchor, Canvas, Number};
use super::layout::{MARGIN, NoteDetail};
use super::legend;
use super::row_layout::RowLayout;
use super::rows::{SceneRow, split_scene};
use super::text::{bold_width, text_width, wrap};
use super::{MIN_WIDTH, Notes, Options};
use crate::plural::count_with_noun;
use crate::scene::Scene;
use quorate_journal::words::format_millis;

/// Maximum lengths of a full note, in characters. The shorter one is tried if the longer notes do
/// not fit.
const LONG_NOTE_CHARS: usize = 100;
const SHORT_NOTE_CHARS: usize = 42;
/// Minimum width of the legend of a small diagram.
const LEGEND_WIDTH: f64 = 640.0;

pub(super) fn draw(scene: &Scene, options: &Options) -> String {
    let detail_levels: &[NoteDetail] = match options.notes {
        Notes::Auto => &[NoteDetail::Full(LONG_NOTE_CHARS), NoteDetail::Full(SHORT_NOTE_CHARS), NoteDetail::RuleIds],
        Notes::Full => &[NoteDetail::Full(LONG_NOTE_CHARS), NoteDetail::Full(SHORT_NOTE_CHARS)],
        Notes::RuleIds => &[NoteDetail::RuleIds],
        Notes::None => &[NoteDetail::None],
    };
    let scale = Scale::new(scene);
    let max_width = f64::from(options.width.max(MIN_WIDTH));
    let rows = split_into_rows(scene, scale, max_width);
    // Choose the detail level that omits the fewest texts; of several, the most detailed one.
    let mut best: Option<(usize, Vec<RowLayout<'_>>)> = None;
    for detail in detail_levels {
        let layouts: Vec<_> = rows.iter().map(|row| RowLayout::fit(row, options, *detail, scale, max_width)).collect();
        let omitted_texts: usize = layouts.iter().map(RowLayout::omitted_texts).sum();
        if best.as_ref().is_none_or(|(fewest, _)| omitted_texts < *fewest) {
            best = Some((omitted_texts, layouts));
        }
        if omitted_texts == 0 {
            break;
        }
    }
    let (omitted_texts, layouts) = best.unwrap_or_default();
    compose(scene, options, &layouts, omitted_texts)
}

/// Splits the scene into as few rows of about the same width as possible. Whether a row fits into
/// `max_width` is estimated without its texts.
fn split_into_rows(scene: &Scene, scale: Scale, max_width: f64) -> Vec<SceneRow> {
    // An estimate of the space for the names of nodes.
    let left = 120.0;
    let axis = Axis::new(scene, left, scale);
    // 60 pixels remain for the right margin.
    let count = ((axis.right - left) / (max_width - left - 60.0)).ceil().max(1.0);
    let row_width = (axis.right - left) / count;
    let mut row_starts: Vec<usize> = Vec::new();
    // Rows break only between instants.
    for (order, x) in axis.instant_starts() {
        if x > left + row_width * (row_starts.len() as f64 + 1.0) {
            row_starts.push(order);
        }
    }
    split_scene(scene, &row_starts)
}

fn compose(scene: &Scene, options: &Options, rows: &[RowLayout<'_>], omitted_texts: usize) -> String {
    let mut canvas = Canvas::default();
    canvas.set_has_views(!scene.view_spans.is_empty());
    canvas.set_has_trays(scene.lanes.iter().any(|lane| !lane.queues.is_empty()));
    let kinds = MessageKinds::new(scene);
    let name = &scene.heading.algorithm;
    // Font sizes in pixels: 20 for the title, 13 for the detail, 12 for the footer.
    let detail_lines = wrap(&scene.heading.detail, 13.0, f64::from(options.width) * 0.75);
    let heading_width = detail_lines.iter().map(|line| text_width(line, 13.0)).fold(bold_width(name, 20.0), f64::max);
    let right_edge = rows.iter().map(RowLayout::right_edge).fold(heading_width + MARGIN, f64::max);
    let right = (right_edge + MARGIN).max(LEGEND_WIDTH.min(f64::from(options.width)));
    canvas.text("title", (MARGIN, MARGIN + 16.0), Anchor::Start, name);
    let mut y = MARGIN + 38.0;
    for line in detail_lines.iter().filter(|line| !line.is_empty()) {
        canvas.text("detail", (MARGIN, y), Anchor::Start, line);
        y += 19.0;
    }
    y -= 10.0;
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            y += 16.0;
        }
        canvas.write_markup(format_args!("<g transform=\"translate(0 {})\">", Number(y)));
        y += row.draw(&mut canvas, scene, &kinds);
        canvas.write_markup(format_args!("</g>"));
    }
    if options.has_legend {
        y = legend::draw(&mut canvas, scene, &kinds, y + 12.0, right - MARGIN);
    }
    let remark = match omitted_texts {
        0 => None,
        1 => Some("One text does not fit; hover over its place to read it.".to_owned()),
        omitted_texts => Some(format!("{omitted_texts} texts do not fit; hover over their places to read them.")),
    };
    let closing: Vec<String> = scene.omitted.summary().into_iter().chain(remark).collect();
    if !closing.is_empty() {
        y += 8.0;
        for line in wrap(&closing.join(" "), 12.0, right - 2.0 * MARGIN) {
            canvas.text("footer", (MARGIN, y), Anchor::Start, &line);
            y += 17.0;
        }
    }
    canvas.finish((right, y + 12.0), options.theme, name, &description(scene))
}

fn description(scene: &Scene) -> String {
    format!(
        "A space-time diagram of {} with {} and {}, from {} ms to {} ms.",
        count_with_noun(scene.lanes.len() as u64, "node"),
        count_with_noun(scene.steps.len() as u64, "step"),
        count_with_noun(scene.arrows.len() as u64, "message"),
        format_millis(scene.relative(scene.from)),
        format_millis(scene.relative(scene.to))
    )
}
