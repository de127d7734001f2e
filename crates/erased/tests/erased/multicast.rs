//! What members of a multicast send each other, as bytes and as text: one type for all orders, of which each shows its own.

use quorate_core::multicast::isis::{Priority, Standing, Standings, Vote};
use quorate_core::multicast::member::Holdings;
use quorate_core::multicast::sequencer::Places;
use quorate_core::multicast::{
    Causes, GroupId, Letter, Message, MessageId, Notes, Payload, Piece, Place, Report, Word,
};
use quorate_core::packed::{pack, unpack};
use quorate_core::{Epoch, NodeId, View};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn id(number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: View::FIRST, sender: NodeId::from_index(1), number }
}

fn letter(causes: &[u64]) -> Letter {
    Letter { id: id(1), tag: Causes(causes.into()), payload: Payload::from("m") }
}

const ID: &str = r#"{"group":0,"view":1,"sender":2,"number":1}"#;

/// Writes and reads a value, and says how many bytes that took.
fn travels<T: Serialize + DeserializeOwned + Eq + Debug>(value: &T) -> usize {
    let mut bytes = Vec::new();
    pack(value, &mut bytes).unwrap();
    assert_eq!(&unpack::<T>(&bytes).unwrap(), value);
    bytes.len()
}

#[test]
fn every_message_comes_back_from_its_bytes() {
    let place = Place { number: 3, id: id(1) };
    let priority = Priority { number: 4, proposer: NodeId::from_index(2) };
    let messages = [
        (Message::Letter(letter(&[]), None), 9),
        (Message::Letter(letter(&[]), Some(place)), 14),
        (Message::Letter(letter(&[0, 1, 0]), None), 13),
        (Message::Letter(letter(&[0, 1, 0]), Some(place)), 18),
        (Message::Word(Word::Place(place)), 6),
        (Message::Word(Word::Vote(Vote::Proposal { id: id(1), number: 4 })), 7),
        (Message::Word(Word::Vote(Vote::Agreed { id: id(1), priority })), 8),
        (Message::Held(vec![1, 2, 3]), 5),
        (Message::Drain(7), 2),
        (Message::Remainder(letter(&[])), 8),
        (Message::Remainder(letter(&[1, 1])), 11),
        (Message::Complete, 1),
        (Message::Ask { boundary: Epoch(2), offset: 9, digest: Some(5) }, 5),
        (Message::Loaded(Epoch(2)), 2),
    ];
    for (message, bytes) in messages {
        assert_eq!(travels(&message), bytes, "{message:?}");
    }
    let bytes = Payload::from("state");
    travels(&Message::Piece(Piece { boundary: Epoch(2), offset: 0, length: 5, digest: 1, bytes }));
}

#[test]
fn text_shows_a_message_as_its_order_has_it() {
    let text = |message: Message| serde_json::to_string(&message).unwrap();
    let place = Place { number: 3, id: id(1) };
    assert_eq!(
        text(Message::Letter(letter(&[]), None)),
        format!(r#"{{"letter":[{{"id":{ID},"tag":null,"payload":{{"text":"m"}}}},null]}}"#)
    );
    assert_eq!(
        text(Message::Remainder(letter(&[0, 1]))),
        format!(r#"{{"remainder":{{"id":{ID},"tag":[0,1],"payload":{{"text":"m"}}}}}}"#)
    );
    assert_eq!(text(Message::Word(Word::Place(place))), format!(r#"{{"word":{{"number":3,"id":{ID}}}}}"#));
    let proposal = Vote::Proposal { id: id(1), number: 4 };
    assert_eq!(
        text(Message::Word(Word::Vote(proposal))),
        format!(r#"{{"word":{{"proposal":{{"id":{ID},"number":4}}}}}}"#)
    );
}

fn notes() -> [Notes; 3] {
    let agreed = Standing::Agreed(Priority { number: 4, proposer: NodeId::from_index(2) });
    [
        Notes::Nothing,
        Notes::Places(Places { places: [(3, id(1))].into(), delivered: 2, inner: () }),
        Notes::Standings(Standings { standing: [(id(1), agreed)].into(), inner: () }),
    ]
}

fn report(held: &[(MessageId, Causes)], notes: Notes) -> Report {
    let floor = [(NodeId::from_index(0), 1)].into();
    let begun = Holdings { view: Epoch(2), held: held.iter().cloned().collect(), floor, notes };
    Report { begun: Some(begun), next: None, settled: None, wants: None, keeps: Vec::new() }
}

#[test]
fn a_report_of_every_order_comes_back_from_its_bytes() {
    for (notes, known) in notes().into_iter().zip([0, 7, 8]) {
        assert_eq!(travels(&report(&[(id(1), Causes::none())], notes.clone())), 14 + known, "{notes:?}");
        assert_eq!(travels(&report(&[(id(1), Causes(vec![0, 1]))], notes.clone())), 17 + known, "{notes:?}");
        travels(&report(&[], notes));
    }
    travels(&Report { begun: None, next: None, settled: None, wants: Some(Epoch(1)), keeps: vec![Epoch(1)] });
}

#[test]
fn a_report_is_read_although_somebody_sent_a_message_without_its_vector() {
    for notes in notes() {
        travels(&report(&[(id(1), Causes::none()), (id(2), Causes(vec![0, 2]))], notes));
    }
}

#[test]
fn text_shows_a_report_as_its_order_has_it() {
    let begun = |notes: &str, held: &str| {
        format!(
            r#"{{"begun":{{"view":2,"held":{held},"floor":{{"1":1}},"notes":{notes}}},"next":null,"settled":null,"wants":null,"keeps":[]}}"#
        )
    };
    let text = |report| serde_json::to_string(&report).unwrap();
    let [nothing, places, standings] = notes();
    assert_eq!(text(report(&[(id(1), Causes::none())], nothing)), begun("null", &format!("[[{ID},null]]")));
    assert_eq!(
        text(report(&[(id(1), Causes(vec![0, 1]))], places)),
        begun(&format!(r#"{{"places":{{"3":{ID}}},"delivered":2,"inner":null}}"#), &format!("[[{ID},[0,1]]]"))
    );
    let agreed = r#"{"agreed":{"number":4,"proposer":3}}"#;
    assert_eq!(text(report(&[], standings)), begun(&format!(r#"{{"standing":[[{ID},{agreed}]],"inner":null}}"#), "[]"));
}
