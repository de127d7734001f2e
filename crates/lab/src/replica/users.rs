//! The users of a run: clients by the seed, or whoever a script speaks for.

use super::clients::Clients;
use super::ticket::Asking;
use super::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::News;
use quorate_journal::workload::{Plan, Workload};
use quorate_replica::once::Request;
use quorate_replica::registers::{Change, Read};
use quorate_replica::{Proposal, Ticket};

pub struct Users(Kind);

enum Kind {
    Clients(Box<Clients>),
    Script { commands: Vec<TimedCommand>, last: Time, is_over: bool },
}

/// What a script can say, in its words. Reads and writes concern the first register, and are asked once.
pub(super) const WORDS: [&str; 3] = ["read", "write", "campaign"];

impl Users {
    pub(super) fn of_clients(clients: Clients) -> Self {
        Self(Kind::Clients(Box::new(clients)))
    }

    /// Whoever a script speaks for. It is not over before the last fault is.
    pub(super) fn of_script(commands: Vec<TimedCommand>, calm: Time) -> Self {
        let last = commands.iter().map(|command| Time::ZERO + command.at).max().unwrap_or(Time::ZERO).max(calm);
        Self(Kind::Script { commands, last, is_over: false })
    }
}

/// What a line of a script asks; nobody asks twice under one number.
fn command(word: &str, node: NodeId, number: u64) -> Command {
    let client = u64::from(node.number());
    let ticket: Ticket = Asking { client, number, attempt: 1 }.ticket();
    match word {
        "read" => Command::Query { ticket, query: Read { key: 0 } },
        "write" => {
            let command = Request { client, number, command: Change::Write { key: 0, value: number } };
            Command::Propose(vec![Proposal { ticket, command }])
        }
        _ => Command::Campaign,
    }
}

impl Workload<Command, Event> for Users {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match &mut self.0 {
            Kind::Clients(clients) => clients.begin(plan),
            Kind::Script { commands, last, .. } => {
                for (number, timed) in (1..).zip(commands.drain(..)) {
                    let command = command(&timed.word, timed.node, number);
                    plan.command_any_life(Time::ZERO + timed.at, timed.node, command);
                }
                plan.wake(*last, NodeId::from_index(0));
            }
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        match &mut self.0 {
            Kind::Clients(clients) => clients.hear(now, node, news, plan),
            Kind::Script { last, is_over, .. } => *is_over |= now >= *last,
        }
    }

    fn is_done(&self) -> bool {
        match &self.0 {
            Kind::Clients(clients) => clients.is_done(),
            Kind::Script { is_over, .. } => *is_over,
        }
    }
}
