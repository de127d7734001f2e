//! `quorate list`: lists the algorithms.

use crate::CommandOutcome;
use crate::args::ListArgs;
use crate::output::output;
use crate::report::align_columns;
use crate::{paint, report};
use quorate_core::about::Profile;
use quorate_demos::{armies, local};
use quorate_lab::FamilyLab;
use quorate_lab::figures::{CostFigure, ListedCost};
use quorate_lab::registry::{Entry, Family, Task, all, dispatch_to_family, fixtures};
use serde::Serialize;
use std::io::Write;

/// Explains the abbreviations in the column `messages`.
const LEGEND: &str = "n: nodes   own: an entry of the coordinator   voters: an entry of a voter   full load: an entry when all \
                      nodes request   e: waits between sites   other letters: see 'quorate explain NAME'";

#[derive(Serialize)]
struct AlgorithmRow {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<Family>,
    class: &'static str,
    summary: &'static str,
    #[serde(flatten)]
    cost: Option<ListedCost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'static str>,
}

/// The task to look up the message cost of an algorithm, as its family states it.
struct FindCost;

impl Task for FindCost {
    type Output = Option<ListedCost>;

    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> Option<ListedCost> {
        F::listed_cost(entry)
    }
}

impl From<&'static Entry> for AlgorithmRow {
    fn from(entry: &'static Entry) -> Self {
        let Profile { name, class, summary, flaw, .. } = *entry.profile();
        Self { name, family: Some(entry.family()), class, summary, cost: dispatch_to_family(entry, FindCost), flaw }
    }
}

impl AlgorithmRow {
    /// Returns the cells of the printed table. The last cell of a fixture describes its flaw, or
    /// says that it has none: some fixtures are the correct counterparts of faulty ones.
    fn cells(&self, is_fixture: bool) -> [String; 5] {
        let description = match self.flaw {
            Some(flaw) => flaw.to_owned(),
            None if is_fixture => format!("none: {}", self.summary),
            None => self.summary.to_owned(),
        };
        let cost = self.cost.as_ref().map_or_else(|| "–".to_owned(), ToString::to_string);
        let family = self.family.map_or("–", Family::name);
        [self.name.to_owned(), family.to_owned(), self.class.to_owned(), cost, description]
    }
}

/// Returns the row of the race in one process. It belongs to no family, because its threads are not
/// nodes, and is listed after mutual exclusion, its subject.
fn build_local_row() -> AlgorithmRow {
    let Profile { name, class, summary, flaw, .. } = local::PROFILE;
    let figures = ["messages_per_entry", "client_delay", "sync_delay"].map(|name| (name, CostFigure::Formula("0")));
    let cost = ListedCost { unit: "per entry", figures: figures.into() };
    AlgorithmRow { name, family: None, class, summary, cost: Some(cost), flaw }
}

/// Returns the row of the two armies. They belong to no family, because they show the effects of
/// assumptions about time.
fn build_armies_row() -> AlgorithmRow {
    let Profile { name, class, summary, flaw, .. } = armies::PROFILE;
    // Each army sends its strength, and the leader sends the order.
    let cost = ListedCost { unit: "in total", figures: vec![("messages", CostFigure::Number(3))] };
    AlgorithmRow { name, family: None, class, summary, cost: Some(cost), flaw }
}

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<CommandOutcome> {
    let entries = if args.fixtures { fixtures() } else { all() };
    let mut rows: Vec<AlgorithmRow> = entries.iter().map(AlgorithmRow::from).collect();
    if !args.fixtures {
        let index = rows.iter().rposition(|row| row.family == Some(Family::Mutex)).map_or(0, |last| last + 1);
        rows.insert(index, build_local_row());
        rows.push(build_armies_row());
    }
    if args.json {
        report::print_json(&rows)?;
        return Ok(CommandOutcome::Holds);
    }
    let mut out = output();
    let heading = ["name", "family", "class", "messages", if args.fixtures { "flaw" } else { "idea" }];
    let mut cells = vec![heading.map(str::to_owned)];
    cells.extend(rows.iter().map(|row| row.cells(args.fixtures)));
    for (index, line) in align_columns(&cells, heading.len()).into_iter().enumerate() {
        writeln!(out, "{}", if index == 0 { paint::bold(&line) } else { line })?;
    }
    writeln!(out, "\n{}", paint::dim(LEGEND))?;
    writeln!(out, "{}", paint::dim("'quorate explain NAME' explains an algorithm; 'quorate sim NAME' runs it."))?;
    if !args.fixtures {
        writeln!(
            out,
            "{}",
            paint::dim("'quorate list --fixtures' lists faulty variants, which are wrong on purpose.")
        )?;
    }
    Ok(CommandOutcome::Holds)
}
