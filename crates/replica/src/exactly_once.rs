//! Exactly-once execution of requests: clients number their requests, and the last answer of each
//! client is kept.

use crate::machine::{LogPosition, StateMachine};
use crate::version::{Format, FormatError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const EXACTLY_ONCE: Format = Format { name: "table of clients", version: 1 };

/// A state machine that executes each request once, however often a client sends it.
///
/// The outcome of a proposal can be unknown when the leadership moves. The client then sends it
/// again with the same number, and the first copy in the log counts. A client has one pending
/// request at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactlyOnce<S: StateMachine> {
    machine: S,
    /// For each client, the number of its last request and the answer.
    last_answers: BTreeMap<u64, (u64, S::Answer)>,
    /// Number of applied requests, including repeated ones, so that a comparison of replicas shows
    /// an entry that one of them applied twice.
    request_count: u64,
}

// Not derived, because a derive would require `Default` of the answers.
impl<S: StateMachine> Default for ExactlyOnce<S> {
    fn default() -> Self {
        Self { machine: S::default(), last_answers: BTreeMap::new(), request_count: 0 }
    }
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request<C> {
    pub client: u64,
    /// The number of the client's request. Numbers only grow.
    pub number: u64,
    pub command: C,
}

impl<S: StateMachine> ExactlyOnce<S> {
    /// The state machine inside.
    pub fn inner(&self) -> &S {
        &self.machine
    }
}

impl<S: StateMachine> StateMachine for ExactlyOnce<S> {
    type Command = Request<S::Command>;
    type Query = S::Query;
    type Answer = Option<S::Answer>;

    /// Returns `None` for a request older than the client's last one, without executing it.
    fn apply(&mut self, at: LogPosition, request: &Self::Command) -> Self::Answer {
        self.request_count += 1;
        match self.last_answers.get(&request.client) {
            Some((number, answer)) if *number == request.number => return Some(answer.clone()),
            Some((number, _)) if *number > request.number => return None,
            Some(_) | None => {}
        }
        let answer = self.machine.apply(at, &request.command);
        self.last_answers.insert(request.client, (request.number, answer.clone()));
        Some(answer)
    }

    fn query(&self, at: LogPosition, query: &S::Query) -> Self::Answer {
        Some(self.machine.query(at, query))
    }

    fn describe_command(request: &Self::Command) -> String {
        S::describe_command(&request.command)
    }

    fn describe_query(query: &Self::Query) -> String {
        S::describe_query(query)
    }

    fn describe_answer(answer: &Self::Answer) -> String {
        answer
            .as_ref()
            .map_or_else(|| "no answer: the request is older than the client's last one".into(), S::describe_answer)
    }

    fn snapshot(&self) -> Vec<u8> {
        EXACTLY_ONCE.write(&(self.machine.snapshot(), &self.last_answers, self.request_count))
    }

    fn restore(bytes: &[u8]) -> Result<Self, FormatError> {
        let (machine, last_answers, request_count): (Vec<u8>, _, _) = EXACTLY_ONCE.read(bytes)?;
        Ok(Self { machine: S::restore(&machine)?, last_answers, request_count })
    }
}

#[cfg(test)]
mod tests {
    use super::{ExactlyOnce, Request};
    use crate::machine::{LogPosition, StateMachine};
    use crate::registers::{Answer, Change, Registers};

    fn request(number: u64, value: u64) -> Request<Change> {
        Request { client: 1, number, command: Change::Write { key: 0, value } }
    }

    #[test]
    fn a_repeated_request_is_answered_and_not_executed_again() {
        let mut machine = ExactlyOnce::<Registers>::default();
        assert_eq!(machine.apply(LogPosition::default(), &request(1, 7)), Some(Answer::Written));
        assert_eq!(machine.apply(LogPosition::default(), &request(1, 7)), Some(Answer::Written));
        assert_eq!(machine.inner().applied_count(), 1);
        assert_eq!(machine.apply(LogPosition::default(), &request(2, 8)), Some(Answer::Written));
        assert_eq!(machine.apply(LogPosition::default(), &request(1, 7)), None);
        assert_eq!(machine.inner().get(0), Some(8));
        let restored = ExactlyOnce::<Registers>::restore(&machine.snapshot());
        assert_eq!(restored, Ok(machine));
    }

    #[test]
    fn a_newer_snapshot_is_refused() {
        let mut bytes = ExactlyOnce::<Registers>::default().snapshot();
        // The first byte is the format version.
        bytes[0] = 200;
        assert!(ExactlyOnce::<Registers>::restore(&bytes).is_err());
    }
}
