//! What only another order would say changes nothing.

use crate::multicast::drill::{Notebook, bare, group, id, node, queue, survey};
use crate::multicast::isis::{Priority, Standing, Standings, Vote};
use crate::multicast::sequencer::Places;
use crate::multicast::{
    AnyOrdering, Begin, Causal, Causes, Fifo, Isis, Notes, Ordering, Payload, Place, Sequencer, Unordered, Word,
};

fn begun(begin: Begin) -> AnyOrdering {
    begin(&group(3), node(3), &group(3).members)
}

#[test]
fn words_of_another_order_change_nothing() {
    let (first, second) = (id(1, 1), id(1, 2));
    let priority = Priority { number: 9, proposer: node(1) };
    let place = Word::Place(Place { number: 1, id: first });
    let votes = [Vote::Proposal { id: first, number: 9 }, Vote::Agreed { id: first, priority }].map(Word::Vote);
    let orders: [(Begin, &[Word]); 5] = [
        (Unordered::boxed, &[place, votes[0], votes[1]]),
        (Fifo::boxed, &[place, votes[0], votes[1]]),
        (Causal::boxed, &[place, votes[0], votes[1]]),
        (Sequencer::<Fifo>::boxed, &votes),
        (Isis::<Fifo>::boxed, &[place]),
    ];
    for (begin, strange) in orders {
        let (mut order, mut queue, mut desk) = (begun(begin), queue(3), Notebook::new());
        for id in [first, second] {
            queue.receive(id, Causes([id.number, 0, 0].into()), Payload::from("x"));
            order.received(id, &queue, &mut desk);
        }
        let (before, said) = (order.clone(), desk.words.len());
        for word in strange {
            order.heard(node(1), *word, &queue, &mut desk);
        }
        assert_eq!((&order, desk.words.len()), (&before, said));
    }
}

#[test]
fn notes_of_another_order_change_nothing_that_is_settled() {
    let agreed = Standing::Agreed(Priority { number: 1, proposer: node(1) });
    let places = Notes::Places(Places { places: [(1, id(2, 1))].into(), delivered: 0, inner: () });
    let standings = Notes::Standings(Standings { standing: [(id(2, 1), agreed)].into(), inner: () });
    let orders: [(Begin, &Notes); 4] = [
        (Unordered::boxed, &places),
        (Fifo::boxed, &standings),
        (Sequencer::<Unordered>::boxed, &standings),
        (Isis::<Unordered>::boxed, &places),
    ];
    for (begin, strange) in orders {
        let left = |notes: Notes| survey(bare([(1, 1), (2, 1)]), [0, 0, 0], [(1, notes)]);
        let order = begun(begin);
        assert_eq!(order.settle(&left(strange.clone())), [id(1, 1), id(2, 1)], "{order:?}");
        assert_eq!(order.settle(&left(strange.clone())), order.settle(&left(Notes::Nothing)), "{order:?}");
    }
    let right = survey(bare([(1, 1), (2, 1)]), [0, 0, 0], [(1, places)]);
    assert_eq!(begun(Sequencer::<Unordered>::boxed).settle(&right), [id(2, 1), id(1, 1)], "its own do");
}

#[test]
fn orders_of_different_types_are_different_and_copies_are_equal() {
    let fifo = begun(Fifo::boxed);
    assert_eq!(fifo, fifo.clone());
    assert_ne!(fifo, begun(Unordered::boxed));
    let mut later = fifo.clone();
    later.delivered(id(1, 1), &queue(3));
    assert_ne!(fifo, later);
}
