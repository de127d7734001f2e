//! The operator: changes members at random times, replaces replicas that lost their disks, and
//! restores the full set of voters at the end.

use super::ticket::{OPERATOR, RequestId};
use super::{Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::rng::SeededRng;
use quorate_replica::{Members, Refusal};
use std::collections::BTreeSet;

/// What the operator does, and the faults it must expect.
#[derive(Clone, Debug, Default)]
pub(super) struct OperatorSettings {
    pub(super) nodes: usize,
    pub(super) founders: usize,
    /// Number of random changes.
    pub(super) changes: u32,
    /// The period in which it makes them.
    pub(super) window: Duration,
    pub(super) tick: Duration,
    /// The disk losses, with their times.
    pub(super) wipes: Vec<(Time, NodeId)>,
    pub(super) faults_end: Time,
}

/// A scheduled action of the operator.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperatorTask {
    Change,
    /// A disk loss has happened.
    DiskLost,
    /// No more faults: restore the full set of voters.
    FaultsEnded,
    /// Send the request again, unless it succeeded meanwhile.
    Ask(RequestId),
    Timeout(RequestId),
}

/// The state of the operator.
#[derive(Default)]
pub(super) struct Operator {
    settings: OperatorSettings,
    /// The members as far as the operator knows.
    members: Members,
    /// Requested sets of members that were abandoned. Any of them may have taken effect.
    uncertain: Vec<Members>,
    /// Target number of voters.
    wanted: usize,
    /// Replicas that lost their disks and are still members.
    wiped: BTreeSet<NodeId>,
    /// Number of disk losses that have not happened yet.
    wipes_to_come: usize,
    /// Number of random changes that are due.
    backlog: u32,
    /// Number of random changes that are not due yet.
    to_come: u32,
    faults_ended: bool,
    goal: Option<Goal>,
    number: u64,
    /// The highest term with a leader, and the presumed leader.
    term: u64,
    leader: Option<NodeId>,
    is_up: Vec<bool>,
    commands: Vec<(NodeId, Command)>,
    tasks: Vec<(Pause, OperatorTask)>,
}

/// The requested members. A request names the whole set, so that it can be repeated.
struct Goal {
    members: Members,
    attempt: u64,
    is_asked: bool,
    is_due: bool,
    refusals: u32,
}

/// Commands to send now, and tasks to schedule.
pub(super) struct OperatorActions {
    pub(super) commands: Vec<(NodeId, Command)>,
    pub(super) tasks: Vec<(Time, OperatorTask)>,
}

/// The delay of a task.
#[derive(Clone, Copy)]
enum Pause {
    /// Up to this many ticks.
    Ticks(u64),
    Patience,
    Until(Time),
}

/// Number of refusals after which the operator abandons a goal.
const REFUSALS: u32 = 40;

impl Operator {
    pub(super) fn new(settings: OperatorSettings) -> Self {
        let founders: BTreeSet<_> = (0..settings.founders).map(NodeId::from_index).collect();
        Self {
            members: Members { voters: founders, learners: BTreeSet::new() },
            wanted: settings.founders,
            wipes_to_come: settings.wipes.len(),
            to_come: settings.changes,
            faults_ended: settings.changes == 0 && settings.wipes.is_empty(),
            is_up: vec![true; settings.nodes],
            settings,
            ..Self::default()
        }
    }

    pub(super) fn begin(&mut self, rng: &mut SeededRng) {
        if self.faults_ended {
            return;
        }
        for _ in 0..self.to_come {
            let at = Time::ZERO + rng.between(self.settings.tick, self.settings.window);
            self.tasks.push((Pause::Until(at), OperatorTask::Change));
        }
        for (at, _) in &self.settings.wipes {
            self.tasks.push((Pause::Until(*at + self.settings.tick), OperatorTask::DiskLost));
        }
        let last = self.settings.wipes.iter().map(|(at, _)| *at).fold(Time::ZERO + self.settings.window, Time::max);
        let faults_end = self.settings.faults_end.max(last) + self.settings.tick.times(20);
        self.tasks.push((Pause::Until(faults_end), OperatorTask::FaultsEnded));
    }

    pub(super) fn is_done(&self) -> bool {
        self.faults_ended && self.goal.is_none() && self.backlog == 0 && self.next_goal().is_none()
    }

    pub(super) fn perform(&mut self, task: OperatorTask) {
        match task {
            OperatorTask::Change => {
                self.to_come = self.to_come.saturating_sub(1);
                self.backlog += 1;
            }
            OperatorTask::DiskLost => self.wipes_to_come = self.wipes_to_come.saturating_sub(1),
            OperatorTask::FaultsEnded => {
                self.faults_ended = true;
                self.wanted = self.settings.founders;
            }
            OperatorTask::Ask(request) => {
                if let Some(goal) = current(&mut self.goal, self.number, request).filter(|goal| !goal.is_asked) {
                    goal.is_due = true;
                }
            }
            OperatorTask::Timeout(request) => {
                if let Some(goal) = current(&mut self.goal, self.number, request).filter(|goal| goal.is_asked) {
                    (goal.is_asked, goal.is_due) = (false, true);
                    // The presumed leader does not answer.
                    self.leader = None;
                }
            }
        }
    }

