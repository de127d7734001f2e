//! Moments: the events of a run, as drivers report them to observers.
//!
//! Every output (journal, trace, metrics, properties) is an [`Observer`]. It sees the same moments
//! from a simulator during a run and from a journal while it is read.

use quorate_core::{Class, Describe, Group, Incarnation, MembershipNote, NodeId, PayloadId, Span, Time, View};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A serializable value of the protocol: a message, a timer or a write.
pub type Body<'a> = &'a dyn erased_serde::Serialize;

/// Identifies one transmission by its sender and its number among the transmissions of that sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct MessageId {
    pub sender: NodeId,
    /// Position among the sender's transmissions in all its incarnations (in a live journal, in one
    /// incarnation), counted from 1.
    pub number: u64,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.sender, self.number)
    }
}

// Implemented by hand because a derive would allocate a string for every message.
impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for MessageId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.split_once('.')
            .and_then(|(sender, number)| {
                let sender = NodeId::new(sender.parse().ok()?)?;
                Some(Self { sender, number: number.parse().ok()? })
            })
            .ok_or_else(|| format!("'{}' is not a message id such as 2.17", text.escape_debug()))
    }
}

impl TryFrom<String> for MessageId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// One event of a run. `C` are the commands and `E` the events of the protocol.
pub enum Moment<'a, C, E> {
    /// A node takes an input. The effects that follow, until the next input, belong to this step.
    Input {
        /// True time.
        time: Time,
        /// The reading of the node's own clock.
        now: Time,
        node: NodeId,
        input: ObservedInput<'a, C>,
    },
    /// A driver carries out an effect of a node, or a node remarks on its step.
    Effect { time: Time, node: NodeId, effect: ObservedEffect<'a, E> },
    /// Something happens to a node or to a message in flight, such as a crash or a loss.
    World { time: Time, event: WorldEvent<'a> },
}

impl<C, E> Moment<'_, C, E> {
    /// Returns the true time of the moment.
    pub fn time(&self) -> Time {
        match self {
            Self::Input { time, .. } | Self::Effect { time, .. } | Self::World { time, .. } => *time,
        }
    }
}

/// An input, as an observer sees it.
pub enum ObservedInput<'a, C> {
    Start {
        incarnation: Incarnation,
        /// Whether the node's disk was erased since its last start.
        is_disk_blank: bool,
    },
    Command(&'a C),
    /// A message arrives. Its body was part of the moment in which it was sent.
    Message {
        id: MessageId,
        kind: &'a str,
        /// Whether a wrapper around the protocol consumes the message. The protocol inside receives
        /// its content with [`ObservedEffect::Delivered`].
        is_wrapped: bool,
        /// The incarnation of the sender within which the number of the id counts. Only drivers of
        /// real processes count within one incarnation. All others count over all incarnations and
        /// set this to the first.
        incarnation: Incarnation,
    },
    Timer(Body<'a>),
    /// This many saves of the current incarnation are durable, from its first save on.
    Saved(u64),
    Suspect(NodeId),
    Trust(NodeId),
    DiskFull,
    DiskFree,
    View(&'a View),
    /// The node may act in its view until its own clock shows this time.
    Lease(Time),
    /// The node has taken all inputs of its turn.
    EndOfTurn,
}

// Implemented by hand because a derive would require `C: Clone` and `C: Copy`, although the command
// is only borrowed.
impl<C> Clone for ObservedInput<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for ObservedInput<'_, C> {}

/// An effect, as an observer sees it.
pub enum ObservedEffect<'a, E> {
    Send {
        to: NodeId,
        sent: Sent<'a>,
    },
    /// A message leaves for every node in `to` but the sender. The transmissions have consecutive
    /// numbers in the order of `to`, starting with the number of `sent`.
    Multicast {
        to: &'a Group,
        sent: Sent<'a>,
    },
    /// The node issues a write. It is durable once [`ObservedInput::Saved`] covers it.
    Save(Body<'a>),
    SetTimer {
        timer: Body<'a>,
        span: Span,
    },
    CancelTimer(Body<'a>),
    /// The node emits an event for its client.
    Emit(&'a E),
    /// The node applies the rule with this id; the text explains how.
    Rule {
        rule: &'a str,
        text: fmt::Arguments<'a>,
    },
    /// A wrapper delivers the payload of a message to the protocol inside it.
    Delivered {
        from: NodeId,
        payload_id: PayloadId,
    },
    /// A node that runs the membership protocol itself passes a view or a lease to the protocol
    /// inside it.
    Membership(MembershipNote<'a>),
    /// The node's hold-back queue has changed: it now holds `count` messages with these names.
    HoldBack {
        count: usize,
        names: fmt::Arguments<'a>,
    },
}

/// A message that a node sends.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    pub id: MessageId,
    pub kind: &'a str,
    /// The message's label in pictures, if its kind does not identify it.
    pub label: Option<&'a dyn fmt::Display>,
    pub class: Class,
    /// The node whose request the message serves, if any.
    pub on_behalf_of: Option<NodeId>,
    /// The message's encoded size, or 0 if no observer reads sizes.
    pub bytes: usize,
    /// The payload of which the message carries a copy, if a wrapper sends it.
    pub payload_id: Option<PayloadId>,
    /// Whether this is a retransmission.
    pub is_retransmission: bool,
    pub body: Body<'a>,
}

impl<'a> Sent<'a> {
    /// Describes a message that a node sends. Computes its size only if `needs_size` is set.
    #[inline]
    pub fn new<M: Describe + Serialize>(id: MessageId, message: &'a M, needs_size: bool) -> Self {
        Self {
            id,
            kind: message.kind(),
            label: message.label(),
            class: message.class(),
            on_behalf_of: message.on_behalf_of(),
            bytes: if needs_size { postcard::experimental::serialized_size(message).unwrap_or(0) } else { 0 },
            payload_id: message.payload_id(),
            is_retransmission: message.is_retransmission(),
            body: message,
        }
    }
}

/// An event that no node causes by a step.
#[derive(Clone, Copy, Debug)]
pub enum WorldEvent<'a> {
    /// One copy of a message will never arrive.
    Lost { id: MessageId, to: NodeId, cause: Loss },
    /// The network makes a second copy of a message in flight.
    Duplicated { id: MessageId },
    Crashed {
        node: NodeId,
        /// Number of the node's writes that did not become durable.
        lost_writes: u64,
    },
    /// A node shut down cleanly: it takes no more inputs, and its journal is complete. Only drivers
    /// of real processes report this.
    Ended { node: NodeId },
    /// A node is paused: it takes no inputs until it resumes.
    Paused { node: NodeId },
    /// A paused node resumes.
    Resumed { node: NodeId },
    /// Any other change: a fault in the syntax of [`Fault`](crate::settings::Fault), such as
    /// `cut 1 | 2,3` or `skew 2 by 3ms`, its end, such as `end of cut 1 | 2,3`, or a remark of the
    /// checker about the run.
    Changed { text: &'a str },
}

/// Why a copy of a message never arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The network dropped it, at random or because a script says so.
    Chance,
    /// A cut separated sender and receiver.
    Cut,
    /// Its receiver was down.
    Down,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chance => "lost by the network",
            Self::Cut => "blocked by a cut",
            Self::Down => "the receiver is down",
        })
    }
}

