//! Elections under the checker: a right one stands every crash and restart, every slip in it is found, and what is found is broken in
//! the eyes of the simulator's judges too.

mod deaths;
mod leases;
mod slips;
mod toys;

use quorate_check::{Checker, Deaths, Effort, Findings, Search, Setup};
use quorate_core::election::{Command, Event};
use quorate_core::{Group, NodeId, WriteOf};
use quorate_erased::{Erasable, ErasableWrite, Erased};
use quorate_lab::election::check::Voters;
use quorate_lab::election::run::Properties;
use std::sync::Arc;

/// More than any of these groups has; a toy that goes on for ever fails instead of filling the memory.
const MOST_STATES: u64 = 3_000_000;

/// A search breadth first by one thread.
fn search(reduce: bool) -> Effort {
    Effort { search: Search::Breadth, threads: 1, memory: 4 << 30, reduce, first: false, properties: None }
}

/// So many nodes of which some may crash and come back, whose deaths are told.
fn setup(nodes: usize, crashes: u8, restarts: u8) -> Setup {
    Setup { crashes, restarts, deaths: Deaths::ToNodes, prompt_disks: true, ..Setup::new(nodes) }
}

/// Checks, and plays every counterexample before the simulator's judges, which must agree.
fn check<P>(
    make: impl Fn(NodeId, Group) -> P + Send + Sync + 'static,
    setup: &Setup,
    users: &Voters,
    effort: &Effort,
) -> Findings
where
    P: Erasable<Command = Command, Event = Event>,
    WriteOf<P>: ErasableWrite,
{
    let group = Group::of_size(setup.nodes);
    let make = Arc::new(move |me| Erased::new(make(me, group.clone())));
    let mut checker = Checker::new(make, users.clone(), setup.clone()).unwrap();
    let findings = checker.run(effort, &mut |_, progress| progress.states < MOST_STATES);
    for verdict in &findings.verdicts {
        let Some(example) = &verdict.counterexample else { continue };
        let judges = Properties::new(setup.nodes, false).with_leases(users.leases);
        let judged =
            checker.play(example, judges).unwrap_or_else(|error| panic!("{}: {error}", verdict.name)).verdicts();
        let simulated = judged.iter().find(|simulated| simulated.name == verdict.name).unwrap();
        assert!(simulated.is_breach(), "the simulator does not see '{}' broken", verdict.name);
    }
    findings
}

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
