//! Tests: the rules, and the cost over all orders.

use super::{FACTS, Message, Probing};
use crate::election::circuit::Body;
use crate::election::circuit::bench::{Bench, stays_within_bound, usual};

#[test]
fn hs_1_whoever_starts_probes_on_both_sides() {
    let mut ring: Bench<Probing> = Bench::new(usual(3));
    ring.campaign(2);
    assert_eq!((ring.who("HS-1"), ring.wires.len()), (alloc::vec![2], 2));
}

#[test]
fn hs_2_a_probe_of_a_greater_rank_is_replied_to_where_its_reach_ends() {
    let mut ring: Bench<Probing> = Bench::new(usual(3));
    ring.campaign(2);
    ring.deliver();
    // Node 1 is less: it replies.
    ring.deliver();
    assert_eq!(ring.who("HS-2"), [1]);
    let kinds: alloc::vec::Vec<_> =
        ring.wires.iter().map(|(_, _, letter)| crate::describe::Describe::kind(letter)).collect();
    assert_eq!(kinds, ["probe", "probe", "reply"]);
    ring.settle();
    assert_eq!(ring.result(), Some((3, 1)));
}

#[test]
fn hs_3_a_probe_of_a_lesser_rank_is_dropped_and_answered_by_a_start() {
    let mut ring: Bench<Probing> = Bench::new(usual(3));
    ring.campaign(2);
    ring.deliver();
    assert_eq!((ring.who("HS-3"), ring.who("HS-1")), (alloc::vec![3], alloc::vec![2, 3]));
    assert_eq!(ring.wires.len(), 3);
}

/// All of four start, in the order of their numbers.
fn all_start() -> Bench<Probing> {
    let mut ring: Bench<Probing> = Bench::new(usual(4));
    (1..=4).for_each(|number| ring.campaign(number));
    ring.settle();
    ring
}

#[test]
fn hs_4_only_the_greatest_so_far_probes_further() {
    assert_eq!(all_start().who("HS-4"), [4, 4], "two hops, then four");
}

/// A reply to an earlier reach says nothing about the present one.
#[test]
fn hs_4_replies_to_another_reach_do_not_count() {
    let mut ring: Bench<Probing> = Bench::new(usual(4));
    ring.campaign(4);
    while let Some((_, _, letter)) = ring.wires.front_mut() {
        if let Body::Contest { message: Message::Reply { reach, .. }, .. } = &mut letter.body {
            *reach += 1;
        }
        ring.deliver();
    }
    assert!(ring.who("HS-2").len() == 2 && ring.who("HS-4").is_empty(), "{:?}", ring.rules);
}

#[test]
fn hs_5_replies_find_their_way_back() {
    assert_eq!(all_start().who("HS-5"), [1, 3], "those beside the greatest pass on what comes from two hops away");
}

#[test]
fn hs_6_both_last_probes_go_all_the_way_round() {
    let ring = all_start();
    assert_eq!((ring.who("HS-6"), ring.result()), (alloc::vec![4], Some((4, 1))));
    assert_eq!(ring.counts, [28, 4, 0]);
}

#[test]
fn it_stays_within_its_bound_and_groups_of_four_cost_what_the_table_says() {
    let (mut least, mut most, mut sum, mut count) = (u64::MAX, 0, 0, 0_u64);
    stays_within_bound::<Probing>(&FACTS, |size, starters, election, announcement| {
        assert_eq!(announcement, u64::from(size));
        if (size, starters) == (4, 4) {
            (least, most, sum, count) = (least.min(election), most.max(election), sum + election, count + 1);
        }
    });
    assert_eq!((least, sum * 3, most), (28, 88 * count, 32));
}
