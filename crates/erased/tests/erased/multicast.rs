//! Messages of multicast members as bytes and as text. One type serves all orderings; the text of a
//! message shows only the part of its own ordering. In text, a data message is called `letter`, and
//! a message of an ordering `word`.

use quorate_core::multicast::isis::{Priorities, Priority, PriorityMessage, PriorityState};
use quorate_core::multicast::member::Holdings;
use quorate_core::multicast::sequencer::Positions;
use quorate_core::multicast::{
    Causes, DataMessage, GroupId, Message, MessageId, OrderMessage, OrderReport, Payload, Position, Report, StatePiece,
};
use quorate_core::packed::{pack, unpack};
use quorate_core::{Epoch, NodeId, View};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn message_id(number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: View::FIRST, sender: NodeId::from_index(1), number }
}

fn data_message(causes: &[u64]) -> DataMessage {
    DataMessage { id: message_id(1), tag: Causes(causes.into()), payload: Payload::from("m") }
}

const ID: &str = r#"{"group":0,"view":1,"sender":2,"number":1}"#;

/// Writes and reads a value. Returns the number of bytes.
fn round_trip<T: Serialize + DeserializeOwned + Eq + Debug>(value: &T) -> usize {
    let mut bytes = Vec::new();
    pack(value, &mut bytes).unwrap();
    assert_eq!(&unpack::<T>(&bytes).unwrap(), value);
    bytes.len()
}

#[test]
fn every_message_is_restored_from_its_bytes() {
    let position = Position { number: 3, id: message_id(1) };
    let priority = Priority { number: 4, proposer: NodeId::from_index(2) };
    // Each with the number of its bytes: four for an id, three for the payload, and one for each
    // kind, small number, length and option. An empty vector of causes takes none.
    let messages = [
        (Message::Data(data_message(&[]), None), 9),
        (Message::Data(data_message(&[]), Some(position)), 14),
        (Message::Data(data_message(&[0, 1, 0]), None), 13),
        (Message::Data(data_message(&[0, 1, 0]), Some(position)), 18),
        (Message::Order(OrderMessage::Position(position)), 6),
        (Message::Order(OrderMessage::Priority(PriorityMessage::Proposal { id: message_id(1), number: 4 })), 7),
        (Message::Order(OrderMessage::Priority(PriorityMessage::Agreed { id: message_id(1), priority })), 8),
        (Message::Acknowledgement(vec![1, 2, 3]), 5),
        (Message::Drain(7), 2),
        (Message::Remainder(data_message(&[])), 8),
        (Message::Remainder(data_message(&[1, 1])), 11),
        (Message::Complete, 1),
        (Message::StateRequest { boundary: Epoch(2), offset: 9, digest: Some(5) }, 5),
        (Message::StateLoaded(Epoch(2)), 2),
    ];
    for (message, expected_bytes) in messages {
        assert_eq!(round_trip(&message), expected_bytes, "{message:?}");
    }
    let bytes = Payload::from("state");
    round_trip(&Message::StatePiece(StatePiece { boundary: Epoch(2), offset: 0, length: 5, digest: 1, bytes }));
}

#[test]
fn text_shows_only_the_part_of_the_ordering() {
    let text = |message: Message| serde_json::to_string(&message).unwrap();
    let position = Position { number: 3, id: message_id(1) };
    assert_eq!(
        text(Message::Data(data_message(&[]), None)),
        format!(r#"{{"letter":[{{"id":{ID},"tag":null,"payload":{{"text":"m"}}}},null]}}"#)
    );
    assert_eq!(
        text(Message::Remainder(data_message(&[0, 1]))),
        format!(r#"{{"remainder":{{"id":{ID},"tag":[0,1],"payload":{{"text":"m"}}}}}}"#)
    );
    assert_eq!(
        text(Message::Order(OrderMessage::Position(position))),
        format!(r#"{{"word":{{"number":3,"id":{ID}}}}}"#)
    );
    let proposal = PriorityMessage::Proposal { id: message_id(1), number: 4 };
    assert_eq!(
        text(Message::Order(OrderMessage::Priority(proposal))),
        format!(r#"{{"word":{{"proposal":{{"id":{ID},"number":4}}}}}}"#)
    );
}

fn order_reports() -> [OrderReport; 3] {
    let agreed = PriorityState::Agreed(Priority { number: 4, proposer: NodeId::from_index(2) });
    [
        OrderReport::Nothing,
        OrderReport::Positions(Positions { positions: [(3, message_id(1))].into(), last_delivered: 2, inner: () }),
        OrderReport::Priorities(Priorities { priority_states: [(message_id(1), agreed)].into(), inner: () }),
    ]
}

fn report(held: &[(MessageId, Causes)], order_report: OrderReport) -> Report {
    let stable_counts = [(NodeId::from_index(0), 1)].into();
    let begun = Holdings { view: Epoch(2), held: held.iter().cloned().collect(), stable_counts, order_report };
    Report {
        begun_holdings: Some(begun),
        next_holdings: None,
        settled: None,
        wanted_state: None,
        kept_states: Vec::new(),
    }
}

#[test]
fn a_report_of_every_ordering_is_restored_from_its_bytes() {
    for (order_report, order_report_bytes) in order_reports().into_iter().zip([0, 7, 8]) {
        // An order report of `Nothing` takes no bytes of its own. A vector of two numbers takes
        // three bytes.
        for (causes, other_bytes) in [(Causes::none(), 14), (Causes(vec![0, 1]), 17)] {
            let bytes = round_trip(&report(&[(message_id(1), causes)], order_report.clone()));
            assert_eq!(bytes, other_bytes + order_report_bytes, "{order_report:?}");
        }
        round_trip(&report(&[], order_report));
    }
    round_trip(&Report {
        begun_holdings: None,
        next_holdings: None,
        settled: None,
        wanted_state: Some(Epoch(1)),
        kept_states: vec![Epoch(1)],
    });
}

#[test]
fn a_report_with_a_message_without_its_vector_is_readable() {
    for order_report in order_reports() {
        round_trip(&report(&[(message_id(1), Causes::none()), (message_id(2), Causes(vec![0, 2]))], order_report));
    }
}

#[test]
fn text_shows_a_report_in_the_form_of_its_ordering() {
    let begun = |order_report: &str, held: &str| {
        format!(
            r#"{{"begun":{{"view":2,"held":{held},"floor":{{"1":1}},"notes":{order_report}}},"next":null,"settled":null,"wants":null,"keeps":[]}}"#
        )
    };
    let text = |report| serde_json::to_string(&report).unwrap();
    let [nothing, positions, priorities] = order_reports();
    assert_eq!(text(report(&[(message_id(1), Causes::none())], nothing)), begun("null", &format!("[[{ID},null]]")));
    assert_eq!(
        text(report(&[(message_id(1), Causes(vec![0, 1]))], positions)),
        begun(&format!(r#"{{"places":{{"3":{ID}}},"delivered":2,"inner":null}}"#), &format!("[[{ID},[0,1]]]"))
    );
    let agreed = r#"{"agreed":{"number":4,"proposer":3}}"#;
    assert_eq!(
        text(report(&[], priorities)),
        begun(&format!(r#"{{"standing":[[{ID},{agreed}]],"inner":null}}"#), "[]")
    );
}
