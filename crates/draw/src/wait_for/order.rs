//! The order in which nodes of a cycle are placed on a circle: along arrows, as far as possible.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of search steps for a cycle through all nodes.
const STEPS: usize = 20_000;

/// Returns the members in an order in which each has an arrow to the next and the last to the
/// first, if the search finds one; else starts with the longest path found.
pub(super) fn circular_order(members: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let Some(first) = members.iter().copied().min() else { return Vec::new() };
    let inside: BTreeSet<usize> = members.iter().copied().collect();
    let next = |from: usize| {
        let on: BTreeSet<usize> =
            edges.iter().filter(|(start, to)| *start == from && inside.contains(to)).map(|(_, to)| *to).collect();
        on.into_iter().collect::<Vec<_>>()
    };
    let successors: BTreeMap<usize, Vec<usize>> = inside.iter().map(|node| (*node, next(*node))).collect();
    let of = |node: usize| successors.get(&node).map_or(&[][..], Vec::as_slice);
    let mut path = vec![(first, 0)];
    let mut longest = vec![first];
    for _ in 0..STEPS {
        let Some((node, place)) = path.last_mut() else { break };
        let candidate = of(*node).get(*place).copied();
        *place += 1;
        match candidate {
            None => {
                path.pop();
            }
            Some(on) if path.iter().any(|(before, _)| *before == on) => {}
            Some(on) => path.push((on, 0)),
        }
        let is_closed = path.last().is_some_and(|(last, _)| of(*last).contains(&first));
        if path.len() > longest.len() || path.len() == inside.len() && is_closed {
            longest = path.iter().map(|(node, _)| *node).collect();
        }
        if path.len() == inside.len() && is_closed {
            break;
        }
    }
    let left: Vec<usize> = inside.into_iter().filter(|node| !longest.contains(node)).collect();
    longest.into_iter().chain(left).collect()
}

/// Returns the largest set of members that can all reach each other; empty if there is no cycle.
pub(super) fn largest_component(members: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let reach = |from: usize| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for (_, to) in edges.iter().filter(|(start, _)| *start == node) {
                if seen.insert(*to) {
                    open.push(*to);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<usize, BTreeSet<usize>> = members.iter().map(|node| (*node, reach(*node))).collect();
    let has = |from: usize, to: usize| reached.get(&from).is_some_and(|seen| seen.contains(&to));
    let mut best = Vec::new();
    for node in members.iter().copied().filter(|node| has(*node, *node)) {
        let both: Vec<usize> = members.iter().copied().filter(|other| has(node, *other) && has(*other, node)).collect();
        if both.len() > best.len() {
            best = both;
        }
    }
    best
}
