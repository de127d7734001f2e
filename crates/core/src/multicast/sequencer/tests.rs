//! One test for each rule.

use super::{Place, Places, Sequencer};
use crate::multicast::causal::Causes;
use crate::multicast::drill::{
    Notebook, assert_all_hear, assert_forgets, bare, group, heard, id, node, play, prune, queue, settle, survey,
};
use crate::multicast::{Causal, Fifo, Notes, Ordering, Payload, Plan, Sequencing, Unordered, Word};

fn via(nodes: usize) -> Plan {
    Plan { sequencing: Sequencing::Via, ..group(nodes) }
}

fn places(delivered: u64, places: &[(u64, (usize, u64))]) -> Notes {
    let places = places.iter().map(|(number, (sender, count))| (*number, id(*sender, *count)));
    Notes::Places(Places { places: places.collect(), delivered, inner: () })
}

#[test]
fn sq_1_the_sequencer_numbers_as_the_order_inside_lets_out() {
    let trace = play::<Sequencer<Unordered>>(&group(2), "2 send\n2 send\n2 > 1 overtakes 1\n2 > 1");
    assert!(trace.contains("SQ-1 2#2 has number 1") && trace.contains("SQ-1 2#1 has number 2"), "{trace}");
    let trace = play::<Sequencer<Fifo>>(&group(2), "2 send\n2 send\n2 > 1 overtakes 1\n2 > 1\nrest");
    assert!(trace.contains("SQ-1 2#1 has number 1") && trace.contains("SQ-1 2#2 has number 2"), "{trace}");
    assert_eq!(heard(&trace, 2), ["2#1", "2#2"], "{trace}");
}

#[test]
fn sq_1_causes_are_numbered_first() {
    let trace = play::<Sequencer<Causal>>(&group(3), "3 send\n3 > 1\n1 > 2\n3 > 2\n2 send\n2 send\n2 > 1 last\nrest");
    assert_all_hear(&trace, 3, &["3#1", "2#1", "2#2"]);
}

#[test]
fn sq_2_all_are_told_the_number_or_sent_the_message_with_it() {
    let trace = play::<Sequencer<Unordered>>(&group(3), "2 send\n2 > 1");
    assert!(trace.contains("letter → all") && trace.contains("place → all"), "{trace}");
    let trace = play::<Sequencer<Unordered>>(&via(3), "2 send\n2 > 1\n1 > 3\n1 > 2\n1 send\nrest");
    assert!(trace.contains("letter → 1") && !trace.contains("place"), "{trace}");
    assert_all_hear(&trace, 3, &["2#1", "1#1"]);
}

#[test]
fn sq_3_only_the_sequencer_gives_numbers_and_each_once() {
    let mut order = Sequencer::<Unordered>::begin(&group(3), node(2), &group(3).members);
    let mut queue = queue(3);
    let mut desk = Notebook::new();
    for (sender, number) in [(1, 1), (3, 1)] {
        queue.receive(id(sender, number), Causes::none(), Payload::from("x"));
        order.received(id(sender, number), &queue, &mut desk);
    }
    let place = |number, sender, count| Word::Place(Place { number, id: id(sender, count) });
    order.heard(node(3), place(1, 3, 1), &queue, &mut desk);
    assert_eq!(order.next(&queue), None, "not the sequencer");
    order.heard(node(1), place(1, 9, 1), &queue, &mut desk);
    assert!(desk.rules.is_empty(), "not a member's message");
    order.heard(node(1), place(1, 1, 1), &queue, &mut desk);
    order.heard(node(1), place(1, 3, 1), &queue, &mut desk);
    order.heard(node(1), place(2, 1, 1), &queue, &mut desk);
    assert_eq!(order.next(&queue), Some(id(1, 1)));
    assert!(!order.is_placed(id(3, 1)), "1 is taken");
    assert_eq!((desk.rules.len(), desk.words), (1, [].into()));
}

#[test]
fn sq_4_everyone_delivers_in_the_order_of_numbers() {
    let trace = play::<Sequencer<Unordered>>(
        &group(3),
        "2 send\n3 send\n2 > 3\n3 > 2\n3 > 1\n2 > 1\n1 > 2\n1 > 2\n1 > 3\nrest",
    );
    assert_all_hear(&trace, 3, &["3#1", "2#1"]);
}

#[test]
fn sq_4_a_number_waits_for_its_message() {
    let trace = play::<Sequencer<Unordered>>(&group(3), "2 send\n2 > 1\n1 > 3");
    assert_eq!(heard(&trace, 3), [""; 0], "{trace}");
    let trace = play::<Sequencer<Unordered>>(&group(3), "2 send\n2 > 1\n1 > 3\n2 > 3");
    assert_eq!(heard(&trace, 3), ["2#1"], "{trace}");
}

#[test]
fn sq_5_numbers_are_forgotten_with_their_messages() {
    let trace = assert_forgets::<Sequencer<Unordered>>(|notes| notes.places().map(|known| known.places.len()));
    assert_eq!(heard(&trace, 1), heard(&trace, 3));
}

#[test]
fn sq_6_numbers_first_then_what_has_none() {
    let held = bare([(1, 3), (2, 1), (2, 2), (3, 1)]);
    let notes = [(2, places(7, &[(7, (3, 1)), (8, (1, 4))])), (3, places(0, &[(7, (3, 1)), (9, (1, 3))]))];
    let survey = survey(held, [2, 0, 0], notes);
    let order = settle::<Sequencer<Unordered>>(&survey);
    assert_eq!(order, [id(3, 1), id(1, 3), id(2, 1), id(2, 2)], "nobody holds what has number 8");
    assert_eq!(prune::<Sequencer<Unordered>>([id(3, 1), id(1, 4), id(2, 1)], &survey), [id(3, 1), id(2, 1)]);
}

#[test]
fn sq_6_what_is_behind_a_number_that_nobody_knows_is_placed_by_the_order_inside() {
    let held = bare([(2, 1), (2, 2), (3, 1)]);
    let survey = survey(held, [0, 0, 0], [(3, places(0, &[(1, (3, 1)), (3, (2, 2))]))]);
    let order = settle::<Sequencer<Fifo>>(&survey);
    assert_eq!(order, [id(3, 1), id(2, 1), id(2, 2)], "2#1 had number 2, which was lost, and 2#2 is not lost with it");
}

#[test]
fn sq_6_what_lacks_a_cause_is_dropped_although_it_has_a_number() {
    let held = [(id(2, 1), Causes([1, 1, 0].into())), (id(3, 1), Causes([0, 0, 1].into()))];
    let survey = survey(held, [0, 0, 0], [(3, places(0, &[(1, (1, 1)), (2, (2, 1))]))]);
    assert_eq!(settle::<Sequencer<Causal>>(&survey), [id(3, 1)], "nobody holds 1#1, so nobody has delivered 2#1");
}
