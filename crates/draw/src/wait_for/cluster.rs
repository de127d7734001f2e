//! Divides the nodes into clusters and arranges the clusters on the page. A cluster is a deadlock
//! with all connected nodes, blocked or free, that are nearer to it than to another deadlock; or a
//! connected part of the graph without a deadlock. Its core is that deadlock or, in the other case,
//! the largest set of nodes that can all reach each other, if the part has a cycle.

use super::order::{circular_order, largest_strong_component};
use super::radial::CoreArrows;
use super::shape::{NodeBox, Point, enclosing_corners};
use super::{Diagram, Edge, NodeState, layers, radial};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Distance between clusters, in pixels.
const CLUSTER_GAP: f64 = 64.0;
/// Desired ratio of the page's width to its height.
const PAGE_ASPECT_RATIO: f64 = 1.6;

/// Returns the placed box of every node. The upper left corner of the area that they cover is at
/// zero. `sizes` are the boxes before they are placed.
pub(super) fn arrange(diagram: &Diagram, sizes: &[NodeBox]) -> Vec<NodeBox> {
    let count = sizes.len();
    let pairs = |is_wanted: fn(&Edge) -> bool| {
        let edges = diagram.edges.iter().filter(move |edge| is_wanted(edge));
        edges.map(|edge| (edge.from, edge.to)).filter(|(from, to)| *from < count && *to < count).collect::<Vec<_>>()
    };
    let (edges, deadlock_edges) = (pairs(|_| true), pairs(|edge| edge.is_in_deadlock));
    let node_box = |node: usize| {
        sizes.get(node).copied().unwrap_or(NodeBox { middle: Point::ZERO, half_width: 0.0, half_height: 0.0 })
    };
    let mut clusters = Vec::new();
    let cores: Vec<Vec<usize>> = deadlocks(diagram)
        .iter()
        .map(|members| circular_order(members, &deadlock_edges))
        .filter(|core| !core.is_empty())
        .collect();
    let mut unplaced: BTreeSet<usize> = (0..count).collect();
    for (core, children) in attach_trees(cores, &edges) {
        let arrows = core_arrows(&core, &edges);
        clusters.push(keep_unplaced(radial::place(&core, &children, arrows, &node_box), &mut unplaced));
    }
    while let Some(first) = unplaced.first().copied() {
        let members = connected_nodes(first, &edges, &unplaced);
        let strong_component = largest_strong_component(&members, &edges);
        let placed = if strong_component.is_empty() {
            layers::place(&members, &edges_within(&edges, &members), &node_box)
        } else {
            let core = circular_order(&strong_component, &edges);
            let with_trees = attach_trees(vec![core], &edges_within(&edges, &members));
            let place_core = |(core, children): (Vec<usize>, Children)| {
                radial::place(&core, &children, core_arrows(&core, &edges), &node_box)
            };
            with_trees.into_iter().flat_map(place_core).collect()
        };
        clusters.push(keep_unplaced(placed, &mut unplaced));
        // A node that could not be placed is a cluster of its own.
        if unplaced.remove(&first) {
            clusters.push(vec![(first, Point::ZERO)]);
        }
    }
    pack_clusters(&clusters, sizes)
}

/// Returns the members of each deadlock.
fn deadlocks(diagram: &Diagram) -> Vec<Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, node) in diagram.nodes.iter().enumerate() {
        if let NodeState::Deadlock(number) = node.state {
            members.entry(number).or_default().push(index);
        }
    }
    members.into_values().collect()
}

/// Returns the placed nodes that were unplaced until now, and removes them from `unplaced`.
fn keep_unplaced(placed: Vec<(usize, Point)>, unplaced: &mut BTreeSet<usize>) -> Vec<(usize, Point)> {
    placed.into_iter().filter(|(node, _)| unplaced.remove(node)).collect()
}

/// Returns the course of the arrows between core nodes: some run across the circle if there are
/// more arrows than it takes to close it.
fn core_arrows(core: &[usize], edges: &[(usize, usize)]) -> CoreArrows {
    let inside: BTreeSet<_> = edges_within(edges, core).into_iter().collect();
    if inside.len() > core.len() { CoreArrows::Across } else { CoreArrows::Neighbours }
}

type Children = BTreeMap<usize, Vec<usize>>;

