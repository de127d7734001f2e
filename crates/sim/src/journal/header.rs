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
    /// The command of the checker that found it, if it is a counterexample. Then no chance was in it, and of `run` only
    /// what the nodes are counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// How the nodes and the world were set up, in the words of the command line.
    pub run: serde_json::Value,
}
