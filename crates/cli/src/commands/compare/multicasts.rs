//! Multicasts side by side: what one costs while nobody else sends, beside the book.

use super::bar;
use super::grid::{BAD, SAME};
use crate::args::MulticastPlan;
use crate::output::output;
use crate::picture::FigurePlan;
use crate::report::{self, number};
use crate::{Verdict, interrupt, paint};
use quorate_core::multicast::{Book, Delivery, Sequencing};
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_lab::multicast::Carrier;
use quorate_lab::multicast::survey::{Found, Measured, Survey};
use quorate_lab::registry::Family;
use serde::Serialize;
use std::io::Write;

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
        let facts = self.survey.entry.facts;
        match self.survey.sequencing {
            Sequencing::Via => format!("{} via", facts.profile.name),
            Sequencing::ToAll => facts.profile.name.to_owned(),
        }
    }
}

pub(super) fn run(plan: &MulticastPlan, is_json: bool) -> anyhow::Result<Verdict> {
    interrupt::watch();
    let bar = bar(plan.surveys.len() as u64, "groups");
    let mut rows = Vec::new();
    for survey in &plan.surveys {
        if interrupt::came() {
            break;
        }
        bar.set_message(format!(": {} with {} nodes", survey.entry.facts.profile.name, survey.nodes));
        rows.push(Row { survey: *survey, found: survey.run()? });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let to_stdout = plan.picture.as_ref().is_some_and(FigurePlan::is_on_stdout);
    if is_json {
        json(plan, &rows)?;
    } else if !to_stdout {
        table(plan, &rows)?;
    }
    let is_complete = rows.len() == plan.surveys.len();
    if let Some(wanted) = plan.picture.as_ref().filter(|_| is_complete) {
        wanted.write(&figure(plan, &rows), is_json)?;
    }
    Ok(match rows.iter().all(Row::is_right) {
        false => Verdict::Fails,
        true if is_complete => Verdict::Holds,
        true => Verdict::Unfinished,
    })
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

fn json(plan: &MulticastPlan, rows: &[Row]) -> anyhow::Result<()> {
    report::json(&Report {
        family: Family::Multicast,
        seed: plan.seed,
        medium: plan.medium,
        complete: rows.len() == plan.surveys.len(),
        holds: rows.iter().all(|row| row.found.holds()),
        exact: rows.iter().all(|row| row.found.is_exact()),
        rows: rows.iter().map(line).collect(),
    })
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

fn table(plan: &MulticastPlan, rows: &[Row]) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold("multicast"), conditions(plan))?;
    let head = format!(
        "  {:<18}{:>6}{:>12}  {:<20}{:>12}  {:<10}{:<16}",
        "one multicast", "nodes", "messages", "the book", "slowest", "the book", "the sequencer's"
    );
    writeln!(out, "{}", paint::bold(head.trim_end()))?;
    let mut last = String::new();
    for row in rows {
        let name = row.name();
        let shown = if name == last { "" } else { &name };
        let Found { cost, others, .. } = &row.found;
        let messages = match cost.book.messages.to_string() {
            figure if figure == cost.formula => figure,
            figure => format!("{figure} = {}", cost.formula),
        };
        let own = Side::own(&row.found).map_or_else(String::new, |own| {
            format!("{}, {} T", number(own.messages_per_multicast), number(own.slowest_delivery))
        });
        let mark = if row.is_right() { SAME } else { BAD };
        let text = format!(
            "  {shown:<18}{:>6}{:>12}  {messages:<20}{:>12}  {:<8}{mark} {own}",
            row.survey.nodes,
            number(others.messages),
            format!("{} T", number(others.slowest)),
            format!("{} T", cost.book.slowest),
        );
        writeln!(out, "{}", text.trim_end())?;
        last = name;
    }
    let legend =
        format!("{SAME} exactly the book's   T: one message time   slowest: until the last member has delivered");
    writeln!(out, "\n  {}", paint::dim(&legend))?;
    for row in rows.iter().filter(|row| !row.is_right()) {
        let again = row.found.measured().map(|measured| measured.again.as_str()).collect::<Vec<_>>().join("\n  ");
        writeln!(
            out,
            "\n{} with {} nodes is not as the book says. To see it:\n  {again}",
            row.name(),
            row.survey.nodes
        )?;
    }
    if rows.len() < plan.surveys.len() {
        writeln!(out, "\nNot finished: {} of {} lines came to their end.", rows.len(), plan.surveys.len())?;
    }
    Ok(())
}

fn conditions(plan: &MulticastPlan) -> String {
    let medium = match plan.medium {
        Carrier::Unicast => "a message to each",
        Carrier::Multicast => "one message to all by multicast",
        Carrier::Broadcast => "one message to all by broadcast",
    };
    let first = plan.surveys.first();
    let relay = if first.is_some_and(|survey| survey.relay) { " · passed on" } else { "" };
    let uniform = if first.is_some_and(|survey| survey.delivery == Delivery::Uniform) { " · uniform" } else { "" };
    format!("nobody else sends · {medium}{relay}{uniform} · seed {}", plan.seed)
}

/// Messages and slowest deliveries over the size of the group.
fn figure(plan: &MulticastPlan, rows: &[Row]) -> Figure {
    let key = Key { solid: "simulated".into(), formula: "the book".into(), ..Key::default() };
    let subtitle = format!("{} · T: one message time", conditions(plan));
    let figure = Figure::new("Multicasts: what one costs").subtitle(subtitle).key(key);
    let messages = Reading {
        title: "Messages",
        y: Axis::log("messages a multicast"),
        measured: |found| found.others.messages,
        book: |found| found.cost.book.messages,
        text: |found| found.cost.formula.to_owned(),
    };
    let slowest = Reading {
        title: "Slowest delivery",
        y: Axis::linear("until the last member has delivered").unit("T").showing(0.0),
        measured: |found| found.others.slowest,
        book: |found| found.cost.book.slowest,
        text: |found| format!("{} T", found.cost.book.slowest),
    };
    [messages, slowest].into_iter().map(|reading| plot(plan, rows, &reading)).fold(figure, Figure::with)
}

/// What a plot shows.
struct Reading {
    title: &'static str,
    y: Axis,
    measured: fn(&Found) -> Option<f64>,
    book: fn(&Found) -> u64,
    text: fn(&Found) -> String,
}

fn plot(plan: &MulticastPlan, rows: &[Row], reading: &Reading) -> Plot {
    let across = plan.sizes.iter().fold(Axis::log("nodes").at_points(), |axis, size| axis.showing(*size as f64));
    let mut plot = Plot::new(reading.title).x(across).y(reading.y.clone());
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let name = row.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let own = || rows.iter().filter(|row| row.name() == name);
        let nodes = |row: &Row| row.survey.nodes as f64;
        let points = own().filter_map(|row| Some(Point::new(nodes(row), (reading.measured)(&row.found)?)));
        let law = own().map(|row| (nodes(row), (reading.book)(&row.found) as f64));
        let text = own().next().map(|row| (reading.text)(&row.found)).unwrap_or_default();
        plot = plot.with(Series::new(name.as_str()).points(points).formula(text, law));
    }
    plot
}
