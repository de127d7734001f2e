//! Routes arrows: chooses bends that avoid boxes and cross few other arrows.

use super::curve::Curve;
use super::shape::{NodeBox, Point, do_segments_cross};
use super::{Diagram, Edge, NodeState};
use std::collections::BTreeMap;

/// Bends that are tried, to both sides, relative to the distance between the boxes.
const BENDS: [f64; 7] = [0.0, 0.09, 0.17, 0.26, 0.37, 0.5, 0.68];
/// Bend that keeps two opposite arrows apart.
const OPPOSITE_BEND: f64 = 0.15;
/// Preferred bend of the arrows within a deadlock, whose members are placed on a circle.
const CIRCLE_BEND: f64 = 0.09;
/// Minimum distance in pixels between an arrow and a box that is not one of its ends.
const BOX_CLEARANCE: f64 = 7.0;

/// Costs of a point in or near a box, of a crossed arrow, and of a difference of 1 from the
/// preferred bend.
const HIT_COST: f64 = 60.0;
const CROSSING_COST: f64 = 6.0;
const BEND_COST: f64 = 32.0;

/// An arrow whose bend is chosen, with points along its curve.
struct Routed {
    edge: (usize, usize),
    bend: f64,
    points: Vec<Point>,
}

/// Returns a curve for every arrow, in their order; `None` for arrows to or from missing nodes.
pub(super) fn route_arrows(diagram: &Diagram, boxes: &[NodeBox]) -> Vec<Option<Curve>> {
    let deadlock_middles = deadlock_middles(diagram, boxes);
    let mut routed: Vec<Routed> = Vec::new();
    let mut curves: Vec<Option<Curve>> = vec![None; diagram.edges.len()];
    // Arrows of deadlocks are routed first.
    let mut order: Vec<usize> = (0..diagram.edges.len()).collect();
    order.sort_by_key(|index| diagram.edges.get(*index).is_none_or(|edge| !edge.is_in_deadlock));
    for index in order {
        let Some(edge) = diagram.edges.get(index) else { continue };
        let (Some(from), Some(to)) = (boxes.get(edge.from), boxes.get(edge.to)) else { continue };
        let curve = if edge.from == edge.to {
            Curve::around(from)
        } else {
            let preferred_bend = preferred_bend(diagram, edge, (from, to), &deadlock_middles);
            let obstacles = Obstacles { diagram, boxes, routed: &routed };
            let bend = best_bend(edge, (from, to), preferred_bend, &obstacles);
            let curve = Curve::between(from, to, bend);
            routed.push(Routed { edge: (edge.from, edge.to), bend, points: curve.segment_points(10) });
            curve
        };
        if let Some(slot) = curves.get_mut(index) {
            *slot = Some(curve);
        }
    }
    curves
}

fn deadlock_middles(diagram: &Diagram, boxes: &[NodeBox]) -> BTreeMap<usize, Point> {
    let mut sums: BTreeMap<usize, (Point, f64)> = BTreeMap::new();
    for (node, node_box) in diagram.nodes.iter().zip(boxes) {
        if let NodeState::Deadlock(number) = node.state {
            let (sum, count) = sums.entry(number).or_insert((Point::ZERO, 0.0));
            *sum = sum.plus(node_box.middle.x, node_box.middle.y);
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(number, (sum, count))| (number, Point { x: sum.x / count, y: sum.y / count })).collect()
}

/// Returns the preferred bend of an arrow: outwards if it is part of a deadlock, whose members are
/// placed on a circle, and else none.
fn preferred_bend(
    diagram: &Diagram,
    edge: &Edge,
    (from, to): (&NodeBox, &NodeBox),
    deadlock_middles: &BTreeMap<usize, Point>,
) -> f64 {
    let state = |node: usize| diagram.nodes.get(node).map(|node| node.state);
    let (Some(NodeState::Deadlock(one)), Some(NodeState::Deadlock(other))) = (state(edge.from), state(edge.to)) else {
        return 0.0;
    };
    let Some(middle) = deadlock_middles.get(&one).filter(|_| one == other && edge.is_in_deadlock) else { return 0.0 };
    let midpoint = from.middle.toward(to.middle, 0.5);
    // Positive bends are to the left of the arrow.
    let (along_x, along_y) = (to.middle.x - from.middle.x, to.middle.y - from.middle.y);
    let (out_x, out_y) = (midpoint.x - middle.x, midpoint.y - middle.y);
    let leftness = along_y * out_x - along_x * out_y;
    // An arrow whose midpoint is within 12 pixels of the circle's middle has no outer side.
    if out_x.hypot(out_y) < 12.0 { 0.0 } else { CIRCLE_BEND.copysign(leftness) }
}

struct Obstacles<'a> {
    diagram: &'a Diagram,
    boxes: &'a [NodeBox],
    routed: &'a [Routed],
}

fn best_bend(edge: &Edge, (from, to): (&NodeBox, &NodeBox), preferred_bend: f64, obstacles: &Obstacles<'_>) -> f64 {
    let has_opposite = obstacles.diagram.edges.iter().any(|other| (other.from, other.to) == (edge.to, edge.from));
    let bends = BENDS.iter().flat_map(|bend| [*bend, -bend]);
    // Both arrows bend to their own left, and so apart.
    let bends = bends.map(|bend| if has_opposite { OPPOSITE_BEND + bend.abs() * 0.8 } else { bend });
    let cost = |bend: f64| {
        let points = Curve::between(from, to, bend).segment_points(24);
        obstacles.points_in_boxes(edge, &points) * HIT_COST
            + obstacles.crossings(edge, bend, &points) * CROSSING_COST
            + (bend - preferred_bend).abs() * BEND_COST
    };
    let priced = bends.map(|bend| (cost(bend), bend));
    priced.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(0.0, |(_, bend)| bend)
}

impl Obstacles<'_> {
    /// Returns the number of points in or near boxes other than those at the ends of the arrow.
    fn points_in_boxes(&self, edge: &Edge, points: &[Point]) -> f64 {
        let others = self.boxes.iter().enumerate().filter(|(index, _)| *index != edge.from && *index != edge.to);
        let hits: usize = others
            .map(|(_, node_box)| points.iter().filter(|point| node_box.contains(**point, BOX_CLEARANCE)).count())
            .sum();
        hits as f64
    }

    /// Returns how often the arrow crosses others; one that it covers counts as a hundred
    /// crossings.
    fn crossings(&self, edge: &Edge, bend: f64, points: &[Point]) -> f64 {
        let mut count = 0.0;
        for other in self.routed {
            if other.edge == (edge.from, edge.to) && (other.bend - bend).abs() < 0.05 {
                count += 100.0;
            }
            let crosses = points.windows(2).filter(|pair| {
                let [a, b] = pair else { return false };
                other.points.windows(2).any(|pair| matches!(pair, [c, d] if do_segments_cross((*a, *b), (*c, *d))))
            });
            count += crosses.count() as f64;
        }
        count
    }
}
