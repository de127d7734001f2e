//! The algorithms by name.
//!
//! Every driver and tool reaches an algorithm through its [`Entry`]. A family's nodes all hide behind one erased
//! type ([`MutexNode`], [`ElectionNode`]), which is itself a protocol: simulator, checker and runtime are compiled once a family,
//! however many algorithms it has.

mod codec;
mod detector;
mod disk;
mod diskless;
mod erased;
mod in_views;
mod message;
mod opaque;
mod table;

pub use codec::AnyCodec;
pub use detector::AnyDetector;
pub use disk::{AnyDurable, AnyWrite, Unreadable};
pub use erased::{Erasable, ErasableDurable, ErasableWrite, Erased, Parts};
pub use in_views::{ErasableInViews, ErasedInViews};
pub use message::{AnyMessage, AnyReport, AnyTimer, ErasablePart};
pub use table::{
    DeadlockEntry, DeadlockNode, ElectionEntry, ElectionNode, Entry, Family, Maker, MulticastEntry, MulticastInViews,
    MulticastNode, MutexEntry, MutexInViews, MutexMaker, MutexNode, ReplicaEntry, ReplicaMachine, ReplicaNode,
    Surroundings, all, find, fixtures, form,
};
