//! Errors in the settings of an election experiment.

use crate::error::existing_nodes;
use quorate_core::NodeId;
use quorate_journal::settings::Length;

/// An invalid setting of an election experiment.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    #[error("--{option} does not apply to '{name}'; it is an option of elections {elections}.")]
    OptionNotApplicable { option: &'static str, name: &'static str, elections: &'static str },
    #[error(
        "--leader-lease {lease} is too short: a leader trusts {trusted} of it, which must be longer than a round trip of \
         {round_trip}. Use a longer --leader-lease or a smaller --leader-drift-bound."
    )]
    LeaseTooShort { lease: Length, trusted: Length, round_trip: Length },
    #[error("--churn must be at most {maximum}; got {crashes}.")]
    TooManyCrashes { crashes: u64, maximum: u64 },
    #[error("--starters must name a node that is up at the start; got {starters}.")]
    NoLiveStarter { starters: String },
    #[error("--order must name each of the {nodes} nodes once; got {order}. Write for example {}.", example_order(*nodes))]
    InvalidOrder { order: String, nodes: usize },
    #[error("--attribute must have one number for each of the {nodes} nodes; got {given} numbers.")]
    WrongAttributeCount { given: usize, nodes: usize },
    #[error("--id-bits must be between 1 and 64; got {bits}.")]
    InvalidIdBits { bits: u32 },
    #[error("--reserved-bits must be at most {bits}, the bits of an id; got {reserved}. Use fewer, or more --id-bits.")]
    TooManyReservedBits { reserved: u32, bits: u32 },
    #[error(
        "--load-bound must be achievable; got {bound}, but with {bits} id bits too many nodes share one id. Use more \
         --id-bits or a larger bound."
    )]
    UnachievableLoadBound { bound: usize, bits: u32 },
    #[error("--starters must name nodes of the group; got node {node}, but {}.", existing_nodes(*nodes))]
    NoSuchStarter { node: NodeId, nodes: usize },
    #[error(
        "--heartbeat has no effect without a failure detector that sends heartbeats; add --detector heartbeat or --detector \
         accrual."
    )]
    HeartbeatWithoutDetector,
    #[error("--silence has no effect without a fixed timeout; add --detector heartbeat.")]
    SilenceWithoutFixedTimeout,
    #[error("--threshold has no effect without an adaptive detector; add --detector accrual.")]
    ThresholdWithoutAccrual,
    #[error("--heartbeat must be greater than 0; got 0ms. Use for example --heartbeat 50ms.")]
    ZeroHeartbeat,
    #[error(
        "--silence must be at least {period}, the interval between heartbeats; got {silence}. Use a longer --silence or a \
         shorter --heartbeat."
    )]
    SilenceTooShort { silence: Length, period: Length },
}

/// An order to suggest: all nodes if the list is short, else `random`.
fn example_order(nodes: usize) -> String {
    match nodes {
        0..=9 => (1..=nodes).rev().map(|number| number.to_string()).collect::<Vec<_>>().join(","),
        _ => "random".into(),
    }
}
