//! Values that a session keeps until its client acknowledges them.

use crate::fingerprint::{FingerprintSum, fingerprint};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values by number, with their total length and fingerprint. They are encoded as the values alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<u64, T>", into = "BTreeMap<u64, T>")]
#[serde(bound(serialize = "T: Clone + Serialize", deserialize = "T: Serialize + Deserialize<'de>"))]
pub(super) struct Kept<T> {
    values: BTreeMap<u64, T>,
    bytes: usize,
    fingerprints: FingerprintSum,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), bytes: 0, fingerprints: FingerprintSum::default() }
    }
}

impl<T> Kept<T> {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Total length of the encoded values.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprints.total()
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.values.get(&number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.values.iter().map(|(number, value)| (*number, value))
    }

    /// The highest number of a value.
    pub(super) fn last_number(&self) -> Option<u64> {
        self.values.last_key_value().map(|(number, _)| *number)
    }
}

impl<T: Serialize> Kept<T> {
    pub(super) fn insert(&mut self, number: u64, value: T) {
        self.bytes += encoded_bytes(&value);
        self.fingerprints.add(fingerprint(&(number, &value)));
        self.values.insert(number, value);
    }

    /// Removes the values up to this number.
    pub(super) fn remove_up_to(&mut self, number: u64) {
        while let Some(first) = self.values.first_entry().filter(|first| *first.key() <= number) {
            let (number, value) = first.remove_entry();
            self.bytes -= encoded_bytes(&value);
            self.fingerprints.remove(fingerprint(&(number, &value)));
        }
    }
}

impl<T: Serialize> From<BTreeMap<u64, T>> for Kept<T> {
    fn from(values: BTreeMap<u64, T>) -> Self {
        let mut kept = Self::default();
        values.into_iter().for_each(|(number, value)| kept.insert(number, value));
        kept
    }
}

impl<T> From<Kept<T>> for BTreeMap<u64, T> {
    fn from(kept: Kept<T>) -> Self {
        kept.values
    }
}

fn encoded_bytes(value: &impl Serialize) -> usize {
    postcard::experimental::serialized_size(value).unwrap_or_default()
}
