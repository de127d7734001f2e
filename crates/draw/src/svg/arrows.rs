//! Draws messages as arrows in the colour of their kind, with names where there is room.

use super::areas::{self, Area, OccupiedAreas};
use super::canvas::{Canvas, Number};
use super::layout::Layout;
use super::text::{bold, shortened};
use super::trays;
use crate::scene::{Arrow, Head, Scene, Tail};
use crate::style::SERIES;
use crate::text::Escaped;
use quorate_core::{Class, Epoch};
use quorate_journal::moment::Loss;
use quorate_journal::words::millis;
use std::collections::{BTreeMap, BTreeSet};

const FONT_SIZE: f64 = 12.5;
/// Maximum length of a name in characters.
const MAX_CHARS: usize = 22;
/// Distance between a step and the ends of its arrows, so that the dot stays visible.
const STEP_CLEARANCE: f64 = 6.5;

type Point = (f64, f64);

/// The message kinds in order of first appearance, which determines their colours.
pub(super) struct Kinds {
    /// Kinds of algorithm messages.
    algorithm: Vec<String>,
    /// Kinds of control messages.
    control: Vec<String>,
    /// The kind of the reports between members of a view.
    report: Option<String>,
}

impl Kinds {
    pub(super) fn new(scene: &Scene) -> Self {
        let kinds = |wanted: fn(&Arrow) -> bool| {
            let mut kinds: Vec<String> = Vec::new();
            for arrow in scene.arrows.iter().filter(|arrow| wanted(arrow)) {
                if !kinds.contains(&arrow.kind) {
                    kinds.push(arrow.kind.clone());
                }
            }
            kinds
        };
        let algorithm =
            kinds(|arrow| arrow.class != Class::Control || (arrow.is_retransmission && arrow.report.is_none()));
        let mut control = kinds(|arrow| arrow.class == Class::Control);
        control.retain(|kind| !algorithm.contains(kind));
        let report = scene.arrows.iter().find(|arrow| arrow.report.is_some()).map(|arrow| arrow.kind.clone());
        Self { algorithm, control, report }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.algorithm.iter().chain(&self.control).map(String::as_str)
    }

    /// Returns the CSS variable of a kind's colour. Colours repeat if there are more kinds than
    /// colours.
    pub(super) fn colour(&self, kind: &str) -> &'static str {
        let index = self.algorithm.iter().position(|known| known == kind);
        index.and_then(|index| SERIES.get(index % SERIES.len())).map_or("faint", |colour| colour.name)
    }

    /// Returns the CSS class of a kind's line in the legend.
    pub(super) fn line_class(&self, kind: &str) -> &'static str {
        if self.algorithm.iter().any(|known| known == kind) {
            "arrow"
        } else if self.report.as_deref() == Some(kind) {
            "report"
        } else {
            "control"
        }
    }
}

/// An arrow with its position.
pub(super) struct PlacedArrow<'a> {
    arrow: &'a Arrow,
    /// Its index among the arrows of its row.
    index: usize,
    from: Point,
    to: Point,
    /// Position of its name, if it fits.
    label: Option<Point>,
}

impl PlacedArrow<'_> {
    /// Whether the arrow has a name. Only one report per view is named, and acknowledgements have
    /// no names; there would be too many otherwise.
    fn is_named(&self) -> bool {
        let is_report = self.arrow.report.is_some();
        !is_report && (self.arrow.class != Class::Control || self.arrow.is_retransmission || self.arrow.is_duplicate)
    }
}

