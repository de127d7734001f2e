//! Whether every fair run serves everyone who waits: builds the graph of states and looks for fair cycles.
//!
//! The search keeps no states, so they are gone through once more from the beginning, and this time their edges are kept.

use crate::action::{Action, MOST_NODES};
use crate::breadth::{End, Explored};
use crate::expand::{Found, Known, Oracle, expand};
use crate::liveness::{Fairness, Graph, cyclic_components, fair_cycle};
use crate::membership::{Removal, removal_obligation};
use crate::memory;
use crate::stage::delivery_obligation;
use crate::system::{LOCALS, System, envelope_of};
use crate::tables::NOTHING;
use crate::trail::{Guide, Step};
use std::cell::RefCell;

/// A way to a state, and a cycle from there back to it on which somebody waits for ever.
pub(crate) struct Lasso {
    pub(crate) path: Vec<Step>,
    pub(crate) cycle: Vec<Step>,
}

pub(crate) struct Searched {
    pub(crate) lasso: Option<Lasso>,
    /// Why there is no answer.
    pub(crate) end: End,
    /// How much memory it took at most, the states that were seen included.
    pub(crate) bytes: u64,
}

/// Looks for a fair run on which somebody waits for ever, among all states that a search found.
pub(crate) fn search(
    system: &mut System,
    oracle: &mut dyn Oracle,
    explored: &Explored,
    memory: u64,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Searched {
    let charted = match chart(system, oracle, explored, memory, goes_on) {
        Ok(charted) => charted,
        Err((end, bytes)) => return Searched { lasso: None, end, bytes },
    };
    let bytes = charted.bytes() + explored.kept_bytes;
    let mut best: Option<(usize, Lasso)> = None;
    for cause in 0..=ASTRAY {
        let waits = |state: u32| charted.waiting[state as usize] >> cause & 1 == 1;
        for component in cyclic_components(&charted.graph, waits) {
            let start = component[0];
            let Some(cycle) = fair_cycle(&charted.graph, &component, start, &charted.fairness(system)) else {
                continue;
            };
            let (root, actions) = explored.path(charted.ids[start as usize]);
            let length = actions.len() + cycle.len();
            if best.as_ref().is_some_and(|(shortest, _)| *shortest <= length) {
                continue;
            }
            let lasso = tell(system, oracle, explored, root, &actions, &cycle);
            best = Some((length, lasso));
        }
    }
    Searched { lasso: best.map(|(_, lasso)| lasso), end: End::Complete, bytes }
}

/// The bit for all nodes together, beside those of each.
const ASTRAY: usize = MOST_NODES;

/// The graph of all states, and of those in which somebody waits what they are.
struct Chart {
    graph: Graph,
    /// Which nodes wait in each state, one bit each, and whether all are astray.
    waiting: Vec<u32>,
    /// The number of each state in the search.
    ids: Vec<crate::visited::StateId>,
    words: Vec<u32>,
    /// Where the words of each state end.
    ends: Vec<u64>,
    /// What is due in each state in which somebody waits.
    due: Vec<u64>,
    due_ends: Vec<u64>,
}

impl Chart {
    fn state(&self, state: u32) -> &[u32] {
        slice(&self.words, &self.ends, state)
    }

    fn bytes(&self) -> u64 {
        self.graph.bytes() as u64
            + self.words.capacity() as u64 * 4
            + self.due.capacity() as u64 * 8
            + self.waiting.capacity() as u64 * (4 + 4 + 8 + 8)
    }

    fn fairness<'a>(&'a self, system: &'a System) -> Debts<'a> {
        Debts { chart: self, system, cache: RefCell::new((NOTHING, Found::default())) }
    }

    fn add(&mut self, system: &System, state: &[u32]) {
        let mut waiting = u32::from(system.is_astray(state)) << ASTRAY;
        for (node, local) in state[LOCALS..LOCALS + system.nodes].iter().enumerate() {
            waiting |= u32::from(system.tables.locals[*local as usize].waits) << node;
        }
        self.waiting.push(waiting);
        if waiting != 0 {
            self.words.extend_from_slice(state);
            let first = self.due.len();
            for word in &state[system.body(state)..] {
                self.due.push(delivery_obligation(&system.tables.envelopes[envelope_of(*word) as usize]));
            }
            for local in &state[LOCALS..LOCALS + system.nodes] {
                let info = &system.tables.locals[*local as usize];
                let moves = info.first_move as usize..info.first_move as usize + usize::from(info.moves);
                self.due.extend(system.tables.move_details[moves].iter().filter_map(|offer| offer.obligation));
            }
            for node in 0..system.nodes {
                if system.removal(node, state).is_some_and(|(removal, _)| removal == Removal::Due) {
                    self.due.push(removal_obligation(node));
                }
            }
            self.due[first..].sort_unstable();
            let mut kept = first;
            for place in first..self.due.len() {
                if place == first || self.due[place] != self.due[kept - 1] {
                    self.due[kept] = self.due[place];
                    kept += 1;
                }
            }
            self.due.truncate(kept);
        }
        self.ends.push(self.words.len() as u64);
        self.due_ends.push(self.due.len() as u64);
    }
}

fn slice<'a, T>(values: &'a [T], ends: &[u64], state: u32) -> &'a [T] {
    let start = if state == 0 { 0 } else { ends[state as usize - 1] as usize };
    &values[start..ends[state as usize] as usize]
}

