//! Sessions for any state machine: requests that are executed once, and outcomes that reach their
//! session wherever its client is attached.
//!
//! A client opens a session and numbers its requests. If the answer to a request does not arrive,
//! the client sends the request again, to any replica, and an executed request is not executed a
//! second time: the session keeps the answers until the client acknowledges them. In the same way
//! it keeps the outcomes that the state machine addresses to it. A session that is not renewed for
//! its time to live, in log time, ends, and everything that belongs to it is freed at that entry.

mod command;
mod kept;
mod session;
#[cfg(test)]
mod tests;

pub use command::{Answer, Command, EndReason, Outcome, Refusal, Renewal, Request, Seen};

use crate::fingerprint::{FingerprintSum, fingerprint};
use crate::machine::{LogPosition, LogTime, Outbox, SessionId, StateMachine};
use crate::version::{Format, FormatError};
use bytes::Bytes;
use quorate_core::Duration;
use session::{Admission, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Chain;

const SESSIONS: Format = Format { name: "table of sessions", version: 1 };

/// Minimum time to live of a session.
pub const MIN_TTL: Duration = Duration::from_millis(500);
/// Maximum time to live of a session.
pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of sessions.
pub const MAX_SESSIONS: usize = 1_000_000;
/// Maximum number of requests of a session whose answers the client has not acknowledged.
pub const MAX_ANSWERS: u64 = 64;
/// A session whose unacknowledged answers have this length executes no further requests.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Maximum number of unacknowledged outcomes of a session. A session with more of them ends.
pub const MAX_OUTCOMES: usize = 1_024;
/// Maximum length of the unacknowledged outcomes of a session. A session with more of them ends.
pub const MAX_OUTCOME_BYTES: usize = 1 << 20;

/// Number of sessions in one piece of an image.
const SESSIONS_PER_PIECE: usize = 1_000;

/// A state machine whose clients have sessions.
#[derive(Clone, Debug)]
pub struct Sessions<S: StateMachine> {
    machine: S,
    sessions: BTreeMap<SessionId, SessionOf<S>>,
    /// The log time at which each session ends, unless it is renewed.
    expiries: BTreeSet<(LogTime, SessionId)>,
    /// The session of each nonce.
    nonces: BTreeMap<u64, SessionId>,
    /// The id of the last session.
    last_session: SessionId,
    /// Number of applied commands, including repeated ones, so that a comparison of replicas shows
    /// an entry that one of them applied twice.
    command_count: u64,
    /// The fingerprints of the sessions.
    fingerprints: FingerprintSum,
    /// Outcomes of the machine inside, empty between calls.
    inner_outbox: Outbox<S::Outcome>,
}

/// The frozen state of a machine with sessions: the sessions, then the machine inside.
#[derive(Clone, Debug)]
pub struct SessionsImage<I> {
    sessions: Vec<Bytes>,
    machine: I,
}

impl<I: IntoIterator<Item = Bytes>> IntoIterator for SessionsImage<I> {
    type Item = Bytes;
    type IntoIter = Chain<std::vec::IntoIter<Bytes>, I::IntoIter>;

    fn into_iter(self) -> Self::IntoIter {
        self.sessions.into_iter().chain(self.machine)
    }
}

type SessionOf<S> = Session<<S as StateMachine>::Answer, <S as StateMachine>::Outcome>;
type OutboxOf<S> = Outbox<Outcome<<S as StateMachine>::Outcome>>;

// Not derived, because a derive would require `Default` of the answers.
impl<S: StateMachine> Default for Sessions<S> {
    fn default() -> Self {
        Self::with_machine(S::default())
    }
}

impl<S: StateMachine + PartialEq> PartialEq for Sessions<S> {
    fn eq(&self, other: &Self) -> bool {
        // The other fields follow from these.
        self.machine == other.machine
            && self.sessions == other.sessions
            && (self.last_session, self.command_count) == (other.last_session, other.command_count)
    }
}

impl<S: StateMachine> Sessions<S> {
    fn with_machine(machine: S) -> Self {
        Self {
            machine,
            sessions: BTreeMap::new(),
            expiries: BTreeSet::new(),
            nonces: BTreeMap::new(),
            last_session: SessionId(0),
            command_count: 0,
            fingerprints: FingerprintSum::default(),
            inner_outbox: Outbox::default(),
        }
    }

    /// The state machine inside.
    pub fn inner(&self) -> &S {
        &self.machine
    }

    /// Number of open sessions.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    fn insert(&mut self, id: SessionId, session: SessionOf<S>) {
        self.fingerprints.add(session.fingerprint(id));
        self.expiries.insert((session.expires_at, id));
        self.nonces.insert(session.nonce, id);
        self.sessions.insert(id, session);
    }

    /// Changes a session. Returns `None` if there is none with this id.
    fn update<T>(&mut self, id: SessionId, change: impl FnOnce(&mut SessionOf<S>) -> T) -> Option<T> {
        let session = self.sessions.get_mut(&id)?;
        self.fingerprints.remove(session.fingerprint(id));
        let changed = change(session);
        self.fingerprints.add(session.fingerprint(id));
        Some(changed)
    }

    fn open(&mut self, now: LogTime, nonce: u64, ttl: Duration) -> Answer<S::Answer> {
        if let Some(session) = self.nonces.get(&nonce) {
            return Answer::Opened { session: *session };
        }
        if !(MIN_TTL..=MAX_TTL).contains(&ttl) {
            return Answer::Refused(Refusal::InvalidTtl);
        }
        if self.sessions.len() >= MAX_SESSIONS {
            return Answer::Refused(Refusal::TooManySessions);
        }
        self.last_session.0 += 1;
        self.insert(self.last_session, Session::new(nonce, ttl, now));
        Answer::Opened { session: self.last_session }
    }

    /// Renews sessions, and returns those that do not exist.
    fn renew(&mut self, now: LogTime, renewals: &[Renewal]) -> Answer<S::Answer> {
        let mut ended = Vec::new();
        for Renewal { session: id, seen } in renewals {
            let renewed = self.update(*id, |session| {
                session.acknowledge(*seen);
                let expired_at = session.expires_at;
                session.expires_at = now.after(session.ttl);
                (expired_at, session.expires_at)
            });
            match renewed {
                Some((before, after)) => {
                    self.expiries.remove(&(before, *id));
                    self.expiries.insert((after, *id));
                }
                None => ended.push(*id),
            }
        }
        Answer::Renewed { ended }
    }

    /// Executes a request, unless an earlier copy of it was executed.
    fn execute(&mut self, at: LogPosition, request: &Request<S::Command>, out: &mut OutboxOf<S>) -> Answer<S::Answer> {
        let Request { session: id, number, seen, command } = request;
        let admission = self.update(*id, |session| {
            session.acknowledge(*seen);
            session.admit(*number)
        });
        match admission {
            None => Answer::Refused(Refusal::NoSession),
            Some(Admission::Refuse(refusal)) => Answer::Refused(refusal),
            Some(Admission::Repeat(answer)) => Answer::Answered(answer),
            Some(Admission::Execute) => {
                let answer = self.machine.apply(at, Some(*id), command, &mut self.inner_outbox);
                self.update(*id, |session| session.record_answer(*number, answer.clone()));
                self.deliver_outcomes(at, out);
                Answer::Answered(answer)
            }
        }
    }

    /// Ends a session, if it exists, and frees everything that belongs to it.
    fn end(&mut self, at: LogPosition, id: SessionId, reason: EndReason, out: &mut OutboxOf<S>) {
        let Some(session) = self.sessions.remove(&id) else { return };
        self.fingerprints.remove(session.fingerprint(id));
        self.expiries.remove(&(session.expires_at, id));
        self.nonces.remove(&session.nonce);
        out.put(id, Outcome::Ended(reason));
        self.machine.end_session(at, id, &mut self.inner_outbox);
        self.deliver_outcomes(at, out);
    }

    /// Numbers the outcomes of the machine inside and keeps them with their sessions. A session
    /// that has too many ends, which may cause further outcomes.
    fn deliver_outcomes(&mut self, at: LogPosition, out: &mut OutboxOf<S>) {
        let mut outcomes = std::mem::take(&mut self.inner_outbox);
        let mut overloaded = BTreeSet::new();
        for (id, outcome) in outcomes.drain() {
            let recorded = self.update(id, |session| {
                let number = session.record_outcome(outcome.clone());
                (number, session.has_too_many_outcomes())
            });
            // The machine may still address a session that has just ended.
            let Some((number, has_too_many)) = recorded else { continue };
            out.put(id, Outcome::Numbered { number, outcome });
            if has_too_many {
                overloaded.insert(id);
            }
        }
        self.inner_outbox = outcomes;
        for id in overloaded {
            self.end(at, id, EndReason::Unacknowledged, out);
        }
    }
}

