//! The replica family in the lab: clients of a replicated map, and an operator that changes the
//! group's members, under faults.

mod agenda;
mod aimed_faults;
mod algorithms;
mod audit;
mod chaos;
mod client;
mod clients;
mod machine;
mod notifications;
mod operator;
mod options;
mod present;
mod properties;
mod register;
mod script;
mod ticket;
mod typed;
mod upgrades;

pub use algorithms::{ReplicaEntry, ReplicaMachine, ReplicaNode};
pub use machine::{ObservedAnswer, Operation, TestedMachine};
pub use options::ReplicaArgs;
pub use properties::Properties;
pub use register::Register;

use crate::clients::RunClients;
use crate::error::{LabError, first_error};
use crate::family::{JudgeFamily, JudgingLevel, RunFamily, ScriptFamily};
use crate::flag::{FlagPosition, Flags};
use crate::shrink::smaller_counts;
use crate::spec::{Spec, option_value};
use aimed_faults::AimedFaults;
use chaos::ChaosLimits;
use clients::{Clients, Demand};
use operator::OperatorSettings;
use properties::{Expectations, Sometimes};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::MessageCounts;
use quorate_journal::settings::{Fault, Latency, Length, RestartDisk, TimedFault};
use quorate_replica::registers::Registers;
use quorate_replica::{Members, ReadMode};
use quorate_sim::run::Limits;
use script::Script;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use upgrades::Upgrades;

type Machine = ReplicaMachine;
type Command = quorate_replica::Command<Machine>;
type Event = quorate_replica::Event<Machine>;

/// The family of replicated logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replica {}

/// The clients' behavior and the replicas' configuration. [`ReplicaArgs`] describes each setting
/// but `chaos`, and its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of initial voters; `None` for all nodes.
    pub founders: Option<usize>,
    pub clients: u64,
    pub operations: u64,
    pub keys: u64,
    /// Number of times that the operator changes the members at random or transfers the leadership.
    pub changes: u32,
    pub reads: ReadMode,
    pub tick: Length,
    /// Number of log entries between checkpoints.
    pub checkpoint_every: u64,
    /// Number of log entries before a checkpoint that stay for replicas that lag behind.
    pub keep_entries: u64,
    /// Maximum size of a piece of a snapshot.
    pub piece_bytes: usize,
    /// Whether the seed draws faults that replicas must tolerate.
    pub chaos: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            founders: None,
            clients: 3,
            operations: 60,
            keys: 3,
            changes: 0,
            reads: ReadMode::Quorum,
            tick: Length(Duration::from_millis(10)),
            checkpoint_every: 20,
            keep_entries: 5,
            piece_bytes: 100,
            chaos: false,
        }
    }
}

/// The figures of a run, as `--json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub operations: u64,
    pub answered: u64,
    /// Number of times that a replica became the leader.
    pub leaders: u64,
    /// The highest term with a leader.
    pub term: u64,
    /// The highest log index.
    pub entries: u64,
    /// Log time at the last index, in nanoseconds: about the total time with a leader.
    pub log_time_ns: u64,
    /// Number of snapshots that replicas installed from their leaders.
    pub snapshots: u64,
    /// Number of reads that a leader answered under its lease.
    #[serde(rename = "leased")]
    pub lease_reads: u64,
    /// Number of requests whose outcome was unknown to the replica that received them.
    #[serde(rename = "unknown")]
    pub unknown_outcomes: u64,
    /// Number of outcomes that sessions received.
    pub outcomes: u64,
    /// Number of sessions that ended.
    pub sessions_ended: u64,
    /// Number of changes of the members that took effect.
    pub changes: u64,
    pub members: Members,
    /// Messages per answered operation, without control messages.
    pub messages_per_operation: Option<f64>,
}

/// An invalid setting of a replica experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    #[error("--founders must be between 1 and {nodes}, the number of nodes; got {founders}.")]
    FoundersOutOfRange { founders: usize, nodes: usize },
    #[error("--tick must be greater than 0; got 0ms. Use for example --tick 10ms.")]
    ZeroTick,
    #[error("--keys must be at least 1; got 0. Use for example --keys 3.")]
    ZeroKeys,
    #[error("--{option} must be at most {maximum}; got {given}.")]
    WorkloadTooLarge { option: &'static str, maximum: u64, given: u64 },
}

