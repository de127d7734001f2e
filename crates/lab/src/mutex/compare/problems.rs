//! The problems that a comparison found, each with a command that demonstrates it.

use super::costs::{CostComparison, CostRow, RunKind, RunResult};
use super::table::traffic_name;

/// Maximum number of listed problems.
const MAX_PROBLEMS: usize = 5;

/// Describes one violated property or unexpected figure of each run that has any, up to a maximum
/// number of runs.
pub(super) fn problems(costs: &CostComparison) -> Vec<String> {
    let results = costs.rows.iter().flat_map(|row| row.results().map(move |result| (row, result)));
    let mut problems: Vec<_> = results.filter_map(|(row, result)| problem(row, result)).collect();
    let total = problems.len();
    if total > MAX_PROBLEMS {
        problems.truncate(MAX_PROBLEMS);
        problems.push(format!("{total} runs have problems in total; --json lists all of them."));
    }
    problems
}

/// Describes the problem of one result, if there is any.
fn problem(row: &CostRow, result: &RunResult) -> Option<String> {
    let violation = result.measured.violations.first().map(|violation| {
        let reason =
            violation.violation.as_ref().map(|violation| format!(": at {} {}", violation.time, violation.text));
        format!("'{}' fails{}", violation.name, reason.unwrap_or_default())
    });
    let difference = result.measured.differences.first().map(ToString::to_string);
    let problem = violation.or(difference)?;
    let (kind_name, repeat_command) = match result.kind {
        RunKind::Simulated => ("simulated", format!("{} --steps", result.repeat_command)),
        RunKind::Real => {
            ("real", format!("{} --trace run.journal; quorate replay run.journal --steps", result.repeat_command))
        }
    };
    // A recorded run is better than one that may not happen again.
    let demonstration =
        result.journal.as_ref().map_or(repeat_command, |journal| format!("quorate replay {journal} --steps"));
    let (algorithm, nodes, when) = (row.name(), row.case.nodes, traffic_name(row.case.traffic));
    Some(format!("{algorithm} with {nodes} nodes, {when}, {kind_name}: {problem}.\nTo see it: {demonstration}"))
}
