//! Finds a cycle that a fair run can follow forever, or proves that there is none.
//!
//! An obligation is a step that a fair run may not postpone forever, such as a delivery. Fairness
//! is weak: an obligation that is due in every state from some point on must be met again and
//! again; an obligation that is due only now and then may stay unmet. A run that stays in a
//! component forever visits some of its states and edges again and again. The more it visits, the
//! fewer obligations are due in all those states and the more are met by those edges; so the run
//! that visits everything is the fairest one. It follows that a fair run can stay in a component if
//! and only if each obligation that is due in all of the component's states is met by one of the
//! component's edges. There is no need to examine parts of the component, as strong fairness would
//! require.
//!
//! A run that visits everything makes a poor counterexample, though. Hence the cycle is as short as
//! is easy to find: the shortest one through its start, if that is fair; otherwise a walk from one
//! edge that settles an obligation (it meets the obligation, or leads to a state where the
//! obligation is not due) to the nearest next one, and then back to the start. That is not always
//! the shortest fair cycle, which is as hard to find as a travelling salesman's shortest tour.

use super::Graph;

/// Weak fairness: an obligation that is due in every state from some point on must be met again and
/// again.
pub(crate) trait Fairness {
    /// The obligations that are due in a state, sorted and distinct.
    fn due_obligations(&self, state: u32) -> &[u64];

    /// Whether following the edge with this index among its source's edges meets the obligation.
    fn meets(&self, source: u32, edge: usize, obligation: u64) -> bool;
}

/// Returns a cycle inside a component that a fair run can follow forever, or `None` if no fair run
/// stays in the component.
///
/// The cycle begins and ends at `start`. Its steps are edges, each as its source and its index
/// among the source's edges. The cycle alone is fair: an obligation that is due in all of its
/// states is met by one of its edges.
///
/// The component is one of [`cyclic_components`](super::cyclic_components), or any sorted, strongly
/// connected set of states; `start` is one of its states. Memory: about 17 bytes for each of the
/// component's states.
pub(crate) fn fair_cycle(
    graph: &Graph,
    component: &[u32],
    start: u32,
    fairness: &impl Fairness,
) -> Option<Vec<(u32, usize)>> {
    if !has_fair_run(graph, component, fairness) {
        return None;
    }
    let returns_to_start = |_, _, target| target == start;
    let mut shortest = Walk::new(graph, fairness, start);
    shortest.follow(shortest_path(graph, component, start, returns_to_start)?);
    if shortest.pending.is_empty() {
        return Some(shortest.steps);
    }
    // Start a new walk instead of continuing: the obligations that the shortest cycle settled may
    // also be settled on the way to the others.
    let mut walk = Walk::new(graph, fairness, start);
    while !walk.pending.is_empty() {
        let settles_pending =
            |source, edge, target| walk.pending.iter().any(|due| walk.settles(source, edge, target, *due));
        walk.follow(shortest_path(graph, component, walk.end, settles_pending)?);
    }
    if walk.end != start {
        walk.follow(shortest_path(graph, component, walk.end, returns_to_start)?);
    }
    Some(walk.steps)
}

/// Whether a fair run can stay in a component forever. A walk would find that out too, but it
/// searches the whole component for each obligation in turn. This test is cheaper, and the answer
/// is almost always no: the caller passes components of states that lack what must eventually
/// happen.
pub(super) fn has_fair_run(graph: &Graph, component: &[u32], fairness: &impl Fairness) -> bool {
    let mut pending = component.first().map(|state| fairness.due_obligations(*state).to_vec()).unwrap_or_default();
    for state in component {
        if pending.is_empty() {
            return true;
        }
        let due = fairness.due_obligations(*state);
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

/// A walk along edges, with the obligations that still make it unfair.
struct Walk<'a, F> {
    graph: &'a Graph,
    fairness: &'a F,
    /// The last state of the walk.
    end: u32,
    /// Each edge as its source and its index among the source's edges.
    steps: Vec<(u32, usize)>,
    /// The obligations that were due in all states so far and were met by no edge.
    pending: Vec<u64>,
}

impl<'a, F: Fairness> Walk<'a, F> {
    fn new(graph: &'a Graph, fairness: &'a F, start: u32) -> Self {
        Self { graph, fairness, end: start, steps: Vec::new(), pending: fairness.due_obligations(start).to_vec() }
    }

    /// Whether this obligation no longer makes the walk unfair once it has taken this edge.
    fn settles(&self, source: u32, edge: usize, target: u32, obligation: u64) -> bool {
        self.fairness.meets(source, edge, obligation)
            || self.fairness.due_obligations(target).binary_search(&obligation).is_err()
    }

    fn follow(&mut self, path: Vec<(u32, usize)>) {
        for (source, edge) in path {
            let Some(target) = self.graph.edges(source).get(edge).copied() else { return };
            let mut pending = std::mem::take(&mut self.pending);
            pending.retain(|obligation| !self.settles(source, edge, target, *obligation));
            self.pending = pending;
            self.steps.push((source, edge));
            self.end = target;
        }
    }
}

/// A state that the breadth-first search reached.
#[derive(Clone, Copy)]
struct Visit {
    state: u32,
    /// Index of the visit that led here; unused for the first visit.
    previous: u32,
    /// Index, among the previous state's edges, of the edge that led here.
    edge: usize,
}

/// Returns the shortest path inside a component whose last edge is a goal; `None` if there is none.
/// `is_goal` receives an edge's source, its index among the source's edges, and its target. Among
/// shortest paths the search prefers smaller edge indexes, compared from the start. A path has at
/// least one step.
fn shortest_path(
    graph: &Graph,
    component: &[u32],
    from: u32,
    is_goal: impl Fn(u32, usize, u32) -> bool,
) -> Option<Vec<(u32, usize)>> {
    let mut reached = vec![false; component.len()];
    *reached.get_mut(component.binary_search(&from).ok()?)? = true;
    let mut visits = vec![Visit { state: from, previous: 0, edge: 0 }];
    let mut next = 0;
    while let Some(Visit { state, .. }) = visits.get(next).copied() {
        for (edge, target) in graph.edges(state).iter().enumerate() {
            let Ok(index) = component.binary_search(target) else { continue };
            if is_goal(state, edge, *target) {
                return Some(path_to(&visits, next, (state, edge)));
            }
            let is_reached = reached.get_mut(index)?;
            if !*is_reached {
                *is_reached = true;
                visits.push(Visit { state: *target, previous: next as u32, edge });
            }
        }
        next += 1;
    }
    None
}

/// Returns the steps that led to a visit, and the step `last`.
fn path_to(visits: &[Visit], visit: usize, last: (u32, usize)) -> Vec<(u32, usize)> {
    let mut steps = vec![last];
    let mut current = visit;
    while current > 0 {
        let Visit { previous, edge, .. } = visits[current];
        current = previous as usize;
        steps.push((visits[current].state, edge));
    }
    steps.reverse();
    steps
}
