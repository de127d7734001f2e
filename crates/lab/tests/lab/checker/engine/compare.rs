//! The checker and the reference explorer agree: on the number of states and transitions, and on
//! the lengths of counterexamples.

use crate::checker::engine::common::{Explored, check, counterexample_len, flawed, group_of, only, plain};
use crate::checker::engine::reference::{Bounds, Maker, Seen, explore_within, starves};
use quorate_check::{Findings, Pass};
use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Central, RicartAgrawala, RicartAgrawalaModulo};
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_core::{Duration, Group, NodeId, Time};

const FLAWS: [Flaw; 4] = [Flaw::BareReplies, Flaw::ClockOnly, Flaw::NodeOnly, Flaw::FirstOnly];

fn same_size(pass: Pass, seen: &Seen, what: &str) {
    let found = (pass.states, pass.generated, pass.depth);
    assert_eq!(found, (seen.states, seen.generated, seen.depth), "{what}: states, transitions and depth");
}

pub(crate) fn agree(make: &Maker, bounds: &Bounds) -> Seen {
    agree_within(make, bounds, usize::MAX).unwrap().0
}

/// Explores a group with both, unless it has more than `most` states. Returns what the reference
/// explorer saw and what the checker found.
pub(crate) fn agree_within(make: &Maker, bounds: &Bounds, most: usize) -> Option<(Seen, Findings)> {
    let what = format!("{} {bounds:?}", make.name);
    let (order, fences) = (bounds.clients.order, bounds.clients.fences);
    let mut without_past = bounds.clone();
    (without_past.clients.order, without_past.clients.fences) = (false, false);
    let mut seen = explore_within(make, &without_past, most)?;
    let with_past = if order || fences { Some(explore_within(make, bounds, most)?) } else { None };
    let findings = check(make, bounds, &plain());
    same_size(findings.states, &seen, &what);
    let two_holders = counterexample_len(&findings, "exclusion");
    assert_eq!(counterexample_len(&findings, "asked-first"), seen.unrequested, "{what}");
    assert_eq!(counterexample_len(&findings, "no-deadlock"), seen.deadlock, "{what}");
    assert_eq!(two_holders, seen.two_holders, "{what}");
    if bounds.setup.timing.is_none() {
        let served = counterexample_len(&findings, "served");
        // A finite counterexample is shorter than a cycle; the largest groups here have no cycles.
        let goes_round = seen.end.is_none() && seen.states < 20_000 && starves(make, &without_past);
        assert_eq!(served.is_some(), seen.end.is_some() || goes_round, "{what}: {served:?} {seen:?}");
        assert!(seen.end.is_none() || served == seen.end, "{what}: {served:?} {seen:?}");
    }
    if let Some(with_past) = with_past {
        same_size(findings.past.unwrap(), &with_past, &format!("{what} and its past"));
        (seen.unordered, seen.fence_decrease) = (with_past.unordered, with_past.fence_decrease);
    }
    if order {
        assert_eq!(counterexample_len(&findings, "happened-before-order"), seen.unordered, "{what}");
    }
    if fences {
        assert_eq!(counterexample_len(&findings, "fences-grow"), seen.fence_decrease, "{what}");
    }
    println!("{what}\n  {seen:?}");
    Some((seen, findings))
}

fn agree_with_faulty_variants(nodes: usize, fifo: bool, cancels: bool) {
    for flaw in FLAWS {
        let mut bounds = Bounds::new(nodes, 1);
        (bounds.setup.fifo, bounds.clients.cancels) = (fifo, cancels);
        agree(&flawed(flaw, nodes), &bounds);
    }
}

#[test]
fn two_nodes_of_the_paper_and_its_faulty_variants_are_explored_completely() {
    for (fifo, cancels) in [(false, false), (false, true), (true, false), (true, true)] {
        agree_with_faulty_variants(2, fifo, cancels);
    }
}

#[test]
fn three_nodes_of_the_paper_and_its_faulty_variants_are_explored_completely() {
    agree_with_faulty_variants(3, false, false);
    agree_with_faulty_variants(3, true, false);
}

#[test]
fn three_nodes_that_may_cancel_are_explored_completely() {
    agree_with_faulty_variants(3, true, true);
}