/// Goes through all states once more, in the order of their distance.
fn chart(
    system: &mut System,
    oracle: &mut dyn Oracle,
    explored: &Explored,
    memory: u64,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Chart, (End, u64)> {
    let mut chart = Chart {
        graph: Graph::new(),
        waiting: Vec::new(),
        ids: Vec::new(),
        words: Vec::new(),
        ends: Vec::new(),
        due: Vec::new(),
        due_ends: Vec::new(),
    };
    let mut numbers = vec![NOTHING; explored.numbers()];
    let Some((_, first)) = explored.roots.first() else { return Ok(chart) };
    let mut guide = Guide::new(system, oracle, first);
    let mut level: Vec<Vec<u32>> = Vec::new();
    for (id, state) in &explored.roots {
        numbers[id.0 as usize] = chart.ids.len() as u32;
        chart.ids.push(*id);
        level.push(state.clone());
    }
    while !level.is_empty() {
        let mut next = Vec::new();
        for state in level {
            chart.add(guide.lookup.system, &state);
            let candidates = guide.candidates(&state).to_vec();
            let mut row = Vec::with_capacity(candidates.len());
            for candidate in candidates {
                let Some(id) = explored.find(candidate.fingerprint) else { continue };
                let number = &mut numbers[id.0 as usize];
                if *number == NOTHING {
                    *number = chart.ids.len() as u32;
                    chart.ids.push(id);
                    let mut words = Vec::new();
                    let action = Action::unpack(candidate.action);
                    guide.lookup.system.succeed(&state, action, candidate.outcome, &mut words);
                    next.push(words);
                }
                row.push(*number);
            }
            chart.graph.push_row(row);
            if chart.graph.states().is_multiple_of(65_536) {
                let counted = chart.bytes() + explored.kept_bytes + numbers.len() as u64 * 4;
                let bytes = memory::resident().map_or(counted, |resident| resident.max(counted));
                if bytes > memory {
                    return Err((End::Memory, bytes));
                }
                if !goes_on(bytes) {
                    return Err((End::Stopped, bytes));
                }
            }
        }
        level = next;
    }
    Ok(chart)
}

/// What fair runs owe in the states of a chart.
struct Debts<'a> {
    chart: &'a Chart,
    system: &'a System,
    /// What the last state that was asked about leads to.
    cache: RefCell<(u32, Found)>,
}

impl Fairness for Debts<'_> {
    fn due(&self, state: u32) -> &[u64] {
        slice(&self.chart.due, &self.chart.due_ends, state)
    }

    fn meets(&self, source: u32, edge: usize, obligation: u64) -> bool {
        let mut cache = self.cache.borrow_mut();
        let state = self.chart.state(source);
        if cache.0 != source {
            cache.0 = source;
            let fingerprint = self.system.fingerprint(state);
            // All that was gone through is known.
            let _ = expand(&mut Known(self.system), state, fingerprint, 0, &mut cache.1);
        }
        let Some(candidate) = cache.1.candidates.get(edge) else { return false };
        let tables = &self.system.tables;
        let action = Action::unpack(candidate.action);
        let own = match action {
            Action::Deliver(place) => {
                let envelope = envelope_of(state[self.system.body(state) + place]);
                Some(delivery_obligation(&tables.envelopes[envelope as usize]))
            }
            Action::Own { node, index } => {
                let first = tables.locals[state[LOCALS + node] as usize].first_move as usize;
                tables.move_details[first + index].obligation
            }
            Action::Remove(node) => Some(removal_obligation(node)),
            Action::Lose(_) | Action::Duplicate(_) | Action::Advance => None,
        };
        let sets = || {
            matches!(action, Action::Deliver(_) | Action::Own { .. })
                && candidate.outcome != NOTHING
                && tables.consequences[candidate.outcome as usize].sets.contains(&obligation)
        };
        own == Some(obligation) || sets()
    }
}

fn tell(
    system: &mut System,
    oracle: &mut dyn Oracle,
    explored: &Explored,
    root: crate::visited::StateId,
    actions: &[u16],
    cycle: &[(u32, usize)],
) -> Lasso {
    let mut state = explored.roots.iter().find(|(id, _)| *id == root).map_or_else(Vec::new, |(_, words)| words.clone());
    let mut guide = Guide::new(system, oracle, &state);
    let path = guide.follow(&mut state, actions);
    let mut steps = Vec::new();
    for (_, edge) in cycle {
        let Some(candidate) = guide.candidates(&state).get(*edge).copied() else { break };
        steps.push(guide.take(&mut state, candidate));
    }
    Lasso { path, cycle: steps }
}
