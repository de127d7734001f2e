//! Tests: the rules, and the cost over all orders.

use super::{Candidate, FACTS};
use crate::election::circuit::bench::{Bench, one_starts, stays_within_bound, usual};

#[test]
fn fr_1_everyone_who_hears_of_it_is_a_candidate() {
    let mut ring: Bench<Candidate> = Bench::new(usual(4));
    ring.campaign(1);
    assert_eq!(ring.wires.len(), 2);
    ring.settle();
    assert_eq!(ring.all_who("FR-1"), [1, 2, 3, 4]);
}

#[test]
fn fr_2_whoever_is_greater_than_both_neighbours_stays() {
    assert_eq!(one_starts::<Candidate>(1).who("FR-2"), [4]);
}

#[test]
fn fr_3_the_others_give_up() {
    assert_eq!(one_starts::<Candidate>(1).all_who("FR-3"), [1, 2, 3]);
}

#[test]
fn fr_4_whoever_hears_itself_has_won() {
    let ring = one_starts::<Candidate>(1);
    assert_eq!((ring.who("FR-4"), ring.result()), (alloc::vec![4], Some((4, 1))));
    // Two rounds: four candidates, then one.
    assert_eq!(ring.counts, [16, 4, 0]);
}

#[test]
fn it_stays_within_its_bound_whoever_starts() {
    stays_within_bound::<Candidate>(&FACTS, |size, _, election, announcement| {
        assert_eq!((election % u64::from(2 * size), announcement), (0, u64::from(size)));
    });
}
