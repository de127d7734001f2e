//! Tests: the rules, and the cost over all orders.

use super::{Candidate, FACTS};
use crate::election::circuit::bench::{Bench, try_all, usual};
use crate::election::{Case, Starting};

fn one_starts() -> Bench<Candidate> {
    let mut ring: Bench<Candidate> = Bench::new(usual(4));
    ring.campaign(1);
    assert_eq!(ring.wires.len(), 2);
    ring.settle();
    ring
}

#[test]
fn fr_1_everyone_who_hears_of_it_is_a_candidate() {
    let mut all = one_starts().who("FR-1");
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4]);
}

#[test]
fn fr_2_whoever_is_greater_than_both_neighbours_stays() {
    assert_eq!(one_starts().who("FR-2"), [4]);
}

#[test]
fn fr_3_the_others_give_up() {
    let mut all = one_starts().who("FR-3");
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3]);
}

#[test]
fn fr_4_whoever_hears_itself_has_won() {
    let ring = one_starts();
    assert_eq!((ring.who("FR-4"), ring.result()), (alloc::vec![4], Some((4, 1))));
    // Two rounds: four candidates, then one.
    assert_eq!(ring.counts, [16, 4, 0]);
}

#[test]
fn it_stays_within_its_bound_whoever_starts() {
    for size in 1..=6 {
        let bound = (FACTS.cost.book)(&Case { live: size as usize, dead: 0, starting: Starting::One })
            .and_then(|book| book.most);
        try_all::<Candidate>(size, |_, election, announcement| {
            assert!(bound.is_some_and(|bound| election as f64 <= bound), "{size}: {election}");
            assert_eq!((election % u64::from(2 * size), announcement), (0, u64::from(size)));
        });
    }
}
