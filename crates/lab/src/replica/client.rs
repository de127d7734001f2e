//! One client: it has at most one operation under way, and asks until it is answered.

use super::cell::Operation;
use super::ticket::{Asking, OPERATOR};
use quorate_core::NodeId;
use quorate_replica::Refusal;
use quorate_replica::registers::{Answer, Change};
use std::collections::BTreeMap;

pub(super) struct Client {
    /// The operation under way, or the last one.
    number: u64,
    open: Option<Open>,
    seen: BTreeMap<u64, Option<u64>>,
    /// Whom it asks first: who led when it last heard.
    pub(super) favourite: NodeId,
}

/// An operation under way. It is open from the first ask to the first answer to any of its attempts.
struct Open {
    operation: Operation,
    attempt: u64,
    /// Who was asked; nobody while it is to be asked again.
    asked: Option<NodeId>,
}

pub(super) enum Refused {
    TryLeader(NodeId),
    /// It asks somebody after a while.
    TryAnybody,
    /// It had gone on already.
    Stale,
}

impl Client {
    pub(super) fn new(favourite: NodeId) -> Self {
        Self { number: 0, open: None, seen: BTreeMap::new(), favourite }
    }

    pub(super) fn seen(&self, key: u64) -> Option<u64> {
        self.seen.get(&key).copied().flatten()
    }

    pub(super) fn begin(&mut self, operation: Operation) {
        self.number += 1;
        self.open = Some(Open { operation, attempt: 0, asked: None });
    }

    pub(super) fn ask(&mut self, index: usize, node: NodeId) -> Option<(Asking, Operation)> {
        let open = self.open.as_mut()?;
        open.attempt += 1;
        open.asked = Some(node);
        let who = Asking { client: index as u64 + OPERATOR + 1, number: self.number, attempt: open.attempt };
        Some((who, open.operation))
    }

    fn current(&mut self, who: Asking) -> Option<&mut Open> {
        let number = self.number;
        self.open.as_mut().filter(|open| (number, open.attempt) == (who.number, who.attempt))
    }

    /// Whether this attempt failed and another is due.
    pub(super) fn is_to_ask(&mut self, who: Asking) -> bool {
        self.current(who).is_some_and(|open| open.asked.is_none())
    }

    /// Whether this attempt still waits, and has waited long enough.
    pub(super) fn gives_up_on(&mut self, who: Asking) -> bool {
        self.current(who).is_some_and(|open| open.asked.take().is_some())
    }

    pub(super) fn abandoned_by(&mut self, index: usize, node: NodeId) -> Option<Asking> {
        let open = self.open.as_mut()?;
        open.asked.take_if(|asked| *asked == node)?;
        Some(Asking { client: index as u64 + OPERATOR + 1, number: self.number, attempt: open.attempt })
    }

    /// An attempt failed, for this reason if its fate is known.
    pub(super) fn refused(&mut self, who: Asking, why: Option<Refusal>) -> Refused {
        if !self.gives_up_on(who) {
            return Refused::Stale;
        }
        match why {
            Some(Refusal::NotLeader { leader: Some(leader) }) => {
                self.favourite = leader;
                Refused::TryLeader(leader)
            }
            Some(_) | None => Refused::TryAnybody,
        }
    }

    /// Whether this is the first answer to the operation under way.
    pub(super) fn answered(&mut self, who: Asking, node: NodeId, answer: Option<Answer>) -> bool {
        let Some(answer) = answer.filter(|_| who.number == self.number) else { return false };
        let Some(open) = self.open.take() else { return false };
        let key = open.operation.key();
        match (open.operation, answer) {
            (Operation::Change(Change::Write { value, .. } | Change::CompareAndSet { value, .. }), Answer::Written) => {
                self.favourite = node;
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
