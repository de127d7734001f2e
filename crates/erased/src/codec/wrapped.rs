//! The codec of wrappers around nodes whose type is erased.
//!
//! In the binary form, the inner part of a wrapper's message comes last. So the bytes are those of
//! the message with an empty inner part, called its *head*, followed by those of the inner part,
//! which the inner codec writes.

use super::{MessageCodec, no_reports, wrong_algorithm};
use crate::message::{AnyMessage, AnyReport, ErasablePart};
use quorate_core::deadlock::{locks, requests};
use quorate_core::multicast::Addressed;
use quorate_core::packed::{pack, unpack};
use quorate_core::wrap::{Content, Envelope, Frame, Signal};
use quorate_core::{Describe, Malformed};
use quorate_replica::membership;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

/// The message type of a wrapper.
pub(super) trait WrapperMessage: Describe + ErasablePart + Sized {
    /// The message with an empty inner part, which takes no bytes.
    type Head: Serialize + DeserializeOwned;

    /// Returns the head and the inner part; `None` if the message has no inner part.
    fn split(&self) -> Option<(Self::Head, InnerPart<'_>)>;

    /// Builds a message from its head and the rest of its bytes.
    fn join(head: Self::Head, rest: &Rest<'_>) -> Result<Self, Malformed>;
}

pub(super) enum InnerPart<'a> {
    Message(&'a AnyMessage),
    Report(&'a AnyReport),
}

/// The bytes after a head, and the codec that reads them.
pub(super) struct Rest<'a> {
    inner: &'a dyn MessageCodec,
    bytes: &'a [u8],
}

impl Rest<'_> {
    fn message(&self) -> Result<AnyMessage, Malformed> {
        self.inner.decode(self.bytes)
    }

    fn report(&self) -> Result<AnyReport, Malformed> {
        self.inner.decode_report(self.bytes)
    }

    /// Fails if any bytes are left: a value of type `()` takes none.
    fn expect_end(&self) -> Result<(), Malformed> {
        unpack(self.bytes)
    }
}

/// Encodes and decodes the messages of a wrapper.
pub(super) struct WrapperCodec<W> {
    inner: Arc<dyn MessageCodec>,
    message: PhantomData<fn() -> W>,
}

impl<W> WrapperCodec<W> {
    pub(super) fn new(inner: Arc<dyn MessageCodec>) -> Self {
        Self { inner, message: PhantomData }
    }
}

impl<W: WrapperMessage> MessageCodec for WrapperCodec<W> {
    fn encode(&self, message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
        let message = message.as_typed::<W>().ok_or_else(wrong_algorithm)?;
        let Some((head, inner)) = message.split() else { return pack(message, into) };
        pack(&head, into)?;
        match inner {
            InnerPart::Message(message) => self.inner.encode(message, into),
            InnerPart::Report(report) => self.inner.encode_report(report, into),
        }
    }

    fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, Malformed> {
        let (head, bytes) = postcard::take_from_bytes(bytes).map_err(|error| Malformed(error.to_string()))?;
        W::join(head, &Rest { inner: &*self.inner, bytes }).map(AnyMessage::new)
    }

    fn encode_report(&self, _report: &AnyReport, _into: &mut Vec<u8>) -> Result<(), Malformed> {
        Err(no_reports())
    }

    fn decode_report(&self, _bytes: &[u8]) -> Result<AnyReport, Malformed> {
        Err(no_reports())
    }
}

impl WrapperMessage for Signal<AnyMessage> {
    type Head = Signal<()>;

    fn split(&self) -> Option<(Signal<()>, InnerPart<'_>)> {
        match self {
            Self::Heartbeat { .. } => None,
            Self::Inner { incarnation, message } => {
                Some((Signal::Inner { incarnation: *incarnation, message: () }, InnerPart::Message(message)))
            }
        }
    }

    fn join(head: Signal<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(match head {
            Signal::Heartbeat { incarnation, number } => {
                rest.expect_end()?;
                Self::Heartbeat { incarnation, number }
            }
            Signal::Inner { incarnation, message: () } => Self::Inner { incarnation, message: rest.message()? },
        })
    }
}

impl WrapperMessage for Addressed<AnyMessage> {
    type Head = Addressed<()>;

    fn split(&self) -> Option<(Addressed<()>, InnerPart<'_>)> {
        Some((Addressed { group: self.group, content: () }, InnerPart::Message(&self.content)))
    }