/// Places all arrows, and their names where they fit. Returns the arrows with the number of texts
/// that do not fit.
pub(super) fn place<'a>(scene: &'a Scene, layout: &mut Layout) -> (Vec<PlacedArrow<'a>>, usize) {
    let place_arrow = |(index, arrow): (usize, &'a Arrow)| {
        let (from, to) = end_points(scene, layout, arrow)?;
        Some(PlacedArrow { arrow, index, from, to, label: None })
    };
    let mut arrows: Vec<PlacedArrow<'a>> = scene.arrows.iter().enumerate().filter_map(place_arrow).collect();
    let segments = Segments::new(arrows.iter().map(|placed| (placed.from, placed.to)).collect());
    // Held-back messages are placed first, where no arrow crosses them if possible.
    let mut omitted_texts = trays::place(scene, layout, |area| segments.count_crossing(area, None));
    // Of all reports for one view, only the first with enough room is named.
    let mut reported: BTreeSet<Epoch> = BTreeSet::new();
    for (index, placed) in arrows.iter_mut().enumerate() {
        let report = placed.arrow.report.filter(|view| !placed.arrow.is_retransmission && !reported.contains(view));
        if !placed.is_named() && report.is_none() {
            continue;
        }
        let name = name(placed.arrow);
        let label_width = bold(&name, FONT_SIZE) + 4.0;
        let best = label_position(&layout.occupied, index, &segments, label_width);
        match best {
            Some(position) => {
                let area = Area::of_text((position.0 - 2.0, position.1), label_width, FONT_SIZE);
                layout.right_edge = layout.right_edge.max(area.right);
                layout.occupied.occupy(area);
                placed.label = Some(position);
                reported.extend(report);
            }
            None if report.is_some() => {}
            None => omitted_texts += 1,
        }
    }
    (arrows, omitted_texts)
}

fn name(arrow: &Arrow) -> String {
    let name = shortened(arrow.name(), MAX_CHARS);
    match (arrow.is_duplicate, arrow.is_retransmission) {
        (true, _) => format!("{name} (copy)"),
        (false, true) => format!("{name} again"),
        (false, false) => name,
    }
}

/// Returns the free position along an arrow that hides the least of other arrows.
fn label_position(areas: &OccupiedAreas, index: usize, segments: &Segments, label_width: f64) -> Option<Point> {
    let ((x1, y1), (x2, y2)) = segments.all.get(index).copied()?;
    let mut best: Option<(usize, Point)> = None;
    for shift in [0.0, 1.0, -1.0] {
        for part in [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74] {
            let (x, y) = (x1 + (x2 - x1) * part, y1 + (y2 - y1) * part);
            let position = (x - label_width / 2.0 + shift * (label_width / 2.0 + 6.0), y + FONT_SIZE * 0.32);
            let area = Area::of_text(position, label_width, FONT_SIZE);
            if !areas.is_free(&area) {
                continue;
            }
            // A name beside its arrow is second choice.
            let crossed = segments.count_crossing(&area, Some(index)) + usize::from(shift != 0.0);
            if best.is_none_or(|(fewest, _)| crossed < fewest) {
                best = Some((crossed, position));
            }
            if crossed == 0 {
                return Some(position);
            }
        }
    }
    best.map(|(_, position)| position)
}

/// The lines of all arrows, indexed by columns for fast lookup.
struct Segments {
    all: Vec<(Point, Point)>,
    columns: BTreeMap<i64, Vec<usize>>,
}

impl Segments {
    fn new(all: Vec<(Point, Point)>) -> Self {
        let mut columns: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (index, ((x1, _), (x2, _))) in all.iter().enumerate() {
            for column in areas::columns(x1.min(*x2), x1.max(*x2)) {
                columns.entry(column).or_default().push(index);
            }
        }
        Self { all, columns }
    }

    /// Returns how many lines cross an area, not counting `index`.
    fn count_crossing(&self, area: &Area, index: Option<usize>) -> usize {
        let near = areas::columns(area.left, area.right).filter_map(|column| self.columns.get(&column)).flatten();
        let mut near: Vec<usize> = near.copied().filter(|other| Some(*other) != index).collect();
        near.sort_unstable();
        near.dedup();
        near.iter().filter_map(|other| self.all.get(*other)).filter(|(from, to)| area.is_crossed(*from, *to)).count()
    }
}

