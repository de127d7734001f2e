//! The followers that need no heartbeat, because appends and their acknowledgements do the same.

use crate::message::Message;
use quorate_core::NodeId;
use std::collections::BTreeMap;

/// The followers to which this leader has sent entries since their last heartbeat.
#[derive(Default)]
pub(crate) struct Heartbeats(BTreeMap<NodeId, SentEntries>);

struct SentEntries {
    /// The index of the first entry. An acknowledgement of an earlier one may have been on its way
    /// since before the last heartbeat.
    first: u64,
    is_acknowledged: bool,
}

impl Heartbeats {
    /// Whether to send this message. A heartbeat is left out if the follower has received entries
    /// instead. Without an acknowledgement, its answer to the heartbeat would show what was lost.
    pub(crate) fn should_send(&mut self, to: NodeId, message: &Message) -> bool {
        match message {
            Message::Append { entries, .. } => {
                if let Some(first) = entries.first() {
                    self.0.entry(to).or_insert(SentEntries { first: first.index, is_acknowledged: false });
                }
                true
            }
            Message::Heartbeat { round: None, .. } => !self.0.remove(&to).is_some_and(|sent| sent.is_acknowledged),
            _ => true,
        }
    }

    /// Records a follower's acknowledgement.
    pub(crate) fn record_received(&mut self, from: NodeId, message: &Message) {
        if let Message::AppendReply { index, rejection_hint: None, .. } = message
            && let Some(sent) = self.0.get_mut(&from)
        {
            sent.is_acknowledged |= *index >= sent.first;
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
        let acknowledge = |index| Message::AppendReply { term: 1, index, commit: 0, rejection_hint: None };
        let append = |index| {
            let entries = vec![Entry { index, term: 1, body: EntryBody::Blank }];
            Message::Append { term: 1, log_term: 1, index: index - 1, entries, commit: 0 }
        };
        let mut heartbeats = Heartbeats::default();
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat));
        heartbeats.record_received(FOLLOWER, &acknowledge(1));
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat), "no entry was sent since the last heartbeat");
        assert!(heartbeats.should_send(FOLLOWER, &append(2)));
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat), "the entry may be lost");
        assert!(heartbeats.should_send(FOLLOWER, &append(3)));
        heartbeats.record_received(FOLLOWER, &acknowledge(2));
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat), "the acknowledgement is of an earlier entry");
        assert!(heartbeats.should_send(FOLLOWER, &append(4)));
        heartbeats.record_received(FOLLOWER, &acknowledge(4));
        assert!(!heartbeats.should_send(FOLLOWER, &heartbeat));
        assert!(heartbeats.should_send(FOLLOWER, &heartbeat));
    }
}
