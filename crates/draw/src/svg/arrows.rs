//! Draws messages as arrows in the colour of their kind, with names where there is room.

use super::areas::{self, Area, OccupiedAreas};
use super::canvas::{Canvas, Number};
use super::layout::Layout;
use super::text::{bold_width, truncate};
use super::trays;
use crate::scene::{Arrow, Head, Scene, Tail};
use crate::style::SERIES;
use crate::text::Escaped;
use quorate_core::{Class, Epoch};
use quorate_journal::moment::Loss;
use quorate_journal::words::format_millis;
use std::collections::{BTreeMap, BTreeSet};

const FONT_SIZE: f64 = 12.5;
/// Maximum length of a name in characters, without its remark.
const MAX_CHARS: usize = 22;
/// Distance in pixels between a step and the ends of its arrows, so that the step's dot stays
/// visible.
const STEP_CLEARANCE: f64 = 6.5;

type Point = (f64, f64);

/// The message kinds in order of first appearance, which determines their colours.
pub(super) struct MessageKinds {
    /// Kinds of algorithm messages, of announcements, and of retransmitted control messages other
    /// than reports.
    coloured: Vec<String>,
    /// All other kinds; their arrows have the colour `faint`.
    faint: Vec<String>,
    /// The kind of the reports between members of a view, if the scene has any.
    report: Option<String>,
}

impl MessageKinds {
    pub(super) fn new(scene: &Scene) -> Self {
        let kinds = |is_wanted: fn(&Arrow) -> bool| {
            let mut kinds: Vec<String> = Vec::new();
            for arrow in scene.arrows.iter().filter(|arrow| is_wanted(arrow)) {
                if !kinds.contains(&arrow.kind) {
                    kinds.push(arrow.kind.clone());
                }
            }
            kinds
        };
        let coloured = kinds(|arrow| {
            arrow.class != Class::Control || (arrow.is_retransmission && arrow.report_for_view.is_none())
        });
        let mut faint = kinds(|arrow| arrow.class == Class::Control);
        faint.retain(|kind| !coloured.contains(kind));
        let report = scene.arrows.iter().find(|arrow| arrow.report_for_view.is_some()).map(|arrow| arrow.kind.clone());
        Self { coloured, faint, report }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.coloured.iter().chain(&self.faint).map(String::as_str)
    }

    /// Returns the CSS variable of a kind's colour. Colours repeat if there are more kinds than
    /// colours.
    pub(super) fn colour(&self, kind: &str) -> &'static str {
        let index = self.coloured.iter().position(|known| known == kind);
        index.and_then(|index| SERIES.get(index % SERIES.len())).map_or("faint", |colour| colour.name)
    }

    /// Whether the kind has a colour other than `faint`; its item in the legend then has a solid
    /// line.
    pub(super) fn is_coloured(&self, kind: &str) -> bool {
        self.coloured.iter().any(|known| known == kind)
    }

    /// Returns the CSS class of a kind's line in the legend.
    pub(super) fn line_class(&self, kind: &str) -> &'static str {
        if self.is_coloured(kind) {
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
    /// The visible start of the arrow.
    from: Point,
    /// The visible end of the arrow.
    to: Point,
    /// Position of its name, if it fits.
    name_position: Option<Point>,
}

impl PlacedArrow<'_> {
    /// Whether the arrow gets a name wherever there is room. To limit the number of names, control
    /// messages such as acknowledgements get none unless they are retransmissions or duplicates. Of
    /// all reports for a view, [`place_arrows`] names at most one.
    fn wants_name(&self) -> bool {
        let is_report = self.arrow.report_for_view.is_some();
        !is_report && (self.arrow.class != Class::Control || self.arrow.is_retransmission || self.arrow.is_duplicate)
    }
}

