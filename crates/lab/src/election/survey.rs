//! The cost of an election over ring orders and starters, compared with the expected cost.
//!
//! Small rings are tried in every order. Of a large ring's orders a sample is run, and the result
//! includes a confidence interval.

use super::{Election, Settings};
use crate::election::ElectionEntry;
use crate::election::run::{Measures, RingOrder, Starters};
use crate::error::LabError;
use crate::experiment::{FinishedRun, simulate};
use crate::family::JudgeFamily;
use crate::family::JudgingLevel;
use crate::spec::Spec;
use clap::ValueEnum;
use quorate_core::election::{Case, Counts, ExpectedMessages, Starting, Structure, Tally};
use quorate_core::{Duration, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Fault, Latency, TimedFault, UnsyncedSaves};
use quorate_journal::workload::Ending;
use serde::Serialize;

/// The largest ring that is tried in every order.
pub const MAX_EXHAUSTIVE: usize = 8;

/// The starters in a comparison: one node (each in turn), the lowest or highest rank, or all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum StartChoice {
    One,
    Lowest,
    Highest,
    All,
}

impl StartChoice {
    pub const ALL: [Self; 4] = [Self::One, Self::Lowest, Self::Highest, Self::All];

    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Lowest => "lowest",
            Self::Highest => "highest",
            Self::All => "all",
        }
    }

    fn starting(self) -> Starting {
        match self {
            Self::One => Starting::One,
            Self::Lowest => Starting::Lowest,
            Self::Highest => Starting::Highest,
            Self::All => Starting::All,
        }
    }
}

/// The runs that measure the cost of an algorithm in groups of one size with these starters.
#[derive(Clone, Copy)]
pub struct Survey {
    pub entry: &'static ElectionEntry,
    pub nodes: usize,
    pub start: StartChoice,
    /// Number of sampled runs, if not all orders are tried.
    pub samples: u64,
    pub seed: u64,
}

/// The result of a survey.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyResult {
    pub runs: u64,
    pub is_exhaustive: bool,
    /// Messages that the expected cost counts; all messages if there is none.
    pub counted: Spread,
    /// Messages that find the winner.
    pub election: Spread,
    /// Messages that announce the winner.
    pub announcement: Spread,
    /// The expected cost, if there is one.
    pub expected: Option<ExpectedMessages>,
    /// The command of the first run that violated a property, did not end by itself, or did not
    /// elect the right leader. On a ring and in bully, that is the highest live node; with groups
    /// or votes, any node; with regions, the leader is not checked.
    pub failed_command: Option<String>,
}

/// The distribution of a number of messages over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub min: u64,
    pub mean: f64,
    pub max: u64,
    /// Half the width of the 95 % confidence interval of the mean; `None` if all orders were tried.
    pub margin: Option<f64>,
}

impl Survey {
    /// Number of nodes that are down before the election. Bully elections start because a leader
    /// has crashed.
    pub fn dead_nodes(&self) -> usize {
        usize::from(self.entry.facts.structure == Structure::Bully)
    }

    pub fn runs(&self) -> u64 {
        let orders = if self.is_exhaustive() { (1..=self.permuted_nodes()).product() } else { self.samples };
        orders * self.starters().len() as u64
    }

    pub fn is_exhaustive(&self) -> bool {
        self.entry.facts.structure != Structure::Ring || self.nodes <= MAX_EXHAUSTIVE
    }

    /// The number of nodes whose positions can be permuted. A ring can be rotated so that node 1 is
    /// first; without a ring there is only one order.
    fn permuted_nodes(&self) -> u64 {
        if self.entry.facts.structure == Structure::Ring { (self.nodes as u64).saturating_sub(1) } else { 0 }
    }

    /// The starters to run each order with. With one starter in a sampled ring, it is always node
    /// 1, because the orders are random.
    fn starters(&self) -> Vec<Starters> {
        let live = self.nodes - self.dead_nodes();
        match self.start {
            StartChoice::Lowest => vec![Starters::Lowest],
            StartChoice::Highest => vec![Starters::Highest],
            StartChoice::All => vec![Starters::All],
            StartChoice::One if self.is_exhaustive() => {
                (0..live).map(|index| only_starter(NodeId::from_index(index))).collect()
            }
            StartChoice::One => vec![only_starter(NodeId::from_index(0))],
        }
    }

