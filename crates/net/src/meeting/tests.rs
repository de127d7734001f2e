//! One script for each rule of a meeting.

use super::{Answer, Caller, Connection, Greeting, Life, Meeting, Outcome};
use crate::frame::{Birth, Dial, Refusal};
use quorate_core::{Incarnation, NodeId};

const FIRST: Life = Life { incarnation: Incarnation(0), birth: Birth(1) };
const SECOND: Life = Life { incarnation: Incarnation(1), birth: Birth(2) };

fn pair() -> (Meeting, Meeting) {
    let [low, high] = [0, 1].map(NodeId::from_index);
    (Meeting::new(low, Incarnation::FIRST, high), Meeting::new(high, Incarnation::FIRST, low))
}

fn caller(life: Life, dial: u64) -> Caller {
    Caller { life, dial: Dial(dial), welcomed: Dial::NONE, knows: None }
}

fn from(life: Life, greeting: Greeting) -> Caller {
    let Greeting { dial, welcomed, knows } = greeting;
    Caller { life, dial, welcomed, knows }
}

fn theirs(dial: u64) -> Connection {
    Connection::Theirs(Incarnation::FIRST, Dial(dial))
}

fn greet(meeting: &mut Meeting) -> Greeting {
    let dial = meeting.dial().unwrap();
    meeting.connected(dial).unwrap()
}

fn refusal(answer: Answer) -> Refusal {
    match answer {
        Answer::Refuse(refusal) => refusal,
        Answer::Welcome { .. } => panic!("welcomed"),
    }
}

#[test]
fn meet_1_one_dial_at_a_time_and_none_beside_a_connection() {
    let (mut low, _) = pair();
    assert_eq!(low.dial(), Some(Dial(1)));
    assert_eq!(low.dial(), None);
    assert!(low.failed(Dial(1)) && !low.failed(Dial(1)));
    assert_eq!(greet(&mut low), Greeting { dial: Dial(2), welcomed: Dial::NONE, knows: None });
    assert_eq!(low.welcomed(Dial(1), FIRST), Outcome::GivenUp);
    assert_eq!(low.welcomed(Dial(2), FIRST), Outcome::Together(Connection::Ours(Dial(2))));
    assert_eq!(low.dial(), None);
    assert!(!low.lost(theirs(2)) && low.lost(Connection::Ours(Dial(2))));
    assert_eq!(low.dial(), Some(Dial(3)));
}

#[test]
fn meet_2_what_was_seen_before_is_refused_and_so_is_a_life_that_is_over() {
    let (mut low, _) = pair();
    assert!(matches!(low.accept(&caller(FIRST, 3)), Answer::Welcome { given_up: None, .. }));
    assert_eq!(refusal(low.accept(&caller(FIRST, 3))), Refusal::Stale);
    assert_eq!(refusal(low.accept(&caller(FIRST, 2))), Refusal::Stale);
    assert!(matches!(low.accept(&caller(SECOND, 1)), Answer::Welcome { given_up: Some(_), .. }));
    assert_eq!(refusal(low.accept(&caller(FIRST, 9))), Refusal::OldLife { known: Incarnation(1) });
    assert_eq!(low.connection(), Some(Connection::Theirs(Incarnation(1), Dial(1))));
}

#[test]
fn meet_2_a_refused_hello_counts_as_seen() {
    let (mut low, _) = pair();
    greet(&mut low);
    low.welcomed(Dial(1), FIRST);
    assert_eq!(refusal(low.accept(&caller(FIRST, 5))), Refusal::Crossed);
    low.lost(Connection::Ours(Dial(1)));
    assert_eq!(refusal(low.accept(&caller(FIRST, 5))), Refusal::Stale);
}

#[test]
fn meet_2_two_processes_with_one_life_are_told_apart() {
    let twin = Life { birth: Birth(8), ..FIRST };
    let (mut low, mut high) = pair();
    low.accept(&caller(FIRST, 1));
    assert_eq!(refusal(low.accept(&caller(twin, 2))), Refusal::TwinLife { known: Incarnation(0) });
    low.lost(theirs(1));
    greet(&mut low);
    assert_eq!(low.welcomed(Dial(1), twin), Outcome::Refuse(Refusal::TwinLife { known: Incarnation(0) }));
    assert!(low.may_dial());
    let knows_a_later_one = Caller { knows: Some(Incarnation(3)), ..caller(FIRST, 1) };
    assert_eq!(refusal(high.accept(&knows_a_later_one)), Refusal::Outlived { mine: Incarnation(0) });
}

#[test]
fn meet_3_a_hello_from_before_our_dial_was_welcomed_is_refused_by_both() {
    for mut meeting in [pair().0, pair().1] {
        greet(&mut meeting);
        meeting.welcomed(Dial(1), FIRST);
        assert_eq!(refusal(meeting.accept(&caller(FIRST, 4))), Refusal::Crossed);
        let after = Caller { welcomed: Dial(1), knows: Some(Incarnation(0)), ..caller(FIRST, 5) };
        let given_up = Some(Connection::Ours(Dial(1)));
        assert_eq!(meeting.accept(&after), Answer::Welcome { connection: theirs(5), given_up });
    }
}

#[test]
fn meet_3_a_new_life_of_the_peer_displaces_the_connection_to_its_old_one() {
    let (mut low, _) = pair();
    greet(&mut low);
    low.welcomed(Dial(1), FIRST);
    assert!(matches!(low.accept(&caller(SECOND, 1)), Answer::Welcome { given_up: Some(_), .. }));
}

#[test]
fn meet_4_of_two_that_cross_the_lower_ones_dial_goes_first() {
    let (mut low, mut high) = pair();
    let (of_low, of_high) = (from(FIRST, greet(&mut low)), from(FIRST, greet(&mut high)));
    assert_eq!(refusal(low.accept(&of_high)), Refusal::Crossed);
    let given_up = Some(Connection::Ours(Dial(1)));
    assert_eq!(high.accept(&of_low), Answer::Welcome { connection: theirs(1), given_up });
    assert!(!high.failed(Dial(1)));
    assert_eq!(low.welcomed(Dial(1), FIRST), Outcome::Together(Connection::Ours(Dial(1))));
}

#[test]
fn meet_4_a_dial_that_nobody_knows_of_is_given_up_by_both() {
    for mut meeting in [pair().0, pair().1] {
        let dial = meeting.dial().unwrap();
        assert!(matches!(meeting.accept(&caller(FIRST, 1)), Answer::Welcome { given_up: Some(_), .. }));
        assert_eq!(meeting.connected(dial), None);
    }
}

#[test]
fn meet_5_the_peer_that_lost_what_we_still_hold_is_welcome() {
    let (mut low, mut high) = pair();
    let hello = from(FIRST, greet(&mut low));
    high.accept(&hello);
    high.lost(theirs(1));
    // Its Welcome is still on the way, and never arrives.
    let hello = from(FIRST, greet(&mut high));
    assert_eq!(hello.welcomed, Dial(1));
    assert!(matches!(low.accept(&hello), Answer::Welcome { given_up: Some(_), .. }));
}
