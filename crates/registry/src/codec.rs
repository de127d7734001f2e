//! Messages and disks of any algorithm as bytes: what a driver on a real machine needs of it besides its nodes.

use crate::disk::{AnyDurable, Unreadable};
use crate::erased::{ErasableWrite, Erased, Parts};
use crate::message::AnyMessage;
use quorate_core::packed::{pack, unpack};
use quorate_core::wrap::Signal;
use quorate_core::{Codec, Malformed, Protocol, WriteOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;

/// Knows the types behind one algorithm's erased messages and disks.
///
/// It fits the algorithm as the registry makes it. Under a wrapper, messages and disks have other types, and it refuses
/// them; [`watched`](Self::watched) fits it under a failure detector.
#[derive(Clone, Copy)]
pub struct AnyCodec {
    encode: fn(&AnyMessage, &mut Vec<u8>) -> Result<(), Malformed>,
    decode: fn(&[u8]) -> Result<AnyMessage, Malformed>,
    /// The same two under a failure detector, if the algorithm runs under one.
    encode_watched: fn(&AnyMessage, &mut Vec<u8>) -> Result<(), Malformed>,
    decode_watched: fn(&[u8]) -> Result<AnyMessage, Malformed>,
    unseal: fn(AnyDurable) -> Result<AnyDurable, Unreadable>,
    saves: fn() -> bool,
}

impl AnyCodec {
    /// The one for this protocol.
    pub const fn of<P>() -> Self
    where
        P: Parts<Message: DeserializeOwned>,
        WriteOf<P>: ErasableWrite,
    {
        Self {
            encode: encode::<P::Message>,
            decode: decode::<P>,
            encode_watched: |_, _| Err(unwatched()),
            decode_watched: |_| Err(unwatched()),
            unseal: AnyDurable::unseal::<P::Durable>,
            saves: saves::<P>,
        }
    }

    /// The one for this protocol, which may have a failure detector around it.
    pub const fn watchable<P>() -> Self
    where
        P: Parts<Message: DeserializeOwned>,
        WriteOf<P>: ErasableWrite,
    {
        Self { encode_watched: encode_watched::<P::Message>, decode_watched: decode_watched::<P>, ..Self::of::<P>() }
    }

    /// The one for the same algorithm with a failure detector ([`Watched`](quorate_core::wrap::Watched)) around its erased nodes
    /// ([`Erased::around`]). Disks are the same.
    #[must_use]
    pub const fn watched(self) -> Self {
        Self { encode: self.encode_watched, decode: self.decode_watched, ..self }
    }

    /// Whether the algorithm keeps anything on its disk. One that does must not be started again without it.
    pub fn saves(&self) -> bool {
        (self.saves)()
    }

    /// What was read from a disk as this algorithm's own, or why it is not.
    ///
    /// A driver asks this before it starts a node. The node itself could only take what it cannot read for lost.
    pub fn unseal(&self, durable: AnyDurable) -> Result<AnyDurable, Unreadable> {
        (self.unseal)(durable)
    }
}

impl<C: 'static, E: 'static> Codec<Erased<C, E>> for AnyCodec {
    fn encode(&self, message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
        (self.encode)(message, into)
    }

    fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, Malformed> {
        (self.decode)(bytes)
    }
}

fn saves<P: Parts>() -> bool {
    TypeId::of::<P::Durable>() != TypeId::of::<()>()
}

fn encode<M: Serialize + 'static>(message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
    let message = message.peek::<M>().ok_or_else(another)?;
    pack(message, into)
}

fn unwatched() -> Malformed {
    Malformed("it is of an algorithm that runs under no failure detector".into())
}

fn another() -> Malformed {
    Malformed("it is of another algorithm".into())
}

fn encode_watched<M: Serialize + 'static>(message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
    let signal: Signal<&M> = match message.peek::<Signal<AnyMessage>>().ok_or_else(another)? {
        Signal::Beat { life, number } => Signal::Beat { life: *life, number: *number },
        Signal::Inner { life, message } => {
            Signal::Inner { life: *life, message: message.peek::<M>().ok_or_else(another)? }
        }
    };
    pack(&signal, into)
}

fn decode_watched<P: Parts<Message: DeserializeOwned>>(bytes: &[u8]) -> Result<AnyMessage, Malformed> {
    let signal = unpack::<Signal<<P as Protocol>::Message>>(bytes)?;
    Ok(AnyMessage::new(match signal {
        Signal::Beat { life, number } => Signal::Beat { life, number },
        Signal::Inner { life, message } => Signal::Inner { life, message: AnyMessage::new(message) },
    }))
}

fn decode<P: Parts<Message: DeserializeOwned>>(bytes: &[u8]) -> Result<AnyMessage, Malformed> {
    unpack::<<P as Protocol>::Message>(bytes).map(AnyMessage::new)
}
