//! A simulated operator. It changes members at random times, replaces replicas that lost their
//! disks, and restores the initial number of voters at the end.

use super::machine::{CommandOf, EventOf, TestedMachine};
use super::ticket::{OPERATOR_CLIENT, RequestId};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::rng::SeededRng;
use quorate_replica::{Command, Event, Members, Refusal};
use std::collections::BTreeSet;

/// The changes that the operator makes, and the faults of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct OperatorSettings {
    pub(super) nodes: usize,
    /// Initial number of voters.
    pub(super) founders: usize,
    /// Number of random changes of members, or transfers of the leadership instead.
    pub(super) changes: u32,
    /// The random changes are due within this time from the start.
    pub(super) window: Duration,
    /// Tick of the replicas. The delays of the operator are random, with bounds in ticks.
    pub(super) tick: Duration,
    /// The nodes that restart without the contents of their disks, and when.
    pub(super) disk_losses: Vec<(Time, NodeId)>,
    pub(super) faults_end: Time,
}

/// A scheduled action of the operator.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperatorTask {
    /// Make a random change.
    Change,
    /// Count a disk loss that has happened.
    DiskLost,
    /// Restore the initial number of voters, because no more faults will happen.
    FaultsEnded,
    /// Send the request, unless it has been replaced or is pending.
    Send(RequestId),
    /// Send the request again, unless a reply has arrived.
    Timeout(RequestId),
}

/// The operator. Callers pass it events and tasks, and then carry out its
/// [actions](Self::take_actions).
pub(super) struct Operator<M: TestedMachine> {
    settings: OperatorSettings,
    /// The members, as far as the operator knows.
    members: Members,
    /// Other sets that may be the members instead: abandoned goals may have taken effect
    /// nonetheless.
    abandoned_goals: Vec<Members>,
    /// Target number of voters.
    target_voters: usize,
    /// Nodes that have lost their disks and may still be members.
    members_without_disk: BTreeSet<NodeId>,
    /// Number of disk losses that have not happened yet.
    future_disk_losses: usize,
    /// Number of random changes to make as soon as there is no other goal.
    pending_changes: u32,
    /// Number of random changes that are scheduled for later.
    future_changes: u32,
    have_faults_ended: bool,
    goal: Option<Goal>,
    /// Number of goals so far, which is the number of the current one.
    goal_number: u64,
    /// The highest term with a leader.
    leader_term: u64,
    /// The presumed leader.
    leader: Option<NodeId>,
    is_node_up: Vec<bool>,
    commands: Vec<(NodeId, CommandOf<M>)>,
    tasks: Vec<(Delay, OperatorTask)>,
}

/// A set of members that the operator requests. A request names the whole set, so it can be
/// repeated safely.
struct Goal {
    members: Members,
    attempt: u64,
    /// Whether a request was sent and not yet answered.
    is_pending: bool,
    /// Whether a request must be sent now.
    should_send: bool,
    /// Number of refusals because a new voter has not caught up as a learner.
    refusals: u32,
}

/// Commands to send now, and tasks to schedule.
pub(super) struct OperatorActions<M: TestedMachine> {
    pub(super) commands: Vec<(NodeId, CommandOf<M>)>,
    pub(super) tasks: Vec<(Time, OperatorTask)>,
}

#[derive(Clone, Copy)]
enum Delay {
    /// Random, up to this many ticks.
    Ticks(u64),
    /// Random, between 10 and 30 ticks.
    RequestTimeout,
    Until(Time),
}

/// The operator abandons a goal if more attempts than this are refused because a new voter has not
/// caught up as a learner.
const MAX_REFUSALS: u32 = 40;

impl<M: TestedMachine> Operator<M> {
    pub(super) fn new(settings: OperatorSettings) -> Self {
        let founders: BTreeSet<_> = (0..settings.founders).map(NodeId::from_index).collect();
        Self {
            members: Members { voters: founders, learners: BTreeSet::new() },
            target_voters: settings.founders,
            future_disk_losses: settings.disk_losses.len(),
            future_changes: settings.changes,
            // Without changes and disk losses there is nothing to restore after the faults.
            have_faults_ended: settings.changes == 0 && settings.disk_losses.is_empty(),
            is_node_up: vec![true; settings.nodes],
            settings,
            abandoned_goals: Vec::new(),
            members_without_disk: BTreeSet::new(),
            pending_changes: 0,
            goal: None,
            goal_number: 0,
            leader_term: 0,
            leader: None,
            commands: Vec::new(),
            tasks: Vec::new(),
        }
    }

