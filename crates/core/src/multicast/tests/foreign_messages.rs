//! Tests that an ordering ignores the messages and reports of other orderings, and that orderings
//! compare as equal only if their types and states are equal.
//!
//! A survey is what the survivors of a view know when it ends: the messages that any of them holds,
//! for each of the three senders the number of its messages that all members hold, and the report
//! of each survivor about the order.

use crate::multicast::isis::{Priorities, Priority, PriorityMessage, PriorityState};
use crate::multicast::sequencer::Positions;
use crate::multicast::support::{RecordingSink, default_plan, id, node, queue, survey, without_causes};
use crate::multicast::{
    AnyOrdering, Causal, Causes, Fifo, Isis, MakeOrdering, OrderMessage, OrderReport, Ordering, Payload, Position,
    Sequencer, Unordered,
};

fn ordering_of_node_3(make_ordering: MakeOrdering) -> AnyOrdering {
    make_ordering(&default_plan(3), node(3), &default_plan(3).members)
}

#[test]
fn messages_of_another_ordering_are_ignored() {
    let (first, second) = (id(1, 1), id(1, 2));
    let priority = Priority { number: 9, proposer: node(1) };
    let position = OrderMessage::Position(Position { number: 1, id: first });
    let priority_messages =
        [PriorityMessage::Proposal { id: first, number: 9 }, PriorityMessage::Agreed { id: first, priority }]
            .map(OrderMessage::Priority);
    let cases: [(MakeOrdering, &[OrderMessage]); 5] = [
        (Unordered::boxed, &[position, priority_messages[0], priority_messages[1]]),
        (Fifo::boxed, &[position, priority_messages[0], priority_messages[1]]),
        (Causal::boxed, &[position, priority_messages[0], priority_messages[1]]),
        (Sequencer::<Fifo>::boxed, &priority_messages),
        (Isis::<Fifo>::boxed, &[position]),
    ];
    for (make_ordering, foreign) in cases {
        let (mut ordering, mut queue, mut sink) = (ordering_of_node_3(make_ordering), queue(3), RecordingSink::new());
        for id in [first, second] {
            queue.receive(id, Causes([id.number, 0, 0].into()), Payload::from("x"));
            ordering.on_received(id, &queue, &mut sink);
        }
        let (ordering_before, sent_before) = (ordering.clone(), sink.messages.len());
        for message in foreign {
            ordering.handle_message(node(1), *message, &queue, &mut sink);
        }
        assert_eq!((&ordering, sink.messages.len()), (&ordering_before, sent_before));
    }
}

#[test]
fn reports_of_another_ordering_do_not_change_the_settled_order() {
    let agreed = PriorityState::Agreed(Priority { number: 1, proposer: node(1) });
    let positions =
        OrderReport::Positions(Positions { positions: [(1, id(2, 1))].into(), last_delivered: 0, inner: () });
    let priorities = OrderReport::Priorities(Priorities { priority_states: [(id(2, 1), agreed)].into(), inner: () });
    let cases: [(MakeOrdering, &OrderReport); 4] = [
        (Unordered::boxed, &positions),
        (Fifo::boxed, &priorities),
        (Sequencer::<Unordered>::boxed, &priorities),
        (Isis::<Unordered>::boxed, &positions),
    ];
    for (make_ordering, foreign) in cases {
        let survey_with = |report: OrderReport| survey(without_causes([(1, 1), (2, 1)]), [0, 0, 0], [(1, report)]);
        let ordering = ordering_of_node_3(make_ordering);
        assert_eq!(ordering.settle(&survey_with(foreign.clone())), [id(1, 1), id(2, 1)], "{ordering:?}");
        assert_eq!(
            ordering.settle(&survey_with(foreign.clone())),
            ordering.settle(&survey_with(OrderReport::Nothing)),
            "{ordering:?}"
        );
    }
    let own_survey = survey(without_causes([(1, 1), (2, 1)]), [0, 0, 0], [(1, positions)]);
    assert_eq!(
        ordering_of_node_3(Sequencer::<Unordered>::boxed).settle(&own_survey),
        [id(2, 1), id(1, 1)],
        "an ordering uses reports of its own type"
    );
}

#[test]
fn orderings_of_different_types_or_states_differ_and_clones_are_equal() {
    let fifo = ordering_of_node_3(Fifo::boxed);
    assert_eq!(fifo, fifo.clone());
    assert_ne!(fifo, ordering_of_node_3(Unordered::boxed));
    let mut after_delivery = fifo.clone();
    after_delivery.on_delivered(id(1, 1), &queue(3));
    assert_ne!(fifo, after_delivery);
}
