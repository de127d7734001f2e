//! Tests of refused and forced waits, and of the cost of large graphs.

mod orders;
mod properties;
mod queues;
mod reference;

use super::arena::OwnerSlot;
use super::{WaitForGraph, WaitHandle};
use crate::deadlock::{Deadlock, Need, Shape};
use std::vec;
use std::vec::Vec;

fn all<O: Copy>(awaited: &[O]) -> Need<O> {
    Need::All(awaited.to_vec())
}

fn any<O: Copy>(awaited: &[O]) -> Need<O> {
    Need::Any(awaited.to_vec())
}

impl<O: Ord + Copy + core::fmt::Debug> WaitForGraph<O> {
    /// Asserts that the lists at both ends of each edge, the loose edges (those that the order
    /// ignores) and the order agree.
    fn assert_sound(&self) {
        let mut edge_count = 0;
        let mut loose = Vec::new();
        for (owner, owner_state) in self.arena.owners() {
            let slot = self.arena.slot(owner).expect("an owner's slot");
            assert!(
                !owner_state.waits.is_empty() || !owner_state.incoming_edges.is_empty(),
                "{owner:?} neither waits nor is waited for"
            );
            for (position, wait_slot) in owner_state.waits.iter().enumerate() {
                let wait = self.arena.wait(*wait_slot).expect("an owner's wait is there");
                assert_eq!((wait.waiter, wait.position), (slot, position));
                edge_count += wait.outgoing_edges.len();
                for edge in wait.outgoing_edges.iter() {
                    assert!(
                        edge.is_loose || self.order.is_before(edge.awaited, slot),
                        "{owner:?} comes before an owner it waits for"
                    );
                    loose.extend(edge.is_loose.then_some((*wait_slot, edge.awaited)));
                }
            }
            for (position, incoming) in owner_state.incoming_edges.iter().enumerate() {
                let wait = self.arena.wait(incoming.wait).expect("the wait of an edge is there");
                assert_eq!(wait.outgoing_edges.get(incoming.position()).map(|edge| edge.awaited), Some(slot));
                assert!(self.arena.incoming_edge(slot, position).is_some());
            }
        }
        let incoming_edge_count: usize = self.arena.owners().map(|(_, owner)| owner.incoming_edges.len()).sum();
        assert_eq!((edge_count, incoming_edge_count), (self.edge_count(), self.edge_count()));
        loose.sort_unstable();
        assert_eq!(loose, self.loose_edges.iter().copied().collect::<Vec<_>>());
        let mut slots: Vec<OwnerSlot> = self.arena.owners().filter_map(|(owner, _)| self.arena.slot(owner)).collect();
        let order = self.order.slots();
        assert!(order.is_sorted_by(|earlier, later| self.order.is_before(*earlier, *later)));
        slots.sort_unstable();
        let mut ordered = order;
        ordered.sort_unstable();
        assert_eq!(slots, ordered, "the order contains exactly the owners");
    }

    fn must_wait(&mut self, waiter: O, need: Need<O>) -> WaitHandle {
        self.wait(waiter, need).expect("a wait without a deadlock")
    }
}

#[test]
fn a_wait_that_closes_a_cycle_is_refused_and_the_cycle_is_named() {
    let mut graph = WaitForGraph::new();
    graph.must_wait(1, all(&[2]));
    graph.must_wait(2, all(&[3, 4]));
    let waits = vec![(3, all(&[1])), (1, all(&[2])), (2, all(&[3]))];
    let refused = Deadlock { shape: Shape::Cycle, waits };
    assert_eq!(graph.would_deadlock(3, &all(&[5, 1])), Some(refused.clone()));
    assert_eq!(graph.wait(3, all(&[5, 1])), Err(refused));
    assert_eq!((graph.len(), graph.owner_count(), graph.edge_count()), (2, 4, 3), "nothing has changed");
    graph.must_wait(3, all(&[4, 5]));
    graph.assert_sound();
}

