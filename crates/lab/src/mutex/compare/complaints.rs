//! Whatever is not as it should be in a comparison, each with the command that shows it.

use super::costs::{Costs, Row, Side, World};
use super::table::traffic_name;

/// So many complaints are enough to know what to do.
const MOST_COMPLAINTS: usize = 5;

/// What fails and what is not the book's.
pub(super) fn complaints(costs: &Costs) -> Vec<String> {
    let sides = costs.rows.iter().flat_map(|row| row.sides().map(move |side| (row, side)));
    let mut wrong: Vec<_> = sides.filter_map(|(row, side)| complaint(row, side)).collect();
    let all = wrong.len();
    if all > MOST_COMPLAINTS {
        wrong.truncate(MOST_COMPLAINTS);
        wrong.push(format!("{all} runs are wrong in all; --json tells of every one."));
    }
    wrong
}

/// What is wrong with one side, if anything is.
fn complaint(row: &Row, side: &Side) -> Option<String> {
    let breach = side.measured.breaches.first().map(|breach| {
        let why = breach.violation.as_ref().map(|violation| format!(": at {} {}", violation.time, violation.text));
        format!("'{}' fails{}", breach.name, why.unwrap_or_default())
    });
    let difference = side.measured.differences.first().map(ToString::to_string);
    let what = breach.or(difference)?;
    let (world, again) = match side.world {
        World::Simulated => ("simulated", format!("{} --steps", side.again)),
        World::Real => ("real", format!("{} --trace run.journal && quorate replay run.journal --steps", side.again)),
    };
    // A run that can be looked at is better than one that may not do it again.
    let show = side.journal.as_ref().map_or(again, |journal| format!("quorate replay {journal} --steps"));
    let (who, nodes, when) = (row.name(), row.heat.nodes, traffic_name(row.heat.traffic));
    Some(format!("{who} with {nodes} nodes, {when}, {world}: {what}.\nTo see it: {show}"))
}
