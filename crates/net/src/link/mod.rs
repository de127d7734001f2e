//! One node's side of its link to one peer: what waits to be written and acknowledged, and what has arrived.
//!
//! Connections break; a link does not. What was not acknowledged on one connection is sent again on the next, in order,
//! and the receiver knows a repetition by its number. So within a pair of lives nothing is lost, repeated or reordered.
//! When the peer comes back as another life, what was meant for its old one is dropped: that node is no more. Before the
//! first contact messages wait for whichever life is met first.
//!
//! Nothing here reads or writes, waits or knows the time: that is for the tasks around it.

mod outgoing;
mod receipts;
#[cfg(test)]
mod tests;

pub use outgoing::{PushError, Room};
pub use receipts::{Receipt, Reception};

use crate::frame::{Body, Header, encode};
use crate::group::GroupNumber;
use bytes::Bytes;
use outgoing::Outgoing;
use quorate_core::{Epoch, Incarnation, NodeId};
use receipts::Receipts;
use thiserror::Error;

/// Whose frames they are that a link writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub group: GroupNumber,
    pub node: NodeId,
    pub incarnation: Incarnation,
}

/// One node's side of its link to one peer.
#[derive(Debug)]
pub struct Link {
    origin: Origin,
    peer: NodeId,
    life: Option<Incarnation>,
    outgoing: Outgoing,
    receipts: Receipts,
}

/// Whom a link has met at the other end of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// The first life ever: everything that waits is for it.
    First,
    /// The life that was met before: everything that is not acknowledged will be taken again.
    Again,
    /// Another life: what was meant for the one before, and not acknowledged, is dropped.
    Reborn { dropped: u64 },
}

/// Why a frame does not belong to this link. Nothing of it was used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    #[error(
        "A frame of another group arrived from node {peer}. It was not used, and the connection is closed; what was \
         not acknowledged is sent again."
    )]
    OtherGroup { peer: NodeId },
    #[error(
        "A frame of node {sender} arrived on the connection to node {peer}. It was not used, and the connection is \
         closed; what was not acknowledged is sent again."
    )]
    OtherSender { peer: NodeId, sender: NodeId },
    #[error(
        "A frame of life {found} of node {peer} arrived, and another life was met. It was not used, and its \
         connection is closed; what this life sends is not affected."
    )]
    OtherLife { peer: NodeId, found: Incarnation },
    #[error(
        "Life {found} of node {peer} wants to meet, and life {known} was met already. Nothing was changed; stop the \
         older process."
    )]
    OlderLife { peer: NodeId, found: Incarnation, known: Incarnation },
    #[error(
        "Node {peer} acknowledges message {acknowledged}, and {sent} is the last that it was sent. Nothing was \
         released, and the connection is closed; run the same release on both nodes."
    )]
    NeverSent { peer: NodeId, acknowledged: u64, sent: u64 },
}

impl Link {
    /// A link to a peer that was not met yet.
    pub fn new(origin: Origin, peer: NodeId, room: Room) -> Self {
        Self { origin, peer, life: None, outgoing: Outgoing::new(room), receipts: Receipts::default() }
    }

    /// The node at the other end.
    pub fn peer(&self) -> NodeId {
        self.peer
    }

    /// Its life that was met last, to which our acknowledgements refer.
    pub fn life(&self) -> Option<Incarnation> {
        self.life
    }

    // ---------------------------------------------------------------------------------------- connections

    /// A connection begins: both ends have accepted it. The header is that of the peer's Hello or Welcome, and `knows`
    /// is our life that its acknowledgement refers to.
    ///
    /// From here on everything that is not acknowledged will be taken again, from the first on.
    pub fn meet(&mut self, header: &Header, knows: Option<Incarnation>) -> Result<Met, LinkError> {
        self.check_sender(header)?;
        let found = header.incarnation;
        if let Some(known) = self.life.filter(|known| found < *known) {
            return Err(LinkError::OlderLife { peer: self.peer, found, known });
        }
        // What the peer acknowledges to an older life of ours says nothing about this one.
        let acknowledged = if knows == Some(self.origin.incarnation) { header.acknowledged } else { 0 };
        let met = match self.life {
            None => Met::First,
            Some(known) if known == found => Met::Again,
            Some(_) => Met::Reborn { dropped: 0 },
        };
        let sent = if met == Met::Again { self.outgoing.sent() } else { 0 };
        self.check_acknowledged(acknowledged, sent)?;
        self.life = Some(found);
        Ok(self.begin(met, acknowledged))
    }

