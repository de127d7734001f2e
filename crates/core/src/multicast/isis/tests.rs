//! One test for each rule.

use super::{Isis, Priority, Standing, Standings, Vote};
use crate::multicast::causal::Causes;
use crate::multicast::drill::{Notebook, assert_forgets, bare, group, heard, id, node, play, queue, settle, survey};
use crate::multicast::{Causal, Fifo, Notes, Ordering, Payload, Unordered, Word};

fn priority(number: u64, proposer: usize) -> Priority {
    Priority { number, proposer: node(proposer) }
}

fn standings(known: &[((usize, u64), Standing)]) -> Notes {
    let standing = known.iter().map(|((sender, number), standing)| (id(*sender, *number), *standing));
    Notes::Standings(Standings { standing: standing.collect(), inner: () })
}

#[test]
fn is_1_everyone_proposes_more_than_it_has_seen() {
    let trace = play::<Isis<Unordered>>(&group(2), "1 send\n1 > 2\n2 send");
    assert!(trace.contains("IS-1 proposes 1.2 for 1#1; proposal → 1"), "{trace}");
    assert!(trace.contains("IS-1 proposes 2.2 for 2#1"), "{trace}");
}

#[test]
fn is_1_proposals_wait_for_the_order_inside() {
    let trace = play::<Isis<Fifo>>(&group(2), "1 send\n1 send\n1 > 2 overtakes 1");
    assert!(!trace.contains("for 1#2; proposal"), "{trace}");
    let trace = play::<Isis<Fifo>>(&group(2), "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2");
    assert!(trace.contains("proposes 1.2 for 1#1; proposal → 1; IS-1 proposes 2.2 for 1#2; proposal → 1"), "{trace}");
}

#[test]
fn is_2_the_sender_takes_the_greatest_when_all_have_proposed() {
    let trace = play::<Isis<Unordered>>(&group(3), "3 send\n1 send\n1 > 2\n1 > 3\n2 > 1\n3 > 1 overtakes 1");
    assert!(trace.contains("IS-2 1#1 has priority 2.3; agreed → all"), "{trace}");
    let trace = play::<Isis<Unordered>>(&group(3), "1 send\n1 > 2\n2 > 1");
    assert!(!trace.contains("IS-2"), "3 has proposed nothing: {trace}");
}

#[test]
fn is_2_nobody_proposes_twice() {
    let mut order = Isis::<Unordered>::begin(&group(3), node(1), &group(3).members);
    let mut queue = queue(3);
    let mut desk = Notebook::new();
    queue.receive(id(1, 1), Causes::none(), Payload::from("x"));
    order.received(id(1, 1), &queue, &mut desk);
    for (from, number) in [(2, 3), (2, 9), (7, 9), (1, 9)] {
        order.heard(node(from), Word::Vote(Vote::Proposal { id: id(1, 1), number }), &queue, &mut desk);
    }
    assert_eq!(desk.words, []);
    order.heard(node(3), Word::Vote(Vote::Proposal { id: id(1, 1), number: 2 }), &queue, &mut desk);
    assert_eq!(desk.words, [Word::Vote(Vote::Agreed { id: id(1, 1), priority: priority(3, 2) })]);
}

#[test]
fn is_3_an_agreed_priority_moves_a_message_back() {
    let mut order = Isis::<Unordered>::begin(&group(3), node(3), &group(3).members);
    let mut queue = queue(3);
    let mut desk = Notebook::new();
    for sender in [1, 2] {
        queue.receive(id(sender, 1), Causes::none(), Payload::from("x"));
        order.received(id(sender, 1), &queue, &mut desk);
    }
    let agree = |number, proposer| Word::Vote(Vote::Agreed { id: id(1, 1), priority: priority(number, proposer) });
    order.heard(node(2), agree(5, 1), &queue, &mut desk);
    assert!(!order.is_placed(id(1, 1)), "only its sender says what was agreed");
    order.heard(node(1), agree(1, 1), &queue, &mut desk);
    assert!(!order.is_placed(id(1, 1)), "less than our own proposal");
    order.heard(node(1), agree(5, 1), &queue, &mut desk);
    assert!(order.line().eq([id(2, 1), id(1, 1)]));
    assert_eq!(order.next(&queue), None, "2#1 may still be before it");
    order.heard(node(2), Word::Vote(Vote::Agreed { id: id(2, 1), priority: priority(6, 2) }), &queue, &mut desk);
    assert_eq!(order.next(&queue), Some(id(1, 1)));
}

