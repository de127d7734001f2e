//! `quorate compare mutex --failures`: algorithm by victim, and what becomes of the others.

use super::field::LeftOut;
use super::json::{Absent, absent};
use crate::compare::{Chart, Column, CompareError, Comparison, Group, Host, Page, Parts, Section, Table, UNKNOWN};
use crate::mutex::Mutex;
use crate::mutex::failures::{Fate, Finding, Harm, Inquiry, Tally, Victim, inquire};
use crate::registry::Family;
use serde::Serialize;

/// What is tried to see what failures do, and what was found so far.
pub(super) struct Failures {
    pub(super) inquiries: Vec<Inquiry>,
    /// Algorithms that cannot run in groups of some sizes.
    pub(super) left_out: Vec<LeftOut>,
    pub(super) seed: u64,
    pub(super) rows: Vec<Row>,
}

/// What came of one algorithm in a group of one size.
pub(super) struct Row {
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

impl Comparison for Failures {
    type Family = Mutex;

    fn work(&self) -> (u64, &'static str) {
        (self.inquiries.len() as u64, "algorithms")
    }

    fn measure(&mut self, host: &mut dyn Host<Mutex>) -> Result<(), CompareError> {
        let mut rows = Vec::new();
        for inquiry in self.inquiries.iter().copied() {
            host.begins(inquiry.algorithm.facts.profile.name, inquiry.nodes);
            let findings = inquire(&inquiry, &mut || !host.is_interrupted())?;
            // Half a row would be taken for a whole one.
            if host.is_interrupted() {
                break;
            }
            rows.push(Row { inquiry, findings });
            host.advances();
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> Parts {
        Parts { done: self.rows.len(), all: self.inquiries.len(), name: "row" }
    }

    /// Whatever is found is no failure: textbook algorithms have never promised anything else.
    fn is_right(&self) -> bool {
        true
    }

    fn page(&self) -> Page {
        let what = "what becomes of the others when a node fails";
        Page {
            conditions: format!("{what} · textbook form, bare links · seed {}", self.seed),
            tables: vec![Table::Blocks(section(&self.rows))],
            notes: vec![self.notes()],
            complaints: Vec::new(),
        }
    }

    fn chart(&self) -> Option<Chart> {
        None
    }

    fn report(&self) -> impl Serialize {
        let lines = self.rows.iter().flat_map(|row| row.findings.iter().filter_map(|found| line(row, found)));
        Report {
            family: Family::Mutex,
            seed: self.seed,
            complete: self.is_complete(),
            rows: lines.collect(),
            left_out: absent(&self.left_out),
        }
    }
}

impl Failures {
    fn notes(&self) -> Vec<String> {
        let runs = self.inquiries.iter().map(|inquiry| inquiry.runs).max().unwrap_or_default();
        let mut notes = vec![
            "goes on: everyone who is up and asks is served   stops: somebody waits for ever   unsafe: two are inside"
                .into(),
            format!(
                "the worst of {runs} runs, each struck at another instant; 12/{runs}: in so many of them, else in all"
            ),
            "--json tells what became of the others in every run, and the command that shows one of the worst".into(),
        ];
        notes.extend(self.left_out.iter().map(|left_out| left_out.sentence()));
        notes
    }
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
    Group { name: name.into(), figures: Victim::ALL.map(column).to_vec(), ..Group::default() }
}

/// What became of the others at the worst, and how often if not always.
fn cell(tally: &Tally) -> String {
    let Some(fate) = tally.fate() else { return UNKNOWN.into() };
    match (tally.count(fate), tally.runs()) {
        (all, runs) if all == runs => fate.name().into(),
        (some, runs) => format!("{} {some}/{runs}", fate.name()),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    family: Family,
    seed: u64,
    complete: bool,
    rows: Vec<Line<'a>>,
    left_out: Vec<Absent>,
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
    command: Option<String>,
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
