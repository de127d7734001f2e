//! What a family of algorithms brings to the command line, in one trait; everything else is written once for all.
//!
//! To add a family: a file here with its options and its [`Present`], its arm in [`of_family`], and its options in
//! [`FamilyArgs`], where those of other families are refused.

pub(crate) mod check;
pub(crate) mod deadlock;
pub(crate) mod election;
pub(crate) mod multicast;
pub(crate) mod mutex;
pub(crate) mod replica;
mod views;

use crate::report::{Figures, Table};
use clap::Args;
use deadlock::DeadlockArgs;
use election::ElectionArgs;
use multicast::MulticastArgs;
use mutex::MutexArgs;
use quorate_core::Duration;
use quorate_core::about::About;
use quorate_journal::moment::Moment;
use quorate_lab::{Algorithm, Deadlock, Election, FamilyLab, Multicast, Mutex, Replica, Spec};
use quorate_registry::{Entry, Family};
use replica::ReplicaArgs;
use std::io::{self, Write};
use views::ViewArgs;

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

    /// These settings, changed as the family's options say.
    fn changed(usual: Self::Settings, args: &FamilyArgs, basics: Basics) -> anyhow::Result<Self::Settings>;

    /// The settings that the family's options describe.
    fn settings(args: &FamilyArgs, basics: Basics) -> anyhow::Result<Self::Settings> {
        Self::changed(Self::Settings::default(), args, basics)
    }

    /// Settings with which users are busy for about so long, if it is known how fast they are.
    fn lasting(_settings: &Self::Settings, _length: Duration) -> Option<Self::Settings> {
        None
    }

    /// Changes settings for nodes that people speak to by hand: nobody else asks anything.
    fn by_hand(_settings: &mut Self::Settings) {}

    /// Changes settings for real processes, which have nobody outside to rely on, or says what cannot be.
    fn for_real(_settings: &mut Self::Settings) -> anyhow::Result<()> {
        Ok(())
    }

    /// What is around the algorithm and explained with it, because it is the same for several.
    fn around(_entry: &Self::Entry) -> Option<Around> {
        None
    }

    /// A small run that shows what the algorithm does.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self>;

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

/// What is around several algorithms, with rules of its own.
pub(crate) struct Around {
    /// What its rules are called.
    pub(crate) title: &'static str,
    pub(crate) about: About,
}

/// What a family's settings depend on beside its own options.
#[derive(Clone, Copy)]
pub(crate) struct Basics {
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// Whether the simulator lets everything go wrong that the family must bear.
    pub(crate) chaos: bool,
}

/// The options of all families.
#[derive(Args)]
pub(crate) struct FamilyArgs {
    #[command(flatten)]
    mutex: MutexArgs,
    #[command(flatten)]
    election: ElectionArgs,
    #[command(flatten)]
    multicast: MulticastArgs,
    #[command(flatten)]
    deadlock: DeadlockArgs,
    #[command(flatten)]
    views: ViewArgs,
    #[command(flatten)]
    replica: ReplicaArgs,
}

impl FamilyArgs {
    /// Whether algorithms are to run in views.
    pub(crate) fn wants_views(&self) -> bool {
        self.views.settings().is_some()
    }

    fn groups(&self) -> [(Family, &dyn Options); 5] {
        [
            (Family::Mutex, &self.mutex),
            (Family::Election, &self.election),
            (Family::Multicast, &self.multicast),
            (Family::Deadlock, &self.deadlock),
            (Family::Replica, &self.replica),
        ]
    }

    /// An option that means nothing to this algorithm is a mistake that somebody wants to hear of.
    pub(crate) fn refuse_others(&self, own: Family, algorithm: &str) -> anyhow::Result<()> {
        for (family, options) in self.groups().into_iter().filter(|(family, _)| *family != own) {
            if let Some(option) = options.given() {
                return Err(means_nothing(option, family, algorithm, own));
            }
        }
        refuse_views(self.wants_views(), own, algorithm)
    }

    /// The first option given that another family understands, with that family.
    pub(crate) fn foreign(&self, own: Family) -> Option<(&'static str, Family)> {
        let mut others = self.groups().into_iter().filter(|(family, _)| *family != own);
        others.find_map(|(family, options)| Some((options.given()?, family)))
    }

    /// The first option given that changes the settings of this family.
    pub(crate) fn own(&self, family: Family) -> Option<&'static str> {
        let own = self.groups().into_iter().find(|(group, _)| *group == family);
        own.and_then(|(_, options)| options.given()).or_else(|| self.views.given())
    }

    /// The first option given that says what users of this family do.
    pub(crate) fn workload(&self, family: Family) -> Option<&'static str> {
        let own = self.groups().into_iter().find(|(group, _)| *group == family);
        own.and_then(|(_, options)| options.workload())
    }

    /// Real processes keep their membership themselves, whatever an oracle would say.
    pub(crate) fn refuse_oracles(&self) -> anyhow::Result<()> {
        self.views.refuse_oracles()
    }
}

/// Refuses views where algorithms cannot run in them.
pub(crate) fn refuse_views(are_wanted: bool, own: Family, algorithm: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        !are_wanted || has_views(own),
        "--views means nothing to '{algorithm}', which is of the {own} family; it is an option of the mutex and multicast families."
    );
    Ok(())
}

/// Whether algorithms of this family can run in views.
const fn has_views(family: Family) -> bool {
    match family {
        Family::Mutex | Family::Multicast => true,
        Family::Election | Family::Deadlock | Family::Replica => false,
    }
}

/// The complaint about an option of another family.
pub(crate) fn means_nothing(option: &str, of: Family, algorithm: &str, own: Family) -> anyhow::Error {
    anyhow::anyhow!(
        "--{option} means nothing to '{algorithm}', which is of the {own} family; it is an option of the {of} family."
    )
}

/// Options of the command line that only one family understands.
pub(crate) trait Options {
    /// The first one that was given, without its dashes.
    fn given(&self) -> Option<&'static str>;

    /// The first one given that says what users do, in whose place a script may speak.
    fn workload(&self) -> Option<&'static str> {
        None
    }
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
        Entry::Multicast(entry) => task.perform::<Multicast>(entry),
        Entry::Deadlock(entry) => task.perform::<Deadlock>(entry),
        Entry::Replica(entry) => task.perform::<Replica>(entry),
    }
}
