//! Strongly connected components, by Tarjan's algorithm (1972): where a run can cycle.
//!
//! One depth-first search keeps two stacks: the path from a root to the current state, and the open
//! states, which are those whose component is not complete. The lowlink of a state is the lowest
//! position on the open stack that the search has reached from it. When the search leaves a state
//! whose lowlink is its own position, this state and all above it on the open stack form a complete
//! component.
//!
//! Two departures from the paper. The path is a vector, not the call stack: graphs of states are
//! millions of steps deep. And positions on the open stack, counted from 1, replace the numbers of
//! the paper, because they order open states as the time of discovery does; a lowlink is only
//! needed while its state is on the path, and is kept there. So the search takes 4 bytes for each
//! state of the graph, 4 more while a state is open, and 16 more while it is on the path.

use super::Graph;

/// Returns the strongly connected components of the subgraph of included states, except those in
/// which no run can cycle.
///
/// In a component of one state, a run can cycle only if the state has an edge to itself. Each
/// component's states are sorted, and components are in order of their smallest states. The time is
/// linear in states and edges, apart from that sorting; `is_included` is called at most once for
/// each state.
pub(crate) fn cyclic_components(graph: &Graph, is_included: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let mut components: Vec<_> = Search::new(graph, is_included).collect();
    for component in &mut components {
        component.sort_unstable();
    }
    components.sort_unstable_by_key(|component| component.first().copied());
    components
}

/// The mark of a state that the search has not reached.
const UNREACHED: u32 = 0;
/// The mark of a state that is not included, or whose component is complete. It is above every
/// position on the open stack, so an edge to a state with this mark never lowers a lowlink.
const CLOSED: u32 = u32::MAX;

/// The search as an iterator. It returns components with a cycle in the order in which they are
/// completed.
struct Search<'a, M> {
    graph: &'a Graph,
    is_included: M,
    /// The next state to begin a search from, unless it was reached before; all states before it in
    /// the graph were reached.
    next_root: u32,
    /// For each state `UNREACHED`, `CLOSED`, or its position on the open stack, counted from 1.
    marks: Vec<u32>,
    open: Vec<u32>,
    path: Vec<Visit>,
}

struct Visit {
    state: u32,
    /// The lowest position on the open stack that the search has reached from here.
    lowlink: u32,
    /// The index, among the state's edges, of the edge to follow next.
    next_edge: usize,
}

impl<'a, M: Fn(u32) -> bool> Search<'a, M> {
    fn new(graph: &'a Graph, is_included: M) -> Self {
        let marks = vec![UNREACHED; graph.state_count() as usize];
        Self { graph, is_included, next_root: 0, marks, open: Vec::new(), path: Vec::new() }
    }

    /// Visits a state, by an edge of the last state on the path or, if the path is empty, as a
    /// root.
    fn visit(&mut self, state: u32) {
        let Some(mark) = self.marks.get_mut(state as usize) else { return };
        if *mark != UNREACHED {
            if let Some(visit) = self.path.last_mut() {
                visit.lowlink = visit.lowlink.min(*mark);
            }
        } else if (self.is_included)(state) {
            self.open.push(state);
            *mark = self.open.len() as u32;
            self.path.push(Visit { state, lowlink: *mark, next_edge: 0 });
        } else {
            *mark = CLOSED;
        }
    }

    /// Removes the last state from the path, after all its edges were followed. Returns its
    /// component if that is now complete and contains a cycle.
    fn leave(&mut self) -> Option<Vec<u32>> {
        let visit = self.path.pop()?;
        let position = *self.marks.get(visit.state as usize)?;
        if visit.lowlink < position {
            if let Some(previous) = self.path.last_mut() {
                previous.lowlink = previous.lowlink.min(visit.lowlink);
            }
            return None;
        }
        let component = self.open.get(position as usize - 1..)?;
        for state in component {
            if let Some(mark) = self.marks.get_mut(*state as usize) {
                *mark = CLOSED;
            }
        }
        let is_cyclic = component.len() > 1 || self.graph.edges(visit.state).contains(&visit.state);
        let found = is_cyclic.then(|| component.to_vec());
        self.open.truncate(position as usize - 1);
        found
    }
}

impl<M: Fn(u32) -> bool> Iterator for Search<'_, M> {
    type Item = Vec<u32>;

    fn next(&mut self) -> Option<Vec<u32>> {
        loop {
            if let Some(visit) = self.path.last_mut() {
                let target = self.graph.edges(visit.state).get(visit.next_edge).copied();
                visit.next_edge += 1;
                if let Some(target) = target {
                    self.visit(target);
                } else if let Some(component) = self.leave() {
                    return Some(component);
                }
            } else if self.next_root < self.graph.state_count() {
                self.visit(self.next_root);
                self.next_root += 1;
            } else {
                return None;
            }
        }
    }
}
