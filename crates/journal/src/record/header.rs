//! The first line of a journal: the run that it records.

use quorate_core::{Incarnation, NodeId};
use serde::{Deserialize, Serialize};

/// The format version that this program writes, and the newest version that it reads.
pub const FORMAT: u32 = 2;

/// The first format whose journals end with an end mark.
const FIRST_WITH_END_MARK: u32 = 2;

/// Describes the recorded run, so that it can be identified and repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The format version.
    pub journal: u32,
    /// The algorithm's name in the registry.
    pub algorithm: String,
    pub family: String,
    pub nodes: usize,
    pub seed: u64,
    /// The checker command that found the run, if it is a counterexample. Such a run used no
    /// randomness, and only the node settings in `run` apply to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// Whether the journal was gathered from real processes. No seed can repeat such a run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recorded: bool,
    /// The time to display as 0, in nanoseconds. The lines keep their own times.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub origin: i64,
    /// Set in the journal of one incarnation of one node, and in the journal of the parent process
    /// that injected faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveHeader>,
    /// The settings of the nodes and the environment, named like the command-line options.
    pub run: serde_json::Value,
}

impl Header {
    pub(super) fn has_end_mark(&self) -> bool {
        self.journal >= FIRST_WITH_END_MARK
    }

    /// Returns whether a journal without an end mark is truncated. A live journal may lack it,
    /// because a killed process cannot write it.
    pub(super) fn needs_end_mark(&self) -> bool {
        self.has_end_mark() && self.live.is_none()
    }
}

/// Describes a live journal, which one process writes: the incarnation that it records, and how its
/// times relate to those of other journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveHeader {
    /// The node, or `None` in the journal of the parent process, which contains world events only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    #[serde(default)]
    pub incarnation: Incarnation,
    /// The name of the node's group. Journals of different groups belong to different runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Identifies the boot of the machine. Times of the same boot are comparable.
    pub boot: String,
    /// Time from the machine's boot to the journal's time 0, in nanoseconds.
    #[serde(rename = "zero", default, skip_serializing_if = "is_zero")]
    pub nanos_since_boot: i64,
    /// The wall clock minus the journal's time, in nanoseconds. It relates the times of different
    /// machines.
    #[serde(rename = "offset")]
    pub wall_clock_offset: i64,
    /// Number of writes of earlier incarnations that the node found on its disk.
    #[serde(rename = "writes", default)]
    pub found_writes: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(time: &i64) -> bool {
    *time == 0
}
