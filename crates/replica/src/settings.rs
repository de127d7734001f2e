//! Configuration of a replica.

use crate::members::Members;
use quorate_core::{Duration, Incarnation};
use serde::{Deserialize, Serialize};

/// The configuration of a replica. All replicas of a group share it, except for `address` and
/// `old_release`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settings {
    /// The initial members of the group. Only its voters start with a log; any other replica,
    /// including a learner, waits for its admission.
    pub founders: Members,
    /// Seed of the election timeouts, which also depend on the node. Give each group its own seed.
    pub seed: u64,
    /// The unit of all timeouts.
    pub tick: Duration,
    /// Minimum election timeout in ticks. Each timeout is random, and below twice this.
    pub election_ticks: usize,
    /// Number of ticks between heartbeats.
    pub heartbeat_ticks: usize,
    /// How replicas answer queries.
    pub reads: ReadMode,
    /// Maximum drift of clocks, in parts per million.
    pub drift_ppm: u32,
    /// Number of entries after which a replica saves a checkpoint. It then drops the entries before
    /// the checkpoint, except for the last `keep_entries`.
    pub checkpoint_every: u64,
    /// Number of entries to keep before the checkpoint, for peers that lag behind.
    pub keep_entries: u64,
    /// Maximum length of one piece of a snapshot, in bytes.
    pub piece_bytes: usize,
    /// Maximum total length of the entries in one message, in bytes. A single longer entry is still
    /// sent, alone.
    pub message_bytes: u64,
    /// Maximum total length of the commands of one replica in an entry, in bytes. A longer command
    /// is refused. Twice this must fit into a message of the network.
    pub entry_bytes: usize,
    /// Maximum number of pending commands that were proposed here, of commands that followers have
    /// forwarded and that wait for an entry, and of pending queries.
    #[serde(rename = "requests")]
    pub max_pending_requests: usize,
    /// The address that this replica reports to its group; `None` if the others know it by other
    /// means.
    pub address: Option<String>,
    /// In a simulation, the older release that this replica runs at first.
    pub old_release: Option<OldRelease>,
    /// Whether to emit events with fingerprints of each applied entry and of the state after it.
    /// Tests and simulations compare the fingerprints of different replicas.
    pub audit: bool,
}

/// An older release, which a simulated replica runs until it is upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OldRelease {
    /// The newest format level that the release understands.
    pub level: u32,
    /// The last incarnation before the upgrade.
    pub until: Incarnation,
}

/// How a replica answers queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadMode {
    /// After a round of heartbeats, which needs no clocks.
    #[default]
    Quorum,
    /// At once while the leader has a lease, which needs clocks within the drift bound; otherwise
    /// after a round.
    Lease,
}

impl Settings {
    /// The default settings of a group with these founders.
    pub fn new(founders: Members) -> Self {
        Self {
            founders,
            seed: 1,
            tick: Duration::from_millis(40),
            election_ticks: 8,
            heartbeat_ticks: 2,
            reads: ReadMode::Quorum,
            drift_ppm: 1_000,
            checkpoint_every: 10_000,
            keep_entries: 1_000,
            piece_bytes: 1 << 20,
            message_bytes: 1 << 20,
            entry_bytes: 4 << 20,
            max_pending_requests: 100_000,
            address: None,
            old_release: None,
            audit: false,
        }
    }

    /// The newest format level that this replica understands, if its release understands
    /// `release_level`.
    pub(crate) fn known_level(&self, release_level: u32, incarnation: Incarnation) -> u32 {
        let old = self.old_release.filter(|old| incarnation <= old.until);
        old.map_or(release_level, |old| old.level.min(release_level))
    }

    /// How long a follower promises not to vote for another candidate, on its own clock. Its own
    /// election timeout is longer than this: the timeout is at least `election_ticks`, of which the
    /// first may come just after the promise.
    pub fn promise_duration(&self) -> Duration {
        self.tick.times((self.election_ticks as u64).saturating_sub(1))
    }

    /// How long a leader may rely on the promises of the followers that answered a round of
    /// heartbeats. The leader counts from the start of the round, on its own clock. Its clock may
    /// be slow by `drift_ppm` while a follower's clock is fast by as much.
    pub fn lease_duration(&self) -> Duration {
        let [slow, fast] =
            [1_000_000 - u128::from(self.drift_ppm.min(1_000_000)), 1_000_000 + u128::from(self.drift_ppm)];
        let nanos = u128::from(self.promise_duration().nanos()) * slow / fast;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
