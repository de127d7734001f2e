//! Elections side by side: what they cost over all orders and starters, beside the book.

use super::Election;
use super::survey::{Found, MOST_EXHAUSTED, Spread, Start, Survey};
use crate::compare::{
    Across, Asked, Axis, BAD, Chart, CompareError, CompareTask, ComparedFamily, Comparison, Dot, GOOD, Heading, Host,
    Law, Legend, List, Page, Parts, Plot, SAME, Series, Table, UNKNOWN, distinct,
};
use crate::figures::{count, number};
use crate::options::{Options, OptionsError, whole};
use crate::registry::Family;
use clap::Args;
use quorate_core::election::{Book, Counts, Shape, Splits};
use serde::Serialize;

/// Options that only comparisons of elections understand.
#[derive(Args)]
pub struct ElectionCompareArgs {
    /// Who starts elections: one node (each in turn), the lowest, the highest, all; one,all unless given.
    #[arg(long, value_enum, value_name = "WHO", value_delimiter = ',', display_order = 6)]
    starters: Vec<Start>,
    /// How many orders of a large ring are sampled; 200 unless given. Of rings of up to 8 nodes all are tried.
    #[arg(long, value_parser = whole::<u64>, display_order = 7)]
    samples: Option<u64>,
}

impl Options for ElectionCompareArgs {
    fn given(&self) -> Option<&'static str> {
        let given = [("starters", !self.starters.is_empty()), ("samples", self.samples.is_some())];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// How large groups are unless users say otherwise: those that are gone through order by order, and some that are sampled.
const USUAL_SIZES: [usize; 5] = [4, 8, 16, 32, 64];
const USUAL_STARTS: [Start; 2] = [Start::One, Start::All];
/// A dead leader's bullies are best and worst at the ends.
const BULLY_STARTS: [Start; 2] = [Start::Highest, Start::Lowest];
const USUAL_SAMPLES: u64 = 200;

impl ComparedFamily for Election {
    type CompareArgs = ElectionCompareArgs;
    const MEANS_NOTHING: &'static str = "where elections are compared";

    fn compare<T: CompareTask>(asked: &Asked<'_, Self::CompareArgs>, task: T) -> Result<T::Output, CompareError> {
        let (sizes, seed, given) = (asked.sizes_or(&USUAL_SIZES), asked.seed, &asked.own.starters);
        let samples = asked.own.samples.unwrap_or(USUAL_SAMPLES);
        if samples < 2 {
            return CompareError::refused("A sample of one run says nothing of the others: use --samples 200.");
        }
        let mut surveys = Vec::new();
        for entry in asked.contenders::<Self>(|entry| entry.facts.splits != Splits::ByDesign)? {
            let usual = if entry.facts.shape == Shape::Bully { BULLY_STARTS } else { USUAL_STARTS };
            let starts = if given.is_empty() { usual.to_vec() } else { given.clone() };
            for nodes in sizes.iter().copied() {
                surveys.extend(starts.iter().map(|start| Survey { entry, nodes, start: *start, samples, seed }));
            }
        }
        if asked.own.samples.is_some() && surveys.iter().all(Survey::is_exhaustive) {
            let condition = "where all orders are tried: in rings of up to 8 nodes, and outside of rings";
            return Err(OptionsError::no_effect("samples", condition).into());
        }
        Ok(task.perform(Elections { surveys, sizes, samples, seed, rows: Vec::new() }))
    }
}

struct Elections {
    surveys: Vec<Survey>,
    sizes: Vec<usize>,
    samples: u64,
    seed: u64,
    rows: Vec<Row>,
}

/// What was found out of one question.
struct Row {
    survey: Survey,
    found: Found,
}

impl Row {
    fn algorithm(&self) -> &'static str {
        self.survey.entry.facts.profile.name
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let Self { survey, found } = self;
        let Spread { min, mean, max, margin } = found.counted;
        let mean = match margin {
            Some(margin) => format!("{} ±{}", number(Some(mean)), number(Some(margin))),
            None => number(Some(mean)),
        };
        let mark = match (found.holds(), found.is_as_expected()) {
            (false, _) | (_, Some(false)) => BAD,
            (true, Some(true)) if found.exhaustive && found.book.is_some_and(|book| book.tight) => SAME,
            (true, Some(true)) => GOOD,
            (true, None) => UNKNOWN,
        };
        let book = found.book.as_ref().map_or_else(String::new, said);
        vec![
            name.to_owned(),
            survey.nodes.to_string(),
            survey.start.name().to_owned(),
            min.to_string(),
            mean,
            max.to_string(),
            format!("{mark} {book}"),
        ]
    }

