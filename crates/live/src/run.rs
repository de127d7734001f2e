//! One live run, from the first process to the verdicts.

use crate::error::LiveError;
use crate::folder::Folder;
use crate::group::{Counts, LiveGroup, startup_time};
use crate::judge::{JudgeError, Judgement, copy, judge};
use crate::launch::{Environment, Launch};
use crate::namespaces::Namespaces;
use crate::options::Options;
use crate::schedule::{self, Action, Networks};
use crate::timed_queue::TimedQueue;
use crate::world::WorldJournal;
use quorate_core::{Duration, NodeId, Time};
use quorate_drive::Clock;
use quorate_journal::record::gather::Gathered;
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
pub struct Recorded<F: FamilyLab> {
    pub ending: Ending,
    pub is_interrupted: bool,
    /// The time from the first command of a client to the end of the workload.
    pub time: Duration,
    /// The time from the start of the first process to the end of the last.
    pub wall: Duration,
    pub counts: Counts,
    /// Number of planned fault actions that had not happened when the workload was done.
    pub unapplied_faults: usize,
    /// The nodes that were not up at the end, each in a phrase such as `node 2 is down`.
    pub node_problems: Vec<String>,
    /// The path of the run's journal, if it was requested or a property fails.
    pub journal: Option<PathBuf>,
    pub gathered: Gathered,
    /// The measures and verdicts of the whole journal, including those on links and disks.
    pub read: Replayed<F>,
    /// Number of inputs of all nodes.
    pub events: u64,
    /// The fingerprint of the run's journal.
    pub trace_hash: String,
}

impl<F: FamilyLab> Recorded<F> {
    /// Whether a property of the algorithm, the links or the disks fails. In a run that was
    /// stopped, liveness properties are undecided.
    pub fn fails(&self) -> bool {
        !self.read.holds()
    }
}

/// Maximum number of nodes. More processes would only compete for the machine.
const MAX_NODES: usize = 250;

/// Runs an experiment with real processes, like `quorate run`.
///
/// The experiment comes from [`spec`](crate::spec). Its faults apply to the processes: `crash`
/// kills one, `pause` pauses one, and `cut` (with network namespaces) partitions the group, each
/// for the given time. `watch` receives every event of a node. All processes have ended when this
/// returns, whatever it returns.
pub fn run<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    watch: &mut dyn FnMut(Time, NodeId, &F::Event),
) -> Result<Recorded<F>, LiveError> {
    spec.validate()?;
    if spec.nodes > MAX_NODES {
        return Err(LiveError::TooManyNodes { nodes: spec.nodes, max: MAX_NODES });
    }
    let networks = if options.namespaces { Networks::Own } else { Networks::Shared };
    let actions = schedule::actions(&spec.faults, spec.nodes, networks)?;
    let stopwatch = Clock::start();
    let startup_nanos = i64::try_from(startup_time(spec.nodes).nanos()).unwrap_or(0);
    let clock = Clock::with_origin(stopwatch.origin().saturating_add(startup_nanos));
    let folder = Folder::new(options.keep.as_deref())?;
    let mut group = match start_group::<F>(spec, options, folder.path(), clock) {
        // After an interrupt, errors of the processes do not matter.
        _ if (options.interrupted)() => return Err(LiveError::Interrupted),
        group => group?,
    };
    group.wait_for_connections()?;
    group.begin_workload(|start, name| WorldJournal::begin(spec, (folder.path(), name), clock, start))?;
    let mut driver = Driver::new(spec, options, actions, watch);
    let ending = driver.run_workload(&mut group)?;
    let (unapplied_faults, is_interrupted) = (driver.faults.len(), (options.interrupted)());
    let (time, node_problems) = (group.now().since(Time::ZERO), group.node_problems());
    let journals = group.stop_all(ending)?;
    let counts = group.counts;
    // Remove processes and networks before reading the journals.
    drop(group);
    let wall = stopwatch.now().since(Time::ZERO);
    let (judgement, journal) = match conclude::<F>(&journals, folder.path(), options) {
        Ok(concluded) => concluded,
        Err(error) => return Err(LiveError::JudgingFailed { problem: error.to_string(), folder: folder.keep() }),
    };
    let Judgement { gathered, replayed, trace_hash, events } = judgement;
    let recorded = Recorded {
        ending,
        is_interrupted,
        time,
        wall,
        counts,
        unapplied_faults,
        node_problems,
        journal,
        gathered,
        read: replayed,
        events,
        trace_hash,
    };
    Ok(recorded)
}

/// Gathers and checks the journals in the folder, and writes the gathered journal where it was
/// requested. Returns its path if it outlives the run.
fn conclude<F: FamilyLab>(
    journals: &[PathBuf],
    folder: &Path,
    options: &Options<'_>,
) -> Result<(Judgement<F>, Option<PathBuf>), JudgeError> {
    let path = folder.join("run.journal");
    let judgement = judge::<F>(journals, &path)?;
    let journal = match &options.journal {
        Some(requested) => {
            copy(&path, requested)?;
            Some(requested.clone())
        }
        None if options.keep.is_some() => Some(path),
        None => (!judgement.replayed.holds()).then(|| keep_journal(&path)).transpose()?,
    };
    Ok((judgement, journal))
}

