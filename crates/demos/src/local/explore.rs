//! Explores every interleaving of the threads.

use super::machine::{Race, Schedule, State, Thread};
use std::collections::BTreeMap;

/// The possible endings of a race, and its possible violations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    /// For each possible final value of the counter, how schedules lead to it.
    pub endings: BTreeMap<i64, Ending>,
    /// A shortest schedule after which two threads are between loading and storing, if there is
    /// one.
    pub overlap_schedule: Option<Schedule>,
    /// A shortest schedule after which no thread can continue although some have not ended, if
    /// there is one.
    pub stuck_schedule: Option<Schedule>,
    pub states: usize,
    /// Number of steps that lead from one state to another. A step that changes nothing does not
    /// count.
    pub transitions: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Number of interleavings that lead to the value. Steps that change nothing are left out.
    pub interleavings: u64,
    /// A shortest schedule that leads to the value.
    pub schedule: Schedule,
}

impl Outcomes {
    /// Whether every run ends with this value of the counter, never has two threads in the critical
    /// section, and never gets stuck.
    pub fn are_race_free_with(&self, expected: i64) -> bool {
        self.endings.keys().eq([&expected]) && self.overlap_schedule.is_none() && self.stuck_schedule.is_none()
    }
}

/// LO-2: any thread that can continue may take the next step. Explores all states breadth-first, so
/// that the schedules in the result are shortest.
pub fn explore(race: &Race) -> Outcomes {
    let mut graph = StateGraph::default();
    graph.add_state(race.initial_state(), None);
    let mut index = 0;
    while let Some(vertex) = graph.vertices.get(index) {
        let state = vertex.state.clone();
        for thread in race.ready_threads(&state) {
            let mut next = state.clone();
            if race.step(&mut next, thread).is_some() && next != state {
                let successor = graph.add_state(next, Some((index, thread)));
                graph.add_edge(index, successor);
            }
        }
        index += 1;
    }
    graph.collect_outcomes(race)
}

/// The states found so far, in order of discovery.
#[derive(Default)]
struct StateGraph {
    vertices: Vec<Vertex>,
    indices: BTreeMap<State, usize>,
}

struct Vertex {
    state: State,
    /// The index of the state from which this one was found first, and the thread whose step led
    /// here; `None` for the initial state.
    parent: Option<(usize, Thread)>,
    successors: Vec<usize>,
    incoming_edges: usize,
}

impl StateGraph {
    /// Returns the index of this state, and adds it if it is new.
    fn add_state(&mut self, state: State, parent: Option<(usize, Thread)>) -> usize {
        let index = *self.indices.entry(state.clone()).or_insert(self.vertices.len());
        if index == self.vertices.len() {
            self.vertices.push(Vertex { state, parent, successors: Vec::new(), incoming_edges: 0 });
        }
        index
    }

    fn add_edge(&mut self, from: usize, to: usize) {
        if let Some(vertex) = self.vertices.get_mut(from) {
            vertex.successors.push(to);
        }
        if let Some(vertex) = self.vertices.get_mut(to) {
            vertex.incoming_edges += 1;
        }
    }

    fn collect_outcomes(&self, race: &Race) -> Outcomes {
        let interleavings = self.count_interleavings();
        let mut endings: BTreeMap<i64, Ending> = BTreeMap::new();
        for ((index, vertex), paths) in self.vertices.iter().enumerate().zip(&interleavings) {
            if race.is_over(&vertex.state) {
                let ending = endings.entry(vertex.state.memory().counter);
                let ending = ending.or_insert_with(|| Ending { interleavings: 0, schedule: self.schedule_to(index) });
                ending.interleavings = ending.interleavings.saturating_add(*paths);
            }
        }
        let first_schedule_to = |is_target: &dyn Fn(&Vertex) -> bool| {
            self.vertices.iter().position(is_target).map(|index| self.schedule_to(index))
        };
        Outcomes {
            endings,
            overlap_schedule: first_schedule_to(&|vertex| race.count_threads_inside(&vertex.state) > 1),
            stuck_schedule: first_schedule_to(&|vertex| vertex.successors.is_empty() && !race.is_over(&vertex.state)),
            states: self.vertices.len(),
            transitions: self.vertices.iter().map(|vertex| vertex.successors.len()).sum(),
        }
    }

    fn schedule_to(&self, index: usize) -> Schedule {
        let parent = |index: usize| self.vertices.get(index).and_then(|vertex| vertex.parent);
        let steps = std::iter::successors(parent(index), |(from, _)| parent(*from));
        let mut threads: Vec<_> = steps.map(|(_, thread)| thread).collect();
        threads.reverse();
        Schedule(threads)
    }

    /// Counts the paths to each state. No path visits a state twice: every step either brings its
    /// thread nearer to its end, or puts it to sleep until another thread's step wakes it. So the
    /// count of a state is final once the counts of all its predecessors are.
    fn count_interleavings(&self) -> Vec<u64> {
        // The empty path leads to the initial state.
        let mut paths: Vec<u64> = self.vertices.iter().map(|vertex| u64::from(vertex.parent.is_none())).collect();
        let mut uncounted_edges: Vec<usize> = self.vertices.iter().map(|vertex| vertex.incoming_edges).collect();
        let mut ready: Vec<usize> =
            (0..self.vertices.len()).filter(|index| uncounted_edges.get(*index) == Some(&0)).collect();
        while let Some(index) = ready.pop() {
            let (Some(vertex), Some(paths_here)) = (self.vertices.get(index), paths.get(index).copied()) else {
                continue;
            };
            for next in &vertex.successors {
                if let (Some(paths), Some(uncounted)) = (paths.get_mut(*next), uncounted_edges.get_mut(*next)) {
                    *paths = paths.saturating_add(paths_here);
                    *uncounted = uncounted.saturating_sub(1);
                    if *uncounted == 0 {
                        ready.push(*next);
                    }
                }
            }
        }
        paths
    }
}
