//! Tests of sessions around a map of registers.

use super::session::{Admission, Session};
use super::{
    Answer, Command, EndReason, MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_OUTCOME_BYTES, MAX_OUTCOMES, MAX_SESSIONS, Outcome,
    Refusal, Renewal, Request, Seen, Sessions,
};
use crate::machine::{LogPosition, LogTime, Outbox, SessionId, StateMachine};
use crate::membership::{self, GroupMembership};
use crate::registers::{self, Change, Changed, Registers};
use bytes::Bytes;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use quorate_core::membership::LeaseTerms;
use quorate_core::{Duration, Group};

type Machine = Sessions<Registers>;

const TTL: Duration = Duration::from_secs(10);
const ONE: SessionId = SessionId(1);
const TWO: SessionId = SessionId(2);

/// A machine and everything that it has put out.
#[derive(Default)]
struct Fixture {
    machine: Machine,
    time: LogTime,
    outbox: Outbox<Outcome<Changed>>,
}

impl Fixture {
    /// A machine with the sessions 1 and 2.
    fn with_two_sessions() -> Self {
        let mut fixture = Self::default();
        for nonce in [71, 72] {
            fixture.apply(Command::Open { nonce, ttl: TTL });
        }
        fixture
    }

    fn apply(&mut self, command: Command<Change>) -> Answer<registers::Answer> {
        let at = LogPosition { index: 1, time: self.time };
        self.machine.advance(at, &mut self.outbox);
        self.machine.apply(at, None, &command, &mut self.outbox)
    }

    fn request(&mut self, session: SessionId, number: u64, command: Change) -> Answer<registers::Answer> {
        self.request_with(session, number, Seen::default(), command)
    }

    fn request_with(
        &mut self,
        session: SessionId,
        number: u64,
        seen: Seen,
        command: Change,
    ) -> Answer<registers::Answer> {
        self.apply(Command::Request(Request { session, number, seen, command }))
    }

    fn write(&mut self, session: SessionId, number: u64, value: u64) -> Answer<registers::Answer> {
        self.request(session, number, Change::Write { key: 0, value })
    }

    fn renew(&mut self, session: SessionId, seen: Seen) -> Answer<registers::Answer> {
        self.apply(Command::Renew(vec![Renewal { session, seen }]))
    }

    fn outcomes(&mut self) -> Vec<(SessionId, Outcome<Changed>)> {
        self.outbox.drain().collect()
    }
}

const WRITTEN: Answer<registers::Answer> = Answer::Answered(registers::Answer::Written);

#[test]
fn a_repeated_request_is_answered_and_not_executed_again() {
    let mut fixture = Fixture::with_two_sessions();
    for _ in 0..3 {
        assert_eq!(fixture.write(ONE, 1, 7), WRITTEN);
    }
    assert_eq!(fixture.machine.inner().applied_count(), 1);
    // Requests may arrive in any order.
    assert_eq!((fixture.write(ONE, 3, 8), fixture.write(ONE, 2, 9)), (WRITTEN, WRITTEN));
    let seen = Seen { answers: 3, outcomes: 0 };
    assert_eq!(fixture.request_with(ONE, 4, seen, Change::Write { key: 0, value: 5 }), WRITTEN);
    assert_eq!(fixture.write(ONE, 2, 6), Answer::Refused(Refusal::Acknowledged));
    assert_eq!(fixture.machine.inner().get(0), Some(5));
}

#[test]
fn a_session_opens_once_for_a_nonce_and_its_id_is_never_used_again() {
    let mut fixture = Fixture::default();
    let open = Command::Open { nonce: 7, ttl: TTL };
    assert_eq!(fixture.apply(open.clone()), Answer::Opened { session: ONE });
    assert_eq!(fixture.apply(open.clone()), Answer::Opened { session: ONE });
    assert_eq!(fixture.apply(Command::Close { session: ONE }), Answer::Closed);
    assert_eq!(fixture.apply(open), Answer::Opened { session: TWO });
    assert_eq!(fixture.write(ONE, 1, 7), Answer::Refused(Refusal::NoSession));
    for ttl in [Duration::from_millis(499), Duration::from_secs(86_401)] {
        assert_eq!(fixture.apply(Command::Open { nonce: 8, ttl }), Answer::Refused(Refusal::InvalidTtl));
    }
}

#[test]
fn a_full_window_refuses_requests_until_answers_are_acknowledged() {
    let mut fixture = Fixture::with_two_sessions();
    for number in 1..=MAX_ANSWERS {
        assert_eq!(fixture.write(ONE, number, number), WRITTEN);
    }
    let next = MAX_ANSWERS + 1;
    assert_eq!(fixture.write(ONE, next, 7), Answer::Refused(Refusal::WindowFull));
    assert_eq!(fixture.renew(ONE, Seen { answers: 1, outcomes: 0 }), Answer::Renewed { ended: vec![] });
    assert_eq!(fixture.write(ONE, next, 7), WRITTEN);
    // A client cannot acknowledge what was never answered, so the window still ends.
    fixture.renew(ONE, Seen { answers: u64::MAX, outcomes: 0 });
    assert_eq!(fixture.write(ONE, next + MAX_ANSWERS + 1, 7), Answer::Refused(Refusal::WindowFull));
}