/// Keeps the journal of a failed run outside its folder, because the run cannot be repeated.
fn keep_journal(journal: &Path) -> Result<PathBuf, JudgeError> {
    let failed = |reason| JudgeError::Write { path: std::env::temp_dir(), reason };
    let file = tempfile::Builder::new().prefix("quorate-run-").suffix(".journal").tempfile().map_err(failed)?;
    std::fs::copy(journal, file.path()).map_err(failed)?;
    file.keep().map(|(_, path)| path).map_err(|error| failed(error.error))
}

/// Starts all processes, and waits until they are ready or the run is interrupted.
fn start_group<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    folder: &Path,
    clock: Clock,
) -> Result<LiveGroup<F>, LiveError> {
    let mut group = set_up::<F>(spec, options, folder, clock)?;
    group.start_all(options.interrupted)?;
    Ok(group)
}

fn set_up<F: FamilyLab>(
    spec: &Spec<F>,
    options: &Options<'_>,
    folder: &Path,
    clock: Clock,
) -> Result<LiveGroup<F>, LiveError> {
    let group = format!("run-{}-{}", std::process::id(), spec.seed);
    let certificates = options.tls.then(|| make_certificates(folder, &group, spec.nodes)).transpose()?;
    let networks = options.namespaces.then(|| Namespaces::set_up(spec.nodes, options.interrupted)).transpose()?;
    let environment = Environment { program: &options.program, folder, group, certificates, networks };
    Ok(LiveGroup::new(spec.nodes, Launch::new(spec, environment, clock.origin())?, clock))
}

/// Makes certificates for this run only.
fn make_certificates(folder: &Path, group: &str, nodes: usize) -> Result<PathBuf, LiveError> {
    let failed = |error: &dyn std::error::Error| LiveError::Certificates(error.to_string());
    let group: GroupName = group.parse().map_err(|error| failed(&error))?;
    let days = Days::new(1).unwrap_or_default();
    let nodes: Vec<_> = (0..nodes).map(NodeId::from_index).collect();
    let path = folder.join("certs");
    certificates::Folder::new(&path).make(&group, &nodes, days).map_err(|error| failed(&error))?;
    Ok(path)
}

/// Drives the clients of a run and applies its faults.
pub(crate) struct Driver<'a, F: FamilyLab> {
    clients: F::Clients,
    /// Receives what the clients plan, until [`Self::queue_plans`] moves it to `planned`.
    plan: Plan<F::Command>,
    planned: TimedQueue<ClientAction<F::Command>>,
    faults: TimedQueue<Action>,
    time_limit: Option<Time>,
    settle_time: Duration,
    patience: Duration,
    interrupted: &'a dyn Fn() -> bool,
    watch: &'a mut dyn FnMut(Time, NodeId, &F::Event),
}

/// What a client does at a planned time.
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

/// How long to observe a group after its clients are done. A real network does not show when it is
/// quiescent: the nodes may still deliver their last messages or catch up.
fn settle_time<F: FamilyLab>(spec: &Spec<F>) -> Duration {
    match F::FAMILY {
        Family::Mutex | Family::Deadlock => Duration::from_millis(200),
        Family::Election | Family::Multicast | Family::Replica => {
            F::limits(spec).settle.clamp(Duration::from_millis(50), Duration::from_secs(2))
        }
    }
}

impl<'a, F: FamilyLab> Driver<'a, F> {
    pub(crate) fn new(
        spec: &Spec<F>,
        options: &Options<'a>,
        actions: Vec<(Duration, Action)>,
        watch: &'a mut dyn FnMut(Time, NodeId, &F::Event),
    ) -> Self {
        let limits = F::limits(spec);
        let mut faults = TimedQueue::new();
        for (at, action) in actions {
            faults.insert(Time::ZERO + at, action);
        }
        Self {
            clients: F::clients(spec),
            plan: Plan::new(),
            planned: TimedQueue::new(),
            faults,
            time_limit: options.until.map(|length| Time::ZERO + length).or(limits.until),
            settle_time: settle_time(spec),
            patience: options.patience,
            interrupted: options.interrupted,
            watch,
        }
    }

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
            if (self.interrupted)() || self.time_limit.is_some_and(|limit| now > limit) {
                return Ok(Ending::Stopped);
            }
            // A pending command or fault may be what the clients wait for.
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
            (self.watch)(now, node, emitted);
        }
        self.clients.on_event(now, node, event, &mut self.plan);
        self.queue_plans(group);
    }

    /// Queues what the clients planned. A command is meant for the node's incarnation at the time
    /// of planning.
    fn queue_plans(&mut self, group: &LiveGroup<F>) {
        for Planned { at, node, what } in self.plan.drain() {
            let action = match what {
                PlannedAction::CommandThisIncarnation(command) => {
                    ClientAction::Command { node, incarnation: Some(group.incarnation(node)), command }
                }
                PlannedAction::CommandAnyIncarnation(command) => {
                    ClientAction::Command { node, incarnation: None, command }
                }
                PlannedAction::Alarm => ClientAction::Alarm(node),
                // Real nodes replicate their membership themselves, and ask for their removal.
                PlannedAction::Depart => continue,
            };
            self.planned.insert(at, action);
        }
    }

    fn carry_out(&mut self, action: ClientAction<F::Command>, group: &LiveGroup<F>) -> Result<(), LiveError> {
        match action {
            ClientAction::Command { node, incarnation, command } => {
                if incarnation.is_none_or(|incarnation| incarnation == group.incarnation(node)) {
                    group.command(node, &command)?;
                }
            }
            ClientAction::Alarm(node) => self.handle_client_event(node, &ClientEvent::Alarm, group),
        }
        Ok(())
    }
}
