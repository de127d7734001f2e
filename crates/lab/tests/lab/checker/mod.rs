//! Tests of the checker with the families' clients: against a second explorer, against the
//! simulator's observers, and on correct and faulty algorithms.

mod differential;
mod elections;
mod engine;
mod multicast;

use quorate_check::Findings;

/// Returns the violated properties of a check; panics if the check is incomplete.
fn violated_properties(findings: &Findings) -> Vec<&'static str> {
    assert!(findings.is_complete(), "{:?} after {} states", findings.end, findings.main_pass.states);
    let violated = findings.verdicts.iter().filter(|verdict| verdict.holds == Some(false));
    violated.map(|verdict| verdict.name).collect()
}

/// Returns the length of the counterexample to a property, if it is violated.
fn counterexample_length(findings: &Findings, name: &str) -> Option<usize> {
    let verdict = findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    verdict.counterexample.as_ref().map(|example| example.len())
}