#[test]
fn an_outcome_is_kept_until_it_is_acknowledged() {
    let mut fixture = Fixture::with_two_sessions();
    let waits = fixture.request(ONE, 1, Change::Await { key: 0 });
    assert_eq!(waits, Answer::Answered(registers::Answer::Waiting));
    fixture.write(TWO, 1, 7);
    let outcome = Outcome::Numbered { number: 1, outcome: Changed { key: 0, value: 7 } };
    assert_eq!(fixture.outcomes(), [(ONE, outcome.clone())]);
    assert_eq!(fixture.machine.unacknowledged_outcomes(ONE), Some(vec![outcome]));
    fixture.renew(ONE, Seen { answers: 0, outcomes: 1 });
    assert_eq!(fixture.machine.unacknowledged_outcomes(ONE), Some(vec![]));
    assert_eq!(fixture.machine.unacknowledged_outcomes(SessionId(3)), None);
}

#[test]
fn a_session_that_is_not_renewed_ends_with_all_that_belongs_to_it() {
    let mut fixture = Fixture::with_two_sessions();
    fixture.request(ONE, 1, Change::Await { key: 0 });
    fixture.time = LogTime::ZERO.after(Duration::from_secs(9));
    fixture.renew(TWO, Seen::default());
    assert_eq!(fixture.machine.next_deadline(), Some(LogTime::ZERO.after(TTL)));
    fixture.time = LogTime::ZERO.after(TTL);
    let missing = fixture.renew(ONE, Seen::default());
    assert_eq!(missing, Answer::Renewed { ended: vec![ONE] });
    assert_eq!(fixture.outcomes(), [(ONE, Outcome::Ended(EndReason::Expired))]);
    fixture.write(TWO, 1, 7);
    assert_eq!(fixture.outcomes(), [], "a session that has ended waits for nothing");
    assert_eq!(fixture.machine.session_count(), 1);
}

#[test]
fn the_machine_inside_forgets_a_session_that_has_ended() {
    // Neither request changes a register, and only the first one would wait for a change.
    let requests = [Change::Await { key: 0 }, Change::CompareAndSet { key: 0, expect: Some(9), value: 1 }];
    let [waited, compared] = requests.map(|request| {
        let mut fixture = Fixture::with_two_sessions();
        fixture.request(ONE, 1, request);
        fixture.apply(Command::Close { session: ONE });
        fixture.machine.inner().clone()
    });
    assert_eq!(waited, compared);
}

/// The machine inside is a group whose members have leases.
#[test]
fn log_time_and_deadlines_reach_the_machine_inside() {
    let mut machine = Sessions::<GroupMembership>::default();
    let terms = LeaseTerms::default();
    let found = membership::Change::Found { members: Group::of_size(3), terms };
    let at = |time| LogPosition { index: 1, time };
    machine.apply(at(LogTime::ZERO), None, &Command::Direct(found), &mut Outbox::default());
    let leases_end = LogTime::ZERO.after(terms.lease);
    assert_eq!(machine.next_deadline(), Some(leases_end));
    machine.advance(at(leases_end), &mut Outbox::default());
    assert_eq!(machine.next_deadline(), None, "all leases have expired");
}

#[test]
fn a_session_executes_no_request_while_it_keeps_too_many_bytes_of_answers() {
    let mut session = Session::<Vec<u8>, ()>::new(71, TTL, LogTime::ZERO);
    session.record_answer(1, vec![0; MAX_ANSWER_BYTES]);
    assert!(matches!(session.admit(2), Admission::Refuse(Refusal::WindowFull)));
    session.acknowledge(Seen { answers: 1, outcomes: 0 });
    assert!(matches!(session.admit(2), Admission::Execute));
}

#[test]
fn a_session_that_keeps_too_many_bytes_of_outcomes_must_end() {
    let mut session = Session::<(), Vec<u8>>::new(71, TTL, LogTime::ZERO);
    for has_too_many in [false, true] {
        session.record_outcome(vec![0; MAX_OUTCOME_BYTES * 2 / 3]);
        assert_eq!(session.has_too_many_outcomes(), has_too_many);
    }
}

#[test]
#[ignore = "long: ./check long"]
fn a_full_table_opens_no_session() {
    let mut fixture = Fixture::default();
    for nonce in 0..MAX_SESSIONS as u64 {
        fixture.machine.insert(SessionId(nonce + 1), Session::new(nonce, TTL, LogTime::ZERO));
    }
    let refused = fixture.apply(Command::Open { nonce: u64::MAX, ttl: TTL });
    assert_eq!(refused, Answer::Refused(Refusal::TooManySessions));
}

