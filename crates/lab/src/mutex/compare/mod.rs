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

pub use expected::{Delays, Difference, ExpectedCost, Figure, Forms, Measured, contenders, simulate, simulation};
pub use traffic::{OfferedLoad, Traffic, TrafficError};

use super::failures::FailureStudy;
use super::{Mutex, MutexEntry};
use crate::compare::{CompareError, CompareRequest, CompareTask, ComparedFamily, reject_duplicates};
use crate::options::{Options, parse_whole};
use clap::Args;
use compared::ComparedAlgorithms;
use costs::Costs;
use failures::Failures;

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
    /// single,pair,random:1%,random:10%,random,all (with --real single,random,all)]
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
    fn given(&self) -> Option<&'static str> {
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
const REAL_SIZES: [usize; 2] = [4, 9];
/// Default workloads with real processes. Lower loads are left out: the think times of real clients
/// would be minutes.
const REAL_TRAFFICS: [Traffic; 3] = [Traffic::Single, Traffic::Random(OfferedLoad::DEFAULT), Traffic::All];
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
    fn costs(&self) -> Result<Costs, CompareError> {
        let MutexCompareArgs { entries, real, tls, .. } = *self.family_args;
        let entries = entries.unwrap_or(DEFAULT_ENTRIES);
        if entries == 0 {
            return CompareError::refused("--entries must be at least 1; got 0. Use for example --entries 100.");
        }
        let traffics = self.workloads()?;
        let sizes = self.sizes_or(if real { &REAL_SIZES } else { &DEFAULT_SIZES });
        let ComparedAlgorithms { contenders, left_out } = self.supported(&sizes)?;
        let largest = sizes.iter().copied().max().unwrap_or_default();
        if real && largest > MAX_PROCESSES {
            return CompareError::refused(format!(
                "--nodes must be at most {MAX_PROCESSES} with --real, which starts a process per node; got {largest}. Without --real, \
                 larger groups are simulated."
            ));
        }
        let real = real.then_some(costs::Links { tls });
        let seed = self.seed;
        Ok(Costs { contenders, sizes, traffics, left_out, entries, seed, real, rows: Vec::new() })
    }

    /// Plans the failure studies.
    fn failures(&self) -> Result<Failures, CompareError> {
        let smallest = self.sizes.and_then(|sizes| sizes.iter().min()).copied().unwrap_or(DEFAULT_FAILURE_SIZE);
        if smallest < MIN_FAILURE_SIZE {
            return CompareError::refused(format!(
                "--nodes must be at least {MIN_FAILURE_SIZE} with --failures, for a holder, a waiter and an idle node; got {smallest}."
            ));
        }
        let ComparedAlgorithms { contenders, left_out } = match self.sizes {
            Some(sizes) => self.supported(sizes)?,
            // An algorithm that does not support the default size supports a slightly larger one.
            None => ComparedAlgorithms { contenders: self.selected()?, left_out: Vec::new() },
        };
        let mut studies = Vec::new();
        for entry in contenders {
            let fits = |nodes: &usize| (entry.facts.fits)(*nodes).is_ok();
            let sizes: Vec<_> = match self.sizes {
                Some(sizes) => sizes.iter().copied().filter(fits).collect(),
                None => (DEFAULT_FAILURE_SIZE..=MAX_PROCESSES).find(fits).into_iter().collect(),
            };
            studies.extend(
                sizes.into_iter().map(|nodes| FailureStudy { seed: self.seed, ..FailureStudy::new(entry, nodes) }),
            );
        }
        Ok(Failures { studies, left_out, seed: self.seed, rows: Vec::new() })
    }

    /// Returns the algorithms that the options select.
    fn selected(&self) -> Result<Vec<&'static MutexEntry>, CompareError> {
        let forms = if self.family_args.forms { Forms::All } else { Forms::Default };
        Ok(contenders(self.algorithms, forms)?)
    }

    fn supported(&self, sizes: &[usize]) -> Result<ComparedAlgorithms, CompareError> {
        ComparedAlgorithms::new(self.selected()?, sizes, self.algorithms)
    }

    fn workloads(&self) -> Result<Vec<Traffic>, CompareError> {
        let names: Vec<_> = self.family_args.workload.iter().map(ToString::to_string).collect();
        reject_duplicates("--workload", &names)?;
        Ok(match &self.family_args.workload[..] {
            [] if self.family_args.real => REAL_TRAFFICS.to_vec(),
            [] => Traffic::ALL.to_vec(),
            given => given.to_vec(),
        })
    }
}
