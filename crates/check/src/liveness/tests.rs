//! Tests liveness on small graphs, on some too deep for the call stack, and against brute force.

use super::lasso::has_fair_run;
use super::{Fairness, Graph, cyclic_components, fair_cycle};
use std::collections::BTreeSet;

fn is_acyclic(graph: &Graph) -> bool {
    cyclic_components(graph, |_| true).is_empty()
}

/// Creates a graph; row `i` lists the targets of the edges of state `i`.
fn graph(rows: &[&[u32]]) -> Graph {
    let mut graph = Graph::new();
    for row in rows {
        graph.push_row(row.iter().copied());
    }
    graph
}

fn components(rows: &[&[u32]]) -> Vec<Vec<u32>> {
    cyclic_components(&graph(rows), |_| true)
}

/// Fairness given by two tables.
#[derive(Debug, Default)]
struct FairnessTables {
    /// For each state, the obligations due there. No obligation is due in states beyond the end.
    due: Vec<Vec<u64>>,
    /// Source, position and obligation of the edges that meet an obligation.
    meets: BTreeSet<(u32, usize, u64)>,
}

impl Fairness for FairnessTables {
    fn due_obligations(&self, state: u32) -> &[u64] {
        self.due.get(state as usize).map(Vec::as_slice).unwrap_or_default()
    }

    fn meets(&self, source: u32, edge: usize, obligation: u64) -> bool {
        self.meets.contains(&(source, edge, obligation))
    }
}

/// Creates the two tables; the tests use 5, 6 and 7 as obligations.
fn fairness(due: &[&[u64]], meets: &[(u32, usize, u64)]) -> FairnessTables {
    FairnessTables { due: due.iter().map(|due| due.to_vec()).collect(), meets: meets.iter().copied().collect() }
}

/// Fails unless the steps form a fair cycle inside the component, from the start to the start.
fn assert_fair(graph: &Graph, component: &[u32], start: u32, fairness: &FairnessTables, steps: &[(u32, usize)]) {
    let mut at = start;
    for (source, edge) in steps {
        assert_eq!(*source, at, "a step does not begin where the previous one ended: {steps:?}");
        at = graph.edges(*source)[*edge];
        assert!(component.binary_search(&at).is_ok(), "the cycle leaves the component: {steps:?}");
    }
    assert!(!steps.is_empty() && at == start, "the cycle does not return to its start: {steps:?}");
    for due in fairness.due_obligations(start) {
        let is_always_due = steps.iter().all(|(state, _)| fairness.due_obligations(*state).contains(due));
        let is_met = steps.iter().any(|(source, edge)| fairness.meets(*source, *edge, *due));
        assert!(!is_always_due || is_met, "{due} is due in all states and never met: {steps:?}");
    }
}

// ------------------------------------------------------------ the graph

#[test]
fn a_graph_returns_its_rows_and_numbers_their_edges() {
    let graph = graph(&[&[2, 1], &[], &[0, 0, 9]]);
    assert_eq!(graph.state_count(), 3);
    assert_eq!([graph.edges(0), graph.edges(1), graph.edges(2)], [&[2, 1][..], &[], &[0, 0, 9]]);
    assert_eq!([graph.edge_numbers(0), graph.edge_numbers(1), graph.edge_numbers(2)], [0..2, 2..2, 2..5]);
    assert!(graph.bytes() >= 4 * 8 + 5 * 4, "four offsets and five targets: {}", graph.bytes());
}

#[test]
fn a_state_without_a_row_has_no_edges() {
    let graph = graph(&[&[7]]);
    assert!(graph.edges(7).is_empty() && graph.edges(1).is_empty() && graph.edges(u32::MAX).is_empty());
    assert!(is_acyclic(&graph));
    assert_eq!(Graph::new().state_count(), 0);
    assert!(is_acyclic(&Graph::new()));
}

// ------------------------------------------------------------ the components

#[test]
fn a_diamond_that_joins_is_no_cycle() {
    assert!(components(&[&[1, 2], &[3], &[3], &[]]).is_empty());
    // The same states numbered from the end, so that the search reaches the join first, and with
    // more edges.
    assert!(components(&[&[], &[0], &[0, 1], &[2, 1, 0]]).is_empty());
}

#[test]
fn an_edge_into_a_complete_component_does_not_join_it() {
    // 0 → 1 ⇄ 2, and 3 ⇄ 4 → 2: the search finds the second pair later, and an edge leads from it
    // to the first.
    assert_eq!(components(&[&[1], &[2], &[1], &[4], &[2, 3]]), [[1, 2], [3, 4]]);
    // The same in one search: 0 has edges to both pairs.
    assert_eq!(components(&[&[1, 3], &[2], &[1], &[4], &[2, 3]]), [[1, 2], [3, 4]]);
}

