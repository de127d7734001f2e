//! An observer that measures the differences between clocks in true time.

use super::scenario::{NodeClock, Scenario};
use super::{Event, Round, Shift};
use quorate_core::election::{Command, Event as ElectionEvent};
use quorate_core::{Duration, Epoch, Group, Incarnation, NodeId, Time};
use quorate_journal::clocks::Clocks;
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use serde::Serialize;

/// Number of samples of the spread between two rounds; fewer if [`MAX_SAMPLE_INTERVALS`] limits it.
const SAMPLES_PER_ROUND: u64 = 10;

/// Maximum number of intervals between samples in a run.
const MAX_SAMPLE_INTERVALS: u64 = 400;

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
    pub kind: MilestoneKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum MilestoneKind {
    /// The initial state: no clock has been adjusted.
    Begins,
    /// A node is elected leader.
    Elected {
        leader: NodeId,
        epoch: Epoch,
        /// How long there was no leader, if the last one crashed.
        #[serde(rename = "without_leader_ns")]
        leaderless_time: Option<Duration>,
    },
    /// The first round of a leader has ended, and every node has received its adjustment.
    FirstRound { leader: NodeId, epoch: Epoch },
    /// A node crashes; its clock no longer counts.
    Crashes {
        node: NodeId,
        #[serde(rename = "led")]
        was_leader: bool,
    },
    /// A node restarts with its unadjusted clock.
    #[serde(rename = "returns")]
    Restarts { node: NodeId },
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
    pub spread_before: Duration,
    /// The spread when every node must have received its adjustment; `None` if the run ended before
    /// then.
    #[serde(rename = "after_ns")]
    pub spread_after: Option<Duration>,
    pub counted: Group,
    #[serde(rename = "far")]
    pub outliers: Group,
    /// Nodes that did not answer the poll.
    pub silent: Group,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageCounts {
    /// Number of polls, answers and adjustments.
    pub rounds: u64,
    /// Number of messages of the election algorithm.
    pub elections: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub clocks: Vec<NodeClock>,
    pub milestones: Vec<Milestone>,
    pub rounds: Vec<RoundReport>,
    pub messages: MessageCounts,
    pub samples: Vec<Sample>,
}

/// Observes the clocks. Between two moments they run evenly, so it can sample the spread at any
/// instant.
pub(super) struct SpreadObserver {
    clocks: Clocks,
    nodes: Vec<Node>,
    /// The time of the next sample.
    next_sample: Time,
    sample_interval: Duration,
    /// The time from the averaging until every node must have received its adjustment.
    settle_time: Duration,
    /// Index of the first round whose `spread_after` is not known yet.
    first_unsettled: usize,
    leader: Option<NodeId>,
    /// When the last leader crashed; `None` once a leader is elected.
    leaderless_since: Option<Time>,
    milestones: Vec<Milestone>,
    rounds: Vec<RoundReport>,
    messages: MessageCounts,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy)]
struct Node {
    is_up: bool,
    shift: Shift,
}

