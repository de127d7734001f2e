//! The group of processes: starts them, passes on commands and output, applies faults, and stops
//! them.

use crate::child::{Output, Report, Serial};
use crate::error::LiveError;
use crate::fault_journal::FaultJournal;
use crate::launch::Launcher;
use crate::node::{LiveNode, Readiness, State};
use crate::node_output::{self, NodeLine};
use crate::schedule::Action;
use crate::timed_queue::TimedQueue;
use quorate_core::{NodeId, Time};
use quorate_drive::Clock;
use quorate_journal::moment::WorldEvent;
use quorate_journal::workload::{ClientEvent, Ending};
use quorate_lab::FamilyLab;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Maximum time that a process may take to get ready or to end, even on a busy machine.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(60);

/// If the workload starts this soon after time zero, it counts as started at zero.
const START_TOLERANCE: quorate_core::Duration = quorate_core::Duration::from_millis(10);

/// Estimated time that nodes need to connect to each other before clients begin.
fn connection_time(nodes: usize) -> quorate_core::Duration {
    quorate_core::Duration::from_millis(50 + 5 * nodes as u64)
}

/// Estimated time until this many processes are ready and connected. Time zero lies this long after
/// the start of the run, so that the workload normally starts at zero.
pub(crate) fn startup_time(nodes: usize) -> quorate_core::Duration {
    connection_time(nodes) + quorate_core::Duration::from_millis(40 + 12 * nodes as u64)
}

/// Delay before a process whose address was still in use is started again.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// The processes of a run.
pub(crate) struct LiveGroup<F: FamilyLab> {
    launcher: Launcher,
    nodes: Vec<LiveNode>,
    reports: Receiver<Report>,
    report_sender: Sender<Report>,
    /// The serial number of the process started last.
    last_serial: u64,
    clock: Clock,
    /// When the clients begin, on the clock that all processes share; zero until then.
    workload_start: Time,
    /// The journal of faults; `None` until the clients begin.
    fault_journal: Option<FaultJournal>,
    client_events: VecDeque<(NodeId, ClientEvent<F::Event>)>,
    /// Nodes whose address was still in use, with the times at which to start them again.
    retries: TimedQueue<NodeId>,
    /// The paths of the journals of all incarnations so far, except those that wrote none.
    journals: Vec<PathBuf>,
    /// Whether the run is ending. If so, a process that gets ready is stopped immediately.
    is_ending: bool,
    pub(crate) counts: Counts,
}

/// Numbers of started processes and applied faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    pub processes: u64,
    pub kills: u64,
    // The JSON output names a pause after the option --stop.
    #[serde(rename = "stops")]
    pub pauses: u64,
    pub cuts: u64,
}

impl<F: FamilyLab> LiveGroup<F> {
    pub(crate) fn new(nodes: usize, launcher: Launcher, clock: Clock) -> Self {
        let (report_sender, reports) = mpsc::channel();
        Self {
            launcher,
            nodes: (0..nodes).map(|index| LiveNode::new(NodeId::from_index(index))).collect(),
            reports,
            report_sender,
            last_serial: 0,
            clock,
            workload_start: Time::ZERO,
            fault_journal: None,
            client_events: VecDeque::new(),
            retries: TimedQueue::new(),
            journals: Vec::new(),
            is_ending: false,
            counts: Counts::default(),
        }
    }

