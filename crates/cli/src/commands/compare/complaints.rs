//! Whatever is not as it should be in a comparison, each with the command that shows it.

use super::table::traffic_name;
use super::{Comparison, Row, Side, World};
use crate::output::name;
use std::io::{self, Write};

/// So many complaints are enough to know what to do.
const MOST_COMPLAINTS: usize = 5;

/// What fails and what is not the book's.
pub(super) fn write(comparison: &Comparison<'_>, out: &mut impl Write) -> io::Result<()> {
    let sides = comparison.rows.iter().flat_map(|row| row.sides().map(move |side| (row, side)));
    let wrong: Vec<_> = sides.filter_map(|(row, side)| complaint(row, side)).collect();
    for complaint in wrong.iter().take(MOST_COMPLAINTS) {
        writeln!(out, "\n{complaint}")?;
    }
    if wrong.len() > MOST_COMPLAINTS {
        writeln!(out, "\n{} runs are wrong in all; --json tells of every one.", wrong.len())?;
    }
    Ok(())
}

/// What is wrong with one side, if anything is.
pub(super) fn complaint(row: &Row, side: &Side) -> Option<String> {
    let breach = side.measured.breaches.first().map(|breach| {
        let why = breach.violation.as_ref().map(|violation| format!(": at {} {}", violation.time, violation.text));
        format!("'{}' fails{}", breach.name, why.unwrap_or_default())
    });
    let difference = side.measured.differences.first().map(ToString::to_string);
    let what = breach.or(difference)?;
    let (world, again) = match side.world {
        World::Recordable => ("simulated", format!("{} --steps", side.again)),
        World::Real => ("real", format!("{} --trace run.journal && quorate replay run.journal --steps", side.again)),
    };
    // A run that can be looked at is better than one that may not do it again.
    let show = side.journal.as_ref().map_or(again, |journal| format!("quorate replay {} --steps", name(journal)));
    let (who, nodes, when) = (row.name(), row.nodes, traffic_name(row.traffic));
    Some(format!("{who} with {nodes} nodes, {when}, {world}: {what}.\nTo see it: {show}"))
}