    fn begin(&mut self, met: Met, acknowledged: u64) -> Met {
        match met {
            Met::First => met,
            Met::Again => {
                self.outgoing.acknowledged(acknowledged);
                self.outgoing.rewind();
                met
            }
            Met::Reborn { .. } => {
                self.receipts.forget();
                Met::Reborn { dropped: self.outgoing.drop_all() }
            }
        }
    }

    /// A frame arrived. Its acknowledgement is taken; its body is for the caller, unless this is an error.
    pub fn hear(&mut self, header: &Header) -> Result<(), LinkError> {
        self.check_sender(header)?;
        if self.life != Some(header.incarnation) {
            return Err(LinkError::OtherLife { peer: self.peer, found: header.incarnation });
        }
        self.check_acknowledged(header.acknowledged, self.outgoing.sent())?;
        self.outgoing.acknowledged(header.acknowledged);
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

    fn check_acknowledged(&self, acknowledged: u64, sent: u64) -> Result<(), LinkError> {
        if acknowledged > sent {
            return Err(LinkError::NeverSent { peer: self.peer, acknowledged, sent });
        }
        Ok(())
    }

    // ------------------------------------------------------------------------------------- what goes out

    /// Takes a message that is to go out. Its number is above that of every message before.
    ///
    /// If there is no room for it, nothing was changed.
    #[inline]
    pub fn push(&mut self, number: u64, message: &[u8]) -> Result<(), PushError> {
        self.outgoing.push(number, message)
    }

    /// The next frame to be written: one that the connection before lost, or else what has gathered since the last one.
    /// Nothing before the first contact.
    ///
    /// A frame that is taken again is the very same bytes. Its acknowledgement is an old one, which does no harm:
    /// acknowledgements only grow.
    pub fn take(&mut self, epoch: Epoch) -> Option<Bytes> {
        self.life?;
        if let Some(frame) = self.outgoing.take_again() {
            return Some(frame);
        }
        if !self.outgoing.has_new() {
            return None;
        }
        let header = self.header(epoch);
        self.receipts.told();
        self.outgoing.take_new(&header)
    }

    /// Is there anything for [`take`](Self::take)?
    pub fn has_frames(&self) -> bool {
        self.life.is_some() && (self.outgoing.has_again() || self.outgoing.has_new())
    }

    /// The bytes that wait to be taken or acknowledged.
    pub fn held_bytes(&self) -> usize {
        self.outgoing.held()
    }

    /// Is so much held that users should wait?
    pub fn is_crowded(&self) -> bool {
        self.outgoing.is_crowded()
    }

    // -------------------------------------------------------------------------------------- what comes in

    /// Everything up to number `last` of this life has been taken in, with a batch of so many bytes. A late word about a
    /// life that is over changes nothing.
    pub fn heard(&mut self, life: Incarnation, last: u64, bytes: usize) {
        if self.life == Some(life) {
            self.receipts.heard(last, bytes);
        }
    }

    /// The last number that was taken in of the life that was met.
    pub fn last_received(&self) -> u64 {
        self.receipts.last()
    }

    /// Has so much been taken in since the last acknowledgement that the next should not wait?
    pub fn owes_acknowledgement(&self) -> bool {
        self.receipts.is_due()
    }

    /// Has anything been taken in since the last acknowledgement? It goes with the next frame, or, if there is none for
    /// a while, by itself.
    pub fn has_unacknowledged(&self) -> bool {
        self.receipts.is_open()
    }

    // ------------------------------------------------------------------------------------- other frames

    /// What a frame written now says first.
    pub fn header(&self, epoch: Epoch) -> Header {
        let Origin { group, node: sender, incarnation } = self.origin;
        Header { group, sender, incarnation, epoch, acknowledged: self.receipts.last() }
    }

    /// A frame with this body. Like every frame it acknowledges what has arrived.
    pub fn frame(&mut self, epoch: Epoch, body: &Body) -> Bytes {
        self.receipts.told();
        encode(&self.header(epoch), body)
    }
}
