//! The writes and the disk of any algorithm.
//!
//! A node's own writes have their type with them. What comes back from a real disk is bytes, and nothing there says whose:
//! it stays *sealed*, and writes are piled up on it unread, until a write or a node that knows the type opens it. So a
//! store can keep the disk of any algorithm, and nothing that cannot be read is ever lost or taken for nothing.

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

/// Why what is on a disk is of no use to an algorithm. Each prints as a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error(
        "What this algorithm keeps on the disk has format version {found}, and this release reads versions up to \
         {known}. Nothing was changed; run a release that knows version {found}."
    )]
    Newer { found: u32, known: u32 },
    #[error(
        "What is on the disk is not of this algorithm: {0}. Nothing was changed; run the algorithm that wrote it, or \
         give this one a folder of its own."
    )]
    Foreign(Malformed),
}

/// Something as bytes, and the version of its form.
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

/// A write of any algorithm. Copies share it.
///
/// To people it is written as the algorithm's own write, as journals have it. In bytes it is sealed, and only so can it be
/// read back.
#[derive(Clone)]
pub struct AnyWrite(Writing);

#[derive(Clone)]
enum Writing {
    Typed(Arc<dyn WriteObject>),
    Sealed(Sealed),
}

impl AnyWrite {
    pub(crate) fn new<D>(write: D::Write) -> Self
    where
        D: Durable<Write: ErasableWrite> + ErasableDurable,
    {
        Self(Writing::Typed(Arc::new(TypedWrite::<D>(write))))
    }
}

trait WriteObject: erased_serde::Serialize + Any + Send + Sync {
    /// What this write is applied to before there was any other.
    fn empty(&self) -> Box<dyn DurableObject>;
    /// What it is applied to when it is the first since the disk was lost.
    fn wiped(&self) -> Box<dyn DurableObject>;
    /// What it is applied to when the disk was read from bytes.
    fn open(&self, pile: &Pile) -> Result<Box<dyn DurableObject>, Unreadable>;
    fn seal(&self) -> Result<Sealed, Malformed>;
    fn as_any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
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
    fn open(&self, pile: &Pile) -> Result<Box<dyn DurableObject>, Unreadable> {
        Ok(Box::new(TypedDurable(pile.open::<D>()?)))
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
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

// Written by hand, because a derive would ask Clone of the disk.
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
            Writing::Typed(write) if serializer.is_human_readable() => erased_serde::serialize(&**write, serializer),
            Writing::Typed(write) => write.seal().map_err(S::Error::custom)?.serialize(serializer),
            Writing::Sealed(sealed) => sealed.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AnyWrite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Err(D::Error::custom("only its algorithm can read a write that was written for people"));
        }
        Sealed::deserialize(deserializer).map(|sealed| Self(Writing::Sealed(sealed)))
    }
}

impl PartialEq for AnyWrite {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Writing::Typed(one), Writing::Typed(other)) => one.equals(other.as_any()),
            (Writing::Sealed(one), Writing::Sealed(other)) => one == other,
            (Writing::Typed(_) | Writing::Sealed(_), _) => false,
        }
    }
}

impl Eq for AnyWrite {}

impl Hash for AnyWrite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Writing::Typed(write) => write.feed(state),
            Writing::Sealed(sealed) => sealed.hash(state),
        }
    }
}

/// What any algorithm keeps on its disk; the first write tells what it is.
#[derive(Clone, Default)]
pub struct AnyDurable(Content);

/// Until there is a write, nobody knows of which algorithm the disk is.
#[derive(Clone, Default)]
enum Content {
    #[default]
    Empty,
    Wiped,
    Written(Box<dyn DurableObject>),
    Piled(Pile),
}

/// Sealed writes, and what they are to be applied to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Pile {
    base: Base,
    writes: Vec<Sealed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Base {
    Empty,
    Wiped,
    Image(Sealed),
}

