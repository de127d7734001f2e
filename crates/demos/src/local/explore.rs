//! Explores every interleaving of the threads.

use super::machine::{Race, Schedule, State, Thread};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    pub endings: BTreeMap<i64, Ending>,
    /// A shortest schedule after which two threads are between loading and storing, if there is
    /// one.
    pub two_inside: Option<Schedule>,
    /// A shortest schedule after which no thread can continue although some have not ended, if
    /// there is one.
    pub stuck: Option<Schedule>,
    pub states: usize,
    /// Number of steps that lead from one state to another. A step that changes nothing does not
    /// count.
    pub transitions: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Number of interleavings that lead to it. Steps that change nothing are left out.
    pub interleavings: u64,
    pub schedule: Schedule,
}

impl Outcomes {
    /// Whether every run ends with this value of the counter, never has two threads in the critical
    /// section, and never gets stuck.
    pub fn always_end_with(&self, right: i64) -> bool {
        self.endings.keys().eq([&right]) && self.two_inside.is_none() && self.stuck.is_none()
    }
}

/// LO-2. Explores all states breadth-first, so that the schedules in the result are shortest.
pub fn explore(race: &Race) -> Outcomes {
    let mut map = Map::default();
    map.reach(race.begin(), None);
    let mut place = 0;
    while let Some(found) = map.found.get(place) {
        let state = found.state.clone();
        for thread in race.ready(&state) {
            let mut next = state.clone();
            if race.step(&mut next, thread).is_some() && next != state {
                let next = map.reach(next, Some((place, thread)));
                map.add_edge(place, next);
            }
        }
        place += 1;
    }
    map.outcomes(race)
}

/// The states found so far, in order of discovery.
#[derive(Default)]
struct Map {
    found: Vec<Found>,
    places: BTreeMap<State, usize>,
}

struct Found {
    state: State,
    parent: Option<(usize, Thread)>,
    next: Vec<usize>,
    arrivals: usize,
}

impl Map {
    /// Returns the index of this state, and adds it if it is new.
    fn reach(&mut self, state: State, parent: Option<(usize, Thread)>) -> usize {
        let place = *self.places.entry(state.clone()).or_insert(self.found.len());
        if place == self.found.len() {
            self.found.push(Found { state, parent, next: Vec::new(), arrivals: 0 });
        }
        place
    }

    fn add_edge(&mut self, from: usize, to: usize) {
        if let Some(found) = self.found.get_mut(from) {
            found.next.push(to);
        }
        if let Some(found) = self.found.get_mut(to) {
            found.arrivals += 1;
        }
    }

    fn outcomes(&self, race: &Race) -> Outcomes {
        let interleavings = self.interleavings();
        let mut endings: BTreeMap<i64, Ending> = BTreeMap::new();
        for ((place, found), paths) in self.found.iter().enumerate().zip(&interleavings) {
            if race.is_over(&found.state) {
                let ending = endings.entry(found.state.memory().counter);
                let ending = ending.or_insert_with(|| Ending { interleavings: 0, schedule: self.schedule_to(place) });
                ending.interleavings = ending.interleavings.saturating_add(*paths);
            }
        }
        let first =
            |fits: &dyn Fn(&Found) -> bool| self.found.iter().position(fits).map(|place| self.schedule_to(place));
        Outcomes {
            endings,
            two_inside: first(&|found| race.inside(&found.state) > 1),
            stuck: first(&|found| found.next.is_empty() && !race.is_over(&found.state)),
            states: self.found.len(),
            transitions: self.found.iter().map(|found| found.next.len()).sum(),
        }
    }

    fn schedule_to(&self, place: usize) -> Schedule {
        let parent = |place: usize| self.found.get(place).and_then(|found| found.parent);
        let steps = core::iter::successors(parent(place), |(from, _)| parent(*from));
        let mut threads: Vec<_> = steps.map(|(_, thread)| thread).collect();
        threads.reverse();
        Schedule(threads)
    }

    /// Counts the paths to each state. No path visits a state twice, because every step brings some
    /// thread nearer to its end, or to sleep until another thread's step; so each state is counted
    /// once all its predecessors are.
    fn interleavings(&self) -> Vec<u64> {
        let mut paths: Vec<u64> = self.found.iter().map(|found| u64::from(found.parent.is_none())).collect();
        let mut awaited: Vec<usize> = self.found.iter().map(|found| found.arrivals).collect();
        let mut ready: Vec<usize> = (0..self.found.len()).filter(|place| awaited.get(*place) == Some(&0)).collect();
        while let Some(place) = ready.pop() {
            let (Some(found), Some(here)) = (self.found.get(place), paths.get(place).copied()) else { continue };
            for next in &found.next {
                if let (Some(paths), Some(awaited)) = (paths.get_mut(*next), awaited.get_mut(*next)) {
                    *paths = paths.saturating_add(here);
                    *awaited = awaited.saturating_sub(1);
                    if *awaited == 0 {
                        ready.push(*next);
                    }
                }
            }
        }
        paths
    }
}
