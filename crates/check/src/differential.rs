//! The checker's properties against the simulator's: on random walks both must come to the same verdicts.
//!
//! The simulator judges a run by vector clocks and by all fences ever given. The checker judges it by a few bits beside
//! the state. Every walk is played by real nodes before the simulator's judges.

use crate::cast::cast;
use crate::content::mix;
use crate::findings::Setup;
use crate::local::Checked;
use crate::mutex::Contenders;
use crate::play::{Counterexample, play};
use crate::stage::Make;
use crate::system::{MOST_ORDERED, Memory};
use crate::trail::Guide;
use crate::users::{Judged, Users};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Central, Command, Event, RicartAgrawala, Service};
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_core::{Group, NodeId};
use quorate_sim::mutex::{Expectations, OrderWatch, Properties};
use std::collections::BTreeSet;
use std::sync::Arc;

const USERS: Contenders = Contenders {
    rounds: Some(3),
    tries: true,
    cancels: true,
    readers: false,
    shares: false,
    fences: true,
    order: true,
    service: Service::Certain,
    views: false,
};

/// The names of the properties that some walk broke.
fn broken_by_walks<P>(
    make: impl Fn(NodeId) -> P + Send + Sync + 'static,
    setup: Setup,
    walks: u64,
) -> BTreeSet<&'static str>
where
    P: Checked<Command = Command, Event = Event>,
{
    let make: Make<P> = Arc::new(make);
    let (mut stage, mut system, initial) = cast(&make, &USERS, &setup);
    let properties = USERS.properties();
    let is_ordered = setup.nodes <= MOST_ORDERED;
    let number = |judged: fn(&Judged) -> bool| {
        properties.iter().position(|property| judged(&property.judged)).map(|number| number as u8)
    };
    system.memory = Some(Memory {
        order: number(|judged| matches!(judged, Judged::ByOrder)).filter(|_| is_ordered),
        fences: number(|judged| matches!(judged, Judged::ByFences)),
    });
    system.watched = u32::MAX;
    let by_state = properties.iter().zip(0..).filter_map(|(property, number)| match property.judged {
        Judged::ByState(judge) => Some((number, judge)),
        _ => None,
    });
    system.judges = by_state.collect();
    let mut all = BTreeSet::new();
    for walk in 0..walks {
        let mut broken = BTreeSet::new();
        let mut state = system.with_memory(&initial[0].0);
        let mut steps = Vec::new();
        let mut guide = Guide::new(&mut system, &mut stage, &state);
        for step in 0..120 {
            let candidates = guide.candidates(&state);
            let chance = mix(mix(walk) ^ step);
            let Some(candidate) = candidates.get(chance as usize % candidates.len().max(1)).copied() else { break };
            let names = guide.breaches().iter().filter(|(_, action)| *action == candidate.action);
            broken.extend(names.map(|(number, _)| properties[usize::from(*number)].name));
            steps.push(guide.take(&mut state, candidate));
            broken.extend(guide.lookup.system.broken(&state).map(|number| properties[usize::from(number)].name));
        }
        let example = Counterexample { steps, cycle: None, rates: vec![0; setup.nodes], timed: false, views: false };
        let order = if is_ordered { OrderWatch::Promised } else { OrderWatch::Ignored };
        let expects = Expectations { fences: true, order, ..Expectations::default() };
        let judged = play(&stage, &example, Properties::new(setup.nodes, expects)).expect("real nodes follow the walk");
        let always = ["exclusion", "asked-first", "fences-grow", "happened-before-order"];
        let verdicts = judged.verdicts();
        let simulated: BTreeSet<_> = verdicts
            .iter()
            .filter(|verdict| always.contains(&verdict.name) && !verdict.holds)
            .map(|verdict| verdict.name)
            .collect();
        assert_eq!(broken, simulated, "walk {walk}");
        all.extend(broken);
    }
    all
}

fn group() -> Group {
    Group::of_size(3)
}

#[test]
fn on_bare_links_both_judge_alike() {
    let flawed = |flaw| move |me| RicartAgrawala1981::new(me, group(), flaw);
    for fifo in [false, true] {
        let setup = || Setup { fifo, ..Setup::new(3) };
        let order = "happened-before-order";
        let bare = broken_by_walks(flawed(Flaw::BareReplies), setup(), 800);
        assert!(bare.contains(order) && bare.contains("exclusion"), "{bare:?}");
        let node_only = broken_by_walks(flawed(Flaw::NodeOnly), setup(), 400);
        assert!(node_only.contains(order) && node_only.contains("exclusion"), "{node_only:?}");
        let central = broken_by_walks(|me| Central::new(me, group()), setup(), 400);
        assert_eq!(central, BTreeSet::from([order]), "it promises the order of arrival only");
        let right = broken_by_walks(|me| RicartAgrawala::new(me, group()), setup(), 400);
        assert_eq!(right, BTreeSet::new());
    }
}

#[test]
fn in_a_group_too_large_for_its_order_fences_are_judged_alike() {
    let nodes = MOST_ORDERED + 3;
    let make = move |me| Central::new(me, Group::of_size(nodes));
    assert_eq!(broken_by_walks(make, Setup::new(nodes), 100), BTreeSet::new());
    let setup = Setup { crashes: 9, restarts: 9, ..Setup::new(nodes) };
    assert!(broken_by_walks(make, setup, 200).contains("fences-grow"), "a coordinator that restarts begins again");
}

#[test]
fn when_nodes_crash_and_restart_both_judge_alike() {
    let setup = Setup { crashes: 2, restarts: 2, duplicates: 2, losses: 1, ..Setup::new(3) };
    let central = broken_by_walks(|me| Central::new(me, group()), setup.clone(), 600);
    assert!(central.contains("fences-grow") && central.contains("exclusion"), "{central:?}");
    broken_by_walks(|me| RicartAgrawala::new(me, group()), setup, 600);
}

#[test]
fn over_links_that_hold_messages_back_both_judge_alike() {
    let over = |flaw| {
        move |me| {
            let inner = RicartAgrawala1981::new(me, group(), flaw);
            Reliable::new(me, inner, Retransmission::default())
        }
    };
    let setup = Setup { losses: 3, duplicates: 2, hasty_timers: 3, ..Setup::new(3) };
    let bare = broken_by_walks(over(Flaw::BareReplies), setup.clone(), 600);
    assert!(bare.contains("happened-before-order"), "{bare:?}");
    let right = |me| Reliable::new(me, RicartAgrawala::new(me, group()), Retransmission::default());
    assert_eq!(broken_by_walks(right, setup, 300), BTreeSet::new());
}