/// Returns the end points of an arrow.
fn end_points(scene: &Scene, layout: &Layout, arrow: &Arrow) -> Option<(Point, Point)> {
    let (from_y, to_y) = (*layout.lanes.get(arrow.from)?, *layout.lanes.get(arrow.to)?);
    let x_of_step = |step: usize| scene.steps.get(step).map(|step| layout.axis.x_of(step.position.order));
    let sent = match arrow.tail {
        Tail::Step(step) => (x_of_step(step)?, from_y),
        Tail::BeforeWindow => (layout.axis.left_edge(), from_y + (to_y - from_y) * 0.35),
    };
    let (x, y) = sent;
    let towards = |part: f64| y + (to_y - y) * part;
    // A message that does not arrive ends in the gap before its receiver's lane, not on a lane in
    // between.
    let neighbour = if arrow.from < arrow.to { arrow.to.checked_sub(1) } else { Some(arrow.to + 1) };
    let before = neighbour.and_then(|lane| layout.lanes.get(lane)).copied().unwrap_or(y);
    let gap = |part: f64| before + (to_y - before) * part;
    let end = match arrow.head {
        Head::Step(step) => (x_of_step(step)?, to_y),
        Head::Lost { why: Loss::Chance, .. } => match arrow.tail {
            Tail::Step(_) => (x + 34.0, first_gap(layout, arrow, y)),
            Tail::BeforeWindow => (x + 34.0, towards(0.5)),
        },
        Head::Lost { why: Loss::Cut, position } => (layout.axis.x_at(position).max(x + 20.0), gap(0.55)),
        Head::Lost { why: Loss::Down, position } => (layout.axis.x_at(position).max(x + 20.0), gap(0.78)),
        // The message is in flight at the end of the row.
        Head::Open => ((layout.axis.right + 14.0).max(x + 16.0), towards(0.42)),
    };
    Some((sent, end))
}

/// Returns the height at which a message lost by the network ends: in the gap next to its sender's
/// lane.
fn first_gap(layout: &Layout, arrow: &Arrow, y: f64) -> f64 {
    let next = if arrow.from < arrow.to { Some(arrow.from + 1) } else { arrow.from.checked_sub(1) };
    let next = next.and_then(|lane| layout.lanes.get(lane)).copied().unwrap_or(y);
    y + (next - y) * 0.52
}

/// Draws all arrows; their names are drawn later, on top of everything.
///
/// Tooltips describe the arrow of the `whole` scene, because a row may contain only one end.
pub(super) fn draw(
    canvas: &mut Canvas,
    whole: &Scene,
    whole_indices: &[usize],
    kinds: &Kinds,
    arrows: &[PlacedArrow<'_>],
) {
    for PlacedArrow { arrow, index, from, to, .. } in arrows {
        let colour = kinds.colour(&arrow.kind);
        let line_class = match (arrow.is_duplicate, arrow.is_retransmission, arrow.class) {
            (false, false, Class::Control) if arrow.report.is_some() => "report",
            (true, _, _) => "copy",
            (false, true, _) => "repeat",
            (false, false, Class::Control) => "control",
            (false, false, Class::Algorithm | Class::Announcement) => "arrow",
        };
        let whole_arrow = whole_indices.get(*index).and_then(|index| whole.arrows.get(*index)).unwrap_or(arrow);
        canvas.titled("arrow-group", &title(whole, whole_arrow), |canvas| {
            let stroke = format!("stroke:var(--{colour})");
            if arrow.from == arrow.to {
                loop_back(canvas, arrow, line_class, &stroke, *from, *to);
            } else {
                straight(canvas, arrow, line_class, &stroke, *from, *to);
            }
        });
    }
}

pub(super) fn draw_names(canvas: &mut Canvas, kinds: &Kinds, arrows: &[PlacedArrow<'_>]) {
    for PlacedArrow { arrow, label, .. } in arrows {
        if let Some((x, y)) = label {
            let (x, y, colour) = (Number(*x), Number(*y), kinds.colour(&arrow.kind));
            let name = name(arrow);
            canvas.raw(format_args!(
                "<text class=\"kind\" x=\"{x}\" y=\"{y}\" style=\"fill:var(--{colour})\">{}</text>",
                Escaped(&name)
            ));
        }
    }
}

fn straight(canvas: &mut Canvas, arrow: &Arrow, line_class: &str, stroke: &str, from: Point, to: Point) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).sqrt().max(0.001);
    let (ux, uy) = (dx / length, dy / length);
    let begin = match arrow.tail {
        Tail::Step(_) => (from.0 + ux * STEP_CLEARANCE, from.1 + uy * STEP_CLEARANCE),
        Tail::BeforeWindow => from,
    };
    let arrives = matches!(arrow.head, Head::Step(_));
    let tip = if arrives { (to.0 - ux * STEP_CLEARANCE, to.1 - uy * STEP_CLEARANCE) } else { to };
    let [x1, y1, x2, y2] = [begin.0, begin.1, tip.0 - ux * 4.0, tip.1 - uy * 4.0].map(Number);
    canvas.raw(format_args!("<path class=\"{line_class}\" style=\"{stroke}\" d=\"M{x1} {y1}L{x2} {y2}\"/>"));
    match arrow.head {
        Head::Step(_) | Head::Open => {
            let wing = |side: f64| (tip.0 - ux * 10.0 - uy * 4.4 * side, tip.1 - uy * 10.0 + ux * 4.4 * side);
            let ((ax, ay), (bx, by)) = (wing(1.0), wing(-1.0));
            let [x, y, ax, ay, bx, by] = [tip.0, tip.1, ax, ay, bx, by].map(Number);
            let fill = stroke.replace("stroke:", "fill:");
            canvas.raw(format_args!("<path style=\"{fill}\" d=\"M{x} {y}L{ax} {ay}L{bx} {by}Z\"/>"));
        }
        Head::Lost { .. } => cross(canvas, tip, 5.0),
    }
}

