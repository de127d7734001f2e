//! `quorate compare mutex --failures`: the effect of a node failure on the other nodes, for each
//! algorithm and victim.

use super::compared::UnsupportedSizes;
use super::json::{UnsupportedSize, unsupported_sizes};
use crate::compare::{Chart, Column, CompareError, Comparison, Group, Host, Page, Parts, Section, Table, UNKNOWN};
use crate::mutex::Mutex;
use crate::mutex::failures::{FailureMode, FailureStudy, Fate, Finding, Tally, Victim, run_study};
use crate::registry::Family;
use serde::Serialize;

/// The planned failure studies, and their results so far.
pub(super) struct Failures {
    pub(super) studies: Vec<FailureStudy>,
    /// Algorithms and the requested group sizes that they do not support.
    pub(super) left_out: Vec<UnsupportedSizes>,
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

    /// Returns the results for a victim and a failure mode; `None` without runs.
    fn tally(&self, victim: Victim, mode: FailureMode) -> Option<&Tally> {
        let finding = self.findings.iter().find(|finding| finding.victim == victim && finding.mode == mode)?;
        Some(&finding.tally).filter(|tally| tally.runs() > 0)
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
    fn is_correct(&self) -> bool {
        true
    }

    fn page(&self) -> Page {
        let subject = "effect of a node failure on the other nodes";
        Page {
            conditions: format!("{subject} · textbook form, bare links · seed {}", self.seed),
            tables: vec![Table::Blocks(section(&self.rows))],
            notes: vec![self.notes()],
            problems: Vec::new(),
        }
    }

    fn chart(&self) -> Option<Chart> {
        None
    }

    fn report(&self) -> impl Serialize {
        let rows = self.rows.iter().flat_map(|row| row.findings.iter().filter_map(|finding| report_row(row, finding)));
        Report {
            family: Family::Mutex,
            seed: self.seed,
            complete: self.is_complete(),
            rows: rows.collect(),
            left_out: unsupported_sizes(&self.left_out),
        }
    }
}

impl Failures {
    fn notes(&self) -> Vec<String> {
        let runs = self.studies.iter().map(|study| study.runs).max().unwrap_or_default();
        let mut notes = vec![
            "continues: every live requester is granted entry   stops: a requester waits forever   unsafe: two nodes hold the lock"
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
    Section { title: "", stub: vec![names, sizes], groups: FailureMode::ALL.map(|mode| group(rows, mode)).into() }
}

fn group(rows: &[Row], mode: FailureMode) -> Group {
    let column = |victim: Victim| {
        let cell = |row: &Row| row.tally(victim, mode).map_or(UNKNOWN.into(), cell);
        Column::words(victim.name(), rows.iter().map(cell).collect())
    };
    let name = match mode {
        FailureMode::Dies => "one of these crashes for good",
        FailureMode::Restarts => "one of these restarts without its state",
    };
    Group { name: name.into(), figures: Victim::ALL.map(column).to_vec(), ..Group::default() }
}

/// Returns the worst effect, with its frequency unless all runs have it.
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
    rows: Vec<ReportRow<'a>>,
    left_out: Vec<UnsupportedSize>,
}

#[derive(Serialize)]
struct ReportRow<'a> {
    algorithm: &'a str,
    nodes: usize,
    victim: Victim,
    #[serde(rename = "harm")]
    mode: FailureMode,
    /// The worst effect on the other nodes.
    fate: Fate,
    runs: u64,
    #[serde(rename = "goes_on")]
    continuing_runs: u64,
    #[serde(rename = "stops")]
    stopped_runs: u64,
    #[serde(rename = "unsafe")]
    unsafe_runs: u64,
    /// Number of runs in which a fence was not larger than an earlier one.
    #[serde(rename = "fences_back")]
    fence_regressions: u64,
    /// The violation in one of the worst runs; `None` if there was none.
    #[serde(rename = "why")]
    violation: Option<&'a str>,
    /// A command that reproduces one of the worst runs.
    command: Option<String>,
}

/// Returns one row of the JSON report; `None` without runs.
fn report_row<'a>(row: &Row, finding: &'a Finding) -> Option<ReportRow<'a>> {
    let Finding { victim, mode, tally } = finding;
    let example = tally.example.as_ref();
    Some(ReportRow {
        algorithm: row.name(),
        nodes: row.study.nodes,
        victim: *victim,
        mode: *mode,
        fate: tally.fate()?,
        runs: tally.runs(),
        continuing_runs: tally.continuing_runs,
        stopped_runs: tally.stopped_runs,
        unsafe_runs: tally.unsafe_runs,
        fence_regressions: tally.fence_regressions,
        violation: example.and_then(|example| example.violation.as_deref()),
        command: example.map(|example| example.spec.command("sim")),
    })
}
