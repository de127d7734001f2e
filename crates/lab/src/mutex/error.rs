//! What is wrong with an experiment on mutual exclusion.

use crate::error::only;
use quorate_core::NodeId;

#[derive(Debug, thiserror::Error)]
pub enum MutexError {
    #[error("'{name}' has no group of {nodes}: {sizes}.")]
    NoSuchGroup { name: String, nodes: usize, sizes: &'static str },
    #[error("--requesters names node {node}, but {}.", only(*nodes))]
    NoSuchRequester { node: NodeId, nodes: usize },
}
