//! One live run, from the first process to the verdicts.

use crate::error::LiveError;
use crate::fault_journal::FaultJournal;
use crate::folder::Folder;
use crate::group::{Counts, LiveGroup, startup_time};
use crate::judge::{JudgeError, Judgement, copy, judge};
use crate::launch::{Environment, Launcher};
use crate::namespaces::Namespaces;
use crate::options::Options;
use crate::schedule::{self, Action, Networks};
use crate::timed_queue::TimedQueue;
use quorate_core::{Duration, NodeId, Time};
use quorate_drive::Clock;
use quorate_journal::record::gather::GatherReport;
use quorate_journal::workload::ClientEvent;
use quorate_journal::workload::{Ending, Plan, Planned, PlannedAction, Workload};
use quorate_lab::registry::Family;
use quorate_lab::replay::Replayed;
use quorate_lab::{FamilyLab, Spec};
use quorate_net::certificates::{self, Days};
use quorate_net::group::GroupName;
use std::path::{Path, PathBuf};

/// The result of a live run.
#[derive(Debug)]
pub struct LiveOutcome<F: FamilyLab> {
    pub ending: Ending,
    pub is_interrupted: bool,
    /// The time from the start of the workload to its end.
    pub workload_time: Duration,
    /// The time from the start of the run, before its networks and certificates are set up, to the
    /// end of its last process and the removal of its networks.
    pub wall_time: Duration,
    pub counts: Counts,
    /// Number of starts and ends of faults that were still to come when the workload ended.
    pub unapplied_faults: usize,
    /// The nodes that were not up at the end, each in a phrase such as `node 2 is down`.
    pub node_problems: Vec<String>,
    /// The path of the run's journal, if the options ask to keep it or the folder of the run, or if
    /// a property fails.
    pub journal: Option<PathBuf>,
    pub gathered: GatherReport,
    /// The measures and verdicts of the whole journal, including those on links and disks.
    pub replayed: Replayed<F>,
    /// Number of inputs of all nodes.
    pub inputs: u64,
    /// The fingerprint of the run's journal.
    pub journal_hash: String,
}

impl<F: FamilyLab> LiveOutcome<F> {
    /// Whether a property of the algorithm, the links or the disks fails. In a run that was
    /// stopped, liveness properties are undecided.
    pub fn fails(&self) -> bool {
        !self.replayed.holds()
    }
}

/// Maximum number of nodes. More processes would only compete for the machine.
const MAX_NODES: usize = 250;

/// Runs an experiment with real processes, like `quorate run`.
///
/// The experiment comes from [`spec`](crate::spec). Its faults apply to the processes: `crash`
/// kills one, `pause` pauses one, and `cut` (with network namespaces) partitions the group, each
/// for the given time. `on_event` receives the nodes' events until the workload ends. All processes
/// have ended when this returns, even if it returns an error.
pub fn run<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    on_event: &mut dyn FnMut(Time, NodeId, &F::Event),
) -> Result<LiveOutcome<F>, LiveError> {
    spec.validate()?;
    if spec.nodes > MAX_NODES {
        return Err(LiveError::TooManyNodes { nodes: spec.nodes, max: MAX_NODES });
    }
    let networks = if options.has_namespaces { Networks::Own } else { Networks::Shared };
    let fault_actions = schedule::schedule_actions(&spec.faults, spec.nodes, networks)?;
    // Time zero of the run lies in the future, when all processes should be ready; the stopwatch
    // starts now.
    let stopwatch = Clock::start();
    let startup_nanos = i64::try_from(startup_time(spec.nodes).nanos()).unwrap_or(0);
    let clock = Clock::with_origin(stopwatch.origin_nanos().saturating_add(startup_nanos));
    let folder = Folder::new(options.kept_folder.as_deref())?;
    let mut group = match start_group::<F>(spec, options, folder.path(), clock) {
        // An interrupt takes precedence over errors, which it may have caused.
        _ if (options.is_interrupted)() => return Err(LiveError::Interrupted),
        group => group?,
    };
    group.wait_for_connections()?;
    group.begin_workload(|start, name| FaultJournal::begin(spec, (folder.path(), name), clock, start))?;
    let mut runner = WorkloadRunner::new(spec, options, fault_actions, on_event);
    let ending = runner.run_workload(&mut group)?;
    let (unapplied_faults, is_interrupted) = (runner.faults.len(), (options.is_interrupted)());
    let (workload_time, node_problems) = (group.now().since(Time::ZERO), group.node_problems());
    let journals = group.stop_all(ending)?;
    let counts = group.counts;
    // `wall_time` includes the removal of the namespaces by this drop, but not the judging.
    drop(group);
    let wall_time = stopwatch.now().since(Time::ZERO);
    let (judgement, journal) = match conclude::<F>(&journals, folder.path(), options) {
        Ok(concluded) => concluded,
        Err(error) => return Err(LiveError::JudgingFailed { problem: error.to_string(), folder: folder.keep() }),
    };
    let Judgement { gathered, replayed, journal_hash, inputs } = judgement;
    Ok(LiveOutcome {
        ending,
        is_interrupted,
        workload_time,
        wall_time,
        counts,
        unapplied_faults,
        node_problems,
        journal,
        gathered,
        replayed,
        inputs,
        journal_hash,
    })
}

