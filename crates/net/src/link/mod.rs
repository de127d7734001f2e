//! One node's side of its link to one peer: outgoing messages until they are acknowledged, and the
//! acknowledgements of received ones.
//!
//! A link survives its connections. It retransmits on the next connection what was not acknowledged
//! on the last one, in order, and the receiver recognises duplicates by their numbers. So between
//! two given ends no message is lost, repeated or reordered. A peer has a later [`LinkEnd`] when it
//! restarts as another incarnation, and when it removes this node from its peers and adds it again.
//! Then the link drops the messages for the old end. Messages from before the first connection go
//! to the first end that connects.
//!
//! This module performs no IO and reads no clock; its callers do.

mod outgoing;
mod receipts;
#[cfg(test)]
mod tests;

pub use outgoing::{LinkLimits, PushError};
pub use receipts::{DuplicateFilter, Receipt};

use crate::frame::{Body, Generation, Header, LinkEnd, encode};
use crate::group::GroupNumber;
use bytes::Bytes;
use outgoing::Outgoing;
use quorate_core::{Epoch, Incarnation, NodeId};
use receipts::Acknowledgements;
use std::cmp::Ordering;
use thiserror::Error;

/// The node that has the link, which is the sender in the headers of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub group: GroupNumber,
    pub node: NodeId,
    pub end: LinkEnd,
}

/// One node's side of its link to one peer.
#[derive(Debug)]
pub struct Link {
    origin: Origin,
    peer: NodeId,
    peer_end: Option<LinkEnd>,
    outgoing: Outgoing,
    acknowledgements: Acknowledgements,
}

/// How a new connection continues a link, which depends on the peer's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkStart {
    /// The first end that connected: all queued messages are for it.
    First,
    /// The same end as before: the link retransmits all unacknowledged messages.
    Resumed,
    /// Another incarnation: the link dropped this many messages, which were for the previous one.
    Restarted { dropped: u64 },
    /// The same incarnation, which has removed this node from its peers and added it again: the
    /// link dropped this many messages, which were for the previous link.
    Readded { dropped: u64 },
}

/// Why a frame does not belong to this link. The link is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    #[error(
        "node {peer} sent a frame of another group. The frame was ignored and the connection closed; unacknowledged \
         messages are sent again."
    )]
    OtherGroup { peer: NodeId },
    #[error(
        "a frame from node {sender} arrived on the connection to node {peer}. The frame was ignored and the connection \
         closed; unacknowledged messages are sent again."
    )]
    OtherSender { peer: NodeId, sender: NodeId },
    #[error(
        "a frame from incarnation {sender_incarnation} of node {peer} arrived on a connection to another incarnation. The frame was \
         ignored and the connection closed; messages of the connected incarnation are not affected."
    )]
    OtherIncarnation { peer: NodeId, sender_incarnation: Incarnation },
    #[error(
        "incarnation {sender_incarnation} of node {peer} tries to connect, but incarnation {known_incarnation} has connected before. Nothing \
         was changed; stop the older process."
    )]
    OlderIncarnation { peer: NodeId, sender_incarnation: Incarnation, known_incarnation: Incarnation },
    #[error(
        "node {peer} tries to continue a link that it has replaced since. Nothing was changed; its current link is not \
         affected."
    )]
    ReplacedLink { peer: NodeId },
    #[error(
        "node {peer} acknowledges message {acknowledged}, but the last message sent to it is {last_sent}. No message was \
         released and the connection was closed; run the same release on both nodes."
    )]
    NeverSent { peer: NodeId, acknowledged: u64, last_sent: u64 },
}

impl Link {
    /// A link to a peer that has not connected yet.
    pub fn new(origin: Origin, peer: NodeId, limits: LinkLimits) -> Self {
        Self {
            origin,
            peer,
            peer_end: None,
            outgoing: Outgoing::new(limits),
            acknowledgements: Acknowledgements::default(),
        }
    }

