//! What happens in a run, as seen by those who watch it.
//!
//! Every output (journal, trace, metrics, properties) is an [`Observer`]. It sees the same moments whether they
//! come from the simulator as it runs or from a journal as it is read.

use quorate_core::{Class, Describe, Group, Incarnation, NodeId, Parcel, Span, Time, Told, View};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Something that can be written down: a message, a timer, a write.
pub type Body<'a> = &'a dyn erased_serde::Serialize;

/// One transmission: the sender, and its number among all that this sender ever sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct MessageId {
    pub sender: NodeId,
    /// Which of the sender's it is, from 1.
    pub number: u64,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.sender, self.number)
    }
}

// Written by hand, because a derive would make a string of it first, for every message.
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

/// One thing that happens.
pub enum Moment<'a, C, E> {
    /// A node takes an input. The effects that follow, until the next input, are of this step.
    Input {
        /// True time.
        time: Time,
        /// The node's own clock.
        now: Time,
        node: NodeId,
        input: Taken<'a, C>,
    },
    Effect {
        time: Time,
        node: NodeId,
        effect: Done<'a, E>,
    },
    /// The world does something to the nodes or to what is under way.
    World {
        time: Time,
        what: Happening<'a>,
    },
}

impl<C, E> Moment<'_, C, E> {
    /// When it happens, in true time.
    pub fn time(&self) -> Time {
        match self {
            Self::Input { time, .. } | Self::Effect { time, .. } | Self::World { time, .. } => *time,
        }
    }
}

/// An input, as an observer sees it.
pub enum Taken<'a, C> {
    Start {
        incarnation: Incarnation,
        /// Whether its disk was empty although it had saved before.
        blank: bool,
    },
    Command(&'a C),
    /// A message arrives. What it says was seen when it was sent.
    Message {
        id: MessageId,
        kind: &'a str,
        /// Whether it tells the protocol nothing until a parcel is handed.
        wrapped: bool,
        /// Which life of the sender the id's number is counted in. Only a live driver tells another than the first: it
        /// numbers within a life, and everything else over all lives.
        life: Incarnation,
    },
    Timer(Body<'a>),
    /// So many saves are durable.
    Saved(u64),
    Suspect(NodeId),
    Trust(NodeId),
    DiskFull,
    DiskFree,
    View(&'a View),
    /// It may act in its view up to this instant of its clock.
    Lease(Time),
}

// Written by hand, because a derive would ask Clone and Copy of the command, which is only borrowed.
impl<C> Clone for Taken<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Taken<'_, C> {}

/// An effect, as an observer sees it.
pub enum Done<'a, E> {
    Send {
        to: NodeId,
        sent: Sent<'a>,
    },
    /// A message leaves for every member but the sender. The transmissions are numbered in the group's order,
    /// beginning with that of `sent`.
    Multicast {
        to: &'a Group,
        sent: Sent<'a>,
    },
    /// A write is on its way to the disk.
    Save(Body<'a>),
    SetTimer {
        timer: Body<'a>,
        span: Span,
    },
    CancelTimer(Body<'a>),
    /// The user is told something.
    Emit(&'a E),
    Rule {
        rule: &'a str,
        text: fmt::Arguments<'a>,
    },
    /// A parcel is handed to the protocol inside a wrapper.
    Handed {
        from: NodeId,
        parcel: Parcel,
    },
    /// The part of a node that keeps the membership tells the rest of it something.
    Told(Told<'a>),
    /// What waits in the node's hold-back queue has changed.
    HoldBack {
        count: usize,
        names: fmt::Arguments<'a>,
    },
}

/// A message that leaves.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    pub id: MessageId,
    pub kind: &'a str,
    /// What it is called in a picture, if its kind is not enough.
    pub label: Option<&'a dyn fmt::Display>,
    pub class: Class,
    /// The node whose request it serves.
    pub on_behalf_of: Option<NodeId>,
    /// How long it is on the wire; 0 if no observer asked.
    pub bytes: usize,
    /// The payload it carries a copy of.
    pub parcel: Option<Parcel>,
    /// Whether the same was sent before.
    pub again: bool,
    pub body: Body<'a>,
}

impl<'a> Sent<'a> {
    /// Describes a message that leaves; its size is computed only if it is wanted.
    #[inline]
    pub fn of<M: Describe + Serialize>(id: MessageId, message: &'a M, sized: bool) -> Self {
        Self {
            id,
            kind: message.kind(),
            label: message.label(),
            class: message.class(),
            on_behalf_of: message.on_behalf_of(),
            bytes: if sized { postcard::experimental::serialized_size(message).unwrap_or(0) } else { 0 },
            parcel: message.parcel(),
            again: message.again(),
            body: message,
        }
    }
}

/// What the world does.
#[derive(Clone, Copy, Debug)]
pub enum Happening<'a> {
    /// A message will never arrive.
    Lost { id: MessageId, to: NodeId, why: Loss },
    /// A second copy of a message is under way.
    Duplicated { id: MessageId },
    Crashed {
        node: NodeId,
        /// How many of its writes are gone.
        lost_writes: u64,
    },
    /// A node was stopped in good order: it takes no more inputs, and its journal is complete. Only a live driver tells.
    Ended { node: NodeId },
    /// A node stands still.
    Paused { node: NodeId },
    /// A node goes on.
    Resumed { node: NodeId },
    /// Anything else, in the words of the fault language: `cut 1 | 2,3`, `heal`, `skew 2 by 3ms`.
    Changed { text: &'a str },
}

/// Why a message never arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The network lost it.
    Chance,
    /// A cut was in its way.
    Cut,
    /// Its receiver was down.
    Down,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chance => "lost on the way",
            Self::Cut => "stopped by a cut",
            Self::Down => "its receiver is down",
        })
    }
}

/// Watches a run.
pub trait Observer<C, E> {
    /// Whether it reads the sizes of messages. Where nobody does, they are not computed.
    #[inline]
    fn reads_sizes(&self) -> bool {
        false
    }

    /// Hears whose turn comes soon, and may fetch what it keeps of that node into the cache.
    #[inline]
    fn foresee(&self, _node: NodeId) {}

    /// Sees the next moment.
    fn observe(&mut self, moment: &Moment<'_, C, E>);
}

/// Watches nothing.
impl<C, E> Observer<C, E> for () {
    fn observe(&mut self, _moment: &Moment<'_, C, E>) {}
}

/// Watches if there is somebody.
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
    fn foresee(&self, node: NodeId) {
        if let Some(observer) = self {
            observer.foresee(node);
        }
    }
}

/// Both watch, the first one first.
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
    fn foresee(&self, node: NodeId) {
        self.0.foresee(node);
        self.1.foresee(node);
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
    fn foresee(&self, node: NodeId) {
        (**self).foresee(node);
    }
}

/// The transmissions of a multicast: who gets which number.
pub fn receivers(to: &Group, first: MessageId) -> impl Iterator<Item = (NodeId, MessageId)> + '_ {
    (0..).zip(to.others(first.sender)).map(move |(place, node)| {
        (node, MessageId { sender: first.sender, number: first.number.saturating_add(place) })
    })
}
