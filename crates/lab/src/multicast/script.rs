//! Clients of multicast that follow a script.

use quorate_core::multicast::{Command, Event, MessageId, Refusal};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use std::collections::{BTreeMap, VecDeque};

/// Clients that follow a script. They are done when their nodes have delivered what they sent.
pub struct Script {
    commands: Vec<TimedCommand>,
    /// For each node, the times of its `send` commands without an answer, including future ones.
    unanswered: BTreeMap<NodeId, VecDeque<Time>>,
    /// For each node, its sent messages that it has not delivered itself.
    in_flight: BTreeMap<NodeId, Vec<MessageId>>,
}

impl Script {
    pub(super) fn new(mut commands: Vec<TimedCommand>) -> Self {
        commands.sort_by_key(|command| command.at);
        let mut unanswered: BTreeMap<NodeId, VecDeque<Time>> = BTreeMap::new();
        for TimedCommand { at, node, .. } in commands.iter().filter(|command| send_text(command).is_some()) {
            unanswered.entry(*node).or_default().push_back(Time::ZERO + *at);
        }
        Self { commands, unanswered, in_flight: BTreeMap::new() }
    }

    fn record_answer(&mut self, node: NodeId) {
        if let Some(unanswered) = self.unanswered.get_mut(&node) {
            unanswered.pop_front();
        }
    }
}

impl Workload<Command, Event> for Script {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        let mut generated_payloads: BTreeMap<NodeId, u64> = BTreeMap::new();
        for timed_command in &self.commands {
            let TimedCommand { at, node, .. } = timed_command;
            let command = match send_text(timed_command) {
                Some("") => {
                    let number = generated_payloads.entry(*node).or_insert(0);
                    *number += 1;
                    Command::send(format!("{node}:{number}"))
                }
                Some(text) => Command::send(text),
                None => Command::leave(),
            };
            plan.command_any_incarnation(Time::ZERO + *at, *node, command);
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        match notification {
            ClientEvent::Emitted(Event::Sent { id }) => {
                self.record_answer(node);
                self.in_flight.entry(node).or_default().push(*id);
            }
            ClientEvent::Emitted(
                Event::Wait { .. } | Event::Refused(Refusal::TooLong | Refusal::NotAMember | Refusal::CannotRejoin),
            ) => {
                self.record_answer(node);
            }
            ClientEvent::Emitted(Event::Delivered { id, .. }) if id.sender == node => {
                if let Some(sent) = self.in_flight.get_mut(&node) {
                    sent.retain(|sent| sent != id);
                }
            }
            ClientEvent::Emitted(Event::Left { .. }) => {
                self.in_flight.remove(&node);
                plan.depart(now, node);
            }
            ClientEvent::Emitted(Event::Excluded { .. }) => {
                self.in_flight.remove(&node);
            }
            // The refusal `Leaving` may answer a second `leave`, so it is not recorded as the
            // answer to a `send`.
            ClientEvent::Emitted(
                Event::Delivered { .. } | Event::Ready { .. } | Event::View { .. } | Event::Refused(Refusal::Leaving),
            )
            | ClientEvent::Alarm => {}
            ClientEvent::Crashed | ClientEvent::Restarted => {
                self.in_flight.remove(&node);
                // The commands that the node got before, or while it was down, will have no answer.
                if let Some(unanswered) = self.unanswered.get_mut(&node) {
                    unanswered.retain(|requested_at| *requested_at > now);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.unanswered.values().all(VecDeque::is_empty) && self.in_flight.values().all(Vec::is_empty)
    }
}

/// Returns the text of a `send` command, which may be empty; `None` for the only other command,
/// `leave`.
fn send_text(command: &TimedCommand) -> Option<&str> {
    (command.name() == "send").then(|| command.text().unwrap_or_default())
}
