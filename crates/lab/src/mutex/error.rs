//! Errors in the settings of a mutual-exclusion experiment.

use crate::error::existing_nodes;
use quorate_core::NodeId;

/// An invalid setting of a mutual-exclusion experiment.
#[derive(Debug, thiserror::Error)]
pub enum MutexError {
    #[error("--nodes must suit '{name}': {sizes}; got {nodes}.")]
    UnsupportedSize { name: String, nodes: usize, sizes: &'static str },
    #[error("--requesters must name nodes of the group; got node {node}, but {}.", existing_nodes(*nodes))]
    NoSuchRequester { node: NodeId, nodes: usize },
}
