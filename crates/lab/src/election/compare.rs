//! Elections side by side: their cost over ring orders and starters, beside the expected cost.

use super::Election;
use super::survey::{MAX_EXHAUSTIVE, Spread, StartChoice, Survey, SurveyResult};
use crate::compare::{
    Chart, CompareError, CompareRequest, CompareTask, ComparedFamily, Comparison, Dot, ExpectedCurve, Heading,
    HorizontalAxis, Host, Legend, List, MARK_CORRECT, MARK_EQUAL, MARK_NOT_JUDGED, MARK_WRONG, Page, PartCounts, Plot,
    Series, Table, VerticalAxis, distinct,
};
use crate::figures::{format_count, format_figure};
use crate::options::{Options, OptionsError, parse_whole};
use crate::registry::Family;
use clap::Args;
use quorate_core::election::{Counts, ExpectedMessages, Splits, Structure};
use serde::Serialize;

/// Options that only comparisons of elections accept.
#[derive(Args)]
pub struct ElectionCompareArgs {
    /// Nodes that start elections: one (each in turn), lowest, highest, all [default: one,all; for
    /// bully highest,lowest]
    #[arg(long, value_enum, value_name = "STARTERS", value_delimiter = ',', display_order = 6)]
    starters: Vec<StartChoice>,
    /// Number of sampled orders of a large ring; rings of up to 8 nodes are tried in all orders
    /// [default: 200]
    #[arg(long, value_parser = parse_whole::<u64>, display_order = 7)]
    samples: Option<u64>,
}

impl Options for ElectionCompareArgs {
    fn first_given(&self) -> Option<&'static str> {
        let given = [("starters", !self.starters.is_empty()), ("samples", self.samples.is_some())];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// Default sizes of groups: some that are tried in all orders, and some that are sampled.
const DEFAULT_SIZES: [usize; 5] = [4, 8, 16, 32, 64];
const DEFAULT_STARTS: [StartChoice; 2] = [StartChoice::One, StartChoice::All];
/// The best and the worst case of bully after the crash of a leader.
const BULLY_STARTS: [StartChoice; 2] = [StartChoice::Highest, StartChoice::Lowest];
const DEFAULT_SAMPLES: u64 = 200;

impl ComparedFamily for Election {
    type CompareArgs = ElectionCompareArgs;
    const NOT_APPLICABLE: &'static str = "to comparisons of elections";

    fn compare<T: CompareTask>(
        request: &CompareRequest<'_, Self::CompareArgs>,
        task: T,
    ) -> Result<T::Output, CompareError> {
        let (sizes, seed, given_starts) =
            (request.sizes_or(&DEFAULT_SIZES), request.seed, &request.family_args.starters);
        let samples = request.family_args.samples.unwrap_or(DEFAULT_SAMPLES);
        if samples < 2 {
            return CompareError::invalid_option(format!(
                "--samples must be at least 2; got {samples}. Use for example --samples 200."
            ));
        }
        let mut surveys = Vec::new();
        // Algorithms with several leaders by design are compared only if the user names them.
        for entry in request.selected_entries::<Self>(|entry| entry.facts.splits != Splits::ByDesign)? {
            let defaults = if entry.facts.structure == Structure::Bully { BULLY_STARTS } else { DEFAULT_STARTS };
            let starts = if given_starts.is_empty() { defaults.to_vec() } else { given_starts.clone() };
            for nodes in sizes.iter().copied() {
                surveys.extend(starts.iter().map(|start| Survey { entry, nodes, start: *start, samples, seed }));
            }
        }
        if request.family_args.samples.is_some() && surveys.iter().all(Survey::is_exhaustive) {
            let condition = "if all orders are tried: in rings of up to 8 nodes, and without a ring";
            return Err(OptionsError::no_effect("samples", condition).into());
        }
        Ok(task.perform(ElectionComparison { surveys, sizes, samples, seed, rows: Vec::new() }))
    }
}

/// The planned comparison, and its results so far.
struct ElectionComparison {
    surveys: Vec<Survey>,
    sizes: Vec<usize>,
    samples: u64,
    seed: u64,
    rows: Vec<SurveyRow>,
}

/// A survey (the runs of one algorithm with one size and one choice of starters) and its result.
struct SurveyRow {
    survey: Survey,
    result: SurveyResult,
}

impl SurveyRow {
    fn algorithm(&self) -> &'static str {
        self.survey.entry.facts.profile.name
    }