/// Places all arrows, the names of held-back messages and, where they fit, the names of arrows.
/// Returns the arrows and the number of texts that do not fit.
pub(super) fn place_arrows<'a>(scene: &'a Scene, layout: &mut Layout) -> (Vec<PlacedArrow<'a>>, usize) {
    let place_arrow = |(index, arrow): (usize, &'a Arrow)| {
        let (from, to) = end_points(scene, layout, arrow)?;
        Some(PlacedArrow { arrow, index, from, to, name_position: None })
    };
    let mut arrows: Vec<PlacedArrow<'a>> = scene.arrows.iter().enumerate().filter_map(place_arrow).collect();
    let segments = Segments::new(arrows.iter().map(|placed| (placed.from, placed.to)).collect());
    // The names of held-back messages are placed first, where the fewest arrows cross them.
    let mut omitted_texts = trays::place_names(scene, layout, |area| segments.count_crossing(area, None));
    // Of all reports for one view, only the first with enough room is named.
    let mut reported: BTreeSet<Epoch> = BTreeSet::new();
    for (index, placed) in arrows.iter_mut().enumerate() {
        let report =
            placed.arrow.report_for_view.filter(|view| !placed.arrow.is_retransmission && !reported.contains(view));
        if !placed.wants_name() && report.is_none() {
            continue;
        }
        let name = displayed_name(placed.arrow);
        let name_width = bold_width(&name, FONT_SIZE) + 4.0;
        match name_position(&layout.occupied_areas, index, &segments, name_width) {
            Some(position) => {
                let area = Area::of_text((position.0 - 2.0, position.1), name_width, FONT_SIZE);
                layout.right_edge = layout.right_edge.max(area.right);
                layout.occupied_areas.occupy(area);
                placed.name_position = Some(position);
                reported.extend(report);
            }
            None if report.is_some() => {}
            None => omitted_texts += 1,
        }
    }
    (arrows, omitted_texts)
}

/// Returns the name of an arrow with a remark if it is a duplicate or a retransmission.
fn displayed_name(arrow: &Arrow) -> String {
    let name = truncate(arrow.name(), MAX_CHARS);
    match (arrow.is_duplicate, arrow.is_retransmission) {
        (true, _) => format!("{name} (copy)"),
        (false, true) => format!("{name} again"),
        (false, false) => name,
    }
}

