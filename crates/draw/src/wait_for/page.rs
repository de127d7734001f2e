//! Draws the whole page: heading, arrows, boxes and legend.

use super::cluster::arrange;
use super::curve::Curve;
use super::route::route_arrows;
use super::shape::{NodeBox, Point, enclosing_corners};
use super::style::{PATTERNS, STYLE};
use super::{Diagram, Edge, EdgeKind, NodeKind, legend, nodes};
use crate::style::Theme;
use crate::svg::canvas::{Anchor, Canvas, Number};
use crate::svg::text::{bold_width, text_width, wrap};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) const MARGIN: f64 = 28.0;
/// Minimum width of a page, so that its heading has room.
const MIN_WIDTH: f64 = 420.0;
/// Maximum width that the heading may give a page; longer headings wrap.
const MAX_HEADING_WIDTH: f64 = 760.0;
/// Maximum angle, in radians, between two arrows that an arc connects.
const MAX_ARC: f64 = 2.55;

pub(super) fn draw(diagram: &Diagram, theme: Theme) -> String {
    let sizes: Vec<NodeBox> = diagram.nodes.iter().map(nodes::node_box).collect();
    let boxes = arrange(diagram, &sizes);
    let routed = route_arrows(diagram, &boxes);
    let (low, high) = bounding_box(&boxes, &routed);
    let inner_width = (high.x - low.x)
        .max(MIN_WIDTH - 2.0 * MARGIN)
        .max(bold_width(&diagram.title, 20.0).min(MAX_HEADING_WIDTH))
        .max(text_width(&diagram.subtitle, 13.0).min(MAX_HEADING_WIDTH * 0.8))
        .max(legend::single_row_width(diagram).min(MAX_HEADING_WIDTH * 0.75));

    let mut canvas = Canvas::default();
    let mut top = MARGIN + 16.0;
    // Bold text of 20 pixels is as wide as regular text of 23.
    for line in wrap(&diagram.title, 23.0, inner_width).iter().filter(|line| !line.is_empty()) {
        canvas.text("title", (MARGIN, top), Anchor::Start, line);
        top += 25.0;
    }
    for line in wrap(&diagram.subtitle, 13.0, inner_width).iter().filter(|line| !line.is_empty()) {
        canvas.text("detail", (MARGIN, top), Anchor::Start, line);
        top += 18.0;
    }
    top += 14.0;
    let shift_x = MARGIN + (inner_width - (high.x - low.x)) / 2.0 - low.x;
    let shift_y = top - low.y;
    let bottom = top + (high.y - low.y);
    canvas.write_markup(format_args!("<g transform=\"translate({} {})\">", Number(shift_x), Number(shift_y)));
    for (edge, curve) in diagram.edges.iter().zip(&routed) {
        if let Some(curve) = curve {
            draw_edge(&mut canvas, diagram, edge, curve);
        }
    }
    draw_arcs(&mut canvas, diagram, &boxes, &routed);
    for (node, node_box) in diagram.nodes.iter().zip(&boxes) {
        nodes::draw(&mut canvas, node, node_box);
    }
    canvas.write_markup(format_args!("</g>"));
    let end = legend::draw(&mut canvas, diagram, bottom + 44.0, MARGIN + inner_width);
    let size = (inner_width + 2.0 * MARGIN, end + MARGIN - 12.0);
    let title = if diagram.title.is_empty() { "A wait-for graph" } else { &diagram.title };
    canvas.finish_with(STYLE, PATTERNS, size, theme, (title, &description(diagram)))
}

/// Returns the top left and bottom right corners of the area that boxes and arrows cover.
fn bounding_box(boxes: &[NodeBox], routed: &[Option<Curve>]) -> (Point, Point) {
    let points = routed.iter().flatten().flat_map(|curve| curve.segment_points(16));
    let dots: Vec<NodeBox> = points.map(|middle| NodeBox { middle, half_width: 4.0, half_height: 4.0 }).collect();
    // The badge of a victim extends beyond its box.
    let boxes: Vec<NodeBox> = boxes
        .iter()
        .map(|node_box| NodeBox {
            half_width: node_box.half_width + 7.0,
            half_height: node_box.half_height + 7.0,
            ..*node_box
        })
        .collect();
    enclosing_corners(boxes.iter().chain(&dots))
}

fn draw_edge(canvas: &mut Canvas, diagram: &Diagram, edge: &Edge, curve: &Curve) {
    let name = |node: usize| diagram.nodes.get(node).map_or("", |node| node.name.as_str());
    let verb = match edge.kind {
        EdgeKind::All if diagram.nodes.get(edge.to).is_some_and(|node| node.kind != NodeKind::Process) => "requests",
        EdgeKind::All => "waits for",
        EdgeKind::Any(_) if diagram.nodes.get(edge.from).is_some_and(|node| node.kind != NodeKind::Process) => {
            "has a permit held by"
        }
        EdgeKind::Any(_) => "waits for any one of several, among them",
        EdgeKind::Held => "is held by",
        EdgeKind::Queue => "is queued behind",
    };
    let marked_class = if edge.is_in_deadlock { " marked" } else { "" };
    let tooltip = format!("{} {verb} {}", name(edge.from), name(edge.to));
    canvas.group_with_tooltip(&format!("arrow{marked_class}"), &tooltip, |canvas| {
        let tip_length = tip_size(edge.is_in_deadlock).0;
        let line = curve.control_points_up_to(curve.parameter_before_end(tip_length - 1.5));
        draw_arrow(canvas, edge.kind, edge.is_in_deadlock, &line, curve.end_and_point_before(tip_length));
    });
}

