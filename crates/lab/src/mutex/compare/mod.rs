//! Compares mutual-exclusion algorithms: the measured cost of an entry with the expected cost, and
//! the effect of failures.

mod chart;
mod compared;
mod costs;
mod expected;
mod failures;
mod json;
mod problems;
mod table;
#[cfg(test)]
mod tests;
mod traffic;

pub use expected::{
    DelayUnit, Difference, ExpectedCost, Figure, Measured, Variants, select_algorithms, simulate, simulation_spec,
};
pub use traffic::{OfferedLoad, Traffic, TrafficError};

use super::failures::FailureStudy;
use super::{Mutex, MutexEntry};
use crate::compare::{CompareError, CompareRequest, CompareTask, ComparedFamily, reject_duplicates};
use crate::options::{Options, parse_whole};
use clap::Args;
use compared::ComparedAlgorithms;
use costs::CostComparison;
use failures::FailureComparison;

/// Options that only comparisons of mutual exclusion accept.
#[derive(Args)]
pub struct MutexCompareArgs {
    /// Compare all variants of algorithms that have several, such as the three ways in which
    /// central handles a busy lock.
    #[arg(long, display_order = 2)]
    forms: bool,
    /// Number of requests in each run, all nodes together [default: 100]
    #[arg(long, value_parser = parse_whole::<u64>, display_order = 4)]
    entries: Option<u64>,
    /// Workloads to compare, such as single,random:10%,all [default:
    /// single,pair,random:1%,random:10%,random,all (single,random,all with --real)]
    #[arg(long, value_name = "WORKLOADS", value_delimiter = ',', display_order = 5)]
    workload: Vec<Traffic>,
    /// Also run everything with real processes on this machine.
    #[arg(long, display_order = 12)]
    real: bool,
    /// Use mutual TLS between real processes, with certificates created for each run.
    #[arg(long, requires = "real", display_order = 13)]
    tls: bool,
    /// Show the effect of a node failure on the other nodes, instead of the cost of an entry.
    #[arg(
        long,
        conflicts_with_all = ["entries", "workload", "real", "tls", "svg", "theme"],
        display_order = 14
    )]
    failures: bool,
}

