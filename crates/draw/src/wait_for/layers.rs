//! Places acyclic graphs in rows: running processes at the top, and waiters below the nodes they
//! wait for.

use super::shape::{NodeBox, Point};
use std::collections::BTreeMap;

/// Distance between rows.
const ROW_DISTANCE: f64 = 104.0;
/// Distance between the boxes of a row.
const BOX_GAP: f64 = 44.0;
/// Number of passes that sort rows and pull boxes towards their neighbours.
const SWEEPS: usize = 12;

/// Places the nodes of an acyclic graph in rows. Returns their middles.
pub(super) fn place(
    nodes: &[usize],
    edges: &[(usize, usize)],
    node_box: &dyn Fn(usize) -> NodeBox,
) -> Vec<(usize, Point)> {
    let mut rows = rows(nodes, edges);
    let mut at: BTreeMap<usize, f64> = BTreeMap::new();
    for row in &rows {
        spread(row, &mut at, node_box, |_, place| place as f64);
    }
    for sweep in 0..SWEEPS {
        let from_below = sweep % 2 == 1;
        let order: Vec<usize> = if from_below { (0..rows.len()).rev().collect() } else { (0..rows.len()).collect() };
        for place in order {
            let Some(row) = rows.get_mut(place) else { continue };
            let pulled: BTreeMap<usize, f64> = row.iter().map(|node| (*node, pull(*node, edges, &at))).collect();
            let wanted = |node: usize| pulled.get(&node).copied().unwrap_or_default();
            row.sort_by(|one, other| wanted(*one).total_cmp(&wanted(*other)).then(one.cmp(other)));
            spread(row, &mut at, node_box, |node, _| wanted(node));
        }
    }
    let place = |(level, row): (usize, &Vec<usize>)| {
        let y = level as f64 * ROW_DISTANCE;
        row.iter().map(|node| (*node, Point { x: at.get(node).copied().unwrap_or_default(), y })).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(place).collect()
}

/// Puts every node one row below the lowest of its targets.
fn rows(nodes: &[usize], edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut level: BTreeMap<usize, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    // Without cycles, one round per node is enough.
    for _ in nodes {
        for (from, to) in edges.iter().filter(|(from, to)| from != to) {
            let (Some(below), Some(above)) = (level.get(from).copied(), level.get(to).copied()) else { continue };
            if below <= above && above + 1 < nodes.len() {
                level.insert(*from, above + 1);
            }
        }
    }
    let mut rows = vec![Vec::new(); level.values().max().map_or(0, |most| most + 1)];
    for (node, level) in level {
        if let Some(row) = rows.get_mut(level) {
            row.push(node);
        }
    }
    rows
}

/// Returns the average horizontal position of a node's neighbours.
fn pull(node: usize, edges: &[(usize, usize)], at: &BTreeMap<usize, f64>) -> f64 {
    let others = edges.iter().filter_map(|(from, to)| match (*from == node, *to == node) {
        (true, false) => at.get(to),
        (false, true) => at.get(from),
        (true, true) | (false, false) => None,
    });
    let (sum, count) = others.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    if count > 0.0 { sum / count } else { at.get(&node).copied().unwrap_or_default() }
}

/// Places the boxes of a row side by side, each as close as possible to its wanted position.
fn spread(
    row: &[usize],
    at: &mut BTreeMap<usize, f64>,
    node_box: &dyn Fn(usize) -> NodeBox,
    wanted: impl Fn(usize, usize) -> f64,
) {
    let mut right = f64::NEG_INFINITY;
    let mut off = 0.0;
    let mut places = Vec::new();
    for (place, node) in row.iter().enumerate() {
        let half = node_box(*node).half_width;
        let x = wanted(*node, place).max(right + half);
        off += x - wanted(*node, place);
        right = x + half + BOX_GAP;
        places.push((*node, x));
    }
    // Shift the row back by the average distance that boxes were moved to the right.
    let back = off / row.len().max(1) as f64;
    at.extend(places.into_iter().map(|(node, x)| (node, x - back)));
}
