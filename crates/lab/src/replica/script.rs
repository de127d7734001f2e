//! Clients of a replicated log that follow a script.

use super::ticket::RequestId;
use super::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use quorate_replica::Proposal;
use quorate_replica::registers::{Change, Read};
use quorate_replica::sessions::Command as SessionCommand;

/// Clients that follow a script.
pub struct Script {
    commands: Vec<TimedCommand>,
    /// The time of the last command or the end of the last fault, whichever is later.
    end: Time,
    has_ended: bool,
}

/// The commands that a script can give. Reads and writes use register 0. A client does not repeat
/// them if they are refused or get no answer.
pub(super) const COMMAND_NAMES: [&str; 3] = ["read", "write", "campaign"];

impl Script {
    /// Creates clients that are done at the last command or at `faults_end`, whichever is later.
    pub(super) fn new(commands: Vec<TimedCommand>, faults_end: Time) -> Self {
        let end = commands.iter().map(|command| Time::ZERO + command.at).max().unwrap_or(Time::ZERO).max(faults_end);
        Self { commands, end, has_ended: false }
    }
}

/// Returns the request for a command of a script. Each request has its own number, which is also
/// the value that a write stores.
fn make_command(word: &str, node: NodeId, number: u64) -> Command {
    let client = u64::from(node.number());
    let ticket = RequestId { client, number, attempt: 1 }.to_ticket();
    match word {
        "read" => Command::Query { ticket, query: Read { key: 0 } },
        "write" => {
            let command = SessionCommand::Direct(Change::Write { key: 0, value: number });
            Command::Propose(vec![Proposal { ticket, command }])
        }
        _ => Command::Campaign,
    }
}

impl Workload<Command, Event> for Script {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for (number, timed) in (1..).zip(self.commands.drain(..)) {
            let command = make_command(&timed.command, timed.node, number);
            plan.command_any_incarnation(Time::ZERO + timed.at, timed.node, command);
        }
        // So that `on_event` is called at the end. An alarm goes off even if its node is down, so
        // any node will do.
        plan.set_alarm(self.end, NodeId::from_index(0));
    }

    fn on_event(&mut self, now: Time, _node: NodeId, _notification: &ClientEvent<Event>, _plan: &mut Plan<Command>) {
        self.has_ended |= now >= self.end;
    }

    fn is_done(&self) -> bool {
        self.has_ended
    }
}
