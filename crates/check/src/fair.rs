//! Judges whether every fair run serves every waiting client and reaches the clients' common goal:
//! builds the graph of states and searches it for fair cycles.
//!
//! The breadth-first search does not keep the states, so this module visits them once more from the
//! beginning, and stores their edges. An obligation is a step that a fair run may not postpone
//! forever, such as a delivery or a timer; it is due as long as that step is pending.

use crate::action::{Action, MAX_NODES};
use crate::breadth::{Explored, SearchEnd};
use crate::expand::{NO_BATCH, ReadOnlyLookup, Stepper, Successors, expand};
use crate::liveness::{Fairness, Graph, cyclic_components, fair_cycle};
use crate::membership::{Removal, removal_obligation};
use crate::memory;
use crate::path::{PathGuide, Step};
use crate::step_table::delivery_obligation;
use crate::system::{LOCALS, System, envelope_of};
use crate::tables::NONE;
use std::cell::RefCell;

/// A path to a state, and a cycle from there back to it on which a client waits forever or the
/// common goal never holds.
pub(crate) struct Lasso {
    pub(crate) path: Vec<Step>,
    pub(crate) cycle: Vec<Step>,
}

/// The result of the search for fair cycles.
pub(crate) struct FairnessResult {
    /// A fair run that violates the property; `None` if there is none, or the search ended early.
    pub(crate) lasso: Option<Lasso>,
    pub(crate) end: SearchEnd,
    /// Size of the graph and the visited states in bytes; if the search ended early, its memory use
    /// at that time.
    pub(crate) bytes: u64,
}

