//! What is wrong with an experiment on elections.

use crate::error::only;
use quorate_core::NodeId;
use quorate_journal::settings::Length;

#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    #[error("--{option} means nothing to '{name}': it is for elections {of}.")]
    ForeignOption { option: &'static str, name: &'static str, of: &'static str },
    #[error(
        "A master may trust its lease for {trusted}, and an answer takes up to {answer}: nobody could ever lead. Use a longer \
         --master-lease or a smaller --master-drift-bound."
    )]
    LeaseTooShort { trusted: Length, answer: Length },
    #[error("--upheaval {upheaval} is too much for one run: give {most} at most.")]
    TooMuchUpheaval { upheaval: u64, most: u64 },
    #[error("Nobody starts: --starters {starters} names only nodes that are down from the start.")]
    NobodyStarts { starters: String },
    #[error("--order {order} does not name each of the {nodes} nodes once; write for example {}.", order_of(*nodes))]
    NoSuchOrder { order: String, nodes: usize },
    #[error("--attribute gives {given} numbers, but there are {nodes} nodes; give each node one.")]
    NotEveryAttribute { given: usize, nodes: usize },
    #[error("--id-bits {bits} makes no ids; they have from 1 to 64 bits.")]
    NoSuchIds { bits: u32 },
    #[error("--reserved-bits {reserved} is more than an id has; give at most {bits}, or more --id-bits.")]
    TooManyReserved { reserved: u32, bits: u32 },
    #[error(
        "--load-bound {load} cannot be kept: with {bits} bits, more nodes than that share one id. Give more --id-bits or a \
         larger bound."
    )]
    NoSuchLoad { load: usize, bits: u32 },
    #[error("--starters names node {node}, but {}.", only(*nodes))]
    NoSuchStarter { node: NodeId, nodes: usize },
    #[error(
        "--heartbeat says how often nodes tell that they live, and without a detector they do not: add --detector heartbeat or \
         --detector accrual."
    )]
    NoHeartbeats,
    #[error("--silence is for detectors with a fixed bound: add --detector heartbeat.")]
    NoFixedBound,
    #[error("--threshold is for detectors that learn how heartbeats come: add --detector accrual.")]
    NoAccrual,
    #[error("A heartbeat every 0ms leaves no time for anything else: give it some, such as --heartbeat 50ms.")]
    NoHeartbeat,
    #[error(
        "A silence of {silence} is shorter than a heartbeat, which comes every {period}: everyone would be suspected before each of them. \
         Give a longer --silence, or a shorter --heartbeat."
    )]
    HastySilence { silence: Length, period: Length },
}

fn order_of(nodes: usize) -> String {
    match nodes {
        0..=9 => (1..=nodes).rev().map(|number| number.to_string()).collect::<Vec<_>>().join(","),
        _ => "random".into(),
    }
}