impl<S: StateMachine> StateMachine for Sessions<S> {
    type Command = Command<S::Command>;
    type Query = S::Query;
    type Answer = Answer<S::Answer>;
    type Outcome = Outcome<S::Outcome>;
    type Image = SessionsImage<S::Image>;

    const LEVEL: u32 = S::LEVEL;

    fn advance(&mut self, at: LogPosition, out: &mut Outbox<Self::Outcome>) {
        while let Some((expires_at, session)) = self.expiries.first().copied()
            && expires_at <= at.time
        {
            self.end(at, session, EndReason::Expired, out);
        }
        self.machine.advance(at, &mut self.inner_outbox);
        self.deliver_outcomes(at, out);
    }

    fn apply(
        &mut self,
        at: LogPosition,
        _from: Option<SessionId>,
        command: &Self::Command,
        out: &mut Outbox<Self::Outcome>,
    ) -> Self::Answer {
        self.command_count += 1;
        match command {
            Command::Open { nonce, ttl } => self.open(at.time, *nonce, *ttl),
            Command::Renew(renewals) => self.renew(at.time, renewals),
            Command::Close { session } => {
                self.end(at, *session, EndReason::Closed, out);
                Answer::Closed
            }
            Command::Request(request) => self.execute(at, request, out),
            Command::Direct(command) => {
                let answer = self.machine.apply(at, None, command, &mut self.inner_outbox);
                self.deliver_outcomes(at, out);
                Answer::Answered(answer)
            }
        }
    }