#[test]
#[ignore = "long: ./check long"]
fn three_nodes_that_may_cancel_are_explored_with_unordered_links() {
    agree_with_faulty_variants(3, false, true);
}

#[test]
fn order_and_fence_violations_have_counterexamples_of_the_same_length() {
    for flaw in FLAWS {
        agree(&flawed(flaw, 2), &Bounds::new(2, 2).cancels().order().fences());
        agree(&flawed(flaw, 3), &Bounds::new(3, 1).order().fifo());
    }
    let seen = agree(&flawed(Flaw::BareReplies, 2), &Bounds::new(2, 3).order());
    assert_eq!(seen.unordered, Some(12));
    agree(&group_of(2, RicartAgrawala::new), &Bounds::new(2, 2).order().fences());
    agree(&group_of(3, RicartAgrawala::new), &Bounds::new(3, 1).order().fences());
    agree(&group_of(2, Central::new), &Bounds::new(2, 2).order().fences());
    agree(&group_of(3, Central::new), &Bounds::new(3, 1).order().fences());
}

#[test]
#[ignore = "long: ./check long"]
fn order_violations_of_three_nodes_agree_with_unordered_links() {
    for flaw in FLAWS {
        agree(&flawed(flaw, 3), &Bounds::new(3, 1).order());
    }
}

#[test]
fn the_algorithms_are_explored_completely() {
    agree(&group_of(2, RicartAgrawala::new), &Bounds::new(2, 2).tries().cancels());
    agree(&group_of(3, RicartAgrawala::new), &Bounds::new(3, 1));
    agree(&group_of(2, RicartAgrawalaModulo::new), &Bounds::new(2, 2).tries().cancels());
    agree(&group_of(2, RicartAgrawalaModulo::new), &Bounds::new(2, None));
    agree(&group_of(2, Central::new), &Bounds::new(2, 2).tries().cancels());
    agree(&group_of(3, Central::new), &Bounds::new(3, 2).tries());
    agree(&group_of(3, Central::new), &Bounds::new(3, 1).cancels().fifo());
}

fn agree_on_toy<P: Explored>(make: fn(NodeId, Group) -> P) {
    for nodes in [2, 3] {
        agree(&group_of(nodes, make), &Bounds::new(nodes, 2).order());
        agree(&group_of(nodes, make), &Bounds::new(nodes, None));
        agree(&group_of(nodes, make), &Bounds::new(nodes, None).fifo());
    }
    agree(&group_of(2, make), &Bounds::new(2, None).tries().cancels());
}

#[test]
fn toys_with_unlimited_requests_are_explored_completely() {
    agree_on_toy(|me, group| Memory::Forgetful.node(me, group));
    agree_on_toy(|me, group| Memory::Mindful.node(me, group));
    agree_on_toy(|me, group| Asking::Embrace.node(me, group));
    agree_on_toy(|me, group| Asking::Ordered.node(me, group));
    agree_on_toy(|me, group| Favour::Favourite.node(me, group));
    agree_on_toy(|me, group| Favour::Fair.node(me, group));
    agree_on_toy(|me, group| Care::Slip.node(me, group));
    agree_on_toy(|me, group| Care::Tidy.node(me, group));
}

fn agree_under_faults<P: Explored>(make: fn(NodeId, Group) -> P) {
    let make = group_of(2, make);
    for rounds in [1, 2] {
        let bounds = Bounds::new(2, rounds);
        agree(&make, &bounds.clone().losses(1));
        agree(&make, &bounds.clone().duplicates(1));
        agree(&make, &bounds.clone().crashes(1));
        agree(&make, &bounds.clone().crashes(2).restarts(1));
        agree(&make, &bounds.clone().losses(2).duplicates(1).fifo());
    }
    let everything = Bounds::new(2, 1).losses(1).duplicates(1).crashes(1).restarts(1);
    agree(&make, &everything.clone().order().fences());
    agree(&make, &everything.cancels().fifo().order());
}

