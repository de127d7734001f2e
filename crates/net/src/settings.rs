//! Configuration of a node that runs between processes.

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
    pub format: u32,
    /// The address of each peer's listener, `host:port`.
    pub peers: BTreeMap<NodeId, String>,
    pub security: Security,
    pub overflow: Overflow,
    /// Whether the node gets `Input::Suspect` when a peer's kernel refuses connections at the
    /// address where the peer listened, and `Input::Trust` when the peer is reachable again. A peer
    /// that is merely silent is never suspected.
    pub reports_crashes: bool,
    pub limits: Limits,
}

/// What a node does when the messages for a peer exceed [`Limits::held_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// End the node. For protocols that assume reliable links: clients wait while a link is
    /// crowded, and if the link overflows all the same, the node ends because it could not keep its
    /// promise.
    End,
    /// Drop the newest messages and log it. For protocols that tolerate loss: clients never wait
    /// for a slow peer.
    Drop,
}

/// Bounds on memory and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of bytes queued for one peer above which clients wait.
    pub crowded_bytes: usize,
    /// Maximum number of bytes queued for one peer.
    pub held_bytes: usize,
    /// Maximum length of one encoded message.
    pub message_bytes: usize,
    /// Maximum number of batches queued for the node. While the queue is full, the node does not
    /// read from peers.
    pub inbox_batches: usize,
    /// Maximum number of bytes in queued batches. A single larger batch is still accepted, alone.
    pub inbox_bytes: usize,
    /// Maximum number of commands queued for the node.
    pub commands: usize,
    /// Maximum number of incoming connections in the handshake. A further one displaces the oldest.
    pub pending_connections: usize,
    /// Time after which an unfinished handshake fails.
    pub handshake_timeout: Duration,
    /// Interval after which an idle connection sends a keepalive.
    pub keepalive_interval: Duration,
    /// Time without any bytes from the peer after which a connection counts as dead.
    pub idle_timeout: Duration,
    /// Delay after the first failed dial. Each further failure doubles it.
    pub min_backoff: Duration,
    /// Maximum delay between dials.
    pub max_backoff: Duration,
    /// Maximum delay of an acknowledgement, which gives it time to travel with other frames.
    pub ack_delay: Duration,
}

impl Limits {
    /// Checks that the limits are consistent. The error is a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        if self.message_bytes > MESSAGE_LIMIT {
            return Err(format!("message_bytes must be at most {MESSAGE_LIMIT}; got {}.", self.message_bytes));
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
            held_bytes: 32 << 20,
            message_bytes: 16 << 20,
            inbox_batches: 64,
            inbox_bytes: 16 << 20,
            commands: 1_024,
            pending_connections: 64,
            handshake_timeout: Duration::from_secs(3),
            keepalive_interval: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(5),
            min_backoff: Duration::from_millis(20),
            max_backoff: Duration::from_secs(1),
            ack_delay: Duration::from_millis(40),
        }
    }
}
