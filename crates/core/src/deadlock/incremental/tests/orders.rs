//! The order with so few labels that they run out all the time.

use super::super::arena::Seat;
use super::super::order::Order;
use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};
use std::vec::Vec;

/// Moves in the order and in a list beside it: where to, and whom.
fn play(order: &mut Order, list: &mut Vec<Seat>, (kind, anchor, seats): (u8, u32, &[u32])) {
    let anchor = Seat(anchor);
    let mut moved: Vec<Seat> = Vec::new();
    for seat in seats.iter().map(|seat| Seat(*seat)).filter(|seat| *seat != anchor && list.contains(seat)) {
        if !moved.contains(&seat) {
            moved.push(seat);
        }
    }
    match (kind % 6, list.iter().position(|seat| *seat == anchor)) {
        (0 | 1, None) => {
            order.push_first(anchor);
            list.insert(0, anchor);
        }
        (_, None) => {
            order.push_last(anchor);
            list.push(anchor);
        }
        (0, Some(at)) => {
            order.remove(anchor);
            list.remove(at);
        }
        (1, Some(at)) => {
            order.move_first(anchor);
            list.remove(at);
            list.insert(0, anchor);
        }
        (2, Some(at)) => {
            order.move_last(anchor);
            list.remove(at);
            list.push(anchor);
        }
        (kind, Some(_)) => {
            list.retain(|seat| !moved.contains(seat));
            let at = list.iter().position(|seat| *seat == anchor).expect("it stays");
            let to = if kind == 3 { at } else { at + 1 };
            list.splice(to..to, moved.iter().copied());
            if kind == 3 { order.move_before(anchor, &moved) } else { order.move_after(anchor, &moved) }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn labels_grow_along_the_list_whatever_moves(
        bits in 6_u32..9,
        moves in prop::collection::vec((any::<u8>(), 0..40_u32, prop::collection::vec(0..40_u32, 0..8)), 0..200),
    ) {
        let (mut order, mut list) = (Order::with_bits(bits), Vec::new());
        for (kind, anchor, seats) in &moves {
            play(&mut order, &mut list, (*kind, *anchor, seats));
            prop_assert_eq!(order.seats(), list.clone());
            prop_assert!(list.is_sorted_by(|one, other| order.is_before(*one, *other)));
            prop_assert!(list.iter().all(|seat| order.label(*seat) < 1 << bits));
        }
    }
}

#[test]
fn a_thousand_find_room_at_either_end_and_in_one_place() {
    let mut order = Order::with_bits(20);
    (0..1_000).for_each(|seat| order.push_last(Seat(seat)));
    (1_000..2_000).for_each(|seat| order.push_first(Seat(seat)));
    for seat in 2_000..3_000 {
        order.push_last(Seat(seat));
        order.move_before(Seat(500), &[Seat(seat)]);
    }
    let expected = (1_000..2_000).rev().chain(0..500).chain(2_000..3_000).chain(500..1_000);
    assert_eq!(order.seats(), expected.map(Seat).collect::<Vec<_>>());
    assert!(order.seats().is_sorted_by(|one, other| order.is_before(*one, *other)));
}