/// Returns the free position along an arrow at which its name covers the fewest other arrows;
/// `None` if no position is free.
fn name_position(areas: &OccupiedAreas, index: usize, segments: &Segments, name_width: f64) -> Option<Point> {
    let ((x1, y1), (x2, y2)) = segments.lines.get(index).copied()?;
    let mut best: Option<(usize, Point)> = None;
    // On the arrow, to its right, to its left.
    for shift in [0.0, 1.0, -1.0] {
        // The part of the arrow before the middle of its name.
        for part in [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74] {
            let (x, y) = (x1 + (x2 - x1) * part, y1 + (y2 - y1) * part);
            // The baseline is about a third of the font size below the middle of the text.
            let position = (x - name_width / 2.0 + shift * (name_width / 2.0 + 6.0), y + FONT_SIZE * 0.32);
            let area = Area::of_text(position, name_width, FONT_SIZE);
            if !areas.is_free(&area) {
                continue;
            }
            // A name beside its arrow counts as if it covered one more arrow.
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

/// The lines of all arrows, indexed by columns (vertical strips of the page) for fast lookup.
struct Segments {
    lines: Vec<(Point, Point)>,
    /// Indices of the lines in each column.
    columns: BTreeMap<i64, Vec<usize>>,
}

impl Segments {
    fn new(lines: Vec<(Point, Point)>) -> Self {
        let mut columns: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (index, ((x1, _), (x2, _))) in lines.iter().enumerate() {
            for column in areas::columns_of(x1.min(*x2), x1.max(*x2)) {
                columns.entry(column).or_default().push(index);
            }
        }
        Self { lines, columns }
    }

    /// Returns how many lines cross an area, not counting the line `except`.
    fn count_crossing(&self, area: &Area, except: Option<usize>) -> usize {
        let near = areas::columns_of(area.left, area.right).filter_map(|column| self.columns.get(&column)).flatten();
        let mut near: Vec<usize> = near.copied().filter(|other| Some(*other) != except).collect();
        near.sort_unstable();
        near.dedup();
        near.iter()
            .filter_map(|other| self.lines.get(*other))
            .filter(|(from, to)| area.is_crossed_by(*from, *to))
            .count()
    }
}

/// Returns the end points of an arrow; `None` if its steps or lanes are missing from the scene.
fn end_points(scene: &Scene, layout: &Layout, arrow: &Arrow) -> Option<(Point, Point)> {
    let (from_y, to_y) = (*layout.lanes.get(arrow.from)?, *layout.lanes.get(arrow.to)?);
    let x_of_step = |step: usize| scene.steps.get(step).map(|step| layout.axis.x_of_event(step.position.order));
    let start = match arrow.tail {
        Tail::Step(step) => (x_of_step(step)?, from_y),
        Tail::BeforeWindow => (layout.axis.left_edge(), from_y + (to_y - from_y) * 0.35),
    };
    let (x, y) = start;
    let y_towards_receiver = |part: f64| y + (to_y - y) * part;
    // A message that a partition blocks, or whose receiver is down, ends in the gap before its
    // receiver's lane, not on a lane in between.
    let neighbour = if arrow.from < arrow.to { arrow.to.checked_sub(1) } else { Some(arrow.to + 1) };
    let neighbour_y = neighbour.and_then(|lane| layout.lanes.get(lane)).copied().unwrap_or(y);
    let y_in_last_gap = |part: f64| neighbour_y + (to_y - neighbour_y) * part;
    // The distances are pixels, and fractions of the gap between lanes.
    let end = match arrow.head {
        Head::Step(step) => (x_of_step(step)?, to_y),
        Head::Lost { cause: Loss::Chance, .. } => match arrow.tail {
            Tail::Step(_) => (x + 34.0, y_of_first_gap(layout, arrow, y)),
            Tail::BeforeWindow => (x + 34.0, y_towards_receiver(0.5)),
        },
        Head::Lost { cause: Loss::Cut, position } => (layout.axis.x_at(position).max(x + 20.0), y_in_last_gap(0.55)),
        Head::Lost { cause: Loss::Down, position } => (layout.axis.x_at(position).max(x + 20.0), y_in_last_gap(0.78)),
        // The message is in flight at the end of the row.
        Head::InFlight => ((layout.axis.right + 14.0).max(x + 16.0), y_towards_receiver(0.42)),
    };
    Some((start, end))
}

/// Returns the vertical end of the arrow of a message that the network drops: in the gap next to
/// its sender's lane.
fn y_of_first_gap(layout: &Layout, arrow: &Arrow, sender_y: f64) -> f64 {
    let next_lane = if arrow.from < arrow.to { Some(arrow.from + 1) } else { arrow.from.checked_sub(1) };
    let next_y = next_lane.and_then(|lane| layout.lanes.get(lane)).copied().unwrap_or(sender_y);
    sender_y + (next_y - sender_y) * 0.52
}

/// Draws all arrows of one row of a diagram that may be broken into rows; their names are drawn
/// later, on top of everything.
///
/// Tooltips describe each arrow as in `full_scene`, because a row may contain only one of its ends.
/// `full_indices` gives the index in `full_scene` of each arrow of the row.
pub(super) fn draw(
    canvas: &mut Canvas,
    full_scene: &Scene,
    full_indices: &[usize],
    kinds: &MessageKinds,
    arrows: &[PlacedArrow<'_>],
) {
    for PlacedArrow { arrow, index, from, to, .. } in arrows {
        let colour = kinds.colour(&arrow.kind);
        let line_class = match (arrow.is_duplicate, arrow.is_retransmission, arrow.class) {
            (false, false, Class::Control) if arrow.report_for_view.is_some() => "report",
            (true, _, _) => "duplicate",
            (false, true, _) => "retransmission",
            (false, false, Class::Control) => "control",
            (false, false, Class::Algorithm | Class::Announcement) => "arrow",
        };
        let full_arrow = full_indices.get(*index).and_then(|index| full_scene.arrows.get(*index)).unwrap_or(arrow);
        canvas.group_with_tooltip("arrow-group", &tooltip(full_scene, full_arrow), |canvas| {
            let stroke = format!("stroke:var(--{colour})");
            if arrow.from == arrow.to {
                draw_loop(canvas, arrow, line_class, &stroke, *from, *to);
            } else {
                draw_straight(canvas, arrow, line_class, &stroke, *from, *to);
            }
        });
    }
}

pub(super) fn draw_names(canvas: &mut Canvas, kinds: &MessageKinds, arrows: &[PlacedArrow<'_>]) {
    for PlacedArrow { arrow, name_position, .. } in arrows {
        if let Some((x, y)) = name_position {
            let (x, y, colour) = (Number(*x), Number(*y), kinds.colour(&arrow.kind));
            let name = displayed_name(arrow);
            canvas.write_markup(format_args!(
                "<text class=\"kind\" x=\"{x}\" y=\"{y}\" style=\"fill:var(--{colour})\">{}</text>",
                Escaped(&name)
            ));
        }
    }
}

fn draw_straight(canvas: &mut Canvas, arrow: &Arrow, line_class: &str, stroke: &str, from: Point, to: Point) {
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
    canvas.write_markup(format_args!("<path class=\"{line_class}\" style=\"{stroke}\" d=\"M{x1} {y1}L{x2} {y2}\"/>"));
    match arrow.head {
        Head::Step(_) | Head::InFlight => {
            let wing = |side: f64| (tip.0 - ux * 10.0 - uy * 4.4 * side, tip.1 - uy * 10.0 + ux * 4.4 * side);
            let ((ax, ay), (bx, by)) = (wing(1.0), wing(-1.0));
            let [x, y, ax, ay, bx, by] = [tip.0, tip.1, ax, ay, bx, by].map(Number);
            let fill = stroke.replace("stroke:", "fill:");
            canvas.write_markup(format_args!("<path style=\"{fill}\" d=\"M{x} {y}L{ax} {ay}L{bx} {by}Z\"/>"));
        }
        Head::Lost { .. } => draw_cross(canvas, tip, 5.0),
    }
}

/// Draws a message to the sender itself as a loop, which is open if the message does not arrive.
fn draw_loop(canvas: &mut Canvas, arrow: &Arrow, line_class: &str, stroke: &str, from: Point, to: Point) {
    let (left, right, base) = (from.0, to.0.max(from.0 + 14.0), from.1 + 9.0);
    let middle = (f64::midpoint(left, right), base + 19.0);
    let [x1, x2, y, x, low] = [left, right, base, middle.0, base + 37.0].map(Number);
    match arrow.head {
        Head::Step(_) => {
            canvas.write_markup(format_args!(
                "<path class=\"{line_class}\" style=\"{stroke}\" d=\"M{x1} {y}Q{x} {low} {x2} {y}\"/>"
            ));
            let [left_wing, right_wing, wing_y] = [right - 6.0, right + 2.0, base + 9.0].map(Number);
            let fill = stroke.replace("stroke:", "fill:");
            canvas.write_markup(format_args!(
                "<path style=\"{fill}\" d=\"M{x2} {y}L{left_wing} {wing_y}L{right_wing} {wing_y}Z\"/>"
            ));
        }
        Head::Lost { .. } | Head::InFlight => {
            let [end] = [middle.1].map(Number);
            canvas.write_markup(format_args!(
                "<path class=\"{line_class}\" style=\"{stroke}\" d=\"M{x1} {y}Q{x1} {end} {x} {end}\"/>"
            ));
            if matches!(arrow.head, Head::Lost { .. }) {
                draw_cross(canvas, middle, 5.0);
            }
        }
    }
}

pub(super) fn draw_cross(canvas: &mut Canvas, (x, y): Point, half_size: f64) {
    let [left, top, right, bottom] = [x - half_size, y - half_size, x + half_size, y + half_size].map(Number);
    canvas.write_markup(format_args!(
        "<path class=\"cross\" d=\"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}\"/>"
    ));
}

fn tooltip(scene: &Scene, arrow: &Arrow) -> String {
    let node = |lane: usize| scene.lanes.get(lane).map_or_else(String::new, |lane| lane.node.to_string());
    let when = |step: usize| {
        scene.steps.get(step).map_or_else(String::new, |step| format_millis(scene.relative(step.position.time)))
    };
    let kind = if arrow.label.is_some() { format!("{} ", truncate(&arrow.kind, MAX_CHARS)) } else { String::new() };
    let (name, from, to) = (displayed_name(arrow), node(arrow.from), node(arrow.to));
    let mut text = format!("{kind}{name}: node {from} → node {to} (message {})", arrow.id);
    text.push_str(&match arrow.tail {
        Tail::Step(step) => format!("\nsent at {} ms", when(step)),
        Tail::BeforeWindow => "\nsent before this picture".into(),
    });
    text.push_str(&match arrow.head {
        Head::Step(step) => format!("\narrives at {} ms", when(step)),
        Head::Lost { cause, position } => {
            format!("\nnever arrives: {cause}, at {} ms", format_millis(scene.relative(position.time)))
        }
        Head::InFlight => "\ndoes not arrive in this picture".into(),
    });
    if !arrow.body.is_empty() {
        text.push('\n');
        text.push_str(&arrow.body);
    }
    text
}
