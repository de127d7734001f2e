//! Elections under the checker: a correct one survives crashes and restarts at every point, seeded
//! bugs are found, and the simulator's observers confirm the counterexamples.

mod bugs;
mod crash_notices;
mod leases;
mod toys;

use crate::checker::{counterexample_length, violated_properties};
use quorate_check::{Checker, CrashNotices, Effort, Findings, Setup};
use quorate_core::election::{Command, Event};
use quorate_core::{Group, NodeId, WriteOf};
use quorate_erased::{Erasable, ErasableWrite, Erased};
use quorate_lab::election::check::ElectionClients;
use quorate_lab::election::run::Properties;
use std::sync::Arc;

/// More states than any of these groups has. A search stops there and is incomplete, instead of
/// filling the memory.
const MAX_STATES: u64 = 3_000_000;

/// A group in which some nodes may crash and restart, and the others are notified.
fn setup(nodes: usize, crashes: u8, restarts: u8) -> Setup {
    Setup { crashes, restarts, crash_notices: CrashNotices::ToNodes, has_prompt_disks: true, ..Setup::new(nodes) }
}

/// Runs a check, and replays every counterexample to the simulator's observers, which must agree.
fn check<P>(
    make: impl Fn(NodeId, Group) -> P + Send + Sync + 'static,
    setup: &Setup,
    clients: &ElectionClients,
    effort: &Effort,
) -> Findings
where
    P: Erasable<Command = Command, Event = Event>,
    WriteOf<P>: ErasableWrite,
{
    let group = Group::of_size(setup.nodes);
    let make = Arc::new(move |me| Erased::new(make(me, group.clone())));
    let mut checker = Checker::new(make, clients.clone(), setup.clone()).unwrap();
    let findings = checker.run(effort, &mut |_, progress| progress.states < MAX_STATES);
    for verdict in &findings.verdicts {
        let Some(example) = &verdict.counterexample else { continue };
        let expects_several_starters = false;
        let properties = Properties::new(setup.nodes, expects_several_starters).with_leases(clients.has_leases);
        let judged =
            checker.replay(example, properties).unwrap_or_else(|error| panic!("{}: {error}", verdict.name)).verdicts();
        let simulated = judged.iter().find(|simulated| simulated.name == verdict.name).unwrap();
        assert!(
            simulated.is_violated(),
            "the simulator's observers do not confirm the violation of '{}'",
            verdict.name
        );
    }
    findings
}
