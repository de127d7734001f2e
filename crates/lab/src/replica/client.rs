//! One client: it opens a session, attaches it to a node, and has at most one pending operation,
//! which it repeats until it is answered or the session has ended.

use super::machine::{CommandOf, Operation, TestedMachine};
use super::ticket::{OPERATOR_CLIENT, RequestId};
use quorate_core::{Duration, NodeId};
use quorate_replica::sessions::{Answer, Command as SessionCommand, Outcome, Refusal, Renewal, Request, Seen};
use quorate_replica::{Command, Proposal, SessionId, Ticket};

/// The state of one client.
pub(super) struct Client<M: TestedMachine> {
    /// The number of the client in tickets. Numbers of clients follow that of the operator.
    number: u64,
    /// The node that receives the client's requests.
    pub(super) node: NodeId,
    session: Session,
    /// Number of sessions that the client has begun to open.
    session_count: u64,
    /// The number of the last attempt to open, attach, renew or close a session.
    session_attempts: u64,
    /// The number of the pending operation, or of the last one.
    operation_number: u64,
    pending: Option<PendingOperation<M>>,
    pub(super) knowledge: M::Knowledge,
}

/// The client's session.
enum Session {
    /// The client has asked for a session, and repeats that until it has one.
    /// The client asks for a session. `first_attempt` is the first request for it: a late answer to
    /// an earlier one is about a session that has ended.
    Opening {
        first_attempt: u64,
    },
    Open(OpenSession),
}

struct OpenSession {
    id: SessionId,
    /// The request by which the client attaches to its present node.
    attach_request: RequestId,
    is_attached: bool,
    /// The last renewal, until it is answered.
    renewal: Option<RequestId>,
    /// Number of requests in this session.
    request_count: u64,
    seen: Seen,
    /// The last request to close the session, if the client wants to close it.
    close_request: Option<RequestId>,
}

/// A pending operation, from the first request to the first answer to any of its attempts.
struct PendingOperation<M: TestedMachine> {
    operation: Operation<M>,
    attempt: u64,
    /// Whether the last attempt waits for an answer.
    is_waiting: bool,
}

/// A request to send to the client's node.
pub(super) struct Outgoing<M: TestedMachine> {
    pub(super) request: RequestId,
    pub(super) command: OutgoingCommand<M>,
}

/// A command that can be sent together with those of other clients, or one that cannot.
pub(super) enum OutgoingCommand<M: TestedMachine> {
    Proposal(Proposal<SessionCommand<M::Command>>),
    Single(CommandOf<M>),
}

/// What an answer means for the client.
pub(super) enum AfterAnswer {
    /// The session is open: attach it and begin an operation.
    SessionOpened,
    /// The session has ended: open another one. The pending operation may have been abandoned.
    SessionLost {
        is_abandoned: bool,
    },
    /// The operation has ended: begin the next one.
    OperationEnded,
    Nothing,
}

impl<M: TestedMachine> Client<M> {
    /// A client without a session. `index` counts the clients from 0.
    pub(super) fn new(index: usize, node: NodeId) -> Self {
        Self {
            number: index as u64 + OPERATOR_CLIENT + 1,
            node,
            session: Session::Opening { first_attempt: 1 },
            session_count: 0,
            session_attempts: 0,
            operation_number: 0,
            pending: None,
            knowledge: M::Knowledge::default(),
        }
    }

    /// Whether the client has a session that is attached to its node, or none.
    pub(super) fn is_settled(&self) -> bool {
        match &self.session {
            Session::Opening { .. } => true,
            Session::Open(open) => open.is_attached,
        }
    }

    pub(super) fn has_session(&self) -> bool {
        matches!(self.session, Session::Open(_))
    }

    pub(super) fn session_id(&self) -> Option<SessionId> {
        match &self.session {
            Session::Opening { .. } => None,
            Session::Open(open) => Some(open.id),
        }
    }

    fn next_session_request(&mut self) -> RequestId {
        self.session_attempts += 1;
        RequestId { client: self.number, number: SESSION_REQUESTS, attempt: self.session_attempts }
    }

    fn session_proposal(&mut self, command: SessionCommand<M::Command>) -> Outgoing<M> {
        let request = self.next_session_request();
        let proposal = Proposal { ticket: request.to_ticket(), command };
        Outgoing { request, command: OutgoingCommand::Proposal(proposal) }
    }

    /// Asks for a session. A repeated request has the same nonce until a session is open.
    pub(super) fn open(&mut self, ttl: Duration) -> Outgoing<M> {
        let nonce = self.session_count << 32 | self.number;
        self.session_proposal(SessionCommand::Open { nonce, ttl })
    }

