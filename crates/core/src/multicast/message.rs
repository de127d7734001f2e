//! Messages between the members of a group.

use super::{Causes, MessageId, OrderMessage, Payload, Position};
use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use alloc::vec::Vec;
use core::fmt;

/// A message between members: it carries a multicast or a piece of the state, or refers to them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// A multicast, optionally with its position.
    Data(DataMessage, Option<Position>),
    /// A message about the order.
    Order(OrderMessage),
    /// How many messages of each member the sender acknowledges, one count per member in the order
    /// of the group. The sender holds these messages without a gap; it may hold more.
    Acknowledgement(Vec<u64>),
    /// The sender wants to leave. The receiver must acknowledge at once when it holds all messages
    /// of the sender up to the one with this number.
    Drain(u64),
    /// A multicast of the previous view that the receiver lacks.
    Remainder(DataMessage),
    /// The sender holds all messages of the previous view that remain to be delivered.
    Complete,
    /// The sender, a joiner, asks for the state at the beginning of view `boundary`, from byte
    /// `offset` on.
    StateRequest {
        boundary: Epoch,
        offset: u64,
        /// Digest of the state that the sender has begun to load, if any.
        digest: Option<u64>,
    },
    /// The answer to a `StateRequest`.
    StatePiece(StatePiece),
    /// The sender has loaded the state at the beginning of this view.
    StateLoaded(Epoch),
}

/// A multicast as it travels between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DataMessage {
    pub id: MessageId,
    /// For each member, the number of its messages that precede this one; for the sender, the
    /// number of this message itself. Empty if the order is not causal.
    pub tag: Causes,
    pub payload: Payload,
}

/// A piece of the replicated state, for a joiner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StatePiece {
    /// The view at whose beginning the group had this state.
    pub boundary: Epoch,
    /// Position of the first byte of the piece in the state.
    pub offset: u64,
    /// Number of bytes of the whole state.
    pub length: u64,
    /// Digest of the whole state.
    pub digest: u64,
    pub bytes: Payload,
}

/// The id, and the tag if there is one: `2#1 (0,1,0)`.
impl fmt::Display for DataMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)?;
        if self.tag.is_none() { Ok(()) } else { write!(f, " {}", self.tag) }
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Data(..) => "data",
            Self::Order(order) => order.kind(),
            Self::Acknowledgement(_) => "acknowledgement",
            Self::Drain(_) => "drain",
            Self::Remainder(_) => "remainder",
            Self::Complete => "complete",
            Self::StateRequest { .. } => "state-request",
            Self::StatePiece(_) => "state-piece",
            Self::StateLoaded(_) => "state-loaded",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            // The label of a position includes the id of its message, but not the tag.
            Self::Data(data, position) => position.as_ref().and_then(Describe::label).or(Some(data)),
            Self::Remainder(data) => Some(data),
            Self::Order(order) => order.label(),
            Self::Acknowledgement(_)
            | Self::Drain(_)
            | Self::Complete
            | Self::StateRequest { .. }
            | Self::StatePiece(_)
            | Self::StateLoaded(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Data(..) => Class::Algorithm,
            Self::Order(order) => order.class(),
            Self::Acknowledgement(_)
            | Self::Drain(_)
            | Self::Remainder(_)
            | Self::Complete
            | Self::StateRequest { .. }
            | Self::StatePiece(_)
            | Self::StateLoaded(_) => Class::Control,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Data(data, _) | Self::Remainder(data) => Some(data.id.sender),
            Self::Order(order) => order.on_behalf_of(),
            Self::Acknowledgement(_)
            | Self::Drain(_)
            | Self::Complete
            | Self::StateRequest { .. }
            | Self::StatePiece(_)
            | Self::StateLoaded(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataMessage, Message};
    use crate::describe::Describe;
    use crate::multicast::sequencer::Position;
    use crate::multicast::support::{default_plan, id};
    use crate::multicast::{Causal, Causes, OrderMessage, Ordering, Payload};
    use crate::view::View;
    use crate::wrap::{Content, Envelope};
    use alloc::string::ToString;

    fn label<M: Describe>(message: &M) -> Option<alloc::string::String> {
        message.label().map(ToString::to_string)
    }

    #[test]
    fn a_data_message_is_labelled_by_its_id_and_tag() {
        let (id, plan) = (id(2, 1), default_plan(3));
        let tag = Causal::create(&plan, id.sender, &plan.members).next_tag();
        let data = DataMessage { id, tag, payload: Payload::from("m") };
        assert_eq!(label(&Message::Data(data.clone(), None)).as_deref(), Some("2#1 (0,1,0)"));
        let untagged = DataMessage { tag: Causes::none(), ..data.clone() };
        assert_eq!(label(&Message::Data(untagged, None)).as_deref(), Some("2#1"), "without a tag");
        let position = Position { number: 3, id };
        assert_eq!(label(&Message::Data(data.clone(), Some(position))).as_deref(), Some("2#1 at 3"));
        assert_eq!(label(&Message::Order(OrderMessage::Position(position))).as_deref(), Some("2#1 at 3"));
        assert_eq!(label(&Message::Complete), None, "`Complete` needs no label beside its kind");
        let content = Content::<_, ()>::Inner(Message::Remainder(data));
        let envelope = Envelope { epoch: View::FIRST, content };
        assert_eq!(label(&envelope).as_deref(), Some("2#1 (0,1,0)"), "a wrapper keeps the label");
    }
}
