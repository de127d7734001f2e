//! Judges outcomes: every outcome reaches its session exactly once, or the session has ended.
//!
//! The audits of applied entries say which outcomes there are. A client receives them from the node
//! to which it has attached its session last: after the node has attached it, in the order of their
//! numbers, without a gap and without a repetition. When a session is attached anew, the node
//! reports again what the client has not acknowledged.

use super::machine::TestedMachine;
use super::ticket::RequestId;
use quorate_core::NodeId;
use quorate_replica::sessions::Outcome;
use quorate_replica::{SessionId, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// The outcomes of a run, as replicas have produced them and clients have received them.
pub(super) struct Notifications<M: TestedMachine> {
    /// The highest index whose outcomes are known.
    last_index: u64,
    sessions: BTreeMap<SessionId, SessionRecord<M>>,
    /// The sessions that have ended.
    ended: BTreeSet<SessionId>,
}

struct SessionRecord<M: TestedMachine> {
    /// All outcomes so far.
    produced: Vec<M::Outcome>,
    /// The outcomes that the client has received.
    received: Vec<M::Outcome>,
    /// The client's last request to attach the session.
    attachment: Option<Attachment>,
}

struct Attachment {
    request: RequestId,
    node: NodeId,
    is_attached: bool,
}

impl<M: TestedMachine> Default for SessionRecord<M> {
    fn default() -> Self {
        Self { produced: Vec::new(), received: Vec::new(), attachment: None }
    }
}

impl<M: TestedMachine> Notifications<M> {
    pub(super) fn new() -> Self {
        Self { last_index: 0, sessions: BTreeMap::new(), ended: BTreeSet::new() }
    }

    /// Number of outcomes that clients have received.
    pub(super) fn received_count(&self) -> usize {
        self.sessions.values().map(|record| record.received.len()).sum()
    }

    pub(super) fn has_ended(&self, session: SessionId) -> bool {
        self.ended.contains(&session)
    }

    pub(super) fn ended_count(&self) -> usize {
        self.ended.len()
    }

    /// Records the outcomes of an applied entry, which other replicas may have reported before.
    pub(super) fn record_produced(&mut self, index: u64, outcomes: &[(SessionId, Outcome<M::Outcome>)]) {
        if index <= self.last_index {
            return;
        }
        self.last_index = index;
        for (session, outcome) in outcomes {
            match outcome {
                Outcome::Numbered { outcome, .. } => {
                    self.sessions.entry(*session).or_default().produced.push(outcome.clone());
                }
                Outcome::Ended(_) => {
                    self.ended.insert(*session);
                }
            }
        }
    }

    /// Records that a node has taken a request to attach a session. A node that was paused may take
    /// it after the client has turned to another node.
    pub(super) fn record_attach_request(&mut self, node: NodeId, session: SessionId, ticket: Ticket) {
        let request = RequestId::from_ticket(ticket);
        let record = self.sessions.entry(session).or_default();
        if record.attachment.as_ref().is_none_or(|attachment| attachment.request < request) {
            record.attachment = Some(Attachment { request, node, is_attached: false });
        }
    }

    /// Records what a node reports when it attaches a session. Returns what is wrong with it, if
    /// anything is.
    pub(super) fn record_attached(
        &mut self,
        node: NodeId,
        session: SessionId,
        ticket: Option<Ticket>,
        outcomes: &[Outcome<M::Outcome>],
    ) -> Option<String> {
        let record = self.sessions.entry(session).or_default();
        let attachment = record.attachment.as_mut().filter(|attachment| attachment.node == node)?;
        match ticket {
            Some(ticket) if RequestId::from_ticket(ticket) == attachment.request => attachment.is_attached = true,
            // The client has turned away since.
            Some(_) => return None,
            None if !attachment.is_attached => return None,
            None => {}
        }
        outcomes.iter().find_map(|outcome| record.receive(node, session, outcome, true))
    }

    /// Records an outcome that a node reports. Returns what is wrong with it, if anything is.
    pub(super) fn record_outcome(
        &mut self,
        node: NodeId,
        session: SessionId,
        outcome: &Outcome<M::Outcome>,
    ) -> Option<String> {
        let record = self.sessions.entry(session).or_default();
        let is_current =
            record.attachment.as_ref().is_some_and(|attachment| attachment.node == node && attachment.is_attached);
        if is_current { record.receive(node, session, outcome, false) } else { None }
    }

    /// The nodes that crash no longer have attached sessions.
    pub(super) fn record_crash(&mut self, node: NodeId) {
        let attachments = self.sessions.values_mut().filter_map(|record| record.attachment.as_mut());
        attachments.filter(|attachment| attachment.node == node).for_each(|attachment| attachment.is_attached = false);
    }

    /// What is wrong at the end of a run in which every outcome had the time to reach its session.
    pub(super) fn missing_outcome(&self) -> Option<String> {
        let open = self.sessions.iter().filter(|(session, _)| !self.has_ended(**session));
        let lacking = |(session, record): (&SessionId, &SessionRecord<M>)| {
            let number = record.received.len() + 1;
            record.produced.get(record.received.len()).map(|outcome| {
                let described = M::describe_outcome(outcome);
                format!("outcome {number} of {session} never reached it: {described}")
            })
        };
        open.map(lacking).find_map(|found| found)
    }

    /// What is wrong with the outcomes that clients have received, compared with those that
    /// replicas have produced.
    pub(super) fn altered_outcome(&self) -> Option<String> {
        self.sessions.iter().find_map(|(session, record)| {
            let differs = |number: &usize| record.produced.get(*number) != record.received.get(*number);
            let number = (0..record.received.len()).find(differs)?;
            let received = M::describe_outcome(&record.received[number]);
            Some(format!("{session} received another outcome {} than replicas produced: {received}", number + 1))
        })
    }
}

impl<M: TestedMachine> SessionRecord<M> {
    fn receive(
        &mut self,
        node: NodeId,
        session: SessionId,
        outcome: &Outcome<M::Outcome>,
        may_repeat: bool,
    ) -> Option<String> {
        let Outcome::Numbered { number, outcome } = outcome else { return None };
        let expected = self.received.len() as u64 + 1;
        if *number == expected {
            self.received.push(outcome.clone());
        } else if *number > expected {
            return Some(format!("node {node} reports outcome {number} to {session}, which lacks outcome {expected}"));
        } else if !may_repeat {
            return Some(format!("node {node} reports outcome {number} to {session} once more"));
        }
        None
    }
}
