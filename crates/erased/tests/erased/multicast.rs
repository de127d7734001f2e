//! Messages of multicast members as bytes and as text: one type for all orderings, each of which
//! shows only its own part.

use quorate_core::multicast::isis::{Priorities, Priority, PriorityState, Vote};
use quorate_core::multicast::member::Holdings;
use quorate_core::multicast::sequencer::Positions;
use quorate_core::multicast::{
    Causes, DataMessage, GroupId, Message, MessageId, OrderMessage, OrderReport, Payload, Piece, Position, Report,
};
use quorate_core::packed::{pack, unpack};
use quorate_core::{Epoch, NodeId, View};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn id(number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: View::FIRST, sender: NodeId::from_index(1), number }
}

fn data(causes: &[u64]) -> DataMessage {
    DataMessage { id: id(1), tag: Causes(causes.into()), payload: Payload::from("m") }
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
    let position = Position { number: 3, id: id(1) };
    let priority = Priority { number: 4, proposer: NodeId::from_index(2) };
    let messages = [
        (Message::Data(data(&[]), None), 9),
        (Message::Data(data(&[]), Some(position)), 14),
        (Message::Data(data(&[0, 1, 0]), None), 13),
        (Message::Data(data(&[0, 1, 0]), Some(position)), 18),
        (Message::Order(OrderMessage::Position(position)), 6),
        (Message::Order(OrderMessage::Vote(Vote::Proposal { id: id(1), number: 4 })), 7),
        (Message::Order(OrderMessage::Vote(Vote::Agreed { id: id(1), priority })), 8),
        (Message::Held(vec![1, 2, 3]), 5),
        (Message::Drain(7), 2),
        (Message::Remainder(data(&[])), 8),
        (Message::Remainder(data(&[1, 1])), 11),
        (Message::Complete, 1),
        (Message::Ask { boundary: Epoch(2), offset: 9, digest: Some(5) }, 5),
        (Message::Loaded(Epoch(2)), 2),
    ];
    for (message, bytes) in messages {
        assert_eq!(round_trip(&message), bytes, "{message:?}");
    }
    let bytes = Payload::from("state");
    round_trip(&Message::Piece(Piece { boundary: Epoch(2), offset: 0, length: 5, digest: 1, bytes }));
}

#[test]
fn text_shows_only_the_part_of_the_ordering() {
    let text = |message: Message| serde_json::to_string(&message).unwrap();
    let position = Position { number: 3, id: id(1) };
    assert_eq!(
        text(Message::Data(data(&[]), None)),
        format!(r#"{{"letter":[{{"id":{ID},"tag":null,"payload":{{"text":"m"}}}},null]}}"#)
    );
    assert_eq!(
        text(Message::Remainder(data(&[0, 1]))),
        format!(r#"{{"remainder":{{"id":{ID},"tag":[0,1],"payload":{{"text":"m"}}}}}}"#)
    );
    assert_eq!(
        text(Message::Order(OrderMessage::Position(position))),
        format!(r#"{{"word":{{"number":3,"id":{ID}}}}}"#)
    );
    let proposal = Vote::Proposal { id: id(1), number: 4 };
    assert_eq!(
        text(Message::Order(OrderMessage::Vote(proposal))),
        format!(r#"{{"word":{{"proposal":{{"id":{ID},"number":4}}}}}}"#)
    );
}

fn notes() -> [OrderReport; 3] {
    let agreed = PriorityState::Agreed(Priority { number: 4, proposer: NodeId::from_index(2) });
    [
        OrderReport::Nothing,
        OrderReport::Positions(Positions { positions: [(3, id(1))].into(), delivered: 2, inner: () }),
        OrderReport::Priorities(Priorities { states: [(id(1), agreed)].into(), inner: () }),
    ]
}

fn report(held: &[(MessageId, Causes)], order_report: OrderReport) -> Report {
    let floor = [(NodeId::from_index(0), 1)].into();
    let begun = Holdings { view: Epoch(2), held: held.iter().cloned().collect(), floor, order_report };
    Report { begun: Some(begun), next: None, settled: None, wants: None, keeps: Vec::new() }
}

#[test]
fn a_report_of_every_ordering_is_restored_from_its_bytes() {
    for (notes, known) in notes().into_iter().zip([0, 7, 8]) {
        assert_eq!(round_trip(&report(&[(id(1), Causes::none())], notes.clone())), 14 + known, "{notes:?}");
        assert_eq!(round_trip(&report(&[(id(1), Causes(vec![0, 1]))], notes.clone())), 17 + known, "{notes:?}");
        round_trip(&report(&[], notes));
    }
    round_trip(&Report { begun: None, next: None, settled: None, wants: Some(Epoch(1)), keeps: vec![Epoch(1)] });
}

#[test]
fn a_report_with_a_message_without_its_vector_is_readable() {
    for notes in notes() {
        round_trip(&report(&[(id(1), Causes::none()), (id(2), Causes(vec![0, 2]))], notes));
    }
}

#[test]
fn text_shows_a_report_in_the_form_of_its_ordering() {
    let begun = |notes: &str, held: &str| {
        format!(
            r#"{{"begun":{{"view":2,"held":{held},"floor":{{"1":1}},"notes":{notes}}},"next":null,"settled":null,"wants":null,"keeps":[]}}"#
        )
    };
    let text = |report| serde_json::to_string(&report).unwrap();
    let [nothing, positions, priorities] = notes();
    assert_eq!(text(report(&[(id(1), Causes::none())], nothing)), begun("null", &format!("[[{ID},null]]")));
    assert_eq!(
        text(report(&[(id(1), Causes(vec![0, 1]))], positions)),
        begun(&format!(r#"{{"places":{{"3":{ID}}},"delivered":2,"inner":null}}"#), &format!("[[{ID},[0,1]]]"))
    );
    let agreed = r#"{"agreed":{"number":4,"proposer":3}}"#;
    assert_eq!(
        text(report(&[], priorities)),
        begun(&format!(r#"{{"standing":[[{ID},{agreed}]],"inner":null}}"#), "[]")
    );
}
