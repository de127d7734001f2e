//! How messages and reports are written.
//!
//! Text says nothing of which order a message belongs to, since journals have always shown them so. Bytes must say it, because nothing else
//! tells a reader whether a vector or notes follow: the number of a variant does, so that it costs no byte.

use super::isis::{Standings, Vote};
use super::member::Holdings;
use super::sequencer::Places;
use super::{Causes, Letter, Message, MessageId, Notes, Payload, Piece, Place, Word};
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
    // The numbers are those of `MessageForm`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "Message";
        match self {
            Self::Letter(letter, place) => {
                let number = if letter.tag.is_none() { 0 } else { 9 };
                let mut fields = serializer.serialize_tuple_variant(NAME, number, "letter", 2)?;
                fields.serialize_field(letter)?;
                fields.serialize_field(place)?;
                fields.end()
            }
            Self::Word(Word::Place(place)) => serializer.serialize_newtype_variant(NAME, 1, "word", place),
            Self::Word(Word::Vote(vote)) => serializer.serialize_newtype_variant(NAME, 10, "word", vote),
            Self::Held(counts) => serializer.serialize_newtype_variant(NAME, 2, "held", counts),
            Self::Drain(upto) => serializer.serialize_newtype_variant(NAME, 3, "drain", upto),
            Self::Remainder(letter) => {
                let number = if letter.tag.is_none() { 4 } else { 11 };
                serializer.serialize_newtype_variant(NAME, number, "remainder", letter)
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
    Letter(LetterForm<()>, Option<Place>),
    Place(Place),
    Held(Vec<u64>),
    Drain(u64),
    Remainder(LetterForm<()>),
    Complete,
    Ask { boundary: Epoch, offset: u64, digest: Option<u64> },
    Piece(Piece),
    Loaded(Epoch),
    CausalLetter(LetterForm<Causes>, Option<Place>),
    Vote(Vote),
    CausalRemainder(LetterForm<Causes>),
}

#[derive(Deserialize)]
struct LetterForm<T> {
    id: MessageId,
    tag: T,
    payload: Payload,
}

impl<T: Into<Causes>> From<LetterForm<T>> for Letter {
    fn from(LetterForm { id, tag, payload }: LetterForm<T>) -> Self {
        Self { id, tag: tag.into(), payload }
    }
}

impl<'de> Deserialize<'de> for Message {
    /// Reads bytes, and no text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match MessageForm::deserialize(deserializer)? {
            MessageForm::Letter(letter, place) => Self::Letter(letter.into(), place),
            MessageForm::CausalLetter(letter, place) => Self::Letter(letter.into(), place),
            MessageForm::Place(place) => Self::Word(Word::Place(place)),
            MessageForm::Vote(vote) => Self::Word(Word::Vote(vote)),
            MessageForm::Held(counts) => Self::Held(counts),
            MessageForm::Drain(upto) => Self::Drain(upto),
            MessageForm::Remainder(letter) => Self::Remainder(letter.into()),
            MessageForm::CausalRemainder(letter) => Self::Remainder(letter.into()),
            MessageForm::Complete => Self::Complete,
            MessageForm::Ask { boundary, offset, digest } => Self::Ask { boundary, offset, digest },
            MessageForm::Piece(piece) => Self::Piece(piece),
            MessageForm::Loaded(boundary) => Self::Loaded(boundary),
        })
    }
}

/// Writes what a member holds, if it is in a view. The numbers are those of `HoldingsForm`.
pub(super) fn serialize<S: Serializer>(holdings: &Option<Holdings>, serializer: S) -> Result<S::Ok, S::Error> {
    const NAME: &str = "Holdings";
    match holdings {
        _ if serializer.is_human_readable() => holdings.serialize(serializer),
        None => serializer.serialize_unit_variant(NAME, 0, "none"),
        Some(Holdings { view, held, floor, notes }) => {
            let number = match notes {
                Notes::Nothing => 1,
                Notes::Places(_) => 2,
                Notes::Standings(_) => 3,
            };
            // One vector is enough: a member that lies may send messages without one where all others have them.
            let is_causal = held.values().any(|causes| !causes.is_none());
            let number = if is_causal { number + 3 } else { number };
            let mut fields = serializer.serialize_tuple_variant(NAME, number, "some", 4)?;
            fields.serialize_field(view)?;
            if is_causal {
                fields.serialize_field(&held.iter().map(|(id, causes)| (id, &causes.0)).collect::<Vec<_>>())?;
            } else {
                fields.serialize_field(&held.keys().map(|id| (id, ())).collect::<Vec<_>>())?;
            }
            fields.serialize_field(floor)?;
            fields.serialize_field(notes)?;
            fields.end()
        }
    }
}

/// Reads from bytes, and no text, what a member holds.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Holdings>, D::Error> {
    Ok(match HoldingsForm::deserialize(deserializer)? {
        HoldingsForm::None => None,
        HoldingsForm::Plain(held, ()) => Some(held.with(Notes::Nothing)),
        HoldingsForm::Numbered(held, places) => Some(held.with(Notes::Places(places))),
        HoldingsForm::Agreed(held, standings) => Some(held.with(Notes::Standings(standings))),
        HoldingsForm::Causal(held, ()) => Some(held.with(Notes::Nothing)),
        HoldingsForm::CausalNumbered(held, places) => Some(held.with(Notes::Places(places))),
        HoldingsForm::CausalAgreed(held, standings) => Some(held.with(Notes::Standings(standings))),
    })
}

/// What a member holds as bytes, with what it knows of places.
#[derive(Deserialize)]
enum HoldingsForm {
    None,
    Plain(HeldForm<()>, ()),
    Numbered(HeldForm<()>, Places),
    Agreed(HeldForm<()>, Standings),
    Causal(HeldForm<Causes>, ()),
    CausalNumbered(HeldForm<Causes>, Places),
    CausalAgreed(HeldForm<Causes>, Standings),
}

#[derive(Deserialize)]
struct HeldForm<T> {
    view: Epoch,
    held: Vec<(MessageId, T)>,
    floor: BTreeMap<NodeId, u64>,
}

impl<T: Into<Causes>> HeldForm<T> {
    fn with(self, notes: Notes) -> Holdings {
        let held = self.held.into_iter().map(|(id, tag)| (id, tag.into())).collect();
        Holdings { view: self.view, held, floor: self.floor, notes }
    }
}
