//! The properties that a replicated log promises its clients.

use super::audit::{Contradiction, LogAudit};
use super::machine::{CommandOf, EventOf, ObservedAnswer, Operation, TestedMachine};
use super::notifications::Notifications;
use super::ticket::RequestId;
use crate::family::Judge;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_journal::property::{PropertyKind, Verdict, Violation};
use quorate_replica::fingerprint::fingerprint;
use quorate_replica::sessions::{Answer, Command as SessionCommand, Request};
use quorate_replica::{Command, Event, Members, Proposal, SessionId, Ticket};
use quorate_sim::linear::{self, Client, History, OperationId};
use std::collections::BTreeMap;

/// The parameters of a run that its verdicts depend on.
#[derive(Clone, Debug)]
pub(super) struct Expectations {
    pub(super) nodes: usize,
    pub(super) founders: Members,
    /// Planned number of operations; `None` with a script or without clients.
    pub(super) operations: Option<u64>,
    pub(super) tick: Duration,
    /// Whether every fault ends. Then every member must have applied everything at the end.
    pub(super) all_faults_end: bool,
    pub(super) sometimes: Sometimes,
}

/// The groups of `sometimes` properties to judge.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sometimes {
    /// Properties that faults should bring about.
    pub(super) after_faults: bool,
    /// Of these, those that are judged only in groups of more than two nodes. In a pair, no node
    /// falls behind, so none installs a snapshot; an outcome may be unknown in a pair too, but that
    /// is not required.
    pub(super) in_larger_groups: bool,
    pub(super) with_member_changes: bool,
    pub(super) with_lease_reads: bool,
}

/// Judges the properties of a replicated log.
pub struct Properties<M: TestedMachine> {
    expectations: Expectations,
    history: History<M::Specification>,
    /// The entry in `history` of each change and each read attempt.
    history_entries: BTreeMap<RequestId, HistoryEntry>,
    /// The operations of clients, by client and number. All attempts share one entry.
    operations: BTreeMap<(u64, u64), ClientOperation<M>>,
    notifications: Notifications<M>,
    /// Time and trace line of the answer to each operation of the history.
    answers: BTreeMap<OperationId, (Time, u64)>,
    /// The last requested change of members, if it has not taken effect: its time and number, and
    /// the new members.
    pending_member_change: Option<(Time, u64, Members)>,
    /// The number of the last requested change of members.
    last_requested_member_change: u64,
    /// The number of the last change of members that took effect.
    last_effective_member_change: u64,
    log_audit: LogAudit,
    nodes: Vec<NodeState>,
    /// The first leader of each term.
    leaders: BTreeMap<u64, NodeId>,
    members: Members,
    counts: Counts,
    /// Time of the latest moment; finally the end of the run.
    now: Time,
    /// Number of trace lines so far, one per step and world event. Violations refer to them.
    lines: u64,
    kept_violation: Option<Violation>,
    equality_violation: Option<Violation>,
    log_time_violation: Option<Violation>,
    leader_violation: Option<Violation>,
    notification_violation: Option<Violation>,
}

/// An entry of the history: a change, or one attempt at a read.
struct HistoryEntry {
    id: OperationId,
    requested_at: Time,
}

/// The state of a client's operation.
struct ClientOperation<M: TestedMachine> {
    /// The node that received the first attempt.
    node: NodeId,
    requested_at: Time,
    operation: Operation<M>,
    /// The session of a change. A client abandons a change when its session has ended.
    session: Option<SessionId>,
    is_answered: bool,
    /// Refused, of unknown outcome, or requested at a node that crashed, and the client does not
    /// retry.
    is_given_up: bool,
}

#[derive(Clone, Debug, Default)]
struct NodeState {
    /// The last index that the node is known to have applied, in any incarnation since it last lost
    /// its disk.
    last_applied: u64,
    /// Whether the current step is the first of its incarnation.
    is_starting: bool,
    /// Whether the current turn has handled a message.
    handles_message: bool,
    /// Whether the last step was the end of a turn.
    has_ended_turn: bool,
    /// Number of saves since the start, durable or not.
    save_count: u64,
    /// The term that the node leads by its own vote alone, and the number of saves that must be
    /// durable before others can learn of it.
    unconfirmed_leadership: Option<(u64, u64)>,
}

