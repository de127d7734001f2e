//! `quorate sweep --family`: runs every algorithm of a family under the same fault mixes.

use crate::CommandOutcome;
use crate::args::{SweepArgs, threads};
use crate::output::output;
use crate::report::count;
use crate::{interrupt, paint, progress, report};
use indicatif::ProgressBar;
use quorate_journal::property::{Kind, Verdict};
use quorate_journal::settings::nearest;
use quorate_lab::registry::{Entry, Family, all, fixtures};
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::sweep::{self, Summary, Sweep};
use quorate_lab::{FamilyLab, Spec};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

#[derive(Serialize)]
struct Report {
    family: Family,
    holds: bool,
    seconds: f64,
    rows: Vec<Row>,
}

/// The result of one algorithm.
#[derive(Serialize)]
struct Row {
    algorithm: &'static str,
    /// The flaw of a faulty variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'static str>,
    seeds: u64,
    failed: u64,
    /// Number of seeds without a failure that leave a property undecided.
    #[serde(skip_serializing_if = "super::is_zero")]
    undecided: u64,
    events: u64,
    properties: Vec<Property>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    /// Whether all seeds were run, or one failed.
    complete: bool,
    /// Why the algorithm was swept without the given options, if it does not accept them.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_options: Option<String>,
}

#[derive(Serialize)]
struct Property {
    name: &'static str,
    kind: Kind,
    seeds: u64,
}

#[derive(Serialize)]
struct Failure {
    property: &'static str,
    text: String,
    replay: String,
}

impl Row {
    /// Whether the result is as expected. A faulty variant may need other faults to fail, so that
    /// any result is.
    fn is_correct(&self) -> bool {
        self.flaw.is_some() || self.failure.is_none() && self.never_happened().is_none()
    }

    fn never_happened(&self) -> Option<&Property> {
        self.properties.iter().find(|property| property.kind == Kind::Sometimes && property.seeds == 0)
    }
}

pub(super) fn run(args: &SweepArgs, family: &str) -> anyhow::Result<CommandOutcome> {
    let family = family_named(family)?;
    anyhow::ensure!(args.seeds > 0, "--seeds must be at least 1; got 0.");
    anyhow::ensure!(
        !args.picture.is_wanted(),
        "--family cannot draw pictures. Sweep one algorithm, without --family, to draw its failing run."
    );
    let faulty: &[Entry] = if args.fixtures { fixtures() } else { &[] };
    let in_views = args.run.wants_views();
    let is_selected = |entry: &&Entry| entry.family() == family && (!in_views || entry.runs_in_views());
    let entries: Vec<_> = all().iter().chain(faulty).filter(is_selected).collect();
    anyhow::ensure!(!entries.is_empty(), "no algorithm of the {family} family supports --views; leave it out.");
    let option = args.run.first_option_of(family)?;
    if let Some(option) = option {
        let refusals = entries.iter().map(|entry| dispatch_to_family(entry, OptionCheck { args })).collect::<Vec<_>>();
        if let Some(why) = refusals.iter().all(Option::is_some).then(|| refusals.into_iter().flatten().next()).flatten()
        {
            anyhow::bail!("no algorithm of the {family} family accepts --{option} with this value: {why}");
        }
    }
    let threads = threads(args.threads)?;
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
    let complete = !interrupt::was_requested();
    let holds = rows.iter().all(Row::is_correct);
    let is_unfinished = !complete || rows.iter().any(|row| row.flaw.is_none() && row.undecided > 0);
    let report = Report { family, holds, seconds: started.elapsed().as_secs_f64(), rows };
    if args.json {
        report::print_json(&report)?;
    } else {
        print(&report, args)?;
    }
    Ok(if holds && is_unfinished { CommandOutcome::Unfinished } else { CommandOutcome::from_holds(holds) })
}

fn family_named(name: &str) -> anyhow::Result<Family> {
    let found = Family::ALL.into_iter().find(|family| family.name() == name);
    found.ok_or_else(|| {
        let similar = nearest(name, Family::ALL.map(Family::name));
        let hint = similar.map(|similar| format!(" Did you mean '{similar}'?")).unwrap_or_default();
        anyhow::anyhow!(
            "there is no family '{}'.{hint} The families are mutex, election, multicast, deadlock and replica.",
            name.escape_debug()
        )
    })
}

/// The task to find out why an algorithm does not accept the given options; `None` if it does.
struct OptionCheck<'a> {
    args: &'a SweepArgs,
}

impl Task for OptionCheck<'_> {
    type Output = Option<String>;

    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> Option<String> {
        fault_mixes::<F>(self.args, entry).err()
    }
}