impl Pile {
    fn on(base: Base) -> Self {
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
    fn feed(&self, hasher: &mut dyn Hasher);
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
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

impl AnyDurable {
    /// What a node finds. What it cannot read is as good as lost: it may have promised something there.
    pub(crate) fn typed<D: Durable<Write: ErasableWrite> + ErasableDurable>(self) -> D {
        match self.0 {
            Content::Empty => D::default(),
            Content::Wiped => D::wiped(),
            Content::Written(durable) => durable.into_any().downcast().map_or_else(|_| D::wiped(), |durable| *durable),
            Content::Piled(pile) => pile.open().unwrap_or_else(|_| D::wiped()),
        }
    }

    /// The same disk with its type, if it is this one.
    pub(crate) fn unseal<D: Durable<Write: ErasableWrite> + ErasableDurable>(self) -> Result<Self, Unreadable> {
        match &self.0 {
            Content::Empty | Content::Wiped => Ok(self),
            Content::Written(durable) if durable.as_any().is::<D>() => Ok(self),
            Content::Written(_) => Err(Unreadable::Foreign(Malformed("another one wrote to it".into()))),
            Content::Piled(pile) => Ok(Self(Content::Written(Box::new(TypedDurable(pile.open::<D>()?))))),
        }
    }
}

impl Content {
    /// This with a write of a known type. If it cannot be read as that, the write is piled up too, so that nothing is lost.
    fn with(self, write: Arc<dyn WriteObject>) -> Self {
        let mut durable = match self {
            Self::Empty => write.empty(),
            Self::Wiped => write.wiped(),
            Self::Written(durable) => durable,
            Self::Piled(mut pile) => match write.open(&pile) {
                Ok(durable) => durable,
                Err(_) => {
                    // A write that cannot be packed was refused by the store before it came here.
                    pile.writes.extend(write.seal());
                    return Self::Piled(pile);
                }
            },
        };
        durable.apply(write);
        Self::Written(durable)
    }

    fn with_sealed(self, write: Sealed) -> Self {
        let mut pile = match self {
            Self::Piled(pile) => pile,
            content => match content.seal() {
                Ok(pile) => pile,
                // What cannot be packed was on no disk that a sealed write could come from.
                Err(_) => return content,
            },
        };
        pile.writes.push(write);
        Self::Piled(pile)
    }

    fn seal(&self) -> Result<Pile, Malformed> {
        Ok(match self {
            Self::Empty => Pile::on(Base::Empty),
            Self::Wiped => Pile::on(Base::Wiped),
            Self::Written(durable) => Pile::on(Base::Image(durable.seal()?)),
            Self::Piled(pile) => pile.clone(),
        })
    }
}

impl Durable for AnyDurable {
    type Write = AnyWrite;

    fn apply(&mut self, AnyWrite(write): AnyWrite) {
        let content = std::mem::take(&mut self.0);
        self.0 = match write {
            Writing::Typed(write) => content.with(write),
            Writing::Sealed(write) => content.with_sealed(write),
        };
    }

    fn wiped() -> Self {
        Self(Content::Wiped)
    }
}

impl Serialize for AnyDurable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Content::Piled(pile) => pile.serialize(serializer),
            content => content.seal().map_err(S::Error::custom)?.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AnyDurable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pile = Pile::deserialize(deserializer)?;
        Ok(Self(match (&pile.base, &pile.writes[..]) {
            (Base::Empty, []) => Content::Empty,
            (Base::Wiped, []) => Content::Wiped,
            (Base::Empty | Base::Wiped | Base::Image(_), _) => Content::Piled(pile),
        }))
    }
}

impl PartialEq for AnyDurable {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Content::Written(one), Content::Written(other)) => one.equals(other.as_any()),
            (Content::Piled(one), Content::Piled(other)) => one == other,
            (Content::Empty, Content::Empty) | (Content::Wiped, Content::Wiped) => true,
            (Content::Empty | Content::Wiped | Content::Written(_) | Content::Piled(_), _) => false,
        }
    }
}

impl Eq for AnyDurable {}

impl Hash for AnyDurable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Content::Empty => 0_u8.hash(state),
            Content::Written(durable) => {
                1_u8.hash(state);
                durable.feed(state);
            }
            Content::Wiped => 2_u8.hash(state),
            Content::Piled(pile) => {
                3_u8.hash(state);
                pile.hash(state);
            }
        }
    }
}