    /// The cells of the row, with `name` in the column of the algorithm.
    fn cells(&self, name: &str) -> Vec<String> {
        let Self { survey, result } = self;
        let Spread { min, mean, max, margin } = result.counted;
        let mean = match margin {
            Some(margin) => format!("{} ±{}", format_figure(Some(mean)), format_figure(Some(margin))),
            None => format_figure(Some(mean)),
        };
        let mark = match (result.holds(), result.is_as_expected()) {
            (false, _) | (_, Some(false)) => MARK_WRONG,
            (true, Some(true))
                if result.is_exhaustive
                    && result.expected.is_some_and(|expected_cost| expected_cost.is_max_reached) =>
            {
                MARK_EQUAL
            }
            (true, Some(true)) => MARK_CORRECT,
            (true, None) => MARK_NOT_JUDGED,
        };
        let expected_cost = result.expected.as_ref().map_or_else(String::new, format_expected);
        vec![
            name.to_owned(),
            survey.nodes.to_string(),
            survey.start.name().to_owned(),
            min.to_string(),
            mean,
            max.to_string(),
            format!("{mark} {expected_cost}"),
        ]
    }

    fn problem(&self) -> Option<String> {
        let name = self.algorithm();
        if let Some(command) = &self.result.failed_command {
            return Some(format!("{name} does not elect the right leader. To see it: {command} --steps"));
        }
        let nodes = self.survey.nodes;
        let differs = self.result.is_as_expected() == Some(false);
        differs.then(|| format!("{name} with {nodes} nodes does not have the expected cost."))
    }

    /// The mean of all messages. Its range is from the sum of both minima, of election and
    /// announcement, to the sum of both maxima.
    fn dot(&self) -> Dot {
        let SurveyResult { election, announcement, .. } = &self.result;
        let (minimum, maximum) = ((election.min + announcement.min) as f64, (election.max + announcement.max) as f64);
        let dot = Dot::new(self.survey.nodes as f64, election.mean + announcement.mean);
        Dot { sample_range: (maximum > minimum).then_some((minimum, maximum)), ..dot }
    }

    /// The group's size and the expected mean, announcements included, as a point of a curve.
    fn expected_mean(&self) -> Option<(f64, f64)> {
        let expected_cost = self.result.expected?;
        let announcement = match expected_cost.counts {
            Counts::Election => self.result.announcement.mean,
            Counts::WithAnnouncement => 0.0,
        };
        Some((self.survey.nodes as f64, expected_cost.mean? + announcement))
    }
}

fn format_expected(expected_cost: &ExpectedMessages) -> String {
    let figures = match *expected_cost {
        ExpectedMessages { min, max, .. } if min == max => format_figure(max),
        ExpectedMessages { min: Some(min), mean, max, .. } => {
            let mean = mean.map_or_else(String::new, |mean| format!(" / {}", format_figure(Some(mean))));
            format!("{}{mean} / {}", format_figure(Some(min)), format_figure(max))
        }
        ExpectedMessages { max, .. } => format!("≤ {}", format_figure(max)),
    };
    match expected_cost.counts {
        Counts::Election => format!("{figures}, without announcement"),
        Counts::WithAnnouncement => figures,
    }
}

impl ElectionComparison {
    fn plot(&self, start: StartChoice) -> Plot {
        let title = match start {
            StartChoice::One => "One node starts",
            StartChoice::Lowest => "The lowest starts",
            StartChoice::Highest => "The highest starts",
            StartChoice::All => "All start",
        };
        let rows = || self.rows.iter().filter(|row| row.survey.start == start);
        let series = distinct(rows().map(SurveyRow::algorithm)).into_iter().map(|name| {
            let series_rows: Vec<_> = rows().filter(|row| row.algorithm() == name).collect();
            let points: Option<Vec<_>> = series_rows.iter().map(|row| row.expected_mean()).collect();
            Series {
                name: name.into(),
                dots: series_rows.iter().map(|row| row.dot()).collect(),
                is_joined: points.is_none(),
                expected: points.map(|points| ExpectedCurve { text: String::new(), points }),
            }
        });
        let series = series.collect();
        Plot {
            title: title.into(),
            horizontal_axis: HorizontalAxis::Sizes(self.sizes.clone()),
            vertical_axis: VerticalAxis::log("messages"),
            series,
        }
    }
}

impl Comparison for ElectionComparison {
    type Family = Election;

    fn work(&self) -> (u64, &'static str) {
        (self.surveys.iter().map(Survey::runs).sum(), "elections")
    }

