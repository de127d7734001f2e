//! The algorithms by name.
//!
//! Every driver and tool reaches an algorithm through its [`Entry`]. A family's nodes all hide behind one erased
//! type ([`MutexNode`], [`ElectionNode`]), which is itself a protocol: simulator, checker and runtime are compiled once a family,
//! however many algorithms it has.

mod codec;
mod disk;
mod erased;
mod message;
mod opaque;
mod table;

pub use codec::AnyCodec;
pub use disk::{AnyDurable, AnyWrite, Unreadable};
pub use erased::{Erasable, ErasableDurable, ErasableWrite, Erased, Parts};
pub use message::{AnyMessage, AnyTimer};
pub use table::{
    DeadlockEntry, DeadlockForm, DeadlockNode, ElectionEntry, ElectionNode, Entry, Family, InViews, MemberMaker,
    MoreForms, MulticastEntry, MulticastForm, MulticastNode, MutexEntry, MutexForm, MutexMaker, MutexNode,
    ReplicaEntry, ReplicaMachine, ReplicaNode, SeveralForm, Surroundings, all, find, fixtures, form,
};
