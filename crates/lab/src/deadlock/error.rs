//! What is wrong with an experiment on deadlock detection.

use quorate_core::NodeId;

#[derive(Debug, thiserror::Error)]
pub enum DeadlockError {
    #[error("{processes} processes cannot be: give --processes 1 to {most}.")]
    ProcessesOutOfRange { processes: usize, most: usize },
    #[error("{resources} resources are too many: give --resources at most {most}.")]
    ResourcesOutOfRange { resources: usize, most: usize },
    #[error("--looks-after means nothing to '{name}': it is for detectors whose waiting processes look for a cycle.")]
    NeverLooks { name: String },
    #[error("Where processes take resources, each site has one process: leave --processes out, or --resources.")]
    OneProcessEach,
    #[error("There is nothing to take in an order: give --resources, or leave --taking out.")]
    NothingToTake,
    #[error("The script's command '{text}' for node {node} makes no sense. {why}")]
    NoSuchCommand { text: String, node: NodeId, why: String },
    #[error("Whoever takes resources waits for each of them: leave --waits-for out, or --resources.")]
    NobodyIsAsked,
    #[error("--priorities has no effect without --victim lowest-priority; add that, or leave --priorities out.")]
    PrioritiesUnused,
    #[error("There are {given} priorities for {processes} processes: give at most one each.")]
    TooManyPriorities { given: usize, processes: usize },
    #[error("Nobody could ask anybody: --fan-out is at least 1, and --share a number from 0 to 100.")]
    NobodyAsks,
    #[error(
        "'{name}' does not understand such waits: deadlock-and is for those who wait for all whom they ask, deadlock-or for those who wait \
         for any of them, and deadlock-central for both."
    )]
    OtherWaits { name: String },
    #[error("--{option} means nothing to a check, which tries every order; --rounds says how often each process asks.")]
    NotInChecks { option: &'static str },
    #[error(
        "--fan-out means nothing to a check in which resources are taken one by one; give --taking at-once, or leave it out."
    )]
    OneByOne,
}
