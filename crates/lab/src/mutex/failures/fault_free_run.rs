//! A run without faults, from which victims are chosen, and the requests after a fault.

use super::{FailureMode, MAX_MESSAGE_TIME, Victim, crash_fault};
use crate::mutex::Mutex;
use crate::mutex::run::{Change, LockPhase, observed_change};
use crate::{Spec, experiment};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{Moment, Observer, WorldEvent};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::TimedFault;

/// The phase of every node over time, in the first half of a run without faults.
pub(super) struct FaultFreeRun {
    seed: u64,
    coordinator: Option<NodeId>,
    intervals: Vec<Interval>,
}

/// A period without changes, with the phase of every node.
struct Interval {
    from: Time,
    to: Time,
    phases: Vec<LockPhase>,
}

/// Possible restart delays of the victim, as multiples of [`MAX_MESSAGE_TIME`].
const RESTART_DELAYS: [u64; 4] = [1, 3, 8, 20];

impl FaultFreeRun {
    /// Runs the experiment and keeps its first half, because after a fault in the second half few
    /// requests remain that show its effect.
    pub(super) fn simulate(spec: &Spec<Mutex>, coordinator: Option<NodeId>) -> Self {
        let mut intervals = experiment::simulate(spec, IntervalRecorder::new(spec.nodes)).observer.finished;
        let end = intervals.last().map_or(Time::ZERO, |interval| interval.to);
        intervals.retain(|interval| interval.to.since(Time::ZERO) <= end.since(interval.to));
        Self { seed: spec.seed, coordinator, intervals }
    }

    /// Returns a fault that hits a node in the victim's role, at an instant that the seed chooses;
    /// `None` if no node has that role for long enough.
    pub(super) fn choose_fault(&self, victim: Victim, mode: FailureMode) -> Option<TimedFault> {
        // Each of the (fewer than 8) roles draws other random numbers from the same seed.
        let mut rng = SeededRng::new(self.seed.wrapping_mul(8).wrapping_add(victim as u64), Stream::Faults);
        let candidates: Vec<_> = self
            .intervals
            .iter()
            .filter_map(|interval| Some((interval, self.possible_victims(interval, victim)?)))
            .collect();
        let (interval, victims) = candidates.get(usize::try_from(rng.below(candidates.len() as u64)).ok()?)?;
        let node = victims.get(usize::try_from(rng.below(victims.len() as u64)).ok()?)?;
        // Strictly between two changes, so that no node changes its phase at the same instant.
        let inner = interval.to.since(interval.from).nanos().checked_sub(2)?;
        let at = interval.from.since(Time::ZERO) + Duration::from_nanos(1 + rng.below(inner + 1));
        let delay = RESTART_DELAYS.get(usize::try_from(rng.below(RESTART_DELAYS.len() as u64)).ok()?)?;
        Some(match mode {
            FailureMode::Dies => crash_fault(*node, at, None),
            FailureMode::Restarts => crash_fault(*node, at, Some(MAX_MESSAGE_TIME.times(*delay))),
        })
    }

    /// Returns the nodes that have the victim's role in this interval, as [`Victim`] describes it;
    /// `None` if there are none, or if the interval is too short for a fault strictly inside it.
    fn possible_victims(&self, interval: &Interval, victim: Victim) -> Option<Vec<NodeId>> {
        let all = || interval.phases.iter().enumerate().map(|(index, phase)| (NodeId::from_index(index), *phase));
        let nodes_in = |wanted: LockPhase| {
            // The coordinator is a victim only in that role.
            let matches =
                move |(node, phase): &(NodeId, LockPhase)| *phase == wanted && self.coordinator != Some(*node);
            all().filter(matches).map(|(node, _)| node).collect::<Vec<_>>()
        };
        let (holders, waiters, idle) =
            (nodes_in(LockPhase::Holding), nodes_in(LockPhase::Waiting), nodes_in(LockPhase::Idle));
        let is_coordinator_idle =
            |coordinator: &NodeId| interval.phases.get(coordinator.index()) == Some(&LockPhase::Idle);
        let possible = match victim {
            Victim::Coordinator if !holders.is_empty() && !waiters.is_empty() => {
                self.coordinator.filter(is_coordinator_idle).into_iter().collect()
            }
            Victim::Holder if !waiters.is_empty() => holders,
            Victim::Idle if !holders.is_empty() => idle,
            Victim::Waiter => waiters,
            Victim::Coordinator | Victim::Holder | Victim::Idle => Vec::new(),
        };
        (!possible.is_empty() && interval.to.since(interval.from).nanos() >= 2).then_some(possible)
    }
}

/// Records the intervals of a run.
struct IntervalRecorder {
    phases: Vec<LockPhase>,
    interval_start: Time,
    finished: Vec<Interval>,
}

impl IntervalRecorder {
    fn new(nodes: usize) -> Self {
        Self { phases: vec![LockPhase::Idle; nodes], interval_start: Time::ZERO, finished: Vec::new() }
    }
}

impl Observer<Command, Event> for IntervalRecorder {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        let Some((time, node, change)) = observed_change(moment) else { return };
        if time > self.interval_start {
            self.finished.push(Interval { from: self.interval_start, to: time, phases: self.phases.clone() });
            self.interval_start = time;
        }
        if let Some(phase) = self.phases.get_mut(node.index()) {
            *phase = phase.after(change);
        }
    }
}

/// Records which live nodes sent a request after the fault.
pub(super) struct RequestsAfterFault {
    /// For each node, whether a request from it is still missing.
    missing_requests: Vec<bool>,
    has_crashed: bool,
}

impl RequestsAfterFault {
    pub(super) fn new(nodes: usize) -> Self {
        Self { missing_requests: vec![true; nodes], has_crashed: false }
    }

    /// Whether a node crashed, and every node that was live then has sent a request since.
    pub(super) fn has_all_requests(&self) -> bool {
        self.has_crashed && self.missing_requests.iter().all(|missing| !missing)
    }
}

impl Observer<Command, Event> for RequestsAfterFault {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        let requester = match (moment, observed_change(moment)) {
            // A restarted victim need not send a request.
            (Moment::World { event: WorldEvent::Crashed { node, .. }, .. }, _) => {
                self.has_crashed = true;
                Some(*node)
            }
            (_, Some((_, node, Change::Requests(..)))) if self.has_crashed => Some(node),
            (Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. }, _) => None,
        };
        if let Some(missing) = requester.and_then(|node| self.missing_requests.get_mut(node.index())) {
            *missing = false;
        }
    }
}
