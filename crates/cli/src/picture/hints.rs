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
pub(crate) fn print_hints<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    events: u64,
    args: &PictureArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let repeat_command = spec.command("sim");
    writeln!(out, "To see it again: {repeat_command}")?;
    if !args.is_wanted() {
        writeln!(out, "To draw it: {repeat_command}{} --svg {DEFAULT_PICTURE}", window_options(failure, events))?;
    }
    writeln!(out, "To shrink it: {}", spec.command("shrink"))
}

/// Returns the options that select the part before the violation, if the run is too long to be
/// drawn step by step.
fn window_options(failure: &Verdict, events: u64) -> String {
    match &failure.violation {
        Some(violation) if events > MAX_STEPS as u64 => {
            let [from, to] = [violation.relevant_from, violation.time].map(|time| Offset::from_nanos(time.nanos()));
            format!(" --from {from} --to {to}")
        }
        Some(_) | None => String::new(),
    }
}