#[test]
fn a_cycle_through_an_excluded_state_does_not_count() {
    let ring = graph(&[&[1], &[2], &[0]]);
    assert_eq!(cyclic_components(&ring, |_| true), [[0, 1, 2]]);
    assert!(!is_acyclic(&ring));
    for outside in 0..3 {
        assert!(cyclic_components(&ring, |state| state != outside).is_empty(), "without {outside}");
    }
    // Without state 3 the large cycle is gone; the small one inside it remains.
    let nested = graph(&[&[1], &[2], &[1, 3], &[0]]);
    assert_eq!(cyclic_components(&nested, |state| state != 3), [[1, 2]]);
}

#[test]
fn a_single_state_is_cyclic_only_with_an_edge_to_itself() {
    assert_eq!(components(&[&[1], &[1, 2], &[]]), [[1]]);
    assert!(!is_acyclic(&graph(&[&[1], &[1, 2], &[]])));
    assert!(cyclic_components(&graph(&[&[0]]), |_| false).is_empty());
}

#[test]
fn cycles_inside_cycles_are_one_component() {
    // 1 ⇄ 2 inside 0 → 1 → 2 → 3 → 0, with an edge to itself at 3.
    assert_eq!(components(&[&[1], &[2], &[1, 3], &[3, 0]]), [[0, 1, 2, 3]]);
    // Two rings that share state 0, the second closed only after the first was left.
    assert_eq!(components(&[&[1, 3], &[2], &[0], &[4], &[0]]), [[0, 1, 2, 3, 4]]);
}

#[test]
fn a_path_between_components_does_not_join_them() {
    // 4 ⇄ 5 → 3 → 0 → 2 → 1 → 0.
    assert_eq!(components(&[&[2], &[0], &[1], &[0], &[5], &[4, 3]]), [vec![0, 1, 2], vec![4, 5]]);
    // 0 → 4 → 5 → 0 and 4 → 1 → 3 → 2 → 1. The search finds them in another order than it returns
    // them.
    assert_eq!(components(&[&[4], &[3], &[1], &[2], &[5, 1], &[0]]), [[0, 4, 5], [1, 2, 3]]);
}

#[test]
fn a_million_states_in_a_row_do_not_overflow_the_call_stack() {
    const STATES: u32 = 1_000_000;
    let chain = |last: &[u32]| {
        let mut graph = Graph::new();
        (1..STATES).for_each(|next| graph.push_row([next]));
        graph.push_row(last.iter().copied());
        graph
    };
    assert!(is_acyclic(&chain(&[])));
    let ring = chain(&[0]);
    let component: Vec<_> = (0..STATES).collect();
    assert_eq!(cyclic_components(&ring, |_| true), std::slice::from_ref(&component));
    let steps = fair_cycle(&ring, &component, 7, &FairnessTables::default()).unwrap();
    assert_eq!(steps.len(), STATES as usize);
    assert_fair(&ring, &component, 7, &FairnessTables::default(), &steps);
    assert_eq!(cyclic_components(&chain(&[STATES - 3]), |_| true), [[STATES - 3, STATES - 2, STATES - 1]]);
}

// ------------------------------------------------------------ the lasso

#[test]
fn without_obligations_the_shortest_cycle_is_chosen() {
    let graph = graph(&[&[1, 3], &[2, 0], &[0], &[0]]);
    let cycle = |start| fair_cycle(&graph, &[0, 1, 2, 3], start, &FairnessTables::default());
    assert_eq!(cycle(0), Some(vec![(0, 0), (1, 1)]));
    assert_eq!(cycle(2), Some(vec![(2, 0), (0, 0), (1, 0)]));
    assert_eq!(cycle(3), Some(vec![(3, 0), (0, 1)]));
}

#[test]
fn a_state_outside_the_component_begins_no_cycle() {
    let graph = graph(&[&[0], &[2], &[1]]);
    assert_eq!(fair_cycle(&graph, &[1, 2], 0, &FairnessTables::default()), None);
    assert_eq!(fair_cycle(&graph, &[], 0, &FairnessTables::default()), None);
}

#[test]
fn an_obligation_always_due_and_never_met_makes_a_cycle_unfair() {
    let ring = graph(&[&[1], &[0]]);
    assert_eq!(fair_cycle(&ring, &[0, 1], 0, &fairness(&[&[5], &[5]], &[])), None);
    // Obligation 6 is met, but 5 only on the way out of the component.
    let leaving = graph(&[&[1, 2], &[0], &[]]);
    assert_eq!(fair_cycle(&leaving, &[0, 1], 0, &fairness(&[&[5, 6], &[5, 6]], &[(1, 0, 6), (0, 1, 5)])), None);
}

