//! The nodes of a cluster's core (a deadlock, or else the largest set of nodes that can all reach
//! each other), and the order in which they are placed on a circle: along arrows, as far as
//! possible.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of steps of the search for a cycle through all members.
const MAX_STEPS: usize = 20_000;

/// Returns the members in an order in which each has an arrow to the next and the last to the
/// first, if the search finds one. Else the order begins with the longest path found.
pub(super) fn circular_order(members: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let Some(first) = members.iter().copied().min() else { return Vec::new() };
    let inside: BTreeSet<usize> = members.iter().copied().collect();
    let successors_inside = |from: usize| {
        let targets: BTreeSet<usize> =
            edges.iter().filter(|(start, to)| *start == from && inside.contains(to)).map(|(_, to)| *to).collect();
        targets.into_iter().collect::<Vec<_>>()
    };
    let successors: BTreeMap<usize, Vec<usize>> = inside.iter().map(|node| (*node, successors_inside(*node))).collect();
    let successors_of = |node: usize| successors.get(&node).map_or(&[][..], Vec::as_slice);
    // Each node of the path, with the index of the successor to try next.
    let mut path = vec![(first, 0)];
    let mut longest = vec![first];
    for _ in 0..MAX_STEPS {
        let Some((node, next_index)) = path.last_mut() else { break };
        let candidate = successors_of(*node).get(*next_index).copied();
        *next_index += 1;
        match candidate {
            None => {
                path.pop();
            }
            Some(successor) if path.iter().any(|(before, _)| *before == successor) => {}
            Some(successor) => path.push((successor, 0)),
        }
        let is_closed = path.last().is_some_and(|(last, _)| successors_of(*last).contains(&first));
        if path.len() > longest.len() || path.len() == inside.len() && is_closed {
            longest = path.iter().map(|(node, _)| *node).collect();
        }
        if path.len() == inside.len() && is_closed {
            break;
        }
    }
    let rest: Vec<usize> = inside.into_iter().filter(|node| !longest.contains(node)).collect();
    longest.into_iter().chain(rest).collect()
}

/// Returns the largest set of members that can all reach each other along edges; empty if there is
/// no cycle.
pub(super) fn largest_strong_component(members: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let reachable_from = |from: usize| {
        let mut reached = BTreeSet::new();
        let mut stack = vec![from];
        while let Some(node) = stack.pop() {
            for (_, to) in edges.iter().filter(|(start, _)| *start == node) {
                if reached.insert(*to) {
                    stack.push(*to);
                }
            }
        }
        reached
    };
    let reachable: BTreeMap<usize, BTreeSet<usize>> =
        members.iter().map(|node| (*node, reachable_from(*node))).collect();
    let is_reachable = |from: usize, to: usize| reachable.get(&from).is_some_and(|targets| targets.contains(&to));
    let mut largest = Vec::new();
    for node in members.iter().copied().filter(|node| is_reachable(*node, *node)) {
        let component: Vec<usize> =
            members.iter().copied().filter(|other| is_reachable(node, *other) && is_reachable(*other, node)).collect();
        if component.len() > largest.len() {
            largest = component;
        }
    }
    largest
}
