//! Multicasts side by side: the cost of one multicast without other traffic, beside the expected
//! cost.

use super::survey::{MeasuredCost, Survey, SurveyResult};
use super::{MediumArg, Multicast, MulticastMedium};
use crate::compare::{
    Chart, CompareError, CompareRequest, CompareTask, ComparedFamily, Comparison, Dot, ExpectedCurve, Heading,
    HorizontalAxis, Host, Legend, List, MARK_EQUAL, MARK_WRONG, Page, PartCounts, Plot, Series, Table, VerticalAxis,
    distinct,
};
use crate::figures::format_figure;
use crate::options::Options;
use crate::registry::Family;
use clap::Args;
use quorate_core::multicast::{Delivery, ExpectedCost, Sequencing};
use serde::Serialize;

/// Options that only comparisons of multicasts accept.
#[derive(Args)]
pub struct MulticastCompareArgs {
    /// The medium of a multicast: one message per receiver, one message that its receivers get, or
    /// one message that all nodes get [default: unicast]
    #[arg(long, value_enum, display_order = 8)]
    medium: Option<MediumArg>,
    /// Deliver a multicast only when every member has it.
    #[arg(long, display_order = 9)]
    uniform: bool,
    /// Every receiver of a multicast relays it.
    #[arg(long, display_order = 10)]
    relay: bool,
}

impl Options for MulticastCompareArgs {
    fn first_given(&self) -> Option<&'static str> {
        let given = [("medium", self.medium.is_some()), ("uniform", self.uniform), ("relay", self.relay)];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

const DEFAULT_SIZES: [usize; 6] = [2, 4, 8, 16, 32, 64];

impl ComparedFamily for Multicast {
    type CompareArgs = MulticastCompareArgs;
    const NOT_APPLICABLE: &'static str = "to comparisons of multicasts";

    fn compare<T: CompareTask>(
        request: &CompareRequest<'_, Self::CompareArgs>,
        task: T,
    ) -> Result<T::Output, CompareError> {
        let sizes = request.sizes_or(&DEFAULT_SIZES);
        let (is_relayed, seed) = (request.family_args.relay, request.seed);
        let medium = request.family_args.medium.map_or(MulticastMedium::Unicast, MulticastMedium::from);
        let delivery = if request.family_args.uniform { Delivery::Uniform } else { Delivery::Prompt };
        let mut surveys = Vec::new();
        for entry in request.selected_entries::<Self>(|_| true)? {
            let methods: &[Sequencing] = if entry.facts.has_sequencer {
                &[Sequencing::ToAll, Sequencing::ThroughSequencer]
            } else {
                &[Sequencing::ToAll]
            };
            for sequencing in methods.iter().copied() {
                let survey = |nodes| Survey {
                    sequencing,
                    is_relayed,
                    delivery,
                    medium,
                    seed,
                    ..Survey::with_defaults(entry, nodes)
                };
                surveys.extend(sizes.iter().copied().map(survey));
            }
        }
        Ok(task.perform(MulticastComparison { surveys, sizes, seed, medium, rows: Vec::new() }))
    }
}

/// The planned comparison, and its results so far.
struct MulticastComparison {
    surveys: Vec<Survey>,
    sizes: Vec<usize>,
    seed: u64,
    medium: MulticastMedium,
    rows: Vec<SurveyRow>,
}

/// A survey (the multicasts of one algorithm in a group of one size) and its result.
struct SurveyRow {
    survey: Survey,
    result: SurveyResult,
}

impl SurveyRow {
    fn is_correct(&self) -> bool {
        self.result.holds() && self.result.is_as_expected()
    }

    /// The algorithm, followed by "via" if its messages go through the sequencer.
    fn name(&self) -> String {
        let name = self.survey.entry.facts.profile.name;
        match self.survey.sequencing {
            Sequencing::ThroughSequencer => format!("{name} via"),
            Sequencing::ToAll => name.to_owned(),
        }
    }