    fn measure(&mut self, host: &mut dyn Host<Election>) -> Result<(), CompareError> {
        let mut rows = Vec::new();
        for survey in self.surveys.iter().copied() {
            host.begin_measurement(survey.entry.facts.profile.name, survey.nodes);
            let result = survey.run(|| {
                host.advance();
                !host.is_interrupted()
            })?;
            let Some(result) = result else { break };
            rows.push(SurveyRow { survey, result });
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> PartCounts {
        PartCounts { finished: self.rows.len(), total: self.surveys.len(), name: "line" }
    }

    fn is_correct(&self) -> bool {
        self.rows.iter().all(|row| row.result.holds() && row.result.is_as_expected() != Some(false))
    }

    fn page(&self) -> Page {
        // Widths are in characters; text columns also have a gap before them. The heading of the
        // column of algorithms says what the table counts.
        let headings = vec![
            Heading::words(2, 22, "messages"),
            Heading::figures(6, "nodes"),
            Heading::words(2, 9, "starters"),
            Heading::figures(10, "fewest"),
            Heading::figures(14, "mean"),
            Heading::figures(10, "most"),
            Heading::words(3, 30, "expected"),
        ];
        let mut last_algorithm = "";
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells(if row.algorithm() == last_algorithm { "" } else { row.algorithm() });
            last_algorithm = row.algorithm();
            cells
        });
        let orders = format_count(self.samples, "order");
        let marks = format!(
            "{MARK_EQUAL} exactly as expected   {MARK_CORRECT} within the expected bounds, as far as samples show   \
             {MARK_NOT_JUDGED} no expected figure"
        );
        let mut notes = vec![vec![marks]];
        if self.rows.iter().any(|row| row.survey.dead_nodes() > 0) {
            notes.push(vec![
                "Where all nodes know all ranks, as in bully, the highest node is down before the start.".into(),
            ]);
        }
        Page {
            conditions: format!("all orders up to {MAX_EXHAUSTIVE} nodes, {orders} beyond · seed {}", self.seed),
            tables: vec![Table::List(List { headings, rows: rows.collect() })],
            notes,
            problems: self.rows.iter().filter_map(SurveyRow::problem).collect(),
        }
    }

    /// Mean, minimum and maximum over the group's size, one plot per choice of starters.
    fn chart(&self) -> Option<Chart> {
        let starts =
            StartChoice::ALL.into_iter().filter(|start| self.surveys.iter().any(|survey| survey.start == *start));
        Some(Chart {
            title: "Elections: messages per election",
            subtitle: format!("announcements included · seed {}", self.seed),
            legend: Legend { measured: "measured", expected: "expected mean", sample_range: "from minimum to maximum" },
            plots: starts.map(|start| self.plot(start)).collect(),
        })
    }

    fn report(&self) -> impl Serialize {
        Report {
            family: Family::Election,
            seed: self.seed,
            complete: self.is_complete(),
            holds: self.rows.iter().all(|row| row.result.holds()),
            as_expected: self.rows.iter().all(|row| row.result.is_as_expected() != Some(false)),
            rows: self.rows.iter().map(report_row).collect(),
        }
    }
}

#[derive(Serialize)]
struct Report {
    family: Family,
    seed: u64,
    complete: bool,
    holds: bool,
    /// Whether no figure contradicts its expected figure or bound.
    #[serde(rename = "exact")]
    as_expected: bool,
    rows: Vec<ReportRow>,
}

#[derive(Serialize)]
struct ReportRow {
    algorithm: &'static str,
    nodes: usize,
    /// Number of nodes that are down before the election.
    dead: usize,
    starters: StartChoice,
    min: u64,
    mean: f64,
    max: u64,
    /// The 95 % confidence interval of the mean, if only a sample was run.
    confidence: Option<[f64; 2]>,
    /// Whether the counted messages include the announcement.
    counts: Option<Counts>,
    expected: Option<Expected>,
    /// Whether all figures are exactly as expected; `None` if nothing is expected, or if no figure
    /// is wrong, but the expected maximum is only a bound or not all orders were tried.
    exact: Option<bool>,
    /// Whether the figures are as expected, within bounds and sampling error.
    as_expected: Option<bool>,
    election: Spread,
    announcement: Spread,
    runs: u64,
    exhaustive: bool,
    holds: bool,
    /// The command of a run that failed.
    failed: Option<String>,
}

#[derive(Serialize)]
struct Expected {
    formula: &'static str,
    min: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
}

fn report_row(row: &SurveyRow) -> ReportRow {
    let SurveyRow { survey, result } = row;
    let Spread { min, mean, max, margin } = result.counted;
    ReportRow {
        algorithm: row.algorithm(),
        nodes: survey.nodes,
        dead: survey.dead_nodes(),
        starters: survey.start,
        min,
        mean,
        max,
        confidence: margin.map(|margin| [mean - margin, mean + margin]),
        counts: result.expected.map(|expected_cost| expected_cost.counts),
        expected: result.expected.map(|ExpectedMessages { min, mean, max, .. }| Expected {
            formula: survey.entry.facts.cost.formula,
            min,
            mean,
            max,
        }),
        exact: result.is_exact(),
        as_expected: result.is_as_expected(),
        election: result.election,
        announcement: result.announcement,
        runs: result.runs,
        exhaustive: result.is_exhaustive,
        holds: result.holds(),
        failed: result.failed_command.clone(),
    }
}
