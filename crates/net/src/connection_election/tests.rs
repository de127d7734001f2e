//! Tests of each rule (`MEET-…`, at the head of `mod.rs`) of the connection election.

use super::{Connection, ConnectionElection, EndIdentity, HelloReply, IncomingHello, OutgoingHello, WelcomeOutcome};
use crate::frame::{Dial, Generation, LinkEnd, ProcessNonce, Refusal};
use quorate_core::{Incarnation, NodeId};

/// Our end of the link.
const OUR_END: LinkEnd = LinkEnd::first(Incarnation(0));
/// Processes that run two incarnations of the peer.
const FIRST_PROCESS: EndIdentity = EndIdentity { end: LinkEnd::first(Incarnation(0)), process_nonce: ProcessNonce(1) };
const SECOND_PROCESS: EndIdentity = EndIdentity { end: LinkEnd::first(Incarnation(1)), process_nonce: ProcessNonce(2) };
/// The first process again, after it removed this node from its peers and added it again.
const SECOND_GENERATION: EndIdentity = EndIdentity {
    end: LinkEnd { incarnation: Incarnation(0), generation: Generation(1) },
    process_nonce: ProcessNonce(1),
};

/// The elections of the node with the lower number and of the node with the higher one.
fn pair() -> (ConnectionElection, ConnectionElection) {
    let [low, high] = [0, 1].map(NodeId::from_index);
    (ConnectionElection::new(low, OUR_END, high), ConnectionElection::new(high, OUR_END, low))
}

/// A Hello of a peer that has welcomed none of our dials yet.
fn hello(sender: EndIdentity, dial: u64) -> IncomingHello {
    IncomingHello { sender, dial: Dial(dial), last_welcomed_dial: Dial::NONE, known_end: None }
}

fn as_received(sender: EndIdentity, outgoing: OutgoingHello) -> IncomingHello {
    let OutgoingHello { dial, last_welcomed_dial, known_end } = outgoing;
    IncomingHello { sender, dial, last_welcomed_dial, known_end }
}

/// The connection of a dial by the peer's first incarnation.
fn theirs(dial: u64) -> Connection {
    Connection::Theirs(FIRST_PROCESS.end, Dial(dial))
}

/// Starts the next dial, and returns the Hello that the node then sends.
fn send_hello(election: &mut ConnectionElection) -> OutgoingHello {
    let dial = election.start_dial().unwrap();
    election.handle_open_connection(dial).unwrap()
}

fn refusal(reply: HelloReply) -> Refusal {
    match reply {
        HelloReply::Refuse(refusal) => refusal,
        HelloReply::Welcome { .. } => panic!("the Hello must be refused"),
    }
}

#[test]
fn meet_1_at_most_one_dial_and_no_dial_while_connected() {
    let (mut low, _) = pair();
    assert_eq!(low.start_dial(), Some(Dial(1)));
    assert_eq!(low.start_dial(), None);
    // `false` means that there was no such dial or connection.
    assert!(low.handle_failed_dial(Dial(1)) && !low.handle_failed_dial(Dial(1)));
    assert_eq!(send_hello(&mut low), OutgoingHello { dial: Dial(2), last_welcomed_dial: Dial::NONE, known_end: None });
    assert_eq!(low.handle_welcome(Dial(1), FIRST_PROCESS), WelcomeOutcome::Abandoned);
    assert_eq!(low.handle_welcome(Dial(2), FIRST_PROCESS), WelcomeOutcome::Established(Connection::Ours(Dial(2))));
    assert_eq!(low.start_dial(), None);
    assert!(!low.handle_lost_connection(theirs(2)) && low.handle_lost_connection(Connection::Ours(Dial(2))));
    assert_eq!(low.start_dial(), Some(Dial(3)));
}

#[test]
fn meet_2_repeated_dials_and_older_incarnations_are_refused() {
    let (mut low, _) = pair();
    assert!(matches!(low.handle_hello(&hello(FIRST_PROCESS, 3)), HelloReply::Welcome { replaced: None, .. }));
    assert_eq!(refusal(low.handle_hello(&hello(FIRST_PROCESS, 3))), Refusal::OldDial);
    assert_eq!(refusal(low.handle_hello(&hello(FIRST_PROCESS, 2))), Refusal::OldDial);
    assert!(matches!(low.handle_hello(&hello(SECOND_PROCESS, 1)), HelloReply::Welcome { replaced: Some(_), .. }));
    assert_eq!(
        refusal(low.handle_hello(&hello(FIRST_PROCESS, 9))),
        Refusal::OlderIncarnation { known_incarnation: Incarnation(1) }
    );
    assert_eq!(low.connection(), Some(Connection::Theirs(SECOND_PROCESS.end, Dial(1))));
}

#[test]
fn meet_2_a_refused_dial_is_not_accepted_later() {
    let (mut low, _) = pair();
    send_hello(&mut low);
    low.handle_welcome(Dial(1), FIRST_PROCESS);
    assert_eq!(refusal(low.handle_hello(&hello(FIRST_PROCESS, 5))), Refusal::Crossed);
    low.handle_lost_connection(Connection::Ours(Dial(1)));
    assert_eq!(refusal(low.handle_hello(&hello(FIRST_PROCESS, 5))), Refusal::OldDial);
}

