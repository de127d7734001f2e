//! The algorithms of a family side by side, with the expected figures from the literature.
//!
//! A family that can be compared implements [`ComparedFamily`] in its folder. Its options become a
//! [`Comparison`], which measures, judges, and returns its results as data: a [`Page`] of tables, a
//! [`Chart`], a report for programs. The program that runs a comparison is its [`Host`], which
//! prints and draws that data without knowing the family.

mod chart;
mod error;
mod options;
mod page;
mod sizes;

pub use chart::{Chart, Dot, ExpectedCurve, HorizontalAxis, Legend, Plot, Series, VerticalAxis};
pub use error::CompareError;
pub use options::CompareOptions;
pub(crate) use options::reject_duplicates;
pub use page::{
    Column, ColumnGroup, GroupedTable, Heading, List, MARK_CORRECT, MARK_EQUAL, MARK_NOT_JUDGED, MARK_WRONG, Page,
    Table,
};

use crate::algorithm::Algorithm;
use crate::family::FamilyLab;
use crate::options::Options;
use crate::registry::all;
use crate::replay::Replayed;
use crate::spec::Spec;
use quorate_journal::workload::Ending;
use serde::Serialize;
use std::error::Error;

/// A family whose algorithms can be compared.
pub trait ComparedFamily: FamilyLab {
    /// Options that only its comparisons accept.
    type CompareArgs: clap::Args + Options;
    /// The end of the error "--relay does not apply …" about an option of another family, such as
    /// "to comparisons of elections".
    const NOT_APPLICABLE: &'static str;

    /// Plans the requested comparison and passes it to the task. Fails on an invalid option before
    /// anything runs.
    fn compare<T: CompareTask>(
        request: &CompareRequest<'_, Self::CompareArgs>,
        task: T,
    ) -> Result<T::Output, CompareError>;
}

/// A comparison as requested on the command line.
pub struct CompareRequest<'a, A> {
    /// Names of algorithms without duplicates; empty for those that the family compares by default.
    pub algorithms: &'a [String],
    /// The sizes of groups, if given.
    pub sizes: Option<&'a [usize]>,
    pub seed: u64,
    /// The options that only this family's comparisons accept.
    pub family_args: &'a A,
}

impl<A> CompareRequest<'_, A> {
    /// Returns the given sizes of groups, or the default ones.
    pub fn sizes_or(&self, defaults: &[usize]) -> Vec<usize> {
        self.sizes.unwrap_or(defaults).to_vec()
    }

    /// Returns the named algorithms, or all correct ones of the family that satisfy `is_default`.
    pub fn selected_entries<F: FamilyLab>(
        &self,
        is_default: impl Fn(&F::Entry) -> bool,
    ) -> Result<Vec<&'static F::Entry>, CompareError> {
        if self.algorithms.is_empty() {
            return Ok(all().iter().filter_map(F::entry).filter(|entry| is_default(entry)).collect());
        }
        let named = |name: &String| Ok(Algorithm::<F>::named(name)?.entry());
        self.algorithms.iter().map(named).collect()
    }
}

/// A task that is generic over a family's comparison.
pub trait CompareTask {
    type Output;
    fn perform<C: Comparison>(self, comparison: C) -> Self::Output;
}

/// A comparison: planned, then measured, then shown.
pub trait Comparison {
    type Family: FamilyLab;

    /// Number of steps of [`measure`](Self::measure), and their unit: `12 runs`.
    fn work(&self) -> (u64, &'static str);

    /// Measures everything, or stops early if the host is interrupted.
    fn measure(&mut self, host: &mut dyn Host<Self::Family>) -> Result<(), CompareError>;

    /// Returns how many parts of the results are finished, and how many there are in all.
    fn parts(&self) -> PartCounts;

    /// Whether every part is finished.
    fn is_complete(&self) -> bool {
        let PartCounts { finished, total, .. } = self.parts();
        finished == total
    }

    /// Whether every property holds, and every figure that must match the literature matches it.
    fn is_correct(&self) -> bool;

    /// Returns the results for people.
    fn page(&self) -> Page;

    /// Returns the results as plots, if there are any.
    fn chart(&self) -> Option<Chart>;

    /// Returns the results for programs.
    fn report(&self) -> impl Serialize;
}

/// How many parts a comparison's results have, such as runs or lines of a table.
#[derive(Clone, Copy)]
pub struct PartCounts {
    pub finished: usize,
    pub total: usize,
    /// The name of one part: `run`.
    pub name: &'static str,
}

/// The program that runs a comparison.
pub trait Host<F: FamilyLab> {
    /// Announces the next measurement.
    fn begin_measurement(&mut self, algorithm: &str, nodes: usize);

    /// Reports that one step of the work is done.
    fn advance(&mut self);

    fn is_interrupted(&self) -> bool;

    /// Returns the experiment that real processes run.
    fn real_spec(&self, algorithm: Algorithm<F>, nodes: usize, seed: u64) -> Spec<F>;

    /// Runs the experiment with real processes, over TLS if `tls`. `None` if it is interrupted
    /// before a property fails, because a partial run is not comparable.
    fn run_real(&mut self, spec: &Spec<F>, tls: bool) -> Result<Option<RealRun<F>>, Box<dyn Error + Send + Sync>>;
}

/// The result of a run with real processes.
pub struct RealRun<F: FamilyLab> {
    pub ending: Ending,
    pub replayed: Replayed<F>,
    /// Path of the journal, if a property was violated.
    pub journal: Option<String>,
}

/// Returns the names without duplicates, in the order of their first occurrence.
pub(crate) fn distinct<T: PartialEq>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
