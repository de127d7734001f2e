//! The first line of a journal: what was run.

use quorate_core::{Incarnation, NodeId};
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 2;

/// The first format whose journals end with an end mark.
const FIRST_WITH_END_MARK: u32 = 2;

/// What was run, so that any tool can tell and the run can be repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub journal: u32,
    /// The algorithm's name in the registry.
    pub algorithm: String,
    pub family: String,
    pub nodes: usize,
    pub seed: u64,
    /// The command of the checker that found it, if it is a counterexample. Then no chance was in it, and of `run` only
    /// what the nodes are counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// Whether real processes did all this, and their journals were gathered. Then no chance can repeat it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recorded: bool,
    /// The time that people want to see as 0, in nanoseconds. The lines themselves keep their times.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub origin: i64,
    /// Whose life it is, if it is the journal of one life of one node, or of what a parent did to such nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// How the nodes and the world were set up, in the words of the command line.
    pub run: serde_json::Value,
}

impl Header {
    pub(super) fn has_end_mark(&self) -> bool {
        self.journal >= FIRST_WITH_END_MARK
    }

    /// Whether a journal without an end mark was cut off. A process that is killed cannot write one.
    pub(super) fn needs_end_mark(&self) -> bool {
        self.has_end_mark() && self.live.is_none()
    }
}

/// Whose life a live journal is, and what its times mean beside those of other journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// The node. None in a journal of acts of the world alone, which the parent of the nodes writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    #[serde(default)]
    pub incarnation: Incarnation,
    /// The name of the group that the node met under. Journals of different groups tell of different runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// What names this time that the machine is up. Times of the same boot compare.
    pub boot: String,
    /// The machine's clock since its boot, in nanoseconds, at the journal's time 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zero: i64,
    /// The wall clock minus the journal's time, in nanoseconds. It relates the times of different machines.
    pub offset: i64,
    /// How many writes of all its earlier lives the node found on its disk.
    #[serde(default)]
    pub writes: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(time: &i64) -> bool {
    *time == 0
}
