//! Users who do exactly what a script says.

use quorate_core::mutex::{COMMANDS, Command, Event};
use quorate_core::{NodeId, Time};
use quorate_sim::News;
use quorate_sim::mutex::Requests;
use quorate_sim::run::{Plan, Workload};
use quorate_sim::settings::TimedCommand;

/// The users of a run: those of a workload, or those of a script.
pub(crate) enum Users {
    Workload(Box<Requests>),
    Script(Vec<TimedCommand>),
}

impl Workload<Command, Event> for Users {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match self {
            Self::Workload(requests) => requests.begin(plan),
            Self::Script(commands) => {
                for TimedCommand { at, node, word } in commands {
                    if let Some(command) = COMMANDS.into_iter().find(|command| command.name() == word) {
                        plan.command_any_life(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        match self {
            Self::Workload(requests) => requests.hear(now, node, news, plan),
            Self::Script(_) => {}
        }
    }

    /// A script is done as soon as the world is quiet: it counts the commands to come.
    fn is_done(&self) -> bool {
        match self {
            Self::Workload(requests) => requests.is_done(),
            Self::Script(_) => true,
        }
    }
}
