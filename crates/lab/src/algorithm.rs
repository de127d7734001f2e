//! An algorithm of a family: a registry entry that is looked up by name once.

use crate::error::LabError;
use crate::family::FamilyTypes;
use crate::registry::{Family, all, fixtures};
use crate::spec::find_entry;
use quorate_journal::settings::nearest;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::Deref;

/// An algorithm of family `F`, as a reference to its registry entry. It is serialized and printed
/// as its name.
pub struct Algorithm<F: FamilyTypes>(&'static F::Entry);

impl<F: FamilyTypes> Algorithm<F> {
    /// Returns the algorithm or fixture with this name. Fails if there is none, or if it belongs to
    /// another family.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let entry = find_entry(name)?;
        let other_family = || {
            LabError::Algorithm(AlgorithmError::OtherFamily {
                name: name.to_owned(),
                family: entry.family(),
                expected: F::FAMILY,
            })
        };
        F::entry(entry).map(Self).ok_or_else(other_family)
    }

    pub fn name(self) -> &'static str {
        F::profile(self.0).name
    }

    pub const fn entry(self) -> &'static F::Entry {
        self.0
    }
}

impl<F: FamilyTypes> From<&'static F::Entry> for Algorithm<F> {
    fn from(entry: &'static F::Entry) -> Self {
        Self(entry)
    }
}

impl<F: FamilyTypes> Deref for Algorithm<F> {
    type Target = F::Entry;

    fn deref(&self) -> &F::Entry {
        self.0
    }
}

// Implemented by hand, because a derive would require these traits of the entry.
impl<F: FamilyTypes> Clone for Algorithm<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: FamilyTypes> Copy for Algorithm<F> {}

impl<F: FamilyTypes> PartialEq for Algorithm<F> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<F: FamilyTypes> fmt::Debug for Algorithm<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

impl<F: FamilyTypes> fmt::Display for Algorithm<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl<F: FamilyTypes> Serialize for Algorithm<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de, F: FamilyTypes> Deserialize<'de> for Algorithm<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).map_err(de::Error::custom)
    }
}

/// Why a name does not select an algorithm of the expected family.
#[derive(Debug, thiserror::Error)]
pub enum AlgorithmError {
    #[error("there is no algorithm '{}'. {}", name.escape_debug(), suggestion(name))]
    UnknownAlgorithm { name: String },
    #[error(
        "'{name}' is of the {family} family; this command needs an algorithm of the {expected} family. 'quorate list' shows \
         the family of each."
    )]
    OtherFamily { name: String, family: Family, expected: Family },
}

/// Suggests the closest name, or lists the algorithms if no name is close.
fn suggestion(name: &str) -> String {
    let known = || all().iter().chain(fixtures()).map(|entry| entry.name());
    match nearest(name, known()) {
        Some(closest) => format!("Did you mean '{closest}'? 'quorate list' shows them all."),
        None => {
            let names: Vec<_> = all().iter().map(|entry| entry.name()).collect();
            let (last, others) = names.split_last().unwrap_or((&"none", &[]));
            format!("The algorithms are {} and {last}; 'quorate list' describes them.", others.join(", "))
        }
    }
}