    /// The node at the other end.
    pub fn peer(&self) -> NodeId {
        self.peer
    }

    /// The peer's end that connected last, to which our acknowledgements refer.
    pub fn peer_end(&self) -> Option<LinkEnd> {
        self.peer_end
    }

    // --------------------------------------------------------------------- connections

    /// Starts using a connection that both nodes have accepted. `header` is from the Hello or
    /// Welcome of a peer whose link has this generation, and its acknowledgement refers to our end
    /// `acknowledged_end`.
    ///
    /// After this, [`take_frame`](Self::take_frame) returns all unacknowledged frames again, from
    /// the first one on.
    pub fn begin_connection(
        &mut self,
        header: &Header,
        generation: Generation,
        acknowledged_end: Option<LinkEnd>,
    ) -> Result<LinkStart, LinkError> {
        self.check_sender(header)?;
        let peer_end = LinkEnd { incarnation: header.incarnation, generation };
        let start = self.start_with(peer_end)?;
        // An acknowledgement to an older end of ours says nothing about our current one.
        let acknowledged = if acknowledged_end == Some(self.origin.end) { header.acknowledged } else { 0 };
        let last_sent = if start == LinkStart::Resumed { self.outgoing.last_sent() } else { 0 };
        self.check_acknowledged(acknowledged, last_sent)?;
        self.peer_end = Some(peer_end);
        Ok(self.prepare_messages(start, acknowledged))
    }

    /// How a connection to this end of the peer continues the link, before anything is dropped.
    /// Fails if the end is older than the known one.
    fn start_with(&self, peer_end: LinkEnd) -> Result<LinkStart, LinkError> {
        let peer = self.peer;
        let Some(known) = self.peer_end else { return Ok(LinkStart::First) };
        let (sender_incarnation, known_incarnation) = (peer_end.incarnation, known.incarnation);
        match sender_incarnation.cmp(&known_incarnation) {
            Ordering::Less => Err(LinkError::OlderIncarnation { peer, sender_incarnation, known_incarnation }),
            Ordering::Greater => Ok(LinkStart::Restarted { dropped: 0 }),
            Ordering::Equal => match peer_end.generation.cmp(&known.generation) {
                Ordering::Less => Err(LinkError::ReplacedLink { peer }),
                Ordering::Equal => Ok(LinkStart::Resumed),
                Ordering::Greater => Ok(LinkStart::Readded { dropped: 0 }),
            },
        }
    }

    /// Prepares the outgoing messages and acknowledgements for the connection. Returns `start` with
    /// the number of dropped messages.
    fn prepare_messages(&mut self, start: LinkStart, acknowledged: u64) -> LinkStart {
        match start {
            LinkStart::First => start,
            LinkStart::Resumed => {
                self.outgoing.release(acknowledged);
                self.outgoing.rewind();
                start
            }
            LinkStart::Restarted { .. } => LinkStart::Restarted { dropped: self.reset() },
            LinkStart::Readded { .. } => LinkStart::Readded { dropped: self.reset() },
        }
    }

    /// Forgets everything about the peer's previous end. Returns the number of dropped messages.
    fn reset(&mut self) -> u64 {
        self.acknowledgements.reset();
        self.outgoing.drop_all()
    }

    /// Applies the acknowledgement in the header of a received frame. On success the caller
    /// processes the body.
    pub fn receive_header(&mut self, header: &Header) -> Result<(), LinkError> {
        self.check_sender(header)?;
        if self.peer_end.map(|end| end.incarnation) != Some(header.incarnation) {
            return Err(LinkError::OtherIncarnation { peer: self.peer, sender_incarnation: header.incarnation });
        }
        self.check_acknowledged(header.acknowledged, self.outgoing.last_sent())?;
        self.outgoing.release(header.acknowledged);
        Ok(())
    }