    fn complaint(&self) -> Option<String> {
        let name = self.algorithm();
        if let Some(command) = &self.found.failed {
            return Some(format!("{name} does not elect whom it should. To see it: {command} --steps"));
        }
        let nodes = self.survey.nodes;
        let differs = self.found.is_as_expected() == Some(false);
        differs.then(|| format!("{name} with {nodes} nodes is not as the book says."))
    }

    /// The mean of all messages, with the fewest and the most.
    fn dot(&self) -> Dot {
        let Found { election, announcement, .. } = &self.found;
        let (least, most) = ((election.min + announcement.min) as f64, (election.max + announcement.max) as f64);
        let dot = Dot::new(self.survey.nodes as f64, election.mean + announcement.mean);
        Dot { reach: (most > least).then_some((least, most)), ..dot }
    }

    /// The mean that the book says, announcements included.
    fn law(&self) -> Option<(f64, f64)> {
        let book = self.found.book?;
        let told = match book.counts {
            Counts::Election => self.found.announcement.mean,
            Counts::WithAnnouncement => 0.0,
        };
        Some((self.survey.nodes as f64, book.mean? + told))
    }
}

/// What the book says, in a few words.
fn said(book: &Book) -> String {
    let figures = match *book {
        Book { least, most, .. } if least == most => number(most),
        Book { least: Some(least), mean, most, .. } => {
            let mean = mean.map_or_else(String::new, |mean| format!(" / {}", number(Some(mean))));
            format!("{}{mean} / {}", number(Some(least)), number(most))
        }
        Book { most, .. } => format!("≤ {}", number(most)),
    };
    match book.counts {
        Counts::Election => format!("{figures}, announcement apart"),
        Counts::WithAnnouncement => figures,
    }
}

impl Elections {
    fn plot(&self, start: Start) -> Plot {
        let title = match start {
            Start::One => "One node starts",
            Start::Lowest => "The lowest starts",
            Start::Highest => "The highest starts",
            Start::All => "All start",
        };
        let rows = || self.rows.iter().filter(|row| row.survey.start == start);
        let series = distinct(rows().map(Row::algorithm)).into_iter().map(|name| {
            let own: Vec<_> = rows().filter(|row| row.algorithm() == name).collect();
            let points: Option<Vec<_>> = own.iter().map(|row| row.law()).collect();
            Series {
                name: name.into(),
                dots: own.iter().map(|row| row.dot()).collect(),
                is_joined: points.is_none(),
                law: points.map(|points| Law { text: String::new(), points }),
            }
        });
        let series = series.collect();
        Plot { title: title.into(), across: Across::Sizes(self.sizes.clone()), upwards: Axis::log("messages"), series }
    }
}

impl Comparison for Elections {
    type Family = Election;

    fn work(&self) -> (u64, &'static str) {
        (self.surveys.iter().map(Survey::runs).sum(), "elections")
    }

