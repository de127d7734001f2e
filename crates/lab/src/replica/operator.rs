//! The operator: changes members at random times, lets replicas in anew that lost their disks, and leaves a full set.

use super::ticket::{Asking, OPERATOR};
use super::{Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::dice::Dice;
use quorate_replica::{Members, Refusal};
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub(super) nodes: usize,
    pub(super) founders: usize,
    /// How many changes it makes by itself.
    pub(super) changes: u32,
    /// In which time it makes them.
    pub(super) window: Duration,
    pub(super) tick: Duration,
    pub(super) wipes: Vec<(Time, NodeId)>,
    pub(super) calm: Time,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Errand {
    Change,
    /// One disk less is to be lost.
    WipeOver,
    /// No fault is to come: leave a full set.
    Calm,
    /// Ask again, unless that came about meanwhile.
    Ask(Asking),
    Impatience(Asking),
}

#[derive(Default)]
pub(super) struct Operator {
    site: Site,
    /// The members as it last knew them.
    members: Members,
    /// Members that it asked for and gave up on since: one of these sets may have come about all the same.
    doubts: Vec<Members>,
    /// How many voters there should be.
    wanted: usize,
    /// Who lost its disk and was not let go yet.
    wiped: BTreeSet<NodeId>,
    wipes_to_come: usize,
    backlog: u32,
    to_come: u32,
    is_calm: bool,
    goal: Option<Goal>,
    number: u64,
    /// The highest term in which anybody led, and who is thought to lead.
    term: u64,
    leader: Option<NodeId>,
    is_up: Vec<bool>,
    commands: Vec<(NodeId, Command)>,
    errands: Vec<(Pause, Errand)>,
}

/// The members that it asks for until they are so. What it asks is the whole set, so that asking twice does no harm.
struct Goal {
    members: Members,
    attempt: u64,
    is_asked: bool,
    is_due: bool,
    refusals: u32,
}

pub(super) struct Wishes {
    pub(super) commands: Vec<(NodeId, Command)>,
    pub(super) errands: Vec<(Time, Errand)>,
}

#[derive(Clone, Copy)]
enum Pause {
    /// Up to so many ticks.
    Ticks(u64),
    Patience,
    Until(Time),
}

/// How often a goal is refused before the operator thinks again.
const REFUSALS: u32 = 40;

impl Operator {
    pub(super) fn new(site: Site) -> Self {
        let founders: BTreeSet<_> = (0..site.founders).map(NodeId::from_index).collect();
        Self {
            members: Members { voters: founders, learners: BTreeSet::new() },
            wanted: site.founders,
            wipes_to_come: site.wipes.len(),
            to_come: site.changes,
            is_calm: site.changes == 0 && site.wipes.is_empty(),
            is_up: vec![true; site.nodes],
            site,
            ..Self::default()
        }
    }

    pub(super) fn begin(&mut self, dice: &mut Dice) {
        if self.is_calm {
            return;
        }
        for _ in 0..self.to_come {
            let at = Time::ZERO + dice.between(self.site.tick, self.site.window);
            self.errands.push((Pause::Until(at), Errand::Change));
        }
        for (at, _) in &self.site.wipes {
            self.errands.push((Pause::Until(*at + self.site.tick), Errand::WipeOver));
        }
        let last = self.site.wipes.iter().map(|(at, _)| *at).fold(Time::ZERO + self.site.window, Time::max);
        let calm = self.site.calm.max(last) + self.site.tick.times(20);
        self.errands.push((Pause::Until(calm), Errand::Calm));
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_calm && self.goal.is_none() && self.backlog == 0 && self.next_goal().is_none()
    }

    pub(super) fn due(&mut self, errand: Errand) {
        match errand {
            Errand::Change => {
                self.to_come = self.to_come.saturating_sub(1);
                self.backlog += 1;
            }
            Errand::WipeOver => self.wipes_to_come = self.wipes_to_come.saturating_sub(1),
            Errand::Calm => {
                self.is_calm = true;
                self.wanted = self.site.founders;
            }
            Errand::Ask(who) => {
                if let Some(goal) = current(&mut self.goal, self.number, who).filter(|goal| !goal.is_asked) {
                    goal.is_due = true;
                }
            }
            Errand::Impatience(who) => {
                if let Some(goal) = current(&mut self.goal, self.number, who).filter(|goal| goal.is_asked) {
                    (goal.is_asked, goal.is_due) = (false, true);
                    // Whoever led does not answer.
                    self.leader = None;
                }
            }
        }
    }

    pub(super) fn crashed(&mut self, node: NodeId) {
        self.set_up(node, false);
    }

    pub(super) fn restarted(&mut self, now: Time, node: NodeId) {
        self.set_up(node, true);
        if self.site.wipes.contains(&(now, node)) {
            self.wiped.insert(node);
        }
    }

    fn set_up(&mut self, node: NodeId, is_up: bool) {
        if let Some(state) = self.is_up.get_mut(node.index()) {
            *state = is_up;
        }
    }

    pub(super) fn told(&mut self, node: NodeId, event: &Event) {
        match event {
            Event::Leads { term } if *term > self.term => {
                self.term = *term;
                self.leader = Some(node);
            }
            Event::Changed { ticket, members } => self.changed(Asking::of(*ticket), members),
            Event::Refused { ticket, why } => self.refused(Asking::of(*ticket), Some(*why)),
            Event::Unknown { ticket } => self.refused(Asking::of(*ticket), None),
            Event::Leads { .. }
            | Event::Answered { .. }
            | Event::Follows { .. }
            | Event::Applied(_)
            | Event::Restored(_)
            | Event::Halted { .. } => {}
        }
    }

    fn changed(&mut self, who: Asking, members: &Members) {
        if who.client == OPERATOR && self.goal.is_some() && who.number == self.number {
            self.goal = None;
            self.doubts.clear();
            self.members = members.clone();
            // Who is out now can be let in anew.
            self.wiped.retain(|node| members.voters.contains(node) || members.learners.contains(node));
        }
    }

    fn refused(&mut self, who: Asking, why: Option<Refusal>) {
        if who.client != OPERATOR {
            return;
        }
        let Some(goal) = current(&mut self.goal, self.number, who).filter(|goal| goal.is_asked) else { return };
        goal.is_asked = false;
        goal.refusals += u32::from(matches!(why, Some(Refusal::LearnerFirst(_))));
        let tired = goal.refusals > REFUSALS;
        match why {
            Some(Refusal::LearnerFirst(node)) if self.members.voters.contains(&node) && !self.doubts.is_empty() => {
                return self.think_again();
            }
            Some(Refusal::LearnerFirst(node)) if tired || self.wiped.contains(&node) => return self.give_up(),
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
        self.errands.push((Pause::Ticks(ticks), Errand::Ask(who)));
    }

    /// Who was taken for a voter is none: something came about that was given up.
    fn think_again(&mut self) {
        self.goal = None;
        if let Some(other) = self.doubts.pop() {
            let before = std::mem::replace(&mut self.members, other);
            self.doubts.insert(0, before);
        }
    }

    /// It cannot be, or not now. But it may have been asked before of somebody who could.
    fn give_up(&mut self) {
        self.doubts.extend(self.goal.take().map(|goal| goal.members));
    }

    pub(super) fn wishes(&mut self, now: Time, dice: &mut Dice) -> Wishes {
        if self.goal.is_none() {
            if let Some(members) = self.next_goal() {
                self.pursue(members);
            } else if self.backlog > 0 {
                self.backlog -= 1;
                self.change_something(dice);
            }
        }
        self.ask(dice);
        let at = |pause: Pause, dice: &mut Dice| match pause {
            Pause::Ticks(ticks) => now + dice.between(Duration::from_nanos(1), self.site.tick.times(ticks)),
            Pause::Patience => now + dice.between(self.site.tick.times(10), self.site.tick.times(30)),
            Pause::Until(at) => at,
        };
        let errands = self.errands.drain(..).map(|(pause, errand)| (at(pause, dice), errand)).collect();
        Wishes { commands: std::mem::take(&mut self.commands), errands }
    }

    fn pursue(&mut self, members: Members) {
        self.number += 1;
        self.goal = Some(Goal { members, attempt: 0, is_asked: false, is_due: false, refusals: 0 });
        // Never at once: a refusal comes at once too, and nothing would ever happen in between.
        let who = Asking { client: OPERATOR, number: self.number, attempt: 0 };
        self.errands.push((Pause::Ticks(2), Errand::Ask(who)));
    }

    fn ask(&mut self, dice: &mut Dice) {
        let leader = self.whom(dice);
        let Some(goal) = self.goal.as_mut().filter(|goal| goal.is_due) else { return };
        goal.attempt += 1;
        (goal.is_due, goal.is_asked) = (false, true);
        let who = Asking { client: OPERATOR, number: self.number, attempt: goal.attempt };
        self.commands.push((leader, Command::Change { ticket: who.ticket(), members: goal.members.clone() }));
        self.errands.push((Pause::Patience, Errand::Impatience(who)));
    }

    /// Whom it asks: who is thought to lead, or anybody.
    fn whom(&self, dice: &mut Dice) -> NodeId {
        self.leader.unwrap_or_else(|| NodeId::from_index(dice.below(self.site.nodes as u64) as usize))
    }

    /// What must be done before anything else: doubts are settled, lost disks go, and voters who are missing come, learners
    /// first.
    fn next_goal(&self) -> Option<Members> {
        let Members { voters, learners } = &self.members;
        if !self.wiped.is_empty() || !self.doubts.is_empty() {
            let keep = |set: &BTreeSet<NodeId>| set.difference(&self.wiped).copied().collect::<BTreeSet<_>>();
            let kept = Members { voters: keep(voters), learners: keep(learners) };
            // Where every voter lost its disk, nobody is left who could decide anything.
            return (!kept.voters.is_empty()).then_some(kept);
        }
        let missing = self.wanted.saturating_sub(voters.len());
        let ready: BTreeSet<_> = learners.iter().copied().filter(|node| self.lives(*node)).take(missing).collect();
        if !ready.is_empty() {
            let learners = learners.difference(&ready).copied().collect();
            return Some(Members { voters: voters.union(&ready).copied().collect(), learners });
        }
        let spares: BTreeSet<_> = self.spares().into_iter().take(missing).collect();
        (!spares.is_empty())
            .then(|| Members { voters: voters.clone(), learners: learners.union(&spares).copied().collect() })
    }

    fn lives(&self, node: NodeId) -> bool {
        self.is_up.get(node.index()).is_some_and(|is_up| *is_up)
    }

    /// Who is up and no member.
    fn spares(&self) -> Vec<NodeId> {
        let Members { voters, learners } = &self.members;
        let nodes = (0..self.site.nodes).map(NodeId::from_index);
        nodes.filter(|node| self.lives(*node) && !voters.contains(node) && !learners.contains(node)).collect()
    }

    /// How many voters must stay. While disks are still to be lost, none can be spared: who lost its disk is no help.
    fn floor(&self) -> usize {
        let spared = usize::from(self.wipes_to_come == 0 && self.wiped.is_empty() && self.site.founders > 2);
        self.site.founders - spared
    }

    fn change_something(&mut self, dice: &mut Dice) {
        let mut wanted = self.members.clone();
        let Members { voters, learners } = &mut wanted;
        let spares = self.spares();
        let can_shrink = voters.len() > self.floor();
        match dice.below(5) {
            0 if can_shrink => {
                if let Some(gone) = pick(voters, dice)
                    && dice.below(2) == 0
                {
                    learners.insert(gone);
                }
            }
            1 if !learners.is_empty() => {
                voters.extend(pick(learners, dice));
            }
            2 | 3 if !learners.is_empty() => {
                for _ in 0..1 + dice.below(learners.len() as u64) {
                    let [gone, come] = [pick(voters, dice), pick(learners, dice)];
                    voters.extend(come);
                    learners.extend(gone.filter(|_| dice.below(2) == 0));
                }
            }
            1..=3 if !spares.is_empty() => {
                let count = 1 + dice.below(spares.len() as u64) as usize;
                learners.extend(spares.into_iter().take(count));
            }
            _ => return self.hand_over(dice),
        }
        self.wanted = wanted.voters.len();
        self.pursue(wanted);
    }

    fn hand_over(&mut self, dice: &mut Dice) {
        let mut voters = self.members.voters.clone();
        if let Some(to) = pick(&mut voters, dice) {
            let leader = self.whom(dice);
            self.commands.push((leader, Command::Transfer(to)));
        }
    }
}

fn current(goal: &mut Option<Goal>, number: u64, who: Asking) -> Option<&mut Goal> {
    goal.as_mut().filter(|goal| (number, goal.attempt) == (who.number, who.attempt))
}

fn pick(set: &mut BTreeSet<NodeId>, dice: &mut Dice) -> Option<NodeId> {
    let chosen = set.iter().nth(dice.below(set.len() as u64) as usize).copied()?;
    set.remove(&chosen);
    Some(chosen)
}