    pub(super) fn schedule_tasks(&mut self, rng: &mut SeededRng) {
        if self.have_faults_ended {
            return;
        }
        for _ in 0..self.future_changes {
            let at = Time::ZERO + rng.between(self.settings.tick, self.settings.window);
            self.tasks.push((Delay::Until(at), OperatorTask::Change));
        }
        for (at, _) in &self.settings.disk_losses {
            self.tasks.push((Delay::Until(*at + self.settings.tick), OperatorTask::DiskLost));
        }
        let last_event =
            self.settings.disk_losses.iter().map(|(at, _)| *at).fold(Time::ZERO + self.settings.window, Time::max);
        let faults_end = self.settings.faults_end.max(last_event) + self.settings.tick.times(20);
        self.tasks.push((Delay::Until(faults_end), OperatorTask::FaultsEnded));
    }

    pub(super) fn is_done(&self) -> bool {
        self.have_faults_ended && self.goal.is_none() && self.pending_changes == 0 && self.next_goal().is_none()
    }

    pub(super) fn perform(&mut self, task: OperatorTask) {
        match task {
            OperatorTask::Change => {
                self.future_changes = self.future_changes.saturating_sub(1);
                self.pending_changes += 1;
            }
            OperatorTask::DiskLost => self.future_disk_losses = self.future_disk_losses.saturating_sub(1),
            OperatorTask::FaultsEnded => {
                self.have_faults_ended = true;
                self.target_voters = self.settings.founders;
            }
            OperatorTask::Send(request) => {
                if let Some(goal) =
                    current_goal(&mut self.goal, self.goal_number, request).filter(|goal| !goal.is_pending)
                {
                    goal.should_send = true;
                }
            }
            OperatorTask::Timeout(request) => {
                if let Some(goal) =
                    current_goal(&mut self.goal, self.goal_number, request).filter(|goal| goal.is_pending)
                {
                    (goal.is_pending, goal.should_send) = (false, true);
                    // The presumed leader does not answer.
                    self.leader = None;
                }
            }
        }
    }

    pub(super) fn node_crashed(&mut self, node: NodeId) {
        self.set_node_up(node, false);
    }

    pub(super) fn node_restarted(&mut self, now: Time, node: NodeId) {
        self.set_node_up(node, true);
        if self.settings.disk_losses.contains(&(now, node)) {
            self.members_without_disk.insert(node);
        }
    }

    fn set_node_up(&mut self, node: NodeId, is_up: bool) {
        if let Some(state) = self.is_node_up.get_mut(node.index()) {
            *state = is_up;
        }
    }

    pub(super) fn handle_event(&mut self, node: NodeId, event: &EventOf<M>) {
        match event {
            Event::Leads { term } if *term > self.leader_term => {
                self.leader_term = *term;
                self.leader = Some(node);
            }
            Event::Changed { ticket, members } => self.record_change(RequestId::from_ticket(*ticket), members),
            Event::Refused { ticket, refusal } => self.record_refusal(RequestId::from_ticket(*ticket), Some(*refusal)),
            Event::Unknown { ticket } => self.record_refusal(RequestId::from_ticket(*ticket), None),
            Event::Leads { .. }
            | Event::Answered { .. }
            | Event::Attached { .. }
            | Event::Outcome { .. }
            | Event::Detached { .. }
            | Event::Configured { .. }
            | Event::Retired
            | Event::Follows { .. }
            | Event::Applied { .. }
            | Event::Restored(_)
            | Event::Halted { .. } => {}
        }
    }

    fn record_change(&mut self, request: RequestId, members: &Members) {
        if request.client == OPERATOR_CLIENT && self.goal.is_some() && request.number == self.goal_number {
            self.goal = None;
            self.abandoned_goals.clear();
            self.members = members.clone();
            // Removed replicas can be added again.
            self.members_without_disk.retain(|node| members.voters.contains(node) || members.learners.contains(node));
        }
    }