#[test]
fn losses_duplicates_crashes_and_restarts_are_all_tried() {
    agree_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies));
    agree_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::ClockOnly));
    agree_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::NodeOnly));
    agree_under_faults(|me, group| RicartAgrawala1981::new(me, group, Flaw::FirstOnly));
    agree_under_faults(RicartAgrawala::new);
    agree_under_faults(Central::new);
    agree_under_faults(|me, group| Memory::Forgetful.node(me, group));
    agree_under_faults(|me, group| Asking::Embrace.node(me, group));
    agree_under_faults(|me, group| Favour::Favourite.node(me, group));
    agree_under_faults(|me, group| Care::Slip.node(me, group));
}

/// A group over links that retransmit lost messages.
pub(crate) fn reliable<P: Explored>(nodes: usize, make: fn(NodeId, Group) -> P) -> Maker {
    group_of(nodes, move |me, group| Reliable::new(me, make(me, group), Retransmission::default()))
}

#[test]
fn links_that_retransmit_are_explored_with_their_timers() {
    let central = reliable(2, Central::new);
    agree(&central, &Bounds::new(2, 1).losses(1).order().fences());
    agree(&central, &Bounds::new(2, 1).duplicates(1).early_timers(1).order());
    agree(&central, &Bounds::new(2, 1).losses(1).crashes(1).early_timers(1));
    let published = |me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies);
    agree(&reliable(2, RicartAgrawala::new), &Bounds::new(2, 1).losses(1).order().fences());
    agree(&reliable(2, published), &Bounds::new(2, 1).losses(1).order());
}

#[test]
fn time_advances_from_timer_to_timer() {
    for (margin, drift, unsafe_) in [
        (Margin::Tick, 0, false),
        (Margin::Tick, 1_000, true),
        (Margin::Drift, 1_000, false),
        (Margin::Drift, 10_000, true),
    ] {
        let make = group_of(2, move |me, group| margin.node(me, group));
        for (rounds, millis) in [(1, 2_100), (2, 1_100)] {
            let until = Time::ZERO + Duration::from_millis(millis);
            let seen = agree(&make, &Bounds::new(2, rounds).timing(drift, until));
            assert_eq!(seen.two_holders.is_some(), unsafe_, "{margin:?} at {drift} ppm");
        }
    }
}

#[test]
fn message_delays_stay_within_their_bounds() {
    let ms = Duration::from_millis;
    let until = Time::ZERO + ms(12);
    for (least, most) in [(ms(0), ms(0)), (ms(0), ms(3)), (ms(2), ms(2)), (ms(1), ms(4))] {
        for fifo in [false, true] {
            let with = |rounds| {
                let mut bounds = Bounds::new(2, rounds).timing(0, until).delay(least, most);
                bounds.setup.fifo = fifo;
                bounds
            };
            for flaw in FLAWS {
                agree(&flawed(flaw, 2), &with(1));
            }
            agree(&flawed(Flaw::BareReplies, 2), &with(1).cancels().order().fences());
            agree(&group_of(2, Central::new), &with(1).losses(1).crashes(1).restarts(1));
            agree(&group_of(2, Central::new), &with(1).duplicates(1));
        }
    }
    agree(&group_of(3, Central::new), &Bounds::new(3, 1).timing(0, until).delay(ms(1), ms(2)));
}

/// If messages take no time and no node sets a timer, time never passes, and the result is as
/// without timing.
#[test]
fn messages_that_take_no_time_arrive_in_every_order() {
    let until = Time::ZERO + Duration::from_millis(12);
    for flaw in FLAWS {
        let make = flawed(flaw, 2);
        let untimed = agree(&make, &Bounds::new(2, 2).order());
        let bounds = Bounds::new(2, 2).order().timing(0, until).delay(Duration::ZERO, Duration::ZERO);
        assert_eq!(Seen { end: None, ..agree(&make, &bounds) }, Seen { end: None, ..untimed });
    }
}

#[test]
fn leaving_out_properties_does_not_change_the_others() {
    let make = flawed(Flaw::ClockOnly, 2);
    let bounds = Bounds::new(2, 1).order();
    let all = check(&make, &bounds, &plain());
    for name in ["exclusion", "asked-first", "happened-before-order", "no-deadlock", "served"] {
        let alone = check(&make, &bounds, &only(&[name]));
        assert_eq!(counterexample_len(&alone, name), counterexample_len(&all, name), "{name}");
        assert_eq!(alone.verdicts.len(), 1);
    }
}
