//! What a family of algorithms brings to the command line, in one trait; everything else is written once for all.
//!
//! To add a family: a file here with its options and its [`Present`], its arm in [`of_family`], and its options in
//! `RunArgs`, where those of other families are refused.

pub(crate) mod election;
pub(crate) mod mutex;
pub(crate) mod replica;

use crate::args::RunArgs;
use crate::report::{Figures, Table};
use quorate_lab::{Election, FamilyLab, Mutex, Replica, Spec};
use quorate_registry::Entry;
use quorate_sim::moment::Moment;
use std::io::{self, Write};

/// A family, as people see it.
pub(crate) trait Present: FamilyLab {
    /// What the example of `quorate explain` shows.
    const EXAMPLE: &'static str;
    /// What control messages are.
    const CONTROL: &'static str;
    /// What to try if what should happen sometimes never does.
    const ADVICE: &'static str;
    /// What a progress bar counts.
    const PROGRESS: &'static str;

    /// The settings that the family's options describe.
    fn settings(args: &RunArgs) -> anyhow::Result<Self::Settings>;

    /// A small run that shows what the algorithm does.
    fn example(algorithm: &str) -> Spec<Self>;

    /// The family's own figures, with the book's beside them.
    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()>;

    /// What could not be judged, and why.
    fn not_judged(figures: &Figures<'_, Self>, out: &mut dyn Write) -> io::Result<()>;

    /// How far a run came that did not come to its end, after a semicolon.
    fn progress(spec: &Spec<Self>, summary: &Self::Summary) -> String;

    /// How often a progress bar moves until all is done.
    fn goal(spec: &Spec<Self>) -> u64;

    /// Whether a progress bar moves on.
    fn is_progress(moment: &Moment<'_, Self::Command, Self::Event>) -> bool;
}

/// Options of the command line that only one family understands.
pub(crate) trait Options {
    /// The first one that was given, without its dashes.
    fn given(&self) -> Option<&'static str>;
}

/// Something to do with an algorithm, whatever its family.
pub(crate) trait Task {
    /// What comes of it.
    type Output;
    /// Does it.
    fn perform<F: Present>(self, entry: &'static F::Entry) -> Self::Output;
}

/// Does something in the family that the algorithm is of. This is where families are told apart.
pub(crate) fn of_family<T: Task>(entry: &'static Entry, task: T) -> T::Output {
    match entry {
        Entry::Mutex(entry) => task.perform::<Mutex>(entry),
        Entry::Election(entry) => task.perform::<Election>(entry),
        Entry::Replica(entry) => task.perform::<Replica>(entry),
    }
}
