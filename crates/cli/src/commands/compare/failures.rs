//! `quorate compare --failures`: algorithm by victim, and what becomes of the others.

use super::grid::{Column, Group, Section, UNKNOWN, render};
use super::{bar, json};
use crate::args::FailurePlan;
use crate::output::output;
use crate::report::count;
use crate::{Verdict, interrupt, paint, report};
use quorate_demos::failures::{Fate, Finding, Harm, Inquiry, Tally, Victim, inquire};
use quorate_lab::registry::Family;
use serde::Serialize;
use std::io::Write;

/// What came of one algorithm in a group of one size.
struct Row {
    inquiry: Inquiry,
    findings: Vec<Finding>,
}

impl Row {
    fn name(&self) -> &'static str {
        self.inquiry.algorithm.facts.profile.name
    }

    fn tally(&self, victim: Victim, harm: Harm) -> Option<&Tally> {
        let found = self.findings.iter().find(|found| found.victim == victim && found.harm == harm);
        found.map(|found| &found.tally).filter(|tally| tally.runs() > 0)
    }
}

/// Whatever it finds, it is no failure of the command: textbook algorithms have never promised anything else.
pub(super) fn run(plan: &FailurePlan, is_json: bool) -> anyhow::Result<Verdict> {
    interrupt::watch();
    let bar = bar(plan.inquiries.len() as u64, "algorithms");
    let mut rows = Vec::new();
    for inquiry in &plan.inquiries {
        bar.set_message(format!(": {} with {} nodes", inquiry.algorithm.facts.profile.name, inquiry.nodes));
        let findings = inquire(inquiry, &mut || !interrupt::came())?;
        // Half a row would be taken for a whole one.
        if interrupt::came() {
            break;
        }
        rows.push(Row { inquiry: *inquiry, findings });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let is_complete = rows.len() == plan.inquiries.len();
    if is_json {
        print_json(plan, &rows, is_complete)?;
    } else {
        print(plan, &rows)?;
    }
    Ok(if is_complete { Verdict::Holds } else { Verdict::Unfinished })
}

fn print(plan: &FailurePlan, rows: &[Row]) -> anyhow::Result<()> {
    let mut out = output();
    let what = "what becomes of the others when a node fails";
    writeln!(out, "{} · {what} · textbook form, bare links · seed {}", paint::bold("mutex"), plan.seed)?;
    writeln!(out)?;
    for line in render(&section(rows)) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    for note in notes(plan) {
        writeln!(out, "  {}", paint::dim(&note))?;
    }
    let (done, all) = (rows.len(), plan.inquiries.len());
    if done < all {
        writeln!(out, "\nNot finished: {done} of {} came to their end.", count(all as u64, "row"))?;
    }
    Ok(())
}

fn section(rows: &[Row]) -> Section {
    let names = Column::words("algorithm", rows.iter().map(|row| row.name().to_owned()).collect());
    let sizes = Column::figures("nodes", rows.iter().map(|row| row.inquiry.nodes.to_string()).collect());
    Section { title: "", stub: vec![names, sizes], groups: Harm::ALL.map(|harm| group(rows, harm)).into() }
}

fn group(rows: &[Row], harm: Harm) -> Group {
    let column = |victim: Victim| {
        let cell = |row: &Row| row.tally(victim, harm).map_or(UNKNOWN.into(), cell);
        Column::words(victim.name(), rows.iter().map(cell).collect())
    };
    let name = match harm {
        Harm::Dies => "one of these dies",
        Harm::Restarts => "one of these restarts, and has forgotten everything",
    };
    Group { name: name.into(), lead: Vec::new(), figures: Victim::ALL.map(column).to_vec(), tail: Vec::new() }
}

/// What became of the others at the worst, and how often if not always.
fn cell(tally: &Tally) -> String {
    let Some(fate) = tally.fate() else { return UNKNOWN.into() };
    match (tally.count(fate), tally.runs()) {
        (all, runs) if all == runs => fate.name().into(),
        (some, runs) => format!("{} {some}/{runs}", fate.name()),
    }
}

fn notes(plan: &FailurePlan) -> Vec<String> {
    let runs = plan.inquiries.iter().map(|inquiry| inquiry.runs).max().unwrap_or_default();
    let mut notes = vec![
        "goes on: everyone who is up and asks is served   stops: somebody waits for ever   unsafe: two are inside"
            .into(),
        format!("the worst of {runs} runs, each struck at another instant; 12/{runs}: in so many of them, else in all"),
        "--json tells what became of the others in every run, and the command that shows one of the worst".into(),
    ];
    notes.extend(plan.left_out.iter().map(|left_out| left_out.sentence()));
    notes
}

#[derive(Serialize)]
struct Report<'a> {
    family: Family,
    seed: u64,
    /// Whether everything was tried that was to be.
    complete: bool,
    rows: Vec<Line<'a>>,
    left_out: Vec<json::Absent>,
}

#[derive(Serialize)]
struct Line<'a> {
    algorithm: &'a str,
    nodes: usize,
    victim: Victim,
    harm: Harm,
    /// The worst that became of the others.
    fate: Fate,
    runs: u64,
    goes_on: u64,
    stops: u64,
    #[serde(rename = "unsafe")]
    breaks: u64,
    /// In so many runs a fence was not larger than one before it.
    fences_back: u64,
    /// What went wrong in one of the worst, if anything did.
    why: Option<&'a str>,
    /// The command that shows it.
    command: Option<String>,
}

fn print_json(plan: &FailurePlan, rows: &[Row], complete: bool) -> anyhow::Result<()> {
    let rows = rows.iter().flat_map(|row| row.findings.iter().filter_map(|found| line(row, found))).collect();
    let left_out = json::absent(&plan.left_out);
    report::json(&Report { family: Family::Mutex, seed: plan.seed, complete, rows, left_out })
}

fn line<'a>(row: &Row, found: &'a Finding) -> Option<Line<'a>> {
    let Finding { victim, harm, tally } = found;
    let example = tally.example.as_ref();
    Some(Line {
        algorithm: row.name(),
        nodes: row.inquiry.nodes,
        victim: *victim,
        harm: *harm,
        fate: tally.fate()?,
        runs: tally.runs(),
        goes_on: tally.goes_on,
        stops: tally.stops,
        breaks: tally.breaks,
        fences_back: tally.fences_back,
        why: example.and_then(|example| example.why.as_deref()),
        command: example.map(|example| example.spec.command("sim")),
    })
}
