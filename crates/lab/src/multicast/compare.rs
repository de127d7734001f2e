//! Multicasts side by side: what one costs while nobody else sends, beside the book.

use super::survey::{Found, Measured, Survey};
use super::{Carrier, MediumArg, Multicast};
use crate::compare::{
    Across, Asked, Axis, BAD, Chart, CompareError, CompareTask, ComparedFamily, Comparison, Dot, Heading, Host, Law,
    Legend, List, Page, Parts, Plot, SAME, Series, Table, distinct,
};
use crate::figures::number;
use crate::options::Options;
use crate::registry::Family;
use clap::Args;
use quorate_core::multicast::{Book, Delivery, Sequencing};
use serde::Serialize;

/// Options that only comparisons of multicasts understand.
#[derive(Args)]
pub struct MulticastCompareArgs {
    /// What carries a multicast to all: as many messages as there are receivers, one that those hear whom it is for, or one that
    /// everyone hears; unicast unless given.
    #[arg(long, value_enum, display_order = 8)]
    medium: Option<MediumArg>,
    /// Deliver a multicast only when every member holds it.
    #[arg(long, display_order = 9)]
    uniform: bool,
    /// Whoever receives a multicast passes it on.
    #[arg(long, display_order = 10)]
    relay: bool,
}

impl Options for MulticastCompareArgs {
    fn given(&self) -> Option<&'static str> {
        let given = [("medium", self.medium.is_some()), ("uniform", self.uniform), ("relay", self.relay)];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

const USUAL_SIZES: [usize; 6] = [2, 4, 8, 16, 32, 64];

impl ComparedFamily for Multicast {
    type CompareArgs = MulticastCompareArgs;
    const MEANS_NOTHING: &'static str = "where multicasts are compared";

    fn compare<T: CompareTask>(asked: &Asked<'_, Self::CompareArgs>, task: T) -> Result<T::Output, CompareError> {
        let sizes = asked.sizes_or(&USUAL_SIZES);
        let (relay, seed) = (asked.own.relay, asked.seed);
        let medium = asked.own.medium.map_or(Carrier::Unicast, Carrier::from);
        let delivery = if asked.own.uniform { Delivery::Uniform } else { Delivery::Prompt };
        let mut surveys = Vec::new();
        for entry in asked.contenders::<Self>(|_| true)? {
            let ways: &[Sequencing] =
                if entry.facts.sequences { &[Sequencing::ToAll, Sequencing::Via] } else { &[Sequencing::ToAll] };
            for sequencing in ways.iter().copied() {
                let survey = |nodes| Survey { sequencing, relay, delivery, medium, seed, ..Survey::of(entry, nodes) };
                surveys.extend(sizes.iter().copied().map(survey));
            }
        }
        Ok(task.perform(Multicasts { surveys, sizes, seed, medium, rows: Vec::new() }))
    }
}

struct Multicasts {
    surveys: Vec<Survey>,
    sizes: Vec<usize>,
    seed: u64,
    medium: Carrier,
    rows: Vec<Row>,
}

/// What was found out of one question.
struct Row {
    survey: Survey,
    found: Found,
}

impl Row {
    fn is_right(&self) -> bool {
        self.found.holds() && self.found.is_exact()
    }

    /// The algorithm, and the way of its messages where there are two.
    fn name(&self) -> String {
        let name = self.survey.entry.facts.profile.name;
        match self.survey.sequencing {
            Sequencing::Via => format!("{name} via"),
            Sequencing::ToAll => name.to_owned(),
        }
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let Found { cost, others, .. } = &self.found;
        let messages = match cost.book.messages.to_string() {
            figure if figure == cost.formula => figure,
            figure => format!("{figure} = {}", cost.formula),
        };
        let own = Side::own(&self.found).map_or_else(String::new, |own| {
            format!("{}, {} T", number(own.messages_per_multicast), number(own.slowest_delivery))
        });
        let mark = if self.is_right() { SAME } else { BAD };
        vec![
            name.to_owned(),
            self.survey.nodes.to_string(),
            number(others.messages),
            messages,
            format!("{} T", number(others.slowest)),
            format!("{:<8}{mark}", format!("{} T", cost.book.slowest)),
            own,
        ]
    }

    fn complaint(&self) -> Option<String> {
        let again = || self.found.measured().map(|measured| measured.again.as_str()).collect::<Vec<_>>().join("\n  ");
        (!self.is_right()).then(|| {
            let (name, nodes) = (self.name(), self.survey.nodes);
            format!("{name} with {nodes} nodes is not as the book says. To see it:\n  {}", again())
        })
    }
}

impl Multicasts {
    fn conditions(&self) -> String {
        let medium = match self.medium {
            Carrier::Unicast => "a message to each",
            Carrier::Multicast => "one message to all by multicast",
            Carrier::Broadcast => "one message to all by broadcast",
        };
        let first = self.surveys.first();
        let relay = if first.is_some_and(|survey| survey.relay) { " · passed on" } else { "" };
        let uniform = if first.is_some_and(|survey| survey.delivery == Delivery::Uniform) { " · uniform" } else { "" };
        format!("nobody else sends · {medium}{relay}{uniform} · seed {}", self.seed)
    }

