//! Outgoing messages of a node: encoded once, staged until the turn ends, then pushed to the links.
//!
//! A turn is one round of the node's task: it handles a few inputs, and then records, saves and
//! sends their effects.

use crate::context::Context;
use crate::link_handle::LinkHandle;
use crate::settings::OverflowPolicy;
use quorate_core::{Codec, Group, NodeId, Protocol};
use quorate_drive::Outlet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Collects the messages and events of a turn. `C` is the codec of messages.
pub(crate) struct Outbox<P: Protocol, C> {
    pub(crate) me: NodeId,
    pub(crate) codec: C,
    pub(crate) overflow: OverflowPolicy,
    context: Arc<Context>,
    staged: BTreeMap<NodeId, StagedMessages>,
    /// Messages of this turn for peers that were removed in it.
    last_messages: Vec<StagedMessages>,
    pub(crate) events: Vec<P::Event>,
    /// The message that was encoded last.
    scratch: Vec<u8>,
    /// Messages that the node sent to itself, with their numbers.
    pub(crate) loopback: Vec<(u64, P::Message)>,
    /// Why the node must end, if a message of this turn was lost.
    pub(crate) loss: Option<MessageLoss>,
}

/// Messages for one peer that wait for the end of the turn.
struct StagedMessages {
    link: Arc<LinkHandle>,
    bytes: Vec<u8>,
    /// The number and the end offset in `bytes` of each message.
    message_ends: Vec<(u64, usize)>,
}

/// Why a message to or from a peer was lost, in a protocol that assumes reliable links.
#[derive(Clone, Debug)]
pub(crate) struct MessageLoss(pub(crate) String);

impl<P: Protocol, C: Codec<P>> Outbox<P, C> {
    pub(crate) fn new(context: Arc<Context>, codec: C, overflow: OverflowPolicy) -> Self {
        Self {
            me: context.terms.me,
            codec,
            overflow,
            context,
            staged: BTreeMap::new(),
            last_messages: Vec::new(),
            events: Vec::new(),
            scratch: Vec::new(),
            loopback: Vec::new(),
            loss: None,
        }
    }

    pub(crate) fn add_peer(&mut self, node: NodeId, link: Arc<LinkHandle>) {
        self.staged.insert(node, StagedMessages { link, bytes: Vec::new(), message_ends: Vec::new() });
    }

    /// Removes a peer. Its link begins to close after the next flush has pushed the messages that
    /// are staged for it.
    pub(crate) fn remove_peer(&mut self, node: NodeId) {
        self.last_messages.extend(self.staged.remove(&node));
    }

    /// Pushes all staged messages to their links, after the caller has recorded the turn. Fails if
    /// a message of the turn was lost and the protocol assumes reliable links.
    pub(crate) fn flush(&mut self) -> Result<(), MessageLoss> {
        for (node, staged) in &mut self.staged {
            let Some(refused_count) = staged.flush() else { continue };
            let sentence = format!(
                "The link to node {node} is full and did not accept {refused_count} messages: the peer has not \
                 acknowledged those before them."
            );
            match self.overflow {
                OverflowPolicy::End => self.loss = Some(MessageLoss(sentence)),
                OverflowPolicy::Drop => staged.link.report_loss(refused_count, &sentence),
            }
        }
        for mut staged in self.last_messages.drain(..) {
            // A removed peer does not need the messages that its link does not accept.
            let _ = staged.flush();
            staged.link.close();
        }
        self.loss.take().map_or(Ok(()), Err)
    }

    /// Whether clients should wait because a link holds too much.
    pub(crate) fn is_crowded(&self) -> bool {
        self.overflow == OverflowPolicy::End && self.staged.values().any(|staged| staged.link.is_crowded())
    }

    /// Encodes a message into `scratch`. Returns `false`, and reports why, if it cannot be sent.
    fn encode(&mut self, message: &P::Message) -> bool {
        let max_message_bytes = self.context.limits.max_message_bytes;
        self.scratch.clear();
        let reason = match self.codec.encode(message, &mut self.scratch) {
            Ok(()) if self.scratch.len() <= max_message_bytes => return true,
            Ok(()) => {
                format!("it has {} bytes, and the maximum is {max_message_bytes}", self.scratch.len())
            }
            Err(malformed) => malformed.to_string(),
        };
        let sentence = format!("Cannot send a message: {reason}.");
        match self.overflow {
            OverflowPolicy::End => self.loss = Some(MessageLoss(sentence)),
            OverflowPolicy::Drop => tracing::error!("{sentence} The node dropped it."),
        }
        false
    }

    /// Appends the message in `scratch` to those staged for a node.
    fn stage(&mut self, to: NodeId, number: u64) {
        // A destination that is not a peer is treated like a node that never answers.
        let Some(staged) = self.staged.get_mut(&to) else {
            self.context.log.info(format_args!("Dropped a message to node {to}, which is not a peer of this node."));
            return;
        };
        staged.bytes.extend_from_slice(&self.scratch);
        staged.message_ends.push((number, staged.bytes.len()));
    }
}

impl<P: Protocol, C: Codec<P>> Outlet<P> for Outbox<P, C> {
    fn send(&mut self, to: NodeId, number: u64, message: P::Message) {
        if to == self.me {
            self.loopback.push((number, message));
        } else if self.encode(&message) {
            self.stage(to, number);
        }
    }

    fn multicast(&mut self, to: &Group, first_number: u64, message: P::Message) {
        if self.encode(&message) {
            let me = self.me;
            (first_number..).zip(to.others(me)).for_each(|(number, to)| self.stage(to, number));
        }
    }

    fn emit(&mut self, event: P::Event) {
        self.events.push(event);
    }
}

impl StagedMessages {
    /// Pushes everything to the link. Returns the number of messages that the link did not accept,
    /// if any.
    fn flush(&mut self) -> Option<usize> {
        if self.message_ends.is_empty() {
            return None;
        }
        let refused_count = self.link.push_all(&self.bytes, &self.message_ends);
        self.bytes.clear();
        self.message_ends.clear();
        (refused_count > 0).then_some(refused_count)
    }
}