    /// Starts every process, and returns when all nodes have started or the run is interrupted.
    pub(crate) fn start_all(&mut self, is_interrupted: &dyn Fn() -> bool) -> Result<(), LiveError> {
        for index in 0..self.nodes.len() {
            if is_interrupted() {
                return Ok(());
            }
            self.start(NodeId::from_index(index))?;
        }
        while self.nodes.iter().any(|live_node| !matches!(live_node.state, State::Up(_))) && !is_interrupted() {
            self.handle_outputs(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Gives nodes time to connect before clients begin, because the time of a first connection is
    /// not a property of the algorithm. Returns at time zero at the earliest.
    pub(crate) fn wait_for_connections(&mut self) -> Result<(), LiveError> {
        let deadline = self.clock.now() + connection_time(self.nodes.len());
        let deadline = deadline.max(Time::ZERO);
        while let Some(nanos) = Some(deadline.since(self.clock.now()).nanos()).filter(|nanos| *nanos > 0) {
            self.handle_outputs(Duration::from_nanos(nanos))?;
        }
        Ok(())
    }

    /// Sets the start of the workload to now, or to zero if all nodes were ready in time. Then
    /// creates the journal of faults: `create_journal` receives that start and the name of the
    /// group.
    pub(crate) fn begin_workload(
        &mut self,
        create_journal: impl FnOnce(Time, &str) -> Result<FaultJournal, LiveError>,
    ) -> Result<(), LiveError> {
        let now = self.clock.now();
        self.workload_start = if now.since(Time::ZERO) < START_TOLERANCE { Time::ZERO } else { now };
        self.fault_journal = Some(create_journal(self.workload_start, self.launcher.group_name())?);
        Ok(())
    }

    /// The time since the start of the workload.
    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.clock.now().nanos().saturating_sub(self.workload_start.nanos()))
    }

    pub(crate) fn next_client_event(&mut self) -> Option<(NodeId, ClientEvent<F::Event>)> {
        self.client_events.pop_front()
    }

    /// The current incarnation of a node, from 0.
    pub(crate) fn incarnation(&self, node: NodeId) -> u64 {
        self.nodes.get(node.index()).map_or(0, LiveNode::incarnation)
    }

    /// Sends a node a command. Does nothing if the node is down or not ready.
    pub(crate) fn send_command(&self, node: NodeId, command: &F::Command) -> Result<(), LiveError> {
        let Some(child) = self.nodes.get(node.index()).and_then(LiveNode::command_receiver) else { return Ok(()) };
        let line = serde_json::to_string(command);
        child.send_line(line.map_err(|error| LiveError::Refused { node, reason: error.to_string() })?);
        Ok(())
    }

    /// Handles the output of processes, waiting for it at most for `timeout`; then retries starts,
    /// and fails if a process has taken too long to get ready.
    pub(crate) fn handle_outputs(&mut self, timeout: Duration) -> Result<(), LiveError> {
        let wait_time = self
            .retries
            .next_time()
            .map_or(timeout, |at| timeout.min(Duration::from_nanos(at.since(self.clock.now()).nanos())));
        match self.reports.recv_timeout(wait_time) {
            Ok(report) => self.handle_output(report)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        while let Ok(report) = self.reports.try_recv() {
            self.handle_output(report)?;
        }
        while let Some(node) = self.retries.pop_due(self.clock.now()) {
            self.retry_start(node)?;
        }
        self.check_timeouts()
    }

    /// Applies a fault action, now or as soon as the node's state allows.
    pub(crate) fn apply(&mut self, action: Action) -> Result<(), LiveError> {
        let node = match action {
            // Only runs with namespaces have cuts: the schedule refuses them in all others.
            Action::Sever(cut) => {
                self.counts.cuts += 1;
                if let Some(namespaces) = self.launcher.namespaces() {
                    namespaces.sever(&cut)?;
                }
                return self.record_fault(WorldEvent::Changed { text: &format!("cut {cut}") });
            }
            Action::Mend(cut) => {
                if let Some(namespaces) = self.launcher.namespaces() {
                    namespaces.mend(&cut)?;
                }
                return self.record_fault(WorldEvent::Changed { text: &format!("end of cut {cut}") });
            }
            Action::Kill(node) | Action::Start(node) | Action::Pause(node) | Action::Resume(node) => node,
        };
        if let Some(live_node) = self.nodes.get_mut(node.index()) {
            live_node.pending_actions.push_back(action);
        }
        self.carry_out_actions(node)
    }

    /// Whether no fault action is pending, and no process is starting or dying.
    pub(crate) fn is_settled(&self) -> bool {
        let is_stable = |live_node: &LiveNode| match live_node.state {
            State::Up(_) | State::Down | State::Paused(_) => live_node.pending_actions.is_empty(),
            State::Starting { .. } | State::AddressInUse { .. } | State::Dying(_) => false,
        };
        self.nodes.iter().all(is_stable)
    }

    /// A phrase such as `node 2 is down` for every node that is not up.
    pub(crate) fn node_problems(&self) -> Vec<String> {
        self.nodes.iter().filter_map(LiveNode::problem).collect()
    }

    /// Tells every process to stop, waits until all have ended, and returns the paths of all
    /// journals.
    pub(crate) fn stop_all(&mut self, ending: Ending) -> Result<Vec<PathBuf>, LiveError> {
        self.is_ending = true;
        for index in 0..self.nodes.len() {
            self.stop(NodeId::from_index(index))?;
        }
        let deadline = Instant::now() + PROCESS_TIMEOUT;
        while let Some(node) =
            self.nodes.iter().find(|live_node| !matches!(live_node.state, State::Down)).map(|live_node| live_node.node)
        {
            if Instant::now() > deadline {
                return Err(self.timeout_error(node, "did not end"));
            }
            self.handle_outputs(Duration::from_millis(100))?;
        }
        self.fault_journal.as_mut().map_or(Ok(()), |journal| journal.end(ending))?;
        let fault_journal = self.fault_journal.as_ref().map(|journal| journal.path().to_owned());
        Ok(self.journals.drain(..).chain(fault_journal).collect())
    }

    /// Resumes a process if it is paused, and sends it the command to stop. A starting process gets
    /// the command when it is ready; one whose address is still in use is not started again.
    fn stop(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        live_node.pending_actions.clear();
        if let State::Paused(_) = live_node.state {
            self.resume(node)?;
        }
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        match &live_node.state {
            State::Up(child) => child.send_line("stop".into()),
            State::AddressInUse { .. } => live_node.state = State::Down,
            State::Down | State::Starting { .. } | State::Paused(_) | State::Dying(_) => {}
        }
        Ok(())
    }

    /// Records a fault in the journal of faults. Does nothing before the workload begins.
    fn record_fault(&mut self, event: WorldEvent<'_>) -> Result<(), LiveError> {
        self.fault_journal.as_mut().map_or(Ok(()), |journal| journal.record(event))
    }

    /// Starts the next incarnation of a node.
    fn start(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        let incarnation = live_node.incarnations;
        live_node.incarnations += 1;
        self.journals.push(self.launcher.journal_path(node, incarnation));
        self.spawn(node, Instant::now())
    }

    /// Starts a process for the current incarnation. `first_attempt` is when the first process was
    /// started for it.
    fn spawn(&mut self, node: NodeId, first_attempt: Instant) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        self.last_serial += 1;
        let process = (live_node.incarnation(), Serial(self.last_serial));
        let child = self.launcher.start(node, process, live_node.address.as_deref(), &self.report_sender)?;
        live_node.state = State::Starting { child, readiness: Readiness::NotListening, first_attempt };
        self.counts.processes += 1;
        Ok(())
    }

    /// Deletes the journal of the failed attempt, and starts the same incarnation again.
    fn retry_start(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get(node.index()) else { return Ok(()) };
        let State::AddressInUse { first_attempt } = live_node.state else { return Ok(()) };
        let journal = self.launcher.journal_path(node, live_node.incarnation());
        match std::fs::remove_file(&journal) {
            Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(LiveError::File { path: journal, reason }),
            Ok(()) | Err(_) => self.spawn(node, first_attempt),
        }
    }

    fn handle_output(&mut self, report: Report) -> Result<(), LiveError> {
        let Report { node, serial, output } = report;
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        if !live_node.is_current(serial) {
            return Ok(());
        }
        match output {
            Output::Line(line) => self.handle_line(node, line)?,
            Output::Closed => self.handle_end(node)?,
        }
        self.carry_out_actions(node)
    }

    fn handle_line(&mut self, node: NodeId, line: String) -> Result<(), LiveError> {
        match node_output::parse::<F::Event>(&line).ok_or(LiveError::UnknownLine { node, line })? {
            NodeLine::Listening(address) => self.handle_listening(node, address),
            NodeLine::Started(_) => self.handle_started(node),
            NodeLine::Event(event) => {
                self.client_events.push_back((node, ClientEvent::Emitted(event)));
                Ok(())
            }
            NodeLine::Refused(reason) => Err(LiveError::Refused { node, reason }),
            NodeLine::Stopped | NodeLine::Other => Ok(()),
        }
    }

    /// Stores the node's address, and once all addresses are known, sends them to every starting
    /// process that listens. A restarted process gets them immediately.
    fn handle_listening(&mut self, node: NodeId, address: String) -> Result<(), LiveError> {
        if let Some(live_node) = self.nodes.get_mut(node.index()) {
            live_node.address = Some(address);
            if let State::Starting { readiness, .. } = &mut live_node.state {
                *readiness = Readiness::Listening;
            }
        }
        let numbered_address =
            |live_node: &LiveNode| Some(format!("{}={}", live_node.node, live_node.address.as_deref()?));
        let Some(addresses) = self.nodes.iter().map(numbered_address).collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        let peers = addresses.join(",");
        for live_node in &mut self.nodes {
            if let State::Starting { child, readiness: readiness @ Readiness::Listening, .. } = &mut live_node.state {
                child.send_line(peers.clone());
                *readiness = Readiness::HasPeers;
            }
        }
        Ok(())
    }

    fn handle_started(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        live_node.state = match std::mem::replace(&mut live_node.state, State::Down) {
            State::Starting { child, .. } => State::Up(child),
            other => other,
        };
        if live_node.incarnations > 1 {
            self.client_events.push_back((node, ClientEvent::Restarted));
        }
        if self.is_ending { self.stop(node) } else { Ok(()) }
    }

    /// Handles the end of a process, which is a planned crash, an orderly stop, an unexpected end,
    /// or a failed start.
    fn handle_end(&mut self, node: NodeId) -> Result<(), LiveError> {
        let is_ending = self.is_ending;
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        // A restarted process that ends before it listens has probably found its address still in
        // use, so the group tries again until `PROCESS_TIMEOUT` has passed.
        let is_restart = live_node.address.is_some();
        match std::mem::replace(&mut live_node.state, State::Down) {
            State::Dying(mut child) => {
                child.wait().map_err(|reason| LiveError::Signal { node, action: "killed", reason })?;
                let journal = self.launcher.journal_path(node, live_node.incarnation());
                self.client_events.push_back((node, ClientEvent::Crashed));
                if std::fs::metadata(&journal).map_or(0, |file| file.len()) == 0 {
                    // The process crashed before it wrote to its journal.
                    self.journals.retain(|path| *path != journal);
                    return Ok(());
                }
                self.record_fault(WorldEvent::Crashed { node, lost_writes: 0 })
            }
            State::Starting { child, readiness: Readiness::NotListening, first_attempt }
                if is_restart && first_attempt.elapsed() < PROCESS_TIMEOUT =>
            {
                drop(child);
                live_node.state = State::AddressInUse { first_attempt };
                let retry_delay = quorate_core::Duration::from_nanos(RETRY_DELAY.as_nanos() as u64);
                self.retries.insert(self.clock.now() + retry_delay, node);
                Ok(())
            }
            State::Starting { mut child, .. } | State::Up(mut child) | State::Paused(mut child) => {
                let status = child.wait().map_err(|reason| LiveError::Signal { node, action: "waited for", reason })?;
                if is_ending && status.success() {
                    Ok(())
                } else {
                    Err(LiveError::EndedUnexpectedly { node, status, log: child.log_tail() })
                }
            }
            State::Down | State::AddressInUse { .. } => Ok(()),
        }
    }

    fn carry_out_actions(&mut self, node: NodeId) -> Result<(), LiveError> {
        while let Some(action) = self.nodes.get_mut(node.index()).and_then(LiveNode::next_action) {
            match action {
                Action::Kill(_) => self.kill(node)?,
                Action::Start(_) => self.start(node)?,
                Action::Pause(_) => self.pause(node)?,
                Action::Resume(_) => self.resume(node)?,
                // `apply` carries out network faults itself and never queues them.
                Action::Sever(_) | Action::Mend(_) => {}
            }
        }
        Ok(())
    }

    /// Kills a process. The crash is recorded once its last output is read.
    fn kill(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        if let State::Up(mut child) = std::mem::replace(&mut live_node.state, State::Down) {
            child.kill().map_err(|reason| LiveError::Signal { node, action: "killed", reason })?;
            live_node.state = State::Dying(child);
            self.counts.kills += 1;
        }
        Ok(())
    }

    /// Pauses a process. The journal records the pause after it begins and the resumption before it
    /// takes effect, so that no step of the node lies between the two records.
    fn pause(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        if let State::Up(child) = std::mem::replace(&mut live_node.state, State::Down) {
            child.pause().map_err(|reason| LiveError::Signal { node, action: "paused", reason })?;
            live_node.state = State::Paused(child);
            self.counts.pauses += 1;
            self.record_fault(WorldEvent::Paused { node })?;
        }
        Ok(())
    }

    fn resume(&mut self, node: NodeId) -> Result<(), LiveError> {
        self.record_fault(WorldEvent::Resumed { node })?;
        let Some(live_node) = self.nodes.get_mut(node.index()) else { return Ok(()) };
        if let State::Paused(child) = std::mem::replace(&mut live_node.state, State::Down) {
            child.resume().map_err(|reason| LiveError::Signal { node, action: "resumed", reason })?;
            live_node.state = State::Up(child);
        }
        Ok(())
    }

    fn check_timeouts(&mut self) -> Result<(), LiveError> {
        let is_overdue = |live_node: &&LiveNode| match &live_node.state {
            State::Starting { first_attempt, .. } | State::AddressInUse { first_attempt } => {
                first_attempt.elapsed() > PROCESS_TIMEOUT
            }
            State::Down | State::Up(_) | State::Paused(_) | State::Dying(_) => false,
        };
        let overdue_node = self.nodes.iter().find(is_overdue).map(|live_node| live_node.node);
        overdue_node.map_or(Ok(()), |node| Err(self.timeout_error(node, "did not get ready")))
    }

    fn timeout_error(&mut self, node: NodeId, problem: &'static str) -> LiveError {
        let child = self.nodes.get_mut(node.index()).and_then(LiveNode::child);
        let log = child.map(|child| child.log_tail()).unwrap_or_default();
        LiveError::TimedOut { node, problem, seconds: PROCESS_TIMEOUT.as_secs(), log }
    }
}
