//! Who sends, how often and to whom; who leaves.

use super::transit::Transit;
use quorate_core::multicast::{Command, Event, GroupId, Payload, Refusal};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::Latency;
use quorate_journal::workload::{News, Plan, Workload};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// One after another, and only when everyone has delivered what was sent before.
    Single,
    Random,
    Flood,
}

#[derive(Clone, Debug)]
pub struct Demand {
    pub pattern: Pattern,
    pub messages: u64,
    pub senders: Vec<NodeId>,
    /// How many bytes each says at least. Each says something else, such as `2:17`.
    pub payload: usize,
    pub think: Latency,
    /// The groups and who is in them; if none is named, there is only one, with everyone in it.
    pub groups: Vec<(GroupId, Group)>,
    /// How many members leave after a part of what they have to say. The seed chooses them.
    pub leaves: usize,
    /// Whether the group has views: then whoever is out or restarts is let in again.
    pub views: bool,
    /// Whether everyone is to deliver what the dead sent and one of the living has delivered.
    pub agreement: bool,
}

pub struct Senders {
    demand: Demand,
    dice: Dice,
    left: u64,
    users: Vec<User>,
    turn: usize,
    transit: Transit,
}

#[derive(Clone, Debug, Default)]
struct User {
    state: State,
    sends: bool,
    thought: u64,
    sent: u64,
    leaves_after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Letter {
    group: GroupId,
    payload: Payload,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Content,
    /// Asks at that instant, or asked then, and is not yet answered.
    Busy {
        letter: Letter,
        asks: Time,
    },
    Waits(Letter),
    /// Is in no view, and goes on in the next.
    Outside(Option<Letter>),
    Leaving(usize),
    Gone,
    Stranded,
}

impl Senders {
    pub fn new(nodes: usize, seed: u64, demand: Demand) -> Self {
        let mut dice = Dice::new(seed, Stream::Multicasts);
        let mut users = vec![User::default(); nodes];
        for sender in &demand.senders {
            if let Some(user) = users.get_mut(sender.index()) {
                user.sends = true;
            }
        }
        let senders = users.iter().filter(|user| user.sends).count() as u64;
        let mut stayers: Vec<_> = (0..nodes).collect();
        // Somebody stays, else there would be no group.
        for _ in 0..demand.leaves.min(nodes.saturating_sub(1)) {
            let leaver = stayers.swap_remove(dice.below(stayers.len() as u64) as usize);
            if let Some(user) = users.get_mut(leaver) {
                let share = demand.messages.checked_div(senders).unwrap_or(0);
                user.leaves_after = Some(if user.sends { dice.below(share + 1) } else { 0 });
            }
        }
        let mut transit = Transit::new(nodes);
        for (group, members) in demand.groups.iter().filter(|_| !demand.views) {
            transit.among(*group, members);
        }
        let left = if senders == 0 { 0 } else { demand.messages };
        Self { demand, dice, left, users, turn: 0, transit }
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    fn is_owed(&self) -> bool {
        self.transit.is_owed(self.demand.agreement)
    }

    /// A user whose node is there has nothing to do: it thinks of the next message, or leaves.
    fn goes_on(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        let Some(user) = self.users.get_mut(node.index()) else { return };
        user.state = State::Content;
        // Whoever means to leave does so at the latest when there is nothing more to say.
        if user.leaves_after.is_some_and(|after| user.sent >= after || self.left == 0) {
            self.leave(now, node, plan);
        } else if user.sends && self.demand.pattern != Pattern::Single {
            let pause = self.pause();
            self.think(now + pause, node, plan);
        }
    }

    fn pause(&mut self) -> Duration {
        match self.demand.pattern {
            Pattern::Flood => Duration::ZERO,
            Pattern::Single | Pattern::Random => self.dice.length(self.demand.think),
        }
    }

    fn think(&mut self, at: Time, node: NodeId, plan: &mut Plan<Command>) {
        let groups: Vec<_> = self.demand.groups.iter().filter(|(_, members)| members.contains(node)).collect();
        let group = match groups.len() {
            0 if !self.demand.groups.is_empty() => return,
            0 => GroupId::ONLY,
            1 => groups.first().map_or(GroupId::ONLY, |(group, _)| *group),
            several => {
                let place = self.dice.below(several as u64) as usize;
                groups.get(place).map_or(GroupId::ONLY, |(group, _)| *group)
            }
        };
        let Some(user) = self.users.get_mut(node.index()).filter(|_| self.left > 0) else { return };
        self.left -= 1;
        user.thought += 1;
        let text = format!("{node}:{}", user.thought);
        let padding = ".".repeat(self.demand.payload.saturating_sub(text.len()));
        let payload = Payload::from(text + &padding);
        self.ask(at, node, Letter { group, payload }, plan);
    }

    fn ask(&mut self, at: Time, node: NodeId, letter: Letter, plan: &mut Plan<Command>) {
        let Some(user) = self.users.get_mut(node.index()) else { return };
        plan.command(at, node, Command::Send { group: letter.group, payload: letter.payload.clone() });
        user.state = State::Busy { letter, asks: at };
    }

    fn leave(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        let at = now + self.pause();
        let mut groups: Vec<_> = self.demand.groups.iter().filter(|(_, members)| members.contains(node)).collect();
        groups.dedup_by_key(|(group, _)| *group);
        let mut named: Vec<_> = groups.into_iter().map(|(group, _)| *group).collect();
        if self.demand.groups.is_empty() {
            named.push(GroupId::ONLY);
        }
        let Some(user) = self.users.get_mut(node.index()) else { return };
        user.leaves_after = None;
        user.sends = false;
        user.state = if named.is_empty() { State::Gone } else { State::Leaving(named.len()) };
        for group in named {
            plan.command(at, node, Command::Leave { group });
        }
    }

    fn has_left(&mut self, node: NodeId) {
        if let Some(user) = self.users.get_mut(node.index())
            && let State::Leaving(groups) = &mut user.state
        {
            *groups = groups.saturating_sub(1);
            if *groups == 0 {
                user.state = State::Gone;
            }
        }
    }

    fn told(&mut self, now: Time, node: NodeId, event: &Event, plan: &mut Plan<Command>) {
        match event {
            Event::Sent { .. } => {
                if let Some(user) = self.users.get_mut(node.index())
                    && let State::Busy { .. } = user.state
                {
                    user.sent += 1;
                    self.goes_on(now, node, plan);
                }
            }
            Event::Wait { .. } => self.turn(node, |state| match state {
                State::Busy { letter, .. } => State::Waits(letter),
                other => other,
            }),
            Event::Ready { group } => self.tries_again(now, node, *group, plan),
            Event::View { group, .. } => {
                self.tries_again(now, node, *group, plan);
                self.comes_in(now, node, *group, plan);
            }
            Event::Refused(refusal) => self.refused(now, node, *refusal, plan),
            // Who is out before it could leave has left, too.
            Event::Left { .. } | Event::Out { .. } => {
                self.has_left(node);
                if matches!(self.users.get(node.index()).map(|user| &user.state), Some(State::Gone)) {
                    plan.depart(now, node);
                }
            }
            Event::Delivered { .. } => {}
        }
    }

    fn turn(&mut self, node: NodeId, change: impl FnOnce(State) -> State) {
        if let Some(user) = self.users.get_mut(node.index()) {
            user.state = change(std::mem::take(&mut user.state));
        }
    }

    fn tries_again(&mut self, now: Time, node: NodeId, group: GroupId, plan: &mut Plan<Command>) {
        let Some(State::Waits(letter)) = self.users.get(node.index()).map(|user| &user.state) else { return };
        if letter.group == group {
            let letter = letter.clone();
            self.ask(now, node, letter, plan);
        }
    }

    /// A user whose node was in no view goes on: with what was refused, or with the next.
    fn comes_in(&mut self, now: Time, node: NodeId, group: GroupId, plan: &mut Plan<Command>) {
        match self.users.get(node.index()).map(|user| user.state.clone()) {
            Some(State::Outside(None)) => self.goes_on(now, node, plan),
            Some(State::Outside(Some(letter))) if letter.group == group => self.ask(now, node, letter, plan),
            Some(_) | None => {}
        }
    }

    fn refused(&mut self, now: Time, node: NodeId, refusal: Refusal, plan: &mut Plan<Command>) {
        let Some(user) = self.users.get_mut(node.index()) else { return };
        match (std::mem::take(&mut user.state), refusal) {
            (State::Busy { letter, .. }, Refusal::NotAMember) if self.demand.views => {
                user.state = State::Outside(Some(letter));
            }
            // It is never let in: others say as many more.
            (State::Busy { .. }, Refusal::NotAMember | Refusal::NoWayBack | Refusal::Leaving) => {
                user.state = State::Gone;
                self.left += 1;
                self.wake(now, plan);
            }
            // Nothing would help.
            (State::Busy { .. }, Refusal::TooLong) => self.goes_on(now, node, plan),
            (State::Leaving(groups), _) => {
                user.state = State::Leaving(groups);
                self.has_left(node);
            }
            (state, _) => user.state = state,
        }
    }

    fn wake(&mut self, now: Time, plan: &mut Plan<Command>) {
        if self.demand.pattern == Pattern::Single {
            return;
        }
        let is_free = |user: &User| user.sends && user.state == State::Content;
        if let Some(index) = self.users.iter().position(is_free) {
            let pause = self.pause();
            self.think(now + pause, NodeId::from_index(index), plan);
        }
    }

    /// A message that the node did not live to be asked for is still to be sent, by whoever can.
    fn strands(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        let Some(user) = self.users.get_mut(node.index()) else { return };
        let is_unsaid = match std::mem::replace(&mut user.state, State::Stranded) {
            State::Busy { asks, .. } => asks > now,
            State::Waits(_) | State::Outside(Some(_)) => true,
            State::Content | State::Outside(None) | State::Stranded => false,
            // Whoever leaves is gone for good, however it goes.
            State::Leaving(_) | State::Gone => {
                user.state = State::Gone;
                false
            }
        };
        if is_unsaid {
            self.left += 1;
            self.wake(now, plan);
        }
    }

    fn restarts(&mut self, node: NodeId) {
        let has_views = self.demand.views;
        self.turn(node, |state| match state {
            State::Stranded if has_views => State::Outside(None),
            State::Stranded => State::Gone,
            other => other,
        });
    }

    /// Where one sends after another: the next does when nobody owes anything.
    fn passes_on(&mut self, now: Time, plan: &mut Plan<Command>) {
        let is_content = |user: &User| match user.state {
            State::Busy { .. } | State::Waits(_) | State::Leaving(_) => false,
            State::Content | State::Outside(_) | State::Gone | State::Stranded => true,
        };
        if self.demand.pattern != Pattern::Single || self.left == 0 {
            return;
        }
        if !self.users.iter().all(is_content) || self.is_owed() {
            return;
        }
        let senders = self.demand.senders.len();
        for step in 0..senders {
            let place = (self.turn + step) % senders;
            let Some(node) = self.demand.senders.get(place).copied() else { continue };
            let is_free = |user: &User| user.sends && user.state == State::Content;
            if self.users.get(node.index()).is_some_and(is_free) {
                self.turn = place + 1;
                let pause = self.pause();
                self.think(now + pause, node, plan);
                return;
            }
        }
    }

    fn somebody_can(&self) -> bool {
        self.users.iter().filter(|user| user.sends).any(|user| match user.state {
            State::Content | State::Busy { .. } | State::Waits(_) => true,
            State::Outside(_) => self.demand.views,
            State::Leaving(_) | State::Gone | State::Stranded => false,
        })
    }

    fn somebody_waits(&self) -> bool {
        self.users.iter().any(|user| match user.state {
            State::Busy { .. } | State::Waits(_) | State::Leaving(_) | State::Outside(Some(_)) => true,
            State::Content | State::Outside(None) | State::Gone | State::Stranded => false,
        })
    }
}

impl Workload<Command, Event> for Senders {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for index in 0..self.users.len() {
            let is_content = self.users.get(index).is_some_and(|user| user.state == State::Content);
            if is_content {
                self.goes_on(Time::ZERO, NodeId::from_index(index), plan);
            }
        }
        if self.demand.pattern == Pattern::Single {
            self.passes_on(Time::ZERO, plan);
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        match news {
            News::Told(event) => {
                self.transit.told(now, node, event);
                self.told(now, node, event, plan);
            }
            News::Crashed => {
                self.transit.dies(node);
                self.strands(now, node, plan);
            }
            News::Restarted => {
                self.transit.boots(node);
                self.restarts(node);
            }
            News::Alarm => {}
        }
        self.passes_on(now, plan);
    }

    fn is_done(&self) -> bool {
        (self.left == 0 || !self.somebody_can()) && !self.somebody_waits() && !self.is_owed()
    }
}
