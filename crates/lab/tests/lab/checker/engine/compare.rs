//! The checker and the reference explorer find the same number of states and transitions, and
//! finite counterexamples of the same length.
//!
//! "The paper" is the one by Ricart and Agrawala (1981). `Flaw::BareReplies` is its algorithm as
//! published; the other flaws are faulty variants.
//!
//! `Bounds::new(3, 2)` stands for three nodes that may request entry twice each; with `None`
//! instead of a number, they request entry without limit.

use crate::checker::engine::common::{
    Explorable, check, counterexample_len, flawed_group, group_of, plain_search, plain_search_for,
};
use crate::checker::engine::reference::{Bounds, NodeFactory, ReferenceResult, explore_within, starves};
use quorate_check::{Findings, Pass};
use quorate_core::fixtures::toys::{GrantOrder, Margin, Memory, Removal, VoterOrder};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Central, RicartAgrawala, RicartAgrawalaModulo};
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
use quorate_core::{Duration, Group, NodeId, Time};

const NO_DRIFT_PPM: u32 = 0;
const FLAWS: [Flaw; 4] = [Flaw::BareReplies, Flaw::ClockOnly, Flaw::NodeOnly, Flaw::FirstOnly];

fn assert_same_size(pass: Pass, reference: &ReferenceResult, case: &str) {
    let sizes = (pass.states, pass.generated, pass.depth);
    assert_eq!(
        sizes,
        (reference.states, reference.generated, reference.depth),
        "{case}: states, transitions and depth"
    );
}

/// Asserts that both explorers find the same in a group, whatever its number of states.
pub(crate) fn assert_agreement(factory: &NodeFactory, bounds: &Bounds) -> ReferenceResult {
    assert_agreement_within(factory, bounds, usize::MAX).unwrap().0
}

/// Asserts that both explorers find the same in a group. Returns their results, or `None` if the
/// reference explorer finds more than `max_states` states. If order or fences are judged, the
/// reference explorer searches twice: without the history that they need, and with it.
pub(crate) fn assert_agreement_within(
    factory: &NodeFactory,
    bounds: &Bounds,
    max_states: usize,
) -> Option<(ReferenceResult, Findings)> {
    let case = format!("{} {bounds:?}", factory.protocol_name);
    let (order, fences) = (bounds.clients.checks_order, bounds.clients.checks_fences);
    let mut without_history = bounds.clone();
    (without_history.clients.checks_order, without_history.clients.checks_fences) = (false, false);
    let mut reference = explore_within(factory, &without_history, max_states)?;
    let history = if order || fences { Some(explore_within(factory, bounds, max_states)?) } else { None };
    let findings = check(factory, bounds, &plain_search());
    assert_same_size(findings.main_pass, &reference, &case);
    let two_holders = counterexample_len(&findings, "exclusion");
    assert_eq!(counterexample_len(&findings, "asked-first"), reference.unrequested, "{case}");
    assert_eq!(counterexample_len(&findings, "no-deadlock"), reference.deadlock, "{case}");
    assert_eq!(two_holders, reference.two_holders, "{case}");
    if bounds.setup.timing.is_none() {
        let served = counterexample_len(&findings, "served");
        // The checker reports a finite counterexample rather than a cycle. The largest groups here
        // have no cycles, so the slow search for one is skipped.
        let has_starving_cycle =
            reference.unserved_end.is_none() && reference.states < 20_000 && starves(factory, &without_history);
        assert_eq!(
            served.is_some(),
            reference.unserved_end.is_some() || has_starving_cycle,
            "{case}: {served:?} {reference:?}"
        );
        assert!(
            reference.unserved_end.is_none() || served == reference.unserved_end,
            "{case}: {served:?} {reference:?}"
        );
    }
    if let Some(history) = history {
        assert_same_size(findings.past_pass.unwrap(), &history, &format!("{case} with history"));
        (reference.unordered, reference.fence_decrease) = (history.unordered, history.fence_decrease);
    }
    if order {
        assert_eq!(counterexample_len(&findings, "happened-before-order"), reference.unordered, "{case}");
    }
    if fences {
        assert_eq!(counterexample_len(&findings, "fences-grow"), reference.fence_decrease, "{case}");
    }
    println!("{case}\n  {reference:?}");
    Some((reference, findings))
}

fn assert_agreement_on_faulty_variants(bounds: &Bounds) {
    for flaw in FLAWS {
        assert_agreement(&flawed_group(flaw, bounds.setup.nodes), bounds);
    }
}

#[test]
fn two_nodes_of_the_paper_and_its_faulty_variants_are_explored_completely() {
    let two_nodes = || Bounds::new(2, 1);
    for bounds in [two_nodes(), two_nodes().cancels(), two_nodes().fifo(), two_nodes().fifo().cancels()] {
        assert_agreement_on_faulty_variants(&bounds);
    }
}

#[test]
fn three_nodes_of_the_paper_and_its_faulty_variants_are_explored_completely() {
    assert_agreement_on_faulty_variants(&Bounds::new(3, 1));
    assert_agreement_on_faulty_variants(&Bounds::new(3, 1).fifo());
}

