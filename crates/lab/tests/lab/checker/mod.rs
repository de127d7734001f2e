//! The checker itself, with the families' clients: against a second explorer, against its observers, and on typed algorithms.

mod differential;
mod elections;
mod engine;
mod multicast;

use quorate_check::Findings;

/// The properties that are broken; the check must have come to its end.
fn broken(findings: &Findings) -> Vec<&'static str> {
    assert!(findings.is_complete(), "{:?} after {} states", findings.end, findings.states.states);
    let broken = findings.verdicts.iter().filter(|verdict| verdict.holds == Some(false));
    broken.map(|verdict| verdict.name).collect()
}

/// How many steps the counterexample to a property has, if it is broken.
fn length(findings: &Findings, name: &str) -> Option<usize> {
    let verdict = findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    verdict.counterexample.as_ref().map(|example| example.len())
}