/// Searches the explored states for a fair run on which a client waits forever, or on which the
/// common goal never holds.
///
/// `should_continue` receives the memory use in bytes, and returns `false` to stop the search.
pub(crate) fn search(
    system: &mut System,
    stepper: &mut dyn Stepper,
    explored: &Explored,
    memory_limit: u64,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> FairnessResult {
    let state_graph = match build_graph(system, stepper, explored, memory_limit, should_continue) {
        Ok(state_graph) => state_graph,
        Err((end, bytes)) => return FairnessResult { lasso: None, end, bytes },
    };
    let bytes = state_graph.bytes() + explored.kept_bytes;
    let mut shortest: Option<(usize, Lasso)> = None;
    for waiting_bit in 0..=GOAL_UNMET {
        let is_waiting = |state: u32| state_graph.waiting_bits[state as usize] >> waiting_bit & 1 == 1;
        for component in cyclic_components(&state_graph.graph, is_waiting) {
            // States are numbered in order of their distance from the initial states, and a
            // component is sorted, so this is one of its states nearest to them.
            let start = component[0];
            let Some(cycle) = fair_cycle(&state_graph.graph, &component, start, &state_graph.fairness(system)) else {
                continue;
            };
            let (root, actions) = explored.path(state_graph.ids[start as usize]);
            let length = actions.len() + cycle.len();
            if shortest.as_ref().is_some_and(|(known_length, _)| *known_length <= length) {
                continue;
            }
            let lasso = lasso_steps(system, stepper, explored, root, &actions, &cycle);
            shortest = Some((length, lasso));
        }
    }
    FairnessResult { lasso: shortest.map(|(_, lasso)| lasso), end: SearchEnd::Complete, bytes }
}

/// Number of states after which the caller receives the memory use and may stop the search.
const STATES_BETWEEN_REPORTS: u32 = 65_536;

/// The bit of `waiting_bits` for the common goal; the bits below are those of the nodes.
const GOAL_UNMET: usize = MAX_NODES;

/// The graph of all states, with details of the waiting states: those in which a client waits or
/// the common goal does not hold.
struct StateGraph {
    graph: Graph,
    /// For each state, one bit for each node whose client waits, and the bit `GOAL_UNMET` if the
    /// common goal does not hold.
    waiting_bits: Vec<u32>,
    /// The id of each state in the breadth-first search.
    ids: Vec<crate::visited::StateId>,
    /// The 32-bit words that encode the waiting states; other states have none.
    words: Vec<u32>,
    /// The end of each state's words.
    ends: Vec<u64>,
    /// The obligations due in each waiting state.
    due_obligations: Vec<u64>,
    /// The end of each state's due obligations.
    due_obligation_ends: Vec<u64>,
}

impl StateGraph {
    fn state(&self, state: u32) -> &[u32] {
        slice(&self.words, &self.ends, state)
    }

    fn bytes(&self) -> u64 {
        self.graph.bytes() as u64
            + self.words.capacity() as u64 * 4
            + self.due_obligations.capacity() as u64 * 8
            // Per state: `waiting_bits`, `ids`, `ends` and `due_obligation_ends`.
            + self.waiting_bits.capacity() as u64 * (4 + 4 + 8 + 8)
    }

    fn fairness<'a>(&'a self, system: &'a System) -> Obligations<'a> {
        Obligations { state_graph: self, system, cache: RefCell::new((NONE, Successors::default())) }
    }

    fn add(&mut self, system: &System, state: &[u32]) {
        let mut waiting = u32::from(system.is_goal_unmet(state)) << GOAL_UNMET;
        for (node, local) in state[LOCALS..LOCALS + system.nodes].iter().enumerate() {
            waiting |= u32::from(system.tables.locals[*local as usize].is_waiting) << node;
        }
        self.waiting_bits.push(waiting);
        if waiting != 0 {
            self.words.extend_from_slice(state);
            let start = self.due_obligations.len();
            for word in &state[system.in_flight_start(state)..] {
                self.due_obligations.push(delivery_obligation(&system.tables.envelopes[envelope_of(*word) as usize]));
            }
            for local in &state[LOCALS..LOCALS + system.nodes] {
                let info = &system.tables.locals[*local as usize];
                let moves = info.first_move as usize..info.first_move as usize + usize::from(info.move_count);
                self.due_obligations
                    .extend(system.tables.move_details[moves].iter().filter_map(|detail| detail.obligation));
            }
            for node in 0..system.nodes {
                if system.removal(node, state).is_some_and(|(removal, _)| removal == Removal::Due) {
                    self.due_obligations.push(removal_obligation(node));
                }
            }
            self.due_obligations[start..].sort_unstable();
            let mut unique_len = start;
            for index in start..self.due_obligations.len() {
                if index == start || self.due_obligations[index] != self.due_obligations[unique_len - 1] {
                    self.due_obligations[unique_len] = self.due_obligations[index];
                    unique_len += 1;
                }
            }
            self.due_obligations.truncate(unique_len);
        }
        self.ends.push(self.words.len() as u64);
        self.due_obligation_ends.push(self.due_obligations.len() as u64);
    }
}

/// Returns the values of a state, given the end of each state's values.
fn slice<'a, T>(values: &'a [T], ends: &[u64], state: u32) -> &'a [T] {
    let start = if state == 0 { 0 } else { ends[state as usize - 1] as usize };
    &values[start..ends[state as usize] as usize]
}