const MAX_CLIENTS: u64 = 10_000;
const MAX_OPERATIONS: u64 = 100_000_000;
const MAX_CHANGES: u64 = 10_000;

/// The clock drift that leases tolerate.
const DRIFT_BOUND_PPM: u32 = 1_000;
/// The maximum clock drift that chaos draws, which leases must tolerate.
const MAX_DRIFT_PPM: u32 = 500;

/// Approximate duration of an operation of one client including its pause, in ticks.
pub const OPERATION_TICKS: u64 = 10;

/// Ticks after the last fault until a run stops and unanswered requests count as failed, besides
/// the ticks for each operation.
const PATIENCE: u64 = 4_000;

impl Settings {
    fn tick(&self) -> Duration {
        self.tick.0
    }
}

fn founders(spec: &Spec<Replica>) -> usize {
    spec.settings.founders.unwrap_or(spec.nodes)
}

fn replica_settings(spec: &Spec<Replica>) -> quorate_replica::Settings {
    let Settings { reads, checkpoint_every, keep_entries, piece_bytes, .. } = spec.settings;
    quorate_replica::Settings {
        seed: spec.seed,
        tick: spec.settings.tick(),
        reads,
        drift_ppm: DRIFT_BOUND_PPM,
        checkpoint_every,
        keep_entries,
        piece_bytes,
        audit: true,
        ..quorate_replica::Settings::new(Members::voters(&Group::of_size(founders(spec))))
    }
}

fn chaos_limits(spec: &Spec<Replica>) -> ChaosLimits {
    ChaosLimits {
        nodes: spec.nodes,
        founders: founders(spec),
        window: Replica::fault_window(spec),
        has_changes: spec.settings.changes > 0,
        tick: spec.settings.tick(),
        drift_ppm: MAX_DRIFT_PPM,
    }
}

/// The faults that the workload's clients inject; none if the clients follow a script.
fn aimed_faults(spec: &Spec<Replica>) -> AimedFaults {
    if spec.settings.chaos && !spec.is_scripted() {
        AimedFaults::draw(spec.seed, chaos_limits(spec))
    } else {
        AimedFaults::default()
    }
}

fn operator_settings(spec: &Spec<Replica>) -> OperatorSettings {
    let disk_loss = |timed: TimedFault| match timed.fault {
        Fault::Restart { node, disk: RestartDisk::Blank } => Some((Time::ZERO + timed.at, node)),
        _ => None,
    };
    OperatorSettings {
        nodes: spec.nodes,
        founders: founders(spec),
        changes: spec.settings.changes,
        window: Replica::fault_window(spec),
        tick: spec.settings.tick(),
        disk_losses: spec.every_fault().into_iter().filter_map(disk_loss).collect(),
        faults_end: spec.faults_end().unwrap_or(Time::ZERO),
    }
}

/// Whether every fault that prevents progress ends, and links do not lose messages all the time.
fn all_faults_end(spec: &Spec<Replica>) -> bool {
    let faults = spec.every_fault();
    let has_ended = |timed: &TimedFault, is_end: &dyn Fn(&Fault) -> bool| {
        timed.duration.is_some() || faults.iter().any(|later| later.at > timed.at && is_end(&later.fault))
    };
    let ends = |timed: &TimedFault| match &timed.fault {
        Fault::Crash { node, .. } => {
            has_ended(timed, &|later| matches!(later, Fault::Restart { node: restored, .. } if restored == node))
        }
        Fault::Pause { node } => {
            has_ended(timed, &|later| matches!(later, Fault::Resume { node: restored } if restored == node))
        }
        Fault::Cut(_) => has_ended(timed, &|later| matches!(later, Fault::Heal)),
        Fault::Disk { .. } | Fault::Link { .. } => timed.duration.is_some(),
        // Instantaneous faults, and changes of clocks, which do not prevent progress.
        Fault::Restart { .. }
        | Fault::Resume { .. }
        | Fault::Close { .. }
        | Fault::Heal
        | Fault::Skew { .. }
        | Fault::Drift { .. } => true,
    };
    spec.loss.is_zero() && faults.iter().all(ends)
}

