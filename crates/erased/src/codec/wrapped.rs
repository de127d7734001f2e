//! Messages of wrappers around nodes whose type is erased.
//!
//! In bytes, what is inside a wrapper's message comes last: so they are those of the message with nothing inside, its *head*, and then
//! those of what is inside, which is somebody else's business.

use super::{Messages, another, reports_nothing};
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

pub(super) trait Wrapper: Describe + ErasablePart + Sized {
    /// The same with nothing inside: nothing has no bytes.
    type Head: Serialize + DeserializeOwned;

    /// Its head and what is inside, if anything is.
    fn split(&self) -> Option<(Self::Head, Inside<'_>)>;

    /// The message with this head, and with what the rest of its bytes say inside.
    fn join(head: Self::Head, rest: &Rest<'_>) -> Result<Self, Malformed>;
}

pub(super) enum Inside<'a> {
    Message(&'a AnyMessage),
    Report(&'a AnyReport),
}

/// What follows a head, and who can read it.
pub(super) struct Rest<'a> {
    inner: &'a dyn Messages,
    bytes: &'a [u8],
}

impl Rest<'_> {
    fn message(&self) -> Result<AnyMessage, Malformed> {
        self.inner.decode(self.bytes)
    }

    fn report(&self) -> Result<AnyReport, Malformed> {
        self.inner.decode_report(self.bytes)
    }

    fn nothing(&self) -> Result<(), Malformed> {
        unpack(self.bytes)
    }
}

/// Knows the types behind a wrapper's messages.
pub(super) struct Wrapped<W> {
    inner: Arc<dyn Messages>,
    wrapper: PhantomData<fn() -> W>,
}

impl<W> Wrapped<W> {
    pub(super) fn around(inner: Arc<dyn Messages>) -> Self {
        Self { inner, wrapper: PhantomData }
    }
}

impl<W: Wrapper> Messages for Wrapped<W> {
    fn encode(&self, message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
        let message = message.peek::<W>().ok_or_else(another)?;
        let Some((head, inside)) = message.split() else { return pack(message, into) };
        pack(&head, into)?;
        match inside {
            Inside::Message(message) => self.inner.encode(message, into),
            Inside::Report(report) => self.inner.encode_report(report, into),
        }
    }

    fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, Malformed> {
        let (head, bytes) = postcard::take_from_bytes(bytes).map_err(|error| Malformed(error.to_string()))?;
        W::join(head, &Rest { inner: &*self.inner, bytes }).map(AnyMessage::new)
    }

    fn encode_report(&self, _report: &AnyReport, _into: &mut Vec<u8>) -> Result<(), Malformed> {
        Err(reports_nothing())
    }

    fn decode_report(&self, _bytes: &[u8]) -> Result<AnyReport, Malformed> {
        Err(reports_nothing())
    }
}

impl Wrapper for Signal<AnyMessage> {
    type Head = Signal<()>;

    fn split(&self) -> Option<(Signal<()>, Inside<'_>)> {
        match self {
            Self::Beat { .. } => None,
            Self::Inner { life, message } => {
                Some((Signal::Inner { life: *life, message: () }, Inside::Message(message)))
            }
        }
    }

    fn join(head: Signal<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(match head {
            Signal::Beat { life, number } => {
                rest.nothing()?;
                Self::Beat { life, number }
            }
            Signal::Inner { life, message: () } => Self::Inner { life, message: rest.message()? },
        })
    }
}

impl Wrapper for Addressed<AnyMessage> {
    type Head = Addressed<()>;

    fn split(&self) -> Option<(Addressed<()>, Inside<'_>)> {
        Some((Addressed { group: self.group, what: () }, Inside::Message(&self.what)))
    }

    fn join(head: Addressed<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(Self { group: head.group, what: rest.message()? })
    }
}

/// In several groups, each with views of its own.
impl Wrapper for Addressed<Envelope<AnyMessage, AnyReport>> {
    type Head = Addressed<Envelope<(), ()>>;