/// Counts of events for the summary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) leaders: u64,
    pub(super) snapshots: u64,
    pub(super) member_changes: u64,
    pub(super) lease_reads: u64,
    pub(super) unknown_outcomes: u64,
}

/// Number of ticks after the last answer within which all replicas apply the acknowledged entries.
const SETTLE_TICKS: u64 = 50;

impl<M: TestedMachine> Properties<M> {
    pub(super) fn new(expectations: Expectations) -> Self {
        Self {
            history: History::new(),
            history_entries: BTreeMap::new(),
            operations: BTreeMap::new(),
            notifications: Notifications::new(),
            answers: BTreeMap::new(),
            pending_member_change: None,
            last_requested_member_change: 0,
            last_effective_member_change: 0,
            log_audit: LogAudit::new(expectations.tick),
            nodes: vec![NodeState::default(); expectations.nodes],
            leaders: BTreeMap::new(),
            members: expectations.founders.clone(),
            counts: Counts::default(),
            now: Time::ZERO,
            lines: 0,
            kept_violation: None,
            equality_violation: None,
            log_time_violation: None,
            leader_violation: None,
            notification_violation: None,
            expectations,
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn log_audit(&self) -> &LogAudit {
        &self.log_audit
    }

    pub(super) fn members(&self) -> &Members {
        &self.members
    }

    /// The number of operations, and how many of them were answered.
    pub(super) fn operations(&self) -> (u64, u64) {
        let answered = self.operations.values().filter(|operation_state| operation_state.is_answered).count();
        (self.operations.len() as u64, answered as u64)
    }

    pub(super) fn term(&self) -> u64 {
        self.leaders.last_key_value().map_or(0, |(term, _)| *term)
    }

    fn make_violation(&self, relevant_from: Time, text: String) -> Violation {
        Violation { time: self.now, line: self.lines, relevant_from, text }
    }

    pub(super) fn notifications(&self) -> &Notifications<M> {
        &self.notifications
    }

    /// Records a request. An operation begins when a replica first receives it. In the history, all
    /// attempts at a change are one entry, because it is executed once. Each attempt at a query is
    /// an entry of its own, because each answer must fit.
    fn record_request(&mut self, node: NodeId, ticket: Ticket, operation: Operation<M>, session: Option<SessionId>) {
        let request = RequestId::from_ticket(ticket);
        let requested_at = self.now;
        if M::part(&operation).is_some() {
            let key = history_key(request, operation.is_change());
            let client = Client(u32::try_from(request.client).unwrap_or(u32::MAX));
            self.history_entries.entry(key).or_insert_with(|| {
                let id = self.history.invoke(client, requested_at, operation.clone());
                HistoryEntry { id, requested_at }
            });
        }
        let first = ClientOperation { node, requested_at, operation, session, is_answered: false, is_given_up: false };
        self.operations.entry((request.client, request.number)).or_insert(first);
    }

    fn record_answer(&mut self, ticket: Ticket, index: u64, answer: &Answer<M::Answer>) {
        let request = RequestId::from_ticket(ticket);
        let Some(operation_state) = self.operations.get_mut(&(request.client, request.number)) else { return };
        let Answer::Answered(answer) = answer else { return self.record_refusal(ticket) };
        operation_state.is_answered = true;
        self.log_audit.record_acknowledgement(index);
        let key = history_key(request, operation_state.operation.is_change());
        if let Some(HistoryEntry { id, .. }) = self.history_entries.get(&key)
            && !self.answers.contains_key(id)
            && self.history.answer(*id, self.now, ObservedAnswer(answer.clone())).is_ok()
        {
            self.answers.insert(*id, (self.now, self.lines));
        }
    }

    /// Whether an operation needs no answer any more.
    fn has_ended(&self, operation_state: &ClientOperation<M>) -> bool {
        let session_has_ended = operation_state.session.is_some_and(|session| self.notifications.has_ended(session));
        operation_state.is_answered || operation_state.is_given_up || session_has_ended
    }

    /// Records a refusal or an unknown outcome. Clients of a script do not retry.
    fn record_refusal(&mut self, ticket: Ticket) {
        let request = RequestId::from_ticket(ticket);
        if self.expectations.operations.is_none()
            && let Some(operation_state) = self.operations.get_mut(&(request.client, request.number))
        {
            operation_state.is_given_up = true;
        }
    }

    fn record_contradictions(&mut self, contradictions: impl IntoIterator<Item = Contradiction>) {
        for contradiction in contradictions {
            let (violation, text) = match contradiction {
                Contradiction::ReplacedEntry(text) => (&mut self.kept_violation, text),
                Contradiction::DifferentStates(text) => (&mut self.equality_violation, text),
                Contradiction::LogTime(text) => (&mut self.log_time_violation, text),
            };
            violation.get_or_insert(Violation { time: self.now, line: self.lines, relevant_from: self.now, text });
        }
    }

    fn record_leader(&mut self, node: NodeId, term: u64) {
        self.counts.leaders += 1;
        let first_leader = *self.leaders.entry(term).or_insert(node);
        if first_leader != node && self.leader_violation.is_none() {
            let text = format!("node {node} leads in term {term}, which already has the leader {first_leader}");
            self.leader_violation = Some(self.make_violation(self.now, text));
        }
    }

    /// Records a crash, which ends the node's leadership. A leader by its own vote alone that
    /// crashes before its vote is durable had no followers, because it sent nothing, so its term
    /// may have another leader.
    fn record_crash(&mut self, node: NodeId) {
        self.notifications.record_crash(node);
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        if self.expectations.operations.is_none() {
            // Clients of a script do not retry.
            let waiting = self.operations.values_mut().filter(|operation_state| operation_state.node == node);
            waiting.for_each(|operation_state| operation_state.is_given_up = true);
        }
        if let Some((term, _)) = state.unconfirmed_leadership.take()
            && self.leaders.get(&term) == Some(&node)
        {
            self.leaders.remove(&term);
        }
    }

    fn record_input(&mut self, node: NodeId, input: &ObservedInput<'_, CommandOf<M>>) {
        if let ObservedInput::Start { .. } = input {
            self.log_audit.record_start(self.now);
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.is_starting = matches!(input, ObservedInput::Start { .. });
            if std::mem::replace(&mut state.has_ended_turn, matches!(input, ObservedInput::EndOfTurn)) {
                state.handles_message = false;
            }
            state.handles_message |= matches!(input, ObservedInput::Message { .. });
            match input {
                ObservedInput::Start { is_disk_blank, .. } => {
                    let last_applied = if *is_disk_blank { 0 } else { state.last_applied };
                    *state = NodeState { is_starting: true, last_applied, ..NodeState::default() };
                }
                ObservedInput::Saved(count) => {
                    state.unconfirmed_leadership.take_if(|(_, saves)| *saves <= *count);
                }
                _ => {}
            }
        }
        let ObservedInput::Command(command) = input else { return };
        match command {
            Command::Propose(proposals) => {
                for Proposal { ticket, command } in proposals {
                    self.record_proposal(node, *ticket, command);
                }
            }
            Command::Query { ticket, query } => {
                self.record_request(node, *ticket, Operation::Query(query.clone()), None);
            }
            Command::Attach { ticket, session } => {
                self.notifications.record_attach_request(node, *session, *ticket);
            }
            Command::Change { ticket, members, .. } => {
                let number = RequestId::from_ticket(*ticket).number;
                // A replica that was paused may receive a request late, after another replica has
                // answered it.
                if number > self.last_requested_member_change {
                    self.last_requested_member_change = number;
                    self.pending_member_change = Some((self.now, number, members.clone()));
                }
            }
            Command::Detach(_) | Command::Transfer(_) | Command::Retire | Command::Campaign => {}
        }
    }

    fn record_proposal(&mut self, node: NodeId, ticket: Ticket, command: &SessionCommand<M::Command>) {
        match command {
            SessionCommand::Request(Request { session, command, .. }) => {
                self.record_request(node, ticket, Operation::Change(command.clone()), Some(*session));
            }
            SessionCommand::Direct(command) => {
                self.record_request(node, ticket, Operation::Change(command.clone()), None);
            }
            SessionCommand::Open { .. } | SessionCommand::Renew(_) | SessionCommand::Close { .. } => {}
        }
    }

    fn record_event(&mut self, node: NodeId, event: &EventOf<M>) {
        match event {
            Event::Answered { ticket, index, answer } => self.record_answer(*ticket, *index, answer),
            Event::Attached { ticket, session, outcomes, .. } => {
                let found = self.notifications.record_attached(node, *session, *ticket, outcomes);
                self.record_notification(found);
            }
            Event::Outcome { session, outcome, .. } => {
                let found = self.notifications.record_outcome(node, *session, outcome);
                self.record_notification(found);
            }
            Event::Detached { .. } | Event::Configured { .. } | Event::Retired => {}
            Event::Unknown { ticket } => {
                self.counts.unknown_outcomes += 1;
                self.record_refusal(*ticket);
            }
            Event::Changed { ticket, members } => {
                self.record_member_change(RequestId::from_ticket(*ticket).number, members);
            }
            Event::Leads { term } => {
                // Votes of others arrive in messages. So a node that becomes leader in any other
                // step leads by its own vote alone.
                self.update_node(node, |state| {
                    state.unconfirmed_leadership = (!state.handles_message).then_some((*term, state.save_count));
                });
                self.record_leader(node, *term);
            }
            Event::Follows { .. } => {}
            Event::Applied { audit, outcomes } => {
                self.update_node(node, |state| state.last_applied = state.last_applied.max(audit.index));
                self.notifications.record_produced(audit.index, outcomes);
                let contradictions = self.log_audit.record_applied(self.now, node, audit, fingerprint(outcomes));
                self.record_contradictions(contradictions);
            }
            Event::Restored(restored) => {
                let installed = self.nodes.get(node.index()).is_some_and(|state| !state.is_starting);
                self.counts.snapshots += u64::from(installed);
                self.update_node(node, |state| state.last_applied = state.last_applied.max(restored.index));
                let contradictions = self.log_audit.record_restored(self.now, node, restored);
                self.record_contradictions(contradictions);
            }
            Event::Halted { reason } => {
                // A replica halts if its log is inconsistent or cannot be decoded: it may have lost
                // entries.
                let text = format!("node {node} has halted: {reason}");
                let violation = self.make_violation(self.now, text);
                self.kept_violation.get_or_insert(violation);
            }
            Event::Refused { ticket, .. } => self.record_refusal(*ticket),
        }
    }

    fn record_notification(&mut self, problem: Option<String>) {
        if let (Some(text), None) = (problem, &self.notification_violation) {
            self.notification_violation = Some(self.make_violation(self.now, text));
        }
    }

    /// What is wrong with the outcomes that clients have received. At the end, each one must have
    /// reached its session.
    fn notification_violation(&self) -> Option<Violation> {
        let at_end = || self.notifications.missing_outcome().filter(|_| self.is_settled());
        let text = || self.notifications.altered_outcome().or_else(at_end);
        self.notification_violation.clone().or_else(|| Some(self.make_violation(self.now, text()?)))
    }

    /// Records a change of members. A leader that was paused reports it late, when the members may
    /// have changed again.
    fn record_member_change(&mut self, number: u64, members: &Members) {
        self.pending_member_change.take_if(|(_, pending_number, _)| *pending_number == number);
        if number >= self.last_effective_member_change {
            self.last_effective_member_change = number;
            self.counts.member_changes += u64::from(*members != self.members);
            self.members = members.clone();
        }
    }

    fn update_node(&mut self, node: NodeId, update: impl FnOnce(&mut NodeState)) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            update(state);
        }
    }

