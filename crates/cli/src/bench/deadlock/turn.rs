//! One turn of each contender with the same asks, and whether their answers are the same.

use super::load::Ask;
use petgraph::algo::{DfsSpace, has_path_connecting};
use petgraph::graph::{DiGraph, NodeIndex};
use quorate_core::deadlock::{Need, WaitForGraph};
use std::time::Instant;

/// How many of its searches are made and measured at the most: each looks at the whole graph, if need be.
const SEARCHES: usize = 300;

/// What our graph did.
pub(super) struct Ours {
    pub(super) seconds: f64,
    /// Of each ask, whether it was refused.
    pub(super) refused: Vec<bool>,
}

/// Asks our graph for all of it.
pub(super) fn ours(asks: &[Ask]) -> Ours {
    let mut refused = Vec::with_capacity(asks.len());
    let mut graph = WaitForGraph::new();
    let begin = Instant::now();
    for Ask { waiter, on } in asks {
        refused.push(graph.wait(*waiter, Need::All(vec![*on])).is_err());
    }
    Ours { seconds: begin.elapsed().as_secs_f64(), refused }
}

/// How long our graph takes to say whether an ask would close a cycle, in seconds, from the shortest to the longest.
pub(super) fn answers(asks: &[Ask]) -> Vec<f64> {
    let mut graph = WaitForGraph::new();
    let mut times = Vec::with_capacity(asks.len());
    for Ask { waiter, on } in asks {
        let need = Need::All(vec![*on]);
        let begin = Instant::now();
        let closes = graph.would_deadlock(*waiter, &need).is_some();
        times.push(begin.elapsed().as_secs_f64());
        if !closes && graph.wait(*waiter, need).is_err() {
            times.clear();
            break;
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    times
}

/// How long petgraph takes for all of it, in seconds, by what it takes for some: before each ask a fresh search, then the edge.
pub(super) fn theirs(asks: &[Ask], refused: &[bool]) -> anyhow::Result<f64> {
    let owners = asks.iter().map(|ask| ask.waiter.max(ask.on)).max().unwrap_or(0) + 1;
    let node = |owner: u32| NodeIndex::new(owner as usize);
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(owners as usize, asks.len());
    (0..owners).for_each(|_| drop(graph.add_node(())));
    let mut space = DfsSpace::new(&graph);
    let every = asks.len().div_ceil(SEARCHES).max(1);
    let (mut seconds, mut searches) = (0.0, 0_usize);
    let begin = Instant::now();
    for (place, (Ask { waiter, on }, refused)) in asks.iter().zip(refused).enumerate() {
        if place % every == every - 1 {
            let begin = Instant::now();
            let closes = has_path_connecting(&graph, node(*on), node(*waiter), Some(&mut space));
            seconds += begin.elapsed().as_secs_f64();
            searches += 1;
            let says = |closes: bool| if closes { "closes a cycle" } else { "closes none" };
            anyhow::ensure!(
                closes == *refused,
                "The two disagree on whether {waiter} may wait for {on}: petgraph says it {}, our graph that it {}.",
                says(closes),
                says(*refused)
            );
        }
        if !refused {
            graph.add_edge(node(*waiter), node(*on), ());
        }
    }
    let insertions = begin.elapsed().as_secs_f64() - seconds;
    Ok(insertions + seconds / searches.max(1) as f64 * asks.len() as f64)
}
