//! What can be wrong with an experiment before it runs, or with its files.

use crate::check::Unchecked;
use quorate_registry::{Family, all, fixtures};
use quorate_sim::journal::JournalError;
use quorate_sim::replay::ReplayError;
use quorate_sim::settings::{SettingError, nearest};

/// Why an experiment cannot be run. Each prints as a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No algorithm has this name.
    #[error("There is no algorithm '{}'. {}", name.escape_debug(), suggestion(name))]
    UnknownAlgorithm {
        /// The name.
        name: String,
    },
    /// The algorithm is of another family than what is said about it.
    #[error("'{name}' is of the {family} family, and this is about the {expected} family; 'quorate list' shows both.")]
    OtherFamily {
        /// The algorithm.
        name: String,
        /// Its family.
        family: Family,
        /// The family that was expected.
        expected: Family,
    },
    /// The checker cannot go through its states.
    #[error(
        "'{name}' cannot be checked exhaustively: {why}. Nothing was searched; 'quorate sweep {name}' tries many seeds \
         instead."
    )]
    NotCheckable {
        /// The algorithm.
        name: String,
        /// Why not.
        why: Unchecked,
    },
    /// A group needs a node.
    #[error("A group needs at least one node; --nodes 3 is a good start.")]
    NoNodes,
    /// The algorithm has no group of this size.
    #[error("'{name}' has no group of {nodes}: {sizes}.")]
    NoSuchGroup {
        /// The algorithm.
        name: String,
        /// As many as were asked for.
        nodes: usize,
        /// Which sizes there are.
        sizes: &'static str,
    },
    /// The algorithm cannot go from one view to the next.
    #[error(
        "'{name}' cannot run in views: it takes silence for an answer, or has no fences, or is wrong on purpose; 'quorate explain \
         {name}' tells about it. Without --views it runs as in the book."
    )]
    NoViews {
        /// The algorithm.
        name: String,
    },
    /// No lease could be renewed in time.
    #[error(
        "A keepalive every {keepalive} is too late for leases that members trust for {trusted}: give a shorter --keepalive, or a \
         longer --lease."
    )]
    LateKeepalive {
        /// How long after a renewal the next one is asked for.
        keepalive: quorate_sim::settings::Length,
        /// For how long a lease is trusted.
        trusted: quorate_sim::settings::Length,
    },
    /// Leases are renewed so often that nothing else happens.
    #[error("A keepalive every {keepalive} leaves no time for anything else: give a --keepalive of {least} or more.")]
    HastyKeepalive {
        /// How long after a renewal the next one is asked for.
        keepalive: quorate_sim::settings::Length,
        /// The shortest one that makes sense.
        least: quorate_sim::settings::Length,
    },
    /// A bound that has a direction.
    #[error("--drift-bound {bound} has a direction, but clocks may be off either way: give {} instead.", unsigned(*bound))]
    NegativeDriftBound {
        /// The bound.
        bound: quorate_sim::settings::Ppm,
    },
    /// More nodes than an id can number.
    #[error("{nodes} nodes are too many: at most {most} fit.")]
    TooManyNodes {
        /// As many as were asked for.
        nodes: usize,
        /// As many as fit.
        most: usize,
    },
    /// A message that takes no time has no message time to measure in.
    #[error("A latency of zero leaves nothing to measure: give messages some time, such as --latency fixed:1ms.")]
    NoLatency,
    /// A requester that does not exist.
    #[error("--requesters names node {node}, but {}.", only(*nodes))]
    NoSuchRequester {
        /// The node.
        node: quorate_core::NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A sender, or a member of a group, that does not exist.
    #[error("--senders or --groups names node {node}, but {}.", only(*nodes))]
    NoSuchSender {
        /// The node.
        node: quorate_core::NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A way by a sequencer, without one.
    #[error("'{name}' has no sequencer that messages could go by: leave --sequencing out.")]
    NoSequencer {
        /// The algorithm.
        name: String,
    },
    /// A form that one that is wrong on purpose does not have.
    #[error(
        "'{name}' is wrong on purpose, and runs in one group with an oracle only: leave --groups and --membership out."
    )]
    FewForms {
        /// The algorithm.
        name: String,
    },
    /// Views are judged where there are none.
    #[error(
        "Without --views there is no view synchrony to judge: add --views, or leave view-synchrony out of --judge."
    )]
    NoViewsToJudge,
    /// A sender that is in no group.
    #[error("--senders names node {node}, which is in none of the --groups and could send nothing.")]
    SenderOutside {
        /// The node.
        node: quorate_core::NodeId,
    },
    /// Nobody could ever send.
    #[error("With a --window of 0 nobody could send anything; --window 64 is usual.")]
    NoWindow,
    /// Nobody can leave a group that never changes.
    #[error("A group without views never changes, and nobody can leave it: add --views.")]
    NoWayOut,
    /// More leave than there are.
    #[error("{leaves} members cannot leave a group of {nodes}: --leaves is {nodes} at most.")]
    TooManyLeave {
        /// How many were to leave.
        leaves: usize,
        /// How many there are.
        nodes: usize,
    },
    /// A state cannot travel in pieces of nothing.
    #[error("A state cannot come in pieces of no bytes: give --piece one or more.")]
    NoPiece,
    /// There are some processes, and not too many.
    #[error("{processes} processes cannot be: give --processes 1 to {most}.")]
    ProcessesOutOfRange {
        /// How many there were to be.
        processes: usize,
        /// How many there can be.
        most: usize,
    },
    /// There are not too many resources.
    #[error("{resources} resources are too many: give --resources at most {most}.")]
    ResourcesOutOfRange {
        /// How many there were to be.
        resources: usize,
        /// How many there can be.
        most: usize,
    },
    /// A site has one part of a lock.
    #[error("Where processes take resources, each site has one process: leave --processes out, or --resources.")]
    OneProcessEach,
    /// Only resources are taken in an order.
    #[error("There is nothing to take in an order: give --resources, or leave --taking out.")]
    NothingToTake,
    /// A script asks something of a node that cannot be asked.
    #[error("The script's command '{text}' for node {node} makes no sense. {why}")]
    NoSuchCommand {
        /// What it says.
        text: String,
        /// Of which node it is asked.
        node: quorate_core::NodeId,
        /// What is wrong with it.
        why: String,
    },
    /// Resources are waited for until they are granted.
    #[error("Whoever takes resources waits for each of them: leave --waits-for out, or --resources.")]
    NobodyIsAsked,
    /// Priorities matter to one policy.
    #[error("--priorities has no effect without --victim lowest-priority; add that, or leave --priorities out.")]
    PrioritiesUnused,
    /// There are at most as many priorities as processes.
    #[error("There are {given} priorities for {processes} processes: give at most one each.")]
    TooManyPriorities {
        /// How many there are.
        given: usize,
        /// For how many processes.
        processes: usize,
    },
    /// Somebody must ask.
    #[error("Nobody could ask anybody: --fan-out is at least 1, and --share a number from 0 to 100.")]
    NobodyAsks,
    /// A detector understands one way of waiting.
    #[error(
        "'{name}' does not understand such waits: deadlock-and is for those who wait for all whom they ask, deadlock-or for those who wait \
         for any of them, and deadlock-central for both."
    )]
    OtherWaits {
        /// Which detector.
        name: String,
    },
    /// A group that keeps its membership itself is the only one.
    #[error("Members that keep their membership themselves are in one group: leave --groups out, or --membership.")]
    SeveralGroupsOfReplicas,
    /// An option of elections of another kind.
    #[error("--{option} means nothing to '{name}': it is for elections {of}.")]
    ForeignOption {
        /// The option.
        option: &'static str,
        /// The algorithm.
        name: &'static str,
        /// What kind of elections it is for.
        of: &'static str,
    },
    /// A lease that is over before anybody can answer.
    #[error(
        "A master may trust its lease for {trusted}, and an answer takes up to {answer}: nobody could ever lead. Use a longer \
         --master-lease or a smaller --master-drift-bound."
    )]
    LeaseTooShort {
        /// For how long it may be trusted.
        trusted: quorate_sim::settings::Length,
        /// How long an answer takes.
        answer: quorate_sim::settings::Length,
    },
    /// Starters that are down from the start.
    #[error("Nobody starts: --starters {starters} names only nodes that are down from the start.")]
    NobodyStarts {
        /// Who was to start.
        starters: String,
    },
    /// An order that is not one of all nodes.
    #[error("--order {order} does not name each of the {nodes} nodes once; write for example {}.", order_of(*nodes))]
    NoSuchOrder {
        /// The order.
        order: String,
        /// How many nodes there are.
        nodes: usize,
    },
    /// More attributes than nodes, or fewer.
    #[error("--attribute gives {given} numbers, but there are {nodes} nodes; give each node one.")]
    NotEveryAttribute {
        /// How many there are.
        given: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Ids that are too short or too long.
    #[error("--id-bits {bits} makes no ids; they have from 1 to 64 bits.")]
    NoSuchIds {
        /// How long they are to be.
        bits: u32,
    },
    /// More bits reserved than there are.
    #[error("--reserved-bits {reserved} is more than an id has; give at most {bits}, or more --id-bits.")]
    TooManyReserved {
        /// How many are to name the region.
        reserved: u32,
        /// How many there are.
        bits: u32,
    },
    /// A load that no division into regions keeps.
    #[error(
        "--load-bound {load} cannot be kept: with {bits} bits, more nodes than that share one id. Give more --id-bits or a \
         larger bound."
    )]
    NoSuchLoad {
        /// The bound.
        load: usize,
        /// How long ids are.
        bits: u32,
    },
    /// A starter that does not exist.
    #[error("--starters names node {node}, but {}.", only(*nodes))]
    NoSuchStarter {
        /// The node.
        node: quorate_core::NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Heartbeats without a pause.
    #[error("A heartbeat every 0ms leaves no time for anything else: give it some, such as --heartbeat 50ms.")]
    NoHeartbeat,
    /// Everyone would be suspected all the time.
    #[error(
        "A silence of {silence} is shorter than a heartbeat, which comes every {period}: everyone would be suspected before each of them. \
         Give a longer --silence, or a shorter --heartbeat."
    )]
    HastySilence {
        /// For how long a node may be silent.
        silence: quorate_sim::settings::Length,
        /// From one heartbeat to the next.
        period: quorate_sim::settings::Length,
    },
    /// A group of replicas that makes no sense.
    #[error(transparent)]
    Unfit(#[from] crate::replica::Unfit),
    /// A fault, a script or a setting that makes no sense.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A journal that cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A journal that does not replay.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A journal of one node alone.
    #[error(
        "This is the journal of {whose}: what the whole group did shows only if it is gathered with the others. \
         'quorate record FILE… --out run.journal' does that; 'quorate trace' shows this one as it is."
    )]
    OneLife {
        /// Whose.
        whose: String,
    },
    /// A journal whose header says something this program does not understand.
    #[error("The journal's header does not describe a run of this program: {0}.")]
    Header(String),
    /// A journal that could not be written.
    #[error("The journal could not be written: {0}. The run itself went on to its end.")]
    Write(std::io::Error),
    /// A group that cannot be checked.
    #[error(transparent)]
    Check(quorate_check::CheckError),
    /// A check in which nobody asks.
    #[error("A check in which nobody asks shows nothing: use --rounds 1, or --rounds unbounded.")]
    NoRounds,
    /// No property has this name.
    #[error("There is no property '{}' of this algorithm. Its properties are {known}.", name.escape_debug())]
    UnknownProperty {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A counterexample that real nodes do not follow. This is a defect of Quorate.
    #[error("The counterexample could not be played: {0}. This is a defect of Quorate; please report it.")]
    Play(String),
    /// The system gives no more threads.
    #[error("A sweep with {threads} threads could not be started: {reason}. Use fewer, such as --threads 2.")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system says.
        reason: std::io::Error,
    },
}

fn unsigned(bound: quorate_sim::settings::Ppm) -> String {
    format!("{}ppm", bound.parts().unsigned_abs())
}

fn order_of(nodes: usize) -> String {
    match nodes {
        0..=9 => (1..=nodes).rev().map(|number| number.to_string()).collect::<Vec<_>>().join(","),
        _ => "random".into(),
    }
}

fn only(nodes: usize) -> String {
    match nodes {
        0 => "there are no nodes".into(),
        1 => "there is only node 1".into(),
        _ => format!("there are only nodes 1 to {nodes}"),
    }
}

fn suggestion(name: &str) -> String {
    let known = || all().iter().chain(fixtures()).map(|entry| entry.name());
    match nearest(name, known()) {
        Some(close) => format!("Did you mean '{close}'? 'quorate list' shows them all."),
        None => {
            let names: Vec<_> = all().iter().map(|entry| entry.name()).collect();
            let (last, others) = names.split_last().unwrap_or((&"none", &[]));
            format!("There are {} and {last}; 'quorate list' tells more.", others.join(", "))
        }
    }
}
