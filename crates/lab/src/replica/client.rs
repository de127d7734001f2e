//! One client: it has at most one pending operation, and repeats it until it is answered.

use super::cell::Operation;
use super::ticket::{OPERATOR, RequestId};
use quorate_core::NodeId;
use quorate_replica::Refusal;
use quorate_replica::registers::{Answer, Change};
use std::collections::BTreeMap;

/// The state of one client.
pub(super) struct Client {
    /// The number of the pending operation, or of the last one.
    number: u64,
    open: Option<PendingOperation>,
    /// The last known value of each register.
    seen: BTreeMap<u64, Option<u64>>,
    /// The node to ask first: the last known leader.
    pub(super) preferred_node: NodeId,
}

/// A pending operation, from the first request to the first answer to any of its attempts.
struct PendingOperation {
    operation: Operation,
    attempt: u64,
    /// The node that was asked; `None` while the next attempt is scheduled.
    asked: Option<NodeId>,
}

/// What to do after a refusal.
pub(super) enum AfterRefusal {
    TryLeader(NodeId),
    /// Ask any node after a delay.
    TryAnyNode,
    /// The attempt is outdated.
    Stale,
}

impl Client {
    pub(super) fn new(preferred_node: NodeId) -> Self {
        Self { number: 0, open: None, seen: BTreeMap::new(), preferred_node }
    }

    pub(super) fn seen(&self, key: u64) -> Option<u64> {
        self.seen.get(&key).copied().flatten()
    }

    pub(super) fn begin(&mut self, operation: Operation) {
        self.number += 1;
        self.open = Some(PendingOperation { operation, attempt: 0, asked: None });
    }

    /// Starts the next attempt at the pending operation.
    pub(super) fn next_attempt(&mut self, index: usize, node: NodeId) -> Option<(RequestId, Operation)> {
        let open = self.open.as_mut()?;
        open.attempt += 1;
        open.asked = Some(node);
        let request = RequestId { client: index as u64 + OPERATOR + 1, number: self.number, attempt: open.attempt };
        Some((request, open.operation))
    }

    fn current(&mut self, request: RequestId) -> Option<&mut PendingOperation> {
        let number = self.number;
        self.open.as_mut().filter(|open| (number, open.attempt) == (request.number, request.attempt))
    }

    /// Whether this attempt failed and another is due.
    pub(super) fn needs_retry(&mut self, request: RequestId) -> bool {
        self.current(request).is_some_and(|open| open.asked.is_none())
    }

    /// Ends this attempt because of a timeout. Returns whether it was still waiting.
    pub(super) fn time_out(&mut self, request: RequestId) -> bool {
        self.current(request).is_some_and(|open| open.asked.take().is_some())
    }

    /// Ends the attempt at a node that crashed. Returns the attempt, if there was one.
    pub(super) fn node_crashed(&mut self, index: usize, node: NodeId) -> Option<RequestId> {
        let open = self.open.as_mut()?;
        open.asked.take_if(|asked| *asked == node)?;
        Some(RequestId { client: index as u64 + OPERATOR + 1, number: self.number, attempt: open.attempt })
    }

    /// Records a failed attempt, with the reason if its outcome is known.
    pub(super) fn refused(&mut self, request: RequestId, why: Option<Refusal>) -> AfterRefusal {
        if !self.time_out(request) {
            return AfterRefusal::Stale;
        }
        match why {
            Some(Refusal::NotLeader { leader: Some(leader) }) => {
                self.preferred_node = leader;
                AfterRefusal::TryLeader(leader)
            }
            Some(_) | None => AfterRefusal::TryAnyNode,
        }
    }

    /// Records an answer. Returns whether it is the first to the pending operation.
    pub(super) fn answered(&mut self, request: RequestId, node: NodeId, answer: Option<Answer>) -> bool {
        let Some(answer) = answer.filter(|_| request.number == self.number) else { return false };
        let Some(open) = self.open.take() else { return false };
        let key = open.operation.key();
        match (open.operation, answer) {
            (Operation::Change(Change::Write { value, .. } | Change::CompareAndSet { value, .. }), Answer::Written) => {
                self.preferred_node = node;
                self.seen.insert(key, Some(value));
            }
            (_, Answer::Differs(value) | Answer::Value(value)) => {
                self.seen.insert(key, value);
            }
            (Operation::Read { .. }, Answer::Written) => {}
        }
        true
    }
}
