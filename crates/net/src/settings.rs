//! What a node between processes is set up with.

use crate::frame::MESSAGE_LIMIT;
use crate::group::GroupName;
use crate::tls::Security;
use quorate_core::NodeId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who a node is, where the others are, and what it puts up with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub me: NodeId,
    pub group: GroupName,
    /// What it runs, by name: nodes of another algorithm are refused.
    pub algorithm: String,
    /// The version of the messages' form: nodes with another one are refused.
    pub format: u32,
    /// The others, each with the address that it listens at, `host:port`.
    pub peers: BTreeMap<NodeId, String>,
    pub security: Security,
    pub overflow: Overflow,
    /// Whether the node is told that a peer's process is gone (`Input::Suspect`) once the peer's kernel refuses connections where it
    /// listened, and that it is back (`Input::Trust`). Silence is never told.
    pub tells_deaths: bool,
    pub limits: Limits,
}

/// What happens when more waits for a peer than a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// For protocols that assume links which lose nothing: users wait while a link is crowded, and a node whose link
    /// overflows all the same ends, because it could not keep its promise.
    End,
    /// For protocols that cope with loss: the newest messages are dropped, with a line in the log, and users never wait
    /// for a slow peer.
    Drop,
}

/// How long and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From so many bytes on that wait for one peer, users wait too.
    pub crowded_bytes: usize,
    /// So many bytes wait for one peer at most.
    pub held_bytes: usize,
    pub message_bytes: usize,
    /// So many batches wait for the node at most; peers whose batches find no place are not read from.
    pub inbox_batches: usize,
    /// So many bytes of batches wait for the node at most, or else the one that is being taken in.
    pub inbox_bytes: usize,
    /// So many commands wait for the node at most.
    pub commands: usize,
    /// So many connections may be in the middle of introducing themselves; the oldest makes way for the next.
    pub strangers: usize,
    /// A connection that has not introduced itself by then is closed.
    pub introduction: Duration,
    /// How long a silent connection waits until it says that it is alive.
    pub ping_every: Duration,
    /// A connection from which nothing came for so long is dead.
    pub silence: Duration,
    /// The first pause after a dial in vain; each further one is twice as long.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// How long a receipt may go without an acknowledgement, so that it can travel with something else.
    pub acknowledge_within: Duration,
}

impl Limits {
    /// Whether they make sense together, or a sentence that says why not.
    pub fn check(&self) -> Result<(), String> {
        if self.message_bytes > MESSAGE_LIMIT {
            return Err(format!(
                "Messages of {} bytes are too long: {MESSAGE_LIMIT} are the most.",
                self.message_bytes
            ));
        }
        if self.first_pause.is_zero() || self.first_pause > self.longest_pause {
            return Err(
                "The first pause between dials must be longer than nothing and no longer than the longest.".into()
            );
        }
        if self.ping_every.is_zero() || self.silence <= self.ping_every {
            return Err("A peer must be allowed to be silent for longer than until its next sign of life.".into());
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
            strangers: 64,
            introduction: Duration::from_secs(3),
            ping_every: Duration::from_secs(1),
            silence: Duration::from_secs(5),
            first_pause: Duration::from_millis(20),
            longest_pause: Duration::from_secs(1),
            acknowledge_within: Duration::from_millis(40),
        }
    }
}
