//! An observer that knows the true time, and so the differences between clocks.

use super::scenario::{NodeClock, Scenario};
use super::{Event, Round, Shift};
use quorate_core::election::{Command, Event as ElectionEvent};
use quorate_core::{Duration, Epoch, Group, Incarnation, NodeId, Time};
use quorate_journal::clocks::Clocks;
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use serde::Serialize;

/// Number of samples of the spread between two rounds, if the run is short.
const SAMPLES_PER_ROUND: u64 = 10;

/// Maximum number of samples.
const MAX_SAMPLES: u64 = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// True time.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// The largest difference between the clocks of two nodes that are up.
    #[serde(rename = "spread_ns")]
    pub spread: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Milestone {
    #[serde(rename = "at_ns")]
    pub at: Time,
    #[serde(rename = "spread_ns")]
    pub spread: Duration,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// The initial state: no clock has been adjusted.
    Begins,
    /// A node is elected leader.
    Elected {
        leader: NodeId,
        epoch: Epoch,
        /// How long there was no leader, if the last one crashed.
        #[serde(rename = "without_leader_ns")]
        without: Option<Duration>,
    },
    /// The first round of a leader has ended, and every node has received its adjustment.
    FirstRound { leader: NodeId, epoch: Epoch },
    /// A node crashes; its clock no longer counts.
    Crashes { node: NodeId, led: bool },
    /// A node restarts with its unadjusted clock.
    Returns { node: NodeId },
    /// The run ends.
    Ends,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoundReport {
    #[serde(rename = "at_ns")]
    pub at: Time,
    pub leader: NodeId,
    pub round: Round,
    #[serde(rename = "before_ns")]
    pub before: Duration,
    /// The spread when every node must have received its adjustment; `None` if the run ended
    /// before.
    #[serde(rename = "after_ns")]
    pub after: Option<Duration>,
    pub counted: Group,
    pub far: Group,
    pub silent: Group,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    pub rounds: u64,
    pub elections: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub clocks: Vec<NodeClock>,
    pub milestones: Vec<Milestone>,
    pub rounds: Vec<RoundReport>,
    pub messages: Messages,
    pub samples: Vec<Sample>,
}

/// Observes the clocks. Between two moments they run evenly, so it can sample the spread at any
/// instant.
pub(super) struct SpreadObserver {
    clocks: Clocks,
    nodes: Vec<Node>,
    /// The time of the next sample; `step` is the time between samples.
    next: Time,
    step: Duration,
    /// How long after an average every node has received its adjustment.
    settle: Duration,
    /// Index of the first round whose `after` is not known yet.
    unsettled: usize,
    leader: Option<NodeId>,
    /// Since when there is no leader, if one crashed.
    leaderless: Option<Time>,
    milestones: Vec<Milestone>,
    rounds: Vec<RoundReport>,
    messages: Messages,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy)]
struct Node {
    is_up: bool,
    shift: Shift,
}