/// Gathers the journals into one and checks it. Returns where this journal is kept: at the
/// requested path, in the kept folder or, if a property fails, in the system's folder for temporary
/// files. Returns `None` if it is not kept.
fn conclude<F: FamilyLab>(
    journals: &[PathBuf],
    folder: &Path,
    options: &Options<'_>,
) -> Result<(Judgement<F>, Option<PathBuf>), JudgeError> {
    let path = folder.join("run.journal");
    let judgement = judge::<F>(journals, &path)?;
    let journal = match &options.journal_path {
        Some(requested) => {
            copy(&path, requested)?;
            Some(requested.clone())
        }
        None if options.kept_folder.is_some() => Some(path),
        None => (!judgement.replayed.holds()).then(|| keep_journal(&path)).transpose()?,
    };
    Ok((judgement, journal))
}

/// Copies the journal out of the temporary folder, because the run cannot be repeated.
fn keep_journal(journal: &Path) -> Result<PathBuf, JudgeError> {
    let write_error = |reason| JudgeError::Write { path: std::env::temp_dir(), reason };
    let file = tempfile::Builder::new().prefix("quorate-run-").suffix(".journal").tempfile().map_err(write_error)?;
    std::fs::copy(journal, file.path()).map_err(write_error)?;
    file.keep().map(|(_, path)| path).map_err(|error| write_error(error.error))
}

/// Starts all processes, and waits until they are ready or the run is interrupted.
fn start_group<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    folder: &Path,
    clock: Clock,
) -> Result<LiveGroup<F>, LiveError> {
    let mut group = create_group::<F>(spec, options, folder, clock)?;
    group.start_all(options.is_interrupted)?;
    Ok(group)
}

fn create_group<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    folder: &Path,
    clock: Clock,
) -> Result<LiveGroup<F>, LiveError> {
    let group_name = format!("run-{}-{}", std::process::id(), spec.seed);
    let certificates = options.has_tls.then(|| make_certificates(folder, &group_name, spec.nodes)).transpose()?;
    let namespaces =
        options.has_namespaces.then(|| Namespaces::set_up(spec.nodes, options.is_interrupted)).transpose()?;
    let environment = Environment { program: &options.program, folder, group_name, certificates, namespaces };
    Ok(LiveGroup::new(spec.nodes, Launcher::new(spec, environment, clock.origin_nanos())?, clock))
}

/// Makes certificates for this run, valid for one day.
fn make_certificates(folder: &Path, group_name: &str, nodes: usize) -> Result<PathBuf, LiveError> {
    let certificate_error = |error: &dyn std::error::Error| LiveError::Certificates(error.to_string());
    let group: GroupName = group_name.parse().map_err(|error| certificate_error(&error))?;
    let days = Days::new(1).unwrap_or_default();
    let nodes: Vec<_> = (0..nodes).map(NodeId::from_index).collect();
    let path = folder.join("certs");
    certificates::Folder::new(&path).make(&group, &nodes, days).map_err(|error| certificate_error(&error))?;
    Ok(path)
}

/// Runs the clients of a run and applies its faults.
pub(crate) struct WorkloadRunner<'a, F: FamilyLab> {
    clients: F::Clients,
    /// Receives what the clients plan, until [`Self::queue_plans`] moves it to `planned`.
    plan: Plan<F::Command>,
    planned: TimedQueue<ClientAction<F::Command>>,
    faults: TimedQueue<Action>,
    time_limit: Option<Time>,
    settle_time: Duration,
    patience: Duration,
    is_interrupted: &'a dyn Fn() -> bool,
    on_event: &'a mut dyn FnMut(Time, NodeId, &F::Event),
}

/// An action that a client planned for a certain time.
enum ClientAction<C> {
    Command {
        node: NodeId,
        /// The incarnation that the command is meant for; `None` for any.
        incarnation: Option<u64>,
        command: C,
    },
    /// Wakes the client of this node at the time it chose.
    Alarm(NodeId),
}

/// Maximum time between two checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long to observe a group after its clients are done, because the nodes may still deliver
/// their last messages or catch up: a real network does not show when it is quiescent.
fn settle_time<F: FamilyLab>(spec: &Spec<F>) -> Duration {
    match F::FAMILY {
        Family::Mutex | Family::Deadlock => Duration::from_millis(200),
        Family::Election | Family::Multicast | Family::Replica => {
            F::limits(spec).max_settling.clamp(Duration::from_millis(50), Duration::from_secs(2))
        }
    }
}