/// Returns the length of an arrow tip and half of its width, in pixels.
fn tip_size(is_in_deadlock: bool) -> (f64, f64) {
    if is_in_deadlock { (13.0, 5.6) } else { (10.0, 4.2) }
}

/// Draws an arrow: a curve with the control points `line`, and a tip at `end` that points away from
/// `tip_base`.
pub(super) fn draw_arrow(
    canvas: &mut Canvas,
    kind: EdgeKind,
    is_in_deadlock: bool,
    line: &[Point],
    (end, tip_base): (Point, Point),
) {
    let class = match kind {
        EdgeKind::All => "edge",
        EdgeKind::Held => "edge held",
        EdgeKind::Any(_) => "edge any",
        EdgeKind::Queue => "edge queue",
    };
    let mut path = String::new();
    for (index, point) in line.iter().enumerate() {
        let command = match (index, line.len()) {
            (0, _) => "M",
            (1, 3) => "Q",
            (1, 4) => "C",
            (1, _) => "L",
            (_, _) => " ",
        };
        // Writing into memory cannot fail.
        let _ = write!(path, "{command}{} {}", Number(point.x), Number(point.y));
    }
    canvas.write_markup(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    if let (EdgeKind::Held, Some(start)) = (kind, line.first()) {
        canvas.circle("tail", (start.x, start.y), if is_in_deadlock { 4.2 } else { 3.4 });
    }
    let (tip_length, half_width) = tip_size(is_in_deadlock);
    let length = end.distance(tip_base).max(0.1);
    let (x, y) = ((end.x - tip_base.x) / length, (end.y - tip_base.y) / length);
    let base = end.plus(-x * tip_length, -y * tip_length);
    let corners = [end, base.plus(-y * half_width, x * half_width), base.plus(y * half_width, -x * half_width)]
        .map(|at| (Number(at.x), Number(at.y)));
    let [(x1, y1), (x2, y2), (x3, y3)] = corners;
    canvas.write_markup(format_args!("<path class=\"tip\" d=\"M{x1} {y1}L{x2} {y2}L{x3} {y3}Z\"/>"));
}

/// Draws an arc across the arrows of each wait for any one of several targets (a fork).
fn draw_arcs(canvas: &mut Canvas, diagram: &Diagram, boxes: &[NodeBox], routed: &[Option<Curve>]) {
    let mut forks: BTreeMap<(usize, usize), Vec<(Point, bool)>> = BTreeMap::new();
    for (edge, curve) in diagram.edges.iter().zip(routed) {
        if let (EdgeKind::Any(fork), Some(curve)) = (edge.kind, curve) {
            forks.entry((edge.from, fork)).or_default().push((curve.point_after(15.0), edge.is_in_deadlock));
        }
    }
    for ((from, _), points) in forks {
        let Some(node_box) = boxes.get(from).filter(|_| points.len() > 1) else { continue };
        let marked_class = if points.iter().all(|(_, is_in_deadlock)| *is_in_deadlock) { " marked" } else { "" };
        let path = arc_path(node_box.middle, points.into_iter().map(|(point, _)| point).collect());
        canvas.write_markup(format_args!("<path class=\"fork{marked_class}\" d=\"{path}\"/>"));
    }
}

/// Returns the path of an arc around `middle` through all points. It leaves out the widest gap
/// between two adjacent points, and every gap wider than `MAX_ARC`.
fn arc_path(middle: Point, mut points: Vec<Point>) -> String {
    let angle = |point: &Point| (point.y - middle.y).atan2(point.x - middle.x);
    points.sort_by(|one, other| angle(one).total_cmp(&angle(other)));
    let gaps = points.iter().zip(points.iter().cycle().skip(1)).map(|(one, other)| {
        let gap = angle(other) - angle(one);
        if gap <= 0.0 { gap + std::f64::consts::TAU } else { gap }
    });
    let widest = gaps.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(index, _)| index);
    let first_index = (widest + 1) % points.len().max(1);
    points.rotate_left(first_index);
    let mut path = String::new();
    // Arrows in almost opposite directions get no arc between them: their dashes show that they are
    // alternatives.
    let is_wide = |one: &Point, other: &Point| (angle(other) - angle(one)).rem_euclid(std::f64::consts::TAU) > MAX_ARC;
    let mut previous: Option<Point> = None;
    for point in points {
        let _ = match previous {
            Some(last) if is_wide(&last, &point) => write!(path, "M{} {}", Number(point.x), Number(point.y)),
            None => write!(path, "M{} {}", Number(point.x), Number(point.y)),
            Some(last) => {
                let midpoint = last.toward(point, 0.5);
                // The arc bulges away from the middle.
                let radius = midpoint.distance(middle).max(1.0);
                let bulge = 1.0 + last.distance(point) * 0.22 / radius;
                let control = middle.toward(midpoint, bulge);
                let [x1, y1, x2, y2] = [control.x, control.y, point.x, point.y].map(Number);
                write!(path, "Q{x1} {y1} {x2} {y2}")
            }
        };
        previous = Some(point);
    }
    path
}

/// Returns a description of the picture for screen readers: the tooltips of its nodes.
fn description(diagram: &Diagram) -> String {
    let tooltips = diagram.nodes.iter().filter(|node| !node.tooltip.is_empty()).map(|node| node.tooltip.as_str());
    tooltips.collect::<Vec<_>>().join(" ")
}