    /// Judges each part of the state separately, because parts are independent.
    fn judge_linearizability(&self, max_steps: u64) -> Verdict {
        let (name, kind) = ("linearizable", PropertyKind::Always);
        match self.history.judge_by_key(&M::Specification::default(), max_steps, |operation| M::part(operation)) {
            linear::Verdict::Linearizable { .. } => Verdict::from_violation(name, kind, None),
            linear::Verdict::NotLinearizable(explanation) => {
                Verdict::from_violation(name, kind, Some(self.linearizability_violation(&explanation)))
            }
            verdict @ linear::Verdict::Undecided { .. } => Verdict::undecided(name, kind, verdict.to_string()),
        }
    }

    fn linearizability_violation(&self, explanation: &linear::Explanation) -> Violation {
        let (time, line) = self.answers.get(&explanation.unexplained).copied().unwrap_or((self.now, self.lines));
        let history_entry = |id: &OperationId| self.history_entries.values().find(|entry| entry.id == *id);
        let since = explanation.conflict.iter().filter_map(history_entry).map(|entry| entry.requested_at).min();
        let text = explanation.to_string().trim_end().to_owned();
        Violation { time, line, relevant_from: since.unwrap_or(time), text }
    }

    /// Whether every fault ends, and every request was answered long enough ago that all replicas
    /// must have applied it.
    fn is_settled(&self) -> bool {
        let answered = self.answers.values().map(|(time, _)| *time).max();
        let is_long_ago =
            answered.is_some_and(|time| self.now.since(time) >= self.expectations.tick.times(SETTLE_TICKS));
        is_long_ago && self.expectations.all_faults_end && self.unanswered_violation().is_none()
    }