    fn record_refusal(&mut self, request: RequestId, refusal: Option<Refusal>) {
        if request.client != OPERATOR_CLIENT {
            return;
        }
        let Some(goal) = current_goal(&mut self.goal, self.goal_number, request).filter(|goal| goal.is_pending) else {
            return;
        };
        goal.is_pending = false;
        goal.refusals += u32::from(matches!(refusal, Some(Refusal::NotYetLearner(_))));
        let is_exhausted = goal.refusals > MAX_REFUSALS;
        match refusal {
            Some(Refusal::NotYetLearner(node))
                if self.members.voters.contains(&node) && !self.abandoned_goals.is_empty() =>
            {
                return self.assume_abandoned_change();
            }
            Some(Refusal::NotYetLearner(node)) if is_exhausted || self.members_without_disk.contains(&node) => {
                return self.abandon_goal();
            }
            Some(Refusal::InvalidMembers) => return self.abandon_goal(),
            Some(_) | None => {}
        }
        let ticks = match refusal {
            Some(Refusal::NotLeader { leader: Some(leader) }) => {
                self.leader = Some(leader);
                1
            }
            Some(Refusal::NotLeader { leader: None }) => {
                self.leader = None;
                5
            }
            Some(_) | None => 5,
        };
        self.tasks.push((Delay::Ticks(ticks), OperatorTask::Send(request)));
    }

    /// Assumes that an abandoned change has taken effect, because the leader says that a presumed
    /// voter is not a voter.
    fn assume_abandoned_change(&mut self) {
        self.goal = None;
        if let Some(other) = self.abandoned_goals.pop() {
            let before = std::mem::replace(&mut self.members, other);
            self.abandoned_goals.insert(0, before);
        }
    }

    /// Abandons the goal as impossible for now. An earlier attempt may still take effect.
    fn abandon_goal(&mut self) {
        self.abandoned_goals.extend(self.goal.take().map(|goal| goal.members));
    }

    /// Chooses a goal if there is none, and returns the commands and tasks since the last call.
    pub(super) fn take_actions(&mut self, now: Time, rng: &mut SeededRng) -> OperatorActions<M> {
        if self.goal.is_none() {
            if let Some(members) = self.next_goal() {
                self.set_goal(members);
            } else if self.pending_changes > 0 {
                self.pending_changes -= 1;
                self.draw_change(rng);
            }
        }
        self.send_request(rng);
        let at = |delay: Delay, rng: &mut SeededRng| match delay {
            Delay::Ticks(ticks) => now + rng.between(Duration::from_nanos(1), self.settings.tick.times(ticks)),
            Delay::RequestTimeout => now + rng.between(self.settings.tick.times(10), self.settings.tick.times(30)),
            Delay::Until(at) => at,
        };
        let tasks = self.tasks.drain(..).map(|(delay, task)| (at(delay, rng), task)).collect();
        OperatorActions { commands: std::mem::take(&mut self.commands), tasks }
    }

    fn set_goal(&mut self, members: Members) {
        self.goal_number += 1;
        self.goal = Some(Goal { members, attempt: 0, is_pending: false, should_send: false, refusals: 0 });
        // Send the request after a delay: refusals are immediate, so without delays the operator
        // could repeat its request endlessly at one instant.
        let request = RequestId { client: OPERATOR_CLIENT, number: self.goal_number, attempt: 0 };
        self.tasks.push((Delay::Ticks(2), OperatorTask::Send(request)));
    }

    /// Sends the request for the goal, if it must be sent now.
    fn send_request(&mut self, rng: &mut SeededRng) {
        let leader = self.presumed_leader_or_any(rng);
        let Some(goal) = self.goal.as_mut().filter(|goal| goal.should_send) else { return };
        goal.attempt += 1;
        (goal.should_send, goal.is_pending) = (false, true);
        let request = RequestId { client: OPERATOR_CLIENT, number: self.goal_number, attempt: goal.attempt };
        let members = goal.members.clone();
        let nodes = members.voters.iter().chain(&members.learners);
        let addresses = nodes.map(|node| (*node, node_address(*node))).collect();
        self.commands.push((leader, Command::Change { ticket: request.to_ticket(), members, addresses }));
        self.tasks.push((Delay::RequestTimeout, OperatorTask::Timeout(request)));
    }

    /// Returns the presumed leader, or a random node if there is none.
    fn presumed_leader_or_any(&self, rng: &mut SeededRng) -> NodeId {
        self.leader.unwrap_or_else(|| NodeId::from_index(rng.below(self.settings.nodes as u64) as usize))
    }