    fn check_sender(&self, header: &Header) -> Result<(), LinkError> {
        let peer = self.peer;
        if header.group != self.origin.group {
            Err(LinkError::OtherGroup { peer })
        } else if header.sender != peer {
            Err(LinkError::OtherSender { peer, sender: header.sender })
        } else {
            Ok(())
        }
    }

    fn check_acknowledged(&self, acknowledged: u64, last_sent: u64) -> Result<(), LinkError> {
        if acknowledged > last_sent {
            return Err(LinkError::NeverSent { peer: self.peer, acknowledged, last_sent });
        }
        Ok(())
    }

    // --------------------------------------------------------------- outgoing messages

    /// Queues a message. Its number must be above the numbers of all messages before it. On an
    /// error the link is unchanged.
    #[inline]
    pub fn push(&mut self, number: u64, message: &[u8]) -> Result<(), PushError> {
        self.outgoing.push(number, message)
    }

    /// The next frame to write: an unacknowledged one of the previous connection, or else a new one
    /// with queued messages. `None` before the first connection.
    ///
    /// A retransmitted frame has the same bytes as before. It carries an old acknowledgement, which
    /// is harmless because acknowledgements only grow.
    pub fn take_frame(&mut self, epoch: Epoch) -> Option<Bytes> {
        self.peer_end?;
        if let Some(frame) = self.outgoing.take_retransmission() {
            return Some(frame);
        }
        if !self.outgoing.has_new() {
            return None;
        }
        let header = self.header(epoch);
        self.acknowledgements.mark_sent();
        self.outgoing.take_new(&header)
    }

    /// Whether [`take_frame`](Self::take_frame) would return a frame.
    pub fn has_frames(&self) -> bool {
        self.peer_end.is_some() && (self.outgoing.has_retransmission() || self.outgoing.has_new())
    }

    /// Number of messages in all frames that were taken, those sent again included.
    pub fn messages_sent(&self) -> u64 {
        self.outgoing.messages_sent()
    }

    /// Number of bytes that are queued or not acknowledged.
    pub fn held_bytes(&self) -> usize {
        self.outgoing.held_bytes()
    }

    /// Whether the link holds so many bytes that clients should wait; see [`LinkLimits`].
    pub fn is_crowded(&self) -> bool {
        self.outgoing.is_crowded()
    }

    // --------------------------------------------------------------- received messages

    /// Records that the node consumed a batch of `bytes`, and with it all messages up to number
    /// `last` of this end of the peer. A record for an earlier end changes nothing.
    pub fn record_consumed(&mut self, peer_end: LinkEnd, last: u64, bytes: usize) {
        if self.peer_end == Some(peer_end) {
            self.acknowledgements.record_batch(last, bytes);
        }
    }

    /// The number of the last message consumed from the peer's current end.
    pub fn last_consumed(&self) -> u64 {
        self.acknowledgements.last_number()
    }

    /// Whether the node consumed enough bytes since the last acknowledgement to send the next one
    /// immediately.
    pub fn must_acknowledge_now(&self) -> bool {
        self.acknowledgements.is_overdue()
    }

    /// Whether the node consumed a batch since the last acknowledgement. The next new frame
    /// acknowledges the batch; if there is none soon, the caller sends a frame for the
    /// acknowledgement alone.
    pub fn has_unacknowledged(&self) -> bool {
        self.acknowledgements.is_pending()
    }

    // -------------------------------------------------------------------- other frames

    /// The header of a frame that is written now.
    pub fn header(&self, epoch: Epoch) -> Header {
        let Origin { group, node: sender, end } = self.origin;
        Header { group, sender, incarnation: end.incarnation, epoch, acknowledged: self.acknowledgements.last_number() }
    }

    /// A frame with this body. Like every new frame it acknowledges all consumed messages.
    pub fn frame(&mut self, epoch: Epoch, body: &Body) -> Bytes {
        self.acknowledgements.mark_sent();
        encode(&self.header(epoch), body)
    }
}
