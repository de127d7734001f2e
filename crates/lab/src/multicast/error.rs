//! What is wrong with an experiment on ordered multicast.

use crate::error::only;
use quorate_core::NodeId;
use quorate_core::multicast::Payload;

#[derive(Debug, thiserror::Error)]
pub enum MulticastError {
    #[error("--senders or --groups names node {node}, but {}.", only(*nodes))]
    NoSuchSender { node: NodeId, nodes: usize },
    #[error("'{name}' has no sequencer that messages could go by: leave --sequencing out.")]
    NoSequencer { name: String },
    #[error(
        "'{name}' is wrong on purpose, and runs in one group with an oracle only: leave --groups and --membership out."
    )]
    FewForms { name: String },
    #[error(
        "Without --views there is no view synchrony to judge: add --views, or leave view-synchrony out of --judge."
    )]
    NoViewsToJudge,
    #[error("--senders names node {node}, which is in none of the --groups and could send nothing.")]
    SenderOutside { node: NodeId },
    #[error("With a --window of 0 nobody could send anything; --window 64 is usual.")]
    NoWindow,
    #[error("A message of {payload} bytes is never sent: --payload is {} at most.", Payload::LONGEST)]
    PayloadTooLong { payload: usize },
    #[error("A group without views never changes, and nobody can leave it: add --views.")]
    NoWayOut,
    #[error("{leaves} members cannot leave a group of {nodes}: --leaves is {nodes} at most.")]
    TooManyLeave { leaves: usize, nodes: usize },
    #[error("A state cannot come in pieces of no bytes: give --piece one or more.")]
    NoPiece,
    #[error("Members that keep their membership themselves are in one group: leave --groups out, or --membership.")]
    SeveralGroupsOfReplicas,
    #[error("--{option} means nothing to a check, which tries every order in one group; 'quorate sim' has it.")]
    NotInChecks { option: &'static str },
}
