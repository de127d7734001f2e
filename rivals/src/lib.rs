//! Other model checkers on the models that Quorate checks, so that their speeds can be compared in one run; and another
//! log on the disk, for the same.
//!
//! The product does not depend on this crate. A rival's model is written for that rival, since a comparison with
//! a slow model says nothing: one as its users write theirs, without waste, and two as lean as they can be made.

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

/// How Ricart–Agrawala is modelled. All models have the same states and the same steps between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// By Quorate's own nodes as actors, which is how stateright's users write protocols.
    Actors,
    /// By Quorate's own nodes in a model tuned by hand.
    Nodes,
    /// By hand, in few bytes and for stateright alone.
    Packed,
}

/// Which of stateright's searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Breadth first.
    Bfs,
    /// Depth first.
    Dfs,
}

/// One run of stateright on Ricart–Agrawala.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub variant: Variant,
    pub search: Search,
    pub threads: usize,
    pub nodes: u8,
    pub rounds: u8,
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub states: usize,
    /// The states that the search came to, counted as often as it came to them.
    pub generated: usize,
    /// How long the search took, without the making of its model and without the freeing of its memory.
    pub seconds: f64,
    /// How far the peak of this process's memory rose, for each distinct state. Only Linux tells.
    pub bytes_per_state: Option<f64>,
}

/// Why there is no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    #[error("{0} nodes cannot be checked; write a number from 2 to 5.")]
    Nodes(u8),
    /// A clock of the packed model is one byte. An ask may advance the largest by one, and so may each of its arrivals: with five nodes
    /// that is 25 a round, 250 in all.
    #[error("{0} rounds cannot be checked; write a number from 1 to 10.")]
    Rounds(u8),
    #[error("A search needs at least one thread.")]
    Threads,
    #[error("The search ended early with '{0}' broken: the model is wrong, and its figures mean nothing.")]
    Broken(&'static str),
}

/// Searches the whole space once.
pub fn check(job: Job) -> Result<Outcome, Trouble> {
    if !(1..=10).contains(&job.rounds) {
        return Err(Trouble::Rounds(job.rounds));
    }
    if job.threads == 0 {
        return Err(Trouble::Threads);
    }
    match job.nodes {
        2 => search::<2>(job),
        3 => search::<3>(job),
        4 => search::<4>(job),
        5 => search::<5>(job),
        nodes => Err(Trouble::Nodes(nodes)),
    }
}

fn search<const NODES: usize>(job: Job) -> Result<Outcome, Trouble> {
    match job.variant {
        Variant::Actors => explore(actors::ricart_agrawala(NODES, job.rounds), job),
        Variant::Nodes => explore(nodes::RicartAgrawala::<NODES>::new(job.rounds), job),
        Variant::Packed => explore(packed::RicartAgrawala::<NODES>::new(job.rounds), job),
    }
}

fn explore<M>(model: M, job: Job) -> Result<Outcome, Trouble>
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

fn measure<M, C>(builder: CheckerBuilder<M>, spawn: impl FnOnce(CheckerBuilder<M>) -> C) -> Result<Outcome, Trouble>
where
    M: Model,
    M::State: Clone + Hash + PartialEq,
    M::Action: Clone + PartialEq,
    C: Checker<M>,
{
    let before = peak_memory();
    let begin = Instant::now();
    let checker = spawn(builder).join();
    let seconds = begin.elapsed().as_secs_f64();
    let after = peak_memory();
    if let Some(property) = checker.discoveries().into_keys().next() {
        return Err(Trouble::Broken(property));
    }
    let states = checker.unique_state_count();
    let bytes_per_state = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64 / states as f64);
    Ok(Outcome { states, generated: checker.state_count(), seconds, bytes_per_state })
}

#[cfg(test)]
mod tests {
    use super::{Job, Search, Trouble, Variant, check};

    const JOB: Job = Job { variant: Variant::Nodes, search: Search::Dfs, threads: 1, nodes: 3, rounds: 1 };

    fn counts(job: Job) -> (usize, usize) {
        let outcome = check(job).unwrap();
        (outcome.states, outcome.generated)
    }

    /// The counts that every checker of these models must reproduce; independent ones agree on them.
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
    fn a_job_that_cannot_be_done_is_refused() {
        let refused = |job| check(job).err();
        assert_eq!(refused(Job { nodes: 1, ..JOB }), Some(Trouble::Nodes(1)));
        assert_eq!(refused(Job { nodes: 6, ..JOB }), Some(Trouble::Nodes(6)));
        assert_eq!(refused(Job { rounds: 0, ..JOB }), Some(Trouble::Rounds(0)));
        assert_eq!(refused(Job { rounds: 11, ..JOB }), Some(Trouble::Rounds(11)));
        assert_eq!(refused(Job { threads: 0, ..JOB }), Some(Trouble::Threads));
    }
}
