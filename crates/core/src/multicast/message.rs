//! What members of a group send each other.

use super::{Causes, MessageId, Payload, Place, Word};
use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use alloc::vec::Vec;
use core::fmt;

/// What members of a group send each other: a letter is a multicast, and all else is about letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// A multicast, perhaps together with its place.
    Letter(Letter, Option<Place>),
    /// Something about places in the order.
    Word(Word),
    /// So much of each member's messages the sender of this holds without a gap, in the order of the group.
    Held(Vec<u64>),
    /// Its sender leaves when everyone holds all of its messages up to this one: tell when that is so.
    Drain(u64),
    /// A letter of the view before, which its receiver lacks.
    Remainder(Letter),
    /// Its sender holds all that is to be delivered of the view before.
    Complete,
    /// Its sender has come in with this view and asks for the state at its beginning, from this byte on.
    Ask {
        boundary: Epoch,
        offset: u64,
        /// Which state it has begun with, if it has.
        digest: Option<u64>,
    },
    /// A piece of that state.
    Piece(Piece),
    /// Its sender has the state at the beginning of this view.
    Loaded(Epoch),
}

/// A multicast under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Letter {
    pub id: MessageId,
    pub tag: Causes,
    pub payload: Payload,
}

/// A piece of a group's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Piece {
    pub boundary: Epoch,
    pub offset: u64,
    pub length: u64,
    pub digest: u64,
    pub bytes: Payload,
}

/// Its name, and what travels with it for its order if that is anything: `2#1 (0,1,0)`.
impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)?;
        if self.tag.is_none() { Ok(()) } else { write!(f, " {}", self.tag) }
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Letter(..) => "letter",
            Self::Word(word) => word.kind(),
            Self::Held(_) => "held",
            Self::Drain(_) => "drain",
            Self::Remainder(_) => "remainder",
            Self::Complete => "complete",
            Self::Ask { .. } => "ask",
            Self::Piece(_) => "piece",
            Self::Loaded(_) => "loaded",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            // A place that travels with a message names that too.
            Self::Letter(letter, place) => place.as_ref().and_then(Describe::label).or(Some(letter)),
            Self::Remainder(letter) => Some(letter),
            Self::Word(word) => word.label(),
            Self::Held(_) | Self::Drain(_) | Self::Complete | Self::Ask { .. } | Self::Piece(_) | Self::Loaded(_) => {
                None
            }
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Letter(..) => Class::Algorithm,
            Self::Word(word) => word.class(),
            Self::Held(_)
            | Self::Drain(_)
            | Self::Remainder(_)
            | Self::Complete
            | Self::Ask { .. }
            | Self::Piece(_)
            | Self::Loaded(_) => Class::Control,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Letter(letter, _) | Self::Remainder(letter) => Some(letter.id.sender),
            Self::Word(word) => word.on_behalf_of(),
            Self::Held(_) | Self::Drain(_) | Self::Complete | Self::Ask { .. } | Self::Piece(_) | Self::Loaded(_) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Letter, Message};
    use crate::describe::Describe;
    use crate::multicast::drill::{group, id};
    use crate::multicast::sequencer::Place;
    use crate::multicast::{Causal, Causes, Ordering, Payload, Word};
    use crate::view::View;
    use crate::wrap::{Content, Envelope};
    use alloc::string::ToString;

    fn called<M: Describe>(message: &M) -> Option<alloc::string::String> {
        message.label().map(ToString::to_string)
    }

    #[test]
    fn a_letter_is_called_by_its_name_and_what_travels_with_it() {
        let (id, plan) = (id(2, 1), group(3));
        let tag = Causal::begin(&plan, id.sender, &plan.members).tag();
        let letter = Letter { id, tag, payload: Payload::from("m") };
        assert_eq!(called(&Message::Letter(letter.clone(), None)).as_deref(), Some("2#1 (0,1,0)"));
        let bare = Letter { tag: Causes::none(), ..letter.clone() };
        assert_eq!(called(&Message::Letter(bare, None)).as_deref(), Some("2#1"), "nothing travels with it");
        let place = Place { number: 3, id };
        assert_eq!(called(&Message::Letter(letter.clone(), Some(place))).as_deref(), Some("2#1 at 3"));
        assert_eq!(called(&Message::Word(Word::Place(place))).as_deref(), Some("2#1 at 3"));
        assert_eq!(called(&Message::Complete), None, "its kind says all");
        let content = Content::<_, ()>::Inner(Message::Remainder(letter));
        let envelope = Envelope { epoch: View::FIRST, content };
        assert_eq!(called(&envelope).as_deref(), Some("2#1 (0,1,0)"), "whatever it travels in");
    }
}