    fn split(&self) -> Option<(Self::Head, Inside<'_>)> {
        let (what, inside) = self.what.split()?;
        Some((Addressed { group: self.group, what }, inside))
    }

    fn join(head: Self::Head, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(Self { group: head.group, what: Envelope::join(head.what, rest)? })
    }
}

impl Wrapper for Envelope<AnyMessage, AnyReport> {
    type Head = Envelope<(), ()>;

    fn split(&self) -> Option<(Envelope<(), ()>, Inside<'_>)> {
        let (content, inside) = match &self.content {
            Content::Inner(message) => (Content::Inner(()), Inside::Message(message)),
            Content::Report(report) => (Content::Report(()), Inside::Report(report)),
        };
        Some((Envelope { epoch: self.epoch, content }, inside))
    }

    fn join(head: Envelope<(), ()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        let content = match head.content {
            Content::Inner(()) => Content::Inner(rest.message()?),
            Content::Report(()) => Content::Report(rest.report()?),
        };
        Ok(Self { epoch: head.epoch, content })
    }
}

impl<W: Wrapper> Wrapper for Frame<W> {
    type Head = Frame<W::Head>;

    fn split(&self) -> Option<(Frame<W::Head>, Inside<'_>)> {
        match self {
            Self::Data { pair, base, number, copy, message } => {
                let (message, inside) = message.split()?;
                Some((Frame::Data { pair: *pair, base: *base, number: *number, copy: *copy, message }, inside))
            }
            Self::Ack { .. } => None,
        }
    }

    fn join(head: Frame<W::Head>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(match head {
            Frame::Data { pair, base, number, copy, message } => {
                Self::Data { pair, base, number, copy, message: W::join(message, rest)? }
            }
            Frame::Ack { pair, below } => {
                rest.nothing()?;
                Self::Ack { pair, below }
            }
        })
    }
}

impl Wrapper for requests::Message<AnyMessage> {
    type Head = requests::Message<()>;

    fn split(&self) -> Option<(requests::Message<()>, Inside<'_>)> {
        match self {
            Self::Request(_) | Self::Answer(_) | Self::Withdraw(_) => None,
            Self::Detector(message) => Some((requests::Message::Detector(()), Inside::Message(message))),
        }
    }

    fn join(head: requests::Message<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        let message = match head {
            requests::Message::Detector(()) => return rest.message().map(Self::Detector),
            requests::Message::Request(letter) => Self::Request(letter),
            requests::Message::Answer(letter) => Self::Answer(letter),
            requests::Message::Withdraw(letter) => Self::Withdraw(letter),
        };
        rest.nothing()?;
        Ok(message)
    }
}

impl Wrapper for locks::Message<AnyMessage> {
    type Head = locks::Message<()>;

    fn split(&self) -> Option<(locks::Message<()>, Inside<'_>)> {
        match self {
            Self::Lock(_) => None,
            Self::Detector(message) => Some((locks::Message::Detector(()), Inside::Message(message))),
        }
    }

    fn join(head: locks::Message<()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        Ok(match head {
            locks::Message::Lock(message) => {
                rest.nothing()?;
                Self::Lock(message)
            }
            locks::Message::Detector(()) => Self::Detector(rest.message()?),
        })
    }
}

impl Wrapper for membership::Message<AnyMessage, AnyReport> {
    type Head = membership::Message<(), ()>;

    fn split(&self) -> Option<(membership::Message<(), ()>, Inside<'_>)> {
        match self {
            Self::Replica { .. } | Self::Ask(_) => None,
            Self::Inner(frame) => frame.split().map(|(frame, inside)| (membership::Message::Inner(frame), inside)),
        }
    }

    fn join(head: membership::Message<(), ()>, rest: &Rest<'_>) -> Result<Self, Malformed> {
        let message = match head {
            membership::Message::Inner(frame) => return Frame::join(frame, rest).map(Self::Inner),
            membership::Message::Replica { life, message } => Self::Replica { life, message },
            membership::Message::Ask(ask) => Self::Ask(ask),
        };
        rest.nothing()?;
        Ok(message)
    }
}
