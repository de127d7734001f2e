//! Writes and durable state of any algorithm.
//!
//! A node's own writes carry their type. A real disk returns bytes that do not name their
//! algorithm. Such bytes stay *sealed*, and later sealed writes are appended to them, until a typed
//! write or a node opens them. So a store can keep the disk of any algorithm, and data that cannot
//! be read is neither lost nor treated as empty.

use crate::erased::{ErasableDurable, ErasableWrite, equal};
use bytes::Bytes;
use quorate_core::packed::{pack, unpack};
use quorate_core::{Durable, Malformed};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The reason why an algorithm cannot use the data on a disk. The text also says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error(
        "the data on the disk has format version {found}, but this release reads versions up to \
         {known}. Nothing was changed; run a release that knows version {found}."
    )]
    Newer { found: u32, known: u32 },
    #[error(
        "the data on the disk belongs to another algorithm: {0}. Nothing was changed; run the algorithm that wrote the \
         data, or use another data folder."
    )]
    Foreign(Malformed),
}

/// The bytes of a write or of a durable state, with the version of its format.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Sealed {
    version: u32,
    bytes: Bytes,
}

impl Sealed {
    fn new<D: Durable>(value: &impl Serialize) -> Result<Self, Malformed> {
        let mut bytes = Vec::new();
        pack(value, &mut bytes)?;
        Ok(Self { version: D::VERSION, bytes: bytes.into() })
    }

    fn open<D: Durable, T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        if self.version > D::VERSION {
            return Err(Unreadable::Newer { found: self.version, known: D::VERSION });
        }
        unpack(&self.bytes).map_err(Unreadable::Foreign)
    }
}

/// A write of any algorithm. Clones share it.
///
/// The text form is the algorithm's own, as journals have it. The binary form is sealed, and only
/// that can be read again.
#[derive(Clone)]
pub struct AnyWrite(WriteForm);

#[derive(Clone)]
enum WriteForm {
    Typed(Arc<dyn WriteObject>),
    Sealed(Sealed),
}

impl AnyWrite {
    pub(crate) fn new<D>(write: D::Write) -> Self
    where
        D: Durable<Write: ErasableWrite> + ErasableDurable,
    {
        Self(WriteForm::Typed(Arc::new(TypedWrite::<D>(write))))
    }
}

trait WriteObject: erased_serde::Serialize + Any + Send + Sync {
    /// Returns the state that the first write is applied to.
    fn empty(&self) -> Box<dyn DurableObject>;
    /// Returns the state that the first write after the loss of a disk is applied to.
    fn wiped(&self) -> Box<dyn DurableObject>;
    /// Opens sealed writes as the state that this write is applied to.
    fn open(&self, log: &SealedLog) -> Result<Box<dyn DurableObject>, Unreadable>;
    fn seal(&self) -> Result<Sealed, Malformed>;
    fn as_any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

struct TypedWrite<D: Durable>(D::Write);

impl<D> WriteObject for TypedWrite<D>
where
    D: Durable<Write: ErasableWrite> + ErasableDurable,
{
    fn empty(&self) -> Box<dyn DurableObject> {
        Box::new(TypedDurable(D::default()))
    }
    fn wiped(&self) -> Box<dyn DurableObject> {
        Box::new(TypedDurable(D::wiped()))
    }
    fn open(&self, log: &SealedLog) -> Result<Box<dyn DurableObject>, Unreadable> {
        Ok(Box::new(TypedDurable(log.open::<D>()?)))
    }
    fn seal(&self) -> Result<Sealed, Malformed> {
        Sealed::new::<D>(&self.0)
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
    fn equals(&self, other: &dyn Any) -> bool {
        equal(&self.0, other)
    }
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

// Implemented by hand, because a derive would require `D: Clone`.
impl<D: Durable<Write: Clone>> Clone for TypedWrite<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Durable<Write: Serialize>> Serialize for TypedWrite<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for AnyWrite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            WriteForm::Typed(write) if serializer.is_human_readable() => erased_serde::serialize(&**write, serializer),
            WriteForm::Typed(write) => write.seal().map_err(S::Error::custom)?.serialize(serializer),
            WriteForm::Sealed(sealed) => sealed.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AnyWrite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Err(D::Error::custom("cannot read the text form of a write: only its algorithm can"));
        }
        Sealed::deserialize(deserializer).map(|sealed| Self(WriteForm::Sealed(sealed)))
    }
}

