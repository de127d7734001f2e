//! Serialization of messages and reports.
//!
//! The text form has the old names of existing journals, such as `letter` for `Data`, and does not
//! say which ordering a message belongs to; it is written and never read. The binary form is read
//! too, so it must say which of its optional parts follow, a vector of causes or an order report.
//! The variant number says so without an extra byte.

use super::isis::{Priorities, PriorityMessage};
use super::member::Holdings;
use super::sequencer::Positions;
use super::{Causes, DataMessage, Message, MessageId, OrderMessage, OrderReport, Payload, Position, StatePiece};
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
            Self::Order(OrderMessage::Priority(message)) => {
                serializer.serialize_newtype_variant(NAME, 10, "word", message)
            }
            Self::Acknowledgement(counts) => serializer.serialize_newtype_variant(NAME, 2, "held", counts),
            Self::Drain(upto) => serializer.serialize_newtype_variant(NAME, 3, "drain", upto),
            Self::Remainder(data) => {
                let number = if data.tag.is_none() { 4 } else { 11 };
                serializer.serialize_newtype_variant(NAME, number, "remainder", data)
            }
            Self::Complete => serializer.serialize_unit_variant(NAME, 5, "complete"),
            Self::StateRequest { boundary, offset, digest } => {
                let mut fields = serializer.serialize_struct_variant(NAME, 6, "ask", 3)?;
                fields.serialize_field("boundary", boundary)?;
                fields.serialize_field("offset", offset)?;
                fields.serialize_field("digest", digest)?;
                fields.end()
            }
            Self::StatePiece(piece) => serializer.serialize_newtype_variant(NAME, 7, "piece", piece),
            Self::StateLoaded(boundary) => serializer.serialize_newtype_variant(NAME, 8, "loaded", boundary),
        }
    }
}

/// The binary form of a message. Variants with a vector of causes have numbers of their own.
#[derive(Deserialize)]
enum MessageForm {
    Data(DataForm<()>, Option<Position>),
    Position(Position),
    Held(Vec<u64>),
    Drain(u64),
    Remainder(DataForm<()>),
    Complete,
    Ask { boundary: Epoch, offset: u64, digest: Option<u64> },
    Piece(StatePiece),
    Loaded(Epoch),
    CausalData(DataForm<Causes>, Option<Position>),
    Priority(PriorityMessage),
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
            MessageForm::Priority(message) => Self::Order(OrderMessage::Priority(message)),
            MessageForm::Held(counts) => Self::Acknowledgement(counts),
            MessageForm::Drain(upto) => Self::Drain(upto),
            MessageForm::Remainder(data) => Self::Remainder(data.into()),
            MessageForm::CausalRemainder(data) => Self::Remainder(data.into()),
            MessageForm::Complete => Self::Complete,
            MessageForm::Ask { boundary, offset, digest } => Self::StateRequest { boundary, offset, digest },
            MessageForm::Piece(piece) => Self::StatePiece(piece),
            MessageForm::Loaded(boundary) => Self::StateLoaded(boundary),
        })
    }
}

/// Writes the holdings of a member; `None` if it is in no view. The variant numbers of the binary
/// form are those of `HoldingsForm`.
pub(super) fn serialize<S: Serializer>(holdings: &Option<Holdings>, serializer: S) -> Result<S::Ok, S::Error> {
    const NAME: &str = "Holdings";
    match holdings {
        _ if serializer.is_human_readable() => holdings.serialize(serializer),
        None => serializer.serialize_unit_variant(NAME, 0, "none"),
        Some(Holdings { view, held, stable_counts, order_report }) => {
            let number = match order_report {
                OrderReport::Nothing => 1,
                OrderReport::Positions(_) => 2,
                OrderReport::Priorities(_) => 3,
            };
            // A single message with a vector of causes makes the holdings causal: in a causal group
            // a faulty member may send messages without one.
            let is_causal = held.values().any(|causes| !causes.is_none());
            // The variants with causes follow the three without, in the same order.
            let number = if is_causal { number + 3 } else { number };
            let mut fields = serializer.serialize_tuple_variant(NAME, number, "some", 4)?;
            fields.serialize_field(view)?;
            if is_causal {
                fields.serialize_field(&held.iter().map(|(id, causes)| (id, &causes.0)).collect::<Vec<_>>())?;
            } else {
                fields.serialize_field(&held.keys().map(|id| (id, ())).collect::<Vec<_>>())?;
            }
            fields.serialize_field(stable_counts)?;
            fields.serialize_field(order_report)?;
            fields.end()
        }
    }
}

/// Reads a member's holdings from the binary form.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Holdings>, D::Error> {
    Ok(match HoldingsForm::deserialize(deserializer)? {
        HoldingsForm::None => None,
        HoldingsForm::Plain(held, ()) => Some(held.into_holdings(OrderReport::Nothing)),
        HoldingsForm::Numbered(held, positions) => Some(held.into_holdings(OrderReport::Positions(positions))),
        HoldingsForm::Agreed(held, priorities) => Some(held.into_holdings(OrderReport::Priorities(priorities))),
        HoldingsForm::Causal(held, ()) => Some(held.into_holdings(OrderReport::Nothing)),
        HoldingsForm::CausalNumbered(held, positions) => Some(held.into_holdings(OrderReport::Positions(positions))),
        HoldingsForm::CausalAgreed(held, priorities) => Some(held.into_holdings(OrderReport::Priorities(priorities))),
    })
}

/// The binary form of a member's holdings, with its order report. The binary format (postcard)
/// writes fields one after the other, without names and counts. So `HeldForm` reads the first three
/// fields that `serialize` writes, and the second part of a variant reads the last one.
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
    stable_counts: BTreeMap<NodeId, u64>,
}

impl<T: Into<Causes>> HeldForm<T> {
    fn into_holdings(self, order_report: OrderReport) -> Holdings {
        let held = self.held.into_iter().map(|(id, tag)| (id, tag.into())).collect();
        Holdings { view: self.view, held, stable_counts: self.stable_counts, order_report }
    }
}
