//! The first line of a journal: what was run.

use serde::{Deserialize, Serialize};

/// The version of the format that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// What was run, so that any tool can tell and the run can be repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub journal: u32,
    /// The algorithm's name in the registry.
    pub algorithm: String,
    /// Its family.
    pub family: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// What all chance followed from.
    pub seed: u64,
    /// How the nodes and the world were set up, in the words of the command line.
    pub run: serde_json::Value,
}
