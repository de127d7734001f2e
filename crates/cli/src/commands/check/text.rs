//! Text report of `quorate check`.

use super::{DEFAULT_JOURNAL, WrittenJournal, main_search, per_second, phase_name};
use crate::args::{CheckArgs, PictureArgs};
use crate::memory::Memory;
use crate::output::{display_path, output};
use crate::paint;
use crate::picture::{self, Picture};
use crate::report::{format_count, format_thousands, print_property, print_steps};
use quorate_check::{Counterexample, Findings, Pass, Phase, Search, SearchEnd, Setup, Timing, Verdict, Views, Walks};
use quorate_core::Time;
use quorate_journal::settings::{DurationRange, Length};
use quorate_lab::check::{CheckRun, CheckSpec, CheckedFamily, draw_command, replay_command};
use quorate_lab::trace::{self, Trace};
use std::io::{self, Write};

/// Prints the whole report, with the names of the journal and the pictures that were written.
pub(super) fn print<F: CheckedFamily>(
    spec: &CheckSpec<F>,
    run: &CheckRun<F>,
    args: &CheckArgs,
    written: Option<&WrittenJournal<'_>>,
    pictures: &[Picture],
) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "{}\n", describe_check(spec))?;
    print_figures(spec, &run.findings, &mut out)?;
    writeln!(out)?;
    for verdict in &run.findings.verdicts {
        print_property(verdict.kind, verdict.name, &describe_verdict(verdict), &mut out)?;
    }
    let violations = run.violations();
    if let Some((verdict, counterexample)) = violations.first() {
        print_counterexample(spec, run, verdict, counterexample, &mut out)?;
        writeln!(out)?;
        if let Some(WrittenJournal { path, lines }) = written {
            writeln!(out, "journal: {} ({lines} lines)", display_path(path))?;
        }
        for picture in pictures {
            writeln!(out, "{}", picture.report_line())?;
        }
        print_hints(spec, args, written, &mut out)?;
    }
    if let Some((_, others)) = violations.split_first().filter(|(_, others)| !others.is_empty()) {
        let names: Vec<_> = others.iter().map(|(verdict, _)| verdict.name).collect();
        let hint = format!("To see the counterexample of another property, add --property NAME: {}.", names.join(", "));
        writeln!(out, "{}", paint::dim(&hint))?;
    }
    // Reliable links always set timers, so `has_timers` then says nothing about the algorithm.
    let has_untimed_timers = spec.setup.timing.is_none() && !spec.is_reliable() && run.findings.has_timers;
    if has_untimed_timers && !violations.is_empty() {
        let hint = "The algorithm sets timers. This check does not model time, so timers fire in any order; --until 3s \
                    models time.";
        writeln!(out, "{}", paint::dim(hint))?;
    }
    if args.trace.is_some() && violations.is_empty() {
        let so_far = if run.is_complete() { "" } else { " so far" };
        writeln!(out, "\nNo property fails{so_far}, so no journal was written and an existing file is unchanged.")?;
    }
    note_nothing_to_draw(&args.picture, run, &mut out)?;
    writeln!(out, "\n{}", describe_completeness(spec, run))?;
    Ok(())
}

/// Prints the command that replays the counterexample, or, if its journal was not written, repeats
/// the check and writes the journal. Unless the options ask for a picture, also prints the command
/// that draws the counterexample.
fn print_hints<F: CheckedFamily>(
    spec: &CheckSpec<F>,
    args: &CheckArgs,
    written: Option<&WrittenJournal<'_>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let (replay, draw) = match written {
        Some(WrittenJournal { path, .. }) => {
            let path = path.to_string_lossy();
            (replay_command(&path), draw_command(&path))
        }
        None => (spec.command_with_trace(DEFAULT_JOURNAL), spec.command()),
    };
    writeln!(out, "To see it again: {replay}")?;
    if !args.picture.is_wanted() {
        writeln!(out, "To draw it: {draw} --svg {}", picture::DEFAULT_PICTURE)?;
    }
    Ok(())
}

/// Notes that there is no counterexample to draw, if a picture was requested.
pub(super) fn note_nothing_to_draw<F: CheckedFamily>(
    args: &PictureArgs,
    run: &CheckRun<F>,
    out: &mut impl Write,
) -> io::Result<()> {
    if args.is_wanted() && !run.findings.has_violation() {
        writeln!(out, "\nNo property fails, so no picture was drawn and existing files are unchanged.")?;
    }
    Ok(())
}

fn describe_check<F: CheckedFamily>(spec: &CheckSpec<F>) -> String {
    let rounds = match spec.rounds {
        _ if !F::ACTS_IN_ROUNDS => String::new(),
        Some(rounds) => format_count(rounds.into(), "round"),
        None => "unbounded rounds".into(),
    };
    let order = if spec.setup.has_fifo_links { "FIFO " } else { "" };
    let links = if spec.is_reliable() { "reliable" } else { "bare" };
    let mut parts = vec![
        paint::bold(spec.algorithm.name()),
        format_count(spec.setup.nodes as u64, "node"),
        format!("{rounds}{}", F::rounds_suffix(spec)),
        describe_faults(&spec.setup),
        format!("{links} {order}links"),
    ];
    if let Some(Views { waits_for_leases, .. }) = spec.setup.views {
        parts.push(if waits_for_leases { "in views" } else { "in views, with an impatient membership" }.into());
    }
    if let Some(Timing { drift_ppm, delay, .. }) = spec.setup.timing {
        parts.push(format!("clocks off by {drift_ppm}ppm"));
        parts.extend(delay.map(|span| format!("messages take {}", DurationRange(span))));
    }
    parts.join(" · ")
}