impl SpreadObserver {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let sample_interval = (scenario.period.nanos() / SAMPLES_PER_ROUND)
            .max(scenario.run_length.nanos().div_ceil(MAX_SAMPLE_INTERVALS))
            .max(1);
        Self {
            clocks: Clocks::new(scenario.nodes),
            nodes: vec![Node { is_up: true, shift: Shift::ZERO }; scenario.nodes],
            next_sample: Time::ZERO,
            sample_interval: Duration::from_nanos(sample_interval),
            settle_time: scenario.bounds().message,
            first_unsettled: 0,
            leader: None,
            leaderless_since: None,
            milestones: Vec::new(),
            rounds: Vec::new(),
            messages: MessageCounts::default(),
            samples: Vec::new(),
        }
    }

    pub(super) fn into_report(mut self, end: Time, clocks: Vec<NodeClock>) -> Report {
        // One nanosecond more, so that a sample that is due at the end itself is taken.
        self.sample_until(end + Duration::from_nanos(1));
        self.add_milestone(end, MilestoneKind::Ends);
        let Self { milestones, rounds, messages, samples, .. } = self;
        Report { clocks, milestones, rounds, messages, samples }
    }

    /// Takes all samples that are due before this time, and completes rounds that settle before it,
    /// in the order of time.
    fn sample_until(&mut self, time: Time) {
        loop {
            let settled_at = self.rounds.get(self.first_unsettled).map(|round| round.at + self.settle_time);
            match settled_at {
                Some(at) if at < time && at <= self.next_sample => self.settle_round(at),
                Some(_) | None if self.next_sample < time => {
                    let (at, spread) = (self.next_sample, self.spread(self.next_sample));
                    self.samples.push(Sample { at, spread });
                    self.next_sample += self.sample_interval;
                }
                Some(_) | None => return,
            }
        }
    }

    /// Records the spread after the first unsettled round.
    fn settle_round(&mut self, at: Time) {
        let spread = self.spread(at);
        let Some(round) = self.rounds.get_mut(self.first_unsettled) else { return };
        round.spread_after = Some(spread);
        let (leader, epoch) = (round.leader, round.round.epoch);
        let is_first = self.rounds.iter().take(self.first_unsettled).all(|earlier| earlier.round.epoch != epoch);
        self.first_unsettled += 1;
        if is_first {
            self.add_milestone(at, MilestoneKind::FirstRound { leader, epoch });
        }
    }

    /// The largest difference between the adjusted clocks of two nodes that are up.
    fn spread(&self, time: Time) -> Duration {
        let up = self.nodes.iter().enumerate().filter(|(_, node)| node.is_up);
        let readings = up.map(|(index, node)| node.shift.applied_to(self.clocks.at(NodeId::from_index(index), time)));
        let range = readings.fold(None, |range, reading| match range {
            None => Some((reading, reading)),
            Some((min, max)) => Some((reading.min(min), reading.max(max))),
        });
        range.map_or(Duration::ZERO, |(min, max)| max.since(min))
    }

    fn add_milestone(&mut self, at: Time, kind: MilestoneKind) {
        let spread = self.spread(at);
        self.milestones.push(Milestone { at, spread, kind });
    }

    fn record_start(&mut self, time: Time, node: NodeId, incarnation: Incarnation) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            *state = Node { is_up: true, shift: Shift::ZERO };
        }
        if incarnation != Incarnation::FIRST {
            self.add_milestone(time, MilestoneKind::Restarts { node });
        } else if self.milestones.is_empty() {
            self.add_milestone(time, MilestoneKind::Begins);
        }
    }

    fn record_crash(&mut self, time: Time, node: NodeId) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.is_up = false;
        }
        let was_leader = self.leader == Some(node);
        if was_leader {
            (self.leader, self.leaderless_since) = (None, Some(time));
        }
        // A node that is down before the run begins is not reported.
        if !self.milestones.is_empty() {
            self.add_milestone(time, MilestoneKind::Crashes { node, was_leader });
        }
    }

    fn record_event(&mut self, time: Time, node: NodeId, event: &Event) {
        match event {
            Event::Adjusted { by } => {
                if let Some(state) = self.nodes.get_mut(node.index()) {
                    state.shift = state.shift.plus(*by);
                }
            }
            Event::Averaged { round, counted, outliers, silent } => {
                let spread_before = self.spread(time);
                self.rounds.push(RoundReport {
                    at: time,
                    leader: node,
                    round: *round,
                    spread_before,
                    spread_after: None,
                    counted: counted.clone(),
                    outliers: outliers.clone(),
                    silent: silent.clone(),
                });
            }
            Event::Election(ElectionEvent::Elected { leader, epoch, .. }) if *leader == node => {
                let leaderless_time = self.leaderless_since.take().map(|since| time.since(since));
                self.leader = Some(node);
                self.add_milestone(time, MilestoneKind::Elected { leader: node, epoch: *epoch, leaderless_time });
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
                self.record_start(*time, *node, *incarnation);
            }
            Moment::World { time, event: WorldEvent::Crashed { node, .. } } => self.record_crash(*time, *node),
            Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
                self.record_event(*time, *node, event);
            }
            Moment::Effect { effect: ObservedEffect::Send { sent, .. }, .. } => self.count_messages(sent.kind, 1),
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. } => {
                self.count_messages(sent.kind, to.others(*node).count());
            }
            Moment::Input { .. } | Moment::World { .. } | Moment::Effect { .. } => {}
        }
    }
}
