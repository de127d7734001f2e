//! One turn of each contender with the same asks, and whether their answers are the same.

use super::load::Ask;
use petgraph::algo::{DfsSpace, has_path_connecting};
use petgraph::graph::{DiGraph, NodeIndex};
use quorate_core::deadlock::{Need, WaitForGraph};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::time::Instant;

/// How many of petgraph's searches are made and measured at the most, so many in a row: each looks at the whole graph, if need be.
const SEARCHES: usize = 400;
const IN_A_ROW: usize = 20;

/// What our graph did.
pub(super) struct Ours {
    pub(super) seconds: f64,
    /// Of each ask, whether it was refused.
    pub(super) refused: Vec<bool>,
}

pub(super) fn ours(asks: &[Ask]) -> Ours {
    let mut refused = Vec::with_capacity(asks.len());
    let mut graph = WaitForGraph::new();
    let begin = work();
    for Ask { waiter, on } in asks {
        refused.push(graph.wait(*waiter, Need::All(vec![*on])).is_err());
    }
    Ours { seconds: work() - begin, refused }
}

/// How long our graph takes to say whether an ask would close a cycle, in seconds, from the shortest to the longest.
pub(super) fn answers(asks: &[Ask], refused: &[bool]) -> anyhow::Result<Vec<f64>> {
    let mut graph = WaitForGraph::new();
    let mut times = Vec::with_capacity(asks.len());
    for (Ask { waiter, on }, refused) in asks.iter().zip(refused) {
        let need = Need::All(vec![*on]);
        let begin = Instant::now();
        let closes = graph.would_deadlock(*waiter, &need).is_some();
        times.push(begin.elapsed().as_secs_f64());
        let same = closes == *refused && (closes || graph.wait(*waiter, need).is_ok());
        anyhow::ensure!(same, "Our graph gives two answers to whether {waiter} may wait for {on}.");
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times)
}

/// How long petgraph takes for all of it, in seconds, by what it takes for some: before each ask a fresh search, then the edge. Owners get
/// their nodes by a map, as a service would do it.
pub(super) fn theirs(asks: &[Ask], refused: &[bool]) -> anyhow::Result<f64> {
    let mut graph: DiGraph<u32, ()> = DiGraph::new();
    let mut nodes: HashMap<u32, NodeIndex> = HashMap::new();
    let mut space = DfsSpace::new(&graph);
    let (mut seconds, mut measured) = (0.0, 0_usize);
    let every = asks.len().div_ceil(SEARCHES).max(1);
    for (row, (asks, refused)) in asks.chunks(IN_A_ROW).zip(refused.chunks(IN_A_ROW)).enumerate() {
        let searches = row % every == every / 2;
        let begin = work();
        for (ask, refused) in asks.iter().zip(refused) {
            let mut node = |owner: u32| *nodes.entry(owner).or_insert_with(|| graph.add_node(owner));
            let (waiter, on) = (node(ask.waiter), node(ask.on));
            if searches {
                let closes = has_path_connecting(&graph, on, waiter, Some(&mut space));
                anyhow::ensure!(closes == *refused, disagreement(ask, closes));
            }
            if !refused {
                graph.add_edge(waiter, on, ());
            }
        }
        if searches {
            seconds += work() - begin;
            measured += asks.len();
        }
    }
    Ok(seconds / measured.max(1) as f64 * asks.len() as f64)
}

/// How long the processor has worked for this thread, in seconds. What else runs on the machine does not count.
fn work() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn disagreement(ask: &Ask, closes: bool) -> String {
    let (theirs, ours) = if closes { ("closes a cycle", "closes none") } else { ("closes none", "closes a cycle") };
    let Ask { waiter, on } = ask;
    format!("If {waiter} waits for {on}, that {theirs} by petgraph's search and {ours} by our graph.")
}