/// Describes the faults and their maximum numbers.
fn describe_faults(setup: &Setup) -> String {
    let Setup { losses, duplicates, crashes, restarts, early_timers, views, .. } = *setup;
    let changes = views.map_or(0, |views| views.max_changes);
    let kinds = [
        (losses, "loss", "losses"),
        (duplicates, "duplicate", "duplicates"),
        (crashes, "crash", "crashes"),
        (restarts, "restart", "restarts"),
        (early_timers, "early timer", "early timers"),
        (changes, "view change", "view changes"),
    ];
    let allowed = kinds.iter().filter(|(bound, _, _)| *bound > 0);
    let allowed: Vec<_> =
        allowed.map(|(bound, one, many)| format!("{bound} {}", if *bound == 1 { one } else { many })).collect();
    if allowed.is_empty() { "no faults".into() } else { format!("at most {}", allowed.join(", ")) }
}

fn print_figures<F: CheckedFamily>(spec: &CheckSpec<F>, findings: &Findings, out: &mut impl Write) -> io::Result<()> {
    let mut row = |name: &str, figure: String, remark: &str| {
        let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
        writeln!(out, "  {name:<24}{figure:>12}{remark}")
    };
    let Pass { states, generated, depth, seconds, bytes_per_state, .. } = *main_search(findings);
    let rounded = |number: f64| format_thousands(number.round() as u64);
    let depth_meaning = match spec.effort.search {
        Search::Breadth => "steps to the farthest state",
        Search::Depth => "steps on the longest path",
        Search::Walks(_) => "steps of the longest walk",
    };
    if let Some(walks) = findings.walk_count {
        row("walks", format_thousands(walks), "")?;
        row("steps", format_thousands(generated), "")?;
        row("depth", depth.to_string(), depth_meaning)?;
        row("seconds", format!("{seconds:.2}"), "")?;
        return row("steps per second", rounded(per_second(generated, seconds)), "");
    }
    // If all properties need history, no other search ran, and the first rows show this one.
    let needs_only_history = findings.main_pass.generated == 0 && findings.past_pass.is_some();
    row("states", format_thousands(states), if needs_only_history { phase_name(Phase::Past) } else { "" })?;
    row("generated", format_thousands(generated), "transitions and initial states")?;
    row("depth", depth.to_string(), depth_meaning)?;
    row("seconds", format!("{seconds:.2}"), "")?;
    row("states per second", rounded(per_second(states, seconds)), "")?;
    row("bytes per state", bytes_per_state.map_or("–".into(), |bytes| format!("{bytes:.1}")), "")?;
    if let Some(past) = findings.past_pass.as_ref().filter(|_| !needs_only_history) {
        let names = findings.verdicts.iter().map(|verdict| verdict.name);
        let names: Vec<_> = names.filter(|name| PROPERTIES_OF_HISTORY.contains(name)).collect();
        row(phase_name(Phase::Past), format_thousands(past.states), &describe_search(past, &names.join(" and ")))?;
    }
    if let Some(fair) = &findings.fair_pass {
        row(phase_name(Phase::Fair), format_thousands(fair.states), &describe_search(fair, "infinite runs"))?;
    }
    Ok(())
}

/// Describes an additional search: its purpose and its figures.
fn describe_search(pass: &Pass, purpose: &str) -> String {
    let bytes = pass.bytes_per_state.map_or(String::new(), |bytes| format!(", {bytes:.1} bytes per state"));
    format!("for {purpose}: {} generated in {:.2} s{bytes}", format_thousands(pass.generated), pass.seconds)
}

fn describe_verdict(verdict: &Verdict) -> String {
    match (&verdict.counterexample, verdict.holds) {
        (Some(counterexample), _) => {
            let steps = |steps: usize| format_count(steps as u64, "step");
            let length = match counterexample.cycle_start() {
                Some(before) => {
                    format!(": {}, then {} that repeat forever", steps(before), counterexample.len() - before)
                }
                None => format!(" in {}", steps(counterexample.len())),
            };
            format!("{}{length}", paint::bad("FAILS"))
        }
        (None, Some(true)) => paint::good("holds"),
        (None, Some(false)) => paint::bad("FAILS"),
        (None, None) => {
            paint::dim(&format!("not judged: {}", verdict.undecided_reason.unwrap_or("no reason is recorded")))
        }
    }
}