#[test]
fn meet_2_duplicate_and_superseded_incarnations_are_refused() {
    // Another process that claims the same incarnation.
    let twin = EndIdentity { process_nonce: ProcessNonce(8), ..FIRST_PROCESS };
    let (mut low, mut high) = pair();
    low.handle_hello(&hello(FIRST_PROCESS, 1));
    assert_eq!(
        refusal(low.handle_hello(&hello(twin, 2))),
        Refusal::DuplicateIncarnation { known_incarnation: Incarnation(0) }
    );
    low.handle_lost_connection(theirs(1));
    send_hello(&mut low);
    assert_eq!(
        low.handle_welcome(Dial(1), twin),
        WelcomeOutcome::Refuse(Refusal::DuplicateIncarnation { known_incarnation: Incarnation(0) })
    );
    assert!(low.may_dial());
    let knows_a_later_incarnation =
        IncomingHello { known_end: Some(LinkEnd::first(Incarnation(3))), ..hello(FIRST_PROCESS, 1) };
    assert_eq!(
        refusal(high.handle_hello(&knows_a_later_incarnation)),
        Refusal::SupersededIncarnation { receiver_incarnation: Incarnation(0) }
    );
}

#[test]
fn meet_2_a_hello_from_or_for_a_replaced_link_is_refused() {
    let (mut low, mut high) = pair();
    low.handle_hello(&hello(SECOND_GENERATION, 1));
    assert_eq!(refusal(low.handle_hello(&hello(FIRST_PROCESS, 9))), Refusal::OldDial);
    assert_eq!(low.connection(), Some(Connection::Theirs(SECOND_GENERATION.end, Dial(1))));
    let knows_a_later_link = IncomingHello { known_end: Some(SECOND_GENERATION.end), ..hello(FIRST_PROCESS, 1) };
    assert_eq!(refusal(high.handle_hello(&knows_a_later_link)), Refusal::NotAPeer);
}

#[test]
fn meet_3_a_hello_sent_before_our_dial_was_welcomed_is_refused() {
    for mut election in [pair().0, pair().1] {
        send_hello(&mut election);
        election.handle_welcome(Dial(1), FIRST_PROCESS);
        assert_eq!(refusal(election.handle_hello(&hello(FIRST_PROCESS, 4))), Refusal::Crossed);
        let after = IncomingHello { last_welcomed_dial: Dial(1), known_end: Some(OUR_END), ..hello(FIRST_PROCESS, 5) };
        let replaced = Some(Connection::Ours(Dial(1)));
        assert_eq!(election.handle_hello(&after), HelloReply::Welcome { connection: theirs(5), replaced });
    }
}

#[test]
fn meet_3_a_new_end_of_the_peer_replaces_the_connection_to_its_old_one() {
    for new_end in [SECOND_PROCESS, SECOND_GENERATION] {
        let (mut low, _) = pair();
        send_hello(&mut low);
        low.handle_welcome(Dial(1), FIRST_PROCESS);
        assert!(matches!(low.handle_hello(&hello(new_end, 1)), HelloReply::Welcome { replaced: Some(_), .. }));
    }
}

#[test]
fn meet_4_of_two_crossing_dials_the_lower_nodes_dial_wins() {
    let (mut low, mut high) = pair();
    let hello_of_low = as_received(FIRST_PROCESS, send_hello(&mut low));
    let hello_of_high = as_received(FIRST_PROCESS, send_hello(&mut high));
    assert_eq!(refusal(low.handle_hello(&hello_of_high)), Refusal::Crossed);
    let replaced = Some(Connection::Ours(Dial(1)));
    assert_eq!(high.handle_hello(&hello_of_low), HelloReply::Welcome { connection: theirs(1), replaced });
    assert!(!high.handle_failed_dial(Dial(1)));
    assert_eq!(low.handle_welcome(Dial(1), FIRST_PROCESS), WelcomeOutcome::Established(Connection::Ours(Dial(1))));
}

#[test]
fn meet_4_an_incoming_hello_replaces_a_dial_that_has_not_sent_one() {
    for mut election in [pair().0, pair().1] {
        let dial = election.start_dial().unwrap();
        assert!(matches!(
            election.handle_hello(&hello(FIRST_PROCESS, 1)),
            HelloReply::Welcome { replaced: Some(_), .. }
        ));
        assert_eq!(election.handle_open_connection(dial), None);
    }
}

#[test]
fn meet_5_a_peer_that_lost_the_connection_of_our_unanswered_dial_is_welcomed() {
    let (mut low, mut high) = pair();
    let hello_of_low = as_received(FIRST_PROCESS, send_hello(&mut low));
    high.handle_hello(&hello_of_low);
    high.handle_lost_connection(theirs(1));
    // The higher node's Welcome is lost with the connection, so the lower node still waits.
    let hello_of_high = as_received(FIRST_PROCESS, send_hello(&mut high));
    assert_eq!(hello_of_high.last_welcomed_dial, Dial(1));
    assert!(matches!(low.handle_hello(&hello_of_high), HelloReply::Welcome { replaced: Some(_), .. }));
}
