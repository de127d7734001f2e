//! Tests of cycles, knots, and agents that are stuck behind them.

use super::{Deadlock, Graph, Shape};
use crate::deadlock::Need;
use std::vec;
use std::vec::Vec;

fn graph(waits: &[(u32, Need<u32>)]) -> Graph<u32> {
    let mut graph = Graph::new();
    for (agent, need) in waits {
        graph.wait(*agent, need.clone());
    }
    graph
}

fn all(on: &[u32]) -> Need<u32> {
    Need::All(on.to_vec())
}

fn any(on: &[u32]) -> Need<u32> {
    Need::Any(on.to_vec())
}

fn stuck(graph: &Graph<u32>) -> Vec<u32> {
    graph.stuck().into_iter().collect()
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
fn a_cycle_of_any_needs_alone_is_no_deadlock() {
    let graph = graph(&[(1, any(&[2, 4])), (2, all(&[3])), (3, all(&[1]))]);
    assert_eq!(stuck(&graph), [], "4 runs and answers 1, and 1 the others");
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
    mixed.stop(&3);
    assert_eq!(stuck(&mixed), []);
    mixed.wait(4, all(&[1]));
    assert_eq!(stuck(&mixed), [1, 2, 4]);
}

#[test]
fn an_agent_that_waits_for_itself_is_stuck() {
    let graph = graph(&[(1, all(&[1]))]);
    assert_eq!(graph.deadlocks(), [Deadlock { shape: Shape::Cycle, waits: vec![(1, all(&[1]))] }]);
}

#[test]
fn two_deadlocks_are_distinguished() {
    let first_members =
        |graph: &Graph<u32>| graph.deadlocks().iter().map(|deadlock| deadlock.waits[0].0).collect::<Vec<_>>();
    let apart = graph(&[(1, all(&[2])), (2, all(&[1])), (3, all(&[4, 1])), (4, all(&[3]))]);
    assert_eq!(first_members(&apart), [1, 3], "3 has two reasons; 4 counts, which it names first");
    let behind = graph(&[(1, all(&[2])), (2, all(&[1])), (3, all(&[1, 4])), (4, all(&[3]))]);
    assert_eq!(first_members(&behind), [1], "1 counts, and 4 waits behind 3");
    assert!(
        behind.deadlock_of(&3).is_some_and(|deadlock| deadlock.waits.len() == 2),
        "`deadlock_of` 3 finds the other"
    );
}

#[test]
fn a_chain_of_a_hundred_thousand_does_not_overflow() {
    let mut graph = Graph::new();
    for agent in 0..100_000_u32 {
        graph.wait(agent, Need::All(vec![agent + 1]));
    }
    assert_eq!(graph.stuck().len(), 0);
    graph.wait(100_000, Need::All(vec![0]));
    assert_eq!(graph.deadlocks()[0].waits.len(), 100_001);
}