    /// The cells of the row, with `name` in the column of the algorithm.
    fn cells(&self, name: &str) -> Vec<String> {
        let SurveyResult { expected_cost: cost, other_sender, .. } = &self.result;
        let messages = match cost.expected.messages.to_string() {
            messages if messages == cost.formula => messages,
            messages => format!("{messages} = {}", cost.formula),
        };
        let sequencer_cost = SenderFigures::of_sequencer(&self.result).map_or_else(String::new, |sequencer| {
            format!(
                "{}, {} T",
                format_figure(sequencer.messages_per_multicast),
                format_figure(sequencer.slowest_delivery)
            )
        });
        let mark = if self.is_correct() { MARK_EQUAL } else { MARK_WRONG };
        vec![
            name.to_owned(),
            self.survey.nodes.to_string(),
            format_figure(other_sender.messages),
            messages,
            format!("{} T", format_figure(other_sender.slowest_delivery)),
            format!("{:<8}{mark}", format!("{} T", cost.expected.message_times)),
            sequencer_cost,
        ]
    }

    fn problem(&self) -> Option<String> {
        let commands =
            || self.result.measured_costs().map(|measured| measured.command.as_str()).collect::<Vec<_>>().join("\n  ");
        (!self.is_correct()).then(|| {
            let (name, nodes) = (self.name(), self.survey.nodes);
            format!("{name} with {nodes} nodes does not have the expected cost. To see it:\n  {}", commands())
        })
    }
}

impl MulticastComparison {
    fn conditions(&self) -> String {
        let medium = match self.medium {
            MulticastMedium::Unicast => "one message per receiver",
            MulticastMedium::Multicast => "one message by multicast",
            MulticastMedium::Broadcast => "one message by broadcast",
        };
        let first = self.surveys.first();
        let relay = if first.is_some_and(|survey| survey.is_relayed) { " · relayed" } else { "" };
        let uniform = if first.is_some_and(|survey| survey.delivery == Delivery::Uniform) { " · uniform" } else { "" };
        format!("no other traffic · {medium}{relay}{uniform} · seed {}", self.seed)
    }

    fn plot(&self, figure: &PlottedFigure) -> Plot {
        let names = distinct(self.rows.iter().map(SurveyRow::name));
        let series = names.into_iter().map(|name| {
            let series_rows = || self.rows.iter().filter(|row| row.name() == name);
            let nodes = |row: &SurveyRow| row.survey.nodes as f64;
            let dots =
                series_rows().filter_map(|row| Some(Dot::new(nodes(row), (figure.measured)(&row.result)?))).collect();
            let points = series_rows().map(|row| (nodes(row), (figure.expected)(&row.result) as f64)).collect();
            let text = series_rows().next().map(|row| (figure.formula_text)(&row.result)).unwrap_or_default();
            Series { expected: Some(ExpectedCurve { text, points }), name: name.clone(), dots, is_joined: false }
        });
        let series = series.collect();
        let horizontal_axis = HorizontalAxis::Sizes(self.sizes.clone());
        Plot { title: figure.title.into(), horizontal_axis, vertical_axis: figure.vertical_axis.clone(), series }
    }
}

/// A figure that a plot shows for each algorithm.
struct PlottedFigure {
    title: &'static str,
    vertical_axis: VerticalAxis,
    measured: fn(&SurveyResult) -> Option<f64>,
    expected: fn(&SurveyResult) -> u64,
    formula_text: fn(&SurveyResult) -> String,
}

impl Comparison for MulticastComparison {
    type Family = Multicast;

    fn work(&self) -> (u64, &'static str) {
        (self.surveys.len() as u64, "groups")
    }

