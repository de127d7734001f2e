//! `quorate compare mutex --failures`: the effect of a node failure on the other nodes, for each
//! algorithm and victim.

use super::compared::UnsupportedSizes;
use super::json::{UnsupportedSize, unsupported_sizes};
use crate::compare::{
    Chart, Column, ColumnGroup, CompareError, Comparison, GroupedTable, Host, MARK_NOT_JUDGED, Page, PartCounts, Table,
};
use crate::mutex::Mutex;
use crate::mutex::failures::{FailureEffect, FailureMode, FailureStudy, Finding, Tally, Victim, run_study};
use crate::registry::Family;
use serde::Serialize;

/// The planned failure studies, and their results so far.
pub(super) struct FailureComparison {
    pub(super) studies: Vec<FailureStudy>,
    /// Algorithms and the requested group sizes that they do not support.
    pub(super) unsupported_sizes: Vec<UnsupportedSizes>,
    pub(super) seed: u64,
    pub(super) rows: Vec<FailureRow>,
}

/// The findings about one algorithm in a group of one size.
pub(super) struct FailureRow {
    study: FailureStudy,
    findings: Vec<Finding>,
}

impl FailureRow {
    fn name(&self) -> &'static str {
        self.study.algorithm.facts.profile.name
    }

    /// Returns the results for a victim and a failure mode; `None` without runs.
    fn tally(&self, victim: Victim, mode: FailureMode) -> Option<&Tally> {
        let finding = self.findings.iter().find(|finding| finding.victim == victim && finding.mode == mode)?;
        Some(&finding.tally).filter(|tally| tally.runs() > 0)
    }
}

impl Comparison for FailureComparison {
    type Family = Mutex;

    fn work(&self) -> (u64, &'static str) {
        (self.studies.len() as u64, "studies")
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
            rows.push(FailureRow { study, findings });
            host.advance();
        }
        self.rows = rows;
        Ok(())
    }

    fn parts(&self) -> PartCounts {
        PartCounts { finished: self.rows.len(), total: self.studies.len(), name: "row" }
    }

    /// A finding is never an error: textbook algorithms promise nothing under failures.
    fn is_correct(&self) -> bool {
        true
    }

    fn page(&self) -> Page {
        let subject = "effect of a node failure on the other nodes";
        Page {
            conditions: format!("{subject} · textbook form, bare links · seed {}", self.seed),
            tables: vec![Table::Grouped(effects_table(&self.rows))],
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
            left_out: unsupported_sizes(&self.unsupported_sizes),
        }
    }
}

impl FailureComparison {
    fn notes(&self) -> Vec<String> {
        let runs = self.studies.iter().map(|study| study.runs).max().unwrap_or_default();
        let mut notes = vec![
            "continues: every live requester is granted entry   stops: a requester waits forever   unsafe: two nodes hold the lock"
                .into(),
            format!(
                "the worst result of {runs} runs with failures at different times; 12/{runs}: in 12 of them; without a fraction: in all"
            ),
            "--json counts the results, and gives a command that reproduces one of the worst".into(),
        ];
        notes.extend(self.unsupported_sizes.iter().map(|unsupported| unsupported.to_sentence()));
        notes
    }
}

fn effects_table(rows: &[FailureRow]) -> GroupedTable {
    let names = Column::words("algorithm", rows.iter().map(|row| row.name().to_owned()).collect());
    let sizes = Column::figures("nodes", rows.iter().map(|row| row.study.nodes.to_string()).collect());
    GroupedTable {
        title: "",
        stub: vec![names, sizes],
        groups: FailureMode::ALL.map(|mode| effects_of_mode(rows, mode)).into(),
    }
}

fn effects_of_mode(rows: &[FailureRow], mode: FailureMode) -> ColumnGroup {
    let column = |victim: Victim| {
        let cell = |row: &FailureRow| row.tally(victim, mode).map_or(MARK_NOT_JUDGED.into(), format_effect);
        Column::words(victim.name(), rows.iter().map(cell).collect())
    };
    let name = match mode {
        FailureMode::Dies => "one of these crashes for good",
        FailureMode::Restarts => "one of these restarts without its state",
    };
    ColumnGroup { name: name.into(), figures: Victim::ALL.map(column).to_vec(), ..ColumnGroup::default() }
}

/// Returns the worst effect, with its frequency unless all runs have it.
fn format_effect(tally: &Tally) -> String {
    let Some(effect) = tally.worst_effect() else { return MARK_NOT_JUDGED.into() };
    match (tally.count(effect), tally.runs()) {
        (all, runs) if all == runs => effect.name().into(),
        (some, runs) => format!("{} {some}/{runs}", effect.name()),
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
    #[serde(rename = "fate")]
    worst_effect: FailureEffect,
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
fn report_row<'a>(row: &FailureRow, finding: &'a Finding) -> Option<ReportRow<'a>> {
    let Finding { victim, mode, tally } = finding;
    let example = tally.example.as_ref();
    Some(ReportRow {
        algorithm: row.name(),
        nodes: row.study.nodes,
        victim: *victim,
        mode: *mode,
        worst_effect: tally.worst_effect()?,
        runs: tally.runs(),
        continuing_runs: tally.continuing_runs,
        stopped_runs: tally.stopped_runs,
        unsafe_runs: tally.unsafe_runs,
        fence_regressions: tally.fence_regressions,
        violation: example.and_then(|example| example.violation.as_deref()),
        command: example.map(|example| example.spec.command("sim")),
    })
}