    pub(super) fn node_crashed(&mut self, node: NodeId) {
        self.set_live(node, false);
    }

    pub(super) fn restarted(&mut self, now: Time, node: NodeId) {
        self.set_live(node, true);
        if self.settings.wipes.contains(&(now, node)) {
            self.wiped.insert(node);
        }
    }

    fn set_live(&mut self, node: NodeId, is_up: bool) {
        if let Some(state) = self.is_up.get_mut(node.index()) {
            *state = is_up;
        }
    }

    pub(super) fn handle_event(&mut self, node: NodeId, event: &Event) {
        match event {
            Event::Leads { term } if *term > self.term => {
                self.term = *term;
                self.leader = Some(node);
            }
            Event::Changed { ticket, members } => self.changed(RequestId::of(*ticket), members),
            Event::Refused { ticket, why } => self.refused(RequestId::of(*ticket), Some(*why)),
            Event::Unknown { ticket } => self.refused(RequestId::of(*ticket), None),
            Event::Leads { .. }
            | Event::Answered { .. }
            | Event::Follows { .. }
            | Event::Applied(_)
            | Event::Restored(_)
            | Event::Halted { .. } => {}
        }
    }

    fn changed(&mut self, request: RequestId, members: &Members) {
        if request.client == OPERATOR && self.goal.is_some() && request.number == self.number {
            self.goal = None;
            self.uncertain.clear();
            self.members = members.clone();
            // Removed replicas can be added again.
            self.wiped.retain(|node| members.voters.contains(node) || members.learners.contains(node));
        }
    }

