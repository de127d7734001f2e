//! Errors in the settings of a deadlock experiment.

use quorate_core::NodeId;

/// An invalid setting of a deadlock experiment.
#[derive(Debug, thiserror::Error)]
pub enum DeadlockError {
    #[error("--processes must be between 1 and {maximum}; got {processes}.")]
    ProcessesOutOfRange { processes: usize, maximum: usize },
    #[error("--resources must be at most {maximum}; got {resources}.")]
    ResourcesOutOfRange { resources: usize, maximum: usize },
    #[error(
        "--detect-after does not apply to '{name}'; it is an option of detectors whose waiting processes start detections."
    )]
    DetectAfterNotApplicable { name: String },
    #[error("--processes cannot be combined with --resources, which requires one process per site; omit one of them.")]
    ProcessesWithResources,
    #[error("--acquire has no effect without --resources; add --resources, or omit --acquire.")]
    AcquireWithoutResources,
    #[error("the script's command '{text}' for node {node} is invalid: {reason}")]
    InvalidCommand { text: String, node: NodeId, reason: String },
    #[error(
        "--waits-for cannot be combined with --resources, because a process waits for all resources that it requests; omit one of them."
    )]
    WaitsForWithResources,
    #[error("--priorities has no effect without --victim lowest-priority; add that, or omit --priorities.")]
    PrioritiesUnused,
    #[error("--priorities must have at most one number per process; got {given} for {processes} processes.")]
    TooManyPriorities { given: usize, processes: usize },
    #[error("--fan-out must be at least 1; got 0.")]
    FanOutZero,
    #[error("--share must be between 0 and 100; got {share}.")]
    ShareOutOfRange { share: u64 },
    #[error(
        "'{name}' does not support {option}. Use 'deadlock-and' for processes that wait for all requested agents, \
         'deadlock-or' for processes that wait for any of them, and 'deadlock-central' for both."
    )]
    UnsupportedWaits { name: String, option: String },
    #[error(
        "--{option} does not apply to a check, which explores every order; use --rounds for the number of requests per process."
    )]
    NotInChecks { option: &'static str },
    #[error(
        "--fan-out does not apply to a check in which resources are acquired one by one; add --acquire at-once, or omit --fan-out."
    )]
    FanOutOneByOne,
}