/// Draws a message to the sender itself as a loop, which is open if the message is lost.
fn loop_back(canvas: &mut Canvas, arrow: &Arrow, line_class: &str, stroke: &str, from: Point, to: Point) {
    let (left, right, base) = (from.0, to.0.max(from.0 + 14.0), from.1 + 9.0);
    let middle = (f64::midpoint(left, right), base + 19.0);
    let [x1, x2, y, x, low] = [left, right, base, middle.0, base + 37.0].map(Number);
    match arrow.head {
        Head::Step(_) => {
            canvas.raw(format_args!(
                "<path class=\"{line_class}\" style=\"{stroke}\" d=\"M{x1} {y}Q{x} {low} {x2} {y}\"/>"
            ));
            let [tip, wing, top] = [right - 6.0, right + 2.0, base + 9.0].map(Number);
            let fill = stroke.replace("stroke:", "fill:");
            canvas.raw(format_args!("<path style=\"{fill}\" d=\"M{x2} {y}L{tip} {top}L{wing} {top}Z\"/>"));
        }
        Head::Lost { .. } | Head::Open => {
            let [end] = [middle.1].map(Number);
            canvas.raw(format_args!(
                "<path class=\"{line_class}\" style=\"{stroke}\" d=\"M{x1} {y}Q{x1} {end} {x} {end}\"/>"
            ));
            if matches!(arrow.head, Head::Lost { .. }) {
                cross(canvas, middle, 5.0);
            }
        }
    }
}

/// Draws a cross.
pub(super) fn cross(canvas: &mut Canvas, (x, y): Point, half: f64) {
    let [left, top, right, bottom] = [x - half, y - half, x + half, y + half].map(Number);
    canvas.raw(format_args!(
        "<path class=\"cross\" d=\"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}\"/>"
    ));
}

fn title(scene: &Scene, arrow: &Arrow) -> String {
    let node = |lane: usize| scene.lanes.get(lane).map_or_else(String::new, |lane| lane.node.to_string());
    let when =
        |step: usize| scene.steps.get(step).map_or_else(String::new, |step| millis(scene.relative(step.position.time)));
    let kind = if arrow.label.is_some() { format!("{} ", shortened(&arrow.kind, MAX_CHARS)) } else { String::new() };
    let (name, from, to) = (name(arrow), node(arrow.from), node(arrow.to));
    let mut text = format!("{kind}{name}: node {from} → node {to} (message {})", arrow.id);
    text.push_str(&match arrow.tail {
        Tail::Step(step) => format!("\nsent at {} ms", when(step)),
        Tail::BeforeWindow => "\nsent before this picture".into(),
    });
    text.push_str(&match arrow.head {
        Head::Step(step) => format!("\narrives at {} ms", when(step)),
        Head::Lost { why, position } => {
            format!("\nnever arrives: {why}, at {} ms", millis(scene.relative(position.time)))
        }
        Head::Open => "\ndoes not arrive in this picture".into(),
    });
    if !arrow.body.is_empty() {
        text.push('\n');
        text.push_str(&arrow.body);
    }
    text
}