impl PartialEq for AnyWrite {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (WriteForm::Typed(this), WriteForm::Typed(other)) => this.equals(other.as_any()),
            (WriteForm::Sealed(this), WriteForm::Sealed(other)) => this == other,
            (WriteForm::Typed(_) | WriteForm::Sealed(_), _) => false,
        }
    }
}

impl Eq for AnyWrite {}

impl Hash for AnyWrite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            WriteForm::Typed(write) => write.hash_into(state),
            WriteForm::Sealed(sealed) => sealed.hash(state),
        }
    }
}

/// The durable state of any algorithm. The first typed write, or
/// [`AnyCodec::unseal`](crate::AnyCodec::unseal), determines its type.
#[derive(Clone, Default)]
pub struct AnyDurable(DurableForm);

/// The forms of a durable state. Only `Written` knows the algorithm.
#[derive(Clone, Default)]
enum DurableForm {
    #[default]
    Empty,
    /// An earlier disk was lost, with all its writes.
    Wiped,
    Written(Box<dyn DurableObject>),
    /// Bytes that were not yet read as the type of an algorithm.
    Unread(SealedLog),
}

/// A state and the sealed writes that are to be applied to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct SealedLog {
    base: Base,
    writes: Vec<Sealed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Base {
    Empty,
    Wiped,
    /// The complete state.
    Image(Sealed),
}

impl SealedLog {
    fn new(base: Base) -> Self {
        Self { base, writes: Vec::new() }
    }

    fn open<D: Durable<Write: ErasableWrite> + ErasableDurable>(&self) -> Result<D, Unreadable> {
        let mut durable = match &self.base {
            Base::Empty => D::default(),
            Base::Wiped => D::wiped(),
            Base::Image(image) => image.open::<D, D>()?,
        };
        for write in &self.writes {
            durable.apply(write.open::<D, _>()?);
        }
        Ok(durable)
    }
}

