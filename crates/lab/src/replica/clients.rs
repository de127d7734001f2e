//! Clients that read and write a replicated map, and the operator that changes its members.

use super::agenda::Agenda;
use super::cell::Operation;
use super::client::{Client, Refused};
use super::operator::{Errand, Operator, Site, Wishes};
use super::ticket::{Asking, OPERATOR};
use super::{Command, Event, Machine};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::workload::{News, Plan, Workload};
use quorate_replica::once::Request;
use quorate_replica::registers::{Change, Read};
use quorate_replica::{Proposal, Refusal};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) nodes: usize,
    pub(super) seed: u64,
    pub(super) clients: u64,
    pub(super) operations: u64,
    pub(super) keys: u64,
    /// The beat of the replicas, which gives patience its time scale.
    pub(super) tick: Duration,
    /// When the last fault is over. Before that, nobody can say that everything went well.
    pub(super) calm: Time,
}

pub struct Clients {
    demand: Demand,
    dice: Dice,
    agenda: Agenda<Item>,
    clients: Vec<Client>,
    left: u64,
    open: u64,
    /// The last value that was written: each is written once.
    value: u64,
    /// Proposals that wait for company.
    outbox: BTreeMap<NodeId, Vec<Proposal<<Machine as quorate_replica::StateMachine>::Command>>>,
    operator: Operator,
}

enum Item {
    Begin(usize),
    /// A client asks again, unless it was answered meanwhile.
    Ask {
        who: Asking,
        node: NodeId,
    },
    Impatience(Asking),
    /// What waits for company goes without.
    Flush(NodeId),
    Errand(Errand),
    Calm,
}

/// In hundredths: how many operations read, and how many of the others write whatever is there.
const READS: u64 = 40;
const WRITES: u64 = 35;

impl Clients {
    pub(super) fn new(demand: Demand, site: Site) -> Self {
        let mut dice = Dice::new(demand.seed, Stream::Workload);
        let clients = (0..demand.clients).map(|_| Client::new(any(demand.nodes, &mut dice)));
        Self {
            clients: clients.collect(),
            dice,
            agenda: Agenda::new(),
            left: if demand.clients == 0 { 0 } else { demand.operations },
            open: 0,
            value: 0,
            outbox: BTreeMap::new(),
            operator: Operator::new(site),
            demand,
        }
    }

    /// A pause of so many ticks at most.
    fn pause(&mut self, ticks: u64) -> Duration {
        self.dice.between(Duration::from_nanos(self.demand.tick.nanos() / 10), self.demand.tick.times(ticks))
    }

    fn content(&mut self) -> Duration {
        let ticks = if self.dice.below(4) == 0 { 40 } else { 2 };
        self.pause(ticks)
    }

    fn anybody(&mut self) -> NodeId {
        any(self.demand.nodes, &mut self.dice)
    }

    fn begin_operation(&mut self, now: Time, index: usize, plan: &mut Plan<Command>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        self.open += 1;
        let operation = self.draw_operation(index);
        let reads_anywhere = !operation.is_change() && self.dice.below(2) == 0;
        let anybody = self.anybody();
        let Some(client) = self.clients.get_mut(index) else { return };
        let node = if reads_anywhere { anybody } else { client.favourite };
        client.begin(operation);
        self.ask(now, index, node, plan);
    }

    fn draw_operation(&mut self, index: usize) -> Operation {
        let key = self.dice.below(self.demand.keys.max(1));
        let kind = self.dice.below(100);
        if kind < READS {
            return Operation::Read { key };
        }
        self.value += 1;
        let value = self.value;
        let seen = self.clients.get(index).and_then(|client| client.seen(key));
        Operation::Change(if kind < READS + WRITES {
            Change::Write { key, value }
        } else {
            Change::CompareAndSet { key, expect: seen, value }
        })
    }

    fn ask(&mut self, now: Time, index: usize, node: NodeId, plan: &mut Plan<Command>) {
        let Some((who, operation)) = self.clients.get_mut(index).and_then(|client| client.ask(index, node)) else {
            return;
        };
        let ticket = who.ticket();
        match operation {
            Operation::Read { key } => plan.command(now, node, Command::Query { ticket, query: Read { key } }),
            Operation::Change(command) => {
                let command = Request { client: who.client, number: who.number, command };
                self.outbox.entry(node).or_default().push(Proposal { ticket, command });
                if self.dice.below(4) == 0 {
                    let later = now + self.pause(1);
                    self.agenda.put(later, Item::Flush(node), plan);
                } else {
                    self.flush(now, node, plan);
                }
            }
        }
        let patience = self.demand.tick.times(10 + self.dice.below(21));
        self.agenda.put(now + patience, Item::Impatience(who), plan);
    }

    fn flush(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        if let Some(proposals) = self.outbox.remove(&node) {
            plan.command(now, node, Command::Propose(proposals));
        }
    }