    fn query(&self, at: LogPosition, query: &S::Query) -> Self::Answer {
        Answer::Answered(self.machine.query(at, query))
    }

    fn next_deadline(&self) -> Option<LogTime> {
        let expiry = self.expiries.first().map(|(expires_at, _)| *expires_at);
        expiry.into_iter().chain(self.machine.next_deadline()).min()
    }

    fn is_repeatable(command: &Self::Command) -> bool {
        match command {
            Command::Open { .. } | Command::Renew(_) | Command::Close { .. } | Command::Request(_) => true,
            Command::Direct(command) => S::is_repeatable(command),
        }
    }

    fn level_of(command: &Self::Command) -> u32 {
        match command {
            Command::Open { .. } | Command::Renew(_) | Command::Close { .. } => 1,
            Command::Request(Request { command, .. }) | Command::Direct(command) => S::level_of(command),
        }
    }

    fn unacknowledged_outcomes(&self, session: SessionId) -> Option<Vec<Self::Outcome>> {
        let outcomes = self.sessions.get(&session)?.unacknowledged_outcomes();
        Some(outcomes.map(|(number, outcome)| Outcome::Numbered { number, outcome: outcome.clone() }).collect())
    }

    fn has_session(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    fn describe_command(command: &Self::Command) -> String {
        match command {
            Command::Open { ttl, .. } => format!("open a session for {ttl}"),
            Command::Renew(renewals) => {
                let ids: Vec<_> = renewals.iter().map(|renewal| renewal.session.0.to_string()).collect();
                format!("renew session {}", ids.join(", "))
            }
            Command::Close { session } => format!("close {session}"),
            Command::Request(Request { command, .. }) | Command::Direct(command) => S::describe_command(command),
        }
    }

    fn describe_query(query: &Self::Query) -> String {
        S::describe_query(query)
    }

    fn describe_answer(answer: &Self::Answer) -> String {
        match answer {
            Answer::Opened { session } => format!("{session} is open"),
            Answer::Renewed { ended } if ended.is_empty() => "renewed".into(),
            Answer::Renewed { ended } => format!("renewed, but {} of them had ended", ended.len()),
            Answer::Closed => "closed".into(),
            Answer::Answered(answer) => S::describe_answer(answer),
            Answer::Refused(refusal) => format!("refused: {refusal}"),
        }
    }

    fn describe_outcome(outcome: &Self::Outcome) -> String {
        match outcome {
            Outcome::Numbered { number, outcome } => format!("outcome {number}: {}", S::describe_outcome(outcome)),
            Outcome::Ended(reason) => reason.to_string(),
        }
    }

    fn freeze(&self) -> Self::Image {
        let header = SESSIONS.write(&(self.last_session, self.command_count, self.sessions.len() as u64));
        let entries: Vec<_> = self.sessions.iter().collect();
        let pieces = entries.chunks(SESSIONS_PER_PIECE).map(|chunk| SESSIONS.write(&chunk));
        let sessions = std::iter::once(header).chain(pieces).map(Bytes::from).collect();
        SessionsImage { sessions, machine: self.machine.freeze() }
    }

    fn thaw(mut pieces: impl Iterator<Item = Bytes>) -> Result<Self, FormatError> {
        let mut next_piece = || pieces.next().ok_or_else(|| SESSIONS.malformed("a piece is missing"));
        let (last_session, command_count, session_count): (_, _, u64) = SESSIONS.read(&next_piece()?)?;
        let mut sessions: Vec<(SessionId, SessionOf<S>)> = Vec::new();
        while (sessions.len() as u64) < session_count {
            let chunk: Vec<_> = SESSIONS.read(&next_piece()?)?;
            if chunk.is_empty() {
                return Err(SESSIONS.malformed("a piece is empty"));
            }
            sessions.extend(chunk);
        }
        let are_ids_ordered =
            sessions.is_sorted_by_key(|(id, _)| *id) && sessions.last().is_none_or(|(id, _)| *id <= last_session);
        let mut restored = Self { last_session, command_count, ..Self::with_machine(S::thaw(pieces)?) };
        sessions.into_iter().for_each(|(id, session)| restored.insert(id, session));
        let are_unique =
            [restored.sessions.len(), restored.nonces.len()].iter().all(|len| *len as u64 == session_count);
        if are_ids_ordered && are_unique {
            Ok(restored)
        } else {
            Err(SESSIONS.malformed("its sessions are inconsistent"))
        }
    }

    fn fingerprint(&self) -> u64 {
        let counts = (self.last_session, self.command_count);
        fingerprint(&(self.machine.fingerprint(), self.fingerprints.total(), counts))
    }
}
