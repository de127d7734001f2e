//! What an election costs over all ways in which nodes may sit and start, held against the book.
//!
//! Small groups are gone through one order after the other; of large ones a sample is drawn, which says how sure it is.

use super::{Election, Settings};
use crate::election::ElectionEntry;
use crate::election::run::{Measures, Seating, Starters};
use crate::error::LabError;
use crate::experiment::{Played, play};
use crate::family::Care;
use crate::family::JudgeFamily;
use crate::spec::Spec;
use clap::ValueEnum;
use quorate_core::election::{Book, Case, Counts, Shape, Starting, Tally};
use quorate_core::{Duration, NodeId};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::{Fault, Latency, TimedFault, Unsynced};
use quorate_journal::workload::Ending;
use serde::Serialize;

/// The largest group of which every order is tried.
pub const MOST_EXHAUSTED: usize = 8;

/// Who starts, in a comparison: one node (each in turn), the one that ranks lowest or highest, or everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    One,
    Lowest,
    Highest,
    All,
}

impl Start {
    /// All of them.
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

/// What is to be found out.
#[derive(Clone, Copy)]
pub struct Survey {
    pub entry: &'static ElectionEntry,
    pub nodes: usize,
    pub start: Start,
    /// How many runs are sampled where not all are tried.
    pub samples: u64,
    pub seed: u64,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub runs: u64,
    pub exhaustive: bool,
    /// Messages that the book counts.
    pub counted: Spread,
    /// Messages that find the winner.
    pub election: Spread,
    /// Messages that tell who it is.
    pub announcement: Spread,
    /// What the book says, if it says anything.
    pub book: Option<Book>,
    /// A run that did not end with one leader everywhere, or not with the highest.
    pub failed: Option<String>,
}

/// How a number of messages is spread over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub min: u64,
    pub mean: f64,
    pub max: u64,
    /// Half the width of the interval in which the true mean lies with 95 %; none if all runs were tried.
    pub margin: Option<f64>,
}

impl Survey {
    /// How many were down before the election: where everyone knows everyone's rank, a dead leader is what it is about.
    pub fn dead(&self) -> usize {
        usize::from(self.entry.facts.shape == Shape::Bully)
    }

    pub fn runs(&self) -> u64 {
        let orders = if self.is_exhaustive() { (1..self.orders()).product() } else { self.samples };
        orders * self.starters().len() as u64
    }

    pub fn is_exhaustive(&self) -> bool {
        self.entry.facts.shape != Shape::Ring || self.nodes <= MOST_EXHAUSTED
    }

    /// One more than how many seats can be exchanged.
    fn orders(&self) -> u64 {
        // A ring can be turned so that node 1 sits first.
        if self.entry.facts.shape == Shape::Ring { self.nodes as u64 } else { 1 }
    }

    /// Who starts, in one run after the other. On a ring of which a sample is drawn, orders are drawn anyway.
    fn starters(&self) -> Vec<Starters> {
        let live = self.nodes - self.dead();
        match self.start {
            Start::Lowest => vec![Starters::Lowest],
            Start::Highest => vec![Starters::Highest],
            Start::All => vec![Starters::All],
            Start::One if self.is_exhaustive() => (0..live).map(|index| named(NodeId::from_index(index))).collect(),
            Start::One => vec![named(NodeId::from_index(0))],
        }
    }

    fn specs(&self) -> impl Iterator<Item = Spec<Election>> + '_ {
        let orders: Box<dyn Iterator<Item = (u64, Seating)>> = match (self.entry.facts.shape, self.is_exhaustive()) {
            (Shape::Ring, true) => Box::new(Rotations::new(self.nodes).map(|order| (self.seed, Seating::Given(order)))),
            (Shape::Ring, false) => {
                let mut dice = Dice::new(self.seed, Stream::Seating);
                Box::new((0..self.samples).map(move |_| (dice.below(u64::MAX), Seating::Random)))
            }
            (Shape::Bully | Shape::Groups | Shape::Votes | Shape::Regions, _) => {
                Box::new(std::iter::once((self.seed, Seating::Numbers)))
            }
        };
        orders.flat_map(move |(seed, order)| {
            self.starters().into_iter().map(move |starters| self.spec(seed, order.clone(), starters))
        })
    }

    /// One run. A message takes 1 ms, always, as the book has it.
    fn spec(&self, seed: u64, order: Seating, starters: Starters) -> Spec<Election> {
        let last = NodeId::from_index(self.nodes.saturating_sub(1));
        let crash = Fault::Crash { node: last, unsynced: Unsynced::Lost };
        let dead = (self.dead() > 0).then_some(TimedFault { fault: crash, at: Duration::ZERO, lasts: None });
        Spec {
            nodes: self.nodes,
            seed,
            latency: Latency::Fixed(Duration::from_millis(1)),
            faults: dead.into_iter().collect(),
            settings: Settings { starters, order, ..Settings::default() },
            ..Spec::new(self.entry)
        }
    }

    /// Runs it all. `goes_on` hears of every run, and may end it.
    pub fn run(&self, mut goes_on: impl FnMut() -> bool) -> Result<Option<Found>, LabError> {
        let mut sums = [Sum::default(), Sum::default(), Sum::default()];
        let case = Case { live: self.nodes - self.dead(), dead: self.dead(), starting: self.start.starting() };
        let book = (self.entry.facts.cost.book)(&case);
        let counts = book.map_or(Counts::WithAnnouncement, |book| book.counts);
        let mut failed = None;
        for spec in self.specs() {
            let (tally, is_right) = self.measure(&spec)?;
            for (sum, value) in sums.iter_mut().zip([tally.counted(counts), tally.election, tally.announcement]) {
                sum.add(value);
            }
            if !is_right {
                failed.get_or_insert_with(|| spec.command("sim"));
            }
            if !goes_on() {
                return Ok(None);
            }
        }
        let exhaustive = self.is_exhaustive();
        let [counted, election, announcement] = sums.map(|sum| sum.spread(exhaustive));
        Ok(Some(Found { runs: sums[0].count, exhaustive, counted, election, announcement, book, failed }))
    }

    fn measure(&self, spec: &Spec<Election>) -> Result<(Tally, bool), LabError> {
        spec.validate()?;
        let observers = (Measures::new(spec.nodes), Election::properties(spec, Care::Verdicts));
        let Played { ending, observer: (measures, properties), .. } = play(spec, observers);
        let summary = measures.summary(spec.typical(), "T");
        let holds = properties.verdicts().iter().all(|verdict| verdict.violation.is_none());
        let plan = super::plan(spec);
        let highest = plan.ranking.best(plan.group.iter().filter(|node| !plan.absent.contains(*node)));
        let is_highest = match self.entry.facts.shape {
            Shape::Ring | Shape::Bully => summary.leader == highest,
            Shape::Groups | Shape::Votes => summary.leader.is_some(),
            Shape::Regions => true,
        };
        let tally = Tally { election: summary.election_messages, announcement: summary.announcement_messages };
        Ok((tally, ending == Ending::Done && holds && is_highest))
    }
}