#[test]
fn is_4_everyone_delivers_in_the_order_of_agreed_priorities() {
    let trace = play::<Isis<Unordered>>(&group(3), "1 send\n2 send\n1 > 3\n2 > 3\n2 > 1\n1 > 2\nrest");
    assert_eq!(heard(&trace, 1).len(), 2, "{trace}");
    for node in 2..=3 {
        assert_eq!(heard(&trace, node), heard(&trace, 1), "{trace}");
    }
}

#[test]
fn is_5_priorities_are_forgotten_with_their_messages() {
    assert_forgets::<Isis<Unordered>>(|notes| notes.standings().map(|known| known.standing.len()));
}

#[test]
fn is_6_what_was_not_agreed_comes_after_all_that_anybody_delivered() {
    let held = bare([(1, 1), (1, 2), (2, 1)]);
    // Node 2 never saw 1#2, and may have delivered 2#1 and 1#1.
    let knows_two = [((1, 1), Standing::Agreed(priority(9, 1))), ((2, 1), Standing::Agreed(priority(4, 2)))];
    let knows_three = [
        ((1, 1), Standing::Proposed(priority(2, 3))),
        ((1, 2), Standing::Proposed(priority(3, 3))),
        ((2, 1), Standing::Agreed(priority(4, 2))),
    ];
    let survey = survey(held, [0, 0, 0], [(2, standings(&knows_two)), (3, standings(&knows_three))]);
    assert_eq!(settle::<Isis<Unordered>>(&survey), [id(2, 1), id(1, 1), id(1, 2)]);
}

#[test]
fn is_6_what_was_not_agreed_comes_after_what_a_dead_one_delivered_although_survivors_proposed_less() {
    // Node 1, which is dead, proposed much for 2#1 and delivered 3#1, whose place everyone knew.
    let held = bare([(2, 1), (3, 1)]);
    let knows = |proposed| [((2, 1), Standing::Proposed(proposed)), ((3, 1), Standing::Agreed(priority(2, 3)))];
    let (two, three) = (knows(priority(1, 2)), knows(priority(1, 3)));
    let survey = survey(held, [0, 0, 0], [(2, standings(&two)), (3, standings(&three))]);
    assert_eq!(settle::<Isis<Unordered>>(&survey), [id(3, 1), id(2, 1)]);
}

#[test]
fn is_6_what_was_not_agreed_stays_before_what_was_said_after_it() {
    // 1 told only 2 what was agreed for 1#1; 2 delivered it, said 2#1, told all what was agreed for that, and both died.
    let held = [(id(1, 1), Causes([1, 0, 0].into())), (id(2, 1), Causes([1, 1, 0].into()))];
    let knows = [((1, 1), Standing::Proposed(priority(1, 3))), ((2, 1), Standing::Agreed(priority(2, 3)))];
    let survey = survey(held, [0, 0, 0], [(3, standings(&knows))]);
    assert_eq!(settle::<Isis<Causal>>(&survey), [id(1, 1), id(2, 1)]);
}

#[test]
fn is_6_what_was_not_agreed_comes_after_what_its_sender_said_before_it() {
    // A dead one proposed much for 1#1. 1#2 was proposed for before that was known.
    let held = bare([(1, 1), (1, 2)]);
    let knows = [((1, 1), Standing::Agreed(priority(50, 2))), ((1, 2), Standing::Proposed(priority(2, 3)))];
    let survey = survey(held, [0, 0, 0], [(3, standings(&knows))]);
    assert_eq!(settle::<Isis<Fifo>>(&survey), [id(1, 1), id(1, 2)]);
}
