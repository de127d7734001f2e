//! Runs the model checker stateright on the models that Quorate checks, and the log raft-engine
//! beside Quorate's store on one disk, so that their speeds can be compared with Quorate's.
//!
//! The product does not depend on this crate. The models are written for stateright: one in the
//! usual form of its models, and two that are as fast as possible, because a comparison with a slow
//! model is worthless.

pub mod actors;
#[cfg(feature = "logs")]
pub mod logs;
mod memory;
pub mod nodes;
pub mod packed;

use memory::peak_memory;
use serde::Serialize;
use stateright::{Checker, CheckerBuilder, Model};
use std::hash::Hash;
use std::time::Instant;
use thiserror::Error;

/// How Ricart–Agrawala is modelled. All models have the same states and the same steps between
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Quorate's own nodes as actors, the usual form of stateright models.
    Actors,
    /// Quorate's own nodes in a hand-tuned model.
    Nodes,
    /// A compact model written for stateright alone.
    Packed,
}

/// The search of stateright to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Breadth first.
    Bfs,
    /// Depth first.
    Dfs,
}

/// One run of stateright on Ricart–Agrawala, in which each node enters `rounds` times.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub variant: Variant,
    pub search: Search,
    pub threads: usize,
    pub nodes: u8,
    pub rounds: u8,
}

#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub states: usize,
    /// Number of generated states, with repetitions.
    pub generated: usize,
    /// Time of the search, without building the model and freeing its memory.
    pub seconds: f64,
    /// Growth of this process's peak memory per distinct state; `None` except on Linux.
    pub bytes_per_state: Option<f64>,
}

/// Why a run has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    #[error("--nodes must be between 2 and 5; got {0}")]
    Nodes(u8),
    /// A clock of the packed model is one byte. A request may advance the highest clock by one, and
    /// so may each of its deliveries: with five nodes that is 25 per round, 250 in ten rounds.
    #[error("--rounds must be between 1 and 10; got {0}")]
    Rounds(u8),
    #[error("--threads must be at least 1; got 0")]
    Threads,
    #[error(
        "the search ended early because property '{0}' is violated: the model is wrong, and the figures are invalid"
    )]
    Violated(&'static str),
}

/// Searches the whole state space once.
pub fn check(job: Job) -> Result<Outcome, CheckError> {
    if !(1..=10).contains(&job.rounds) {
        return Err(CheckError::Rounds(job.rounds));
    }
    if job.threads == 0 {
        return Err(CheckError::Threads);
    }
    match job.nodes {
        2 => search::<2>(job),
        3 => search::<3>(job),
        4 => search::<4>(job),
        5 => search::<5>(job),
        nodes => Err(CheckError::Nodes(nodes)),
    }
}

fn search<const NODES: usize>(job: Job) -> Result<Outcome, CheckError> {
    match job.variant {
        Variant::Actors => explore(actors::ricart_agrawala(NODES, job.rounds), job),
        Variant::Nodes => explore(nodes::RicartAgrawala::<NODES>::new(job.rounds), job),
        Variant::Packed => explore(packed::RicartAgrawala::<NODES>::new(job.rounds), job),
    }
}

fn explore<M>(model: M, job: Job) -> Result<Outcome, CheckError>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + PartialEq,
{
    let builder = model.checker().threads(job.threads);
    match job.search {
        Search::Bfs => measure(builder, |builder| builder.spawn_bfs()),
        Search::Dfs => measure(builder, |builder| builder.spawn_dfs()),
    }
}

fn measure<M, C>(builder: CheckerBuilder<M>, spawn: impl FnOnce(CheckerBuilder<M>) -> C) -> Result<Outcome, CheckError>
where
    M: Model,
    M::State: Clone + Hash + PartialEq,
    M::Action: Clone + PartialEq,
    C: Checker<M>,
{
    let before = peak_memory();
    let started = Instant::now();
    let checker = spawn(builder).join();
    let seconds = started.elapsed().as_secs_f64();
    let after = peak_memory();
    if let Some(property) = checker.discoveries().into_keys().next() {
        return Err(CheckError::Violated(property));
    }
    let states = checker.unique_state_count();
    let bytes_per_state = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64 / states as f64);
    Ok(Outcome { states, generated: checker.state_count(), seconds, bytes_per_state })
}

#[cfg(test)]
mod tests {
    use super::{CheckError, Job, Search, Variant, check};

    const JOB: Job = Job { variant: Variant::Nodes, search: Search::Dfs, threads: 1, nodes: 3, rounds: 1 };

    fn counts(job: Job) -> (usize, usize) {
        let outcome = check(job).unwrap();
        (outcome.states, outcome.generated)
    }

    /// The counts that every checker of these models must reproduce. Independent checkers agree on
    /// them.
    #[test]
    fn one_round_of_three_nodes_has_the_known_counts() {
        for variant in [Variant::Actors, Variant::Nodes, Variant::Packed] {
            for (search, threads) in [(Search::Dfs, 1), (Search::Bfs, 1), (Search::Dfs, 2), (Search::Bfs, 2)] {
                let job = Job { variant, search, threads, ..JOB };
                assert_eq!(counts(job), (6_445, 18_260), "{job:?}");
            }
        }
    }

    #[test]
    fn all_models_have_the_same_counts_beyond_one_round_and_three_nodes() {
        for (nodes, rounds) in [(2, 1), (2, 10)] {
            let job = Job { nodes, rounds, ..JOB };
            for variant in [Variant::Actors, Variant::Packed] {
                assert_eq!(counts(job), counts(Job { variant, ..job }), "{variant:?} {job:?}");
            }
        }
    }

    #[test]
    fn an_invalid_job_is_refused() {
        let refused = |job| check(job).err();
        assert_eq!(refused(Job { nodes: 1, ..JOB }), Some(CheckError::Nodes(1)));
        assert_eq!(refused(Job { nodes: 6, ..JOB }), Some(CheckError::Nodes(6)));
        assert_eq!(refused(Job { rounds: 0, ..JOB }), Some(CheckError::Rounds(0)));
        assert_eq!(refused(Job { rounds: 11, ..JOB }), Some(CheckError::Rounds(11)));
        assert_eq!(refused(Job { threads: 0, ..JOB }), Some(CheckError::Threads));
    }
}
