//! Messages and disks of any algorithm as bytes: what a driver on a real machine needs of it besides its nodes.

use crate::disk::{AnyDurable, Unreadable};
use crate::erased::{ErasableWrite, Erased, Parts};
use crate::message::AnyMessage;
use quorate_core::packed::{pack, unpack};
use quorate_core::{Codec, Malformed, Protocol, WriteOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;

/// Knows the types behind one algorithm's erased messages and disks.
///
/// It fits the algorithm as the registry makes it. Under a wrapper, messages and disks have other types, and it refuses
/// them.
#[derive(Clone, Copy)]
pub struct AnyCodec {
    encode: fn(&AnyMessage, &mut Vec<u8>) -> Result<(), Malformed>,
    decode: fn(&[u8]) -> Result<AnyMessage, Malformed>,
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
            unseal: AnyDurable::unseal::<P::Durable>,
            saves: saves::<P>,
        }
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
    let message = message.peek::<M>().ok_or_else(|| Malformed("it is of another algorithm".into()))?;
    pack(message, into)
}

fn decode<P: Parts<Message: DeserializeOwned>>(bytes: &[u8]) -> Result<AnyMessage, Malformed> {
    unpack::<<P as Protocol>::Message>(bytes).map(AnyMessage::new)
}