/// Returns the runs under the fault mixes of an algorithm, with the given options, for all mixes
/// that accept these. Fails if none does.
fn fault_mixes<F: FamilyLab>(args: &SweepArgs, entry: &'static F::Entry) -> Result<Vec<Spec<F>>, String> {
    let mut refusal = String::new();
    let specs = default_fault_mixes::<F>(args, entry)
        .into_iter()
        .filter_map(|spec| args.run.with_family_options(&spec).map_err(|error| refusal = error.to_string()).ok());
    let specs: Vec<_> = specs.collect();
    if specs.is_empty() { Err(refusal) } else { Ok(specs) }
}

fn default_fault_mixes<F: FamilyLab>(args: &SweepArgs, entry: &'static F::Entry) -> Vec<Spec<F>> {
    if args.run.wants_views() { F::stress_specs_in_views(entry) } else { F::stress_specs(entry) }
}

/// The task to run one algorithm under all its fault mixes.
struct SweepAlgorithm<'a> {
    args: &'a SweepArgs,
    threads: usize,
    bar: &'a ProgressBar,
}

impl Task for SweepAlgorithm<'_> {
    type Output = anyhow::Result<Row>;

    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<Row> {
        let Self { args, threads, bar } = self;
        let (specs, without_options) = match fault_mixes::<F>(args, entry) {
            Ok(specs) => (specs, None),
            Err(why) => (default_fault_mixes::<F>(args, entry), Some(why)),
        };
        let seeds_per_mix = args.seeds.div_ceil(specs.len().max(1) as u64);
        let (mut total, mut failure, start) = (Summary::default(), None, bar.position());
        let (mut remaining, mut complete) = (args.seeds, true);
        for spec in specs {
            let seeds = seeds_per_mix.min(remaining);
            remaining -= seeds;
            let sweep = Sweep { spec, seeds, threads, keep_going: args.keep_going };
            let done = total.seeds;
            let summary = sweep::run(&sweep, |progress| {
                bar.set_position(start + done + progress.seeds);
                !interrupt::was_requested()
            })?;
            complete &= summary.seeds == seeds || summary.failed > 0;
            if let Some((seed, verdict)) = &summary.first_failure
                && failure.is_none()
            {
                failure = Some(failure_of(&sweep, *seed, verdict));
            }
            total.add(summary);
            if interrupt::was_requested() || failure.is_some() && !args.keep_going {
                break;
            }
        }
        let profile = F::profile(entry);
        let properties =
            total.properties.iter().map(|tally| Property { name: tally.name, kind: tally.kind, seeds: tally.held });
        Ok(Row {
            algorithm: profile.name,
            flaw: profile.flaw,
            seeds: total.seeds,
            failed: total.failed,
            undecided: total.undecided,
            events: total.events,
            properties: properties.collect(),
            failure,
            complete,
            without_options,
        })
    }
}

fn failure_of<F: FamilyLab>(sweep: &Sweep<F>, seed: u64, verdict: &Verdict) -> Failure {
    let mut spec = sweep.spec.clone();
    spec.seed = seed;
    Failure {
        property: verdict.name,
        text: verdict.violation.as_ref().map(|violation| violation.text.clone()).unwrap_or_default(),
        replay: format!("{} --steps", spec.command("sim")),
    }
}

fn print(report: &Report, args: &SweepArgs) -> anyhow::Result<()> {
    let mut out = output();
    let Report { family, rows, seconds, .. } = report;
    let seeds = count(args.seeds, "seed");
    writeln!(out, "{} · {seeds} per algorithm · {seconds:.1} s\n", paint::bold(family.name()))?;
    let width = rows.iter().map(|row| row.algorithm.len()).max().unwrap_or(0).max("algorithm".len());
    let heading = format!("  {:<width$}  {:>9}  {:>12}  outcome", "algorithm", "seeds", "events");
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in rows {
        let outcome = match (&row.failure, row.flaw) {
            (None, None) if !row.complete => paint::dim("not finished"),
            (None, None) if row.undecided > 0 => paint::warn(&super::undecided_in(row.undecided, row.seeds)),
            (None, None) => match row.never_happened() {
                None => paint::good(&format!("holds: {}", property_names(row))),
                Some(never) => paint::bad(&format!("'{}' never happened, so this shows little", never.name)),
            },
            (Some(failure), None) => paint::bad(&format!("FAILS: {}", one_line(failure))),
            (Some(failure), Some(_)) => paint::good(&format!("found: {}", one_line(failure))),
            (None, Some(_)) => paint::dim("not found under these faults"),
        };
        writeln!(out, "  {:<width$}  {:>9}  {:>12}  {outcome}", row.algorithm, row.seeds, row.events)?;
    }
    for row in rows {
        if let Some(why) = &row.without_options {
            writeln!(out, "\n{} was swept without the given options: {why}", row.algorithm)?;
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
fn one_line(failure: &Failure) -> String {
    format!("'{}', {}", failure.property, failure.text.lines().next().unwrap_or_default())
}

fn property_names(row: &Row) -> String {
    let judged = row.properties.iter().filter(|property| property.kind != Kind::Sometimes);
    judged.map(|property| property.name).collect::<Vec<_>>().join(", ")
}
