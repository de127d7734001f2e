//! Compares runs by size, and removes the parts of a run that have no effect.

use super::RunFigures;
use super::times::{MILLISECOND, all_times, floor_to};
use super::trial::Failure;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Direction, Fate, Latency, Length};

/// The size of a run. Sizes are compared field by field, as the parent module explains.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size {
    pub(super) nodes: usize,
    /// Events up to the violation plus `lines`.
    events_and_lines: u64,
    /// Lines of the script, and faults outside it. Without a script, the commands up to the
    /// violation count as lines.
    lines: u64,
    /// Length of the command that repeats the run, without `--until`.
    command_length: usize,
    /// Sum of all times and durations of the script, in milliseconds; see [`FRACTION_COST`].
    total_millis: u64,
    /// Length of the script as text.
    script_length: usize,
    /// Time of the violation, in nanoseconds.
    violation_nanos: u64,
    seed: u64,
}

impl Size {
    /// The parts of the size that are compared first: nodes, events and lines.
    pub(super) fn leading_parts(&self) -> (usize, u64, u64) {
        (self.nodes, self.events_and_lines, self.lines)
    }
}

/// Returns the same run without the parts that have no effect on the failure.
pub(super) fn without_unused_parts<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> Spec<F> {
    let mut reduced = spec.clone();
    let violated_at = Duration::from_nanos(u64::try_from(failure.violation.time.nanos()).unwrap_or(0));
    // A safety violation is final, so everything after it can be removed.
    let is_final = failure.kind == PropertyKind::Always;
    if is_final {
        // The run ends at the violation, rounded up to a whole millisecond.
        let whole_millis = floor_to(violated_at, MILLISECOND);
        reduced.until =
            Some(Length(if whole_millis == violated_at { violated_at } else { whole_millis + MILLISECOND }));
    }
    if let Some(script) = &mut reduced.script {
        if is_final {
            script.commands.retain(|command| command.at <= violated_at);
            script.faults.retain(|fault| fault.at <= violated_at);
            for fault in &mut script.faults {
                fault.duration = fault.duration.filter(|duration| fault.at + *duration <= violated_at);
            }
        }
        // Losses, second copies and timers have no default that a direction could repeat.
        let is_default = |direction: &Direction| match direction {
            Direction::Message { fate: Fate::Takes(length), .. } => spec.latency == Latency::Fixed(*length),
            Direction::Sync { duration, .. } => spec.disk == Latency::Fixed(*duration),
            Direction::Message { .. } | Direction::Timer { .. } => false,
        };
        script.directions.retain(|direction| failure.has_choice(direction) && !is_default(direction));
    }
    reduced
}

pub(super) fn figures_of_run<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> RunFigures {
    RunFigures {
        nodes: spec.nodes,
        commands: failure.commands,
        faults: failure.faults,
        directions: spec.directions().len() as u64,
        events: failure.events,
    }
}

pub(super) fn size_of_run<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> Size {
    let RunFigures { nodes, commands, faults, directions, events } = figures_of_run(spec, failure);
    let scripted_commands = spec.script.as_ref().map(|script| script.commands.len() as u64);
    let lines = scripted_commands.unwrap_or(commands) + faults + directions;
    Size {
        nodes,
        events_and_lines: events + lines,
        lines,
        command_length: Spec { until: None, ..spec.clone() }.command("sim").len(),
        total_millis: spec
            .script
            .clone()
            .map_or(0, |mut script| all_times(&mut script).iter().map(|time| cost_in_millis(**time)).sum()),
        script_length: spec.script.as_ref().map_or(0, |script| script.to_string().len()),
        violation_nanos: u64::try_from(failure.violation.time.nanos()).unwrap_or(0),
        seed: spec.seed,
    }
}

/// Number of milliseconds that a fraction of a millisecond counts as. This makes whole milliseconds
/// preferable, because they are easier to read.
const FRACTION_COST: u64 = 20;

fn cost_in_millis(length: Duration) -> u64 {
    let (whole, rest) = (length.nanos() / 1_000_000, length.nanos() % 1_000_000);
    whole + if rest > 0 { FRACTION_COST } else { 0 }
}
