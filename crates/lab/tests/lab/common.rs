//! What the tests of all families share: settings from text, and runs, sweeps, checks and replays that must succeed.

use quorate_core::Time;
use quorate_journal::record::Journal;
use quorate_journal::workload::Ending;
use quorate_lab::check::{self, CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::election::Settings;
use quorate_lab::experiment::{self, Outcome};
use quorate_lab::registry::find;
use quorate_lab::replay::{self, Replayed};
use quorate_lab::sweep::{self, Summary, Sweep};
use quorate_lab::{Election, FamilyLab, Spec};
use std::fmt::{Debug, Display};
use std::str::FromStr;

pub(crate) fn parsed<T: FromStr<Err: Display>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn ms(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub(crate) fn run<F: FamilyLab>(spec: &Spec<F>) -> Outcome<F> {
    experiment::run(spec).unwrap_or_else(|error| panic!("{}: {error}", spec.command("sim")))
}

/// An election that these nodes begin.
pub(crate) fn election(algorithm: &str, nodes: usize, starters: &str) -> Spec<Election> {
    let settings = Settings { starters: parsed(starters), ..Settings::default() };
    Spec { nodes, settings, ..Spec::named(algorithm).unwrap() }
}

/// A run in which every property holds.
pub(crate) fn holding<F: FamilyLab>(spec: &Spec<F>) -> Outcome<F> {
    let outcome = run(spec);
    assert!(outcome.holds(), "{:?}\nreplay: {}", outcome.verdicts, spec.command("sim"));
    outcome
}

/// A run in which every property holds, and that no limit ends.
pub(crate) fn done<F: FamilyLab>(spec: &Spec<F>) -> Outcome<F> {
    let outcome = holding(spec);
    assert_eq!(outcome.ending, Ending::Done, "replay: {}", spec.command("sim"));
    outcome
}

/// A sweep that ends with the first seed that fails.
pub(crate) fn swept<F: FamilyLab>(spec: &Spec<F>, seeds: u64) -> Summary {
    sweep::run(&Sweep { spec: spec.clone(), seeds, threads: 2, keep_going: false }, |_| true).unwrap()
}

/// A sweep that tries every seed.
pub(crate) fn swept_through<F: FamilyLab>(spec: &Spec<F>, seeds: u64) -> Summary {
    sweep::run(&Sweep { spec: spec.clone(), seeds, threads: 2, keep_going: true }, |_| true).unwrap()
}

/// No seed breaks anything.
pub(crate) fn none_fails<F: FamilyLab>(spec: &Spec<F>, seeds: u64) -> Summary {
    let summary = swept(spec, seeds);
    if let Some((seed, breach)) = &summary.first_failure {
        panic!("{breach:?}\nreplay: {}", Spec { seed: *seed, ..spec.clone() }.command("sim"));
    }
    assert_eq!((summary.seeds, summary.failed), (seeds, 0));
    summary
}

/// No seed breaks anything, and what should happen sometimes does.
pub(crate) fn all_hold<F: FamilyLab>(spec: &Spec<F>, seeds: u64) {
    let never: Vec<_> = none_fails(spec, seeds).never_happened().collect();
    assert_eq!(never, [""; 0], "never happened\nreplay: {}", spec.command("sweep"));
}

/// What every algorithm of this one's family must bear.
pub(crate) fn weather<F: FamilyLab>(name: &str) -> Vec<Spec<F>> {
    F::weather(find(name).and_then(F::entry).unwrap_or_else(|| panic!("{name} is of another family")))
}

/// A run and its journal.
pub(crate) fn recorded<F: FamilyLab>(spec: &Spec<F>) -> (Outcome<F>, Vec<u8>) {
    let mut journal = Vec::new();
    let (outcome, ()) = experiment::run_with(spec, &mut journal, ()).unwrap_or_else(|error| panic!("{error}"));
    (outcome, journal)
}

/// The same seed gives the same journal and another seed another one, and a replay comes to the same.
pub(crate) fn repeats<F: FamilyLab<Summary: PartialEq + Debug>>(spec: &Spec<F>)
where
    Spec<F>: PartialEq + Debug,
{
    let (outcome, journal) = recorded(spec);
    let (again, same) = recorded(spec);
    assert_eq!((&outcome.trace_hash, &journal), (&again.trace_hash, &same), "same seed, same bytes");
    let (other, different) = recorded(&Spec { seed: spec.seed + 1, ..spec.clone() });
    assert!(outcome.trace_hash != other.trace_hash && journal != different, "another seed, other bytes");
    let replayed = replayed::<F>(&journal);
    assert_eq!(replayed.spec, *spec);
    assert_eq!((replayed.lines, replayed.messages), (outcome.lines, outcome.messages));
    assert_eq!((replayed.summary, replayed.verdicts), (outcome.summary, outcome.verdicts));
}

pub(crate) fn replayed<F: FamilyLab>(journal: &[u8]) -> Replayed<F> {
    let mut journal = Journal::open(journal).unwrap_or_else(|error| panic!("{error}"));
    replay::replay(&mut journal, ()).unwrap_or_else(|error| panic!("{error}")).0
}

pub(crate) fn checked<F: CheckedFamily>(spec: &CheckSpec<F>) -> CheckRun<F> {
    check::run(spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command()))
}

/// Each property that is broken, with the length of its counterexample.
pub(crate) fn broken<F: CheckedFamily>(run: &CheckRun<F>) -> Vec<(&'static str, usize)> {
    let verdicts = run.findings.verdicts.iter();
    verdicts.filter_map(|verdict| Some((verdict.name, verdict.counterexample.as_ref()?.len()))).collect()
}