    fn specs(&self) -> impl Iterator<Item = Spec<Election>> + '_ {
        let orders: Box<dyn Iterator<Item = (u64, RingOrder)>> =
            match (self.entry.facts.structure, self.is_exhaustive()) {
                (Structure::Ring, true) => {
                    Box::new(RingOrders::new(self.nodes).map(|order| (self.seed, RingOrder::Given(order))))
                }
                (Structure::Ring, false) => {
                    let mut rng = SeededRng::new(self.seed, Stream::RingOrder);
                    Box::new((0..self.samples).map(move |_| (rng.below(u64::MAX), RingOrder::Random)))
                }
                (Structure::Bully | Structure::Groups | Structure::Votes | Structure::Regions, _) => {
                    Box::new(std::iter::once((self.seed, RingOrder::Numbers)))
                }
            };
        orders.flat_map(move |(seed, order)| {
            self.starters().into_iter().map(move |starters| self.run_spec(seed, order.clone(), starters))
        })
    }

    /// Returns one run, in which every message takes 1 ms.
    fn run_spec(&self, seed: u64, order: RingOrder, starters: Starters) -> Spec<Election> {
        let highest = NodeId::from_index(self.nodes.saturating_sub(1));
        let crash = Fault::Crash { node: highest, unsynced: UnsyncedSaves::Lost };
        let dead = (self.dead_nodes() > 0).then_some(TimedFault { fault: crash, at: Duration::ZERO, duration: None });
        Spec {
            nodes: self.nodes,
            seed,
            latency: Latency::Fixed(Duration::from_millis(1)),
            faults: dead.into_iter().collect(),
            settings: Settings { starters, order, ..Settings::default() },
            ..Spec::new(self.entry)
        }
    }

    /// Runs the survey. Calls `should_continue` after every run; `None` if it returned `false`.
    pub fn run(&self, mut should_continue: impl FnMut() -> bool) -> Result<Option<SurveyResult>, LabError> {
        let mut sums = [MessageSum::default(), MessageSum::default(), MessageSum::default()];
        let case = Case {
            live_nodes: self.nodes - self.dead_nodes(),
            dead_nodes: self.dead_nodes(),
            starting: self.start.starting(),
        };
        let expected = (self.entry.facts.cost.expected_messages)(&case);
        let counts = expected.map_or(Counts::WithAnnouncement, |expected| expected.counts);
        let mut failed_command = None;
        for spec in self.specs() {
            let (tally, is_correct) = self.measure(&spec)?;
            for (sum, value) in sums.iter_mut().zip([tally.count(counts), tally.election, tally.announcement]) {
                sum.add(value);
            }
            if !is_correct {
                failed_command.get_or_insert_with(|| spec.command("sim"));
            }
            if !should_continue() {
                return Ok(None);
            }
        }
        let is_exhaustive = self.is_exhaustive();
        let [counted, election, announcement] = sums.map(|sum| sum.spread(is_exhaustive));
        Ok(Some(SurveyResult {
            runs: sums[0].count,
            is_exhaustive,
            counted,
            election,
            announcement,
            expected,
            failed_command,
        }))
    }

    /// Runs one election. Returns its messages, and whether it violated no property, ended by
    /// itself and elected the right leader.
    fn measure(&self, spec: &Spec<Election>) -> Result<(Tally, bool), LabError> {
        spec.validate()?;
        let observers = (Measures::new(spec.nodes), Election::properties(spec, JudgingLevel::Verdicts));
        let FinishedRun { ending, observer: (measures, properties), .. } = simulate(spec, observers);
        let summary = measures.summary(spec.message_time(), "T");
        let holds = properties.verdicts().iter().all(|verdict| verdict.violation.is_none());
        let plan = super::plan(spec);
        let highest = plan.ranking.best(plan.group.iter().filter(|node| !plan.absent.contains(*node)));
        let is_right_leader = match self.entry.facts.structure {
            Structure::Ring | Structure::Bully => summary.leader == highest,
            Structure::Groups | Structure::Votes => summary.leader.is_some(),
            Structure::Regions => true,
        };
        let tally = Tally { election: summary.election_messages, announcement: summary.announcement_messages };
        Ok((tally, ending == Ending::Done && holds && is_right_leader))
    }
}

fn only_starter(node: NodeId) -> Starters {
    Starters::Named(std::iter::once(node).collect())
}

