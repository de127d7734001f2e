//! The users of a mutual exclusion: those of a workload, or those who do exactly what a script says.

use crate::mutex::run::Requests;
use quorate_core::mutex::{COMMANDS, Command, Event, Refusal};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::News;
use quorate_journal::workload::{Plan, Workload};
use std::collections::{BTreeMap, VecDeque};

pub struct Users(Part);

enum Part {
    Workload(Box<Requests>),
    Script(Script),
}

impl Users {
    pub(super) fn of_workload(requests: Requests) -> Self {
        Self(Part::Workload(Box::new(requests)))
    }

    pub(super) fn of_script(commands: Vec<TimedCommand>) -> Self {
        Self(Part::Script(Script::new(commands)))
    }
}

/// Users who do what a script says, and wait for what comes of it.
struct Script {
    commands: Vec<TimedCommand>,
    /// For each node, when it asks or asked without an answer so far.
    open: BTreeMap<NodeId, VecDeque<Time>>,
}

impl Script {
    fn new(mut commands: Vec<TimedCommand>) -> Self {
        commands.sort_by_key(|command| command.at);
        let mut open: BTreeMap<NodeId, VecDeque<Time>> = BTreeMap::new();
        let asks = [Command::Acquire, Command::Try, Command::Share].map(Command::name);
        for TimedCommand { at, node, .. } in commands.iter().filter(|command| asks.contains(&&*command.word)) {
            open.entry(*node).or_default().push_back(Time::ZERO + *at);
        }
        Self { commands, open }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>) {
        let Some(open) = self.open.get_mut(&node) else { return };
        match news {
            News::Told(Event::Entered { .. } | Event::Denied | Event::Cancelled)
            | News::Told(Event::Refused(Refusal::AlreadyWaiting | Refusal::AlreadyInside)) => {
                open.pop_front();
            }
            News::Told(
                Event::Left
                | Event::Lost
                | Event::Extended { .. }
                | Event::Refused(Refusal::NotInside | Refusal::NotWaiting),
            )
            | News::Alarm => {}
            News::Crashed | News::Restarted => open.retain(|asks| *asks > now),
        }
    }
}

impl Workload<Command, Event> for Users {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match &mut self.0 {
            Part::Workload(requests) => requests.begin(plan),
            Part::Script(script) => {
                for TimedCommand { at, node, word } in &script.commands {
                    if let Some(command) = COMMANDS.into_iter().find(|command| command.name() == word) {
                        plan.command_any_life(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        match &mut self.0 {
            Part::Workload(requests) => requests.hear(now, node, news, plan),
            Part::Script(script) => script.hear(now, node, news),
        }
    }

    fn is_done(&self) -> bool {
        match &self.0 {
            Part::Workload(requests) => requests.is_done(),
            Part::Script(script) => script.open.values().all(VecDeque::is_empty),
        }
    }
}
