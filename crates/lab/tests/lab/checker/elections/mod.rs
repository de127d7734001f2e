//! Elections under the checker: a right one stands every crash and restart, every slip in it is found, and what is found is broken in
//! the eyes of the simulator's judges too.

mod deaths;
mod leases;
mod slips;
mod toys;

use crate::checker::engine::common::plain;
use crate::checker::{broken, length};
use quorate_check::{Checker, Deaths, Effort, Findings, Setup};
use quorate_core::election::{Command, Event};
use quorate_core::{Group, NodeId, WriteOf};
use quorate_erased::{Erasable, ErasableWrite, Erased};
use quorate_lab::election::check::Voters;
use quorate_lab::election::run::Properties;
use std::sync::Arc;

/// More than any of these groups has; a toy that goes on for ever fails instead of filling the memory.
const MOST_STATES: u64 = 3_000_000;

fn search(reduce: bool) -> Effort {
    Effort { reduce, ..plain() }
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