impl SurveyResult {
    /// Whether the figures are as expected; `None` without an expected cost. They must match
    /// exactly if all orders were tried, but an expected maximum that is only a bound must just not
    /// be exceeded. Of a sample, the mean must match within the sampling error, and the other
    /// figures must lie within the expected minimum and maximum.
    pub fn is_as_expected(&self) -> Option<bool> {
        let ExpectedMessages { min: expected_min, mean, max: expected_max, is_max_reached, .. } = self.expected?;
        let Spread { min, mean: measured, max, margin } = self.counted;
        let (min, max) = (min as f64, max as f64);
        // Expected figures are rounded to two decimals, and sums of floating-point numbers are
        // inexact.
        let is_near =
            |value: f64, expected: f64, margin: f64| (value - expected).abs() <= margin + 0.005 + 1e-9 * expected.abs();
        let is_as_expected = match margin {
            None => {
                expected_min.is_none_or(|expected_min| is_near(min, expected_min, 0.0))
                    && mean.is_none_or(|mean| is_near(measured, mean, 0.0))
                    && expected_max.is_none_or(|expected_max| {
                        if is_max_reached { is_near(max, expected_max, 0.0) } else { max <= expected_max }
                    })
            }
            // Three times the margin of the 95 % interval: a fair sample is outside once in many
            // millions.
            Some(margin) => {
                expected_min.is_none_or(|expected_min| min >= expected_min)
                    && mean.is_none_or(|mean| is_near(measured, mean, 3.0 * margin))
                    && expected_max.is_none_or(|expected_max| max <= expected_max)
            }
        };
        Some(is_as_expected)
    }

    /// Whether the figures are exactly as expected. `None` without an expected cost, or if the
    /// figures contradict nothing, but the expected maximum is only a bound or not all orders were
    /// tried.
    pub fn is_exact(&self) -> Option<bool> {
        let as_expected = self.is_as_expected()?;
        let is_decided = self.is_exhaustive && self.expected.is_some_and(|expected| expected.is_max_reached);
        (is_decided || !as_expected).then_some(as_expected)
    }

    /// Whether no run failed: see [`failed_command`](Self::failed_command).
    pub fn holds(&self) -> bool {
        self.failed_command.is_none()
    }
}

/// Sums integers, so that a mean does not depend on the order of addition.
#[derive(Clone, Copy, Debug, Default)]
struct MessageSum {
    /// Number of added values.
    count: u64,
    total: u128,
    /// Sum of the squares of all values.
    squares: u128,
    min: Option<u64>,
    max: u64,
}

impl MessageSum {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.total += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = self.max.max(value);
    }

    fn spread(&self, is_exhaustive: bool) -> Spread {
        let count = self.count.max(1) as f64;
        let mean = self.total as f64 / count;
        let variance = (self.squares as f64 / count - mean * mean).max(0.0) * count / (count - 1.0).max(1.0);
        // 1.96 standard errors: the 95 % interval of a normal distribution.
        let margin = (!is_exhaustive).then(|| 1.96 * (variance / count).sqrt());
        Spread { min: self.min.unwrap_or_default(), mean, max: self.max, margin }
    }
}

/// Every order of nodes on a ring, with node 1 first: a rotation would be the same ring.
struct RingOrders {
    next: Option<Vec<usize>>,
}

impl RingOrders {
    fn new(nodes: usize) -> Self {
        Self { next: Some((0..nodes).collect()) }
    }
}

impl Iterator for RingOrders {
    type Item = Vec<NodeId>;

    fn next(&mut self) -> Option<Vec<NodeId>> {
        let order = self.next.take()?;
        let nodes = order.iter().map(|index| NodeId::from_index(*index)).collect();
        self.next = next_order(order);
        Some(nodes)
    }
}

/// Returns the lexicographically next order that keeps the first position; `None` after the last.
fn next_order(mut order: Vec<usize>) -> Option<Vec<usize>> {
    let rest = order.get_mut(1..)?;
    let position = rest.windows(2).rposition(|pair| matches!(pair, [left, right] if left < right))?;
    let pivot = *rest.get(position)?;
    let larger = rest.iter().rposition(|index| *index > pivot)?;
    rest.swap(position, larger);
    rest.get_mut(position + 1..)?.reverse();
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::{MessageSum, RingOrders};
    use std::collections::BTreeSet;

    #[test]
    fn every_ring_order_occurs_once() {
        // With node 1 first, n nodes have (n−1)! orders.
        for (nodes, count) in [(1, 1), (2, 1), (3, 2), (4, 6), (6, 120)] {
            let orders: Vec<_> = RingOrders::new(nodes).collect();
            assert_eq!(orders.len(), count);
            assert_eq!(orders.iter().collect::<BTreeSet<_>>().len(), count);
        }
    }

    #[test]
    fn a_sample_has_a_confidence_interval() {
        let mut sum = MessageSum::default();
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            sum.add(value);
        }
        let is_exhaustive = true;
        let all = sum.spread(is_exhaustive);
        assert_eq!((all.min, all.mean, all.max, all.margin), (2, 5.0, 9, None));
        // The squared deviations from the mean sum to 32, over 8 values.
        let margin = sum.spread(!is_exhaustive).margin.unwrap_or_default();
        assert!((margin - 1.96 * (32.0_f64 / 7.0 / 8.0).sqrt()).abs() < 1e-9, "{margin}");
    }
}
