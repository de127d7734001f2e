//! The algorithms of a family side by side, with what the literature says of each.
//!
//! A family that can be compared implements [`ComparedFamily`] in its folder: its own options become a [`Comparison`], which
//! measures, judges, and returns what it found as data: a [`Page`] of tables, a [`Chart`], a report for programs. The program
//! that runs it is its [`Host`], and prints and draws that data without knowing the family.

mod chart;
mod error;
mod options;
mod page;
mod sizes;

pub use chart::{Across, Axis, Chart, Dot, Law, Legend, Plot, Series};
pub use error::CompareError;
pub use options::CompareOptions;
pub(crate) use options::once;
pub use page::{BAD, Column, GOOD, Group, Heading, List, Page, SAME, Section, Table, UNKNOWN};

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
    /// Options that only its comparisons understand.
    type CompareArgs: clap::Args + Options;
    /// To what an option of another family means nothing, as the end of "--relay means nothing …".
    const MEANS_NOTHING: &'static str;

    /// Hands the comparison that is asked for to the task. Every mistake is found before anything runs.
    fn compare<T: CompareTask>(asked: &Asked<'_, Self::CompareArgs>, task: T) -> Result<T::Output, CompareError>;
}

/// What a family is asked to compare.
pub struct Asked<'a, A> {
    /// Names of algorithms, none of them twice; all of the family if there are none.
    pub algorithms: &'a [String],
    /// How many nodes the groups have, if anybody says.
    pub sizes: Option<&'a [usize]>,
    pub seed: u64,
    pub own: &'a A,
}

impl<A> Asked<'_, A> {
    /// The sizes of groups that were given, or these.
    pub fn sizes_or(&self, usual: &[usize]) -> Vec<usize> {
        self.sizes.unwrap_or(usual).to_vec()
    }

    /// The algorithms that are named, or all of the family that are meant to be right and that `is_usual` takes.
    pub fn contenders<F: FamilyLab>(
        &self,
        is_usual: impl Fn(&F::Entry) -> bool,
    ) -> Result<Vec<&'static F::Entry>, CompareError> {
        if self.algorithms.is_empty() {
            return Ok(all().iter().filter_map(F::entry).filter(|entry| is_usual(entry)).collect());
        }
        let named = |name: &String| Ok(Algorithm::<F>::named(name)?.entry());
        self.algorithms.iter().map(named).collect()
    }
}

/// Something to do with a comparison, whatever its family.
pub trait CompareTask {
    type Output;
    fn perform<C: Comparison>(self, comparison: C) -> Self::Output;
}

/// A comparison: first planned, then measured, then shown.
pub trait Comparison {
    type Family: FamilyLab;

    /// How many steps [`measure`](Self::measure) takes, and what they are called: `12 runs`.
    fn work(&self) -> (u64, &'static str);

    /// Measures everything, or as much as there is time for until somebody interrupts.
    fn measure(&mut self, host: &mut dyn Host<Self::Family>) -> Result<(), CompareError>;

    /// How many of its parts are done, and how many there are, with the name of one: `run`.
    fn parts(&self) -> Parts;

    /// Whether every part was run to its end.
    fn is_complete(&self) -> bool {
        let Parts { done, all, .. } = self.parts();
        done == all
    }

    /// Whether every property holds, and every figure is as expected where it must be.
    fn is_right(&self) -> bool;

    /// All of it for people.
    fn page(&self) -> Page;

    /// All of it as plots, unless there are none.
    fn chart(&self) -> Option<Chart>;

    /// All of it for programs.
    fn report(&self) -> impl Serialize;
}

/// What a comparison consists of.
#[derive(Clone, Copy)]
pub struct Parts {
    pub done: usize,
    pub all: usize,
    /// What one part is called.
    pub name: &'static str,
}

/// What a comparison needs of the program that runs it.
pub trait Host<F: FamilyLab> {
    /// Says what is measured next.
    fn begins(&mut self, algorithm: &str, nodes: usize);

    /// Says that one step of the work is done.
    fn advances(&mut self);

    fn is_interrupted(&self) -> bool;

    /// The experiment that real processes carry out.
    fn real_spec(&self, algorithm: Algorithm<F>, nodes: usize, seed: u64) -> Spec<F>;

    /// Lets real processes carry it out, over TLS if so wanted. Nothing if somebody interrupts, because half a run compares with
    /// nothing.
    fn run_real(&mut self, spec: &Spec<F>, tls: bool) -> Result<Option<RealRun<F>>, Box<dyn Error + Send + Sync>>;
}

/// What real processes did.
pub struct RealRun<F: FamilyLab> {
    pub ending: Ending,
    pub read: Replayed<F>,
    /// Where the journal is, if a property fails in it.
    pub journal: Option<String>,
}

/// The names of a list without those that come again, in the order in which they come first.
pub(crate) fn distinct<T: PartialEq>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
