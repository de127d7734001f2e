//! What the tests share: checks in few words, and what came of each property.

pub(crate) use crate::common::{broken, checked};

use quorate_check::{Counterexample, Timing, Verdict};
use quorate_core::{Duration, Time};
use quorate_lab::LinkChoice;
use quorate_lab::check::{CheckRun, CheckSpec, CheckedFamily};
use quorate_lab::registry::Entry;

/// A check of so many nodes that ask so many times each, on bare links.
pub(crate) fn spec(algorithm: &str, nodes: usize, rounds: impl Into<Option<u8>>) -> CheckSpec {
    let mut spec = CheckSpec { rounds: rounds.into(), links: LinkChoice::Bare, ..CheckSpec::named(algorithm).unwrap() };
    spec.setup.nodes = nodes;
    spec
}

/// Whether the algorithm has groups of this size, and small ones: what they may do is searched many times over.
pub(crate) fn is_small(entry: &Entry, nodes: usize) -> bool {
    let fits = match entry {
        Entry::Mutex(entry) => (entry.facts.fits)(nodes).is_ok(),
        Entry::Election(_) | Entry::Multicast(_) | Entry::Deadlock(_) | Entry::Replica(_) => false,
    };
    let is_wide = ["lamport", "voting"].iter().any(|wide| entry.name().starts_with(wide));
    // Passes that are numbered never come to an end.
    let is_endless = entry.name() == "token-ring-acknowledged";
    fits && !is_endless && !(is_wide && nodes > 2)
}

/// How often each of two nodes asks where it may try and give up. Quorums of two nodes have many ways to argue.
pub(crate) fn rounds_of_two(entry: &Entry) -> u8 {
    if entry.name().starts_with("maekawa") { 1 } else { 2 }
}

/// Whether it is an algorithm, or a fixture made for the checker; slips in real algorithms have their own tests.
pub(crate) fn is_sample(entry: &Entry) -> bool {
    let slips =
        ["toy-", "ricart-agrawala-1981", "ricart-agrawala-clock", "ricart-agrawala-node", "ricart-agrawala-first"];
    entry.profile().flaw.is_none() || slips.iter().any(|slip| entry.name().starts_with(slip))
}

/// Time counts, and clocks are off by so much.
pub(crate) fn timed(spec: CheckSpec, drift_ppm: u32, until: Duration) -> CheckSpec {
    let mut spec = spec;
    spec.setup.timing = Some(Timing { drift_ppm, ..Timing::until(Time::ZERO + until) });
    spec
}

pub(crate) fn verdict<'a>(run: &'a CheckRun, name: &str) -> &'a Verdict {
    let verdicts = &run.findings.verdicts;
    verdicts.iter().find(|verdict| verdict.name == name).unwrap_or_else(|| panic!("no verdict on {name}"))
}

/// The counterexample to a property that must be broken.
pub(crate) fn example<'a>(run: &'a CheckRun, name: &str) -> &'a Counterexample {
    verdict(run, name).counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"))
}

pub(crate) fn journal<F: CheckedFamily>(run: &CheckRun<F>, example: &Counterexample) -> Vec<u8> {
    let mut bytes = Vec::new();
    let lines = run.write(example, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count() as u64, lines);
    bytes
}
