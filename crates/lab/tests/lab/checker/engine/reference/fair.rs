//! Whether a fair run starves somebody, by brute force on the graph of all states.

use super::{Bounds, Debt, Maker, State, World};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

struct Chart {
    states: Vec<Rc<State>>,
    edges: Vec<Vec<(usize, Vec<Debt>)>>,
    due: Vec<Vec<Debt>>,
}

/// Whether a run can end, or go round for ever, while the same node waits and nothing is left undone for ever.
pub(crate) fn starves(make: &Maker, bounds: &Bounds) -> bool {
    assert!(bounds.setup.timing.is_none(), "a run that is cut off tells nothing about what comes sooner or later");
    let chart = chart(make, bounds);
    (0..bounds.setup.nodes).any(|node| chart.starves(node))
}

fn chart(make: &Maker, bounds: &Bounds) -> Chart {
    let mut world = World::new(make, bounds);
    let mut chart = Chart { states: Vec::new(), edges: Vec::new(), due: Vec::new() };
    let mut numbers: HashMap<Rc<State>, usize> = HashMap::new();
    for state in world.initial() {
        let state = Rc::new(state);
        numbers.insert(Rc::clone(&state), chart.states.len());
        chart.states.push(state);
    }
    while let Some(state) = chart.states.get(chart.edges.len()).cloned() {
        let mut row = Vec::new();
        for edge in world.edges(&state) {
            let number = *numbers.entry(Rc::new(edge.to)).or_insert_with_key(|state| {
                chart.states.push(Rc::clone(state));
                chart.states.len() - 1
            });
            row.push((number, edge.pays));
        }
        chart.edges.push(row);
        chart.due.push(world.due(&state));
    }
    chart
}

impl Chart {
    fn starves(&self, node: usize) -> bool {
        let waits: Vec<bool> = self.states.iter().map(|state| state.waits(node)).collect();
        let ends = (0..self.states.len()).any(|state| waits[state] && self.due[state].is_empty());
        ends || self.components(&waits).iter().any(|component| self.is_fair(component))
    }

    /// Whether a run that visits all of a component again and again, and nothing else, leaves nothing undone.
    fn is_fair(&self, component: &BTreeSet<usize>) -> bool {
        let mut inner = component.iter().flat_map(|state| &self.edges[*state]).filter(|(to, _)| component.contains(to));
        if inner.clone().next().is_none() {
            return false;
        }
        let start = *component.first().unwrap();
        let always = |debt: &&Debt| component.iter().all(|state| self.due[*state].contains(debt));
        let mut owed = self.due[start].iter().filter(always);
        owed.all(|debt| inner.clone().any(|(_, pays)| pays.contains(debt))) && inner.next().is_some()
    }

    /// The strongly connected components of the states that count, by Kosaraju's algorithm.
    fn components(&self, counts: &[bool]) -> Vec<BTreeSet<usize>> {
        let forth: Vec<Vec<usize>> = self.edges.iter().map(|row| row.iter().map(|(to, _)| *to).collect()).collect();
        let mut back = vec![Vec::new(); forth.len()];
        for (from, row) in forth.iter().enumerate() {
            for to in row {
                back[*to].push(from);
            }
        }
        let mut order = Vec::new();
        let mut left: Vec<bool> = counts.to_vec();
        for start in 0..forth.len() {
            finish(&forth, start, &mut left, &mut order);
        }
        let mut left: Vec<bool> = counts.to_vec();
        let mut components = Vec::new();
        for start in order.into_iter().rev() {
            let mut component = Vec::new();
            finish(&back, start, &mut left, &mut component);
            if !component.is_empty() {
                components.push(component.into_iter().collect());
            }
        }
        components
    }
}

/// Takes what can be reached from a state and is left, each state after all that can be reached from it.
fn finish(edges: &[Vec<usize>], start: usize, left: &mut [bool], order: &mut Vec<usize>) {
    if !std::mem::take(&mut left[start]) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((state, next)) = path.last_mut() {
        match edges[*state].get(*next) {
            Some(to) => {
                *next += 1;
                if std::mem::take(&mut left[*to]) {
                    path.push((*to, 0));
                }
            }
            None => {
                order.push(*state);
                path.pop();
            }
        }
    }
}
