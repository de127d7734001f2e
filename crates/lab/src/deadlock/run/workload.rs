//! The workload: processes that send requests, hold and release.

use super::actual_waits::ActualWaits;
use super::requests::{Choices, Demand};
use quorate_core::deadlock::{Agent, Command, Event, Need};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Parses a command of a script: its name and arguments. `None` if it is invalid, which validation
/// excludes before a run.
pub type CommandParser = fn(&str, NodeId) -> Option<Command>;

/// The processes of all sites. Without a script, they are done when each has sent its requests, got
/// what it requested and released what it holds; or, if no victims are chosen, is deadlocked. With
/// a script, they are always done: the run ends when no command or message is left.
pub struct Processes {
    behavior: Behavior,
    actual_waits: ActualWaits,
}

/// The origin of the commands: random choices or a script.
enum Behavior {
    Random {
        choices: Box<Choices>,
        states: BTreeMap<Agent, ProcessState>,
    },
    /// The processes follow a script; victims abort immediately.
    Script {
        commands: Vec<TimedCommand>,
        parse_command: CommandParser,
    },
}

#[derive(Clone, Debug, Default)]
struct ProcessState {
    /// Number of rounds that the process may still begin.
    remaining_rounds: u64,
    /// The remaining requests of the current round.
    remaining_needs: VecDeque<Need<Agent>>,
    /// Agents that wait for the process, or resources that it holds.
    obligations: BTreeSet<Agent>,
    is_waiting: bool,
    request_at: Option<Time>,
    release_at: Option<Time>,
}

impl Processes {
    pub fn new(demand: Demand, seed: u64) -> Self {
        let state = ProcessState { remaining_rounds: demand.rounds, ..ProcessState::default() };
        let states = demand.processes.iter().map(|agent| (*agent, state.clone())).collect();
        let choices = Box::new(Choices::new(demand, seed));
        Self::with_behavior(Behavior::Random { choices, states })
    }

    pub fn scripted(commands: Vec<TimedCommand>, parse_command: CommandParser) -> Self {
        Self::with_behavior(Behavior::Script { commands, parse_command })
    }

    fn with_behavior(behavior: Behavior) -> Self {
        Self { behavior, actual_waits: ActualWaits::default() }
    }
}

impl ProcessState {
    /// If the process is running, schedules its next request and release.
    fn resume(&mut self, agent: Agent, now: Time, choices: &mut Choices, plan: &mut Plan<Command>) {
        if self.is_waiting {
            return;
        }
        let uses_resources = !choices.demand().resources.is_empty();
        if self.request_at.is_none() && (!self.remaining_needs.is_empty() || self.remaining_rounds > 0) {
            let at = now + choices.draw_think_time();
            self.request_at = Some(at);
            plan.set_alarm(at, agent.site);
        }
        // A process releases resources only at the end of a round, but may answer other processes
        // whenever it runs.
        let may_release = if uses_resources { self.remaining_needs.is_empty() } else { true };
        if self.release_at.is_none() && may_release && !self.obligations.is_empty() {
            let at = now + choices.draw_hold_time();
            self.release_at = Some(at);
            plan.set_alarm(at, agent.site);
            if uses_resources {
                // The next round begins after the release.
                self.request_at = None;
            }
        }
    }

    /// Performs the actions that were scheduled for `now` or earlier.
    fn act(&mut self, agent: Agent, now: Time, choices: &mut Choices, plan: &mut Plan<Command>) {
        if self.is_waiting {
            return;
        }
        if self.release_at.take_if(|at| *at <= now).is_some() {
            self.release(agent, now, plan);
            self.resume(agent, now, choices, plan);
        }
        if self.request_at.take_if(|at| *at <= now).is_some() {
            if self.remaining_needs.is_empty() {
                self.remaining_rounds = self.remaining_rounds.saturating_sub(1);
                self.remaining_needs =
                    if choices.draw_whether_to_request() { choices.next_round(agent).into() } else { VecDeque::new() };
            }
            match self.remaining_needs.pop_front() {
                Some(need) => {
                    self.is_waiting = true;
                    // A process that waits releases nothing until it runs again.
                    self.release_at = None;
                    plan.command(now, agent.site, Command::Ask { process: agent.number, need });
                }
                None => self.resume(agent, now, choices, plan),
            }
        }
    }

    fn release(&mut self, agent: Agent, now: Time, plan: &mut Plan<Command>) {
        for to in std::mem::take(&mut self.obligations) {
            plan.command(now, agent.site, Command::Answer { process: agent.number, to });
        }
    }

    fn is_busy(&self) -> bool {
        !self.is_waiting && (self.request_at.is_some() || self.release_at.is_some())
    }
}

impl Behavior {
    fn on_event(&mut self, now: Time, event: &Event, plan: &mut Plan<Command>) {
        let Self::Random { choices, states } = self else {
            if let Event::Victim { agent, .. } = event {
                plan.command(now, agent.site, Command::Cancel { process: agent.number });
            }
            return;
        };
        let (Event::Asked { agent, .. }
        | Event::Withdrawn { agent, .. }
        | Event::Runs { agent, .. }
        | Event::Cancelled { agent, .. }
        | Event::Victim { agent, .. }) = event
        else {
            return;
        };
        let Some(state) = states.get_mut(agent) else { return };
        match event {
            Event::Asked { by, .. } => {
                state.obligations.insert(*by);
            }
            Event::Withdrawn { by, .. } => {
                state.obligations.remove(by);
            }
            Event::Runs { .. } => state.is_waiting = false,
            // The process immediately releases what it holds, and its round has ended.
            Event::Cancelled { .. } => {
                state.is_waiting = false;
                state.remaining_needs.clear();
                state.release(*agent, now, plan);
            }
            Event::Victim { .. } => plan.command(now, agent.site, Command::Cancel { process: agent.number }),
            Event::Waits { .. } | Event::Answers { .. } | Event::Deadlock(_) | Event::Refused(_) => {}
        }
        state.resume(*agent, now, choices, plan);
    }
}

impl Workload<Command, Event> for Processes {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match &mut self.behavior {
            Behavior::Random { choices, states } => {
                for (agent, state) in states {
                    state.resume(*agent, Time::ZERO, choices, plan);
                }
            }
            Behavior::Script { commands, parse_command } => {
                for TimedCommand { at, node, command } in commands {
                    if let Some(command) = parse_command(command, *node) {
                        plan.command(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        match notification {
            ClientEvent::Emitted(event) => {
                self.actual_waits.record_event(event);
                self.behavior.on_event(now, event, plan);
            }
            ClientEvent::Alarm => {
                let Behavior::Random { choices, states } = &mut self.behavior else { return };
                for (agent, state) in states.iter_mut().filter(|(agent, _)| agent.site == node) {
                    state.act(*agent, now, choices, plan);
                }
            }
            ClientEvent::Crashed | ClientEvent::Restarted => {}
        }
    }

    fn is_done(&self) -> bool {
        match &self.behavior {
            Behavior::Script { .. } => true,
            Behavior::Random { choices, states } => {
                let is_busy =
                    states.values().any(|state| state.is_busy() || state.remaining_rounds > 0 && !state.is_waiting);
                let mut waiting =
                    states.iter().filter(|(_, state)| state.is_waiting).map(|(agent, _)| agent).peekable();
                if is_busy || waiting.peek().is_none() {
                    return !is_busy;
                }
                let deadlocked = self.actual_waits.deadlocked_agents();
                !choices.demand().has_victims && waiting.all(|agent| deadlocked.contains(agent))
            }
        }
    }
}
