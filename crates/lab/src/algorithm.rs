//! An algorithm of a family, found once by its name.

use crate::error::LabError;
use crate::family::FamilyTypes;
use crate::registry::{Family, all, fixtures};
use crate::spec::entry;
use quorate_journal::settings::nearest;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::Deref;

/// An algorithm of family `F`. Journals and messages to people hold its name.
pub struct Algorithm<F: FamilyTypes>(&'static F::Entry);

impl<F: FamilyTypes> Algorithm<F> {
    /// The algorithm or fixture of this name, if it is of this family.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let entry = entry(name)?;
        let other = || {
            LabError::Algorithm(AlgorithmError::OtherFamily {
                name: name.to_owned(),
                family: entry.family(),
                expected: F::FAMILY,
            })
        };
        F::entry(entry).map(Self).ok_or_else(other)
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

// Written by hand, because a derive would ask these of the entry.
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

#[derive(Debug, thiserror::Error)]
pub enum AlgorithmError {
    #[error("There is no algorithm '{}'. {}", name.escape_debug(), suggestion(name))]
    UnknownAlgorithm { name: String },
    #[error("'{name}' is of the {family} family, and this is about the {expected} family; 'quorate list' shows both.")]
    OtherFamily { name: String, family: Family, expected: Family },
}

fn suggestion(name: &str) -> String {
    let known = || all().iter().chain(fixtures()).map(|entry| entry.name());
    match nearest(name, known()) {
        Some(close) => format!("Did you mean '{close}'? 'quorate list' shows them all."),
        None => {
            let names: Vec<_> = all().iter().map(|entry| entry.name()).collect();
            let (last, others) = names.split_last().unwrap_or((&"none", &[]));
            format!("There are {} and {last}; 'quorate list' tells more.", others.join(", "))
        }
    }
}
