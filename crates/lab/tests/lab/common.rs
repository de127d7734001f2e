//! Helpers for tests of all families: settings from text, and runs, sweeps, checks and replays that
//! must succeed.

use quorate_core::Time;
use quorate_journal::record::Journal;
use quorate_journal::workload::Ending;
use quorate_lab::check::{self, CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::election::Settings;
use quorate_lab::experiment::{self, Outcome};
use quorate_lab::registry::find;
use quorate_lab::replay::{self, Replayed};
use quorate_lab::sweep::{self, Sweep, SweepSummary};
use quorate_lab::{Election, FamilyLab, Spec};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Parses a text; panics with the error if it is invalid.
pub(crate) fn parse<T: FromStr<Err: Display>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn ms(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub(crate) fn run<F: FamilyLab>(spec: &Spec<F>) -> Outcome<F> {
    experiment::run(spec).unwrap_or_else(|error| panic!("{}: {error}", spec.command("sim")))
}

/// An election that these nodes start.
pub(crate) fn election(algorithm: &str, nodes: usize, starters: &str) -> Spec<Election> {
    let settings = Settings { starters: parse(starters), ..Settings::default() };
    Spec { nodes, settings, ..Spec::named(algorithm).unwrap() }
}

/// Runs a spec and asserts that it violates no property.
pub(crate) fn run_without_violations<F: FamilyLab>(spec: &Spec<F>) -> Outcome<F> {
    let outcome = run(spec);
    assert!(outcome.holds(), "{:?}\nreplay: {}", outcome.verdicts, spec.command("sim"));
    outcome
}

/// Runs a spec and asserts that it violates no property and that no limit ended the run.
pub(crate) fn run_to_completion<F: FamilyLab>(spec: &Spec<F>) -> Outcome<F> {
    let outcome = run_without_violations(spec);
    assert_eq!(outcome.ending, Ending::Done, "replay: {}", spec.command("sim"));
    outcome
}

/// Sweeps until the first failing seed.
pub(crate) fn sweep_until_failure<F: FamilyLab>(spec: &Spec<F>, seeds: u64) -> SweepSummary {
    sweep::run(&Sweep { spec: spec.clone(), seeds, threads: 2, keep_going: false }, |_| true).unwrap()
}

/// Sweeps over every seed.
pub(crate) fn sweep_seeds<F: FamilyLab>(spec: &Spec<F>, seeds: u64) -> SweepSummary {
    sweep::run(&Sweep { spec: spec.clone(), seeds, threads: 2, keep_going: true }, |_| true).unwrap()
}

/// Asserts that no seed fails.
pub(crate) fn assert_no_seed_fails<F: FamilyLab>(spec: &Spec<F>, seeds: u64) -> SweepSummary {
    let summary = sweep_until_failure(spec, seeds);
    if let Some((seed, violation)) = &summary.first_failure {
        panic!("{violation:?}\nreplay: {}", Spec { seed: *seed, ..spec.clone() }.command("sim"));
    }
    assert_eq!((summary.seeds, summary.failed_seeds), (seeds, 0));
    summary
}

/// Asserts that no seed fails, and that every "sometimes" property happened.
pub(crate) fn assert_every_seed_holds<F: FamilyLab>(spec: &Spec<F>, seeds: u64) {
    let never: Vec<_> = assert_no_seed_fails(spec, seeds).never_happened().collect();
    assert_eq!(never, [""; 0], "never happened\nreplay: {}", spec.command("sweep"));
}

/// The stress experiments of the family for this algorithm. A correct algorithm survives them.
pub(crate) fn stress_specs<F: FamilyLab>(name: &str) -> Vec<Spec<F>> {
    F::stress_specs(find(name).and_then(F::entry).unwrap_or_else(|| panic!("{name} belongs to another family")))
}

/// Runs a spec and returns its journal too.
pub(crate) fn run_recorded<F: FamilyLab>(spec: &Spec<F>) -> (Outcome<F>, Vec<u8>) {
    let mut journal = Vec::new();
    let (outcome, ()) = experiment::run_with(spec, &mut journal, ()).unwrap_or_else(|error| panic!("{error}"));
    (outcome, journal)
}

/// Asserts that the same seed gives the same journal, that another seed gives another one, and that
/// a replay yields the same results.
pub(crate) fn assert_repeatable<F: FamilyLab<Summary: PartialEq + Debug>>(spec: &Spec<F>)
where
    Spec<F>: PartialEq + Debug,
{
    let (outcome, journal) = run_recorded(spec);
    let (again, same_journal) = run_recorded(spec);
    assert_eq!(
        (&outcome.journal_hash, &journal),
        (&again.journal_hash, &same_journal),
        "the same seed gave another journal"
    );
    let (other, other_journal) = run_recorded(&Spec { seed: spec.seed + 1, ..spec.clone() });
    assert!(
        outcome.journal_hash != other.journal_hash && journal != other_journal,
        "another seed gave the same journal"
    );
    let replayed = replay_journal::<F>(&journal);
    assert_eq!(replayed.spec, *spec);
    assert_eq!((replayed.lines, replayed.messages), (outcome.journal_lines, outcome.messages));
    assert_eq!((replayed.summary, replayed.verdicts), (outcome.summary, outcome.verdicts));
}

pub(crate) fn replay_journal<F: FamilyLab>(journal: &[u8]) -> Replayed<F> {
    let mut journal = Journal::open(journal).unwrap_or_else(|error| panic!("{error}"));
    replay::replay(&mut journal, ()).unwrap_or_else(|error| panic!("{error}")).0
}

pub(crate) fn run_check<F: CheckedFamily>(spec: &CheckSpec<F>) -> CheckRun<F> {
    check::run(spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command()))
}

/// Returns each violated property with the length of its counterexample.
pub(crate) fn list_violations<F: CheckedFamily>(run: &CheckRun<F>) -> Vec<(&'static str, usize)> {
    let verdicts = run.findings.verdicts.iter();
    verdicts.filter_map(|verdict| Some((verdict.name, verdict.counterexample.as_ref()?.len()))).collect()
}
