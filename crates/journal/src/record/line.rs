//! The lines of a journal as data. The same types are written with borrowed fields and read with
//! owned fields: `B` is a body (a message, a timer or a write), `S` a name or a fault, `T` a text
//! for people, `C` and `E` the commands and events of the family. Names that differ from the
//! written ones have a `rename` attribute.

use crate::moment::{Loss, MessageId};
use crate::workload::Ending;
use quorate_core::{Class, Group, Incarnation, NodeId, PayloadId, Time, View};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum InputLine<B, S, C> {
    Start {
        incarnation: Incarnation,
        #[serde(default, rename = "blank", skip_serializing_if = "is_false")]
        is_disk_blank: bool,
    },
    Command(C),
    Message {
        id: MessageId,
        kind: S,
        #[serde(default, rename = "wrapped", skip_serializing_if = "is_false")]
        is_wrapped: bool,
        /// Written only in live journals (of one process each), whose message ids count within one
        /// incarnation of the sender.
        #[serde(default, rename = "life", skip_serializing_if = "is_first")]
        incarnation: Incarnation,
    },
    Timer(B),
    Saved(u64),
    Suspect(NodeId),
    Trust(NodeId),
    #[serde(rename = "disk-full")]
    DiskFull,
    #[serde(rename = "disk-free")]
    DiskFree,
    View(View),
    Lease(Time),
    #[serde(rename = "end-of-turn")]
    EndOfTurn,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EffectLine<B, S, T, E> {
    Send(SendLine<B, S, T>),
    Multicast(MulticastLine<B, S, T>),
    Save(B),
    /// A timer that is set, with its span in nanoseconds from now.
    Timer {
        name: B,
        earliest: u64,
        latest: u64,
    },
    Cancel(B),
    Emit(E),
    Rule {
        id: S,
        text: T,
    },
    #[serde(rename = "handed")]
    Delivered {
        from: NodeId,
        #[serde(rename = "parcel")]
        payload_id: PayloadId,
    },
    #[serde(rename = "waiting")]
    HoldBack {
        count: usize,
        names: T,
    },
    /// A view that the node's own membership protocol passes to the protocol inside it.
    View(View),
    /// A lease that it passes likewise.
    Lease(Time),
}

#[derive(Serialize, Deserialize)]
pub(super) struct SendLine<B, S, T> {
    pub(super) id: MessageId,
    pub(super) to: NodeId,
    #[serde(flatten)]
    pub(super) metadata: Metadata<S, T>,
    pub(super) body: B,
}

/// The first transmission has this id; the others have consecutive numbers in the order of `to`.
#[derive(Serialize, Deserialize)]
pub(super) struct MulticastLine<B, S, T> {
    pub(super) id: MessageId,
    pub(super) to: Group,
    #[serde(flatten)]
    pub(super) metadata: Metadata<S, T>,
    pub(super) body: B,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Metadata<S, T> {
    pub(super) kind: S,
    /// The message's label in pictures. Written only if the kind does not identify the message.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<T>,
    #[serde(default = "default_class", skip_serializing_if = "is_algorithm")]
    pub(super) class: Class,
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub(super) on_behalf_of: Option<NodeId>,
    pub(super) bytes: usize,
    #[serde(rename = "parcel", default, skip_serializing_if = "Option::is_none")]
    pub(super) payload_id: Option<PayloadId>,
    /// Set if a control message carries a payload for the first time. Every other control message
    /// with a payload is a retransmission; messages of other classes never are.
    #[serde(rename = "first", default, skip_serializing_if = "is_false")]
    pub(super) is_first_transmission: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorldLine<S> {
    Lost {
        id: MessageId,
        to: NodeId,
        #[serde(rename = "why")]
        cause: Loss,
    },
    Duplicated {
        id: MessageId,
    },
    Crashed {
        node: NodeId,
        lost_writes: u64,
    },
    Ended {
        node: NodeId,
    },
    Paused {
        node: NodeId,
    },
    Resumed {
        node: NodeId,
    },
    Changed(S),
}

/// The end mark. It records the number of lines of the journal, itself included, which reveals
/// missing lines.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    #[serde(rename = "end")]
    pub(super) line_count: u64,
    /// How the run ended, if the driver recorded it. A run that was stopped cannot decide liveness
    /// properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<Ending>,
}

impl EndLine {
    /// Returns whether a line is an end mark. No other line starts with these characters.
    pub(super) fn is_end_mark(line: &str) -> bool {
        line.starts_with("{\"end\":")
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_first(incarnation: &Incarnation) -> bool {
    *incarnation == Incarnation::FIRST
}

fn default_class() -> Class {
    Class::Algorithm
}

fn is_algorithm(class: &Class) -> bool {
    *class == Class::Algorithm
}
