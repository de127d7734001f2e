//! Helpers that create groups of mutual-exclusion nodes, check them and read the verdicts.

use crate::checker::engine::reference::{Bounds, NodeFactory};
use quorate_check::{Checker, Effort, Findings, Search, Verdict};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Durable, Group, NodeId};
use quorate_erased::{Erasable, ErasableWrite, Erased};
use quorate_lab::mutex::MutexNode;
use quorate_lab::mutex::check::Contenders;
use std::sync::Arc;

/// A plain search: breadth first, one thread, no reduction.
pub(crate) fn plain_search() -> Effort {
    Effort {
        search: Search::Breadth,
        threads: 1,
        memory_limit: 4 << 30, // bytes
        reduce: false,
        stop_at_first: false,
        properties: None,
    }
}

/// A plain search with reduction.
pub(crate) fn reduced_search() -> Effort {
    Effort { reduce: true, ..plain_search() }
}

/// A plain search that judges only these properties.
pub(crate) fn plain_search_for(properties: &[&str]) -> Effort {
    Effort { properties: Some(properties.iter().map(|name| (*name).to_owned()).collect()), ..plain_search() }
}

/// A mutual exclusion protocol that both the checker and the reference explorer can run.
pub(crate) trait Explorable:
    Erasable<Command = Command, Event = Event, Durable: Durable<Write: ErasableWrite>>
{
}

impl<P> Explorable for P where P: Erasable<Command = Command, Event = Event, Durable: Durable<Write: ErasableWrite>> {}

pub(crate) fn group_of<P: Explorable>(
    nodes: usize,
    new_node: impl Fn(NodeId, Group) -> P + Send + Sync + 'static,
) -> NodeFactory {
    let group = Group::of_size(nodes);
    let protocol_name = std::any::type_name::<P>();
    NodeFactory { make: Arc::new(move |me| Erased::new(new_node(me, group.clone()))), protocol_name }
}

/// A group that runs the algorithm of Ricart and Agrawala (1981) with a flaw.
pub(crate) fn flawed_group(flaw: Flaw, nodes: usize) -> NodeFactory {
    group_of(nodes, move |me, group| RicartAgrawala1981::new(me, group, flaw))
}

pub(crate) fn new_checker(factory: &NodeFactory, bounds: &Bounds) -> Checker<MutexNode, Contenders> {
    Checker::new(Arc::clone(&factory.make), bounds.clients, bounds.setup.clone()).unwrap()
}

pub(crate) fn check(factory: &NodeFactory, bounds: &Bounds, effort: &Effort) -> Findings {
    // The callback ignores the progress, and lets the check continue.
    new_checker(factory, bounds).run(effort, &mut |_, _| true)
}

pub(crate) fn verdict<'a>(findings: &'a Findings, name: &str) -> &'a Verdict {
    findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap_or_else(|| panic!("no verdict on {name}"))
}

/// Returns the length of the counterexample to a property, if it is violated; panics if the search
/// did not decide it.
pub(crate) fn counterexample_len(findings: &Findings, name: &str) -> Option<u64> {
    let verdict = verdict(findings, name);
    let holds = verdict.holds.unwrap_or_else(|| panic!("{name} is undecided: {:?}", verdict.undecided_reason));
    assert_eq!(holds, verdict.counterexample.is_none(), "{name}");
    verdict.counterexample.as_ref().map(|example| example.len() as u64)
}

/// Returns the name of each property and whether it holds, but not its counterexample.
pub(crate) fn verdicts(findings: &Findings) -> Vec<(&'static str, Option<bool>)> {
    findings.verdicts.iter().map(|verdict| (verdict.name, verdict.holds)).collect()
}