    fn plot(&self, reading: &Reading) -> Plot {
        let names = distinct(self.rows.iter().map(Row::name));
        let series = names.into_iter().map(|name| {
            let own = || self.rows.iter().filter(|row| row.name() == name);
            let nodes = |row: &Row| row.survey.nodes as f64;
            let dots = own().filter_map(|row| Some(Dot::new(nodes(row), (reading.measured)(&row.found)?))).collect();
            let points = own().map(|row| (nodes(row), (reading.book)(&row.found) as f64)).collect();
            let text = own().next().map(|row| (reading.text)(&row.found)).unwrap_or_default();
            Series { law: Some(Law { text, points }), name: name.clone(), dots, is_joined: false }
        });
        let series = series.collect();
        let across = Across::Sizes(self.sizes.clone());
        Plot { title: reading.title.into(), across, upwards: reading.y.clone(), series }
    }
}

/// What a plot shows.
struct Reading {
    title: &'static str,
    y: Axis,
    measured: fn(&Found) -> Option<f64>,
    book: fn(&Found) -> u64,
    text: fn(&Found) -> String,
}

impl Comparison for Multicasts {
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
            host.begins(survey.entry.facts.profile.name, survey.nodes);
            rows.push(Row { survey, found: survey.run()? });
            host.advances();
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> Parts {
        Parts { done: self.rows.len(), all: self.surveys.len(), name: "line" }
    }

    fn is_right(&self) -> bool {
        self.rows.iter().all(Row::is_right)
    }

    fn page(&self) -> Page {
        let headings = vec![
            Heading::words(2, 18, "one multicast"),
            Heading::figures(6, "nodes"),
            Heading::figures(12, "messages"),
            Heading::words(2, 20, "the book"),
            Heading::figures(12, "slowest"),
            Heading::words(2, 10, "the book"),
            Heading::words(0, 16, "the sequencer's"),
        ];
        let mut last = String::new();
        let rows = self.rows.iter().map(|row| {
            let name = row.name();
            let cells = row.cells(if name == last { "" } else { &name });
            last = name;
            cells
        });
        let legend =
            format!("{SAME} exactly the book's   T: one message time   slowest: until the last member has delivered");
        Page {
            conditions: self.conditions(),
            tables: vec![Table::List(List { headings, rows: rows.collect() })],
            notes: vec![vec![legend]],
            complaints: self.rows.iter().filter_map(Row::complaint).collect(),
        }
    }

    /// Messages and slowest deliveries over the size of the group.
    fn chart(&self) -> Option<Chart> {
        let messages = Reading {
            title: "Messages",
            y: Axis::log("messages a multicast"),
            measured: |found| found.others.messages,
            book: |found| found.cost.book.messages,
            text: |found| found.cost.formula.to_owned(),
        };
        let slowest = Reading {
            title: "Slowest delivery",
            y: Axis { unit: "T", shown: vec![0.0], ..Axis::linear("until the last member has delivered") },
            measured: |found| found.others.slowest,
            book: |found| found.cost.book.slowest,
            text: |found| format!("{} T", found.cost.book.slowest),
        };
        Some(Chart {
            title: "Multicasts: what one costs",
            subtitle: format!("{} · T: one message time", self.conditions()),
            legend: Legend { measured: "simulated", law: "the book", reach: "" },
            plots: vec![self.plot(&messages), self.plot(&slowest)],
        })
    }

    fn report(&self) -> impl Serialize {
        Report {
            family: Family::Multicast,
            seed: self.seed,
            medium: self.medium,
            complete: self.is_complete(),
            holds: self.rows.iter().all(|row| row.found.holds()),
            exact: self.rows.iter().all(|row| row.found.is_exact()),
            rows: self.rows.iter().map(line).collect(),
        }
    }
}

#[derive(Serialize)]
struct Report {
    family: Family,
    seed: u64,
    medium: Carrier,
    complete: bool,
    holds: bool,
    exact: bool,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    algorithm: &'static str,
    /// The way of a message to all, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequencing: Option<Sequencing>,
    relay: bool,
    uniform: bool,
    nodes: usize,
    formula: &'static str,
    #[serde(flatten)]
    figures: Side,
    /// What the sequencer's own cost, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequencer: Option<Side>,
    exact: bool,
    holds: bool,
}

/// What was measured of one sender's, and what the book says of it.
#[derive(Serialize)]
struct Side {
    messages_per_multicast: Option<f64>,
    expected_messages: u64,
    /// In message times, as what is expected.
    slowest_delivery: Option<f64>,
    expected_slowest: u64,
}

impl Side {
    fn others(found: &Found) -> Self {
        let Book { messages, slowest, .. } = found.cost.book;
        Self::new(&found.others, messages, slowest)
    }

    fn own(found: &Found) -> Option<Self> {
        let Book { messages_of_sequencer, slowest_of_sequencer, .. } = found.cost.book;
        found.own.as_ref().map(|own| Self::new(own, messages_of_sequencer, slowest_of_sequencer))
    }

    fn new(measured: &Measured, expected_messages: u64, expected_slowest: u64) -> Self {
        Self {
            messages_per_multicast: measured.messages,
            expected_messages,
            slowest_delivery: measured.slowest,
            expected_slowest,
        }
    }
}

fn line(row: &Row) -> Line {
    let Row { survey, found } = row;
    let facts = survey.entry.facts;
    Line {
        algorithm: facts.profile.name,
        sequencing: facts.sequences.then_some(survey.sequencing),
        relay: survey.relay || facts.relays,
        uniform: survey.delivery == Delivery::Uniform,
        nodes: survey.nodes,
        formula: found.cost.formula,
        figures: Side::others(found),
        sequencer: Side::own(found),
        exact: found.is_exact(),
        holds: found.holds(),
    }
}