fn named(node: NodeId) -> Starters {
    Starters::Named(std::iter::once(node).collect())
}

impl Found {
    /// Whether it is as the book says, where the book says something: exactly if everything was tried, else as far as a sample
    /// can tell.
    pub fn is_as_expected(&self) -> Option<bool> {
        let Book { least, mean, most, tight, .. } = self.book?;
        let Spread { min, mean: measured, max, margin } = self.counted;
        let (min, max) = (min as f64, max as f64);
        // Books round to two places.
        let near = |one: f64, other: f64, by: f64| (one - other).abs() <= by + 0.005 + 1e-9 * other.abs();
        let fits = match margin {
            None => {
                least.is_none_or(|least| near(min, least, 0.0))
                    && mean.is_none_or(|mean| near(measured, mean, 0.0))
                    && most.is_none_or(|most| if tight { near(max, most, 0.0) } else { max <= most })
            }
            // Three times as wide as an interval of 95 %: a fair sample is further off once in many millions.
            Some(margin) => {
                least.is_none_or(|least| min >= least)
                    && mean.is_none_or(|mean| near(measured, mean, 3.0 * margin))
                    && most.is_none_or(|most| max <= most)
            }
        };
        Some(fits)
    }

    /// Whether it is the book's figure for figure, where the book is exact and everything was tried. Whatever differs from the book is not.
    pub fn is_exact(&self) -> Option<bool> {
        let as_expected = self.is_as_expected()?;
        let is_decided = self.exhaustive && self.book.is_some_and(|book| book.tight);
        (is_decided || !as_expected).then_some(as_expected)
    }

    /// Whether every run elected whom it should.
    pub fn holds(&self) -> bool {
        self.failed.is_none()
    }
}

/// Adds up whole numbers, so that a mean does not depend on the order.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    total: u128,
    squares: u128,
    min: Option<u64>,
    max: u64,
}

impl Sum {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.total += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = self.max.max(value);
    }

    fn spread(&self, exhaustive: bool) -> Spread {
        let count = self.count.max(1) as f64;
        let mean = self.total as f64 / count;
        let variance = (self.squares as f64 / count - mean * mean).max(0.0) * count / (count - 1.0).max(1.0);
        let margin = (!exhaustive).then(|| 1.96 * (variance / count).sqrt());
        Spread { min: self.min.unwrap_or_default(), mean, max: self.max, margin }
    }
}

/// Every way in which nodes can sit round a ring, told by where they sit after node 1.
struct Rotations {
    next: Option<Vec<usize>>,
}

impl Rotations {
    fn new(nodes: usize) -> Self {
        Self { next: Some((0..nodes).collect()) }
    }
}

impl Iterator for Rotations {
    type Item = Vec<NodeId>;

    fn next(&mut self) -> Option<Vec<NodeId>> {
        let order = self.next.take()?;
        let found = order.iter().map(|index| NodeId::from_index(*index)).collect();
        self.next = following(order);
        Some(found)
    }
}

/// The order that comes next in the dictionary, the first seat left alone.
fn following(mut order: Vec<usize>) -> Option<Vec<usize>> {
    let rest = order.get_mut(1..)?;
    let place = rest.windows(2).rposition(|pair| matches!(pair, [one, other] if one < other))?;
    let pivot = *rest.get(place)?;
    let larger = rest.iter().rposition(|seat| *seat > pivot)?;
    rest.swap(place, larger);
    rest.get_mut(place + 1..)?.reverse();
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::{Rotations, Sum};
    use std::collections::BTreeSet;

    #[test]
    fn every_rotation_comes_once() {
        for (nodes, count) in [(1, 1), (2, 1), (3, 2), (4, 6), (6, 120)] {
            let orders: Vec<_> = Rotations::new(nodes).collect();
            assert_eq!(orders.len(), count);
            assert_eq!(orders.iter().collect::<BTreeSet<_>>().len(), count);
        }
    }

    #[test]
    fn a_sample_says_how_sure_it_is() {
        let mut sum = Sum::default();
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            sum.add(value);
        }
        let all = sum.spread(true);
        assert_eq!((all.min, all.mean, all.max, all.margin), (2, 5.0, 9, None));
        let margin = sum.spread(false).margin.unwrap_or_default();
        assert!((margin - 1.96 * (32.0_f64 / 7.0 / 8.0).sqrt()).abs() < 1e-9, "{margin}");
    }
}