impl<'a, F: FamilyLab> WorkloadRunner<'a, F> {
    pub(crate) fn new(
        spec: &Spec<F>,
        options: &Options<'a>,
        fault_actions: Vec<(Duration, Action)>,
        on_event: &'a mut dyn FnMut(Time, NodeId, &F::Event),
    ) -> Self {
        let limits = F::limits(spec);
        let mut faults = TimedQueue::new();
        for (at, action) in fault_actions {
            faults.insert(Time::ZERO + at, action);
        }
        Self {
            clients: F::clients(spec),
            plan: Plan::new(),
            planned: TimedQueue::new(),
            faults,
            time_limit: options.time_limit.map(|length| Time::ZERO + length).or(limits.max_time),
            settle_time: settle_time(spec),
            patience: options.patience,
            is_interrupted: options.is_interrupted,
            on_event,
        }
    }

    /// Runs until the clients are done, no longer progress, reach the time limit or are
    /// interrupted.
    pub(crate) fn run_workload(&mut self, group: &mut LiveGroup<F>) -> Result<Ending, LiveError> {
        self.clients.begin(&mut self.plan);
        self.queue_plans(group);
        let mut done_at = None;
        let mut last_activity = group.now();
        loop {
            while let Some(action) = self.faults.pop_due(group.now()) {
                group.apply(action)?;
            }
            while let Some((node, event)) = group.next_client_event() {
                last_activity = group.now();
                self.handle_client_event(node, &event, group);
            }
            while let Some(action) = self.planned.pop_due(group.now()) {
                self.carry_out(action, group)?;
            }
            let now = group.now();
            let is_done = self.clients.is_done() && self.planned.is_empty() && group.is_settled();
            done_at = is_done.then(|| done_at.unwrap_or(now));
            if done_at.is_some_and(|done_at| now.since(done_at) > self.settle_time) {
                return Ok(Ending::Done);
            }
            if (self.is_interrupted)() || self.time_limit.is_some_and(|limit| now > limit) {
                return Ok(Ending::Stopped);
            }
            // A pending command or fault may let waiting clients continue, so they are not stuck.
            if !self.planned.is_empty() || !self.faults.is_empty() || !group.is_settled() {
                last_activity = now;
            }
            if done_at.is_none() && now.since(last_activity) > self.patience {
                return Ok(Ending::Stuck);
            }
            group.handle_outputs(self.wait_time(now))?;
        }
    }

    /// How long to wait for output before the next command, fault or check is due.
    fn wait_time(&self, now: Time) -> std::time::Duration {
        let next = [self.planned.next_time(), self.faults.next_time()].into_iter().flatten().min();
        let wait = next.map_or(POLL_INTERVAL, |at| at.since(now).min(POLL_INTERVAL));
        std::time::Duration::from_nanos(wait.nanos())
    }

    fn handle_client_event(&mut self, node: NodeId, event: &ClientEvent<F::Event>, group: &LiveGroup<F>) {
        let now = group.now();
        if let ClientEvent::Emitted(emitted) = event {
            (self.on_event)(now, node, emitted);
        }
        self.clients.on_event(now, node, event, &mut self.plan);
        self.queue_plans(group);
    }

    /// Queues what the clients planned. `CommandThisIncarnation` means the node's incarnation now.
    fn queue_plans(&mut self, group: &LiveGroup<F>) {
        for Planned { at, action: planned_action } in self.plan.drain() {
            let action = match planned_action {
                PlannedAction::CommandThisIncarnation { node, command } => {
                    ClientAction::Command { node, incarnation: Some(group.incarnation(node)), command }
                }
                PlannedAction::CommandAnyIncarnation { node, command } => {
                    ClientAction::Command { node, incarnation: None, command }
                }
                PlannedAction::Alarm { node } => ClientAction::Alarm(node),
                // Real nodes run the membership protocol and request their own removal.
                PlannedAction::Depart { .. } => continue,
                // Live runs draw their faults before they begin (`chaos.rs`); the clients plan
                // none, because the settings of a live run ask for no simulated chaos.
                PlannedAction::Fault { .. } => continue,
            };
            self.planned.insert(at, action);
        }
    }

    fn carry_out(&mut self, action: ClientAction<F::Command>, group: &LiveGroup<F>) -> Result<(), LiveError> {
        match action {
            ClientAction::Command { node, incarnation, command } => {
                if incarnation.is_none_or(|incarnation| incarnation == group.incarnation(node)) {
                    group.send_command(node, &command)?;
                }
            }
            ClientAction::Alarm(node) => self.handle_client_event(node, &ClientEvent::Alarm, group),
        }
        Ok(())
    }
}
