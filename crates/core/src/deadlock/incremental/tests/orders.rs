//! Tests of the order with so few labels that members must often get new ones to make room.

use super::super::arena::OwnerSlot;
use super::super::order::Order;
use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};
use std::vec::Vec;

/// Applies the same change to the order and to a list. The remainder of `kind` modulo 6 selects the
/// change: 0 removes the anchor, 1 moves it to the front, 2 moves it to the end, 3 moves `slots`
/// before it, 4 and 5 move them after it. If the anchor is missing, 0 and 1 add it at the front
/// instead, and the others at the end.
fn apply_move(order: &mut Order, list: &mut Vec<OwnerSlot>, (kind, anchor, slots): (u8, u32, &[u32])) {
    let anchor = OwnerSlot(anchor);
    let mut moved: Vec<OwnerSlot> = Vec::new();
    for slot in slots.iter().map(|slot| OwnerSlot(*slot)).filter(|slot| *slot != anchor && list.contains(slot)) {
        if !moved.contains(&slot) {
            moved.push(slot);
        }
    }
    match (kind % 6, list.iter().position(|slot| *slot == anchor)) {
        (0 | 1, None) => {
            order.push_first(anchor);
            list.insert(0, anchor);
        }
        (_, None) => {
            order.push_last(anchor);
            list.push(anchor);
        }
        (0, Some(index)) => {
            order.remove(anchor);
            list.remove(index);
        }
        (1, Some(index)) => {
            order.move_first(anchor);
            list.remove(index);
            list.insert(0, anchor);
        }
        (2, Some(index)) => {
            order.move_last(anchor);
            list.remove(index);
            list.push(anchor);
        }
        (kind, Some(_)) => {
            list.retain(|slot| !moved.contains(slot));
            let index = list.iter().position(|slot| *slot == anchor).expect("the anchor stays");
            let target = if kind == 3 { index } else { index + 1 };
            list.splice(target..target, moved.iter().copied());
            if kind == 3 { order.move_before(anchor, &moved) } else { order.move_after(anchor, &moved) }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn labels_increase_along_the_list_after_any_moves(
        bits in 6_u32..9,
        moves in prop::collection::vec((any::<u8>(), 0..40_u32, prop::collection::vec(0..40_u32, 0..8)), 0..200),
    ) {
        let (mut order, mut list) = (Order::with_label_bits(bits), Vec::new());
        for (kind, anchor, slots) in &moves {
            apply_move(&mut order, &mut list, (*kind, *anchor, slots));
            prop_assert_eq!(order.slots(), list.clone());
            prop_assert!(list.is_sorted_by(|earlier, later| order.is_before(*earlier, *later)));
            prop_assert!(list.iter().all(|slot| order.label(*slot) < 1 << bits));
        }
    }
}

#[test]
fn a_thousand_slots_fit_at_each_end_and_before_one_slot() {
    // Moves stay cheap up to at least (3/2)^20 slots, which is more than 3,300.
    let mut order = Order::with_label_bits(20);
    (0..1_000).for_each(|slot| order.push_last(OwnerSlot(slot)));
    (1_000..2_000).for_each(|slot| order.push_first(OwnerSlot(slot)));
    for slot in 2_000..3_000 {
        order.push_last(OwnerSlot(slot));
        order.move_before(OwnerSlot(500), &[OwnerSlot(slot)]);
    }
    let expected = (1_000..2_000).rev().chain(0..500).chain(2_000..3_000).chain(500..1_000);
    assert_eq!(order.slots(), expected.map(OwnerSlot).collect::<Vec<_>>());
    assert!(order.slots().is_sorted_by(|earlier, later| order.is_before(*earlier, *later)));
}
