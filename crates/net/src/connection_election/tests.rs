//! Tests of each rule (`MEET-…`) of the connection election.

use super::{
    Connection, ConnectionElection, HelloReply, IncomingHello, OutgoingHello, ProcessIdentity, WelcomeOutcome,
};
use crate::frame::{Dial, ProcessNonce, Refusal};
use quorate_core::{Incarnation, NodeId};

/// Two incarnations of the peer.
const FIRST: ProcessIdentity = ProcessIdentity { incarnation: Incarnation(0), process_nonce: ProcessNonce(1) };
const SECOND: ProcessIdentity = ProcessIdentity { incarnation: Incarnation(1), process_nonce: ProcessNonce(2) };

fn pair() -> (ConnectionElection, ConnectionElection) {
    let [low, high] = [0, 1].map(NodeId::from_index);
    (ConnectionElection::new(low, Incarnation::FIRST, high), ConnectionElection::new(high, Incarnation::FIRST, low))
}

fn hello(process: ProcessIdentity, dial: u64) -> IncomingHello {
    IncomingHello { process, dial: Dial(dial), welcomed: Dial::NONE, knows: None }
}

fn as_received(process: ProcessIdentity, outgoing: OutgoingHello) -> IncomingHello {
    let OutgoingHello { dial, welcomed, knows } = outgoing;
    IncomingHello { process, dial, welcomed, knows }
}

fn theirs(dial: u64) -> Connection {
    Connection::Theirs(Incarnation::FIRST, Dial(dial))
}

fn send_hello(election: &mut ConnectionElection) -> OutgoingHello {
    let dial = election.dial().unwrap();
    election.connected(dial).unwrap()
}

fn refusal(reply: HelloReply) -> Refusal {
    match reply {
        HelloReply::Refuse(refusal) => refusal,
        HelloReply::Welcome { .. } => panic!("welcomed"),
    }
}

#[test]
fn meet_1_at_most_one_dial_and_no_dial_while_connected() {
    let (mut low, _) = pair();
    assert_eq!(low.dial(), Some(Dial(1)));
    assert_eq!(low.dial(), None);
    assert!(low.failed(Dial(1)) && !low.failed(Dial(1)));
    assert_eq!(send_hello(&mut low), OutgoingHello { dial: Dial(2), welcomed: Dial::NONE, knows: None });
    assert_eq!(low.welcomed(Dial(1), FIRST), WelcomeOutcome::Abandoned);
    assert_eq!(low.welcomed(Dial(2), FIRST), WelcomeOutcome::Established(Connection::Ours(Dial(2))));
    assert_eq!(low.dial(), None);
    assert!(!low.lost(theirs(2)) && low.lost(Connection::Ours(Dial(2))));
    assert_eq!(low.dial(), Some(Dial(3)));
}

#[test]
fn meet_2_repeated_dials_and_older_incarnations_are_refused() {
    let (mut low, _) = pair();
    assert!(matches!(low.accept(&hello(FIRST, 3)), HelloReply::Welcome { replaced: None, .. }));
    assert_eq!(refusal(low.accept(&hello(FIRST, 3))), Refusal::Stale);
    assert_eq!(refusal(low.accept(&hello(FIRST, 2))), Refusal::Stale);
    assert!(matches!(low.accept(&hello(SECOND, 1)), HelloReply::Welcome { replaced: Some(_), .. }));
    assert_eq!(refusal(low.accept(&hello(FIRST, 9))), Refusal::OlderIncarnation { known: Incarnation(1) });
    assert_eq!(low.connection(), Some(Connection::Theirs(Incarnation(1), Dial(1))));
}

#[test]
fn meet_2_a_refused_hello_counts_as_seen() {
    let (mut low, _) = pair();
    send_hello(&mut low);
    low.welcomed(Dial(1), FIRST);
    assert_eq!(refusal(low.accept(&hello(FIRST, 5))), Refusal::Crossed);
    low.lost(Connection::Ours(Dial(1)));
    assert_eq!(refusal(low.accept(&hello(FIRST, 5))), Refusal::Stale);
}