#[test]
fn a_wait_for_itself_is_refused_unless_any_other_is_enough() {
    let mut graph = WaitForGraph::new();
    let waits = vec![(1, all(&[1]))];
    assert_eq!(graph.wait(1, all(&[1, 2])), Err(Deadlock { shape: Shape::Cycle, waits: waits.clone() }));
    assert_eq!(graph.wait(1, any(&[1, 1])), Err(Deadlock { shape: Shape::Cycle, waits }));
    assert!(graph.is_empty());
    graph.must_wait(1, any(&[1, 2]));
    graph.assert_sound();
    let knot = graph.wait(2, all(&[1])).expect_err("1 waits for itself or for 2, which would wait for 1");
    assert_eq!((knot.shape, knot.waits), (Shape::Knot, vec![(1, any(&[1, 2])), (2, all(&[1]))]));
}

#[test]
fn a_cycle_is_no_deadlock_until_the_last_alternative_of_its_owners_is_gone() {
    let mut graph = WaitForGraph::new();
    let wait = graph.must_wait(1, any(&[2, 4]));
    graph.must_wait(2, all(&[3]));
    graph.must_wait(3, all(&[1]));
    assert_eq!(graph.loose_edge_count(), 1, "there is a cycle");
    let knot = graph.would_deadlock(4, &all(&[2])).expect("4 is the last owner that could release 1");
    assert_eq!(knot.shape, Shape::Knot);
    assert_eq!(knot.waits, [(1, any(&[2, 4])), (2, all(&[3])), (3, all(&[1])), (4, all(&[2]))]);
    graph.must_wait(4, all(&[5]));
    let cycle = graph.remove_owner(wait, 4).expect("now 1 waits for 2 alone");
    assert_eq!((cycle.shape, cycle.waits.len()), (Shape::Cycle, 3));
    assert_eq!(graph.deadlock_of(3).map(|deadlock| deadlock.waits.len()), Some(3));
    graph.assert_sound();
    assert!(graph.end(wait));
    assert_eq!((graph.deadlock_of(3), graph.loose_edge_count()), (None, 0));
    assert!(!graph.end(wait), "the wait has ended already");
}

#[test]
fn a_forced_deadlock_is_returned_and_lasts_until_a_member_stops_waiting() {
    let mut graph = WaitForGraph::new();
    graph.must_wait(1, all(&[2]));
    let (wait, deadlock) = graph.wait_anyway(2, all(&[1]));
    assert_eq!(deadlock.map(|deadlock| deadlock.waits), Some(vec![(2, all(&[1])), (1, all(&[2]))]));
    assert_eq!(graph.wait(3, all(&[1])).map(|_| ()), Ok(()), "3 waits behind a deadlock that it is not part of");
    assert_eq!(graph.deadlock_of(3), None);
    assert!(graph.deadlock_of(1).is_some() && graph.deadlock_of(2).is_some());
    assert!(graph.end(wait));
    assert_eq!((graph.deadlock_of(1), graph.loose_edge_count()), (None, 0));
    graph.assert_sound();
}

#[test]
fn the_same_edge_may_exist_twice() {
    let mut graph = WaitForGraph::new();
    let (one, other) = (graph.must_wait(1, all(&[2])), graph.must_wait(1, all(&[2, 2])));
    assert_eq!((graph.len(), graph.edge_count()), (2, 2));
    assert_eq!(graph.waiters_of(2).collect::<Vec<_>>(), [(one, 1), (other, 1)]);
    graph.end(one);
    assert!(graph.wait(2, all(&[1])).is_err());
    graph.end(other);
    assert!(graph.wait(2, all(&[1])).is_ok());
}