    fn refused(&mut self, request: RequestId, why: Option<Refusal>) {
        if request.client != OPERATOR {
            return;
        }
        let Some(goal) = current(&mut self.goal, self.number, request).filter(|goal| goal.is_asked) else { return };
        goal.is_asked = false;
        goal.refusals += u32::from(matches!(why, Some(Refusal::LearnerFirst(_))));
        let is_exhausted = goal.refusals > REFUSALS;
        match why {
            Some(Refusal::LearnerFirst(node)) if self.members.voters.contains(&node) && !self.uncertain.is_empty() => {
                return self.assume_uncertain();
            }
            Some(Refusal::LearnerFirst(node)) if is_exhausted || self.wiped.contains(&node) => return self.give_up(),
            Some(Refusal::NoSuchMembers) => return self.give_up(),
            Some(_) | None => {}
        }
        let ticks = match why {
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
        self.tasks.push((Pause::Ticks(ticks), OperatorTask::Ask(request)));
    }

    /// A presumed voter is none, so an abandoned change has taken effect.
    fn assume_uncertain(&mut self) {
        self.goal = None;
        if let Some(other) = self.uncertain.pop() {
            let before = std::mem::replace(&mut self.members, other);
            self.uncertain.insert(0, before);
        }
    }

    /// Abandons the goal as impossible for now. An earlier attempt may still take effect.
    fn give_up(&mut self) {
        self.uncertain.extend(self.goal.take().map(|goal| goal.members));
    }

    /// Returns what the operator does next.
    pub(super) fn actions(&mut self, now: Time, rng: &mut SeededRng) -> OperatorActions {
        if self.goal.is_none() {
            if let Some(members) = self.next_goal() {
                self.set_goal(members);
            } else if self.backlog > 0 {
                self.backlog -= 1;
                self.draw_change(rng);
            }
        }
        self.ask(rng);
        let at = |pause: Pause, rng: &mut SeededRng| match pause {
            Pause::Ticks(ticks) => now + rng.between(Duration::from_nanos(1), self.settings.tick.times(ticks)),
            Pause::Patience => now + rng.between(self.settings.tick.times(10), self.settings.tick.times(30)),
            Pause::Until(at) => at,
        };
        let tasks = self.tasks.drain(..).map(|(pause, task)| (at(pause, rng), task)).collect();
        OperatorActions { commands: std::mem::take(&mut self.commands), tasks }
    }

    fn set_goal(&mut self, members: Members) {
        self.number += 1;
        self.goal = Some(Goal { members, attempt: 0, is_asked: false, is_due: false, refusals: 0 });
        // With a delay: refusals are immediate, and repeated requests at one instant would never
        // end.
        let request = RequestId { client: OPERATOR, number: self.number, attempt: 0 };
        self.tasks.push((Pause::Ticks(2), OperatorTask::Ask(request)));
    }

    /// Sends the request for the goal, if it is due.
    fn ask(&mut self, rng: &mut SeededRng) {
        let leader = self.node_to_ask(rng);
        let Some(goal) = self.goal.as_mut().filter(|goal| goal.is_due) else { return };
        goal.attempt += 1;
        (goal.is_due, goal.is_asked) = (false, true);
        let request = RequestId { client: OPERATOR, number: self.number, attempt: goal.attempt };
        self.commands.push((leader, Command::Change { ticket: request.ticket(), members: goal.members.clone() }));
        self.tasks.push((Pause::Patience, OperatorTask::Timeout(request)));
    }

    /// The node to ask: the presumed leader, or any node.
    fn node_to_ask(&self, rng: &mut SeededRng) -> NodeId {
        self.leader.unwrap_or_else(|| NodeId::from_index(rng.below(self.settings.nodes as u64) as usize))
    }

    /// The most urgent change: settle abandoned changes, remove replicas that lost their disks,
    /// then add missing voters, as learners first.
    fn next_goal(&self) -> Option<Members> {
        let Members { voters, learners } = &self.members;
        if !self.wiped.is_empty() || !self.uncertain.is_empty() {
            let keep = |set: &BTreeSet<NodeId>| set.difference(&self.wiped).copied().collect::<BTreeSet<_>>();
            let kept = Members { voters: keep(voters), learners: keep(learners) };
            // If every voter lost its disk, no majority can decide anything.
            return (!kept.voters.is_empty()).then_some(kept);
        }
        let missing = self.wanted.saturating_sub(voters.len());
        let ready: BTreeSet<_> = learners.iter().copied().filter(|node| self.is_live(*node)).take(missing).collect();
        if !ready.is_empty() {
            let learners = learners.difference(&ready).copied().collect();
            return Some(Members { voters: voters.union(&ready).copied().collect(), learners });
        }
        let spares: BTreeSet<_> = self.spares().into_iter().take(missing).collect();
        (!spares.is_empty())
            .then(|| Members { voters: voters.clone(), learners: learners.union(&spares).copied().collect() })
    }

    fn is_live(&self, node: NodeId) -> bool {
        self.is_up.get(node.index()).is_some_and(|is_up| *is_up)
    }

    /// Live nodes that are not members.
    fn spares(&self) -> Vec<NodeId> {
        let Members { voters, learners } = &self.members;
        let nodes = (0..self.settings.nodes).map(NodeId::from_index);
        nodes.filter(|node| self.is_live(*node) && !voters.contains(node) && !learners.contains(node)).collect()
    }

    /// Minimum number of voters. While more disks will be lost, no voter can be removed, because a
    /// wiped replica cannot replace it.
    fn min_voters(&self) -> usize {
        let spared = usize::from(self.wipes_to_come == 0 && self.wiped.is_empty() && self.settings.founders > 2);
        self.settings.founders - spared
    }

    /// Draws a random change of members, or transfers the leadership.
    fn draw_change(&mut self, rng: &mut SeededRng) {
        let mut wanted = self.members.clone();
        let Members { voters, learners } = &mut wanted;
        let spares = self.spares();
        let can_shrink = voters.len() > self.min_voters();
        match rng.below(5) {
            0 if can_shrink => {
                if let Some(gone) = pick(voters, rng)
                    && rng.below(2) == 0
                {
                    learners.insert(gone);
                }
            }
            1 if !learners.is_empty() => {
                voters.extend(pick(learners, rng));
            }
            2 | 3 if !learners.is_empty() => {
                for _ in 0..1 + rng.below(learners.len() as u64) {
                    let [gone, come] = [pick(voters, rng), pick(learners, rng)];
                    voters.extend(come);
                    learners.extend(gone.filter(|_| rng.below(2) == 0));
                }
            }
            1..=3 if !spares.is_empty() => {
                let count = 1 + rng.below(spares.len() as u64) as usize;
                learners.extend(spares.into_iter().take(count));
            }
            _ => return self.transfer_leadership(rng),
        }
        self.wanted = wanted.voters.len();
        self.set_goal(wanted);
    }

    fn transfer_leadership(&mut self, rng: &mut SeededRng) {
        let mut voters = self.members.voters.clone();
        if let Some(to) = pick(&mut voters, rng) {
            let leader = self.node_to_ask(rng);
            self.commands.push((leader, Command::Transfer(to)));
        }
    }
}

fn current(goal: &mut Option<Goal>, number: u64, request: RequestId) -> Option<&mut Goal> {
    goal.as_mut().filter(|goal| (number, goal.attempt) == (request.number, request.attempt))
}

fn pick(set: &mut BTreeSet<NodeId>, rng: &mut SeededRng) -> Option<NodeId> {
    let chosen = set.iter().nth(rng.below(set.len() as u64) as usize).copied()?;
    set.remove(&chosen);
    Some(chosen)
}
