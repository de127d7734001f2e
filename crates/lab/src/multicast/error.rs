//! Errors in the settings of a multicast experiment.

use crate::error::existing_nodes;
use quorate_core::NodeId;
use quorate_core::multicast::Payload;

/// An invalid setting of a multicast experiment.
#[derive(Debug, thiserror::Error)]
pub enum MulticastError {
    #[error("--{option} must name nodes of the group; got node {node}, but {}.", existing_nodes(*nodes))]
    NoSuchNode { option: &'static str, node: NodeId, nodes: usize },
    #[error("--sequencing does not apply to '{name}', which has no sequencer; omit --sequencing.")]
    SequencingNotApplicable { name: String },
    #[error(
        "'{name}' is a faulty variant, which supports only one group and --membership oracle; omit --groups and --membership."
    )]
    NotForFaultyVariant { name: String },
    #[error("--judge view-synchrony has no effect without --views; add --views, or omit view-synchrony.")]
    ViewSynchronyWithoutViews,
    #[error("--senders must name members of the --groups; got node {node}, which is in none of them.")]
    SenderInNoGroup { node: NodeId },
    #[error("--window must be at least 1; got 0. The default is --window 64.")]
    ZeroWindow,
    #[error("--payload must be at most {longest} bytes; got {payload}.", longest = Payload::MAX_LEN)]
    PayloadTooLong { payload: usize },
    #[error("--leaves has no effect without --views, because the group never changes; add --views.")]
    LeavesWithoutViews,
    #[error("--leaves must be at most {nodes}, the number of nodes; got {leaves}.")]
    TooManyLeaves { leaves: usize, nodes: usize },
    #[error("--piece must be at least 1 byte; got 0.")]
    ZeroPiece,
    #[error("--groups cannot be combined with --membership replica, which supports one group; omit one of them.")]
    GroupsWithReplica,
    #[error("--{option} does not apply to a check, which explores every schedule of one group; use 'quorate sim'.")]
    NotInChecks { option: &'static str },
}
