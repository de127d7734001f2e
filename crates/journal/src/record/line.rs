//! The lines of a journal as data. The same types are written with borrowed fields and read with
//! owned fields: `B` is a body (a message, a timer or a write), `S` a string, `T` a longer text,
//! `C` and `E` the commands and events of the family.

use crate::moment::{Loss, MessageId};
use crate::workload::Ending;
use quorate_core::{Class, Group, Incarnation, NodeId, PayloadId, Time, View};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum InputLine<B, S, C> {
    Start {
        incarnation: Incarnation,
        #[serde(default, skip_serializing_if = "is_false")]
        blank: bool,
    },
    Command(C),
    Message {
        id: MessageId,
        kind: S,
        #[serde(default, skip_serializing_if = "is_false")]
        wrapped: bool,
        /// Written only in live journals, whose message ids count within one incarnation of the
        /// sender.
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
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EffectLine<B, S, T, E> {
    Send(SendLine<B, S, T>),
    Multicast(MulticastLine<B, S, T>),
    Save(B),
    Timer { name: B, earliest: u64, latest: u64 },
    Cancel(B),
    Emit(E),
    Rule { id: S, text: T },
    Handed { from: NodeId, parcel: PayloadId },
    Waiting { count: usize, names: T },
    View(View),
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
    /// Written if the kind does not identify the message in a picture.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<T>,
    #[serde(default = "algorithm", skip_serializing_if = "is_algorithm")]
    pub(super) class: Class,
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub(super) on_behalf_of: Option<NodeId>,
    pub(super) bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parcel: Option<PayloadId>,
    /// A control message with a parcel is a retransmission unless this is set.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) first: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorldLine<S> {
    Lost { id: MessageId, to: NodeId, why: Loss },
    Duplicated { id: MessageId },
    Crashed { node: NodeId, lost_writes: u64 },
    Ended { node: NodeId },
    Paused { node: NodeId },
    Resumed { node: NodeId },
    Changed(S),
}

/// The end mark. Its number is its own line number, which also reveals missing lines.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) end: u64,
    /// How the run ended, if the driver recorded it. A run that was stopped cannot decide liveness
    /// properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<Ending>,
}

impl EndLine {
    /// Returns whether a line is an end mark. No other line starts with these characters.
    pub(super) fn is_one(line: &str) -> bool {
        line.starts_with("{\"end\":")
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_first(incarnation: &Incarnation) -> bool {
    *incarnation == Incarnation::FIRST
}

fn algorithm() -> Class {
    Class::Algorithm
}

fn is_algorithm(class: &Class) -> bool {
    *class == Class::Algorithm
}
