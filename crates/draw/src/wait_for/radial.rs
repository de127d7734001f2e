//! Places a cycle on a circle, and nodes blocked behind it on rings around it.

use super::shape::{NodeBox, Point};
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

/// Ratio of width to height of the circles, because boxes are wide.
const FLAT: f64 = 1.4;
/// Minimum distances between boxes of the circle.
const APART: (f64, f64) = (54.0, 44.0);
/// Minimum distances between boxes of rings.
const RING_APART: (f64, f64) = (30.0, 34.0);
/// Minimum distance between rings.
const RING: f64 = 82.0;
/// Maximum angle per leaf between the branches of one box.
const SPREAD: f64 = 0.9;

/// Where the arrows of the circle run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CoreArrows {
    /// Only between neighbours on the circle.
    Neighbours,
    /// Across the circle too, which needs more room.
    Across,
}

/// A branch: a node, and the middle and width of its sector.
struct Branch {
    node: usize,
    angle: f64,
    sector: f64,
}

/// Places the core on a circle around the origin, and every other node outside its parent. Returns
/// their middles.
pub(super) fn place(
    core: &[usize],
    children: &BTreeMap<usize, Vec<usize>>,
    core_arrows: CoreArrows,
    node_box: &dyn Fn(usize) -> NodeBox,
) -> Vec<(usize, Point)> {
    let mut ring = sectors(core, children);
    let mut placed: Vec<(usize, NodeBox)> = Vec::new();
    let mut radius: f64 = match (core.len(), core_arrows) {
        (1, _) => 0.0,
        (2, _) => 66.0,
        (_, CoreArrows::Neighbours) => 44.0,
        (_, CoreArrows::Across) => 92.0,
    };
    let mut is_core = true;
    while !ring.is_empty() {
        let apart = if is_core { APART } else { RING_APART };
        let step = if is_core { 4.0 } else { 8.0 };
        // Boxes move apart as the circle grows, so this ends.
        let fits = (0..3_000_u32).map(|steps| radius + f64::from(steps) * step).find_map(|radius| {
            let at = |branch: &Branch| (branch.node, node_box(branch.node).at(on_ring(radius, branch.angle)));
            let boxes: Vec<(usize, NodeBox)> = ring.iter().map(at).collect();
            is_apart(&boxes, &placed, apart).then_some((radius, boxes))
        });
        let Some((reached, boxes)) = fits else { break };
        placed.extend(boxes);
        radius = reached + RING;
        ring = ring.iter().flat_map(|branch| next(branch, children, is_core)).collect();
        is_core = false;
    }
    placed.into_iter().map(|(node, node_box)| (node, node_box.middle)).collect()
}

fn on_ring(radius: f64, angle: f64) -> Point {
    Point { x: FLAT * radius * angle.cos(), y: radius * angle.sin() }
}

fn is_apart(boxes: &[(usize, NodeBox)], placed: &[(usize, NodeBox)], apart: (f64, f64)) -> bool {
    let before = |place: usize| boxes.iter().take(place).chain(placed);
    boxes.iter().enumerate().all(|(place, (_, one))| before(place).all(|(_, other)| !one.is_near(other, apart)))
}

/// Divides the circle among the core by the number of nodes behind each.
fn sectors(core: &[usize], children: &BTreeMap<usize, Vec<usize>>) -> Vec<Branch> {
    let weights: Vec<f64> = core.iter().map(|node| (0.7 * behind(*node, children)).max(1.0)).collect();
    let total: f64 = weights.iter().sum();
    // Two nodes are placed side by side, and four like the points of a compass.
    let start = if matches!(core.len(), 2 | 4) { -PI } else { -PI / 2.0 };
    let first = weights.first().copied().unwrap_or(1.0);
    let mut at = start - first / total * TAU / 2.0;
    let mut branches = Vec::new();
    for (node, weight) in core.iter().zip(weights) {
        let sector = weight / total * TAU;
        branches.push(Branch { node: *node, angle: at + sector / 2.0, sector });
        at += sector;
    }
    branches
}

/// Returns the branches behind a branch, within its sector.
fn next(branch: &Branch, children: &BTreeMap<usize, Vec<usize>>, is_core: bool) -> Vec<Branch> {
    let on = children.get(&branch.node).map_or(&[][..], Vec::as_slice);
    let weights: Vec<f64> = on.iter().map(|node| leaves(*node, children)).collect();
    let total: f64 = weights.iter().sum();
    let most = if is_core { SPREAD * total } else { f64::INFINITY };
    let sector = branch.sector.min(most);
    let mut at = branch.angle - sector / 2.0;
    let mut branches = Vec::new();
    for (node, weight) in on.iter().zip(weights) {
        let part = sector * weight / total;
        branches.push(Branch { node: *node, angle: at + part / 2.0, sector: part });
        at += part;
    }
    branches
}

/// Number of leaves behind a node.
fn behind(node: usize, children: &BTreeMap<usize, Vec<usize>>) -> f64 {
    children.get(&node).map_or(0.0, |on| on.iter().map(|child| leaves(*child, children)).sum())
}

fn leaves(node: usize, children: &BTreeMap<usize, Vec<usize>>) -> f64 {
    behind(node, children).max(1.0)
}
