//! Commands to inspect a failing run, printed after a report.

use crate::args::PictureArgs;
use quorate_draw::scene_builder::MAX_STEPS;
use quorate_journal::property::Verdict;
use quorate_journal::settings::Offset;
use quorate_lab::{FamilyLab, Spec};
use std::io::{self, Write};

/// Name of the picture in suggested commands.
pub(crate) const DEFAULT_PICTURE: &str = "broken.svg";

/// Prints the commands that repeat a failing run, draw it (unless it was drawn) and shrink it.
pub(crate) fn hints<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    events: u64,
    args: &PictureArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let again = spec.command("sim");
    writeln!(out, "To see it again: {again}")?;
    if !args.is_wanted() {
        writeln!(out, "To draw it: {again}{} --svg {DEFAULT_PICTURE}", window(failure, events))?;
    }
    writeln!(out, "To shrink it: {}", spec.command("shrink"))
}

/// Returns the options that select the part before the violation, if the run is too long to be
/// drawn step by step.
fn window(failure: &Verdict, events: u64) -> String {
    match &failure.violation {
        Some(violation) if events > MAX_STEPS as u64 => {
            let [from, to] = [violation.since, violation.time].map(|time| Offset::from_nanos(time.nanos()));
            format!(" --from {from} --to {to}")
        }
        Some(_) | None => String::new(),
    }
}
