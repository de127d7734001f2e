//! What can be done with a run that breaks a property: the closing lines of whoever found it.

use crate::args::PictureArgs;
use quorate_draw::sketch::MOST_STEPS;
use quorate_journal::property::Verdict;
use quorate_journal::settings::Offset;
use quorate_lab::{FamilyLab, Spec};
use std::io::{self, Write};

/// What a picture is called where nobody gave it a name.
pub(crate) const NAMELESS: &str = "broken.svg";

/// Says how to see a broken run again, how to draw it unless that was done, and how to make it small.
pub(crate) fn hints<F: FamilyLab>(
    spec: &Spec<F>,
    breach: &Verdict,
    events: u64,
    args: &PictureArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let again = spec.command("sim");
    writeln!(out, "To see it again: {again}")?;
    if !args.is_wanted() {
        writeln!(out, "To draw it: {again}{} --svg {NAMELESS}", window(breach, events))?;
    }
    writeln!(out, "To make it small: {}", spec.command("shrink"))
}

/// Of a run that is too long to be drawn step by step, the part that leads to the breach.
fn window(breach: &Verdict, events: u64) -> String {
    match &breach.violation {
        Some(violation) if events > MOST_STEPS as u64 => {
            let [from, to] = [violation.since, violation.time].map(|time| Offset::from_nanos(time.nanos()));
            format!(" --from {from} --to {to}")
        }
        Some(_) | None => String::new(),
    }
}
