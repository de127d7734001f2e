//! Notices of crashes and restarts, as a perfect failure detector sends them.
//!
//! When a node crashes or restarts, a notice is sent to every other node that is up, and arrives at
//! any later moment. A restart revokes pending notices of the crash, and a crash revokes pending
//! notices of the restart. Notices to a node are lost when it crashes; when it restarts, a notice
//! about each node that is down at that moment is sent to it.

use crate::system::{LOCALS, System};
use crate::tables::{LifecycleNotices, MoveKind};
use quorate_core::NodeId;

/// Which parties are notified when a node crashes or restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrashNotices {
    #[default]
    Off,
    /// The clients of the other nodes, as if each noticed eventually that a node does not answer.
    ToClients,
    /// The other nodes, by their failure detectors, and their clients.
    ToNodes,
}

impl CrashNotices {
    pub(crate) fn are_sent(self) -> bool {
        self != Self::Off
    }
}

/// Sender numbers of notices begin here, beyond those of messages and views.
const FIRST_NOTICE_SENDER: usize = 128;

/// Returns the pseudo-sender of the notices about a node. They share no link with other messages.
pub(crate) fn notice_sender(subject: NodeId) -> NodeId {
    NodeId::from_index(FIRST_NOTICE_SENDER + subject.index())
}

/// Returns the node that notices of this sender are about; `None` if it sends messages or views.
fn subject_of_sender(sender: u8) -> Option<usize> {
    usize::from(sender).checked_sub(FIRST_NOTICE_SENDER)
}

impl System {
    /// Whether a move of this kind also sends notices, so that it changes more of the state than
    /// the outcome of the node's step says.
    #[inline]
    pub(crate) fn is_announced(&self, kind: MoveKind) -> bool {
        self.crash_notices.are_sent() && matches!(kind, MoveKind::Crash | MoveKind::Restart)
    }

    /// Sends the notices about a node's move, if there are any. Changes the state in
    /// `out[start..]`.
    pub(crate) fn send_notices(&self, kind: MoveKind, node: usize, out: &mut Vec<u32>, start: usize) {
        if !self.is_announced(kind) {
            return;
        }
        let is_crash = kind == MoveKind::Crash;
        self.drop_stale_notices(node, is_crash, out, start);
        for other in (0..self.nodes).filter(|other| *other != node) {
            let LifecycleNotices { crashed, restarted } = self.notices(node, other);
            let is_up = self.tables.locals[out[start + LOCALS + other] as usize].is_up;
            match (is_crash, is_up) {
                (true, true) => self.send(crashed, out, start),
                (false, true) => self.send(restarted, out, start),
                (false, false) => self.send(self.notices(other, node).crashed, out, start),
                (true, false) => {}
            }
        }
    }

    /// Removes the notices that a node's crash or restart revokes and, if it crashes, the notices
    /// to it.
    fn drop_stale_notices(&self, node: usize, is_crash: bool, out: &mut Vec<u32>, start: usize) {
        let in_flight_start = start + self.in_flight_start(&out[start..]);
        let is_dropped = |word: u32| {
            let (from, to) = self.link(word);
            let Some(subject) = subject_of_sender(from) else { return false };
            let LifecycleNotices { crashed, restarted } = self.notices(subject, to.into());
            let stale = if is_crash { restarted } else { crashed };
            (subject == node && word == stale) || (is_crash && usize::from(to) == node)
        };
        let mut kept_len = in_flight_start;
        for index in in_flight_start..out.len() {
            if !is_dropped(out[index]) {
                out[kept_len] = out[index];
                kept_len += 1;
            }
        }
        out.truncate(kept_len);
    }

    fn notices(&self, subject: usize, to: usize) -> LifecycleNotices {
        self.tables.notices[subject * self.nodes + to]
    }
}