    /// Attaches the session to the client's node.
    pub(super) fn attach(&mut self) -> Option<Outgoing<M>> {
        let request = self.next_session_request();
        let Session::Open(open) = &mut self.session else { return None };
        (open.attach_request, open.is_attached) = (request, false);
        let command = Command::Attach { ticket: request.to_ticket(), session: open.id };
        Some(Outgoing { request, command: OutgoingCommand::Single(command) })
    }

    /// Renews the session. Returns `None` if the last renewal was not answered, so that the client
    /// should turn to another node.
    pub(super) fn renew(&mut self) -> Option<Outgoing<M>> {
        let request = self.next_session_request();
        let Session::Open(open) = &mut self.session else { return None };
        if open.renewal.take().is_some() {
            return None;
        }
        open.renewal = Some(request);
        let command = SessionCommand::Renew(vec![Renewal { session: open.id, seen: open.seen }]);
        let proposal = Proposal { ticket: request.to_ticket(), command };
        Some(Outgoing { request, command: OutgoingCommand::Proposal(proposal) })
    }

    /// Closes the session.
    pub(super) fn close(&mut self) -> Option<Outgoing<M>> {
        let session = self.session_id()?;
        let outgoing = self.session_proposal(SessionCommand::Close { session });
        if let Session::Open(open) = &mut self.session {
            open.close_request = Some(outgoing.request);
        }
        Some(outgoing)
    }

    /// Closes the session at the client's present node too, if the client wants to close it.
    pub(super) fn repeat_close(&mut self) -> Option<Outgoing<M>> {
        let is_closing = matches!(&self.session, Session::Open(open) if open.close_request.is_some());
        if is_closing { self.close() } else { None }
    }

    pub(super) fn begin(&mut self, operation: Operation<M>) {
        self.operation_number += 1;
        if let Session::Open(open) = &mut self.session {
            open.request_count += u64::from(operation.is_change());
        }
        self.pending = Some(PendingOperation { operation, attempt: 0, is_waiting: false });
    }

    /// Makes the next attempt at the pending operation.
    pub(super) fn next_attempt(&mut self) -> Option<Outgoing<M>> {
        let pending = self.pending.as_mut()?;
        pending.attempt += 1;
        pending.is_waiting = true;
        let request = RequestId { client: self.number, number: self.operation_number, attempt: pending.attempt };
        let ticket = request.to_ticket();
        let command = match (&pending.operation, &self.session) {
            (Operation::Query(query), _) => OutgoingCommand::Single(Command::Query { ticket, query: query.clone() }),
            (Operation::Change(command), Session::Open(open)) => {
                let (number, seen, command) = (open.request_count, open.seen, command.clone());
                let command = SessionCommand::Request(Request { session: open.id, number, seen, command });
                OutgoingCommand::Proposal(Proposal { ticket, command })
            }
            (Operation::Change(_), Session::Opening { .. }) => return None,
        };
        Some(Outgoing { request, command })
    }

    /// Whether an attempt has failed and should be made again.
    pub(super) fn needs_retry(&self, request: RequestId) -> bool {
        match request.number {
            SESSION_REQUESTS => self.is_current_session_request(request),
            _ => self.pending_attempt(request).is_some_and(|pending| !pending.is_waiting),
        }
    }

    /// Ends an attempt without an answer, such as after a timeout. Returns whether it was still
    /// waiting.
    pub(super) fn end_attempt(&mut self, request: RequestId) -> bool {
        if request.number == SESSION_REQUESTS {
            return self.is_current_session_request(request);
        }
        let number = self.operation_number;
        let pending = self.pending.as_mut();
        let attempt = pending.filter(|pending| (number, pending.attempt) == (request.number, request.attempt));
        attempt.is_some_and(|pending| std::mem::take(&mut pending.is_waiting))
    }

    fn pending_attempt(&self, request: RequestId) -> Option<&PendingOperation<M>> {
        let pending = self.pending.as_ref();
        pending.filter(|pending| (self.operation_number, pending.attempt) == (request.number, request.attempt))
    }

    /// Whether the client still waits for a request to open, attach or close its session.
    fn is_current_session_request(&self, request: RequestId) -> bool {
        match &self.session {
            Session::Opening { .. } => request.attempt == self.session_attempts,
            Session::Open(open) => {
                let is_attaching = open.attach_request == request && !open.is_attached;
                is_attaching || open.close_request == Some(request)
            }
        }
    }

    /// Turns to another node. The session must be attached there.
    pub(super) fn move_to(&mut self, node: NodeId) {
        self.node = node;
        if let Session::Open(open) = &mut self.session {
            (open.is_attached, open.renewal) = (false, None);
        }
    }