#[test]
fn three_nodes_that_may_cancel_are_explored_completely() {
    assert_agreement_on_faulty_variants(&Bounds::new(3, 1).fifo().cancels());
}

#[test]
#[ignore = "long: ./check long"]
fn three_nodes_that_may_cancel_are_explored_with_unordered_links() {
    assert_agreement_on_faulty_variants(&Bounds::new(3, 1).cancels());
}

#[test]
fn order_and_fence_violations_have_counterexamples_of_the_same_length() {
    for flaw in FLAWS {
        assert_agreement(&flawed_group(flaw, 2), &Bounds::new(2, 2).cancels().order().fences());
        assert_agreement(&flawed_group(flaw, 3), &Bounds::new(3, 1).order().fifo());
    }
    let reference = assert_agreement(&flawed_group(Flaw::BareReplies, 2), &Bounds::new(2, 3).order());
    // Bare replies carry no clock: node 1 can learn of node 2's request by a reply, and then make
    // another request that still goes ahead of it. The shortest such run has 12 steps.
    assert_eq!(reference.unordered, Some(12));
    assert_agreement(&group_of(2, RicartAgrawala::new), &Bounds::new(2, 2).order().fences());
    assert_agreement(&group_of(3, RicartAgrawala::new), &Bounds::new(3, 1).order().fences());
    assert_agreement(&group_of(2, Central::new), &Bounds::new(2, 2).order().fences());
    assert_agreement(&group_of(3, Central::new), &Bounds::new(3, 1).order().fences());
}

#[test]
#[ignore = "long: ./check long"]
fn order_violations_of_three_nodes_agree_with_unordered_links() {
    for flaw in FLAWS {
        assert_agreement(&flawed_group(flaw, 3), &Bounds::new(3, 1).order());
    }
}

#[test]
fn the_algorithms_are_explored_completely() {
    assert_agreement(&group_of(2, RicartAgrawala::new), &Bounds::new(2, 2).tries().cancels());
    assert_agreement(&group_of(3, RicartAgrawala::new), &Bounds::new(3, 1));
    assert_agreement(&group_of(2, RicartAgrawalaModulo::new), &Bounds::new(2, 2).tries().cancels());
    assert_agreement(&group_of(2, RicartAgrawalaModulo::new), &Bounds::new(2, None));
    assert_agreement(&group_of(2, Central::new), &Bounds::new(2, 2).tries().cancels());
    assert_agreement(&group_of(3, Central::new), &Bounds::new(3, 2).tries());
    assert_agreement(&group_of(3, Central::new), &Bounds::new(3, 1).cancels().fifo());
}

fn assert_agreement_on_toy<P: Explorable>(new_node: fn(NodeId, Group) -> P) {
    for nodes in [2, 3] {
        assert_agreement(&group_of(nodes, new_node), &Bounds::new(nodes, 2).order());
        assert_agreement(&group_of(nodes, new_node), &Bounds::new(nodes, None));
        assert_agreement(&group_of(nodes, new_node), &Bounds::new(nodes, None).fifo());
    }
    assert_agreement(&group_of(2, new_node), &Bounds::new(2, None).tries().cancels());
}

#[test]
fn toys_with_unlimited_requests_are_explored_completely() {
    assert_agreement_on_toy(|me, group| Memory::Forgetful.node(me, group));
    assert_agreement_on_toy(|me, group| Memory::Mindful.node(me, group));
    assert_agreement_on_toy(|me, group| VoterOrder::ByParity.node(me, group));
    assert_agreement_on_toy(|me, group| VoterOrder::SameForAll.node(me, group));
    assert_agreement_on_toy(|me, group| GrantOrder::LowestNumberFirst.node(me, group));
    assert_agreement_on_toy(|me, group| GrantOrder::ByArrival.node(me, group));
    assert_agreement_on_toy(|me, group| Removal::BothOfTwo.node(me, group));
    assert_agreement_on_toy(|me, group| Removal::GrantedOnly.node(me, group));
}

fn assert_agreement_under_faults<P: Explorable>(new_node: fn(NodeId, Group) -> P) {
    let factory = group_of(2, new_node);
    for rounds in [1, 2] {
        let bounds = Bounds::new(2, rounds);
        assert_agreement(&factory, &bounds.clone().losses(1));
        assert_agreement(&factory, &bounds.clone().duplicates(1));
        assert_agreement(&factory, &bounds.clone().crashes(1));
        assert_agreement(&factory, &bounds.clone().crashes(2).restarts(1));
        assert_agreement(&factory, &bounds.clone().losses(2).duplicates(1).fifo());
    }
    let all_faults = Bounds::new(2, 1).losses(1).duplicates(1).crashes(1).restarts(1);
    assert_agreement(&factory, &all_faults.clone().order().fences());
    assert_agreement(&factory, &all_faults.cancels().fifo().order());
}

