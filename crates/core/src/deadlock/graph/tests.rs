//! Tests of cycles, knots, and agents that wait for them.

use super::{Deadlock, Graph, Shape};
use crate::deadlock::Need;
use std::vec;
use std::vec::Vec;

fn graph(waits: &[(u32, Need<u32>)]) -> Graph<u32> {
    let mut graph = Graph::new();
    for (agent, need) in waits {
        graph.add_need(*agent, need.clone());
    }
    graph
}

fn all(awaited: &[u32]) -> Need<u32> {
    Need::All(awaited.to_vec())
}

fn any(awaited: &[u32]) -> Need<u32> {
    Need::Any(awaited.to_vec())
}

fn stuck(graph: &Graph<u32>) -> Vec<u32> {
    graph.stuck_agents().into_iter().collect()
}

#[test]
fn a_chain_to_a_running_agent_is_no_deadlock() {
    let graph = graph(&[(1, all(&[2])), (2, all(&[3]))]);
    assert_eq!(stuck(&graph), []);
    assert_eq!(graph.deadlocks(), []);
}

#[test]
fn a_cycle_is_a_deadlock_and_the_agents_behind_it_are_stuck() {
    let graph = graph(&[(1, all(&[2])), (2, all(&[3, 4])), (3, all(&[1])), (5, all(&[1])), (6, all(&[7]))]);
    assert_eq!(stuck(&graph), [1, 2, 3, 5]);
    let waits = vec![(1, all(&[2])), (2, all(&[3])), (3, all(&[1]))];
    assert_eq!(graph.deadlocks(), [Deadlock { shape: Shape::Cycle, waits: waits.clone() }]);
    assert_eq!(graph.deadlock_of(&1).map(|deadlock| deadlock.waits), Some(waits));
    assert_eq!(graph.deadlock_of(&5), None);
}

#[test]
fn a_cycle_through_an_agent_with_an_alternative_is_no_deadlock() {
    let graph = graph(&[(1, any(&[2, 4])), (2, all(&[3])), (3, all(&[1]))]);
    assert_eq!(stuck(&graph), [], "4 runs and releases, so 1 continues, then 3, then 2");
}

#[test]
fn a_knot_is_a_deadlock() {
    let graph = graph(&[(1, any(&[2, 3])), (2, any(&[1, 3])), (3, any(&[2])), (4, any(&[1, 5])), (6, any(&[1, 2]))]);
    assert_eq!(stuck(&graph), [1, 2, 3, 6], "5 runs, so 4 is not stuck");
    let deadlocks = graph.deadlocks();
    let members: Vec<_> =
        deadlocks.iter().map(|deadlock| deadlock.waits.iter().map(|(agent, _)| *agent).collect::<Vec<_>>()).collect();
    assert_eq!((deadlocks[0].shape, members), (Shape::Knot, vec![vec![1, 2, 3]]));
}

#[test]
fn an_agent_may_have_all_and_any_needs_together() {
    let mut mixed = graph(&[(1, any(&[2, 3])), (1, all(&[4])), (2, all(&[1])), (3, all(&[1]))]);
    assert_eq!(stuck(&mixed), [1, 2, 3], "4 runs, but neither 2 nor 3 releases before 1 does");
    mixed.remove_needs(&3);
    assert_eq!(stuck(&mixed), []);
    mixed.add_need(4, all(&[1]));
    assert_eq!(stuck(&mixed), [1, 2, 4]);
}

#[test]
fn an_agent_that_waits_for_itself_is_stuck() {
    let graph = graph(&[(1, all(&[1]))]);
    assert_eq!(graph.deadlocks(), [Deadlock { shape: Shape::Cycle, waits: vec![(1, all(&[1]))] }]);
}

#[test]
fn of_two_reasons_to_be_stuck_the_one_that_the_agent_names_first_counts() {
    let first_members =
        |graph: &Graph<u32>| graph.deadlocks().iter().map(|deadlock| deadlock.waits[0].0).collect::<Vec<_>>();
    let with_cycle_first = graph(&[(1, all(&[2])), (2, all(&[1])), (3, all(&[4, 1])), (4, all(&[3]))]);
    assert_eq!(
        first_members(&with_cycle_first),
        [1, 3],
        "3 is stuck because of 4 and of 1; 4 counts, because 3 names it first"
    );
    let with_cycle_last = graph(&[(1, all(&[2])), (2, all(&[1])), (3, all(&[1, 4])), (4, all(&[3]))]);
    assert_eq!(first_members(&with_cycle_last), [1], "now 1 counts, and the cycle of 3 and 4 is omitted");
    assert!(
        with_cycle_last.deadlock_of(&3).is_some_and(|deadlock| deadlock.waits.len() == 2),
        "`deadlock_of` finds the cycle of 3 and 4"
    );
}

#[test]
fn a_chain_of_a_hundred_thousand_does_not_overflow_the_stack() {
    let mut graph = Graph::new();
    for agent in 0..100_000_u32 {
        graph.add_need(agent, Need::All(vec![agent + 1]));
    }
    assert_eq!(graph.stuck_agents().len(), 0);
    graph.add_need(100_000, Need::All(vec![0]));
    assert_eq!(graph.deadlocks()[0].waits.len(), 100_001);
}
