//! `quorate sweep --family`: runs every algorithm of a family under the fault mixes that the family
//! has for it.

use crate::CommandOutcome;
use crate::args::{SweepArgs, thread_count};
use crate::output::output;
use crate::report::format_count;
use crate::{interrupt, paint, progress, report};
use indicatif::ProgressBar;
use quorate_journal::property::{PropertyKind, Verdict};
use quorate_journal::settings::nearest;
use quorate_lab::registry::{Entry, Family, all, fixtures};
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::sweep::{self, Sweep, SweepSummary};
use quorate_lab::{FamilyLab, Spec};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

#[derive(Serialize)]
struct FamilySweepReport {
    family: Family,
    /// Whether the result of every algorithm is as expected.
    holds: bool,
    seconds: f64,
    rows: Vec<AlgorithmResult>,
}

/// The result of one algorithm.
#[derive(Serialize)]
struct AlgorithmResult {
    algorithm: &'static str,
    /// The flaw of a faulty variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'static str>,
    seeds: u64,
    /// Number of seeds with which a property fails.
    failed: u64,
    /// Number of seeds without a failure that leave a property undecided.
    #[serde(skip_serializing_if = "super::is_zero")]
    undecided: u64,
    events: u64,
    properties: Vec<PropertyResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<AlgorithmFailure>,
    /// Whether all seeds were run, or the sweep ended at a failure.
    complete: bool,
    /// Why the algorithm was swept without the given options, if it does not accept them.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_options: Option<String>,
}

#[derive(Serialize)]
struct PropertyResult {
    name: &'static str,
    kind: PropertyKind,
    /// Number of seeds with which the property held or happened.
    seeds: u64,
}

#[derive(Serialize)]
struct AlgorithmFailure {
    property: &'static str,
    text: String,
    /// The command that repeats the run.
    replay: String,
}

impl AlgorithmResult {
    /// Whether no seed failed and every "sometimes" property happened. Every result of a faulty
    /// variant counts as expected, because the variant may need other faults to fail.
    fn is_as_expected(&self) -> bool {
        self.flaw.is_some() || self.failure.is_none() && self.first_that_never_happened().is_none()
    }

    /// Returns the first "sometimes" property that did not happen with any seed.
    fn first_that_never_happened(&self) -> Option<&PropertyResult> {
        self.properties.iter().find(|property| property.kind == PropertyKind::Sometimes && property.seeds == 0)
    }
}

pub(super) fn run(args: &SweepArgs, family: &str) -> anyhow::Result<CommandOutcome> {
    let family = find_family(family)?;
    anyhow::ensure!(args.seeds > 0, "--seeds must be at least 1; got 0.");
    anyhow::ensure!(
        !args.picture.is_wanted(),
        "--family cannot draw pictures. Sweep one algorithm, without --family, to draw its failing run."
    );
    let faulty: &[Entry] = if args.fixtures { fixtures() } else { &[] };
    let wants_views = args.run.wants_views();
    let is_selected = |entry: &&Entry| entry.family() == family && (!wants_views || entry.runs_in_views());
    let entries: Vec<_> = all().iter().chain(faulty).filter(is_selected).collect();
    anyhow::ensure!(!entries.is_empty(), "no algorithm of the {family} family supports --views; leave it out.");
    let option = args.run.first_option_of(family)?;
    if let Some(option) = option {
        let refusals = entries.iter().map(|entry| dispatch_to_family(entry, OptionCheck { args })).collect::<Vec<_>>();
        let all_refuse = refusals.iter().all(Option::is_some);
        if let Some(reason) = refusals.into_iter().flatten().next().filter(|_| all_refuse) {
            anyhow::bail!("no algorithm of the {family} family accepts --{option} with this value: {reason}");
        }
    }
    let threads = thread_count(args.threads)?;
    let started = Instant::now();
    let bar = progress::bar(entries.len() as u64 * args.seeds, "{pos}/{len} seeds, {per_sec}, {eta} left{msg}");
    interrupt::install_handler();
    let mut rows = Vec::new();
    for entry in entries {
        if interrupt::was_requested() {
            break;
        }
        bar.set_message(format!(": {}", entry.name()));
        rows.push(dispatch_to_family(entry, SweepAlgorithm { args, threads, bar: &bar })?);
        bar.set_position(rows.len() as u64 * args.seeds);
    }
    bar.finish_and_clear();
    let is_complete = !interrupt::was_requested();
    let holds = rows.iter().all(AlgorithmResult::is_as_expected);
    let is_unfinished = !is_complete || rows.iter().any(|row| row.flaw.is_none() && row.undecided > 0);
    let report = FamilySweepReport { family, holds, seconds: started.elapsed().as_secs_f64(), rows };
    if args.json {
        report::print_json(&report)?;
    } else {
        print(&report, args)?;
    }
    Ok(if holds && is_unfinished { CommandOutcome::Unfinished } else { CommandOutcome::from_holds(holds) })
}