#[test]
fn an_obligation_always_due_and_met_makes_a_cycle_fair() {
    let ring = graph(&[&[1], &[0]]);
    let met = fairness(&[&[5, 6], &[5, 6]], &[(1, 0, 5), (0, 0, 6)]);
    assert_eq!(fair_cycle(&ring, &[0, 1], 0, &met), Some(vec![(0, 0), (1, 0)]));
    assert_eq!(fair_cycle(&graph(&[&[0]]), &[0], 0, &fairness(&[&[5]], &[(0, 0, 5)])), Some(vec![(0, 0)]));
}

#[test]
fn of_parallel_edges_the_one_that_meets_the_obligation_is_taken() {
    let twins = graph(&[&[0, 0]]);
    assert_eq!(fair_cycle(&twins, &[0], 0, &fairness(&[&[5]], &[(0, 1, 5)])), Some(vec![(0, 1)]));
}

#[test]
fn a_short_cycle_is_left_for_a_state_where_nothing_is_due() {
    // 0 ⇄ 1 is the short cycle; 5 is due in both, but not in state 3 of the long way 0 → 2 → 3 → 0.
    let graph = graph(&[&[1, 2], &[0], &[3], &[0]]);
    let relieved = fairness(&[&[5], &[5], &[5], &[]], &[]);
    assert_eq!(fair_cycle(&graph, &[0, 1, 2, 3], 0, &relieved), Some(vec![(0, 1), (2, 0), (3, 0)]));
    assert_eq!(fair_cycle(&graph, &[0, 1, 2, 3], 3, &relieved), Some(vec![(3, 0), (0, 1), (2, 0)]));
    // The short cycle is a component too if the other states are excluded, and then it is unfair.
    assert_eq!(fair_cycle(&graph, &[0, 1], 0, &relieved), None);
}

#[test]
fn an_obligation_met_only_far_away_is_met_there() {
    // A row of states with edges in both directions, too long to try every walk. Only the edge to
    // itself at the far end meets an obligation.
    const LAST: u32 = 99;
    let mut graph = Graph::new();
    graph.push_row([1]);
    (1..LAST).for_each(|state| graph.push_row([state - 1, state + 1]));
    graph.push_row([LAST, LAST - 1]);
    let component: Vec<_> = (0..=LAST).collect();
    let far = FairnessTables { due: vec![vec![5]; LAST as usize + 1], meets: BTreeSet::from([(LAST, 0, 5)]) };
    let steps = fair_cycle(&graph, &component, 0, &far).unwrap();
    assert_fair(&graph, &component, 0, &far, &steps);
    assert_eq!(
        steps.len(),
        2 * LAST as usize + 1,
        "to the far end, once round its edge to itself, and back: {steps:?}"
    );
}

#[test]
fn obligations_settled_in_different_places_are_settled_one_after_the_other() {
    // Four petals around state 0: three settle one obligation each, two by a state and one by an
    // edge; the fourth and shortest, an edge to itself, settles none.
    let flower = graph(&[&[0, 1, 2, 3], &[0], &[0], &[0]]);
    let petals = fairness(&[&[5, 6, 7], &[6, 7], &[5, 7], &[5, 6, 7]], &[(3, 0, 7)]);
    let steps = fair_cycle(&flower, &[0, 1, 2, 3], 0, &petals).unwrap();
    assert_eq!(steps, [(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0)]);
}

// ------------------------------------------------------------ brute force

/// Marsaglia's xorshift, a random generator good enough to draw small graphs.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % bound
    }

    fn has_chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Draws up to nine states and four obligations, sometimes sparse, sometimes dense. Edges may be
/// parallel, or lead to a state that has no row.
fn draw_graph(random: &mut Random) -> (Graph, FairnessTables) {
    let states = 1 + random.below(9);
    let rowless = u64::from(random.has_chance(20));
    let (min_edges, max_extra_edges) = (random.below(2), 1 + random.below(3));
    let obligations = random.below(5);
    let (due_percent, met_percent) = (40 + random.below(61), random.below(30));
    let mut graph = Graph::new();
    let mut fairness = FairnessTables::default();
    for source in 0..states as u32 {
        let edges = (min_edges + random.below(max_extra_edges + 1)) as usize;
        graph.push_row((0..edges).map(|_| random.below(states + rowless) as u32));
        fairness.due.push((0..obligations).filter(|_| random.has_chance(due_percent)).collect());
        let meeting = (0..edges).flat_map(|edge| (0..obligations).map(move |obligation| (source, edge, obligation)));
        fairness.meets.extend(meeting.filter(|_| random.has_chance(met_percent)));
    }
    (graph, fairness)
}

