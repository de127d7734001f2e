//! Algorithms of mutual exclusion side by side: what an entry costs, beside the book, and what failures do.

mod book;
mod chart;
mod complaints;
mod costs;
mod failures;
mod field;
mod json;
mod table;
#[cfg(test)]
mod tests;
mod traffic;

pub use book::{Book, Delays, Difference, Figure, Forms, Measured, contenders, simulate, simulation};
pub use traffic::{OfferedLoad, Traffic, TrafficError};

use super::failures::Inquiry;
use super::{Mutex, MutexEntry};
use crate::compare::{Asked, CompareError, CompareTask, ComparedFamily, once};
use crate::options::{Options, whole};
use clap::Args;
use costs::Costs;
use failures::Failures;
use field::Field;

/// Options that only comparisons of mutual exclusion understand.
#[derive(Args)]
pub struct MutexCompareArgs {
    /// Compare all forms of algorithms that have several, such as central's three ways to be busy.
    #[arg(long, display_order = 2)]
    forms: bool,
    /// How many requests there are in each run, all nodes together; 100 unless given.
    #[arg(long, value_parser = whole::<u64>, display_order = 4)]
    entries: Option<u64>,
    /// When nodes ask, such as single,random:10%,all; single,pair,random:1%,random:10%,random,all unless given (with
    /// --real single,random,all).
    #[arg(long, value_name = "WORKLOADS", value_delimiter = ',', display_order = 5)]
    workload: Vec<Traffic>,
    /// Run everything between real processes too, on this machine.
    #[arg(long, display_order = 12)]
    real: bool,
    /// Let real processes show each other certificates, made for each run, and hide what they say.
    #[arg(long, requires = "real", display_order = 13)]
    tls: bool,
    /// Tell what becomes of the others when a node fails, instead of what an entry costs.
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

/// Each process takes a connection to each other, and they all share the cores of one machine.
const MOST_PROCESSES: usize = 64;
/// How large groups are unless users say otherwise. Squares, so that those who vote in a grid have a whole one.
const USUAL_SIZES: [usize; 5] = [4, 9, 16, 25, 49];
/// So many processes start in a moment.
const REAL_SIZES: [usize; 2] = [4, 9];
/// In an almost idle group real users would think for minutes.
const REAL_TRAFFICS: [Traffic; 3] = [Traffic::Single, Traffic::Random(OfferedLoad::USUAL), Traffic::All];
const USUAL_ENTRIES: u64 = 100;
/// In a group of so many some are inside, some wait and some are idle.
const FAILURE_SIZE: usize = 5;
/// One that is inside, one that waits and one that is struck although it wants nothing.
const FEWEST_TO_FAIL: usize = 3;

impl ComparedFamily for Mutex {
    type CompareArgs = MutexCompareArgs;
    const MEANS_NOTHING: &'static str = "to mutual exclusion";

    fn compare<T: CompareTask>(asked: &Asked<'_, Self::CompareArgs>, task: T) -> Result<T::Output, CompareError> {
        Ok(if asked.own.failures { task.perform(asked.failures()?) } else { task.perform(asked.costs()?) })
    }
}

impl Asked<'_, MutexCompareArgs> {
    fn costs(&self) -> Result<Costs, CompareError> {
        let MutexCompareArgs { entries, real, tls, .. } = *self.own;
        let entries = entries.unwrap_or(USUAL_ENTRIES);
        if entries == 0 {
            return CompareError::refused("A comparison in which nobody enters shows nothing: use --entries 100.");
        }
        let traffics = self.traffics()?;
        let sizes = self.sizes_or(if real { &REAL_SIZES } else { &USUAL_SIZES });
        let Field { contenders, left_out } = self.field(&sizes)?;
        let largest = sizes.iter().copied().max().unwrap_or_default();
        if real && largest > MOST_PROCESSES {
            return CompareError::refused(format!(
                "--real starts a process for every node, and {largest} of them are too many to compare on one machine: at \
                 most {MOST_PROCESSES}. Without --real, larger groups are simulated."
            ));
        }
        let real = real.then_some(costs::Links { tls });
        let seed = self.seed;
        Ok(Costs { contenders, sizes, traffics, left_out, entries, seed, real, rows: Vec::new() })
    }

    fn failures(&self) -> Result<Failures, CompareError> {
        let smallest = self.sizes.and_then(|sizes| sizes.iter().min()).copied().unwrap_or(FAILURE_SIZE);
        if smallest < FEWEST_TO_FAIL {
            return CompareError::refused(format!(
                "--failures needs a node inside, one that waits and one that is idle: groups of {FEWEST_TO_FAIL} or more."
            ));
        }
        let Field { contenders, left_out } = match self.sizes {
            Some(sizes) => self.field(sizes)?,
            // An algorithm that has no group of the usual size has one that is a little larger.
            None => Field { contenders: self.of_forms()?, left_out: Vec::new() },
        };
        let mut inquiries = Vec::new();
        for entry in contenders {
            let fits = |nodes: &usize| (entry.facts.fits)(*nodes).is_ok();
            let own: Vec<_> = match self.sizes {
                Some(sizes) => sizes.iter().copied().filter(fits).collect(),
                None => (FAILURE_SIZE..=MOST_PROCESSES).find(fits).into_iter().collect(),
            };
            inquiries.extend(own.into_iter().map(|nodes| Inquiry { seed: self.seed, ..Inquiry::of(entry, nodes) }));
        }
        Ok(Failures { inquiries, left_out, seed: self.seed, rows: Vec::new() })
    }

    fn of_forms(&self) -> Result<Vec<&'static MutexEntry>, CompareError> {
        let forms = if self.own.forms { Forms::All } else { Forms::Usual };
        Ok(contenders(self.algorithms, forms)?)
    }

    fn field(&self, sizes: &[usize]) -> Result<Field, CompareError> {
        Field::of(self.of_forms()?, sizes, self.algorithms)
    }

    fn traffics(&self) -> Result<Vec<Traffic>, CompareError> {
        let words: Vec<_> = self.own.workload.iter().map(ToString::to_string).collect();
        once("--workload", &words)?;
        Ok(match &self.own.workload[..] {
            [] if self.own.real => REAL_TRAFFICS.to_vec(),
            [] => Traffic::ALL.to_vec(),
            given => given.to_vec(),
        })
    }
}
