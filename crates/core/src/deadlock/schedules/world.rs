//! A simulation of sites with a detector, FIFO links, and clients that act at random.

use super::TestRng;
use super::truth::Truth;
use crate::deadlock::{Agent, Command, Event, Need, Plan, WaitId, central, edge_chasing, locks, query_reply, requests};
use crate::effects::{Effect, Effects};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Time};
use core::fmt::Debug;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// The kinds of needs that processes have.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// Each process waits for one agent at a time.
    One,
    /// Each process waits for all agents that it asks.
    All,
    /// Each process waits for any one of the agents that it asks.
    Any,
    /// At each request the process chooses at random between `All` and `Any`.
    AllOrAny,
}

/// The movement of a check (of agent `origin`, with number `check`) along a wait.
pub(super) enum CheckStep {
    /// From the waiter to the agent that it waits for.
    Forward { origin: Agent, check: u64, waiter: Agent, awaited: Agent },
    /// Back to the waiter.
    Return { origin: Agent, check: u64, waiter: Agent, awaited: Agent },
}

/// A message that may belong to a check.
pub(super) trait CheckMessage {
    fn check_step(&self) -> Option<CheckStep>;
}

impl CheckMessage for edge_chasing::Message {
    fn check_step(&self) -> Option<CheckStep> {
        let Self::Probe(probe) = self else { return None };
        let (first, last) = (probe.path.first()?, probe.path.last()?);
        Some(CheckStep::Forward {
            origin: first.agent,
            check: probe.check,
            waiter: last.agent,
            awaited: *last.need.awaited().first()?,
        })
    }
}

impl CheckMessage for query_reply::Message {
    fn check_step(&self) -> Option<CheckStep> {
        match self {
            Self::Query(header) => Some(CheckStep::Forward {
                origin: header.origin,
                check: header.check,
                waiter: header.from,
                awaited: header.to,
            }),
            Self::Reply { header, .. } => Some(CheckStep::Return {
                origin: header.origin,
                check: header.check,
                waiter: header.to,
                awaited: header.from,
            }),
            Self::Resolver(_) => None,
        }
    }
}

impl CheckMessage for central::Message {
    fn check_step(&self) -> Option<CheckStep> {
        None
    }
}

impl<M: CheckMessage> CheckMessage for requests::Message<M> {
    fn check_step(&self) -> Option<CheckStep> {
        match self {
            Self::Detector(message) => message.check_step(),
            Self::Request(_) | Self::Answer(_) | Self::Withdraw(_) => None,
        }
    }
}

impl<M: CheckMessage> CheckMessage for locks::Message<M> {
    fn check_step(&self) -> Option<CheckStep> {
        match self {
            Self::Detector(message) => message.check_step(),
            Self::Lock(_) => None,
        }
    }
}

pub(super) struct World<'a, P: Protocol> {
    plan: &'a Plan,
    needs: Needs,
    sites: Vec<P>,
    links: BTreeMap<(NodeId, NodeId), VecDeque<P::Message>>,
    timers: Vec<(NodeId, P::Timer)>,
    truth: Truth,
    now: Time,
    steps: u64,
    /// The processes that wait.
    waiting: BTreeSet<Agent>,
    /// Pairs of an agent and a waiter that has asked it, as far as the agent knows.
    waiters: BTreeSet<(Agent, Agent)>,
    /// The victims that have not aborted yet.
    victims: BTreeSet<Agent>,
    /// The waits that each check has followed so far: the check's origin and number, the waiter,
    /// its wait, and the awaited agent.
    followed: BTreeSet<(Agent, u64, Agent, WaitId, Agent)>,
    /// How often each check has followed a wait without returning along it.
    unreturned: BTreeMap<(Agent, u64, Agent, Agent), i64>,
    /// The inputs and events so far; `None` unless the run is traced.
    trace: Option<Vec<String>>,
}

