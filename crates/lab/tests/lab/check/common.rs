//! Helpers for checks: specs, verdicts and counterexamples.

pub(crate) use crate::common::{checked, violated};

use quorate_check::{Counterexample, Timing, Verdict};
use quorate_core::{Duration, Time};
use quorate_lab::LinkChoice;
use quorate_lab::check::{CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::registry::Entry;

/// A check of `nodes` nodes that request entry `rounds` times each, on bare links.
pub(crate) fn spec(algorithm: &str, nodes: usize, rounds: impl Into<Option<u8>>) -> CheckSpec {
    let mut spec = CheckSpec { rounds: rounds.into(), links: LinkChoice::Bare, ..CheckSpec::named(algorithm).unwrap() };
    spec.setup.nodes = nodes;
    spec
}

/// Whether the algorithm supports groups of this size, with a state space small enough for many
/// searches.
pub(crate) fn is_small(entry: &Entry, nodes: usize) -> bool {
    let fits = match entry {
        Entry::Mutex(entry) => (entry.facts.fits)(nodes).is_ok(),
        Entry::Election(_) | Entry::Multicast(_) | Entry::Deadlock(_) | Entry::Replica(_) => false,
    };
    let is_wide = ["lamport", "voting"].iter().any(|wide| entry.name().starts_with(wide));
    // Numbered passes make the state space infinite.
    let is_endless = entry.name() == "token-ring-acknowledged";
    fits && !is_endless && !(is_wide && nodes > 2)
}

/// How often each of two nodes requests entry if it may try and cancel. Quorums of two nodes have a
/// large state space.
pub(crate) fn rounds_of_two(entry: &Entry) -> u8 {
    if entry.name().starts_with("maekawa") { 1 } else { 2 }
}

/// Whether it is a regular algorithm or a fixture made for the checker. Other seeded bugs have
/// tests of their own.
pub(crate) fn is_sample(entry: &Entry) -> bool {
    let prefixes =
        ["toy-", "ricart-agrawala-1981", "ricart-agrawala-clock", "ricart-agrawala-node", "ricart-agrawala-first"];
    entry.profile().flaw.is_none() || prefixes.iter().any(|prefix| entry.name().starts_with(prefix))
}

/// Adds timing with clocks that drift by this much.
pub(crate) fn timed(spec: CheckSpec, drift_ppm: u32, until: Duration) -> CheckSpec {
    let mut spec = spec;
    spec.setup.timing = Some(Timing { drift_ppm, ..Timing::until(Time::ZERO + until) });
    spec
}

pub(crate) fn verdict<'a>(run: &'a CheckRun, name: &str) -> &'a Verdict {
    let verdicts = &run.findings.verdicts;
    verdicts.iter().find(|verdict| verdict.name == name).unwrap_or_else(|| panic!("no verdict on {name}"))
}

/// Returns the counterexample to a property; panics if the property holds.
pub(crate) fn example<'a>(run: &'a CheckRun, name: &str) -> &'a Counterexample {
    verdict(run, name).counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"))
}

pub(crate) fn journal<F: CheckedFamily>(run: &CheckRun<F>, example: &Counterexample) -> Vec<u8> {
    let mut bytes = Vec::new();
    let lines = run.write(example, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count() as u64, lines);
    bytes
}
