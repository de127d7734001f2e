//! The algorithms by name.
//!
//! Every driver and tool reaches an algorithm through its [`Entry`]. A family's nodes all hide behind one erased
//! type ([`MutexNode`], [`ElectionNode`]), which is itself a protocol: simulator, checker and runtime are compiled once a family,
//! however many algorithms it has.

mod erased;
mod opaque;
mod table;

pub use erased::{AnyDurable, AnyMessage, AnyTimer, AnyWrite, Erased};
pub use table::{
    ElectionEntry, ElectionNode, Entry, Family, MutexEntry, MutexNode, ReplicaEntry, ReplicaMachine, ReplicaNode,
    Surroundings, all, find, fixtures,
};
