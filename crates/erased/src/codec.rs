//! Binary forms of the messages and durable state of any algorithm, for drivers on real machines.

mod wrapped;

use crate::disk::{AnyDurable, Unreadable};
use crate::erased::{ErasableDurable, ErasableWrite, Erased, HasErasableParts};
use crate::in_views::ErasableInViews;
use crate::message::{AnyMessage, AnyReport, ErasablePart};
use quorate_core::deadlock;
use quorate_core::multicast::Addressed;
use quorate_core::packed::{pack, unpack};
use quorate_core::wrap::{Envelope, InViews, Signal};
use quorate_core::{Codec, Describe, Durable, Malformed, WriteOf};
use quorate_replica::membership;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;
use std::sync::Arc;
use wrapped::WrapperCodec;

/// Encodes and decodes the erased messages of one algorithm, and opens its disks.
///
/// It fits the algorithm as the registry of algorithms creates it. Under a wrapper, messages have
/// other types, which this codec refuses; methods such as [`in_views`](Self::in_views) return the
/// codec for a wrapper.
#[derive(Clone)]
pub struct AnyCodec {
    messages: Arc<dyn MessageCodec>,
    disk: DiskFormat,
}

impl AnyCodec {
    /// Returns the codec for the messages of `P` and its durable state.
    pub fn for_protocol<P>() -> Self
    where
        P: HasErasableParts<Message: DeserializeOwned>,
        WriteOf<P>: ErasableWrite,
    {
        Self::new::<P::Durable>(AlgorithmCodec::for_messages::<P::Message>())
    }

    /// Returns the codec for the messages of `P` and the reports that its members exchange when the
    /// view changes. Call [`in_views`](Self::in_views) on it to obtain the codec for the wrapper.
    pub fn for_protocol_in_views<P>() -> Self
    where
        P: ErasableInViews + InViews<Message: DeserializeOwned, Report: DeserializeOwned>,
    {
        Self::new::<()>(AlgorithmCodec::for_messages::<P::Message>().with_reports::<P::Report>())
    }

    fn new<D>(messages: impl MessageCodec + 'static) -> Self
    where
        D: ErasableDurable + Durable<Write: ErasableWrite>,
    {
        Self { messages: Arc::new(messages), disk: DiskFormat::for_durable::<D>() }
    }

    /// Returns the codec for the same algorithm with a failure detector
    /// ([`Watched`](quorate_core::wrap::Watched)) around its erased nodes
    /// ([`Erased::from_wrapper`]). The disk format is the same.
    #[must_use]
    pub fn with_failure_detector(self) -> Self {
        self.in_wrapper::<Signal<AnyMessage>>()
    }

    /// Returns the codec for the same algorithm in views that the driver provides
    /// ([`Viewed`](quorate_core::wrap::Viewed)).
    #[must_use]
    pub fn in_views(self) -> Self {
        self.in_wrapper::<Envelope<AnyMessage, AnyReport>>()
    }

    /// Returns the codec for the same algorithm in several groups
    /// ([`MultiGroup`](quorate_core::multicast::MultiGroup)).
    #[must_use]
    pub fn in_several_groups(self) -> Self {
        self.in_wrapper::<Addressed<AnyMessage>>()
    }

    /// Returns the codec for the same algorithm in several groups, each in views that the driver
    /// provides.
    #[must_use]
    pub fn in_several_viewed_groups(self) -> Self {
        self.in_wrapper::<Addressed<Envelope<AnyMessage, AnyReport>>>()
    }

    /// Returns the codec for the same algorithm in a group that keeps its own membership
    /// ([`Member`](membership::Member)). Its disk is that of the replicated log.
    #[must_use]
    pub fn with_own_membership(self) -> Self {
        let codec = self.in_wrapper::<membership::Message<AnyMessage, AnyReport>>();
        Self { disk: DiskFormat::for_durable::<quorate_replica::Durable>(), ..codec }
    }

    /// Returns the codec for the same deadlock detector with processes that send each other
    /// requests ([`Requests`](deadlock::Requests)).
    #[must_use]
    pub fn with_requests(self) -> Self {
        self.in_wrapper::<deadlock::requests::Message<AnyMessage>>()
    }

    /// Returns the codec for the same deadlock detector with processes that lock resources
    /// ([`Locks`](deadlock::Locks)).
    #[must_use]
    pub fn with_locks(self) -> Self {
        self.in_wrapper::<deadlock::locks::Message<AnyMessage>>()
    }

    fn in_wrapper<W: wrapped::WrapperMessage>(self) -> Self {
        Self { messages: Arc::new(WrapperCodec::<W>::new(self.messages)), disk: self.disk }
    }

    /// Returns whether the algorithm saves anything. If so, its nodes must not be restarted without
    /// their disks.
    pub const fn has_durable_state(&self) -> bool {
        self.disk.is_used
    }

    /// Returns durable state from a disk as a state of this algorithm, or the reason why it cannot
    /// be read as one.
    ///
    /// A driver calls this before it starts a node. The node itself would treat state that it
    /// cannot read as lost.
    pub fn unseal(&self, durable: AnyDurable) -> Result<AnyDurable, Unreadable> {
        (self.disk.unseal)(durable)
    }
}

impl<C: 'static, E: 'static> Codec<Erased<C, E>> for AnyCodec {
    fn encode(&self, message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
        self.messages.encode(message, into)
    }

    fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, Malformed> {
        self.messages.decode(bytes)
    }
}

/// How the durable state of one algorithm is read from a disk.
#[derive(Clone, Copy)]
struct DiskFormat {
    unseal: fn(AnyDurable) -> Result<AnyDurable, Unreadable>,
    /// Whether the algorithm saves anything.
    is_used: bool,
}

impl DiskFormat {
    fn for_durable<D: ErasableDurable + Durable<Write: ErasableWrite>>() -> Self {
        Self { unseal: AnyDurable::unseal::<D>, is_used: TypeId::of::<D>() != TypeId::of::<()>() }
    }
}

/// Encodes and decodes erased messages and reports.
trait MessageCodec: Send + Sync {
    fn encode(&self, message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed>;
    fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, Malformed>;
    fn encode_report(&self, report: &AnyReport, into: &mut Vec<u8>) -> Result<(), Malformed>;
    fn decode_report(&self, bytes: &[u8]) -> Result<AnyReport, Malformed>;
}

/// The codec of an algorithm without a wrapper.
struct AlgorithmCodec {
    encode: fn(&AnyMessage, &mut Vec<u8>) -> Result<(), Malformed>,
    decode: fn(&[u8]) -> Result<AnyMessage, Malformed>,
    encode_report: fn(&AnyReport, &mut Vec<u8>) -> Result<(), Malformed>,
    decode_report: fn(&[u8]) -> Result<AnyReport, Malformed>,
}

impl AlgorithmCodec {
    fn for_messages<M: Describe + ErasablePart + DeserializeOwned>() -> Self {
        Self {
            encode: |message, into| pack_known(message.as_typed::<M>(), into),
            decode: |bytes| unpack::<M>(bytes).map(AnyMessage::new),
            encode_report: |_, _| Err(no_reports()),
            decode_report: |_| Err(no_reports()),
        }
    }

    fn with_reports<R: ErasablePart + DeserializeOwned>(self) -> Self {
        Self {
            encode_report: |report, into| pack_known(report.as_typed::<R>(), into),
            decode_report: |bytes| unpack::<R>(bytes).map(AnyReport::new),
            ..self
        }
    }
}

impl MessageCodec for AlgorithmCodec {
    fn encode(&self, message: &AnyMessage, into: &mut Vec<u8>) -> Result<(), Malformed> {
        (self.encode)(message, into)
    }

    fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, Malformed> {
        (self.decode)(bytes)
    }

    fn encode_report(&self, report: &AnyReport, into: &mut Vec<u8>) -> Result<(), Malformed> {
        (self.encode_report)(report, into)
    }

    fn decode_report(&self, bytes: &[u8]) -> Result<AnyReport, Malformed> {
        (self.decode_report)(bytes)
    }
}

/// Appends the bytes of a value; fails for `None`, which stands for a value of another type.
fn pack_known(value: Option<&impl Serialize>, into: &mut Vec<u8>) -> Result<(), Malformed> {
    pack(value.ok_or_else(wrong_algorithm)?, into)
}

fn wrong_algorithm() -> Malformed {
    Malformed("it belongs to another algorithm".into())
}

fn no_reports() -> Malformed {
    Malformed("its algorithm has no reports".into())
}
