//! What the tests share: checks in few words, and what came of each property.

use quorate_check::{Counterexample, Timing, Verdict};
use quorate_core::{Duration, Time};
use quorate_lab::LinkChoice;
use quorate_lab::check::{CheckRun, CheckSpec, run};

/// A check of so many nodes that ask so many times each, on bare links.
pub(crate) fn spec(algorithm: &str, nodes: usize, rounds: impl Into<Option<u8>>) -> CheckSpec {
    let mut spec = CheckSpec { rounds: rounds.into(), links: LinkChoice::Bare, ..CheckSpec::new(algorithm) };
    spec.setup.nodes = nodes;
    spec
}

/// Time counts, and clocks are off by so much.
pub(crate) fn timed(spec: CheckSpec, drift_ppm: u32, until: Duration) -> CheckSpec {
    let mut spec = spec;
    spec.setup.timing = Some(Timing { drift_ppm, until: Time::ZERO + until });
    spec
}

pub(crate) fn checked(spec: &CheckSpec) -> CheckRun {
    run(spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command()))
}

pub(crate) fn verdict<'a>(run: &'a CheckRun, name: &str) -> &'a Verdict {
    let verdicts = &run.findings.verdicts;
    verdicts.iter().find(|verdict| verdict.name == name).unwrap_or_else(|| panic!("no verdict on {name}"))
}

/// The counterexample to a property that must be broken.
pub(crate) fn example<'a>(run: &'a CheckRun, name: &str) -> &'a Counterexample {
    verdict(run, name).counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"))
}

/// Each property that is broken, with the length of its counterexample.
pub(crate) fn broken(run: &CheckRun) -> Vec<(&'static str, usize)> {
    let verdicts = run.findings.verdicts.iter();
    verdicts.filter_map(|verdict| Some((verdict.name, verdict.counterexample.as_ref()?.len()))).collect()
}

/// The journal of a counterexample.
pub(crate) fn journal(run: &CheckRun, example: &Counterexample) -> Vec<u8> {
    let mut bytes = Vec::new();
    let lines = run.write(example, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count() as u64, lines);
    bytes
}
