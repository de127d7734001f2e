//! Clients of a replicated log that follow a script.

use super::ticket::RequestId;
use super::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use quorate_replica::Proposal;
use quorate_replica::exactly_once::Request;
use quorate_replica::registers::{Change, Read};

/// Clients that follow a script.
pub struct Script {
    commands: Vec<TimedCommand>,
    end: Time,
    has_ended: bool,
}

/// The commands of a script. Reads and writes use the first register, and are not repeated.
pub(super) const COMMAND_NAMES: [&str; 3] = ["read", "write", "campaign"];

impl Script {
    /// The script ends at its last command or fault, whichever is later.
    pub(super) fn new(commands: Vec<TimedCommand>, faults_end: Time) -> Self {
        let end = commands.iter().map(|command| Time::ZERO + command.at).max().unwrap_or(Time::ZERO).max(faults_end);
        Self { commands, end, has_ended: false }
    }
}

/// Returns the request of a script line. Each request has its own number.
fn command(word: &str, node: NodeId, number: u64) -> Command {
    let client = u64::from(node.number());
    let ticket = RequestId { client, number, attempt: 1 }.ticket();
    match word {
        "read" => Command::Query { ticket, query: Read { key: 0 } },
        "write" => {
            let command = Request { client, number, command: Change::Write { key: 0, value: number } };
            Command::Propose(vec![Proposal { ticket, command }])
        }
        _ => Command::Campaign,
    }
}

impl Workload<Command, Event> for Script {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for (number, timed) in (1..).zip(self.commands.drain(..)) {
            let command = command(&timed.word, timed.node, number);
            plan.command_any_incarnation(Time::ZERO + timed.at, timed.node, command);
        }
        plan.set_alarm(self.end, NodeId::from_index(0));
    }

    fn on_event(&mut self, now: Time, _node: NodeId, _notification: &ClientEvent<Event>, _plan: &mut Plan<Command>) {
        self.has_ended |= now >= self.end;
    }

    fn is_done(&self) -> bool {
        self.has_ended
    }
}
