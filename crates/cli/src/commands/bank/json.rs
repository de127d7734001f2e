//! JSON report of `quorate bank`.

use super::{BankReport, LockOutcome, LockRow};
use crate::picture::Picture;
use crate::report::print_json;
use quorate_demos::bank::{BankSettings, SeedTotals, Statement};
use serde::Serialize;

#[derive(Serialize)]
struct BankJson<'a> {
    #[serde(flatten)]
    settings: BankSettings,
    expected: u64,
    seed: u64,
    seeds: u64,
    /// Whether the final balance is correct with every lock that was run. The case without a lock
    /// counts only if `--lock` names it.
    holds: bool,
    rows: Vec<LockJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
struct LockJson<'a> {
    lock: &'static str,
    nodes: usize,
    #[serde(flatten)]
    result: OutcomeJson<'a>,
    /// The command that repeats the run; only if the balance is wrong.
    #[serde(rename = "again", skip_serializing_if = "Option::is_none")]
    repeat_command: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OutcomeJson<'a> {
    Once(&'a Statement),
    Many(&'a SeedTotals),
    /// The algorithm has no group of this size.
    NoGroup {
        /// The sizes of groups that the algorithm accepts.
        #[serde(rename = "skipped")]
        accepted_sizes: &'static str,
    },
}

pub(super) fn print(report: &BankReport<'_>) -> anyhow::Result<()> {
    print_json(&BankJson {
        settings: report.settings,
        expected: report.settings.expected_balance(),
        seed: report.args.seed,
        seeds: report.args.seeds,
        holds: report.failures().next().is_none(),
        rows: report.rows.iter().map(|row| build_row(report, row)).collect(),
        pictures: report.pictures,
    })
}

fn build_row<'a>(report: &BankReport<'_>, row: &'a LockRow) -> LockJson<'a> {
    let result = match &row.result {
        LockOutcome::Once(statement) => OutcomeJson::Once(statement),
        LockOutcome::Many(totals) => OutcomeJson::Many(totals),
        LockOutcome::NoGroup(sizes) => OutcomeJson::NoGroup { accepted_sizes: sizes },
    };
    let repeat_command = row.first_wrong_seed().map(|seed| report.repeat_command(row, seed));
    LockJson { lock: row.lock, nodes: row.spec.nodes, result, repeat_command }
}
