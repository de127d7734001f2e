//! One session: its lifetime, the window of its requests, and its outcomes.

use super::command::{Refusal, Seen};
use super::kept::Kept;
use super::{MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_OUTCOME_BYTES, MAX_OUTCOMES};
use crate::fingerprint::fingerprint;
use crate::machine::{LogTime, SessionId};
use quorate_core::Duration;
use serde::{Deserialize, Serialize};

/// A session. `A` is the type of answers, `O` that of outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "A: Clone + Serialize, O: Clone + Serialize",
    deserialize = "A: Serialize + Deserialize<'de>, O: Serialize + Deserialize<'de>"
))]
pub(super) struct Session<A, O> {
    /// The number by which the client opened the session.
    pub(super) nonce: u64,
    pub(super) ttl: Duration,
    pub(super) expires_at: LogTime,
    /// The client has the answers to all requests up to this number.
    acknowledged: u64,
    /// The answers that the client may ask for again, by the number of their request.
    answers: Kept<A>,
    /// Number of outcomes so far.
    outcome_count: u64,
    /// The outcomes that the client has not acknowledged.
    outcomes: Kept<O>,
}

/// What becomes of a request that arrives.
pub(super) enum Admission<A> {
    Execute,
    /// An earlier copy of it was executed, with this answer.
    Repeat(A),
    Refuse(Refusal),
}

impl<A: Clone + Serialize, O: Serialize> Session<A, O> {
    pub(super) fn new(nonce: u64, ttl: Duration, now: LogTime) -> Self {
        Self {
            nonce,
            ttl,
            expires_at: now.after(ttl),
            acknowledged: 0,
            answers: Kept::default(),
            outcome_count: 0,
            outcomes: Kept::default(),
        }
    }

    /// Frees the answers and outcomes that the client has seen. It cannot have seen an answer that
    /// was never given.
    pub(super) fn acknowledge(&mut self, seen: Seen) {
        let given = self.answers.last_number().unwrap_or_default();
        self.acknowledged = seen.answers.min(given).max(self.acknowledged);
        self.answers.remove_up_to(self.acknowledged);
        self.outcomes.remove_up_to(seen.outcomes);
    }

    /// Decides whether the request with this number is executed.
    pub(super) fn admit(&self, number: u64) -> Admission<A> {
        let is_full =
            number > self.acknowledged.saturating_add(MAX_ANSWERS) || self.answers.bytes() >= MAX_ANSWER_BYTES;
        match self.answers.get(number) {
            _ if number <= self.acknowledged => Admission::Refuse(Refusal::Acknowledged),
            Some(answer) => Admission::Repeat(answer.clone()),
            None if is_full => Admission::Refuse(Refusal::WindowFull),
            None => Admission::Execute,
        }
    }

    pub(super) fn record_answer(&mut self, number: u64, answer: A) {
        self.answers.insert(number, answer);
    }

    /// Keeps an outcome, and returns its number.
    pub(super) fn record_outcome(&mut self, outcome: O) -> u64 {
        self.outcome_count += 1;
        self.outcomes.insert(self.outcome_count, outcome);
        self.outcome_count
    }

    /// The outcomes that the client has not acknowledged, with their numbers.
    pub(super) fn unacknowledged_outcomes(&self) -> impl Iterator<Item = (u64, &O)> {
        self.outcomes.iter()
    }

    /// Whether the client leaves so many outcomes unacknowledged that the session must end.
    pub(super) fn has_too_many_outcomes(&self) -> bool {
        self.outcomes.len() > MAX_OUTCOMES || self.outcomes.bytes() > MAX_OUTCOME_BYTES
    }

    pub(super) fn fingerprint(&self, id: SessionId) -> u64 {
        let lifetime = (self.nonce, self.ttl, self.expires_at);
        let requests = (self.acknowledged, self.answers.fingerprint());
        fingerprint(&(id, lifetime, requests, self.outcome_count, self.outcomes.fingerprint()))
    }
}