impl RunFamily for Replica {
    type Clients = RunClients<Clients<Registers>, Script>;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        spec.algorithm.codec.clone()
    }

    fn tolerates_loss(_spec: &Spec<Self>) -> bool {
        true
    }

    fn needs_crash_notices(_spec: &Spec<Self>) -> bool {
        true
    }

    /// Independent of the latency, which a script changes: a script repeats these delays.
    fn crash_notice_delay(_spec: &Spec<Self>) -> Latency {
        Latency::Uniform { min: Duration::from_micros(100), max: Duration::from_millis(5) }
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        let Settings { clients, operations, keys, changes, .. } = spec.settings;
        let founders = founders(spec);
        let errors = [
            (founders == 0 || founders > spec.nodes, ReplicaError::FoundersOutOfRange { founders, nodes: spec.nodes }),
            (spec.settings.tick() == Duration::ZERO, ReplicaError::ZeroTick),
            (keys == 0, ReplicaError::ZeroKeys),
        ];
        first_error(errors)?;
        let limits = [
            ("clients", clients, MAX_CLIENTS),
            ("operations", operations, MAX_OPERATIONS),
            ("changes", changes.into(), MAX_CHANGES),
        ];
        Ok(first_error(limits.map(|(option, given, maximum)| {
            (given > maximum, ReplicaError::WorkloadTooLarge { option, maximum, given })
        }))?)
    }

    fn node_factory(spec: &Spec<Self>) -> impl Fn(NodeId) -> ReplicaNode + Send + Sync + 'static + use<> {
        let (settings, algorithm) = (replica_settings(spec), spec.algorithm);
        let upgrades = spec.settings.chaos.then(|| Upgrades::draw(spec.seed, chaos_limits(spec)));
        spec.with_links(move |me| {
            let address = Some(operator::node_address(me));
            let old_release = upgrades.as_ref().and_then(|upgrades| upgrades.old_release(me));
            (algorithm.make)(me, quorate_replica::Settings { address, old_release, ..settings.clone() })
        })
    }

    fn without_random_faults(settings: &Settings) -> Settings {
        Settings { chaos: false, ..settings.clone() }
    }

    fn clients(spec: &Spec<Self>) -> Self::Clients {
        let Settings { clients, operations, keys, .. } = spec.settings;
        match &spec.script {
            Some(script) if !script.commands.is_empty() => {
                RunClients::Script(Script::new(script.commands.clone(), spec.faults_end().unwrap_or(Time::ZERO)))
            }
            Some(_) | None => {
                let (tick, settings) = (spec.settings.tick(), operator_settings(spec));
                let (nodes, seed, faults_end) = (spec.nodes, spec.seed, settings.faults_end);
                let demand = Demand { nodes, seed, clients, operations, keys, tick, faults_end };
                RunClients::Workload(Box::new(Clients::new(demand, settings, aimed_faults(spec))))
            }
        }
    }

    /// About as long as clients are busy.
    fn fault_window(spec: &Spec<Self>) -> Duration {
        let Settings { clients, operations, .. } = spec.settings;
        spec.settings.tick().times(OPERATION_TICKS * operations.div_ceil(clients.max(1)).clamp(10, 10_000))
    }

    fn family_faults(spec: &Spec<Self>) -> Vec<TimedFault> {
        if !spec.settings.chaos {
            return Vec::new();
        }
        let mut faults = chaos::draw(spec.seed, chaos_limits(spec));
        faults.extend(Upgrades::draw(spec.seed, chaos_limits(spec)).restarts());
        faults
    }

    fn client_faults_end(spec: &Spec<Self>) -> Option<Time> {
        aimed_faults(spec).latest_end()
    }

    /// Whether fewer nodes than half of the founders lose their disks, as in the chaos that the
    /// seed draws.
    fn is_within_fault_tolerance(spec: &Spec<Self>) -> bool {
        let wiped: BTreeSet<_> = operator_settings(spec).disk_losses.into_iter().map(|(_, node)| node).collect();
        wiped.len() * 2 < founders(spec)
    }

    /// Long enough that a crash can lose writes that are not on the disk yet.
    fn default_disk_latency() -> Latency {
        Latency::Uniform { min: Duration::ZERO, max: Duration::from_millis(10) }
    }

    /// Chaos in groups of one, three and five nodes, with membership changes, slow disks,
    /// reordering links, and long logs to catch up with.
    fn stress_specs(entry: &'static Self::Entry) -> Vec<Spec<Self>> {
        let millis = Duration::from_millis;
        let chaos_spec = |nodes, reads| Spec::<Self> {
            nodes,
            settings: Settings { reads, chaos: true, ..Settings::default() },
            ..Spec::new(entry)
        };
        let mut with_changes = chaos_spec(5, ReadMode::Quorum);
        (with_changes.settings.founders, with_changes.settings.changes) = (Some(3), 4);
        let slow_disks = Latency::Uniform { min: Duration::ZERO, max: millis(40) };
        let mut with_reordering = chaos_spec(3, ReadMode::Quorum);
        (with_reordering.latency, with_reordering.disk) =
            (Latency::LongTail { median: millis(5) }, Latency::Fixed(Duration::ZERO));
        with_reordering.settings.operations = 20;
        let mut many_operations = chaos_spec(3, ReadMode::Quorum);
        (many_operations.settings.clients, many_operations.settings.operations) = (8, 200);
        vec![
            chaos_spec(1, ReadMode::Quorum),
            chaos_spec(3, ReadMode::Quorum),
            chaos_spec(5, ReadMode::Lease),
            with_changes,
            Spec { disk: slow_disks, ..chaos_spec(3, ReadMode::Quorum) },
            with_reordering,
            many_operations,
        ]
    }

    fn limits(spec: &Spec<Self>) -> Limits {
        let defaults = spec.default_limits();
        let tick = spec.settings.tick();
        let faults_end = spec.faults_end().unwrap_or(Time::ZERO).max(Time::ZERO + Self::fault_window(spec));
        let patience = tick.times(PATIENCE + 4 * OPERATION_TICKS * spec.settings.operations);
        Limits {
            max_time: defaults.max_time.or(Some(faults_end + patience)),
            max_settling: tick.times(200),
            ..defaults
        }
    }
}

