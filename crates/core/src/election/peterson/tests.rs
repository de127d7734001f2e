//! Tests: the rules, and the cost over all orders.

use super::{Candidate, FACTS};
use crate::election::circuit::bench::{Bench, one_starts, stays_within_bound, usual};

#[test]
fn pe_1_everyone_who_hears_of_it_is_a_candidate() {
    let mut ring: Bench<Candidate> = Bench::new(usual(4));
    ring.campaign(2);
    assert_eq!(ring.wires.len(), 1);
    ring.settle();
    assert_eq!(ring.all_who("PE-1"), [1, 2, 3, 4]);
}

#[test]
fn pe_2_everyone_hears_the_candidate_before_it() {
    assert_eq!(one_starts::<Candidate>(2).all_who("PE-2"), [1, 2, 3, 4]);
}

#[test]
fn pe_3_the_one_after_the_greatest_stands_for_it() {
    assert_eq!(one_starts::<Candidate>(2).who("PE-3"), [1]);
}

#[test]
fn pe_4_the_others_give_up() {
    assert_eq!(one_starts::<Candidate>(2).all_who("PE-4"), [2, 3, 4]);
}

#[test]
fn pe_5_a_value_that_meets_itself_has_won() {
    let ring = one_starts::<Candidate>(2);
    assert_eq!((ring.who("PE-5"), ring.result()), (alloc::vec![1], Some((4, 1))));
    // One round of two messages each, and once round the ring.
    assert_eq!(ring.counts, [12, 4, 0]);
}

#[test]
fn it_stays_within_its_bound_whoever_starts() {
    stays_within_bound::<Candidate>(&FACTS, |size, _, _, announcement| assert_eq!(announcement, u64::from(size)));
}
