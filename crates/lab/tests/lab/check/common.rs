//! Helpers for checks: specs, verdicts and counterexamples.

pub(crate) use crate::common::{list_violations, run_check};

use quorate_check::{Counterexample, Timing, Verdict};
use quorate_core::{Duration, Time};
use quorate_lab::LinkChoice;
use quorate_lab::check::{CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::registry::Entry;

/// A check of `nodes` nodes that may request entry `rounds` times each, or without end if `None`,
/// on links that do not retransmit.
pub(crate) fn spec(algorithm: &str, nodes: usize, rounds: impl Into<Option<u8>>) -> CheckSpec {
    let mut spec = CheckSpec { rounds: rounds.into(), links: LinkChoice::Bare, ..CheckSpec::named(algorithm).unwrap() };
    spec.setup.nodes = nodes;
    spec
}

/// Whether this is a mutual exclusion algorithm that supports groups of this size, with a state
/// space small enough for many searches.
pub(crate) fn is_small(entry: &Entry, nodes: usize) -> bool {
    let is_valid_size = match entry {
        Entry::Mutex(entry) => (entry.facts.check_group_size)(nodes).is_ok(),
        Entry::Election(_) | Entry::Multicast(_) | Entry::Deadlock(_) | Entry::Replica(_) => false,
    };
    let is_large = ["lamport", "voting"].iter().any(|prefix| entry.name().starts_with(prefix));
    // The token's passes are numbered without bound, so the state space is infinite.
    let is_infinite = entry.name() == "token-ring-acknowledged";
    is_valid_size && !is_infinite && !(is_large && nodes > 2)
}

/// The number of rounds per node for checks of two nodes whose clients may also try and cancel: 2,
/// or 1 for algorithms that have too many states with 2.
pub(crate) fn rounds_for_two_nodes(entry: &Entry) -> u8 {
    if entry.name().starts_with("maekawa") { 1 } else { 2 }
}

/// Whether this is a correct algorithm, a toy (a minimal fixture), or a faulty variant of Ricart
/// and Agrawala's algorithm of 1981. Other fixtures have their own tests.
pub(crate) fn is_sample(entry: &Entry) -> bool {
    let prefixes =
        ["toy-", "ricart-agrawala-1981", "ricart-agrawala-clock", "ricart-agrawala-node", "ricart-agrawala-first"];
    entry.profile().flaw.is_none() || prefixes.iter().any(|prefix| entry.name().starts_with(prefix))
}

/// Adds time to the model, up to `until`, with clocks that drift by at most `drift_ppm`.
pub(crate) fn with_timing(spec: CheckSpec, drift_ppm: u32, until: Duration) -> CheckSpec {
    let mut spec = spec;
    spec.setup.timing = Some(Timing { drift_ppm, ..Timing::until(Time::ZERO + until) });
    spec
}

/// Returns the verdict on a property, which may be undecided; panics if there is none.
pub(crate) fn verdict<'a>(run: &'a CheckRun, name: &str) -> &'a Verdict {
    let verdicts = &run.findings.verdicts;
    verdicts.iter().find(|verdict| verdict.name == name).unwrap_or_else(|| panic!("no verdict on {name}"))
}

/// Returns the counterexample to a property; panics if there is none.
pub(crate) fn counterexample<'a>(run: &'a CheckRun, name: &str) -> &'a Counterexample {
    verdict(run, name).counterexample.as_ref().unwrap_or_else(|| panic!("no counterexample to {name}"))
}

/// Returns the counterexample as a journal.
pub(crate) fn journal<F: CheckedFamily>(run: &CheckRun<F>, example: &Counterexample) -> Vec<u8> {
    let mut bytes = Vec::new();
    let lines = run.write(example, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count() as u64, lines);
    bytes
}
