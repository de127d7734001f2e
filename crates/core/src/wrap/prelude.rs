//! Imports that every wrapper needs.

pub(crate) use crate::bounds::Bounds;
pub(crate) use crate::describe::{Class, Describe};
pub(crate) use crate::effects::{Effect, Effects, Note, Order, PayloadId, Sink};
pub(crate) use crate::fixed::Fixed;
pub(crate) use crate::group::{Epoch, Group};
pub(crate) use crate::node::{Incarnation, NodeId};
pub(crate) use crate::protocol::{Durable, Input, Protocol};
pub(crate) use crate::time::{Duration, Span, Time};
pub(crate) use crate::view::View;
pub(crate) use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
pub(crate) use alloc::vec::Vec;
