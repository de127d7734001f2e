//! The algorithms by name, and their families. An algorithm can have variants, which options
//! select; each variant has its own name and its own [`Entry`].
//!
//! Every driver and tool reaches an algorithm through its [`Entry`]. Each family has its own
//! folder; the list at the end of this file declares the families.

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

/// Creates a node with the given settings.
pub type NodeFactory<S, N> = Arc<dyn Fn(NodeId, &S) -> N + Send + Sync>;

/// The environment in which an algorithm runs.
#[derive(Clone, Debug)]
pub struct Environment {
    pub group: Group,
    /// Random seed, for algorithms that make random choices.
    pub seed: u64,
    /// The bounds on delays that nodes assume.
    pub bounds: Bounds,
}

/// A task that is generic over the family of an algorithm.
pub trait Task {
    type Output;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> Self::Output;
}

/// Declares the families: `Type: folder`, one per line. In help texts, the options of views precede
/// the family marked `[views]`.
macro_rules! families {
    ($($([$views:ident])? $Family:ident: $folder:ident,)*) => {
        /// A set of algorithms that accept the same commands and emit the same events.
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

        /// One algorithm or one of its variants, with the data that its family needs.
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
                    $(Self::$Family(entry) => crate::$Family::entry_codec(entry),)*
                }
            }

            /// The name of the algorithm of which this entry is a variant.
            pub fn algorithm(&self) -> &'static str {
                match self {
                    $(Self::$Family(entry) => crate::$Family::algorithm_of(entry),)*
                }
            }

            /// The option values that select this variant of its algorithm; empty if there is only
            /// one.
            pub fn variant_choices(&self) -> &'static [Choice] {
                match self {
                    $(Self::$Family(entry) => crate::$Family::variant_choices(entry),)*
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

        /// Performs a task with the family of the entry as its type parameter.
        pub fn dispatch_to_family<T: Task>(entry: &'static Entry, task: T) -> T::Output {
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
            /// The options of each family.
            pub(crate) fn options_by_family(&self) -> [(Family, &dyn Options); Family::ALL.len()] {
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

/// Returns all algorithms but the fixtures, in the order in which lists show them.
pub fn all() -> &'static [Entry] {
    &ALGORITHMS
}

/// Returns the algorithms that are wrong on purpose, and the correct counterparts of some of them.
pub fn fixtures() -> &'static [Entry] {
    &FIXTURES
}

/// Returns the variant of an algorithm that these options and values select. Prefers default values
/// for options that are not given. `None` if there is no algorithm with this name or it has no such
/// variant.
pub fn find_variant(name: &str, options: &[(&str, &str)]) -> Option<&'static Entry> {
    let has_choice = |entry: &Entry, option: &str, value: &str| {
        entry.variant_choices().iter().any(|choice| (choice.option, choice.value) == (option, value))
    };
    let non_default_choices =
        |entry: &Entry| entry.variant_choices().iter().filter(|choice| !choice.is_default).count();
    let named = find(name)?;
    // The name of a variant selects that variant; the options must not contradict it.
    if named.algorithm() != name {
        return options.iter().all(|(option, value)| has_choice(named, option, value)).then_some(named);
    }
    let variants = all().iter().chain(fixtures()).filter(|entry| entry.algorithm() == name);
    let matching = variants.filter(|entry| options.iter().all(|(option, value)| has_choice(entry, option, value)));
    matching.min_by_key(|entry| non_default_choices(entry))
}

/// Returns the algorithm or fixture with this name.
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
