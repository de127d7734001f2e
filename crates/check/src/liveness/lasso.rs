//! A cycle that a fair run can follow for ever, or the certainty that there is none.
//!
//! Fairness is weak: what is due in every state from some point on must be met again and again; what is now due and
//! now not may be left undone. A run that stays in a component for ever visits some of its states and edges again and
//! again. The more it visits, the fewer obligations are due in all those states and the more are met by those edges;
//! so the run that visits everything is the fairest one. It follows that a fair run can stay in a component if and
//! only if each obligation that is due in all of the component's states is met by one of the component's edges. No
//! part of the component need be looked at by itself, which strong fairness would ask for.
//!
//! The run that visits everything is no good to a reader, though. Hence the cycle is as short as it easily gets: the
//! shortest one through its start, if that is fair; else a walk from one way of settling an obligation to the nearest
//! next way, and then back. That is not always the shortest fair cycle: to find it is as hard as to plan a tour.

use super::Graph;

/// Weak fairness: an obligation that is due in every state from some point on must be met again and again.
pub(crate) trait Fairness {
    /// The obligations that are due in a state, sorted and distinct.
    fn due(&self, state: u32) -> &[u64];

    /// Whether following the edge at this position among its source's edges meets the obligation.
    fn meets(&self, source: u32, edge: usize, obligation: u64) -> bool;
}

/// A cycle inside a component that a fair run can follow for ever, or `None` if no fair run stays in the component.
///
/// The cycle begins and ends at `start`. Its steps are edges, each as its source and its position there. It keeps
/// fairness by itself: what is due in all of its states is met by one of its edges.
///
/// The component is one of [`cyclic_components`](super::cyclic_components), or any strongly connected set of states
/// in order; `start` is one of its states. Memory: 17 bytes for each of the component's states, at the worst.
pub(crate) fn fair_cycle(
    graph: &Graph,
    component: &[u32],
    start: u32,
    fairness: &impl Fairness,
) -> Option<Vec<(u32, usize)>> {
    if !has_fair_run(graph, component, fairness) {
        return None;
    }
    let back = |_, _, target| target == start;
    let mut shortest = Walk::new(graph, fairness, start);
    shortest.follow(shortest_path(graph, component, start, back)?);
    if shortest.pending.is_empty() {
        return Some(shortest.steps);
    }
    // Begun anew, not continued: what the shortest cycle settled may as well lie on the way to the rest.
    let mut walk = Walk::new(graph, fairness, start);
    while !walk.pending.is_empty() {
        let settling = |source, edge, target| walk.pending.iter().any(|due| walk.settles(source, edge, target, *due));
        walk.follow(shortest_path(graph, component, walk.at, settling)?);
    }
    if walk.at != start {
        walk.follow(shortest_path(graph, component, walk.at, back)?);
    }
    Some(walk.steps)
}

/// Whether a fair run can stay in a component for ever. A walk would find out as well, but only after it has searched
/// the whole component for one obligation after the other, and a component that nobody can stay in is what a correct
/// algorithm has.
pub(super) fn has_fair_run(graph: &Graph, component: &[u32], fairness: &impl Fairness) -> bool {
    let mut pending = component.first().map(|state| fairness.due(*state).to_vec()).unwrap_or_default();
    for state in component {
        if pending.is_empty() {
            return true;
        }
        let due = fairness.due(*state);
        pending.retain(|obligation| due.binary_search(obligation).is_ok());
    }
    for source in component {
        for (edge, target) in graph.edges(*source).iter().enumerate() {
            let is_inside = || component.binary_search(target).is_ok();
            pending.retain(|obligation| !(fairness.meets(*source, edge, *obligation) && is_inside()));
        }
        if pending.is_empty() {
            return true;
        }
    }
    pending.is_empty()
}

/// A walk along edges, with what it leaves undone.
struct Walk<'a, F> {
    graph: &'a Graph,
    fairness: &'a F,
    /// The state it has come to.
    at: u32,
    steps: Vec<(u32, usize)>,
    /// The obligations that were due in all states so far and were met by no edge.
    pending: Vec<u64>,
}

impl<'a, F: Fairness> Walk<'a, F> {
    fn new(graph: &'a Graph, fairness: &'a F, start: u32) -> Self {
        Self { graph, fairness, at: start, steps: Vec::new(), pending: fairness.due(start).to_vec() }
    }

    /// Whether nobody can complain of this obligation any more once the walk has taken this edge.
    fn settles(&self, source: u32, edge: usize, target: u32, obligation: u64) -> bool {
        self.fairness.meets(source, edge, obligation) || self.fairness.due(target).binary_search(&obligation).is_err()
    }

    fn follow(&mut self, path: Vec<(u32, usize)>) {
        for (source, edge) in path {
            let Some(target) = self.graph.edges(source).get(edge).copied() else { return };
            let mut pending = std::mem::take(&mut self.pending);
            pending.retain(|obligation| !self.settles(source, edge, target, *obligation));
            self.pending = pending;
            self.steps.push((source, edge));
            self.at = target;
        }
    }
}

/// A state that the search in breadth came to.
#[derive(Clone, Copy)]
struct Visit {
    state: u32,
    /// Which visit it was come from, and by which edge. The first visit came from nowhere.
    previous: u32,
    edge: usize,
}

/// The shortest path inside a component whose last edge is a goal, given as source, position and target; of several
/// the one whose edges come first. It has at least one step, also if the state it begins at would do.
fn shortest_path(
    graph: &Graph,
    component: &[u32],
    from: u32,
    is_goal: impl Fn(u32, usize, u32) -> bool,
) -> Option<Vec<(u32, usize)>> {
    let mut seen = vec![false; component.len()];
    *seen.get_mut(component.binary_search(&from).ok()?)? = true;
    let mut visits = vec![Visit { state: from, previous: 0, edge: 0 }];
    let mut next = 0;
    while let Some(Visit { state, .. }) = visits.get(next).copied() {
        for (edge, target) in graph.edges(state).iter().enumerate() {
            let Ok(place) = component.binary_search(target) else { continue };
            if is_goal(state, edge, *target) {
                return Some(path_to(&visits, next, (state, edge)));
            }
            let is_seen = seen.get_mut(place)?;
            if !*is_seen {
                *is_seen = true;
                visits.push(Visit { state: *target, previous: next as u32, edge });
            }
        }
        next += 1;
    }
    None
}

/// The steps that led to a visit, and one more.
fn path_to(visits: &[Visit], visit: usize, last: (u32, usize)) -> Vec<(u32, usize)> {
    let mut steps = vec![last];
    let mut at = visit;
    while at > 0 {
        let Visit { previous, edge, .. } = visits[at];
        at = previous as usize;
        steps.push((visits[at].state, edge));
    }
    steps.reverse();
    steps
}