    fn has_applied_all(&self, member: NodeId) -> bool {
        let last = self.log_audit.last_acknowledged();
        self.nodes.get(member.index()).is_some_and(|state| state.last_applied >= last)
    }

    /// A majority must finally have applied every acknowledged entry.
    fn majority_violation(&self) -> Option<Violation> {
        let voters = &self.members.voters;
        let up_to_date = voters.iter().filter(|voter| self.has_applied_all(**voter)).count();
        if !self.is_settled() || 2 * up_to_date > voters.len() {
            return None;
        }
        let last = self.log_audit.last_acknowledged();
        let text = format!(
            "index {last} was acknowledged, but only {up_to_date} of {} voters have applied it at the end",
            voters.len()
        );
        Some(self.make_violation(self.now, text))
    }

    /// Every member must finally have applied every acknowledged entry.
    fn lagging_member_violation(&self) -> Option<Violation> {
        if !self.is_settled() {
            return None;
        }
        let Members { voters, learners } = &self.members;
        let member = voters.iter().chain(learners).find(|member| !self.has_applied_all(**member))?;
        let applied = self.nodes.get(member.index()).map_or(0, |state| state.last_applied);
        let last = self.log_audit.last_acknowledged();
        Some(
            self.make_violation(
                self.now,
                format!("node {member} has applied only index {applied} of {last} at the end"),
            ),
        )
    }