    fn measure(&mut self, host: &mut dyn Host<Election>) -> Result<(), CompareError> {
        let mut rows = Vec::new();
        for survey in self.surveys.iter().copied() {
            host.begins(survey.entry.facts.profile.name, survey.nodes);
            let found = survey.run(|| {
                host.advances();
                !host.is_interrupted()
            })?;
            let Some(found) = found else { break };
            rows.push(Row { survey, found });
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> Parts {
        Parts { done: self.rows.len(), all: self.surveys.len(), name: "line" }
    }

    fn is_right(&self) -> bool {
        self.rows.iter().all(|row| row.found.holds() && row.found.is_as_expected() != Some(false))
    }

    fn page(&self) -> Page {
        let headings = vec![
            Heading::words(2, 22, "messages"),
            Heading::figures(6, "nodes"),
            Heading::words(2, 9, "starters"),
            Heading::figures(10, "fewest"),
            Heading::figures(14, "mean"),
            Heading::figures(10, "most"),
            Heading::words(3, 30, "the book"),
        ];
        let mut last = "";
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells(if row.algorithm() == last { "" } else { row.algorithm() });
            last = row.algorithm();
            cells
        });
        let orders = count(self.samples, "order");
        let marks = format!(
            "{SAME} exactly the book's   {GOOD} within it, as far as bounds and samples tell   {UNKNOWN} no book says"
        );
        let mut notes = vec![vec![marks]];
        if self.rows.iter().any(|row| row.survey.dead() > 0) {
            notes.push(vec![
                "Where everyone knows everyone's rank, the highest of the nodes is down before the start.".into(),
            ]);
        }
        Page {
            conditions: format!("all orders up to {MOST_EXHAUSTED} nodes, {orders} beyond · seed {}", self.seed),
            tables: vec![Table::List(List { headings, rows: rows.collect() })],
            notes,
            complaints: self.rows.iter().filter_map(Row::complaint).collect(),
        }
    }

    /// Mean and extremes over the size of the group, one plot for each choice of starters.
    fn chart(&self) -> Option<Chart> {
        let starts = Start::ALL.into_iter().filter(|start| self.surveys.iter().any(|survey| survey.start == *start));
        Some(Chart {
            title: "Elections: what one costs",
            subtitle: format!("announcements included · seed {}", self.seed),
            legend: Legend { measured: "measured", law: "the book's mean", reach: "from the least to the most" },
            plots: starts.map(|start| self.plot(start)).collect(),
        })
    }

    fn report(&self) -> impl Serialize {
        Report {
            family: Family::Election,
            seed: self.seed,
            complete: self.is_complete(),
            holds: self.rows.iter().all(|row| row.found.holds()),
            exact: self.rows.iter().all(|row| row.found.is_as_expected() != Some(false)),
            rows: self.rows.iter().map(line).collect(),
        }
    }
}

#[derive(Serialize)]
struct Report {
    family: Family,
    seed: u64,
    complete: bool,
    holds: bool,
    exact: bool,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    algorithm: &'static str,
    nodes: usize,
    /// How many of them were down before the election.
    dead: usize,
    starters: Start,
    min: u64,
    mean: f64,
    max: u64,
    /// In which the true mean lies with 95 %, if only a sample was drawn.
    confidence: Option<[f64; 2]>,
    /// Which messages these are: with the announcement, or without.
    counts: Option<Counts>,
    expected: Option<Expected>,
    /// Whether it is the book's, figure for figure, where the book is exact and everything was tried.
    exact: Option<bool>,
    /// Whether it is as the book says, as far as bounds and samples tell.
    as_expected: Option<bool>,
    election: Spread,
    announcement: Spread,
    runs: u64,
    exhaustive: bool,
    holds: bool,
    /// A run that did not end as it should.
    failed: Option<String>,
}

/// What the book says.
#[derive(Serialize)]
struct Expected {
    formula: &'static str,
    min: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
}

fn line(row: &Row) -> Line {
    let Row { survey, found } = row;
    let Spread { min, mean, max, margin } = found.counted;
    Line {
        algorithm: row.algorithm(),
        nodes: survey.nodes,
        dead: survey.dead(),
        starters: survey.start,
        min,
        mean,
        max,
        confidence: margin.map(|margin| [mean - margin, mean + margin]),
        counts: found.book.map(|book| book.counts),
        expected: found.book.map(|Book { least, mean, most, .. }| Expected {
            formula: survey.entry.facts.cost.formula,
            min: least,
            mean,
            max: most,
        }),
        exact: found.is_exact(),
        as_expected: found.is_as_expected(),
        election: found.election,
        announcement: found.announcement,
        runs: found.runs,
        exhaustive: found.exhaustive,
        holds: found.holds(),
        failed: found.failed.clone(),
    }
}
