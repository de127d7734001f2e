//! One client: it has at most one pending operation, and repeats it until it is answered.

use super::register::Operation;
use super::ticket::{OPERATOR_CLIENT, RequestId};
use quorate_core::NodeId;
use quorate_replica::Refusal;
use quorate_replica::registers::{Answer, Change};
use std::collections::BTreeMap;

/// The state of one client.
pub(super) struct Client {
    /// The number of the pending operation, or of the last one.
    operation_number: u64,
    pending: Option<PendingOperation>,
    /// The last known value of each register.
    known_values: BTreeMap<u64, Option<u64>>,
    /// The node to ask first: the last known leader, or a random node if none was known yet.
    pub(super) preferred_node: NodeId,
}

/// A pending operation, from the first request to the first answer to any of its attempts.
struct PendingOperation {
    operation: Operation,
    attempt: u64,
    /// The node that was asked; `None` while the next attempt is scheduled.
    asked_node: Option<NodeId>,
}

/// The next step of a client after a refusal or an unknown outcome.
pub(super) enum AfterRefusal {
    /// Ask this node after a short delay.
    TryLeader(NodeId),
    /// Ask any node after a delay.
    TryAnyNode,
    /// Nothing: the attempt has ended already, or a later one has begun.
    Stale,
}

impl Client {
    pub(super) fn new(preferred_node: NodeId) -> Self {
        Self { operation_number: 0, pending: None, known_values: BTreeMap::new(), preferred_node }
    }

    pub(super) fn known_value(&self, key: u64) -> Option<u64> {
        self.known_values.get(&key).copied().flatten()
    }

    pub(super) fn begin(&mut self, operation: Operation) {
        self.operation_number += 1;
        self.pending = Some(PendingOperation { operation, attempt: 0, asked_node: None });
    }

    /// Starts the next attempt at the pending operation.
    pub(super) fn next_attempt(&mut self, client_index: usize, node: NodeId) -> Option<(RequestId, Operation)> {
        let pending = self.pending.as_mut()?;
        pending.attempt += 1;
        pending.asked_node = Some(node);
        // The numbers of clients follow that of the operator.
        let request = RequestId {
            client: client_index as u64 + OPERATOR_CLIENT + 1,
            number: self.operation_number,
            attempt: pending.attempt,
        };
        Some((request, pending.operation))
    }

    /// The pending operation, if `request` is its latest attempt.
    fn pending_attempt(&mut self, request: RequestId) -> Option<&mut PendingOperation> {
        let number = self.operation_number;
        self.pending.as_mut().filter(|pending| (number, pending.attempt) == (request.number, request.attempt))
    }

    /// Whether this attempt failed and the next one has not begun.
    pub(super) fn needs_retry(&mut self, request: RequestId) -> bool {
        self.pending_attempt(request).is_some_and(|pending| pending.asked_node.is_none())
    }

    /// Ends this attempt without an answer, such as after a timeout. Returns whether it was still
    /// waiting.
    pub(super) fn end_attempt(&mut self, request: RequestId) -> bool {
        self.pending_attempt(request).is_some_and(|pending| pending.asked_node.take().is_some())
    }

    /// Ends the attempt at a node that crashed. Returns the attempt, if there was one.
    pub(super) fn node_crashed(&mut self, client_index: usize, node: NodeId) -> Option<RequestId> {
        let pending = self.pending.as_mut()?;
        pending.asked_node.take_if(|asked_node| *asked_node == node)?;
        Some(RequestId {
            client: client_index as u64 + OPERATOR_CLIENT + 1,
            number: self.operation_number,
            attempt: pending.attempt,
        })
    }

    /// Records that an attempt was refused or, if `refusal` is `None`, that its outcome is unknown.
    pub(super) fn record_refusal(&mut self, request: RequestId, refusal: Option<Refusal>) -> AfterRefusal {
        if !self.end_attempt(request) {
            return AfterRefusal::Stale;
        }
        match refusal {
            Some(Refusal::NotLeader { leader: Some(leader) }) => {
                self.preferred_node = leader;
                AfterRefusal::TryLeader(leader)
            }
            Some(_) | None => AfterRefusal::TryAnyNode,
        }
    }

    /// Records an answer, which is `None` for a late copy of a request, older than the client's
    /// latest. Returns whether it is the first answer to the pending operation.
    pub(super) fn record_answer(&mut self, request: RequestId, node: NodeId, answer: Option<Answer>) -> bool {
        let Some(answer) = answer.filter(|_| request.number == self.operation_number) else { return false };
        let Some(pending) = self.pending.take() else { return false };
        let key = pending.operation.key();
        match (pending.operation, answer) {
            (Operation::Change(Change::Write { value, .. } | Change::CompareAndSet { value, .. }), Answer::Written) => {
                self.preferred_node = node;
                self.known_values.insert(key, Some(value));
            }
            (_, Answer::Differs(value) | Answer::Value(value)) => {
                self.known_values.insert(key, value);
            }
            (Operation::Read { .. }, Answer::Written) => {}
        }
        true
    }
}