    /// The oldest unanswered operation; if there is none, operations that were never requested, or,
    /// if every fault ends, a requested change of members that has not taken effect.
    fn unanswered_violation(&self) -> Option<Violation> {
        let waiting = self.operations.iter().filter(|(_, operation_state)| !self.has_ended(operation_state));
        if let Some(((client, _), first)) = waiting.min_by_key(|(_, operation_state)| operation_state.requested_at) {
            let ClientOperation { requested_at, operation, .. } = first;
            let text =
                format!("client {client} requested at {requested_at} to {operation}, and has no answer at the end");
            return Some(self.make_violation(*requested_at, text));
        }
        let answered = self.operations().1;
        if let Some(planned) = self.expectations.operations.filter(|planned| *planned > answered) {
            let text = format!("only {answered} of {planned} operations were requested and answered");
            return Some(self.make_violation(Time::ZERO, text));
        }
        let (since, _, members) = self.pending_member_change.as_ref().filter(|_| self.expectations.all_faults_end)?;
        Some(
            self.make_violation(
                *since,
                format!("the operator requested {members} at {since}, which has not taken effect"),
            ),
        )
    }

    fn sometimes_verdicts(&self) -> impl Iterator<Item = Verdict> {
        let Counts { snapshots, member_changes, lease_reads, .. } = self.counts;
        let Sometimes { after_faults, in_larger_groups, with_member_changes, with_lease_reads } =
            self.expectations.sometimes;
        let all = [
            ("leader-changed", after_faults, self.leaders.len() > 1),
            ("snapshot-installed", after_faults && in_larger_groups, snapshots > 0),
            ("session-ended", after_faults && in_larger_groups, self.notifications.ended_count() > 0),
            ("outcome-received", after_faults, self.notifications.received_count() > 0),
            ("members-changed", with_member_changes, member_changes > 0),
            ("lease-answered", with_lease_reads, lease_reads > 0),
        ];
        let expected = all.into_iter().filter(|(_, expected, _)| *expected);
        expected.map(|(name, _, happened)| Verdict::sometimes(name, happened))
    }
}