impl ScriptFamily for Replica {
    const COMMANDS: &'static [&'static str] = &script::COMMAND_NAMES;
    const CANDIDACY_COMMAND: Option<&'static str> = Some("campaign");

    fn retire_command() -> Option<Command> {
        Some(Command::Retire)
    }

    fn has_retired(event: &Event) -> bool {
        matches!(event, Event::Retired)
    }

    fn parse_words(words: &[&str], node: NodeId, number: u64) -> Result<Command, String> {
        typed::parse_command(words, node, number)
    }

    /// A script has one register and numbers its values, so a scripted request is simpler than the
    /// command that it replaces.
    fn script_command(command: &Command) -> Option<Cow<'static, str>> {
        match command {
            Command::Propose(_) => Some("write".into()),
            Command::Query { .. } => Some("read".into()),
            Command::Campaign => Some("campaign".into()),
            Command::Attach { .. }
            | Command::Detach(_)
            | Command::Change { .. }
            | Command::Transfer(_)
            | Command::Retire => None,
        }
    }

    fn scripted_settings(settings: &Settings) -> Settings {
        let Settings { clients: _, operations, keys, changes, chaos, .. } = Settings::default();
        Settings { clients: 0, operations, keys, changes, chaos, ..settings.clone() }
    }

    fn has_idle_clients(settings: &Settings) -> bool {
        settings.clients == 0
    }

    fn smaller_settings(settings: &Settings) -> Vec<Settings> {
        let unchanged = || settings.clone();
        let defaults = Settings::default();
        let mut variants: Vec<Settings> = Vec::new();
        if settings.clients > 0 {
            variants.push(Settings { clients: 0, ..unchanged() });
            variants
                .extend(smaller_counts(settings.operations).map(|operations| Settings { operations, ..unchanged() }));
            variants.extend(smaller_counts(settings.clients).map(|clients| Settings { clients, ..unchanged() }));
            variants.extend(
                smaller_counts(settings.keys).filter(|keys| *keys > 0).map(|keys| Settings { keys, ..unchanged() }),
            );
        }
        variants.extend(smaller_counts(u64::from(settings.changes)).map(|changes| {
            let changes = u32::try_from(changes).unwrap_or(settings.changes);
            Settings { changes, ..unchanged() }
        }));
        variants.push(Settings { founders: None, ..unchanged() });
        variants.push(Settings { reads: defaults.reads, ..unchanged() });
        // Frequent checkpoints, and snapshots in one piece, shorten runs that need a snapshot.
        variants.extend([1, 2].map(|checkpoint_every| Settings { checkpoint_every, ..unchanged() }));
        variants.extend([0, 1].map(|keep_entries| Settings { keep_entries, ..unchanged() }));
        variants.push(Settings { checkpoint_every: defaults.checkpoint_every, ..unchanged() });
        variants.push(Settings { keep_entries: defaults.keep_entries, ..unchanged() });
        variants.push(Settings { piece_bytes: defaults.piece_bytes, ..unchanged() });
        variants.push(Settings { piece_bytes: 1 << 20, ..unchanged() });
        variants.push(Settings { tick: defaults.tick, ..unchanged() });
        variants
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        let defaults = Settings::default();
        let Settings { founders, clients, operations, keys, changes, reads, tick, .. } = &spec.settings;
        let Settings { checkpoint_every, keep_entries, piece_bytes, chaos, .. } = &spec.settings;
        let omits_operations = spec.is_scripted() && *operations == defaults.operations;
        let mut flags = Flags::default();
        flags.add_if_given(FlagPosition::Front, "founders", *founders);
        flags.add_unless_default(*clients == defaults.clients, FlagPosition::Front, "clients", clients);
        flags.add_unless_default(omits_operations, FlagPosition::Front, "operations", operations);
        flags.add_unless_default(*keys == defaults.keys, FlagPosition::Front, "keys", keys);
        flags.add_unless_default(*changes == defaults.changes, FlagPosition::Front, "changes", changes);
        flags.add_unless_default(*reads == defaults.reads, FlagPosition::Front, "reads", option_value(reads));
        flags.add_unless_default(*tick == defaults.tick, FlagPosition::Front, "tick", tick);
        flags.add_unless_default(
            *checkpoint_every == defaults.checkpoint_every,
            FlagPosition::Front,
            "checkpoint-every",
            checkpoint_every,
        );
        flags.add_unless_default(
            *keep_entries == defaults.keep_entries,
            FlagPosition::Front,
            "keep-entries",
            keep_entries,
        );
        flags.add_unless_default(*piece_bytes == defaults.piece_bytes, FlagPosition::Front, "piece-bytes", piece_bytes);
        flags.add_switch(*chaos, FlagPosition::Front, "chaos");
        flags
    }
}