fn find_family(name: &str) -> anyhow::Result<Family> {
    let family = Family::ALL.into_iter().find(|family| family.name() == name);
    family.ok_or_else(|| {
        let similar = nearest(name, Family::ALL.map(Family::name));
        let hint = similar.map(|similar| format!(" Did you mean '{similar}'?")).unwrap_or_default();
        anyhow::anyhow!(
            "there is no family '{}'.{hint} The families are mutex, election, multicast, deadlock and replica.",
            name.escape_debug()
        )
    })
}

/// The task to find out why an algorithm does not accept the given options. Its output is `None` if
/// the algorithm accepts them.
struct OptionCheck<'a> {
    args: &'a SweepArgs,
}

impl Task for OptionCheck<'_> {
    type Output = Option<String>;

    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> Option<String> {
        specs_with_options::<F>(self.args, entry).err()
    }
}

/// Returns a run with the given options for each fault mix of the algorithm, without the mixes that
/// do not accept them. Fails with the reason of the last refusal if no mix accepts them.
fn specs_with_options<F: FamilyLab>(args: &SweepArgs, entry: &'static F::Entry) -> Result<Vec<Spec<F>>, String> {
    let mut refusal = String::new();
    let specs = stress_specs::<F>(args, entry)
        .into_iter()
        .filter_map(|spec| args.run.with_family_options(&spec).map_err(|error| refusal = error.to_string()).ok());
    let specs: Vec<_> = specs.collect();
    if specs.is_empty() { Err(refusal) } else { Ok(specs) }
}

/// Returns one run for each fault mix of the algorithm, in views if `--views` is given. The other
/// options of the family do not apply.
fn stress_specs<F: FamilyLab>(args: &SweepArgs, entry: &'static F::Entry) -> Vec<Spec<F>> {
    if args.run.wants_views() { F::stress_specs_in_views(entry) } else { F::stress_specs(entry) }
}

/// The task to run one algorithm under all its fault mixes.
struct SweepAlgorithm<'a> {
    args: &'a SweepArgs,
    threads: usize,
    bar: &'a ProgressBar,
}