#[test]
fn losses_duplicates_crashes_and_restarts_are_all_tried() {
    assert_agreement_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies));
    assert_agreement_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::ClockOnly));
    assert_agreement_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::NodeOnly));
    assert_agreement_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::FirstOnly));
    assert_agreement_under_faults(RicartAgrawala::new);
    assert_agreement_under_faults(Central::new);
    assert_agreement_under_faults(|me, group| Memory::Forgetful.node(me, group));
    assert_agreement_under_faults(|me, group| VoterOrder::ByParity.node(me, group));
    assert_agreement_under_faults(|me, group| GrantOrder::LowestNumberFirst.node(me, group));
    assert_agreement_under_faults(|me, group| Removal::BothOfTwo.node(me, group));
}

/// A group over links that retransmit lost messages.
pub(crate) fn group_with_reliable_links<P: Explorable>(nodes: usize, new_node: fn(NodeId, Group) -> P) -> NodeFactory {
    group_of(nodes, move |me, group| Reliable::new(me, new_node(me, group), RetransmissionTimeouts::default()))
}

#[test]
fn links_that_retransmit_are_explored_with_their_timers() {
    let central = group_with_reliable_links(2, Central::new);
    assert_agreement(&central, &Bounds::new(2, 1).losses(1).order().fences());
    assert_agreement(&central, &Bounds::new(2, 1).duplicates(1).early_timers(1).order());
    assert_agreement(&central, &Bounds::new(2, 1).losses(1).crashes(1).early_timers(1));
    let published = |me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies);
    assert_agreement(&group_with_reliable_links(2, RicartAgrawala::new), &Bounds::new(2, 1).losses(1).order().fences());
    assert_agreement(&group_with_reliable_links(2, published), &Bounds::new(2, 1).losses(1).order());
}

/// Leases with a margin of one microsecond (`Tick`), or one that covers a drift of up to 1,000 ppm
/// (`Drift`).
#[test]
fn time_advances_from_timer_to_timer() {
    for (margin, drift_ppm, violates_exclusion) in [
        (Margin::Tick, 0, false),
        (Margin::Tick, 1_000, true),
        (Margin::Drift, 1_000, false),
        (Margin::Drift, 10_000, true),
    ] {
        let factory = group_of(2, move |me, group| margin.node(me, group));
        // A lease lasts one second.
        for (rounds, millis) in [(1, 2_100), (2, 1_100)] {
            let until = Time::ZERO + Duration::from_millis(millis);
            let reference = assert_agreement(&factory, &Bounds::new(2, rounds).timing(drift_ppm, until));
            assert_eq!(reference.two_holders.is_some(), violates_exclusion, "{margin:?} at {drift_ppm} ppm");
        }
    }
}

#[test]
fn bounded_message_delays_are_explored_completely() {
    let ms = Duration::from_millis;
    let until = Time::ZERO + ms(12);
    for (minimum, maximum) in [(ms(0), ms(0)), (ms(0), ms(3)), (ms(2), ms(2)), (ms(1), ms(4))] {
        for fifo in [false, true] {
            let bounds = |rounds| {
                let mut bounds = Bounds::new(2, rounds).timing(NO_DRIFT_PPM, until).delay(minimum, maximum);
                bounds.setup.has_fifo_links = fifo;
                bounds
            };
            for flaw in FLAWS {
                assert_agreement(&flawed_group(flaw, 2), &bounds(1));
            }
            assert_agreement(&flawed_group(Flaw::BareReplies, 2), &bounds(1).cancels().order().fences());
            assert_agreement(&group_of(2, Central::new), &bounds(1).losses(1).crashes(1).restarts(1));
            assert_agreement(&group_of(2, Central::new), &bounds(1).duplicates(1));
        }
    }
    assert_agreement(&group_of(3, Central::new), &Bounds::new(3, 1).timing(NO_DRIFT_PPM, until).delay(ms(1), ms(2)));
}

/// If messages take no time and no node sets a timer, time never passes. Then the result is the
/// same as without timing.
#[test]
fn messages_that_take_no_time_arrive_in_every_order() {
    let until = Time::ZERO + Duration::from_millis(12);
    for flaw in FLAWS {
        let factory = flawed_group(flaw, 2);
        let untimed = assert_agreement(&factory, &Bounds::new(2, 2).order());
        let bounds = Bounds::new(2, 2).order().timing(NO_DRIFT_PPM, until).delay(Duration::ZERO, Duration::ZERO);
        // With timing, service is not judged.
        assert_eq!(
            ReferenceResult { unserved_end: None, ..assert_agreement(&factory, &bounds) },
            ReferenceResult { unserved_end: None, ..untimed }
        );
    }
}

#[test]
fn leaving_out_properties_does_not_change_the_others() {
    let factory = flawed_group(Flaw::ClockOnly, 2);
    let bounds = Bounds::new(2, 1).order();
    let judged_together = check(&factory, &bounds, &plain_search());
    for property in ["exclusion", "asked-first", "happened-before-order", "no-deadlock", "served"] {
        let judged_alone = check(&factory, &bounds, &plain_search_for(&[property]));
        assert_eq!(
            counterexample_len(&judged_alone, property),
            counterexample_len(&judged_together, property),
            "{property}"
        );
        assert_eq!(judged_alone.verdicts.len(), 1);
    }
}
