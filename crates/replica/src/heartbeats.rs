//! The followers that need no heartbeat, because appends and their acknowledgements do the same.

use crate::message::Message;
use quorate_core::NodeId;
use std::collections::BTreeMap;

/// The followers to which this leader has sent an entry since their last heartbeat, and whether
/// they have acknowledged one since.
#[derive(Default)]
pub(crate) struct Heartbeats(BTreeMap<NodeId, bool>);

impl Heartbeats {
    /// Whether to send this message. A heartbeat is left out if the follower has received entries
    /// instead. Without an acknowledgement, its answer to the heartbeat would show what was lost.
    pub(crate) fn should_send(&mut self, to: NodeId, message: &Message) -> bool {
        match message {
            Message::Append { entries, .. } if !entries.is_empty() => {
                self.0.entry(to).or_insert(false);
                true
            }
            Message::Heartbeat { round: None, .. } => self.0.remove(&to) != Some(true),
            _ => true,
        }
    }

    /// Records a follower's acknowledgement.
    pub(crate) fn record_received(&mut self, from: NodeId, message: &Message) {
        if let Message::AppendReply { rejection_hint: None, .. } = message
            && let Some(has_acknowledged) = self.0.get_mut(&from)
        {
            *has_acknowledged = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Heartbeats;
    use crate::message::{Entry, EntryBody, Message};
    use quorate_core::NodeId;

    const FOLLOWER: NodeId = NodeId::from_index(1);

    #[test]
    fn a_heartbeat_is_left_out_after_an_acknowledged_entry_and_only_once() {
        let heartbeat = Message::Heartbeat { term: 1, commit: 0, round: None };
        let acknowledgement = Message::AppendReply { term: 1, index: 1, commit: 0, rejection_hint: None };
        let entries = vec![Entry { index: 1, term: 1, body: EntryBody::Blank }];
        let append = Message::Append { term: 1, log_term: 0, index: 0, entries, commit: 0 };
        let mut heartbeats = Heartbeats::default();
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat));
        heartbeats.record_received(FOLLOWER, &acknowledgement);
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat), "no entry was sent since the last heartbeat");
        assert!(heartbeats.should_send(FOLLOWER, &append));
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat), "the entry may be lost");
        assert!(heartbeats.should_send(FOLLOWER, &append));
        heartbeats.record_received(FOLLOWER, &acknowledgement);
        assert!(!heartbeats.should_send(FOLLOWER, &heartbeat));
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat));
    }
}
