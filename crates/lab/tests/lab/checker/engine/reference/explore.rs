//! Breadth-first exploration, state by state.

use super::{Bounds, Maker, State, Violation, World};
use std::collections::HashMap;
use std::rc::Rc;

/// Result of the reference explorer: counts, and the lengths of the shortest counterexamples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReferenceResult {
    pub(crate) states: u64,
    /// Number of transitions and initial states.
    pub(crate) generated: u64,
    /// Depth of the deepest state.
    pub(crate) depth: u64,
    pub(crate) two_holders: Option<u64>,
    /// A node waits, and only faults can happen.
    pub(crate) deadlock: Option<u64>,
    /// A node waits, and the run may end here: no action is obligatory any more.
    pub(crate) end: Option<u64>,
    pub(crate) unrequested: Option<u64>,
    pub(crate) unordered: Option<u64>,
    pub(crate) fence_decrease: Option<u64>,
}

pub(crate) fn explore(make: &Maker, bounds: &Bounds) -> ReferenceResult {
    explore_within(make, bounds, usize::MAX).unwrap()
}

/// Explores all states; `None` if there are more than `max_states`.
pub(crate) fn explore_within(make: &Maker, bounds: &Bounds, max_states: usize) -> Option<ReferenceResult> {
    let mut world = World::new(make, bounds);
    let mut seen = ReferenceResult::default();
    let initial = world.initial();
    let mut depths: HashMap<Rc<State>, u64> = HashMap::new();
    let mut level: Vec<Rc<State>> = Vec::new();
    for state in initial {
        seen.generated += 1;
        let state = Rc::new(state);
        if depths.insert(Rc::clone(&state), 0).is_none() {
            level.push(state);
        }
    }
    let mut depth = 0;
    while !level.is_empty() {
        if depths.len() > max_states {
            return None;
        }
        seen.depth = depth;
        let mut next = Vec::new();
        for state in level {
            let edges = world.edges(&state);
            // Time continues beyond the limit, although it is not explored.
            let continues = edges.iter().any(|edge| edge.regular)
                || !state.is_silent()
                || state.nodes.iter().any(|node| !node.timers.is_empty());
            seen.judge(&world, &state, continues, depth);
            for edge in edges {
                seen.generated += 1;
                for violations in edge.violations {
                    let first = match violations {
                        Violation::Unrequested => &mut seen.unrequested,
                        Violation::Unordered => &mut seen.unordered,
                        Violation::FenceDecrease => &mut seen.fence_decrease,
                    };
                    first.get_or_insert(depth + 1);
                }
                if !depths.contains_key(&edge.to) {
                    let state = Rc::new(edge.to);
                    depths.insert(Rc::clone(&state), depth + 1);
                    next.push(state);
                }
            }
        }
        level = next;
        depth += 1;
    }
    seen.states = depths.len() as u64;
    Some(seen)
}

impl ReferenceResult {
    fn judge(&mut self, world: &World, state: &State, continues: bool, depth: u64) {
        let waits = (0..state.nodes.len()).any(|node| state.waits(node));
        if state.inside() > 1 {
            self.two_holders.get_or_insert(depth);
        }
        if waits && !continues {
            self.deadlock.get_or_insert(depth);
        }
        if waits && world.due(state).is_empty() {
            self.end.get_or_insert(depth);
        }
    }
}
