//! What reaches a node.

use crate::line::Line;
use bytes::Bytes;
use quorate_core::{Incarnation, NodeId, View};
use std::sync::Arc;

/// What the process around a node tells it.
pub(crate) enum Letter {
    Stop,
    View(View),
    /// Whether a node is suspected.
    Suspect(NodeId, bool),
}

/// A batch from a peer.
pub(crate) struct Parcel {
    /// Whose acknowledgements follow from it.
    pub(crate) line: Arc<Line>,
    pub(crate) from: NodeId,
    pub(crate) incarnation: Incarnation,
    pub(crate) body: Bytes,
}
