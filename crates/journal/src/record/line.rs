//! A journal's lines as data. One definition is written from borrowed parts and read into owned ones:
//! `B` is a body (a message, a timer, a write), `S` a string, `T` a longer text, `C` and `E` the family's commands and
//! events.

use crate::moment::{Loss, MessageId};
use crate::workload::Ending;
use quorate_core::{Class, Group, Incarnation, NodeId, Parcel, Time, View};
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
        /// Only in the journal of one life, whose ids are counted within a life of the sender.
        #[serde(default, skip_serializing_if = "is_first")]
        life: Incarnation,
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
    Handed { from: NodeId, parcel: Parcel },
    Waiting { count: usize, names: T },
    View(View),
    Lease(Time),
}

#[derive(Serialize, Deserialize)]
pub(super) struct SendLine<B, S, T> {
    pub(super) id: MessageId,
    pub(super) to: NodeId,
    #[serde(flatten)]
    pub(super) manner: Manner<S, T>,
    pub(super) body: B,
}

/// The first transmission has this id, those after it the numbers that follow, in the order of `to`.
#[derive(Serialize, Deserialize)]
pub(super) struct MulticastLine<B, S, T> {
    pub(super) id: MessageId,
    pub(super) to: Group,
    #[serde(flatten)]
    pub(super) manner: Manner<S, T>,
    pub(super) body: B,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Manner<S, T> {
    pub(super) kind: S,
    /// Written if its kind is not enough to tell it from others.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<T>,
    #[serde(default = "algorithm", skip_serializing_if = "is_algorithm")]
    pub(super) class: Class,
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub(super) on_behalf_of: Option<NodeId>,
    pub(super) bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parcel: Option<Parcel>,
    /// Written where it is not clear from the rest: a control message with a parcel is a repetition unless this says otherwise.
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

/// The end mark. Its number is that of its own line, so that it also shows whether a line is missing before it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) end: u64,
    /// How the run ended, if its driver says. Of a run that was stopped nobody knows what it would have come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<Ending>,
}

impl EndLine {
    /// Whether a line is an end mark. No other line begins like this.
    pub(super) fn is_one(line: &str) -> bool {
        line.starts_with("{\"end\":")
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_first(life: &Incarnation) -> bool {
    *life == Incarnation::FIRST
}

fn algorithm() -> Class {
    Class::Algorithm
}

fn is_algorithm(class: &Class) -> bool {
    *class == Class::Algorithm
}
