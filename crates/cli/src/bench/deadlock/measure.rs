//! Measures our wait-for graph and one of petgraph with the same waits, and compares their answers.

use super::load::Wait;
use petgraph::algo::{DfsSpace, has_path_connecting};
use petgraph::graph::{DiGraph, NodeIndex};
use quorate_core::deadlock::{Need, WaitForGraph};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::time::Instant;

/// Approximate number of petgraph searches to run, in chunks of [`CHUNK_WAITS`]. Each search may
/// visit the whole graph, so a search for every wait would take too long.
const SEARCHES: usize = 400;
/// Number of consecutive waits that are timed together.
const CHUNK_WAITS: usize = 20;

/// Result of inserting all waits into our graph.
pub(super) struct Insertions {
    pub(super) seconds: f64,
    /// For each wait, whether the graph refused it.
    pub(super) refused: Vec<bool>,
}

pub(super) fn measure_insertions(waits: &[Wait]) -> Insertions {
    let mut refused = Vec::with_capacity(waits.len());
    let mut graph = WaitForGraph::new();
    let started = cpu_seconds();
    for Wait { waiter, on } in waits {
        refused.push(graph.wait(*waiter, Need::All(vec![*on])).is_err());
    }
    Insertions { seconds: cpu_seconds() - started, refused }
}

/// Returns how many seconds our graph takes to answer whether a wait would close a cycle: one time
/// per wait, sorted. Fails if an answer contradicts `refused`.
pub(super) fn measure_answer_seconds(waits: &[Wait], refused: &[bool]) -> anyhow::Result<Vec<f64>> {
    let mut graph = WaitForGraph::new();
    let mut answer_seconds = Vec::with_capacity(waits.len());
    for (Wait { waiter, on }, refused) in waits.iter().zip(refused) {
        let need = Need::All(vec![*on]);
        let started = Instant::now();
        let closes_cycle = graph.would_deadlock(*waiter, &need).is_some();
        answer_seconds.push(started.elapsed().as_secs_f64());
        let is_consistent = closes_cycle == *refused && (closes_cycle || graph.wait(*waiter, need).is_ok());
        anyhow::ensure!(is_consistent, "the graph gave two different answers to whether {waiter} may wait for {on}.");
    }
    answer_seconds.sort_unstable_by(f64::total_cmp);
    Ok(answer_seconds)
}

/// Returns the estimated time in seconds that petgraph needs for all waits: before each wait a
/// fresh search, then the insertion of the edge. A sample of the waits is measured. A map from
/// owners of locks to graph nodes is part of the cost, as in a real service. Fails if an answer
/// contradicts `refused`.
pub(super) fn estimate_petgraph_seconds(waits: &[Wait], refused: &[bool]) -> anyhow::Result<f64> {
    let mut graph: DiGraph<u32, ()> = DiGraph::new();
    let mut nodes: HashMap<u32, NodeIndex> = HashMap::new();
    let mut space = DfsSpace::new(&graph);
    let (mut seconds, mut measured_waits) = (0.0, 0_usize);
    // Of this number of consecutive chunks, the middle one is measured.
    let chunk_interval = waits.len().div_ceil(SEARCHES).max(1);
    let chunks = waits.chunks(CHUNK_WAITS).zip(refused.chunks(CHUNK_WAITS));
    for (chunk_index, (chunk, refused_in_chunk)) in chunks.enumerate() {
        let is_measured = chunk_index % chunk_interval == chunk_interval / 2;
        let started = cpu_seconds();
        for (wait, refused) in chunk.iter().zip(refused_in_chunk) {
            let mut node = |owner: u32| *nodes.entry(owner).or_insert_with(|| graph.add_node(owner));
            let (waiter, on) = (node(wait.waiter), node(wait.on));
            if is_measured {
                let closes_cycle = has_path_connecting(&graph, on, waiter, Some(&mut space));
                anyhow::ensure!(closes_cycle == *refused, describe_disagreement(wait, closes_cycle));
            }
            if !refused {
                graph.add_edge(waiter, on, ());
            }
        }
        if is_measured {
            seconds += cpu_seconds() - started;
            measured_waits += chunk.len();
        }
    }
    Ok(seconds / measured_waits.max(1) as f64 * waits.len() as f64)
}

/// Returns the CPU time of this thread in seconds, so that other load on the machine does not
/// count.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn describe_disagreement(wait: &Wait, closes_for_petgraph: bool) -> String {
    let (theirs, ours) = if closes_for_petgraph { ("closes a cycle", "does not") } else { ("closes no cycle", "does") };
    let Wait { waiter, on } = wait;
    format!("the wait of {waiter} for {on} {theirs} according to petgraph; according to our graph it {ours}.")
}