impl JudgeFamily for Replica {
    type Measures = ();
    type Properties = Properties<Registers>;
    type Summary = Summary;

    fn measures(_spec: &Spec<Self>) {}

    fn properties(spec: &Spec<Self>, _level: JudgingLevel) -> Properties<Registers> {
        let Settings { clients, operations, changes, reads, chaos, .. } = spec.settings;
        let has_clients = !spec.is_scripted() && clients > 0;
        // In a pair, no node can fall behind the other, because both are needed for a majority.
        let can_fall_behind = spec.nodes > 2;
        Properties::new(Expectations {
            nodes: spec.nodes,
            founders: replica_settings(spec).founders,
            operations: has_clients.then_some(operations),
            tick: spec.settings.tick(),
            all_faults_end: all_faults_end(spec),
            sometimes: Sometimes {
                after_faults: has_clients && chaos,
                in_larger_groups: can_fall_behind,
                with_member_changes: has_clients && chaos && changes > 0 && can_fall_behind,
                with_lease_reads: has_clients && reads == ReadMode::Lease,
            },
        })
    }

    fn summary(
        _spec: &Spec<Self>,
        messages: &MessageCounts,
        _measures: &(),
        properties: &Properties<Registers>,
    ) -> Summary {
        let (operations, answered) = properties.operations();
        let counts = properties.counts();
        Summary {
            operations,
            answered,
            leaders: counts.leaders,
            term: properties.term(),
            entries: properties.log_audit().last_index(),
            log_time_ns: properties.log_audit().last_time().nanos(),
            snapshots: counts.snapshots,
            lease_reads: counts.lease_reads,
            unknown_outcomes: counts.unknown_outcomes,
            outcomes: properties.notifications().received_count() as u64,
            sessions_ended: properties.notifications().ended_count() as u64,
            changes: counts.member_changes,
            members: properties.members().clone(),
            messages_per_operation: (answered > 0).then(|| messages.total() as f64 / answered as f64),
        }
    }
}
