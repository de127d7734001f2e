//! Nodes of any algorithm of a family behind one type.
//!
//! An [`Erased`] node is itself a protocol: simulator, checker and runtime are compiled once a family, however many algorithms
//! it has. What such nodes send, set and save is erased with them; an [`AnyCodec`] turns it into bytes and back.

mod codec;
mod detector;
mod disk;
mod diskless;
mod erased;
mod in_views;
mod message;
mod opaque;

pub use codec::AnyCodec;
pub use detector::AnyDetector;
pub use disk::{AnyDurable, AnyWrite, Unreadable};
pub use erased::{Erasable, ErasableDurable, ErasableWrite, Erased, Parts};
pub use in_views::{ErasableInViews, ErasedInViews};
pub use message::{AnyMessage, AnyReport, AnyTimer, ErasablePart};
