//! Configuration of a node whose peers run in other processes.

use crate::frame::MESSAGE_LIMIT;
use crate::group::GroupName;
use crate::tls::Security;
use quorate_core::NodeId;
use std::collections::BTreeMap;
use std::time::Duration;

/// The identity of a node, the addresses of its peers, and its limits.
#[derive(Clone, Debug)]
pub struct Settings {
    pub me: NodeId,
    pub group: GroupName,
    /// The name of the algorithm. Nodes refuse peers that run another one.
    pub algorithm: String,
    /// The version of the message encoding. Nodes refuse peers with another one.
    pub message_format: u32,
    /// The address of each peer's listener, `host:port`.
    pub peers: BTreeMap<NodeId, String>,
    pub peer_set: PeerSet,
    pub security: Security,
    pub overflow: OverflowPolicy,
    /// Whether the node gets `Input::Suspect` when a peer's kernel refuses connections at the
    /// address where the peer listened, and `Input::Trust` when the peer is reachable again or has
    /// restarted before a connection was refused. A merely silent peer is never suspected, and
    /// neither is a removed one.
    pub reports_crashes: bool,
    pub limits: Limits,
}

/// Whether the peers of a node may change while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerSet {
    /// The peers stay those of the settings. The group has the nodes 1 to n, and the handshake
    /// refuses a node that is configured for a group of another size.
    Fixed,
    /// [`Handle::set_peers`](crate::Handle::set_peers) replaces the peers. The handshake does not
    /// compare the sizes of groups, because nodes learn of a change at different times. A node that
    /// is not a peer is refused, and its later dials succeed once it is a peer.
    Changing,
}

/// The reaction of a node when the messages for a peer exceed [`Limits::max_held_bytes`], or a
/// message cannot be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// End the node, for protocols that assume reliable links. Clients wait while a link is
    /// crowded. If a message would be lost nevertheless, the node ends.
    End,
    /// Drop the messages that do not fit or cannot be encoded or decoded, and log that, for
    /// protocols that tolerate loss. Clients never wait for a slow peer.
    Drop,
}

/// Bounds on memory and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A link is crowded while at least this many bytes are held for its peer: queued, or sent and
    /// not acknowledged. With [`OverflowPolicy::End`], clients wait meanwhile.
    pub crowded_bytes: usize,
    /// Maximum number of bytes held for one peer.
    pub max_held_bytes: usize,
    /// Maximum length of one encoded message.
    pub max_message_bytes: usize,
    /// Maximum number of message batches from peers that are queued for the node. While the queue
    /// is full, the node does not read from peers.
    pub inbox_batches: usize,
    /// Maximum number of bytes in queued batches. A single larger batch is still accepted, alone.
    pub inbox_bytes: usize,
    /// Maximum number of commands queued for the node.
    pub max_queued_commands: usize,
    /// Maximum number of incoming connections in the handshake. A further one displaces the oldest.
    pub max_pending_connections: usize,
    /// Time after which an unfinished handshake fails.
    pub handshake_timeout: Duration,
    /// Interval after which an idle connection sends a keepalive.
    pub keepalive_interval: Duration,
    /// Time after which a connection counts as dead if the peer sends nothing, or reads nothing of
    /// what this node writes.
    pub idle_timeout: Duration,
    /// Delay after the first failed dial. Each further failure doubles it.
    pub min_backoff: Duration,
    /// Maximum delay between dials, without the part of up to a quarter that each node adds, so
    /// that two nodes do not keep dialling each other at the same time.
    pub max_backoff: Duration,
    /// Maximum delay of an acknowledgement, so that it can be part of another frame.
    pub ack_delay: Duration,
}

impl Limits {
    /// Checks that the limits are consistent. The error is a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        if self.max_message_bytes > MESSAGE_LIMIT {
            return Err(format!("max_message_bytes must be at most {MESSAGE_LIMIT}; got {}.", self.max_message_bytes));
        }
        if self.min_backoff.is_zero() || self.min_backoff > self.max_backoff {
            return Err(format!(
                "min_backoff must be positive and at most max_backoff ({:?}); got {:?}.",
                self.max_backoff, self.min_backoff
            ));
        }
        if self.keepalive_interval.is_zero() || self.idle_timeout <= self.keepalive_interval {
            return Err(format!(
                "keepalive_interval must be positive and less than idle_timeout ({:?}); got {:?}.",
                self.idle_timeout, self.keepalive_interval
            ));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            crowded_bytes: 4 << 20,
            max_held_bytes: 32 << 20,
            max_message_bytes: 16 << 20,
            inbox_batches: 64,
            inbox_bytes: 16 << 20,
            max_queued_commands: 1_024,
            max_pending_connections: 64,
            handshake_timeout: Duration::from_secs(3),
            keepalive_interval: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(5),
            min_backoff: Duration::from_millis(20),
            max_backoff: Duration::from_secs(1),
            ack_delay: Duration::from_millis(40),
        }
    }
}
