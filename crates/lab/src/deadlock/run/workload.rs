//! Processes that ask, hold and let go.

use super::asking::{Choices, Demand};
use super::truth::Truth;
use quorate_core::deadlock::{Agent, Command, Event, Need};
use quorate_core::{NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{News, Plan, Workload};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Reads a command of a script: its name and what it says.
pub type Reader = fn(&str, NodeId) -> Option<Command>;

/// The processes of all sites. They are content when everyone has got what it wanted, or, where nobody gives up, waits for ever.
pub struct Processes {
    conduct: Conduct,
    truth: Truth,
}

enum Conduct {
    Free {
        choices: Box<Choices>,
        states: BTreeMap<Agent, State>,
    },
    /// As a script says; whoever is told to give up does so.
    Script {
        commands: Vec<TimedCommand>,
        reader: Reader,
    },
}

#[derive(Clone, Debug, Default)]
struct State {
    rounds: u64,
    needs: VecDeque<Need<Agent>>,
    owes: BTreeSet<Agent>,
    waits: bool,
    asks: Option<Time>,
    lets_go: Option<Time>,
}

impl Processes {
    pub fn new(demand: Demand, seed: u64) -> Self {
        let state = State { rounds: demand.rounds, ..State::default() };
        let states = demand.processes.iter().map(|who| (*who, state.clone())).collect();
        let choices = Box::new(Choices::new(demand, seed));
        Self::of(Conduct::Free { choices, states })
    }

    pub fn scripted(commands: Vec<TimedCommand>, reader: Reader) -> Self {
        Self::of(Conduct::Script { commands, reader })
    }

    fn of(conduct: Conduct) -> Self {
        Self { conduct, truth: Truth::default() }
    }
}

impl State {
    /// It is free to act: when it does what is next.
    fn resume(&mut self, who: Agent, now: Time, choices: &mut Choices, plan: &mut Plan<Command>) {
        if self.waits {
            return;
        }
        let takes = !choices.demand().resources.is_empty();
        if self.asks.is_none() && (!self.needs.is_empty() || self.rounds > 0) {
            let at = now + choices.think();
            self.asks = Some(at);
            plan.wake(at, who.site);
        }
        // Whoever takes resources lets go of them at the end of a round, others as soon as they can.
        let is_free = if takes { self.needs.is_empty() } else { true };
        if self.lets_go.is_none() && is_free && !self.owes.is_empty() {
            let at = now + choices.hold();
            self.lets_go = Some(at);
            plan.wake(at, who.site);
            if takes {
                self.asks = None;
            }
        }
    }

    fn act(&mut self, who: Agent, now: Time, choices: &mut Choices, plan: &mut Plan<Command>) {
        if self.waits {
            return;
        }
        if self.lets_go.take_if(|at| *at <= now).is_some() {
            self.let_go(who, now, plan);
            self.resume(who, now, choices, plan);
        }
        if self.asks.take_if(|at| *at <= now).is_some() {
            if self.needs.is_empty() {
                self.rounds = self.rounds.saturating_sub(1);
                self.needs = if choices.asks() { choices.round(who).into() } else { VecDeque::new() };
            }
            match self.needs.pop_front() {
                Some(need) => {
                    self.waits = true;
                    self.lets_go = None;
                    plan.command(now, who.site, Command::Ask { process: who.number, need });
                }
                None => self.resume(who, now, choices, plan),
            }
        }
    }

    fn let_go(&mut self, who: Agent, now: Time, plan: &mut Plan<Command>) {
        for to in std::mem::take(&mut self.owes) {
            plan.command(now, who.site, Command::Answer { process: who.number, to });
        }
    }

    fn is_busy(&self) -> bool {
        !self.waits && (self.asks.is_some() || self.lets_go.is_some())
    }
}

impl Conduct {
    fn hear(&mut self, now: Time, event: &Event, plan: &mut Plan<Command>) {
        let Self::Free { choices, states } = self else {
            if let Event::Victim { who, .. } = event {
                plan.command(now, who.site, Command::GiveUp { process: who.number });
            }
            return;
        };
        let (Event::Asked { who, .. }
        | Event::Withdrawn { who, .. }
        | Event::Runs { who, .. }
        | Event::GaveUp { who, .. }
        | Event::Victim { who, .. }) = event
        else {
            return;
        };
        let Some(state) = states.get_mut(who) else { return };
        match event {
            Event::Asked { by, .. } => {
                state.owes.insert(*by);
            }
            Event::Withdrawn { by, .. } => {
                state.owes.remove(by);
            }
            Event::Runs { .. } => state.waits = false,
            // What it has got so far it lets go of at once, and this round is over.
            Event::GaveUp { .. } => {
                state.waits = false;
                state.needs.clear();
                state.let_go(*who, now, plan);
            }
            Event::Victim { .. } => plan.command(now, who.site, Command::GiveUp { process: who.number }),
            Event::Waits { .. } | Event::Answers { .. } | Event::Deadlock(_) | Event::Refused(_) => {}
        }
        state.resume(*who, now, choices, plan);
    }
}

impl Workload<Command, Event> for Processes {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match &mut self.conduct {
            Conduct::Free { choices, states } => {
                for (who, state) in states {
                    state.resume(*who, Time::ZERO, choices, plan);
                }
            }
            Conduct::Script { commands, reader } => {
                for TimedCommand { at, node, word } in commands {
                    if let Some(command) = reader(word, *node) {
                        plan.command(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        match news {
            News::Told(event) => {
                self.truth.hear(event);
                self.conduct.hear(now, event, plan);
            }
            News::Alarm => {
                let Conduct::Free { choices, states } = &mut self.conduct else { return };
                for (who, state) in states.iter_mut().filter(|(who, _)| who.site == node) {
                    state.act(*who, now, choices, plan);
                }
            }
            News::Crashed | News::Restarted => {}
        }
    }

    fn is_done(&self) -> bool {
        match &self.conduct {
            Conduct::Script { .. } => true,
            Conduct::Free { choices, states } => {
                let busy = states.values().any(|state| state.is_busy() || state.rounds > 0 && !state.waits);
                let mut waiting = states.iter().filter(|(_, state)| state.waits).map(|(who, _)| who).peekable();
                if busy || waiting.peek().is_none() {
                    return !busy;
                }
                let stuck = self.truth.stuck();
                !choices.demand().resolves && waiting.all(|who| stuck.contains(who))
            }
        }
    }
}
