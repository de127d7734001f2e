//! Breadth-first, one state after the other.

use super::{Bounds, Maker, State, World, Wrong};
use std::collections::HashMap;
use std::rc::Rc;

/// What there is to see, and after how many steps at least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) states: u64,
    /// Transitions, and initial states.
    pub(crate) generated: u64,
    /// Of the state that is furthest away.
    pub(crate) depth: u64,
    pub(crate) two_inside: Option<u64>,
    /// Somebody waits, and nothing but a fault can happen.
    pub(crate) deadlock: Option<u64>,
    /// Somebody waits, and nothing need ever happen.
    pub(crate) end: Option<u64>,
    pub(crate) unasked: Option<u64>,
    pub(crate) unordered: Option<u64>,
    pub(crate) fence_back: Option<u64>,
}

pub(crate) fn explore(make: &Maker, bounds: &Bounds) -> Seen {
    explore_within(make, bounds, usize::MAX).unwrap()
}

/// Goes through everything that can happen, unless that is more than so many states.
pub(crate) fn explore_within(make: &Maker, bounds: &Bounds, most: usize) -> Option<Seen> {
    let mut world = World::new(make, bounds);
    let mut seen = Seen::default();
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
        if depths.len() > most {
            return None;
        }
        seen.depth = depth;
        let mut next = Vec::new();
        for state in level {
            let edges = world.edges(&state);
            // Time goes on beyond the horizon too, though nobody looks.
            let goes_on = edges.iter().any(|edge| edge.regular)
                || !state.is_silent()
                || state.nodes.iter().any(|node| !node.timers.is_empty());
            seen.look(&world, &state, goes_on, depth);
            for edge in edges {
                seen.generated += 1;
                for wrong in edge.wrong {
                    let first = match wrong {
                        Wrong::Unasked => &mut seen.unasked,
                        Wrong::Unordered => &mut seen.unordered,
                        Wrong::FenceBack => &mut seen.fence_back,
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

impl Seen {
    fn look(&mut self, world: &World, state: &State, goes_on: bool, depth: u64) {
        let waits = (0..state.nodes.len()).any(|node| state.waits(node));
        if state.inside() > 1 {
            self.two_inside.get_or_insert(depth);
        }
        if waits && !goes_on {
            self.deadlock.get_or_insert(depth);
        }
        if waits && world.due(state).is_empty() {
            self.end.get_or_insert(depth);
        }
    }
}
