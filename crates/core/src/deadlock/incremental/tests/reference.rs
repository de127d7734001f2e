//! A reference implementation of the search for deadlocks, which tries every set of owners. Bit `n`
//! of a set stands for owner `n`.

use crate::deadlock::{Deadlock, Graph, Need, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

/// Number of owners, which are the parties that wait or are waited for.
pub(super) const OWNERS: u8 = 6;

fn names(need: &Need<u8>) -> BTreeSet<u8> {
    need.awaited().iter().copied().collect()
}

/// Returns the owners that a need names and that are in the set, if they block the waiter: for a
/// `Need::Any` if the set contains all owners that it names, for a `Need::All` if at least one.
fn blocking_members(need: &Need<u8>, set: u32) -> Option<Vec<u8>> {
    let names = names(need);
    let (inside, outside): (Vec<u8>, Vec<u8>) = names.iter().partition(|name| set & (1 << **name) != 0);
    let has_alternatives = matches!(need, Need::Any(_)) && names.len() > 1;
    (!inside.is_empty() && (!has_alternatives || outside.is_empty())).then_some(inside)
}

/// Returns whether there is a set of owners, among them the waiter with this need, that wait
/// forever because of each other.
pub(super) fn closes_deadlock(graph: &Graph<u8>, waiter: u8, need: &Need<u8>) -> bool {
    (0..1_u32 << OWNERS).filter(|set| set & (1 << waiter) != 0).any(|set| {
        let members = (0..OWNERS).filter(|owner| set & (1 << owner) != 0);
        let blockers: BTreeMap<u8, Vec<u8>> = members
            .map(|owner| {
                let needs = if owner == waiter { core::slice::from_ref(need) } else { graph.needs(&owner) };
                (owner, needs.iter().filter_map(|need| blocking_members(need, set)).flatten().collect())
            })
            .collect();
        let reachable = |from: u8| {
            let mut reached = BTreeSet::new();
            let mut unexpanded = blockers[&from].clone();
            while let Some(owner) = unexpanded.pop() {
                if reached.insert(owner) {
                    unexpanded.extend(&blockers[&owner]);
                }
            }
            reached
        };
        blockers.keys().all(|owner| reachable(*owner).len() == blockers.len())
    })
}

/// Asserts that a returned deadlock is real: its needs exist, and its members are stuck because of
/// each other alone.
pub(super) fn assert_real(deadlock: &Deadlock<u8>, graph: &Graph<u8>, (waiter, need): (u8, &Need<u8>)) {
    let mut reported_graph = Graph::new();
    for (agent, reported) in &deadlock.waits {
        let needs = if *agent == waiter { core::slice::from_ref(need) } else { graph.needs(agent) };
        let exists = needs.iter().any(|need| match (reported, need) {
            (Need::Any(_), need) => matches!(need, Need::Any(_)) && names(reported) == names(need),
            // A `Need::Any` of one owner has no alternatives and is reported as a `Need::All`.
            (Need::All(awaited), Need::Any(_)) => names(need) == names(reported) && awaited.len() == 1,
            (Need::All(_), Need::All(_)) => names(reported).is_subset(&names(need)),
        });
        assert!(exists, "{agent} has no need like {reported:?}");
        reported_graph.add_need(*agent, reported.clone());
    }
    let members: BTreeSet<u8> = deadlock.waits.iter().map(|(agent, _)| *agent).collect();
    assert_eq!(members.len(), deadlock.waits.len(), "each member is listed with one need");
    assert!(members.contains(&waiter));
    assert_eq!(reported_graph.stuck_agents(), members, "the members are stuck without others");
    assert_eq!(reported_graph.deadlocks().len(), 1, "because of each other: {deadlock:?}");
    assert_eq!(reported_graph.deadlocks()[0].waits.len(), members.len());
    match deadlock.shape {
        Shape::Knot => assert!(deadlock.waits.iter().any(|(_, need)| need.has_alternatives())),
        Shape::Cycle => {
            let next = deadlock.waits.iter().cycle().skip(1);
            assert!(deadlock.waits.iter().zip(next).all(|((_, need), (next, _))| *need == Need::All([*next].into())));
        }
    }
}

/// Asserts that no member of a cycle is redundant: without it, the others would not be stuck. Holds
/// only if no owner was stuck before the new need.
pub(super) fn assert_minimal(deadlock: &Deadlock<u8>, graph: &Graph<u8>, need: &Need<u8>) {
    // A reported cycle begins with the new need.
    let (waiter, _) = deadlock.waits[0];
    for (removed, _) in &deadlock.waits {
        let mut rest = Graph::new();
        for agent in deadlock.waits.iter().map(|(agent, _)| *agent).filter(|agent| agent != removed) {
            let needs = if agent == waiter { core::slice::from_ref(need) } else { graph.needs(&agent) };
            for need in needs.iter().filter(|need| matches!(need, Need::All(_)) || names(need).len() == 1) {
                let remains = |name: &u8| name != removed && deadlock.waits.iter().any(|(agent, _)| agent == name);
                rest.add_need(agent, Need::All(names(need).into_iter().filter(remains).collect()));
            }
        }
        assert!(rest.stuck_agents().is_empty(), "{removed} is redundant: {deadlock:?}");
    }
}
