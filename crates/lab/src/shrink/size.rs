//! The size of a run, and the removal of parts without effect.

use super::Figures;
use super::times::{MILLISECOND, floor, times};
use super::trial::Failure;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Direction, Fate, Latency, Length};

/// The size of a run; the parent module describes the order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size {
    pub(super) nodes: usize,
    steps: u64,
    lines: u64,
    command: usize,
    /// Sum of all times and durations of the script, in milliseconds.
    millis: u64,
    text: usize,
    time: u64,
    seed: u64,
}

impl Size {
    /// The parts of the size that matter before all times: nodes, events and lines.
    pub(super) fn bulk(&self) -> (usize, u64, u64) {
        (self.nodes, self.steps, self.lines)
    }
}

/// The same run without parts that have no effect.
pub(super) fn without_unused_parts<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> Spec<F> {
    let mut tidy = spec.clone();
    let breach = Duration::from_nanos(u64::try_from(failure.violation.time.nanos()).unwrap_or(0));
    let ends = failure.kind == Kind::Always;
    if ends {
        // The run ends with the millisecond of the violation.
        let whole = floor(breach, MILLISECOND);
        tidy.until = Some(Length(if whole == breach { breach } else { whole + MILLISECOND }));
    }
    if let Some(script) = &mut tidy.script {
        if ends {
            script.commands.retain(|command| command.at <= breach);
            script.faults.retain(|fault| fault.at <= breach);
            for fault in &mut script.faults {
                fault.lasts = fault.lasts.filter(|lasts| fault.at + *lasts <= breach);
            }
        }
        let is_default = |direction: &Direction| match direction {
            Direction::Message { fate: Fate::Takes(length), .. } => spec.latency == Latency::Fixed(*length),
            Direction::Sync { takes, .. } => spec.disk == Latency::Fixed(*takes),
            Direction::Message { .. } | Direction::Timer { .. } => false,
        };
        // A duplicated message needs a direction for its first delivery too, or that would be
        // random.
        script.directions.retain(|direction| failure.used(direction) && !is_default(direction));
    }
    tidy
}

pub(super) fn figures<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> Figures {
    Figures {
        nodes: spec.nodes,
        commands: failure.commands,
        faults: spec.every_fault().len() as u64,
        directions: spec.directions().len() as u64,
        events: failure.events,
    }
}

/// Returns the size of a run.
pub(super) fn size<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> Size {
    let Figures { nodes, commands, faults, directions, events } = figures(spec, failure);
    let scripted = spec.script.as_ref().map(|script| script.commands.len() as u64);
    let lines = scripted.unwrap_or(commands) + faults + directions;
    Size {
        nodes,
        steps: events + lines,
        lines,
        command: Spec { until: None, ..spec.clone() }.command("sim").len(),
        millis: spec.script.clone().map_or(0, |mut script| times(&mut script).iter().map(|time| millis(**time)).sum()),
        text: spec.script.as_ref().map_or(0, |script| script.to_string().len()),
        time: u64::try_from(failure.violation.time.nanos()).unwrap_or(0),
        seed: spec.seed,
    }
}

/// Number of milliseconds that a fraction of one counts as: whole numbers are easier to read.
const FRACTION_COST: u64 = 20;

fn millis(length: Duration) -> u64 {
    let (whole, rest) = (length.nanos() / 1_000_000, length.nanos() % 1_000_000);
    whole + if rest > 0 { FRACTION_COST } else { 0 }
}