    fn measure(&mut self, host: &mut dyn Host<Multicast>) -> Result<(), CompareError> {
        let mut rows = Vec::new();
        for survey in self.surveys.iter().copied() {
            if host.is_interrupted() {
                break;
            }
            host.begin_measurement(survey.entry.facts.profile.name, survey.nodes);
            rows.push(SurveyRow { survey, result: survey.run()? });
            host.advance();
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> PartCounts {
        PartCounts { finished: self.rows.len(), total: self.surveys.len(), name: "line" }
    }

    fn is_correct(&self) -> bool {
        self.rows.iter().all(SurveyRow::is_correct)
    }

    fn page(&self) -> Page {
        // Widths are in characters, as are the gaps before text columns.
        let headings = vec![
            Heading::words(2, 18, "one multicast"),
            Heading::figures(6, "nodes"),
            Heading::figures(12, "messages"),
            Heading::words(2, 20, "expected"),
            Heading::figures(12, "slowest"),
            Heading::words(2, 10, "expected"),
            Heading::words(0, 16, "sequencer's own"),
        ];
        let mut last_name = String::new();
        let rows = self.rows.iter().map(|row| {
            let name = row.name();
            let cells = row.cells(if name == last_name { "" } else { &name });
            last_name = name;
            cells
        });
        let legend = format!(
            "{MARK_EQUAL} exactly as expected   T: one message time   slowest: until the last member has delivered"
        );
        Page {
            conditions: self.conditions(),
            tables: vec![Table::List(List { headings, rows: rows.collect() })],
            notes: vec![vec![legend]],
            problems: self.rows.iter().filter_map(SurveyRow::problem).collect(),
        }
    }

    /// Messages and slowest deliveries over the group's size.
    fn chart(&self) -> Option<Chart> {
        let messages = PlottedFigure {
            title: "Messages",
            vertical_axis: VerticalAxis::log("messages per multicast"),
            measured: |result| result.other_sender.messages,
            expected: |result| result.expected_cost.expected.messages,
            formula_text: |result| result.expected_cost.formula.to_owned(),
        };
        let slowest = PlottedFigure {
            title: "Slowest delivery",
            vertical_axis: VerticalAxis {
                unit: "T",
                included_values: vec![0.0],
                ..VerticalAxis::linear("until the last member has delivered")
            },
            measured: |result| result.other_sender.slowest_delivery,
            expected: |result| result.expected_cost.expected.message_times,
            formula_text: |result| format!("{} T", result.expected_cost.expected.message_times),
        };
        Some(Chart {
            title: "Multicasts: cost of one",
            subtitle: format!("{} · T: one message time", self.conditions()),
            legend: Legend { measured: "simulated", expected: "expected", sample_range: "" },
            plots: vec![self.plot(&messages), self.plot(&slowest)],
        })
    }

    fn report(&self) -> impl Serialize {
        Report {
            family: Family::Multicast,
            seed: self.seed,
            medium: self.medium,
            complete: self.is_complete(),
            holds: self.rows.iter().all(|row| row.result.holds()),
            exact: self.rows.iter().all(|row| row.result.is_as_expected()),
            rows: self.rows.iter().map(report_row).collect(),
        }
    }
}

#[derive(Serialize)]
struct Report {
    family: Family,
    seed: u64,
    medium: MulticastMedium,
    complete: bool,
    holds: bool,
    exact: bool,
    rows: Vec<ReportRow>,
}

#[derive(Serialize)]
struct ReportRow {
    algorithm: &'static str,
    /// How messages are sequenced, if there are two ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequencing: Option<Sequencing>,
    relay: bool,
    uniform: bool,
    nodes: usize,
    formula: &'static str,
    /// The cost of multicasts of a sender other than the sequencer.
    #[serde(flatten)]
    figures: SenderFigures,
    /// The cost of the sequencer's own multicasts, if there is a sequencer.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequencer: Option<SenderFigures>,
    exact: bool,
    holds: bool,
}

/// The measured and expected figures of one sender's multicasts.
#[derive(Serialize)]
struct SenderFigures {
    messages_per_multicast: Option<f64>,
    expected_messages: u64,
    /// In message times, like the expected one.
    slowest_delivery: Option<f64>,
    expected_slowest: u64,
}

impl SenderFigures {
    fn of_other_sender(result: &SurveyResult) -> Self {
        let ExpectedCost { messages, message_times, .. } = result.expected_cost.expected;
        Self::new(&result.other_sender, messages, message_times)
    }

    fn of_sequencer(result: &SurveyResult) -> Option<Self> {
        let ExpectedCost { messages_of_sequencer, message_times_of_sequencer, .. } = result.expected_cost.expected;
        let sequencer = result.sequencer.as_ref();
        sequencer.map(|sequencer| Self::new(sequencer, messages_of_sequencer, message_times_of_sequencer))
    }

    fn new(measured: &MeasuredCost, expected_messages: u64, expected_slowest: u64) -> Self {
        Self {
            messages_per_multicast: measured.messages,
            expected_messages,
            slowest_delivery: measured.slowest_delivery,
            expected_slowest,
        }
    }
}

fn report_row(row: &SurveyRow) -> ReportRow {
    let SurveyRow { survey, result } = row;
    let facts = survey.entry.facts;
    ReportRow {
        algorithm: facts.profile.name,
        sequencing: facts.has_sequencer.then_some(survey.sequencing),
        relay: survey.is_relayed || facts.relays_by_default,
        uniform: survey.delivery == Delivery::Uniform,
        nodes: survey.nodes,
        formula: result.expected_cost.formula,
        figures: SenderFigures::of_other_sender(result),
        sequencer: SenderFigures::of_sequencer(result),
        exact: result.is_as_expected(),
        holds: result.holds(),
    }
}