#[test]
fn meet_2_a_second_process_with_the_same_incarnation_is_refused() {
    let twin = ProcessIdentity { process_nonce: ProcessNonce(8), ..FIRST };
    let (mut low, mut high) = pair();
    low.accept(&hello(FIRST, 1));
    assert_eq!(refusal(low.accept(&hello(twin, 2))), Refusal::DuplicateIncarnation { known: Incarnation(0) });
    low.lost(theirs(1));
    send_hello(&mut low);
    assert_eq!(
        low.welcomed(Dial(1), twin),
        WelcomeOutcome::Refuse(Refusal::DuplicateIncarnation { known: Incarnation(0) })
    );
    assert!(low.may_dial());
    let knows_a_later_incarnation = IncomingHello { knows: Some(Incarnation(3)), ..hello(FIRST, 1) };
    assert_eq!(
        refusal(high.accept(&knows_a_later_incarnation)),
        Refusal::SupersededIncarnation { mine: Incarnation(0) }
    );
}

#[test]
fn meet_3_a_hello_from_before_our_dial_was_welcomed_is_refused_by_both() {
    for mut election in [pair().0, pair().1] {
        send_hello(&mut election);
        election.welcomed(Dial(1), FIRST);
        assert_eq!(refusal(election.accept(&hello(FIRST, 4))), Refusal::Crossed);
        let after = IncomingHello { welcomed: Dial(1), knows: Some(Incarnation(0)), ..hello(FIRST, 5) };
        let replaced = Some(Connection::Ours(Dial(1)));
        assert_eq!(election.accept(&after), HelloReply::Welcome { connection: theirs(5), replaced });
    }
}

#[test]
fn meet_3_a_new_incarnation_of_the_peer_replaces_the_connection_to_its_old_one() {
    let (mut low, _) = pair();
    send_hello(&mut low);
    low.welcomed(Dial(1), FIRST);
    assert!(matches!(low.accept(&hello(SECOND, 1)), HelloReply::Welcome { replaced: Some(_), .. }));
}

#[test]
fn meet_4_of_two_crossing_dials_the_lower_nodes_dial_wins() {
    let (mut low, mut high) = pair();
    let (of_low, of_high) = (as_received(FIRST, send_hello(&mut low)), as_received(FIRST, send_hello(&mut high)));
    assert_eq!(refusal(low.accept(&of_high)), Refusal::Crossed);
    let replaced = Some(Connection::Ours(Dial(1)));
    assert_eq!(high.accept(&of_low), HelloReply::Welcome { connection: theirs(1), replaced });
    assert!(!high.failed(Dial(1)));
    assert_eq!(low.welcomed(Dial(1), FIRST), WelcomeOutcome::Established(Connection::Ours(Dial(1))));
}

#[test]
fn meet_4_an_incoming_hello_replaces_a_dial_that_has_not_sent_one() {
    for mut election in [pair().0, pair().1] {
        let dial = election.dial().unwrap();
        assert!(matches!(election.accept(&hello(FIRST, 1)), HelloReply::Welcome { replaced: Some(_), .. }));
        assert_eq!(election.connected(dial), None);
    }
}

#[test]
fn meet_5_a_peer_that_lost_the_connection_we_still_hold_is_welcomed() {
    let (mut low, mut high) = pair();
    let hello = as_received(FIRST, send_hello(&mut low));
    high.accept(&hello);
    high.lost(theirs(1));
    // Its Welcome is still in transit and never arrives.
    let hello = as_received(FIRST, send_hello(&mut high));
    assert_eq!(hello.welcomed, Dial(1));
    assert!(matches!(low.accept(&hello), HelloReply::Welcome { replaced: Some(_), .. }));
}