/// For each pair of states in the set, the length of the shortest path of at least one step inside
/// the set.
fn distances(graph: &Graph, inside: impl Fn(u32) -> bool) -> Vec<Vec<Option<usize>>> {
    let states = graph.state_count() as usize;
    let mut distances = vec![vec![None::<usize>; states]; states];
    for source in (0..graph.state_count()).filter(|state| inside(*state)) {
        for target in graph.edges(source).iter().filter(|target| **target < graph.state_count() && inside(**target)) {
            distances[source as usize][*target as usize] = Some(1);
        }
    }
    for middle in 0..states {
        for from in 0..states {
            for to in 0..states {
                if let (Some(first), Some(second)) = (distances[from][middle], distances[middle][to]) {
                    let known = distances[from][to].unwrap_or(usize::MAX);
                    distances[from][to] = Some(known.min(first + second));
                }
            }
        }
    }
    distances
}

fn components_by_force(graph: &Graph, inside: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let distances = distances(graph, inside);
    let joined = |a: u32, b: u32| {
        let (a, b) = (a as usize, b as usize);
        distances[a][b].is_some() && distances[b][a].is_some()
    };
    let component_of =
        |state: u32| -> Vec<u32> { (0..graph.state_count()).filter(|other| joined(state, *other)).collect() };
    (0..graph.state_count())
        .map(|state| (state, component_of(state)))
        .filter(|(state, component)| component.first() == Some(state))
        .map(|(_, component)| component)
        .collect()
}

/// Whether some strongly connected subset of the component, visited with all its edges, meets every
/// obligation that is due in all its states.
fn has_fair_run_by_force(graph: &Graph, component: &[u32], fairness: &FairnessTables) -> bool {
    (1u32..1 << component.len()).any(|chosen| {
        let set: Vec<_> =
            (0..component.len()).filter(|index| chosen >> index & 1 == 1).map(|index| component[index]).collect();
        let distances = distances(graph, |state| set.contains(&state));
        let is_strongly_connected =
            set.iter().all(|a| set.iter().all(|b| distances[*a as usize][*b as usize].is_some()));
        let is_met = |obligation: &u64| {
            fairness.meets.iter().any(|(source, edge, met)| {
                met == obligation && set.contains(source) && set.contains(&graph.edges(*source)[*edge])
            })
        };
        let is_always_due =
            |obligation: &u64| set.iter().all(|state| fairness.due_obligations(*state).contains(obligation));
        // `draw_graph` uses the obligations 0 to 3.
        is_strongly_connected && (0..4).filter(is_always_due).all(|obligation| is_met(&obligation))
    })
}

#[test]
fn brute_force_finds_the_same_components_and_the_same_verdicts() {
    // Kinds of cases: no cycle is fair, the shortest cycle is fair, the fair cycle is longer, and
    // the component has more than four states.
    const UNFAIR: usize = 0;
    const DIRECT: usize = 1;
    const DETOUR: usize = 2;
    const LARGE: usize = 3;
    let mut case_counts = [0; 4];
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let (graph, fairness) = draw_graph(&mut random);
        let excluded = if random.has_chance(50) { 0 } else { random.below(1 << graph.state_count()) };
        let is_included = |state: u32| excluded >> state & 1 == 0;
        let components = cyclic_components(&graph, is_included);
        assert_eq!(components, components_by_force(&graph, is_included), "seed {seed}");
        assert_eq!(is_acyclic(&graph), components_by_force(&graph, |_| true).is_empty(), "seed {seed}");
        for component in components {
            let is_fair = has_fair_run_by_force(&graph, &component, &fairness);
            assert_eq!(
                has_fair_run(&graph, &component, &fairness),
                is_fair,
                "seed {seed}: {component:?}, {fairness:?}"
            );
            let distances = distances(&graph, |state| component.contains(&state));
            for start in &component {
                let Some(steps) = fair_cycle(&graph, &component, *start, &fairness) else {
                    assert!(!is_fair, "seed {seed}: no fair cycle through {start} in {component:?}: {fairness:?}");
                    case_counts[UNFAIR] += 1;
                    continue;
                };
                assert!(is_fair, "seed {seed}: {steps:?} cannot be fair: {fairness:?}");
                assert_fair(&graph, &component, *start, &fairness, &steps);
                let shortest = distances[*start as usize][*start as usize].unwrap();
                // At most one way through the component for each obligation, and one back.
                let longest = component.len() * (fairness.due_obligations(*start).len() + 1);
                assert!((shortest..=longest).contains(&steps.len()), "seed {seed}: {steps:?}");
                assert!(
                    !fairness.due_obligations(*start).is_empty() || steps.len() == shortest,
                    "seed {seed}: {steps:?}"
                );
                case_counts[if steps.len() > shortest { DETOUR } else { DIRECT }] += 1;
            }
            case_counts[LARGE] += usize::from(component.len() > 4);
        }
    }
    // The random graphs must contain enough cases of each kind.
    assert!(case_counts.iter().all(|count| *count > 1_000), "{case_counts:?}");
}
