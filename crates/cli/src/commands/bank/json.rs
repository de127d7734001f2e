//! JSON report of `quorate bank`.

use super::{BankReport, Outcome, Row};
use crate::picture::Picture;
use crate::report::print_json;
use quorate_demos::bank::{SeedTotals, Statement, Terms};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    terms: Terms,
    expected: u64,
    seed: u64,
    seeds: u64,
    /// Whether no money was lost under any lock.
    holds: bool,
    rows: Vec<RowReport<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
struct RowReport<'a> {
    lock: &'static str,
    nodes: usize,
    #[serde(flatten)]
    result: OutcomeReport<'a>,
    /// The command that repeats the run; only if the balance is wrong.
    #[serde(rename = "again", skip_serializing_if = "Option::is_none")]
    repeat_command: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OutcomeReport<'a> {
    Once(&'a Statement),
    Many(&'a SeedTotals),
    /// The algorithm has no group of this size.
    NoGroup {
        skipped: &'static str,
    },
}

pub(super) fn print(report: &BankReport<'_>) -> anyhow::Result<()> {
    print_json(&Report {
        terms: report.terms,
        expected: report.terms.expected(),
        seed: report.args.seed,
        seeds: report.args.seeds,
        holds: report.failures().next().is_none(),
        rows: report.rows.iter().map(|row| row_report(report, row)).collect(),
        pictures: report.pictures,
    })
}

fn row_report<'a>(report: &BankReport<'_>, row: &'a Row) -> RowReport<'a> {
    let result = match &row.result {
        Outcome::Once(statement) => OutcomeReport::Once(statement),
        Outcome::Many(totals) => OutcomeReport::Many(totals),
        Outcome::NoGroup(sizes) => OutcomeReport::NoGroup { skipped: sizes },
    };
    let repeat_command = row.first_wrong_seed().map(|seed| report.repeat_command(row, seed));
    RowReport { lock: row.lock, nodes: row.spec.nodes, result, repeat_command }
}