/// Visits all explored states once more, in order of their distance from the initial states. Fails
/// with the reason and the memory use in bytes if it must stop early.
fn build_graph(
    system: &mut System,
    stepper: &mut dyn Stepper,
    explored: &Explored,
    memory_limit: u64,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<StateGraph, (SearchEnd, u64)> {
    let mut state_graph = StateGraph {
        graph: Graph::new(),
        waiting_bits: Vec::new(),
        ids: Vec::new(),
        words: Vec::new(),
        ends: Vec::new(),
        due_obligations: Vec::new(),
        due_obligation_ends: Vec::new(),
    };
    let mut number_of_id = vec![NONE; explored.id_bound()];
    let Some((_, first)) = explored.roots.first() else { return Ok(state_graph) };
    let mut guide = PathGuide::new(system, stepper, first);
    let mut level: Vec<Vec<u32>> = Vec::new();
    for (id, state) in &explored.roots {
        number_of_id[id.0 as usize] = state_graph.ids.len() as u32;
        state_graph.ids.push(*id);
        level.push(state.clone());
    }
    while !level.is_empty() {
        let mut next = Vec::new();
        for state in level {
            state_graph.add(guide.lookup.system, &state);
            let candidates = guide.candidates(&state).to_vec();
            let mut row = Vec::with_capacity(candidates.len());
            for candidate in candidates {
                // A complete search has found all successors, so no candidate is skipped, and its
                // index is the position of its edge.
                let Some(id) = explored.find_state(candidate.fingerprint) else { continue };
                let number = &mut number_of_id[id.0 as usize];
                if *number == NONE {
                    *number = state_graph.ids.len() as u32;
                    state_graph.ids.push(id);
                    let mut words = Vec::new();
                    let action = Action::unpack(candidate.action);
                    guide.lookup.system.apply_action(&state, action, candidate.outcome, &mut words);
                    next.push(words);
                }
                row.push(*number);
            }
            state_graph.graph.push_row(row);
            if state_graph.graph.state_count().is_multiple_of(STATES_BETWEEN_REPORTS) {
                let counted = state_graph.bytes() + explored.kept_bytes + number_of_id.len() as u64 * 4;
                let bytes = memory::resident().map_or(counted, |resident| resident.max(counted));
                if bytes > memory_limit {
                    return Err((SearchEnd::MemoryLimit, bytes));
                }
                if !should_continue(bytes) {
                    return Err((SearchEnd::Stopped, bytes));
                }
            }
        }
        level = next;
    }
    Ok(state_graph)
}

/// The obligations of fair runs in the states of a graph.
struct Obligations<'a> {
    state_graph: &'a StateGraph,
    system: &'a System,
    /// The state that `meets` was called for last, and its transitions.
    cache: RefCell<(u32, Successors)>,
}

impl Fairness for Obligations<'_> {
    fn due_obligations(&self, state: u32) -> &[u64] {
        slice(&self.state_graph.due_obligations, &self.state_graph.due_obligation_ends, state)
    }

    fn meets(&self, source: u32, edge: usize, obligation: u64) -> bool {
        let mut cache = self.cache.borrow_mut();
        let state = self.state_graph.state(source);
        if cache.0 != source {
            cache.0 = source;
            let fingerprint = self.system.fingerprint(state);
            // `build_graph` has computed the outcomes of all actions in this state, so this cannot
            // fail.
            let _ = expand(&mut ReadOnlyLookup(self.system), state, fingerprint, NO_BATCH, &mut cache.1);
        }
        let Some(candidate) = cache.1.candidates.get(edge) else { return false };
        let tables = &self.system.tables;
        let action = Action::unpack(candidate.action);
        let obligation_of_action = match action {
            Action::Deliver(position) => {
                let envelope = envelope_of(state[self.system.in_flight_start(state) + position]);
                Some(delivery_obligation(&tables.envelopes[envelope as usize]))
            }
            Action::Move { node, index } => {
                let first_move = tables.locals[state[LOCALS + node] as usize].first_move as usize;
                tables.move_details[first_move + index].obligation
            }
            Action::Remove(node) => Some(removal_obligation(node)),
            Action::Lose(_) | Action::Duplicate(_) | Action::Advance => None,
        };
        // A timer that is set again starts over, so its obligation counts as met. A message to a
        // node that is down has no outcome and sets no timer.
        let sets_timer_again = || {
            matches!(action, Action::Deliver(_) | Action::Move { .. })
                && candidate.outcome != NONE
                && tables.consequences[candidate.outcome as usize].timer_obligations.contains(&obligation)
        };
        obligation_of_action == Some(obligation) || sets_timer_again()
    }
}

/// Converts the path to a cycle, and the cycle, into steps.
fn lasso_steps(
    system: &mut System,
    stepper: &mut dyn Stepper,
    explored: &Explored,
    root: crate::visited::StateId,
    actions: &[u16],
    cycle: &[(u32, usize)],
) -> Lasso {
    let mut state = explored.roots.iter().find(|(id, _)| *id == root).map_or_else(Vec::new, |(_, words)| words.clone());
    let mut guide = PathGuide::new(system, stepper, &state);
    let path = guide.follow(&mut state, actions);
    let mut steps = Vec::new();
    for (_, edge) in cycle {
        let Some(candidate) = guide.candidates(&state).get(*edge).copied() else { break };
        steps.push(guide.take_transition(&mut state, candidate));
    }
    Lasso { path, cycle: steps }
}
