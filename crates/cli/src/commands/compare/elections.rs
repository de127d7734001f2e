//! Elections side by side: what they cost over all orders and starters, beside the book.

use super::bar;
use super::grid::{BAD, GOOD, SAME, UNKNOWN};
use crate::args::ElectionPlan;
use crate::output::output;
use crate::picture::FigurePlan;
use crate::report::{self, count, number};
use crate::{Verdict, interrupt, paint};
use quorate_core::election::{Book, Counts};
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_lab::election::survey::{Found, MOST_EXHAUSTED, Spread, Start, Survey};
use quorate_lab::registry::Family;
use serde::Serialize;
use std::io::Write;

/// What was found out of one question.
struct Row {
    survey: Survey,
    found: Found,
}

impl Row {
    fn algorithm(&self) -> &'static str {
        self.survey.entry.facts.profile.name
    }
}

pub(super) fn run(plan: &ElectionPlan, is_json: bool) -> anyhow::Result<Verdict> {
    interrupt::watch();
    let bar = bar(plan.surveys.iter().map(Survey::runs).sum(), "elections");
    let mut rows = Vec::new();
    for survey in &plan.surveys {
        bar.set_message(format!(": {} with {} nodes", survey.entry.facts.profile.name, survey.nodes));
        let found = survey.run(|| {
            bar.inc(1);
            !interrupt::came()
        })?;
        let Some(found) = found else { break };
        rows.push(Row { survey: *survey, found });
    }
    bar.finish_and_clear();
    let to_stdout = plan.picture.as_ref().is_some_and(FigurePlan::is_on_stdout);
    if is_json {
        json(plan, &rows)?;
    } else if !to_stdout {
        table(plan, &rows)?;
    }
    if let Some(wanted) = &plan.picture {
        wanted.write(&figure(plan, &rows), is_json)?;
    }
    Ok(verdict(plan, &rows))
}

fn verdict(plan: &ElectionPlan, rows: &[Row]) -> Verdict {
    let is_right = |row: &Row| row.found.holds() && row.found.is_as_expected() != Some(false);
    match rows.iter().all(is_right) {
        false => Verdict::Fails,
        true if rows.len() == plan.surveys.len() => Verdict::Holds,
        true => Verdict::Unfinished,
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

fn json(plan: &ElectionPlan, rows: &[Row]) -> anyhow::Result<()> {
    report::json(&Report {
        family: Family::Election,
        seed: plan.seed,
        complete: rows.len() == plan.surveys.len(),
        holds: rows.iter().all(|row| row.found.holds()),
        exact: rows.iter().all(|row| row.found.is_as_expected() != Some(false)),
        rows: rows.iter().map(line).collect(),
    })
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

fn table(plan: &ElectionPlan, rows: &[Row]) -> anyhow::Result<()> {
    let mut out = output();
    let conditions = format!(
        "all orders up to {MOST_EXHAUSTED} nodes, {} beyond · seed {}",
        count(plan.samples, "order"),
        plan.seed
    );
    writeln!(out, "{} · {conditions}\n", paint::bold("election"))?;
    let head = format!(
        "  {:<22}{:>6}  {:<9}{:>10}{:>14}{:>10}   {:<30}",
        "messages", "nodes", "starters", "fewest", "mean", "most", "the book"
    );
    writeln!(out, "{}", paint::bold(head.trim_end()))?;
    let mut last = "";
    for row in rows {
        let Row { survey, found } = row;
        let Spread { min, mean, max, margin } = found.counted;
        let shown = if row.algorithm() == last { "" } else { row.algorithm() };
        last = row.algorithm();
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
        let text = format!(
            "  {shown:<22}{:>6}  {:<9}{min:>10}{mean:>14}{max:>10}   {mark} {book}",
            survey.nodes,
            survey.start.name()
        );
        writeln!(out, "{}", text.trim_end())?;
    }
    for note in notes(rows) {
        writeln!(out, "\n  {}", paint::dim(&note))?;
    }
    for row in rows {
        if let Some(command) = &row.found.failed {
            writeln!(out, "\n{} does not elect whom it should. To see it: {command} --steps", row.algorithm())?;
        } else if row.found.is_as_expected() == Some(false) {
            writeln!(out, "\n{} with {} nodes is not as the book says.", row.algorithm(), row.survey.nodes)?;
        }
    }
    if rows.len() < plan.surveys.len() {
        let all = count(plan.surveys.len() as u64, "line");
        writeln!(out, "\nNot finished: {} of {all} came to their end.", rows.len())?;
    }
    Ok(())
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

fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = vec![format!(
        "{SAME} exactly the book's   {GOOD} within it, as far as bounds and samples tell   {UNKNOWN} no book says"
    )];
    if rows.iter().any(|row| row.survey.dead() > 0) {
        notes.push("Where everyone knows everyone's rank, the highest of the nodes is down before the start.".into());
    }
    notes
}

/// Mean and extremes over the size of the group, one plot for each choice of starters.
fn figure(plan: &ElectionPlan, rows: &[Row]) -> Figure {
    let key = Key { formula: "the book's mean".into(), ..Key::default() };
    let subtitle = format!("announcements included · seed {}", plan.seed);
    let figure = Figure::new("Elections: what one costs").subtitle(subtitle).key(key);
    plan.starts.iter().map(|start| plot(plan, rows, *start)).fold(figure, Figure::with)
}

fn plot(plan: &ElectionPlan, rows: &[Row], start: Start) -> Plot {
    let title = match start {
        Start::One => "One node starts",
        Start::Lowest => "The lowest starts",
        Start::Highest => "The highest starts",
        Start::All => "All start",
    };
    let across = plan.sizes.iter().fold(Axis::log("nodes").at_points(), |axis, size| axis.showing(*size as f64));
    let mut plot = Plot::new(title).x(across).y(Axis::log("messages"));
    let mut names: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.survey.start == start) {
        if !names.contains(&row.algorithm()) {
            names.push(row.algorithm());
        }
    }
    for name in names {
        let own = || rows.iter().filter(|row| row.survey.start == start && row.algorithm() == name);
        let total = |spread: fn(&Spread) -> f64, found: &Found| spread(&found.election) + spread(&found.announcement);
        let point = |row: &Row| {
            let mean = total(|spread| spread.mean, &row.found);
            let (least, most) =
                (total(|spread| spread.min as f64, &row.found), total(|spread| spread.max as f64, &row.found));
            let point = Point::new(row.survey.nodes as f64, mean);
            if most > least { point.reach(least, most) } else { point }
        };
        let law = own().filter_map(|row| {
            let book = row.found.book?;
            let told = match book.counts {
                Counts::Election => row.found.announcement.mean,
                Counts::WithAnnouncement => 0.0,
            };
            Some((row.survey.nodes as f64, book.mean? + told))
        });
        let law: Vec<_> = law.collect();
        let series = Series::new(name).points(own().map(point));
        plot = plot.with(if law.len() == own().count() { series.formula("", law) } else { series.joined() });
    }
    plot
}