    fn ask_later(&mut self, now: Time, who: Asking, node: NodeId, ticks: u64, plan: &mut Plan<Command>) {
        let later = now + self.pause(ticks);
        self.agenda.put(later, Item::Ask { who, node }, plan);
    }

    fn refused(&mut self, now: Time, who: Asking, why: Option<Refusal>, plan: &mut Plan<Command>) {
        let anybody = self.anybody();
        match client_of(&mut self.clients, who).map_or(Refused::Stale, |client| client.refused(who, why)) {
            Refused::TryLeader(leader) => self.ask_later(now, who, leader, 1, plan),
            Refused::TryAnybody => self.ask_later(now, who, anybody, 5, plan),
            Refused::Stale => {}
        }
    }

    fn crashed(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        self.outbox.remove(&node);
        for index in 0..self.clients.len() {
            if let Some(who) = self.clients.get_mut(index).and_then(|client| client.abandoned_by(index, node)) {
                let anybody = self.anybody();
                self.ask_later(now, who, anybody, 5, plan);
            }
        }
    }

    fn told(&mut self, now: Time, node: NodeId, event: &Event, plan: &mut Plan<Command>) {
        match event {
            Event::Answered { ticket, answer, .. } => {
                let who = Asking::of(*ticket);
                let answered =
                    client_of(&mut self.clients, who).is_some_and(|client| client.answered(who, node, *answer));
                if answered {
                    self.open -= 1;
                    let later = now + self.content();
                    self.agenda.put(later, Item::Begin(index_of(who)), plan);
                }
            }
            Event::Refused { ticket, why } => self.refused(now, Asking::of(*ticket), Some(*why), plan),
            Event::Unknown { ticket } => self.refused(now, Asking::of(*ticket), None, plan),
            Event::Changed { .. }
            | Event::Leads { .. }
            | Event::Follows { .. }
            | Event::Applied(_)
            | Event::Restored(_)
            | Event::Halted { .. } => {}
        }
    }

    fn due(&mut self, now: Time, item: Item, plan: &mut Plan<Command>) {
        match item {
            Item::Begin(index) => self.begin_operation(now, index, plan),
            Item::Ask { who, node } => {
                if client_of(&mut self.clients, who).is_some_and(|client| client.is_to_ask(who)) {
                    self.ask(now, index_of(who), node, plan);
                }
            }
            Item::Impatience(who) => {
                let anybody = self.anybody();
                if client_of(&mut self.clients, who).is_some_and(|client| client.gives_up_on(who)) {
                    self.ask(now, index_of(who), anybody, plan);
                }
            }
            Item::Flush(node) => self.flush(now, node, plan),
            Item::Calm => {}
            Item::Errand(errand) => self.operate(now, plan, |operator, _| operator.due(errand)),
        }
    }

    fn operate(&mut self, now: Time, plan: &mut Plan<Command>, think: impl FnOnce(&mut Operator, &mut Dice)) {
        think(&mut self.operator, &mut self.dice);
        let Wishes { commands, errands } = self.operator.wishes(now, &mut self.dice);
        for (node, command) in commands {
            plan.command(now, node, command);
        }
        for (at, errand) in errands {
            self.agenda.put(at, Item::Errand(errand), plan);
        }
    }
}

/// Clients are numbered from 1, after the operator.
fn index_of(who: Asking) -> usize {
    usize::try_from(who.client.saturating_sub(OPERATOR + 1)).unwrap_or(usize::MAX)
}

fn client_of(clients: &mut [Client], who: Asking) -> Option<&mut Client> {
    if who.client == OPERATOR { None } else { clients.get_mut(index_of(who)) }
}

fn any(nodes: usize, dice: &mut Dice) -> NodeId {
    NodeId::from_index(dice.below(nodes as u64) as usize)
}

impl Workload<Command, Event> for Clients {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for index in 0..self.clients.len() {
            let first = Time::ZERO + self.pause(16);
            self.agenda.put(first, Item::Begin(index), plan);
        }
        self.agenda.put(self.demand.calm + self.demand.tick.times(20), Item::Calm, plan);
        self.operate(Time::ZERO, plan, |operator, dice| operator.begin(dice));
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        match news {
            News::Told(event) => {
                self.told(now, node, event, plan);
                self.operate(now, plan, |operator, _| operator.told(node, event));
            }
            News::Crashed => {
                self.crashed(now, node, plan);
                self.operate(now, plan, |operator, _| operator.crashed(node));
            }
            News::Restarted => self.operate(now, plan, |operator, _| operator.restarted(now, node)),
            News::Alarm => {
                while let Some(item) = self.agenda.due(now) {
                    self.due(now, item, plan);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.left == 0 && self.open == 0 && self.operator.is_done()
    }
}