fn print_counterexample<F: CheckedFamily>(
    spec: &CheckSpec<F>,
    run: &CheckRun<F>,
    verdict: &Verdict,
    counterexample: &Counterexample,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    // The search for cycles does not look for the shortest one.
    let is_shortest = spec.effort.search == Search::Breadth && counterexample.cycle_start().is_none();
    let title = if is_shortest { "The shortest run" } else { "A run" };
    let mut lines = Vec::new();
    let mut trace = run.replay(
        counterexample,
        Trace::<F>::new(spec.setup.nodes, |line| lines.push(trace::render(line, paint::trace_text))),
    )?;
    trace.finish();
    drop(trace);
    print_steps::<F>(&format!("{title} that violates '{}':", verdict.name), spec.setup.nodes, lines.into_iter(), out)?;
    Ok(())
}

/// Describes whether the check is complete, and otherwise why it stopped, for the last line.
fn describe_completeness<F: CheckedFamily>(spec: &CheckSpec<F>, run: &CheckRun<F>) -> String {
    let findings = &run.findings;
    if let (Search::Walks(Walks { steps, .. }), Some(walks)) = (spec.effort.search, findings.walk_count) {
        let limit = if findings.end == SearchEnd::FirstViolation { ", up to the first violation" } else { "" };
        let walks =
            if walks == 1 { "1 random walk".into() } else { format!("{} random walks", format_thousands(walks)) };
        let limit = if findings.end == SearchEnd::MemoryLimit { ", up to the memory limit" } else { limit };
        return format!("{walks} of at most {} steps{limit}; other states were not explored", format_thousands(steps));
    }
    let reason = match findings.end {
        SearchEnd::Complete => {
            // Every search finished, but may leave a property undecided that the user named.
            let word = if run.is_complete() { "complete" } else { "not finished" };
            return format!("{word}: {}; {}", describe_explored_states(spec, findings), describe_collisions(findings));
        }
        SearchEnd::FirstViolation => "--stop-at-first ends a check at the first violation".into(),
        SearchEnd::MemoryLimit => {
            format!("the memory limit of {} was reached", Memory::from_bytes(spec.effort.memory_limit))
        }
        SearchEnd::IdsExhausted => "there are more states, messages or instants than the checker can number".into(),
        SearchEnd::Stopped => "it was interrupted".into(),
    };
    let Pass { states, depth, .. } = find_unfinished_search(findings);
    let states = format_thousands(*states);
    format!(
        "not finished: stopped at depth {depth} with {states} states, because {reason}; the results so far are valid"
    )
}

fn describe_explored_states<F: CheckedFamily>(spec: &CheckSpec<F>, findings: &Findings) -> String {
    let states = match spec.setup.timing {
        Some(Timing { until, .. }) => format!("every state reachable within {}", Length(until.since(Time::ZERO))),
        None => "every reachable state".into(),
    };
    let undecided = findings.verdicts.iter().filter(|verdict| verdict.holds.is_none());
    let undecided: Vec<_> = undecided.map(|verdict| format!("'{}'", verdict.name)).collect();
    let exception = if undecided.is_empty() {
        String::new()
    } else {
        format!(", but {} could not be judged", undecided.join(" and "))
    };
    let skipped = if spec.effort.reduce { ", except those that the reduction may skip" } else { "" };
    format!("{states} was explored{skipped}{exception}")
}

/// Describes the upper bound on the probability that two states had the same fingerprint.
fn describe_collisions(findings: &Findings) -> String {
    format!(
        "the probability that a hash collision hid a state is at most {}",
        format_rounded_up(findings.collision_probability())
    )
}

/// Properties that depend on earlier steps. For these the checker searches states together with
/// their history.
const PROPERTIES_OF_HISTORY: [&str; 3] = ["fences-grow", "happened-before-order", "one-leader-per-epoch"];

/// Returns the first search that did not finish: the main search, the search for fair runs or the
/// search with history, in this order. The main search if all finished.
fn find_unfinished_search(findings: &Findings) -> &Pass {
    let passes = [Some(&findings.main_pass), findings.fair_pass.as_ref(), findings.past_pass.as_ref()];
    passes.into_iter().flatten().find(|pass| pass.end != SearchEnd::Complete).unwrap_or(&findings.main_pass)
}

/// Formats a probability with two significant digits, rounded up.
fn format_rounded_up(probability: f64) -> String {
    if probability <= 0.0 {
        return "0".into();
    }
    let exponent = probability.log10().floor();
    // The small correction absorbs rounding errors of the division.
    let mantissa_tenths = (probability / 10_f64.powf(exponent - 1.0) - 1e-9).ceil();
    let (mantissa_tenths, exponent) =
        if mantissa_tenths >= 100.0 { (mantissa_tenths / 10.0, exponent + 1.0) } else { (mantissa_tenths, exponent) };
    format!("{:.1}e{exponent}", mantissa_tenths / 10.0)
}

#[cfg(test)]
mod tests {
    use super::format_rounded_up;

    #[test]
    fn a_probability_is_never_rounded_down() {
        let printed = [0.0, 6.9e-9, 6.901e-9, 9.99e-9, 1.0, 2.71e-20].map(format_rounded_up);
        assert_eq!(printed, ["0", "6.9e-9", "7.0e-9", "1.0e-8", "1.0e0", "2.8e-20"]);
    }
}