    fn join(head: Addressed<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(Self { group: head.group, content: rest.message()? })
    }
}

/// The message of a node in several groups, each with its own views.
impl WrapperMessage for Addressed<Envelope<AnyMessage, AnyReport>> {
    type Head = Addressed<Envelope<(), ()>>;

    fn split(&self) -> Option<(Self::Head, InnerPart<'_>)> {
        let (content, inner) = self.content.split()?;
        Some((Addressed { group: self.group, content }, inner))
    }

    fn join(head: Self::Head, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(Self { group: head.group, content: Envelope::join(head.content, rest)? })
    }
}

impl WrapperMessage for Envelope<AnyMessage, AnyReport> {
    type Head = Envelope<(), ()>;

    fn split(&self) -> Option<(Envelope<(), ()>, InnerPart<'_>)> {
        let (content, inner) = match &self.content {
            Content::Inner(message) => (Content::Inner(()), InnerPart::Message(message)),
            Content::Report(report) => (Content::Report(()), InnerPart::Report(report)),
        };
        Some((Envelope { epoch: self.epoch, content }, inner))
    }

    fn join(head: Envelope<(), ()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        let content = match head.content {
            Content::Inner(()) => Content::Inner(rest.message()?),
            Content::Report(()) => Content::Report(rest.report()?),
        };
        Ok(Self { epoch: head.epoch, content })
    }
}

impl<W: WrapperMessage> WrapperMessage for Frame<W> {
    type Head = Frame<W::Head>;

    fn split(&self) -> Option<(Frame<W::Head>, InnerPart<'_>)> {
        match self {
            Self::Data { pair, base, number, transmission, message } => {
                let (message, inner) = message.split()?;
                let (pair, base, number, transmission) = (*pair, *base, *number, *transmission);
                Some((Frame::Data { pair, base, number, transmission, message }, inner))
            }
            Self::Ack { .. } => None,
        }
    }

    fn join(head: Frame<W::Head>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(match head {
            Frame::Data { pair, base, number, transmission, message } => {
                Self::Data { pair, base, number, transmission, message: W::join(message, rest)? }
            }
            Frame::Ack { pair, below } => {
                rest.expect_end()?;
                Self::Ack { pair, below }
            }
        })
    }
}

impl WrapperMessage for requests::Message<AnyMessage> {
    type Head = requests::Message<()>;

    fn split(&self) -> Option<(requests::Message<()>, InnerPart<'_>)> {
        match self {
            Self::Request(_) | Self::Answer(_) | Self::Withdraw(_) => None,
            Self::Detector(message) => Some((requests::Message::Detector(()), InnerPart::Message(message))),
        }
    }

    fn join(head: requests::Message<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        let message = match head {
            requests::Message::Detector(()) => return rest.message().map(Self::Detector),
            requests::Message::Request(request) => Self::Request(request),
            requests::Message::Answer(request) => Self::Answer(request),
            requests::Message::Withdraw(request) => Self::Withdraw(request),
        };
        rest.expect_end()?;
        Ok(message)
    }
}

impl WrapperMessage for locks::Message<AnyMessage> {
    type Head = locks::Message<()>;

    fn split(&self) -> Option<(locks::Message<()>, InnerPart<'_>)> {
        match self {
            Self::Lock(_) => None,
            Self::Detector(message) => Some((locks::Message::Detector(()), InnerPart::Message(message))),
        }
    }

    fn join(head: locks::Message<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(match head {
            locks::Message::Lock(message) => {
                rest.expect_end()?;
                Self::Lock(message)
            }
            locks::Message::Detector(()) => Self::Detector(rest.message()?),
        })
    }
}

impl WrapperMessage for membership::Message<AnyMessage, AnyReport> {
    type Head = membership::Message<(), ()>;

    fn split(&self) -> Option<(membership::Message<(), ()>, InnerPart<'_>)> {
        match self {
            Self::Replica { .. } | Self::Request(_) => None,
            Self::Inner(frame) => frame.split().map(|(frame, inner)| (membership::Message::Inner(frame), inner)),
        }
    }

    fn join(head: membership::Message<(), ()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        let message = match head {
            membership::Message::Inner(frame) => return Frame::join(frame, rest).map(Self::Inner),
            membership::Message::Replica { sender_incarnation, message } => {
                Self::Replica { sender_incarnation, message }
            }
            membership::Message::Request(request) => Self::Request(request),
        };
        rest.expect_end()?;
        Ok(message)
    }
}
