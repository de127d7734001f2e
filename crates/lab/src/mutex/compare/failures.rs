//! `quorate compare mutex --failures`: the effect of a failure on the other nodes, by algorithm and
//! victim.

use super::compared::LeftOut;
use super::json::{Absent, absent};
use crate::compare::{Chart, Column, CompareError, Comparison, Group, Host, Page, Parts, Section, Table, UNKNOWN};
use crate::mutex::Mutex;
use crate::mutex::failures::{FailureMode, FailureStudy, Fate, Finding, Tally, Victim, run_study};
use crate::registry::Family;
use serde::Serialize;

/// The planned failure studies, and their results so far.
pub(super) struct Failures {
    pub(super) studies: Vec<FailureStudy>,
    /// Algorithms that do not support some sizes.
    pub(super) left_out: Vec<LeftOut>,
    pub(super) seed: u64,
    pub(super) rows: Vec<Row>,
}

/// The findings about one algorithm in a group of one size.
pub(super) struct Row {
    study: FailureStudy,
    findings: Vec<Finding>,
}

impl Row {
    fn name(&self) -> &'static str {
        self.study.algorithm.facts.profile.name
    }

    fn tally(&self, victim: Victim, harm: FailureMode) -> Option<&Tally> {
        let found = self.findings.iter().find(|found| found.victim == victim && found.harm == harm);
        found.map(|found| &found.tally).filter(|tally| tally.runs() > 0)
    }
}

impl Comparison for Failures {
    type Family = Mutex;

    fn work(&self) -> (u64, &'static str) {
        (self.studies.len() as u64, "algorithms")
    }

    fn measure(&mut self, host: &mut dyn Host<Mutex>) -> Result<(), CompareError> {
        let mut rows = Vec::new();
        for study in self.studies.iter().copied() {
            host.begin_measurement(study.algorithm.facts.profile.name, study.nodes);
            let findings = run_study(&study, &mut || !host.is_interrupted())?;
            // Do not show a partial row as a complete one.
            if host.is_interrupted() {
                break;
            }
            rows.push(Row { study, findings });
            host.advance();
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> Parts {
        Parts { done: self.rows.len(), all: self.studies.len(), name: "row" }
    }

    /// No finding is an error: textbook algorithms promise nothing under failures.
    fn is_right(&self) -> bool {
        true
    }

    fn page(&self) -> Page {
        let what = "effect of a node failure on the other nodes";
        Page {
            conditions: format!("{what} · textbook form, bare links · seed {}", self.seed),
            tables: vec![Table::Blocks(section(&self.rows))],
            notes: vec![self.notes()],
            problems: Vec::new(),
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
        let runs = self.studies.iter().map(|study| study.runs).max().unwrap_or_default();
        let mut notes = vec![
            "goes on: every live requester is granted entry   stops: a requester waits for ever   unsafe: two nodes hold the lock"
                .into(),
            format!(
                "the worst result of {runs} runs with failures at different times; 12/{runs}: in 12 of them, otherwise in all"
            ),
            "--json counts the results, and gives a command that reproduces one of the worst".into(),
        ];
        notes.extend(self.left_out.iter().map(|left_out| left_out.sentence()));
        notes
    }
}

fn section(rows: &[Row]) -> Section {
    let names = Column::words("algorithm", rows.iter().map(|row| row.name().to_owned()).collect());
    let sizes = Column::figures("nodes", rows.iter().map(|row| row.study.nodes.to_string()).collect());
    Section { title: "", stub: vec![names, sizes], groups: FailureMode::ALL.map(|harm| group(rows, harm)).into() }
}

fn group(rows: &[Row], harm: FailureMode) -> Group {
    let column = |victim: Victim| {
        let cell = |row: &Row| row.tally(victim, harm).map_or(UNKNOWN.into(), cell);
        Column::words(victim.name(), rows.iter().map(cell).collect())
    };
    let name = match harm {
        FailureMode::Dies => "one of these crashes for good",
        FailureMode::Restarts => "one of these restarts without its state",
    };
    Group { name: name.into(), figures: Victim::ALL.map(column).to_vec(), ..Group::default() }
}

/// The worst effect, and its frequency if it is not constant.
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
    harm: FailureMode,
    /// The worst effect on the other nodes.
    fate: Fate,
    runs: u64,
    goes_on: u64,
    stops: u64,
    #[serde(rename = "unsafe")]
    breaks: u64,
    /// Number of runs in which a fence was not larger than an earlier one.
    fences_back: u64,
    /// The violation in one of the worst runs, if there was any.
    why: Option<&'a str>,
    command: Option<String>,
}

/// One line of the report; `None` without runs.
fn line<'a>(row: &Row, found: &'a Finding) -> Option<Line<'a>> {
    let Finding { victim, harm, tally } = found;
    let example = tally.example.as_ref();
    Some(Line {
        algorithm: row.name(),
        nodes: row.study.nodes,
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
