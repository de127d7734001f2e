//! The algorithms by name, and the families that they are of.
//!
//! Every driver and tool reaches an algorithm through its [`Entry`]. What a family brings along is in its folder; the
//! list at the end of this file is the only place that names all families.

use crate::family::{FamilyLab, FamilyTypes, OptionsFamily};
use crate::options::Options;
use crate::views::ViewArgs;
use clap::Args;
use quorate_core::about::Profile;
use quorate_core::mutex::Choice;
use quorate_core::{Bounds, Group, NodeId};
use quorate_erased::AnyCodec;
use serde::Serialize;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// Makes a node that is set up like this.
pub type Maker<S, N> = Arc<dyn Fn(NodeId, &S) -> N + Send + Sync>;

/// Where an algorithm runs.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub group: Group,
    /// What all chance follows from, for algorithms that throw dice of their own.
    pub seed: u64,
    pub bounds: Bounds,
}

/// Something to do with an algorithm, whatever its family.
pub trait Task {
    type Output;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> Self::Output;
}

/// Puts families together: `Type: folder`, one a line. The options of views stand in help before the line marked `[views]`.
macro_rules! families {
    ($($([$views:ident])? $Family:ident: $folder:ident,)*) => {
        /// Algorithms that take the same commands and tell the same events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Family {
            $($Family,)*
        }

        impl Family {
            pub const ALL: [Self; [$(Self::$Family),*].len()] = [$(Self::$Family),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Family => stringify!($folder),)*
                }
            }

            pub const fn has_views(self) -> bool {
                match self {
                    $(Self::$Family => crate::$Family::HAS_VIEWS,)*
                }
            }
        }

        /// One algorithm, with what its family needs to know of it.
        pub enum Entry {
            $($Family(<crate::$Family as FamilyTypes>::Entry),)*
        }

        impl Entry {
            pub const fn family(&self) -> Family {
                match self {
                    $(Self::$Family(_) => Family::$Family,)*
                }
            }

            pub fn profile(&self) -> &'static Profile {
                match self {
                    $(Self::$Family(entry) => crate::$Family::profile(entry),)*
                }
            }

            pub fn codec(&self) -> AnyCodec {
                match self {
                    $(Self::$Family(entry) => crate::$Family::codec_of(entry),)*
                }
            }

            /// The name of the algorithm that it is a form of.
            pub fn algorithm(&self) -> &'static str {
                match self {
                    $(Self::$Family(entry) => crate::$Family::algorithm_of(entry),)*
                }
            }

            /// The choices that make it this form of its algorithm.
            pub fn form(&self) -> &'static [Choice] {
                match self {
                    $(Self::$Family(entry) => crate::$Family::form(entry),)*
                }
            }

            pub fn runs_in_views(&self) -> bool {
                match self {
                    $(Self::$Family(entry) => crate::$Family::runs_in_views(entry),)*
                }
            }
        }

        static ALGORITHMS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
            let families = [$(crate::$Family::algorithms().into_iter().map(Entry::$Family).collect::<Vec<_>>()),*];
            families.into_iter().flatten().collect()
        });

        static FIXTURES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
            let families = [$(crate::$Family::fixtures().into_iter().map(Entry::$Family).collect::<Vec<_>>()),*];
            families.into_iter().flatten().collect()
        });

        /// Does something in the family that the algorithm is of.
        pub fn of_family<T: Task>(entry: &'static Entry, task: T) -> T::Output {
            match entry {
                $(Entry::$Family(entry) => task.perform::<crate::$Family>(entry),)*
            }
        }

        /// The options of all families.
        #[derive(Args)]
        pub struct FamilyArgs {
            $(
                $(
                    #[command(flatten)]
                    pub(crate) $views: ViewArgs,
                )?
                #[command(flatten)]
                pub(crate) $folder: <crate::$Family as OptionsFamily>::Args,
            )*
        }

        impl FamilyArgs {
            pub(crate) fn groups(&self) -> [(Family, &dyn Options); Family::ALL.len()] {
                [$((Family::$Family, &self.$folder as &dyn Options)),*]
            }
        }
    };
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Entry {
    pub fn name(&self) -> &'static str {
        self.profile().name
    }
}

/// Every algorithm, in the order in which lists show them.
pub fn all() -> &'static [Entry] {
    &ALGORITHMS
}

/// Protocols that are wrong on purpose, and correct twins of some of them.
pub fn fixtures() -> &'static [Entry] {
    &FIXTURES
}

/// The form of an algorithm that these options ask for, each with its value. Options that nobody gives are as usual.
/// Nothing if the algorithm has no such form.
pub fn form(name: &str, options: &[(&str, &str)]) -> Option<&'static Entry> {
    let has = |entry: &Entry, option: &str, value: &str| {
        entry.form().iter().any(|choice| (choice.option, choice.value) == (option, value))
    };
    let specials = |entry: &Entry| entry.form().iter().filter(|choice| !choice.usual).count();
    let asked = find(name)?;
    // Whoever names a form itself gets that form; its options must not say otherwise.
    if asked.algorithm() != name {
        return options.iter().all(|(option, value)| has(asked, option, value)).then_some(asked);
    }
    let forms = all().iter().chain(fixtures()).filter(|entry| entry.algorithm() == name);
    let fitting = forms.filter(|entry| options.iter().all(|(option, value)| has(entry, option, value)));
    fitting.min_by_key(|entry| specials(entry))
}

/// The algorithm or fixture of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().chain(fixtures()).find(|entry| entry.name() == name)
}

families! {
    Mutex: mutex,
    Election: election,
    Multicast: multicast,
    Deadlock: deadlock,
    [views] Replica: replica,
}