impl Task for SweepAlgorithm<'_> {
    type Output = anyhow::Result<AlgorithmResult>;

    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<AlgorithmResult> {
        let Self { args, threads, bar } = self;
        let (specs, without_options) = match specs_with_options::<F>(args, entry) {
            Ok(specs) => (specs, None),
            Err(refusal) => (stress_specs::<F>(args, entry), Some(refusal)),
        };
        let seeds_per_mix = args.seeds.div_ceil(specs.len().max(1) as u64);
        let (mut total, mut failure, start_position) = (SweepSummary::default(), None, bar.position());
        let (mut remaining, mut complete) = (args.seeds, true);
        for spec in specs {
            let seeds = seeds_per_mix.min(remaining);
            remaining -= seeds;
            let sweep = Sweep { spec, seeds, threads, keep_going: args.keep_going };
            let seeds_before = total.seeds;
            let summary = sweep::run(&sweep, |progress| {
                bar.set_position(start_position + seeds_before + progress.seeds);
                !interrupt::was_requested()
            })?;
            complete &= summary.seeds == seeds || summary.failed_seeds > 0;
            if let Some((seed, verdict)) = &summary.first_failure
                && failure.is_none()
            {
                failure = Some(build_failure(&sweep, *seed, verdict));
            }
            total.add(summary);
            if failure.is_some() && !args.keep_going {
                break;
            }
            if interrupt::was_requested() {
                complete &= total.seeds == args.seeds;
                break;
            }
        }
        let profile = F::profile(entry);
        let properties = total.properties.iter().map(|tally| PropertyResult {
            name: tally.name,
            kind: tally.kind,
            seeds: tally.held_seeds,
        });
        Ok(AlgorithmResult {
            algorithm: profile.name,
            flaw: profile.flaw,
            seeds: total.seeds,
            failed: total.failed_seeds,
            undecided: total.undecided_seeds,
            events: total.inputs,
            properties: properties.collect(),
            failure,
            complete,
            without_options,
        })
    }
}

fn build_failure<F: FamilyLab>(sweep: &Sweep<F>, seed: u64, verdict: &Verdict) -> AlgorithmFailure {
    let mut spec = sweep.spec.clone();
    spec.seed = seed;
    AlgorithmFailure {
        property: verdict.name,
        text: verdict.violation.as_ref().map(|violation| violation.text.clone()).unwrap_or_default(),
        replay: format!("{} --steps", spec.command("sim")),
    }
}

fn print(report: &FamilySweepReport, args: &SweepArgs) -> anyhow::Result<()> {
    let mut out = output();
    let FamilySweepReport { family, rows, seconds, .. } = report;
    let seeds = format_count(args.seeds, "seed");
    writeln!(out, "{} · {seeds} per algorithm · {seconds:.1} s\n", paint::bold(family.name()))?;
    let width = rows.iter().map(|row| row.algorithm.len()).max().unwrap_or(0).max("algorithm".len());
    let heading = format!("  {:<width$}  {:>9}  {:>12}  outcome", "algorithm", "seeds", "events");
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in rows {
        let outcome = match (&row.failure, row.flaw) {
            (None, None) if !row.complete => paint::dim("not finished"),
            (None, None) if row.undecided > 0 => paint::bad(&super::describe_undecided(row.undecided, row.seeds)),
            (None, None) => match row.first_that_never_happened() {
                None => paint::good(&format!("holds: {}", list_properties(row))),
                Some(never) => paint::bad(&format!("'{}' never happened, so this shows little", never.name)),
            },
            (Some(failure), None) => paint::bad(&format!("FAILS: {}", summarize_failure(failure))),
            (Some(failure), Some(_)) => paint::good(&format!("found: {}", summarize_failure(failure))),
            (None, Some(_)) => paint::dim("not found under these faults"),
        };
        writeln!(out, "  {:<width$}  {:>9}  {:>12}  {outcome}", row.algorithm, row.seeds, row.events)?;
    }
    for row in rows {
        if let Some(refusal) = &row.without_options {
            writeln!(out, "\n{} was swept without the given options: {refusal}", row.algorithm)?;
        }
    }
    let failures = rows.iter().filter(|row| row.flaw.is_none()).filter_map(|row| row.failure.as_ref());
    for failure in failures {
        writeln!(out, "\nTo see it: {}", failure.replay)?;
    }
    Ok(())
}

/// Returns the first line of the failure for a row of the table. The command that repeats the run
/// prints all of it.
fn summarize_failure(failure: &AlgorithmFailure) -> String {
    format!("'{}', {}", failure.property, failure.text.lines().next().unwrap_or_default())
}

/// Lists the properties that hold; "sometimes" properties happen instead.
fn list_properties(row: &AlgorithmResult) -> String {
    let holding = row.properties.iter().filter(|property| property.kind != PropertyKind::Sometimes);
    holding.map(|property| property.name).collect::<Vec<_>>().join(", ")
}