impl Options for MutexCompareArgs {
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("failures", self.failures),
            ("real", self.real),
            ("forms", self.forms),
            ("entries", self.entries.is_some()),
            ("workload", !self.workload.is_empty()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// Maximum number of real processes. Each connects to every other one, and all share the cores of
/// one machine.
const MAX_PROCESSES: usize = 64;
/// Default sizes of groups: squares, so that grid quorums are complete.
const DEFAULT_SIZES: [usize; 5] = [4, 9, 16, 25, 49];
/// Default sizes with real processes, which start quickly at these sizes.
const DEFAULT_REAL_SIZES: [usize; 2] = [4, 9];
/// Default workloads with real processes: fewer than simulated, because at low loads a real run
/// takes seconds.
const DEFAULT_REAL_TRAFFICS: [Traffic; 3] = [Traffic::Single, Traffic::Random(OfferedLoad::DEFAULT), Traffic::All];
const DEFAULT_ENTRIES: u64 = 100;
/// Default size of groups in failure studies: large enough that during most of a run one node holds
/// the lock, some wait and some are idle.
const DEFAULT_FAILURE_SIZE: usize = 5;
/// Minimum size of groups in failure studies: a holder, a waiter and an idle node.
const MIN_FAILURE_SIZE: usize = 3;

impl ComparedFamily for Mutex {
    type CompareArgs = MutexCompareArgs;
    const NOT_APPLICABLE: &'static str = "to mutual exclusion";

    fn compare<T: CompareTask>(
        request: &CompareRequest<'_, Self::CompareArgs>,
        task: T,
    ) -> Result<T::Output, CompareError> {
        Ok(if request.family_args.failures {
            task.perform(request.failures()?)
        } else {
            task.perform(request.costs()?)
        })
    }
}

impl CompareRequest<'_, MutexCompareArgs> {
    /// Plans the comparison of costs.
    fn costs(&self) -> Result<CostComparison, CompareError> {
        let MutexCompareArgs { entries, real, tls, .. } = *self.family_args;
        let entries = entries.unwrap_or(DEFAULT_ENTRIES);
        if entries == 0 {
            return CompareError::invalid_option("--entries must be at least 1; got 0. Use for example --entries 100.");
        }
        let traffics = self.workloads()?;
        let sizes = self.sizes_or(if real { &DEFAULT_REAL_SIZES } else { &DEFAULT_SIZES });
        let ComparedAlgorithms { algorithms, unsupported_sizes } = self.algorithms_for_sizes(&sizes)?;
        let largest = sizes.iter().copied().max().unwrap_or_default();
        if real && largest > MAX_PROCESSES {
            return CompareError::invalid_option(format!(
                "--nodes must be at most {MAX_PROCESSES} with --real, which starts a process per node; got {largest}. Without --real, \
                 larger groups are simulated."
            ));
        }
        let process_links = real.then_some(costs::ProcessLinks { is_tls: tls });
        let seed = self.seed;
        let rows = Vec::new();
        Ok(CostComparison { algorithms, sizes, traffics, unsupported_sizes, entries, seed, process_links, rows })
    }

    /// Plans the failure studies.
    fn failures(&self) -> Result<FailureComparison, CompareError> {
        let smallest = self.sizes.and_then(|sizes| sizes.iter().min()).copied().unwrap_or(DEFAULT_FAILURE_SIZE);
        if smallest < MIN_FAILURE_SIZE {
            return CompareError::invalid_option(format!(
                "--nodes must be at least {MIN_FAILURE_SIZE} with --failures, for a holder, a waiter and an idle node; got {smallest}."
            ));
        }
        let ComparedAlgorithms { algorithms, unsupported_sizes } = match self.sizes {
            Some(sizes) => self.algorithms_for_sizes(sizes)?,
            // An algorithm that does not support the default size supports a slightly larger one.
            // The upper limit only ends the search.
            None => ComparedAlgorithms { algorithms: self.selected_algorithms()?, unsupported_sizes: Vec::new() },
        };
        let mut studies = Vec::new();
        for entry in algorithms {
            let is_supported = |nodes: &usize| (entry.facts.check_group_size)(*nodes).is_ok();
            let sizes: Vec<_> = match self.sizes {
                Some(sizes) => sizes.iter().copied().filter(is_supported).collect(),
                None => (DEFAULT_FAILURE_SIZE..=MAX_PROCESSES).find(is_supported).into_iter().collect(),
            };
            studies.extend(
                sizes.into_iter().map(|nodes| FailureStudy { seed: self.seed, ..FailureStudy::new(entry, nodes) }),
            );
        }
        Ok(FailureComparison { studies, unsupported_sizes, seed: self.seed, rows: Vec::new() })
    }

    /// Returns the algorithms that the options select.
    fn selected_algorithms(&self) -> Result<Vec<&'static MutexEntry>, CompareError> {
        let variants = if self.family_args.forms { Variants::All } else { Variants::Default };
        Ok(select_algorithms(self.algorithms, variants)?)
    }

    fn algorithms_for_sizes(&self, sizes: &[usize]) -> Result<ComparedAlgorithms, CompareError> {
        ComparedAlgorithms::new(self.selected_algorithms()?, sizes, self.algorithms)
    }

    fn workloads(&self) -> Result<Vec<Traffic>, CompareError> {
        let names: Vec<_> = self.family_args.workload.iter().map(ToString::to_string).collect();
        reject_duplicates("--workload", &names)?;
        Ok(match &self.family_args.workload[..] {
            [] if self.family_args.real => DEFAULT_REAL_TRAFFICS.to_vec(),
            [] => Traffic::DEFAULTS.to_vec(),
            given => given.to_vec(),
        })
    }
}