/// Receives every moment of a run of a protocol with the commands `C` and the events `E`.
pub trait Observer<C, E> {
    /// Returns whether the observer reads the sizes of messages. Drivers compute sizes only if an
    /// observer reads them.
    #[inline]
    fn reads_sizes(&self) -> bool {
        false
    }

    /// Hints that `node` will take an input soon, so that the observer can prefetch its data for
    /// that node.
    #[inline]
    fn prefetch(&self, _node: NodeId) {}

    /// Processes the next moment.
    fn observe(&mut self, moment: &Moment<'_, C, E>);
}

/// Ignores all moments.
impl<C, E> Observer<C, E> for () {
    fn observe(&mut self, _moment: &Moment<'_, C, E>) {}
}

/// Passes moments on if there is an observer.
impl<C, E, O: Observer<C, E>> Observer<C, E> for Option<O> {
    #[inline]
    fn reads_sizes(&self) -> bool {
        self.as_ref().is_some_and(O::reads_sizes)
    }
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        if let Some(observer) = self {
            observer.observe(moment);
        }
    }
    #[inline]
    fn prefetch(&self, node: NodeId) {
        if let Some(observer) = self {
            observer.prefetch(node);
        }
    }
}

/// Passes each moment to both observers, the first one first.
impl<C, E, A: Observer<C, E>, B: Observer<C, E>> Observer<C, E> for (A, B) {
    #[inline]
    fn reads_sizes(&self) -> bool {
        self.0.reads_sizes() || self.1.reads_sizes()
    }
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.0.observe(moment);
        self.1.observe(moment);
    }
    #[inline]
    fn prefetch(&self, node: NodeId) {
        self.0.prefetch(node);
        self.1.prefetch(node);
    }
}

impl<C, E, O: Observer<C, E> + ?Sized> Observer<C, E> for &mut O {
    #[inline]
    fn reads_sizes(&self) -> bool {
        (**self).reads_sizes()
    }
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        (**self).observe(moment);
    }
    #[inline]
    fn prefetch(&self, node: NodeId) {
        (**self).prefetch(node);
    }
}

/// Returns the transmissions of a multicast: each receiver with its message id. `first` is the id
/// of the first transmission.
pub fn receivers(to: &Group, first: MessageId) -> impl Iterator<Item = (NodeId, MessageId)> + '_ {
    (0..).zip(to.others(first.sender)).map(move |(index, node)| {
        (node, MessageId { sender: first.sender, number: first.number.saturating_add(index) })
    })
}