    /// Records an answer to one of the client's commands.
    pub(super) fn record_answer(&mut self, request: RequestId, answer: &Answer<M::Answer>) -> AfterAnswer {
        match (answer, &mut self.session) {
            (Answer::Opened { session }, Session::Opening { first_attempt }) if request.attempt >= *first_attempt => {
                self.session_count += 1;
                self.session = Session::Open(OpenSession::new(*session, request));
                AfterAnswer::SessionOpened
            }
            (Answer::Renewed { ended }, Session::Open(open)) => {
                open.renewal.take_if(|renewal| *renewal == request);
                if ended.contains(&open.id) { self.lose_session() } else { AfterAnswer::Nothing }
            }
            (Answer::Closed, Session::Open(open)) if open.close_request.is_some() => self.lose_session(),
            (Answer::Refused(Refusal::NoSession), Session::Open(_)) if request.number == self.operation_number => {
                self.lose_session()
            }
            (Answer::Answered(answer), _) if request.number == self.operation_number => {
                let Some(pending) = self.pending.take() else { return AfterAnswer::Nothing };
                if let (Session::Open(open), true) = (&mut self.session, pending.operation.is_change()) {
                    open.seen.answers = open.request_count;
                }
                M::learn(&mut self.knowledge, &pending.operation, answer);
                AfterAnswer::OperationEnded
            }
            // A late answer to an earlier attempt or an earlier session.
            (
                Answer::Opened { .. }
                | Answer::Renewed { .. }
                | Answer::Closed
                | Answer::Refused(_)
                | Answer::Answered(_),
                _,
            ) => AfterAnswer::Nothing,
        }
    }

    /// Records that a node has attached the session. Returns whether it was the latest request to
    /// do so.
    pub(super) fn record_attached(&mut self, node: NodeId, ticket: Option<Ticket>) -> bool {
        let is_here = node == self.node;
        let Session::Open(open) = &mut self.session else { return false };
        let is_latest = ticket.is_none_or(|ticket| ticket == open.attach_request.to_ticket());
        open.is_attached |= is_here && is_latest && ticket.is_some();
        is_here && is_latest && open.is_attached
    }

    /// Records an outcome that the client's node reports.
    pub(super) fn record_outcome(&mut self, node: NodeId, outcome: &Outcome<M::Outcome>) -> AfterAnswer {
        let is_here = node == self.node;
        let Session::Open(open) = &mut self.session else { return AfterAnswer::Nothing };
        if !is_here || !open.is_attached {
            return AfterAnswer::Nothing;
        }
        match outcome {
            Outcome::Numbered { number, .. } => {
                open.seen.outcomes = open.seen.outcomes.max(*number);
                AfterAnswer::Nothing
            }
            Outcome::Ended(_) => self.lose_session(),
        }
    }

    /// The session has ended. A pending change is abandoned, because in another session it could be
    /// executed twice.
    pub(super) fn lose_session(&mut self) -> AfterAnswer {
        self.session = Session::Opening { first_attempt: self.session_attempts + 1 };
        let is_abandoned = self.pending.take_if(|pending| pending.operation.is_change()).is_some();
        AfterAnswer::SessionLost { is_abandoned }
    }

    pub(super) fn has_operation(&self) -> bool {
        self.pending.is_some()
    }
}

/// The operation number in the tickets of requests about the session itself. Operations have the
/// numbers from 1.
const SESSION_REQUESTS: u64 = 0;

impl OpenSession {
    fn new(id: SessionId, open_request: RequestId) -> Self {
        Self {
            id,
            attach_request: open_request,
            is_attached: false,
            renewal: None,
            request_count: 0,
            seen: Seen::default(),
            close_request: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AfterAnswer, Client};
    use quorate_core::{Duration, NodeId};
    use quorate_replica::SessionId;
    use quorate_replica::registers::Registers;
    use quorate_replica::sessions::Answer;

    #[test]
    fn a_late_answer_about_an_earlier_session_opens_none() {
        let mut client = Client::<Registers>::new(0, NodeId::from_index(0));
        let open = |client: &mut Client<Registers>| client.open(Duration::from_secs(1)).request;
        let opened = |client: &mut Client<Registers>, request, session| {
            let after = client.record_answer(request, &Answer::Opened { session: SessionId(session) });
            matches!(after, AfterAnswer::SessionOpened)
        };
        let [first, repeated] = [(); 2].map(|()| open(&mut client));
        assert!(opened(&mut client, first, 7));
        client.lose_session();
        let second = open(&mut client);
        assert!(!opened(&mut client, repeated, 7));
        assert!(opened(&mut client, second, 8));
    }
}