#[test]
fn a_session_that_acknowledges_no_outcomes_ends() {
    let mut fixture = Fixture::with_two_sessions();
    for number in 1..=MAX_OUTCOMES as u64 + 1 {
        let seen = Seen { answers: number - 1, outcomes: 0 };
        fixture.request_with(ONE, number, seen, Change::Await { key: 0 });
        fixture.request_with(TWO, number, seen, Change::Write { key: 0, value: number });
    }
    assert_eq!(fixture.outcomes().last(), Some(&(ONE, Outcome::Ended(EndReason::Unacknowledged))));
    assert_eq!(fixture.machine.session_count(), 1);
}

#[test]
fn a_command_without_a_session_is_executed_each_time() {
    let mut fixture = Fixture::default();
    for _ in 0..2 {
        fixture.apply(Command::Direct(Change::Write { key: 0, value: 1 }));
    }
    assert_eq!(fixture.machine.inner().applied_count(), 2);
    let waits = fixture.apply(Command::Direct(Change::Await { key: 0 }));
    assert_eq!(waits, Answer::Answered(registers::Answer::NoSession));
}

#[test]
fn damaged_images_are_refused() {
    let pieces: Vec<Bytes> = Fixture::with_two_sessions().machine.freeze().into_iter().collect();
    assert_eq!(pieces.len(), 3, "the header, the sessions and the machine inside");
    for missing in 0..pieces.len() {
        let rest = pieces.iter().enumerate().filter(|(index, _)| *index != missing).map(|(_, piece)| piece.clone());
        assert!(Machine::thaw(rest).is_err(), "piece {missing} is missing");
    }
    let mut newer = pieces[0].to_vec();
    // The first byte is the format version.
    newer[0] = 200;
    assert!(Machine::thaw([Bytes::from(newer)].into_iter()).is_err());
}

/// A command of a few sessions on two registers, and the time that passes before it.
fn any_command() -> impl Strategy<Value = (u64, Command<Change>)> {
    let session = (1..5_u64).prop_map(SessionId);
    let seen = (0..8_u64, 0..8_u64).prop_map(|(answers, outcomes)| Seen { answers, outcomes });
    let change = (0..2_u64, 0..9_u64, 0..4).prop_map(|(key, value, kind)| match kind {
        0 => Change::Write { key, value },
        1 => Change::Await { key },
        2 => Change::Swap { key, value },
        _ => Change::CompareAndSet { key, expect: Some(value), value: value + 1 },
    });
    let request = (session.clone(), 1..9_u64, seen.clone(), change);
    let command = prop_oneof![
        (0..4_u64).prop_map(|nonce| Command::Open { nonce, ttl: TTL }),
        (session.clone(), seen).prop_map(|(session, seen)| Command::Renew(vec![Renewal { session, seen }])),
        session.prop_map(|session| Command::Close { session }),
        request.prop_map(|(session, number, seen, command)| Command::Request(Request {
            session,
            number,
            seen,
            command
        })),
    ];
    (prop_oneof![4 => Just(0), 1 => any::<u8>().prop_map(u64::from)], command)
}

proptest! {
    /// A state that was restored at any point equals the original, answers and puts out the same
    /// afterwards, and has the same fingerprint although it was computed anew.
    #[test]
    fn a_restored_state_goes_on_like_the_original(
        before in prop::collection::vec(any_command(), 0..60),
        after in prop::collection::vec(any_command(), 0..30),
    ) {
        let mut original = Fixture::default();
        let run = |fixture: &mut Fixture, commands: &[(u64, Command<Change>)]| {
            let answer = |(tenths, command): &(u64, Command<Change>)| {
                fixture.time = fixture.time.after(Duration::from_millis(100 * tenths));
                fixture.apply(command.clone())
            };
            commands.iter().map(answer).collect::<Vec<_>>()
        };
        run(&mut original, &before);
        let machine = Machine::thaw(original.machine.freeze().into_iter()).unwrap();
        let mut restored = Fixture { machine, time: original.time, outbox: original.outbox.clone() };
        assert_eq!(restored.machine.fingerprint(), original.machine.fingerprint());
        assert_eq!(run(&mut restored, &after), run(&mut original, &after));
        assert_eq!(restored.outcomes(), original.outcomes());
        assert_eq!(restored.machine.fingerprint(), original.machine.fingerprint());
        assert!(restored.machine == original.machine);
    }

    /// However requests are repeated and reordered, each one is executed at most once.
    #[test]
    fn requests_are_executed_once(numbers in prop::collection::vec(1..20_u64, 0..80)) {
        let mut fixture = Fixture::with_two_sessions();
        for number in &numbers {
            assert_eq!(fixture.request(ONE, *number, Change::Swap { key: *number, value: *number }),
                Answer::Answered(registers::Answer::Value(None)));
        }
        let distinct: std::collections::BTreeSet<_> = numbers.iter().collect();
        assert_eq!(fixture.machine.inner().applied_count(), distinct.len() as u64);
    }
}