trait DurableObject: Send + Sync {
    fn apply(&mut self, write: Arc<dyn WriteObject>);
    fn seal(&self) -> Result<Sealed, Malformed>;
    fn duplicate(&self) -> Box<dyn DurableObject>;
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl Clone for Box<dyn DurableObject> {
    fn clone(&self) -> Self {
        (**self).duplicate()
    }
}

struct TypedDurable<D>(D);

impl<D> DurableObject for TypedDurable<D>
where
    D: Durable<Write: ErasableWrite> + ErasableDurable,
{
    fn apply(&mut self, write: Arc<dyn WriteObject>) {
        let any: Arc<dyn Any + Send + Sync> = write;
        // A write of another algorithm is ignored.
        if let Ok(write) = any.downcast::<TypedWrite<D>>() {
            self.0.apply(Arc::unwrap_or_clone(write).0);
        }
    }
    fn seal(&self) -> Result<Sealed, Malformed> {
        Sealed::new::<D>(&self.0)
    }
    fn duplicate(&self) -> Box<dyn DurableObject> {
        Box::new(Self(self.0.clone()))
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
    fn equals(&self, other: &dyn Any) -> bool {
        equal(&self.0, other)
    }
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

impl AnyDurable {
    /// Returns the state as type `D`. A state that cannot be read counts as lost, and not as empty,
    /// since the node may have made promises in it.
    pub(crate) fn into_typed<D: Durable<Write: ErasableWrite> + ErasableDurable>(self) -> D {
        match self.0 {
            DurableForm::Empty => D::default(),
            DurableForm::Wiped => D::wiped(),
            DurableForm::Written(durable) => {
                durable.into_any().downcast().map_or_else(|_| D::wiped(), |durable| *durable)
            }
            DurableForm::Unread(log) => log.open().unwrap_or_else(|_| D::wiped()),
        }
    }

    /// Returns the same state, opened as type `D`. Fails if it has another type or a newer version.
    pub(crate) fn unseal<D: Durable<Write: ErasableWrite> + ErasableDurable>(self) -> Result<Self, Unreadable> {
        match &self.0 {
            DurableForm::Empty | DurableForm::Wiped => Ok(self),
            DurableForm::Written(durable) if durable.as_any().is::<D>() => Ok(self),
            DurableForm::Written(_) => Err(Unreadable::Foreign(Malformed("another algorithm wrote to it".into()))),
            DurableForm::Unread(log) => Ok(Self(DurableForm::Written(Box::new(TypedDurable(log.open::<D>()?))))),
        }
    }
}

impl DurableForm {
    /// Applies a write of a known type. If the state cannot be read as that type, the write is
    /// appended sealed, so that nothing is lost.
    fn with_write(self, write: Arc<dyn WriteObject>) -> Self {
        let mut durable = match self {
            Self::Empty => write.empty(),
            Self::Wiped => write.wiped(),
            Self::Written(durable) => durable,
            Self::Unread(mut log) => match write.open(&log) {
                Ok(durable) => durable,
                Err(_) => {
                    // The store has already refused a write that cannot be serialized.
                    log.writes.extend(write.seal());
                    return Self::Unread(log);
                }
            },
        };
        durable.apply(write);
        Self::Written(durable)
    }

    /// Appends a sealed write without reading it.
    fn with_sealed_write(self, write: Sealed) -> Self {
        let mut log = match self {
            Self::Unread(log) => log,
            content => match content.seal() {
                Ok(log) => log,
                // A state that cannot be serialized was never on a disk, so no sealed write can
                // follow it.
                Err(_) => return content,
            },
        };
        log.writes.push(write);
        Self::Unread(log)
    }

    fn seal(&self) -> Result<SealedLog, Malformed> {
        Ok(match self {
            Self::Empty => SealedLog::new(Base::Empty),
            Self::Wiped => SealedLog::new(Base::Wiped),
            Self::Written(durable) => SealedLog::new(Base::Image(durable.seal()?)),
            Self::Unread(log) => log.clone(),
        })
    }
}

impl Durable for AnyDurable {
    type Write = AnyWrite;

    fn apply(&mut self, AnyWrite(write): AnyWrite) {
        let content = std::mem::take(&mut self.0);
        self.0 = match write {
            WriteForm::Typed(write) => content.with_write(write),
            WriteForm::Sealed(write) => content.with_sealed_write(write),
        };
    }

    fn wiped() -> Self {
        Self(DurableForm::Wiped)
    }
}

impl Serialize for AnyDurable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            DurableForm::Unread(log) => log.serialize(serializer),
            content => content.seal().map_err(S::Error::custom)?.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AnyDurable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let log = SealedLog::deserialize(deserializer)?;
        Ok(Self(match (&log.base, &log.writes[..]) {
            (Base::Empty, []) => DurableForm::Empty,
            (Base::Wiped, []) => DurableForm::Wiped,
            (Base::Empty | Base::Wiped | Base::Image(_), _) => DurableForm::Unread(log),
        }))
    }
}

impl PartialEq for AnyDurable {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (DurableForm::Written(this), DurableForm::Written(other)) => this.equals(other.as_any()),
            (DurableForm::Unread(this), DurableForm::Unread(other)) => this == other,
            (DurableForm::Empty, DurableForm::Empty) | (DurableForm::Wiped, DurableForm::Wiped) => true,
            (DurableForm::Empty | DurableForm::Wiped | DurableForm::Written(_) | DurableForm::Unread(_), _) => false,
        }
    }
}

impl Eq for AnyDurable {}

impl Hash for AnyDurable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            DurableForm::Empty => 0_u8.hash(state),
            DurableForm::Written(durable) => {
                1_u8.hash(state);
                durable.hash_into(state);
            }
            DurableForm::Wiped => 2_u8.hash(state),
            DurableForm::Unread(log) => {
                3_u8.hash(state);
                log.hash(state);
            }
        }
    }
}