impl SpreadObserver {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let step =
            (scenario.every.nanos() / SAMPLES_PER_ROUND).max(scenario.length.nanos().div_ceil(MAX_SAMPLES)).max(1);
        Self {
            clocks: Clocks::new(scenario.nodes),
            nodes: vec![Node { is_up: true, shift: Shift::ZERO }; scenario.nodes],
            next: Time::ZERO,
            step: Duration::from_nanos(step),
            settle: scenario.bounds().message,
            unsettled: 0,
            leader: None,
            leaderless: None,
            milestones: Vec::new(),
            rounds: Vec::new(),
            messages: Messages::default(),
            samples: Vec::new(),
        }
    }

    pub(super) fn report(mut self, end: Time, clocks: Vec<NodeClock>) -> Report {
        self.sample_until(end + Duration::from_nanos(1));
        self.add_milestone(end, What::Ends);
        let Self { milestones, rounds, messages, samples, .. } = self;
        Report { clocks, milestones, rounds, messages, samples }
    }

    /// Samples the clocks at all sampling instants before this one.
    fn sample_until(&mut self, time: Time) {
        loop {
            let settled = self.rounds.get(self.unsettled).map(|round| round.at + self.settle);
            match settled {
                Some(at) if at < time && at <= self.next => self.settle_round(at),
                Some(_) | None if self.next < time => {
                    let (at, spread) = (self.next, self.spread(self.next));
                    self.samples.push(Sample { at, spread });
                    self.next += self.step;
                }
                Some(_) | None => return,
            }
        }
    }

    fn settle_round(&mut self, at: Time) {
        let spread = self.spread(at);
        let Some(round) = self.rounds.get_mut(self.unsettled) else { return };
        round.after = Some(spread);
        let (leader, epoch) = (round.leader, round.round.epoch);
        let is_first = self.rounds.iter().take(self.unsettled).all(|earlier| earlier.round.epoch != epoch);
        self.unsettled += 1;
        if is_first {
            self.add_milestone(at, What::FirstRound { leader, epoch });
        }
    }

    /// The largest difference between the adjusted clocks of two nodes that are up.
    fn spread(&self, time: Time) -> Duration {
        let up = self.nodes.iter().enumerate().filter(|(_, node)| node.is_up);
        let shown = up.map(|(index, node)| node.shift.applied_to(self.clocks.at(NodeId::from_index(index), time)));
        let ends = shown.fold(None, |ends, shown| match ends {
            None => Some((shown, shown)),
            Some((first, last)) => Some((shown.min(first), shown.max(last))),
        });
        ends.map_or(Duration::ZERO, |(first, last)| last.since(first))
    }

    fn add_milestone(&mut self, at: Time, what: What) {
        let spread = self.spread(at);
        self.milestones.push(Milestone { at, spread, what });
    }

    fn node_started(&mut self, time: Time, node: NodeId, incarnation: Incarnation) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            *state = Node { is_up: true, shift: Shift::ZERO };
        }
        if incarnation != Incarnation::FIRST {
            self.add_milestone(time, What::Returns { node });
        } else if self.milestones.is_empty() {
            self.add_milestone(time, What::Begins);
        }
    }

    fn node_crashed(&mut self, time: Time, node: NodeId) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.is_up = false;
        }
        let led = self.leader == Some(node);
        if led {
            (self.leader, self.leaderless) = (None, Some(time));
        }
        // A node that is down before the run begins is not reported.
        if !self.milestones.is_empty() {
            self.add_milestone(time, What::Crashes { node, led });
        }
    }

    fn event_emitted(&mut self, time: Time, node: NodeId, event: &Event) {
        match event {
            Event::Adjusted { by } => {
                if let Some(state) = self.nodes.get_mut(node.index()) {
                    state.shift = state.shift.plus(*by);
                }
            }
            Event::Averaged { round, counted, far, silent } => {
                let (counted, far, silent) = (counted.clone(), far.clone(), silent.clone());
                let before = self.spread(time);
                let seen =
                    RoundReport { at: time, leader: node, round: *round, before, after: None, counted, far, silent };
                self.rounds.push(seen);
            }
            Event::Election(ElectionEvent::Elected { leader, epoch, .. }) if *leader == node => {
                let without = self.leaderless.take().map(|since| time.since(since));
                self.leader = Some(node);
                self.add_milestone(time, What::Elected { leader: node, epoch: *epoch, without });
            }
            Event::Election(_) => {}
        }
    }

    fn count_messages(&mut self, kind: &str, messages: usize) {
        let count = match kind {
            "poll" | "clock" | "adjust" => &mut self.messages.rounds,
            _ => &mut self.messages.elections,
        };
        *count += messages as u64;
    }
}

impl Observer<Command, Event> for SpreadObserver {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.sample_until(moment.time());
        self.clocks.observe(moment);
        match moment {
            Moment::Input { time, node, input: ObservedInput::Start { incarnation, .. }, .. } => {
                self.node_started(*time, *node, *incarnation);
            }
            Moment::World { time, event: WorldEvent::Crashed { node, .. } } => self.node_crashed(*time, *node),
            Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
                self.event_emitted(*time, *node, event);
            }
            Moment::Effect { effect: ObservedEffect::Send { sent, .. }, .. } => self.count_messages(sent.kind, 1),
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. } => {
                self.count_messages(sent.kind, to.others(*node).count());
            }
            Moment::Input { .. } | Moment::World { .. } | Moment::Effect { .. } => {}
        }
    }
}
