//! Nodes of any algorithm of a family behind one type.
//!
//! An [`Erased`] node is itself a protocol, so simulator, checker and runtime are compiled once per
//! family, however many algorithms it has. Its messages, timers and writes are erased too; an
//! [`AnyCodec`] converts them to bytes and back.

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
pub use erased::{Erasable, ErasableDurable, ErasableWrite, Erased, HasErasableParts};
pub use in_views::{ErasableInViews, ErasedInViews};
pub use message::{AnyMessage, AnyReport, AnyTimer, ErasablePart};