    /// Returns the most urgent goal: settle abandoned changes, remove replicas that lost their
    /// disks, then add missing voters, as learners first. `None` if no goal is needed or possible.
    fn next_goal(&self) -> Option<Members> {
        let Members { voters, learners } = &self.members;
        if !self.members_without_disk.is_empty() || !self.abandoned_goals.is_empty() {
            let intact =
                |set: &BTreeSet<NodeId>| set.difference(&self.members_without_disk).copied().collect::<BTreeSet<_>>();
            // Requesting the presumed members again overrides any abandoned change.
            let intact_members = Members { voters: intact(voters), learners: intact(learners) };
            // If every voter lost its disk, no majority can decide anything.
            return (!intact_members.voters.is_empty()).then_some(intact_members);
        }
        let missing = self.target_voters.saturating_sub(voters.len());
        let ready: BTreeSet<_> = learners.iter().copied().filter(|node| self.is_node_up(*node)).take(missing).collect();
        if !ready.is_empty() {
            let learners = learners.difference(&ready).copied().collect();
            return Some(Members { voters: voters.union(&ready).copied().collect(), learners });
        }
        let spares: BTreeSet<_> = self.spare_nodes().into_iter().take(missing).collect();
        (!spares.is_empty())
            .then(|| Members { voters: voters.clone(), learners: learners.union(&spares).copied().collect() })
    }

    fn is_node_up(&self, node: NodeId) -> bool {
        self.is_node_up.get(node.index()).is_some_and(|is_up| *is_up)
    }

    /// Returns the nodes that are up and not members.
    fn spare_nodes(&self) -> Vec<NodeId> {
        let Members { voters, learners } = &self.members;
        let nodes = (0..self.settings.nodes).map(NodeId::from_index);
        nodes.filter(|node| self.is_node_up(*node) && !voters.contains(node) && !learners.contains(node)).collect()
    }

    /// Returns the minimum number of voters that a random change may leave: with more than two
    /// founders, one less than the founders, but not while members lack their disks or disks will
    /// be lost, because a replica without its disk cannot replace a voter.
    fn min_voters(&self) -> usize {
        let removable = usize::from(
            self.future_disk_losses == 0 && self.members_without_disk.is_empty() && self.settings.founders > 2,
        );
        self.settings.founders - removable
    }

    /// Draws a random change of members, or transfers the leadership.
    fn draw_change(&mut self, rng: &mut SeededRng) {
        let mut goal = self.members.clone();
        let Members { voters, learners } = &mut goal;
        let spares = self.spare_nodes();
        let can_shrink = voters.len() > self.min_voters();
        match rng.below(5) {
            // A voter leaves, or becomes a learner.
            0 if can_shrink => {
                if let Some(removed) = take_random(voters, rng)
                    && rng.below(2) == 0
                {
                    learners.insert(removed);
                }
            }
            // A learner becomes a voter.
            1 if !learners.is_empty() => {
                voters.extend(take_random(learners, rng));
            }
            // Learners replace voters.
            2 | 3 if !learners.is_empty() => {
                for _ in 0..1 + rng.below(learners.len() as u64) {
                    let [removed, added] = [take_random(voters, rng), take_random(learners, rng)];
                    voters.extend(added);
                    learners.extend(removed.filter(|_| rng.below(2) == 0));
                }
            }
            // Spare nodes become learners.
            1..=3 if !spares.is_empty() => {
                let count = 1 + rng.below(spares.len() as u64) as usize;
                learners.extend(spares.into_iter().take(count));
            }
            _ => return self.transfer_leadership(rng),
        }
        self.target_voters = goal.voters.len();
        self.set_goal(goal);
    }

    fn transfer_leadership(&mut self, rng: &mut SeededRng) {
        let mut voters = self.members.voters.clone();
        if let Some(to) = take_random(&mut voters, rng) {
            let leader = self.presumed_leader_or_any(rng);
            self.commands.push((leader, Command::Transfer(to)));
        }
    }
}

/// The address of a simulated node, which means nothing to the simulator.
pub(super) fn node_address(node: NodeId) -> String {
    format!("node-{node}:7400")
}

/// Returns the goal if `request` is the latest attempt at it.
fn current_goal(goal: &mut Option<Goal>, goal_number: u64, request: RequestId) -> Option<&mut Goal> {
    goal.as_mut().filter(|goal| (goal_number, goal.attempt) == (request.number, request.attempt))
}

fn take_random(set: &mut BTreeSet<NodeId>, rng: &mut SeededRng) -> Option<NodeId> {
    let chosen = set.iter().nth(rng.below(set.len() as u64) as usize).copied()?;
    set.remove(&chosen);
    Some(chosen)
}
