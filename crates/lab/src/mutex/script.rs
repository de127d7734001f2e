//! Clients of mutual exclusion that follow a script.

use quorate_core::mutex::{COMMANDS, Command, Event, Refusal};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use std::collections::{BTreeMap, VecDeque};

pub struct Script {
    commands: Vec<TimedCommand>,
    /// For each node, the times of its requests without an answer, including future ones.
    unanswered: BTreeMap<NodeId, VecDeque<Time>>,
}

impl Script {
    pub(super) fn new(mut commands: Vec<TimedCommand>) -> Self {
        commands.sort_by_key(|command| command.at);
        let mut unanswered: BTreeMap<NodeId, VecDeque<Time>> = BTreeMap::new();
        let requests = [Command::Acquire, Command::Try, Command::Share].map(Command::name);
        for TimedCommand { at, node, .. } in commands.iter().filter(|command| requests.contains(&&*command.command)) {
            unanswered.entry(*node).or_default().push_back(Time::ZERO + *at);
        }
        Self { commands, unanswered }
    }
}

impl Workload<Command, Event> for Script {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for TimedCommand { at, node, command: name } in &self.commands {
            if let Some(command) = COMMANDS.into_iter().find(|command| command.name() == name) {
                plan.command_any_incarnation(Time::ZERO + *at, *node, command);
            }
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, _plan: &mut Plan<Command>) {
        let Some(unanswered) = self.unanswered.get_mut(&node) else { return };
        match notification {
            ClientEvent::Emitted(Event::Entered { .. } | Event::Denied | Event::Cancelled)
            | ClientEvent::Emitted(Event::Refused(Refusal::AlreadyWaiting | Refusal::AlreadyInside)) => {
                unanswered.pop_front();
            }
            ClientEvent::Emitted(
                Event::Left
                | Event::Lost
                | Event::Extended { .. }
                | Event::Refused(Refusal::NotInside | Refusal::NotWaiting),
            )
            | ClientEvent::Alarm => {}
            ClientEvent::Crashed | ClientEvent::Restarted => unanswered.retain(|requested_at| *requested_at > now),
        }
    }

    fn is_done(&self) -> bool {
        self.unanswered.values().all(VecDeque::is_empty)
    }
}
