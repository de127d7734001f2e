//! Radial layout: the core of a cluster (a deadlock, or nodes that can all reach each other) on an
//! inner circle, and the cluster's other nodes, which form trees behind the core, on rings around
//! it.

use super::shape::{NodeBox, Point};
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

/// Width of every circle divided by its height. Boxes are wide, so the circles are ellipses.
const ASPECT_RATIO: f64 = 1.4;
/// Horizontal and vertical gaps between boxes of the core, in pixels; two boxes keep at least one
/// of them.
const CORE_BOX_GAPS: (f64, f64) = (54.0, 44.0);
/// The same gaps for boxes of the outer rings.
const RING_BOX_GAPS: (f64, f64) = (30.0, 34.0);
/// Minimum distance between the radii of consecutive rings, in pixels.
const RING_DISTANCE: f64 = 82.0;
/// Maximum angle, in radians, that a core node's branches take up per leaf.
const MAX_ANGLE_PER_LEAF: f64 = 0.9;

/// The course of the arrows between core nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CoreArrows {
    /// All arrows connect neighbours on the circle.
    Neighbours,
    /// Some arrows cross the circle, which needs a larger radius.
    Across,
}

/// A node, the angle at the middle of its sector, and the width of the sector, both in radians.
struct Branch {
    node: usize,
    angle: f64,
    sector: f64,
}

/// Places the core on a circle around the origin, and every other node on the ring outside its
/// parent's. Returns the middle of every node's box.
pub(super) fn place(
    core: &[usize],
    children: &BTreeMap<usize, Vec<usize>>,
    core_arrows: CoreArrows,
    node_box: &dyn Fn(usize) -> NodeBox,
) -> Vec<(usize, Point)> {
    let mut ring = sectors(core, children);
    let mut placed: Vec<(usize, NodeBox)> = Vec::new();
    // The smallest radius of the core's circle in pixels.
    let mut radius: f64 = match (core.len(), core_arrows) {
        (1, _) => 0.0,
        (2, _) => 66.0,
        (_, CoreArrows::Neighbours) => 44.0,
        (_, CoreArrows::Across) => 92.0,
    };
    let mut is_core = true;
    while !ring.is_empty() {
        let gaps = if is_core { CORE_BOX_GAPS } else { RING_BOX_GAPS };
        let step = if is_core { 4.0 } else { 8.0 };
        // Boxes move apart as the radius grows, so one of these radii fits.
        let fitting = (0..3_000_u32).map(|steps| radius + f64::from(steps) * step).find_map(|radius| {
            let place_box =
                |branch: &Branch| (branch.node, node_box(branch.node).moved_to(point_on_ring(radius, branch.angle)));
            let boxes: Vec<(usize, NodeBox)> = ring.iter().map(place_box).collect();
            have_gaps(&boxes, &placed, gaps).then_some((radius, boxes))
        });
        let Some((fitting_radius, boxes)) = fitting else { break };
        placed.extend(boxes);
        radius = fitting_radius + RING_DISTANCE;
        ring = ring.iter().flat_map(|branch| child_branches(branch, children, is_core)).collect();
        is_core = false;
    }
    placed.into_iter().map(|(node, node_box)| (node, node_box.middle)).collect()
}

fn point_on_ring(radius: f64, angle: f64) -> Point {
    Point { x: ASPECT_RATIO * radius * angle.cos(), y: radius * angle.sin() }
}

/// Whether every box keeps at least one of these gaps to each other box, also to those already
/// placed.
fn have_gaps(boxes: &[(usize, NodeBox)], placed: &[(usize, NodeBox)], gaps: (f64, f64)) -> bool {
    let placed_before = |index: usize| boxes.iter().take(index).chain(placed);
    boxes.iter().enumerate().all(|(index, (_, one))| placed_before(index).all(|(_, other)| !one.is_near(other, gaps)))
}

/// Divides the circle among the core nodes, roughly in proportion to the leaves behind each.
fn sectors(core: &[usize], children: &BTreeMap<usize, Vec<usize>>) -> Vec<Branch> {
    // A leaf is on an outer ring, where an angle spans more room than on the core's circle.
    let weights: Vec<f64> = core.iter().map(|node| (0.7 * leaves_behind(*node, children)).max(1.0)).collect();
    let total: f64 = weights.iter().sum();
    // Two nodes are placed side by side, and four to the left, above, to the right and below.
    let first_angle = if matches!(core.len(), 2 | 4) { -PI } else { -PI / 2.0 };
    let first_weight = weights.first().copied().unwrap_or(1.0);
    let mut start_angle = first_angle - first_weight / total * TAU / 2.0;
    let mut branches = Vec::new();
    for (node, weight) in core.iter().zip(weights) {
        let sector = weight / total * TAU;
        branches.push(Branch { node: *node, angle: start_angle + sector / 2.0, sector });
        start_angle += sector;
    }
    branches
}

/// Returns the branches of a branch's children, which share its sector.
fn child_branches(branch: &Branch, children: &BTreeMap<usize, Vec<usize>>, is_core: bool) -> Vec<Branch> {
    let child_nodes = children.get(&branch.node).map_or(&[][..], Vec::as_slice);
    let weights: Vec<f64> = child_nodes.iter().map(|node| leaf_count(*node, children)).collect();
    let total: f64 = weights.iter().sum();
    let max_sector = if is_core { MAX_ANGLE_PER_LEAF * total } else { f64::INFINITY };
    let sector = branch.sector.min(max_sector);
    let mut start_angle = branch.angle - sector / 2.0;
    let mut branches = Vec::new();
    for (node, weight) in child_nodes.iter().zip(weights) {
        let child_sector = sector * weight / total;
        branches.push(Branch { node: *node, angle: start_angle + child_sector / 2.0, sector: child_sector });
        start_angle += child_sector;
    }
    branches
}

/// Returns the number of leaves behind a node; 0 for a leaf.
fn leaves_behind(node: usize, children: &BTreeMap<usize, Vec<usize>>) -> f64 {
    children.get(&node).map_or(0.0, |child_nodes| child_nodes.iter().map(|child| leaf_count(*child, children)).sum())
}

/// Returns the number of leaves of the tree that begins with this node; 1 for a leaf.
fn leaf_count(node: usize, children: &BTreeMap<usize, Vec<usize>>) -> f64 {
    leaves_behind(node, children).max(1.0)
}