/// Returns each core with the trees of the nodes that are nearer to it than to other cores, as the
/// children of each node.
fn attach_trees(cores: Vec<Vec<usize>>, edges: &[(usize, usize)]) -> Vec<(Vec<usize>, Children)> {
    let mut core_of: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, core) in cores.iter().enumerate() {
        core_of.extend(core.iter().map(|node| (*node, number)));
    }
    let mut queue: VecDeque<usize> = cores.iter().flatten().copied().collect();
    let mut trees: Vec<(Vec<usize>, Children)> = cores.into_iter().map(|core| (core, Children::new())).collect();
    while let Some(node) = queue.pop_front() {
        let Some(number) = core_of.get(&node).copied() else { continue };
        for other in neighbours(node, edges) {
            if core_of.contains_key(&other) {
                continue;
            }
            core_of.insert(other, number);
            if let Some((_, children)) = trees.get_mut(number) {
                children.entry(node).or_default().push(other);
            }
            queue.push_back(other);
        }
    }
    trees
}

fn neighbours(node: usize, edges: &[(usize, usize)]) -> BTreeSet<usize> {
    let others = edges.iter().filter_map(|(from, to)| match (*from == node, *to == node) {
        (true, _) => Some(*to),
        (false, true) => Some(*from),
        (false, false) => None,
    });
    others.collect()
}

/// Returns the unplaced nodes that are connected to `first`, including itself.
fn connected_nodes(first: usize, edges: &[(usize, usize)], unplaced: &BTreeSet<usize>) -> Vec<usize> {
    let mut reached = BTreeSet::from([first]);
    let mut stack = vec![first];
    while let Some(node) = stack.pop() {
        let new = neighbours(node, edges).into_iter().filter(|other| unplaced.contains(other));
        stack.extend(new.filter(|other| reached.insert(*other)).collect::<Vec<_>>());
    }
    reached.into_iter().collect()
}

fn edges_within(edges: &[(usize, usize)], members: &[usize]) -> Vec<(usize, usize)> {
    edges.iter().copied().filter(|(from, to)| members.contains(from) && members.contains(to)).collect()
}

/// The nodes of a cluster with their boxes.
type Boxes = Vec<(usize, NodeBox)>;

/// Places clusters side by side in lines, like words, so that the page has about the desired aspect
/// ratio.
fn pack_clusters(clusters: &[Vec<(usize, Point)>], sizes: &[NodeBox]) -> Vec<NodeBox> {
    let boxes = |cluster: &[(usize, Point)]| -> Boxes {
        cluster.iter().filter_map(|(node, at)| Some((*node, sizes.get(*node)?.moved_to(*at)))).collect()
    };
    let clusters: Vec<Boxes> = clusters.iter().map(|cluster| boxes(cluster)).collect();
    // Upper left corner, width and height.
    let size = |cluster: &[(usize, NodeBox)]| {
        let (low, high) = enclosing_corners(cluster.iter().map(|(_, node_box)| node_box));
        (low, high.x - low.x, high.y - low.y)
    };
    let area: f64 = clusters
        .iter()
        .map(|cluster| size(cluster))
        .map(|(_, width, height)| (width + CLUSTER_GAP) * (height + CLUSTER_GAP))
        .sum();
    let widest = clusters.iter().map(|cluster| size(cluster).1).fold(0.0, f64::max);
    let max_line_width = widest.max((area * PAGE_ASPECT_RATIO).sqrt());
    let mut lines: Vec<(f64, Vec<&Boxes>)> = Vec::new();
    for cluster in &clusters {
        let width = size(cluster).1;
        match lines.last_mut() {
            Some((line_width, line)) if *line_width + CLUSTER_GAP + width <= max_line_width => {
                *line_width += CLUSTER_GAP + width;
                line.push(cluster);
            }
            Some(_) | None => lines.push((width, vec![cluster])),
        }
    }
    let page_width = lines.iter().map(|(line_width, _)| *line_width).fold(0.0, f64::max);
    let mut boxes = sizes.to_vec();
    let mut top = 0.0;
    for (line_width, line) in lines {
        let tallest = line.iter().map(|cluster| size(cluster).2).fold(0.0, f64::max);
        let mut x = (page_width - line_width) / 2.0;
        for cluster in line {
            let (low, width, height) = size(cluster);
            let (right, down) = (x - low.x, top + (tallest - height) / 2.0 - low.y);
            for (node, node_box) in cluster {
                if let Some(placed_box) = boxes.get_mut(*node) {
                    placed_box.middle = node_box.middle.plus(right, down);
                }
            }
            x += width + CLUSTER_GAP;
        }
        top += tallest + CLUSTER_GAP;
    }
    boxes
}
