//! Replicas step by step: messages arrive when a test delivers them, disks confirm at once unless
//! they are blocked, and time passes tick by tick.

use crate::{completed_request, members, node};
use quorate_core::{Barrier, Durable as _, Effect, Effects, Incarnation, Input, NodeId, Protocol, Time};
use quorate_replica::settings::OldRelease;
use quorate_replica::{
    Addresses, Command, Durable, Event, Message, Proposal, Refusal, Replica, Settings, StateMachine, Ticket, Timer,
    Write,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// Ticks that a test waits for the outcome of a change of the members.
const CHANGE_TICKS: usize = 20;

/// Whether the network loses a message: sender, receiver, message.
pub(crate) type DropRule = Box<dyn Fn(u32, u32, &Message) -> bool>;

pub(crate) struct Host<S: StateMachine> {
    pub(crate) node: Replica<S>,
    pub(crate) durable: Durable,
    /// Whether the disk confirms nothing.
    pub(crate) is_disk_blocked: bool,
    pending_writes: Vec<Write>,
    barrier: Barrier<Replica<S>>,
    confirmed_saves: u64,
    timers: Vec<(i64, Timer)>,
}

pub(crate) struct Harness<S: StateMachine> {
    pub(crate) settings: Settings,
    pub(crate) old_releases: BTreeMap<u32, OldRelease>,
    /// The time in nanoseconds.
    pub(crate) now: i64,
    pub(crate) hosts: BTreeMap<u32, Host<S>>,
    /// Messages in flight: sender, receiver, message.
    pub(crate) messages: VecDeque<(u32, u32, Message)>,
    pub(crate) partitioned: BTreeSet<u32>,
    pub(crate) drop_rule: DropRule,
    /// Every message that was ever sent, lost or not, with its sender and its receivers.
    pub(crate) sent: Vec<(u32, Vec<u32>, Message)>,
    pub(crate) events: Vec<(u32, Event<S>)>,
    last_ticket: u64,
}

pub(crate) fn lose_nothing() -> DropRule {
    Box::new(|_, _, _| false)
}

/// Loses every offer of the leadership.
pub(crate) fn lose_transfers() -> DropRule {
    Box::new(|_, _, message| matches!(message, Message::TimeoutNow { .. }))
}

impl<S: StateMachine + Clone + fmt::Debug> Harness<S> {
    pub(crate) fn new(hosts: u32, founders: &[u32]) -> Self {
        Self::with_settings(hosts, Settings::new(members(founders, &[])))
    }

    pub(crate) fn with_settings(hosts: u32, settings: Settings) -> Self {
        Self::with_old_releases(hosts, settings, BTreeMap::new())
    }

    pub(crate) fn with_old_releases(hosts: u32, settings: Settings, old_releases: BTreeMap<u32, OldRelease>) -> Self {
        let mut harness = Self {
            settings,
            old_releases,
            now: 0,
            hosts: BTreeMap::new(),
            messages: VecDeque::new(),
            partitioned: BTreeSet::new(),
            drop_rule: lose_nothing(),
            sent: Vec::new(),
            events: Vec::new(),
            last_ticket: 0,
        };
        (1..=hosts).for_each(|number| harness.boot(number, Durable::default(), 0));
        harness
    }

    /// Starts a replica with this durable state, in place of an earlier incarnation.
    pub(crate) fn boot(&mut self, number: u32, durable: Durable, incarnation: u64) {
        let old_release = self.old_releases.get(&number).copied();
        let node = Replica::new(node(number), Settings { old_release, ..self.settings.clone() });
        let host = Host {
            node,
            durable: durable.clone(),
            is_disk_blocked: false,
            pending_writes: Vec::new(),
            barrier: Barrier::default(),
            confirmed_saves: 0,
            timers: Vec::new(),
        };
        self.hosts.insert(number, host);
        self.step(number, Input::Start { durable, incarnation: Incarnation(incarnation) });
    }

    pub(crate) fn restart(&mut self, number: u32, incarnation: u64) {
        let durable = self.hosts[&number].durable.clone();
        self.boot(number, durable, incarnation);
    }

    pub(crate) fn host(&mut self, number: u32) -> &mut Host<S> {
        self.hosts.get_mut(&number).unwrap()
    }

    /// Steps a replica and ends its turn.
    pub(crate) fn step(&mut self, number: u32, input: Input<Replica<S>>) {
        self.turn(number, vec![input]);
    }

    /// Gives a replica these inputs in one turn, confirms its saves, and lets its timers expire.
    pub(crate) fn turn(&mut self, number: u32, inputs: Vec<Input<Replica<S>>>) {
        let Some(host) = self.hosts.get_mut(&number) else { return };
        let mut effects: Vec<Effect<Replica<S>>> = Vec::new();
        for input in inputs.into_iter().chain([Input::EndOfTurn]) {
            host.node.step(Time::from_nanos(self.now), input, &mut Effects::new(&mut effects));
        }
        for effect in effects {
            if let Some(effect) = self.host(number).barrier.admit(effect) {
                self.carry_out(number, effect);
            }
        }
        self.sync(number);
        let now = self.now;
        while let Some(index) = self.host(number).timers.iter().position(|(at, _)| *at <= now) {
            let (_, timer) = self.host(number).timers.remove(index);
            self.step(number, Input::Timer(timer));
        }
    }

    /// Confirms the saves of a replica, unless its disk is blocked.
    fn sync(&mut self, number: u32) {
        let host = self.host(number);
        let count = host.barrier.saves_requested();
        if host.is_disk_blocked || host.confirmed_saves == count {
            return;
        }
        host.confirmed_saves = count;
        for write in std::mem::take(&mut host.pending_writes) {
            host.durable.apply(write);
        }
        host.barrier.mark_durable(count);
        while let Some(effect) = self.host(number).barrier.release() {
            self.carry_out(number, effect);
        }
        self.step(number, Input::Saved(count));
    }

    pub(crate) fn unblock_disk(&mut self, number: u32) {
        self.host(number).is_disk_blocked = false;
        self.sync(number);
    }

    fn carry_out(&mut self, number: u32, effect: Effect<Replica<S>>) {
        let now = self.now;
        match effect {
            Effect::Save(write) => self.host(number).pending_writes.push(write),
            Effect::Send { to, message, .. } => self.send(number, &[to], message),
            Effect::Multicast { to, message, .. } => {
                self.send(number, &to.others(node(number)).collect::<Vec<_>>(), message);
            }
            Effect::Emit { event, .. } => self.events.push((number, event)),
            // The test ticks.
            Effect::SetTimer { timer: Timer::Tick, .. } => {}
            Effect::SetTimer { timer, span } => {
                let timers = &mut self.host(number).timers;
                timers.retain(|(_, known)| *known != timer);
                timers.push((now + i64::try_from(span.latest.nanos()).unwrap(), timer));
            }
            Effect::CancelTimer(timer) => self.host(number).timers.retain(|(_, known)| *known != timer),
        }
    }

    fn send(&mut self, from: u32, to: &[NodeId], message: Message) {
        let receivers: Vec<u32> = to.iter().map(|node| node.number()).collect();
        for to in &receivers {
            if !(self.drop_rule)(from, *to, &message) {
                self.messages.push_back((from, *to, message.clone()));
            }
        }
        self.sent.push((from, receivers, message));
    }

    /// Number of messages of a replica that satisfy a condition, one for each receiver.
    pub(crate) fn count_sent(&self, from: u32, is_counted: impl Fn(&Message) -> bool) -> usize {
        let counted = self.sent.iter().filter(|(sender, _, message)| *sender == from && is_counted(message));
        counted.map(|(_, receivers, _)| receivers.len()).sum()
    }

    /// Delivers all messages in flight, and drops those from and to partitioned replicas.
    pub(crate) fn deliver(&mut self) {
        while let Some((from, to, message)) = self.messages.pop_front() {
            if !self.partitioned.contains(&from) && !self.partitioned.contains(&to) {
                self.receive(from, to, message);
            }
        }
    }

    pub(crate) fn receive(&mut self, from: u32, to: u32, message: Message) {
        self.step(to, Input::Message { from: node(from), message });
    }

    /// Lets time pass. A replica that hears from no leader campaigns after 8 to 15 ticks.
    pub(crate) fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            self.now += i64::try_from(self.settings.tick.nanos()).unwrap();
            for number in self.hosts.keys().copied().collect::<Vec<_>>() {
                self.step(number, Input::Timer(Timer::Tick));
                self.deliver();
            }
        }
    }

    /// Gives a replica a command with a new ticket, and delivers nothing.
    pub(crate) fn give(&mut self, replica: u32, command: impl FnOnce(Ticket) -> Command<S>) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.step(replica, Input::Command(command(ticket)));
        ticket
    }

    /// Proposes a command, and delivers nothing.
    pub(crate) fn propose(&mut self, replica: u32, command: S::Command) -> Ticket {
        self.give(replica, |ticket| Command::Propose(vec![Proposal { ticket, command }]))
    }

    pub(crate) fn outcome(&self, ticket: Ticket) -> Option<Event<S>> {
        let events = self.events.iter().map(|(_, event)| event);
        events.into_iter().find(|event| completed_request(event) == Some(ticket)).cloned()
    }

    pub(crate) fn refusal(&self, ticket: Ticket) -> Option<Refusal> {
        match self.outcome(ticket) {
            Some(Event::Refused { refusal, .. }) => Some(refusal),
            _ => None,
        }
    }

    /// Makes a request, lets `ticks` pass, and returns the outcome, if any.
    pub(crate) fn request(
        &mut self,
        replica: u32,
        ticks: usize,
        command: impl FnOnce(Ticket) -> Command<S>,
    ) -> Option<Event<S>> {
        let ticket = self.give(replica, command);
        self.deliver();
        self.ticks(ticks);
        self.outcome(ticket)
    }

    /// Asks for other members, and delivers nothing.
    pub(crate) fn give_change(&mut self, replica: u32, voters: &[u32], learners: &[u32]) -> Ticket {
        let members = members(voters, learners);
        self.give(replica, |ticket| Command::Change { ticket, members, addresses: Addresses::new() })
    }

    /// Changes the members. Returns the refusal, or `None` if the change succeeds.
    pub(crate) fn change(&mut self, replica: u32, voters: &[u32], learners: &[u32]) -> Option<Refusal> {
        let ticket = self.give_change(replica, voters, learners);
        self.deliver();
        self.ticks(CHANGE_TICKS);
        match self.outcome(ticket) {
            Some(Event::Changed { .. }) => None,
            Some(Event::Refused { refusal, .. }) => Some(refusal),
            other => panic!("{other:?}"),
        }
    }

    /// Lets a replica campaign, whether it wins or not.
    pub(crate) fn campaign(&mut self, replica: u32) {
        let ticks = 3;
        self.request(replica, ticks, |_| Command::Campaign);
    }

    pub(crate) fn elect(&mut self, replica: u32) {
        self.campaign(replica);
        assert_eq!(self.leaders(), [replica]);
    }

    /// The highest term of a leader so far.
    pub(crate) fn term(&self) -> u64 {
        let terms = self.events.iter().filter_map(|(_, event)| match event {
            Event::Leads { term } => Some(*term),
            _ => None,
        });
        terms.max().unwrap()
    }

    pub(crate) fn leaders(&self) -> Vec<u32> {
        self.hosts.iter().filter(|(_, host)| host.node.leads()).map(|(number, _)| *number).collect()
    }

    pub(crate) fn applied_index(&self, number: u32) -> u64 {
        self.hosts[&number].node.applied_index()
    }

    /// The index of the last entry on a replica's disk.
    pub(crate) fn durable_index(&self, number: u32) -> u64 {
        let durable = &self.hosts[&number].durable;
        let start = durable.log_start.map_or(0, |start| start.index);
        durable.entries.last().map_or(start, |entry| entry.index)
    }

    pub(crate) fn saves(&self, number: u32) -> u64 {
        self.hosts[&number].barrier.saves_requested()
    }

    pub(crate) fn is_standing(&self, number: u32) -> bool {
        self.hosts[&number].timers.iter().any(|(_, timer)| *timer == Timer::Campaign)
    }
}
