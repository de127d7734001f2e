//! Places acyclic graphs in rows: running processes at the top, and waiters below the nodes they
//! wait for.

use super::shape::{NodeBox, Point};
use std::collections::BTreeMap;

/// Distance between rows, in pixels.
const ROW_DISTANCE: f64 = 104.0;
/// Distance between the boxes of a row, in pixels.
const BOX_GAP: f64 = 44.0;
/// Number of rounds that sort rows and pull boxes towards their neighbours.
const SORTING_ROUNDS: usize = 12;

/// Places the nodes of an acyclic graph in rows. Returns their middles.
pub(super) fn place(
    nodes: &[usize],
    edges: &[(usize, usize)],
    node_box: &dyn Fn(usize) -> NodeBox,
) -> Vec<(usize, Point)> {
    let mut rows = rows(nodes, edges);
    let mut x_of: BTreeMap<usize, f64> = BTreeMap::new();
    for row in &rows {
        spread(row, &mut x_of, node_box, |_, index| index as f64);
    }
    for round in 0..SORTING_ROUNDS {
        let from_below = round % 2 == 1;
        let order: Vec<usize> = if from_below { (0..rows.len()).rev().collect() } else { (0..rows.len()).collect() };
        for index in order {
            let Some(row) = rows.get_mut(index) else { continue };
            let wanted_xs: BTreeMap<usize, f64> =
                row.iter().map(|node| (*node, average_neighbour_x(*node, edges, &x_of))).collect();
            let wanted_x = |node: usize| wanted_xs.get(&node).copied().unwrap_or_default();
            row.sort_by(|one, other| wanted_x(*one).total_cmp(&wanted_x(*other)).then(one.cmp(other)));
            spread(row, &mut x_of, node_box, |node, _| wanted_x(node));
        }
    }
    let row_positions = |(level, row): (usize, &Vec<usize>)| {
        let y = level as f64 * ROW_DISTANCE;
        row.iter().map(|node| (*node, Point { x: x_of.get(node).copied().unwrap_or_default(), y })).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(row_positions).collect()
}

/// Puts every node one row below the lowest node that it waits for. Returns the nodes of each row.
fn rows(nodes: &[usize], edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut level: BTreeMap<usize, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    // Without cycles, one round per node is enough, and levels are below the number of nodes.
    for _ in nodes {
        for (from, to) in edges.iter().filter(|(from, to)| from != to) {
            let (Some(waiter), Some(target)) = (level.get(from).copied(), level.get(to).copied()) else { continue };
            if waiter <= target && target + 1 < nodes.len() {
                level.insert(*from, target + 1);
            }
        }
    }
    let mut rows = vec![Vec::new(); level.values().max().map_or(0, |highest| highest + 1)];
    for (node, level) in level {
        if let Some(row) = rows.get_mut(level) {
            row.push(node);
        }
    }
    rows
}

/// Returns the average horizontal position of a node's neighbours; its own if it has none.
fn average_neighbour_x(node: usize, edges: &[(usize, usize)], x_of: &BTreeMap<usize, f64>) -> f64 {
    let others = edges.iter().filter_map(|(from, to)| match (*from == node, *to == node) {
        (true, false) => x_of.get(to),
        (false, true) => x_of.get(from),
        (true, true) | (false, false) => None,
    });
    let (sum, count) = others.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    if count > 0.0 { sum / count } else { x_of.get(&node).copied().unwrap_or_default() }
}

/// Places the boxes of a row side by side, each about where `wanted_x` wants it. The arguments of
/// `wanted_x` are a node and its index in the row.
fn spread(
    row: &[usize],
    x_of: &mut BTreeMap<usize, f64>,
    node_box: &dyn Fn(usize) -> NodeBox,
    wanted_x: impl Fn(usize, usize) -> f64,
) {
    let mut next_left = f64::NEG_INFINITY;
    let mut total_shift = 0.0;
    let mut positions = Vec::new();
    for (index, node) in row.iter().enumerate() {
        let half_width = node_box(*node).half_width;
        let x = wanted_x(*node, index).max(next_left + half_width);
        total_shift += x - wanted_x(*node, index);
        next_left = x + half_width + BOX_GAP;
        positions.push((*node, x));
    }
    // Shift the row back by the average distance that boxes were moved to the right.
    let average_shift = total_shift / row.len().max(1) as f64;
    x_of.extend(positions.into_iter().map(|(node, x)| (node, x - average_shift)));
}
