//! How a replica is set up.

use crate::members::Members;
use quorate_core::Duration;
use serde::{Deserialize, Serialize};

/// How a replica is set up. All replicas of a group share these, but for the seed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settings {
    /// The members that the group begins with. A replica that is none of them waits to be let in.
    pub founders: Members,
    /// What the election dice follow from; give each group its own.
    pub seed: u64,
    /// The beat that all waiting is counted in.
    pub tick: Duration,
    /// After how many ticks without a leader somebody stands for election, at the earliest; at the latest after twice
    /// as many.
    pub election_ticks: usize,
    pub heartbeat_ticks: usize,
    pub reads: Reads,
    /// By how many millionths clocks run too fast or too slow at most.
    pub drift_ppm: u32,
    /// After how many entries the state is kept and the log before it let go.
    pub checkpoint_every: u64,
    /// How many entries before the checkpoint stay, for peers that lag behind.
    pub keep_entries: u64,
    pub piece_bytes: usize,
    /// The most that one message of entries carries, but for one entry that is larger.
    pub message_bytes: u64,
    /// The most that may be proposed and not yet committed.
    pub uncommitted_bytes: u64,
    pub requests: usize,
    pub audit: bool,
}

/// How queries are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// By a round of heartbeats, which needs no clock.
    #[default]
    Quorum,
    /// At once while the leader's lease holds, where clocks keep to the drift bound; by a round otherwise.
    Lease,
}

impl Settings {
    /// The usual settings of a group with these founders.
    pub fn new(founders: Members) -> Self {
        Self {
            founders,
            seed: 1,
            tick: Duration::from_millis(100),
            election_ticks: 10,
            heartbeat_ticks: 2,
            reads: Reads::Quorum,
            drift_ppm: 1_000,
            checkpoint_every: 10_000,
            keep_entries: 1_000,
            piece_bytes: 1 << 20,
            message_bytes: 1 << 20,
            uncommitted_bytes: 64 << 20,
            requests: 100_000,
            audit: false,
        }
    }

    /// How long a follower promises not to vote for anybody else, by its own clock. It stands for election itself after
    /// so many more ticks than this that at least this much has passed.
    pub fn promise(&self) -> Duration {
        self.tick.times((self.election_ticks as u64).saturating_sub(1))
    }

    /// How long a leader may rely on that promise, by its own clock, from before it asked for it.
    pub fn lease(&self) -> Duration {
        let [slow, fast] =
            [1_000_000 - u128::from(self.drift_ppm.min(1_000_000)), 1_000_000 + u128::from(self.drift_ppm)];
        let nanos = u128::from(self.promise().nanos()) * slow / fast;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
