//! Breadth-first exploration of all states, and the judgement of each.

use super::{Bounds, NodeFactory, State, TransitionSystem, Violation};
use std::collections::HashMap;
use std::rc::Rc;

/// Result of the reference explorer: counts, and for each violation the length of a shortest
/// counterexample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReferenceResult {
    pub(crate) states: u64,
    /// Number of transitions and initial states.
    pub(crate) generated: u64,
    /// Depth of the deepest state.
    pub(crate) depth: u64,
    /// Two or more clients are in the critical section.
    pub(crate) two_holders: Option<u64>,
    /// A node waits, and only faults can happen.
    pub(crate) deadlock: Option<u64>,
    /// A node waits, and the run may end here: no action is obligatory any more.
    pub(crate) unserved_end: Option<u64>,
    /// A node enters without a request.
    pub(crate) unrequested: Option<u64>,
    /// A node enters before another one whose request it knew of when it made its own.
    pub(crate) unordered: Option<u64>,
    /// An entry's fence is not larger than that of an earlier entry.
    pub(crate) fence_decrease: Option<u64>,
}

pub(crate) fn explore(factory: &NodeFactory, bounds: &Bounds) -> ReferenceResult {
    explore_within(factory, bounds, usize::MAX).unwrap()
}

/// Explores all states; `None` if there are more than `max_states`.
pub(crate) fn explore_within(factory: &NodeFactory, bounds: &Bounds, max_states: usize) -> Option<ReferenceResult> {
    let mut system = TransitionSystem::new(factory, bounds);
    let mut result = ReferenceResult::default();
    let initial = system.initial_states();
    let mut depths: HashMap<Rc<State>, u64> = HashMap::new();
    let mut level: Vec<Rc<State>> = Vec::new();
    for state in initial {
        result.generated += 1;
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
        result.depth = depth;
        let mut next_level = Vec::new();
        for state in level {
            let edges = system.all_edges(&state);
            // A message or timer that remains may have to wait until after the time limit. The run
            // would continue there, so this is no deadlock.
            let can_continue = edges.iter().any(|edge| edge.is_regular)
                || !state.has_no_messages()
                || state.nodes.iter().any(|node| !node.timers.is_empty());
            result.judge(&system, &state, can_continue, depth);
            for edge in edges {
                result.generated += 1;
                for violation in edge.violations {
                    let shortest = match violation {
                        Violation::Unrequested => &mut result.unrequested,
                        Violation::Unordered => &mut result.unordered,
                        Violation::FenceDecrease => &mut result.fence_decrease,
                    };
                    shortest.get_or_insert(depth + 1);
                }
                if !depths.contains_key(&edge.to) {
                    let state = Rc::new(edge.to);
                    depths.insert(Rc::clone(&state), depth + 1);
                    next_level.push(state);
                }
            }
        }
        level = next_level;
        depth += 1;
    }
    result.states = depths.len() as u64;
    Some(result)
}

impl ReferenceResult {
    fn judge(&mut self, system: &TransitionSystem, state: &State, can_continue: bool, depth: u64) {
        let has_waiter = (0..state.nodes.len()).any(|node| state.is_waiting(node));
        if state.count_holders() > 1 {
            self.two_holders.get_or_insert(depth);
        }
        if has_waiter && !can_continue {
            self.deadlock.get_or_insert(depth);
        }
        if has_waiter && system.obligations(state).is_empty() {
            self.unserved_end.get_or_insert(depth);
        }
    }
}