impl<'a, P> World<'a, P>
where
    P: Protocol<Command = Command, Event = Event, Durable = (), Message: CheckMessage + Debug, Timer: Debug>,
{
    pub(super) fn new(plan: &'a Plan, needs: Needs, new_site: impl Fn(NodeId) -> P) -> Self {
        Self {
            plan,
            needs,
            sites: (0..plan.sites).map(|site| new_site(NodeId::from_index(site))).collect(),
            links: BTreeMap::new(),
            timers: Vec::new(),
            truth: Truth::default(),
            now: Time::ZERO,
            steps: 0,
            waiting: BTreeSet::new(),
            waiters: BTreeSet::new(),
            victims: BTreeSet::new(),
            followed: BTreeSet::new(),
            unreturned: BTreeMap::new(),
            trace: None,
        }
    }

    /// Runs a number of random actions, and then until the sites are idle. Returns the number of
    /// steps, or the first violation with the trace if the run is traced.
    pub(super) fn run(mut self, rng: &mut TestRng, action_count: usize, is_traced: bool) -> Result<u64, String> {
        self.trace = is_traced.then(Vec::new);
        let outcome = self.run_actions(rng, action_count).and_then(|()| self.run_until_idle(rng));
        let trace = self.trace.unwrap_or_default().join("\n");
        outcome.map(|()| self.steps).map_err(|violation| format!("{violation}\n{trace}"))
    }

    /// Runs random actions. About half of them are deliveries.
    fn run_actions(&mut self, rng: &mut TestRng, count: usize) -> Result<(), String> {
        for _ in 0..count {
            match rng.below(10) {
                0 | 1 => self.ask(rng)?,
                2 => self.answer(rng)?,
                3 => self.abort(rng)?,
                4 => self.fire_timer(rng)?,
                _ => self.deliver(rng)?,
            }
        }
        Ok(())
    }

    /// Runs without new requests until nothing more happens. Whenever the sites are idle and all
    /// victims have aborted, every deadlock must have been reported. With a victim policy, no agent
    /// may be stuck and no process may wait at the end.
    fn run_until_idle(&mut self, rng: &mut TestRng) -> Result<(), String> {
        loop {
            while self.is_busy() {
                self.deliver(rng)?;
                self.fire_timer(rng)?;
            }
            if self.victims.is_empty()
                && let Some(missed) = self.truth.find_unreported()
            {
                return Err(format!("no detector has reported the deadlock of {missed:?}"));
            }
            let steps_before = self.steps;
            for _ in 0..self.victims.len() {
                self.abort(rng)?;
            }
            // If there was no victim, only an answer can change anything; else it is optional.
            if rng.below(2) == 0 || steps_before == self.steps {
                self.answer(rng)?;
            }
            if steps_before == self.steps {
                break;
            }
        }
        let stuck = self.truth.stuck_agents();
        if self.plan.victim_policy.is_some() && !(stuck.is_empty() && self.waiting.is_empty()) {
            return Err(format!("{stuck:?} are stuck and {:?} wait, but no victim is left to abort", self.waiting));
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        !self.timers.is_empty() || self.links.values().any(|link| !link.is_empty())
    }

    /// Lets a running process ask some other processes or some resources.
    fn ask(&mut self, rng: &mut TestRng) -> Result<(), String> {
        let running: Vec<_> = self.plan.all_processes().filter(|agent| !self.waiting.contains(agent)).collect();
        let Some(agent) = pick(&running, rng) else { return Ok(()) };
        let mut others: Vec<Agent> = if self.plan.resource_coordinators.is_empty() {
            self.plan.all_processes().filter(|other| *other != agent).collect()
        } else {
            // A resource that waits for the process is held by it already.
            self.plan.all_resources().filter(|other| !self.waiters.contains(&(agent, *other))).collect()
        };
        let max_awaited = match self.needs {
            Needs::One => 1,
            Needs::All | Needs::Any | Needs::AllOrAny => 1 + rng.below(3),
        };
        while others.len() > max_awaited {
            others.remove(rng.below(others.len()));
        }
        if others.is_empty() {
            return Ok(());
        }
        let is_any = match self.needs {
            Needs::One | Needs::All => false,
            Needs::Any => true,
            Needs::AllOrAny => rng.below(2) == 0,
        };
        let need = if is_any { Need::Any(others) } else { Need::All(others) };
        self.give_command(agent.site, Command::Ask { process: agent.number, need })
    }

    /// Lets a running process answer a process that waits for it, or release a resource.
    fn answer(&mut self, rng: &mut TestRng) -> Result<(), String> {
        let answerable: Vec<_> = self.waiters.iter().copied().filter(|(agent, _)| self.can_answer(*agent)).collect();
        let Some((agent, to)) = pick(&answerable, rng) else { return Ok(()) };
        self.give_command(agent.site, Command::Answer { process: agent.number, to })
    }

    fn can_answer(&self, agent: Agent) -> bool {
        !agent.is_resource() && !self.waiting.contains(&agent)
    }

    /// Lets a victim cancel its wait.
    fn abort(&mut self, rng: &mut TestRng) -> Result<(), String> {
        let victims: Vec<_> = self.victims.iter().copied().collect();
        let Some(agent) = pick(&victims, rng) else { return Ok(()) };
        self.victims.remove(&agent);
        if !self.waiting.contains(&agent) {
            return Err(format!("{agent} must abort, but does not wait"));
        }
        self.give_command(agent.site, Command::Cancel { process: agent.number })
    }

    fn fire_timer(&mut self, rng: &mut TestRng) -> Result<(), String> {
        if self.timers.is_empty() {
            return Ok(());
        }
        let (site, timer) = self.timers.remove(rng.below(self.timers.len()));
        self.step(site, Input::Timer(timer))
    }

    fn deliver(&mut self, rng: &mut TestRng) -> Result<(), String> {
        let nonempty: Vec<_> =
            self.links.iter().filter(|(_, queue)| !queue.is_empty()).map(|(link, _)| *link).collect();
        let Some((from, to)) = pick(&nonempty, rng) else { return Ok(()) };
        let Some(message) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return Ok(()) };
        self.step(to, Input::Message { from, message })
    }

    fn give_command(&mut self, site: NodeId, command: Command) -> Result<(), String> {
        self.step(site, Input::Command(command))
    }

    fn step(&mut self, site: NodeId, input: Input<P>) -> Result<(), String> {
        self.steps += 1;
        self.now += Duration::from_millis(1);
        if let Some(trace) = &mut self.trace {
            trace.push(match &input {
                Input::Command(command) => format!("{site} {command}"),
                Input::Message { from, message } => format!("{from} > {site} {message:?}"),
                other => format!("{site} {other:?}"),
            });
        }
        let mut effects: Vec<Effect<P>> = Vec::new();
        self.sites[site.index()].step(self.now, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => {
                    if to == site || to.index() >= self.plan.sites {
                        return Err(format!("{site} sends to {to}, which is itself or no site"));
                    }
                    self.check_message(site, &message)?;
                    self.links.entry((site, to)).or_default().push_back(message);
                }
                Effect::SetTimer { timer, .. } => {
                    self.timers.retain(|set| *set != (site, timer.clone()));
                    self.timers.push((site, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|set| *set != (site, timer.clone())),
                Effect::Emit { event, .. } => self.on_event(&event)?,
                Effect::Multicast { .. } | Effect::Save(_) => {
                    return Err("a detector must not multicast or save".into());
                }
            }
        }
        Ok(())
    }

    fn on_event(&mut self, event: &Event) -> Result<(), String> {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("    {event}"));
        }
        match event {
            Event::Waits { agent, .. } => {
                self.waiting.extend((!agent.is_resource()).then_some(*agent));
            }
            Event::Runs { agent, .. } | Event::Cancelled { agent, .. } => {
                self.waiting.remove(agent);
                if matches!(event, Event::Runs { .. }) && self.victims.remove(agent) {
                    return Err(format!("{agent} must abort, but continues"));
                }
            }
            Event::Asked { agent, by, .. } => {
                self.waiters.insert((*agent, *by));
            }
            Event::Answers { agent, to, .. } | Event::Withdrawn { agent, by: to } => {
                self.waiters.remove(&(*agent, *to));
            }
            Event::Victim { agent, .. } => {
                if !self.victims.insert(*agent) {
                    return Err(format!("{agent} is the victim twice"));
                }
            }
            Event::Deadlock(_) => {}
            Event::Refused(refusal) => return Err(refusal.to_string()),
        }
        self.truth.apply(event)
    }

    /// Fails if a check follows a wait more than once or without such a wait, if it returns along a
    /// wait more often than it has followed it, or if a message does not go from an agent at the
    /// sender's site to an agent at another site.
    fn check_message(&mut self, sender: NodeId, message: &P::Message) -> Result<(), String> {
        match message.check_step() {
            Some(CheckStep::Forward { origin, check, waiter, awaited }) => {
                let Some(wait_id) = self.truth.latest_wait_id(waiter) else {
                    return Err(format!("{waiter} never waited"));
                };
                let is_new = self.followed.insert((origin, check, waiter, wait_id, awaited));
                *self.unreturned.entry((origin, check, waiter, awaited)).or_default() += 1;
                let has_existed = self.truth.history.contains(&(waiter, wait_id, awaited));
                if !is_new || !has_existed || waiter.site != sender || awaited.site == sender {
                    return Err(format!(
                        "{sender} must not send: check {check} of {origin} follows {waiter}→{awaited} in wait {wait_id}"
                    ));
                }
            }
            Some(CheckStep::Return { origin, check, waiter, awaited }) => {
                let unreturned = self.unreturned.entry((origin, check, waiter, awaited)).or_default();
                *unreturned -= 1;
                if *unreturned < 0 || awaited.site != sender || waiter.site == sender {
                    return Err(format!(
                        "{sender} must not send: check {check} of {origin} returns along {waiter}→{awaited}"
                    ));
                }
            }
            None => {}
        }
        Ok(())
    }
}

fn pick<T: Copy>(items: &[T], rng: &mut TestRng) -> Option<T> {
    (!items.is_empty()).then(|| items[rng.below(items.len())])
}
