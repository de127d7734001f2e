//! What came of the deposits, for programs.

use super::{Day, Outcome, Row};
use crate::picture::Picture;
use crate::report;
use quorate_demos::bank::{Count, Statement, Terms};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    terms: Terms,
    expected: u64,
    seed: u64,
    seeds: u64,
    /// Whether every lock kept the money.
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
    result: Result<'a>,
    /// There if the balance is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Result<'a> {
    Once(&'a Statement),
    Many(&'a Count),
    /// Why there is nothing to tell.
    NoGroup {
        skipped: &'static str,
    },
}

pub(super) fn print(day: &Day<'_>) -> anyhow::Result<()> {
    report::json(&Report {
        terms: day.terms,
        expected: day.terms.expected(),
        seed: day.args.seed,
        seeds: day.args.seeds,
        holds: day.wrong().next().is_none(),
        rows: day.rows.iter().map(|row| of_row(day, row)).collect(),
        pictures: day.pictures,
    })
}

fn of_row<'a>(day: &Day<'_>, row: &'a Row) -> RowReport<'a> {
    let result = match &row.result {
        Outcome::Once(statement) => Result::Once(statement),
        Outcome::Many(count) => Result::Many(count),
        Outcome::NoGroup(sizes) => Result::NoGroup { skipped: sizes },
    };
    let again = row.wrong().map(|seed| day.again(row, seed));
    RowReport { lock: row.lock, nodes: row.spec.nodes, result, again }
}