/// All attempts at a change share one key.
fn history_key(request: RequestId, is_change: bool) -> RequestId {
    if is_change { RequestId { attempt: 0, ..request } } else { request }
}

impl<M: TestedMachine> Judge<CommandOf<M>, EventOf<M>> for Properties<M> {
    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = vec![
            self.judge_linearizability(linear::DEFAULT_STEPS),
            Verdict::from_violation(
                "kept",
                PropertyKind::Always,
                self.kept_violation.clone().or_else(|| self.majority_violation()),
            ),
            Verdict::from_violation("equal", PropertyKind::Always, self.equality_violation.clone()),
            Verdict::from_violation("log-time", PropertyKind::Always, self.log_time_violation.clone()),
            Verdict::from_violation("notified", PropertyKind::Always, self.notification_violation()),
            Verdict::from_violation("one-leader", PropertyKind::Always, self.leader_violation.clone()),
            Verdict::from_violation("answered", PropertyKind::Eventually, self.unanswered_violation()),
            Verdict::from_violation("caught-up", PropertyKind::Eventually, self.lagging_member_violation()),
        ];
        verdicts.extend(self.sometimes_verdicts());
        verdicts
    }
}

impl<M: TestedMachine> Observer<CommandOf<M>, EventOf<M>> for Properties<M> {
    fn observe(&mut self, moment: &Moment<'_, CommandOf<M>, EventOf<M>>) {
        self.now = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
            Moment::Input { node, input, .. } => self.record_input(*node, input),
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } => self.record_event(*node, event),
            // Rule RP-6 answers a read under a lease.
            Moment::Effect { effect: ObservedEffect::Rule { rule: "RP-6", .. }, .. } => self.counts.lease_reads += 1,
            Moment::World { event: WorldEvent::Changed { text }, .. } => self.log_audit.record_world_change(text),
            Moment::Effect { node, effect: ObservedEffect::Save(_), .. } => {
                self.update_node(*node, |state| state.save_count += 1);
            }
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                self.record_crash(*node);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::simulate;
    use crate::family::{JudgeFamily, JudgingLevel};
    use crate::replica::Replica;
    use crate::spec::Spec;
    use quorate_sim::linear;

    /// An aborted search shows neither a violation nor its absence.
    #[test]
    fn an_aborted_search_leaves_the_property_undecided() {
        let spec = Spec::<Replica>::named("replica").unwrap();
        let properties = simulate(&spec, Replica::properties(&spec, JudgingLevel::Verdicts)).observer;
        assert_eq!(properties.judge_linearizability(linear::DEFAULT_STEPS).holds, Some(true));
        let undecided = properties.judge_linearizability(1);
        assert_eq!((undecided.holds, undecided.is_violated(), &undecided.violation), (None, false, &None));
        let reason = undecided.undecided_reason.unwrap();
        assert!(reason.starts_with("no order was found or excluded in 1 steps"), "{reason}");
    }
}
