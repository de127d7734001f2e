//! Serialization of messages and reports.
//!
//! The text form does not say which ordering a message belongs to, for compatibility with existing
//! journals. The binary form must say it, because nothing else tells a reader whether a vector or
//! an order report follows. The variant number does so without an extra byte.

use super::isis::{Priorities, Vote};
use super::member::Holdings;
use super::sequencer::Positions;
use super::{Causes, DataMessage, Message, MessageId, OrderMessage, OrderReport, Payload, Piece, Position};
use crate::group::Epoch;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use serde::ser::{SerializeStructVariant, SerializeTupleVariant};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_none() { serializer.serialize_unit() } else { self.0.serialize(serializer) }
    }
}

impl From<()> for Causes {
    fn from((): ()) -> Self {
        Self::none()
    }
}

impl Serialize for Message {
    // The variant numbers are those of `MessageForm`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "Message";
        match self {
            Self::Data(data, position) => {
                let number = if data.tag.is_none() { 0 } else { 9 };
                let mut fields = serializer.serialize_tuple_variant(NAME, number, "letter", 2)?;
                fields.serialize_field(data)?;
                fields.serialize_field(position)?;
                fields.end()
            }
            Self::Order(OrderMessage::Position(position)) => {
                serializer.serialize_newtype_variant(NAME, 1, "word", position)
            }
            Self::Order(OrderMessage::Vote(vote)) => serializer.serialize_newtype_variant(NAME, 10, "word", vote),
            Self::Held(counts) => serializer.serialize_newtype_variant(NAME, 2, "held", counts),
            Self::Drain(upto) => serializer.serialize_newtype_variant(NAME, 3, "drain", upto),
            Self::Remainder(data) => {
                let number = if data.tag.is_none() { 4 } else { 11 };
                serializer.serialize_newtype_variant(NAME, number, "remainder", data)
            }
            Self::Complete => serializer.serialize_unit_variant(NAME, 5, "complete"),
            Self::Ask { boundary, offset, digest } => {
                let mut fields = serializer.serialize_struct_variant(NAME, 6, "ask", 3)?;
                fields.serialize_field("boundary", boundary)?;
                fields.serialize_field("offset", offset)?;
                fields.serialize_field("digest", digest)?;
                fields.end()
            }
            Self::Piece(piece) => serializer.serialize_newtype_variant(NAME, 7, "piece", piece),
            Self::Loaded(boundary) => serializer.serialize_newtype_variant(NAME, 8, "loaded", boundary),
        }
    }
}

#[derive(Deserialize)]
enum MessageForm {
    Data(DataForm<()>, Option<Position>),
    Position(Position),
    Held(Vec<u64>),
    Drain(u64),
    Remainder(DataForm<()>),
    Complete,
    Ask { boundary: Epoch, offset: u64, digest: Option<u64> },
    Piece(Piece),
    Loaded(Epoch),
    CausalData(DataForm<Causes>, Option<Position>),
    Vote(Vote),
    CausalRemainder(DataForm<Causes>),
}

#[derive(Deserialize)]
struct DataForm<T> {
    id: MessageId,
    tag: T,
    payload: Payload,
}

impl<T: Into<Causes>> From<DataForm<T>> for DataMessage {
    fn from(DataForm { id, tag, payload }: DataForm<T>) -> Self {
        Self { id, tag: tag.into(), payload }
    }
}

impl<'de> Deserialize<'de> for Message {
    /// Reads the binary form only.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match MessageForm::deserialize(deserializer)? {
            MessageForm::Data(data, position) => Self::Data(data.into(), position),
            MessageForm::CausalData(data, position) => Self::Data(data.into(), position),
            MessageForm::Position(position) => Self::Order(OrderMessage::Position(position)),
            MessageForm::Vote(vote) => Self::Order(OrderMessage::Vote(vote)),
            MessageForm::Held(counts) => Self::Held(counts),
            MessageForm::Drain(upto) => Self::Drain(upto),
            MessageForm::Remainder(data) => Self::Remainder(data.into()),
            MessageForm::CausalRemainder(data) => Self::Remainder(data.into()),
            MessageForm::Complete => Self::Complete,
            MessageForm::Ask { boundary, offset, digest } => Self::Ask { boundary, offset, digest },
            MessageForm::Piece(piece) => Self::Piece(piece),
            MessageForm::Loaded(boundary) => Self::Loaded(boundary),
        })
    }
}

/// Writes a member's holdings, if it is in a view. The variant numbers are those of `HoldingsForm`.
pub(super) fn serialize<S: Serializer>(holdings: &Option<Holdings>, serializer: S) -> Result<S::Ok, S::Error> {
    const NAME: &str = "Holdings";
    match holdings {
        _ if serializer.is_human_readable() => holdings.serialize(serializer),
        None => serializer.serialize_unit_variant(NAME, 0, "none"),
        Some(Holdings { view, held, floor, order_report }) => {
            let number = match order_report {
                OrderReport::Nothing => 1,
                OrderReport::Positions(_) => 2,
                OrderReport::Priorities(_) => 3,
            };
            // One vector is enough: a faulty member may send messages without one where all others
            // have one.
            let is_causal = held.values().any(|causes| !causes.is_none());
            // The causal forms follow the three plain ones.
            let number = if is_causal { number + 3 } else { number };
            let mut fields = serializer.serialize_tuple_variant(NAME, number, "some", 4)?;
            fields.serialize_field(view)?;
            if is_causal {
                fields.serialize_field(&held.iter().map(|(id, causes)| (id, &causes.0)).collect::<Vec<_>>())?;
            } else {
                fields.serialize_field(&held.keys().map(|id| (id, ())).collect::<Vec<_>>())?;
            }
            fields.serialize_field(floor)?;
            fields.serialize_field(order_report)?;
            fields.end()
        }
    }
}

/// Reads a member's holdings from the binary form.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Holdings>, D::Error> {
    Ok(match HoldingsForm::deserialize(deserializer)? {
        HoldingsForm::None => None,
        HoldingsForm::Plain(held, ()) => Some(held.with(OrderReport::Nothing)),
        HoldingsForm::Numbered(held, positions) => Some(held.with(OrderReport::Positions(positions))),
        HoldingsForm::Agreed(held, priorities) => Some(held.with(OrderReport::Priorities(priorities))),
        HoldingsForm::Causal(held, ()) => Some(held.with(OrderReport::Nothing)),
        HoldingsForm::CausalNumbered(held, positions) => Some(held.with(OrderReport::Positions(positions))),
        HoldingsForm::CausalAgreed(held, priorities) => Some(held.with(OrderReport::Priorities(priorities))),
    })
}

/// The binary form of a member's holdings, with its order report.
#[derive(Deserialize)]
enum HoldingsForm {
    None,
    Plain(HeldForm<()>, ()),
    Numbered(HeldForm<()>, Positions),
    Agreed(HeldForm<()>, Priorities),
    Causal(HeldForm<Causes>, ()),
    CausalNumbered(HeldForm<Causes>, Positions),
    CausalAgreed(HeldForm<Causes>, Priorities),
}

#[derive(Deserialize)]
struct HeldForm<T> {
    view: Epoch,
    held: Vec<(MessageId, T)>,
    floor: BTreeMap<NodeId, u64>,
}

impl<T: Into<Causes>> HeldForm<T> {
    fn with(self, order_report: OrderReport) -> Holdings {
        let held = self.held.into_iter().map(|(id, tag)| (id, tag.into())).collect();
        Holdings { view: self.view, held, floor: self.floor, order_report }
    }
}