#[test]
fn edges_change_while_a_wait_lasts() {
    let mut graph = WaitForGraph::new();
    let wait = graph.must_wait(1, all(&[2, 3]));
    assert_eq!(graph.remove_owner(wait, 2), None);
    assert_eq!(graph.add_owner(wait, 4), Ok(()));
    assert_eq!(graph.add_owner(wait, 4), Ok(()), "4 is already there");
    assert_eq!((graph.need(wait), graph.waiter(wait)), (Some(all(&[3, 4])), Some(1)));
    graph.must_wait(5, all(&[1]));
    assert_eq!(graph.add_owner(wait, 5).map_err(|deadlock| deadlock.waits.len()), Err(2));
    assert_eq!(graph.need(wait), Some(all(&[3, 4])), "refused, and so unchanged");
    assert!(graph.add_owner_anyway(wait, 5).is_some());
    assert_eq!(graph.forget(5), [wait]);
    assert_eq!(graph.forget(3), [wait]);
    assert_eq!(graph.forget(4), [wait]);
    assert_eq!((graph.need(wait), graph.len()), (Some(all(&[])), 1), "met, until it is ended");
    graph.assert_sound();
    assert_eq!(graph.forget(1), []);
    assert_eq!((graph.len(), graph.owner_count(), graph.edge_count()), (0, 0, 0));
    assert_eq!((graph.need(wait), graph.add_owner(wait, 2), graph.remove_owner(wait, 2)), (None, Ok(()), None));
}

const MANY: u32 = 100_000;

/// Returns a graph of `MANY` owners, in which each but owner 0 waits for the one with the next
/// lower number.
fn long_queue() -> WaitForGraph<u32> {
    let mut graph = WaitForGraph::new();
    for waiter in 1..MANY {
        graph.must_wait(waiter, all(&[waiter - 1]));
    }
    graph
}

#[test]
fn a_queue_of_a_hundred_thousand_does_not_overflow_the_stack() {
    let mut graph = long_queue();
    let cycle = graph.wait(0, all(&[MANY - 1])).expect_err("the last owner waits for the first through all others");
    assert_eq!((cycle.shape, cycle.waits.len()), (Shape::Cycle, MANY as usize));
    assert!(graph.would_deadlock(0, &any(&[MANY - 1, MANY])).is_none());
    let (_, deadlock) = graph.wait_anyway(0, any(&[MANY - 1, MANY]));
    assert_eq!((deadlock, graph.loose_edge_count()), (None, 1));
    let knot = graph.wait(MANY, all(&[MANY / 2])).expect_err("MANY is the only alternative of 0 outside the queue");
    assert_eq!((knot.shape, knot.waits.len()), (Shape::Knot, MANY as usize + 1));
    for owner in 0..=MANY {
        graph.forget(owner);
    }
    assert!(graph.is_empty());
}

#[test]
fn a_wait_of_the_first_in_a_long_queue_for_the_last_in_a_short_one_costs_the_short_one() {
    let mut graph = long_queue();
    // Another queue, of 10 owners. A search takes about 2 steps for each owner that it visits, so
    // about 20 here; the limit below leaves a margin.
    let short_first = 2 * MANY;
    for waiter in short_first + 1..short_first + 10 {
        graph.must_wait(waiter, all(&[waiter - 1]));
    }
    let last = short_first + 9;
    let (first_slot, last_slot) = (graph.arena.slot(0).unwrap(), graph.arena.slot(last).unwrap());
    assert!(graph.order.is_before(first_slot, last_slot), "the order alone does not answer the question");
    assert_eq!(graph.arrange(first_slot, last_slot, 40), Ok(()), "40 steps were enough");
    graph.must_wait(0, all(&[last]));
    assert!(graph.wait(short_first, all(&[MANY - 1])).is_err());
    graph.assert_sound();
}

#[test]
fn a_wait_of_an_owner_with_few_waiters_for_the_last_in_a_long_queue_costs_the_few() {
    let mut graph = WaitForGraph::new();
    // A search takes about 2 steps for each owner that it visits, so about 4 for `holder` and
    // `behind`; the limit below leaves a margin.
    let (holder, behind) = (MANY, MANY + 1);
    graph.must_wait(behind, all(&[holder]));
    for waiter in 1..MANY {
        graph.must_wait(waiter, all(&[waiter - 1]));
    }
    let (holder_slot, last_slot) = (graph.arena.slot(holder).unwrap(), graph.arena.slot(MANY - 1).unwrap());
    assert!(graph.order.is_before(holder_slot, last_slot), "the order alone does not answer the question");
    assert_eq!(graph.arrange(holder_slot, last_slot, 10), Ok(()), "10 steps were enough");
    graph.must_wait(holder, all(&[MANY - 1]));
    graph.assert_sound();
    assert!(graph.wait(0, all(&[behind])).is_err());
}
