//! The properties that a replicated log promises its clients.

use super::audit::{Contradiction, LogAudit};
use super::cell::{Cell, CellAnswer, Operation};
use super::ticket::RequestId;
use super::{Command, Event};
use crate::family::Judge;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_journal::property::{Kind, Verdict, Violation};
use quorate_replica::registers::Answer;
use quorate_replica::{Members, Proposal, Ticket};
use quorate_sim::linear::{self, Client, History, OperationId};
use std::collections::BTreeMap;

/// The properties of a run that its verdicts depend on.
#[derive(Clone, Debug)]
pub(super) struct Expectations {
    pub(super) nodes: usize,
    pub(super) founders: Members,
    /// Planned number of operations; `None` with a script.
    pub(super) operations: Option<u64>,
    pub(super) tick: Duration,
    /// Whether every fault ends, so that a majority must have applied everything at the end.
    pub(super) all_faults_end: bool,
    pub(super) sometimes: Sometimes,
}

/// Which `sometimes` properties are judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sometimes {
    /// Those that only faults cause.
    pub(super) faults: bool,
    /// Of these, those that need a node that falls behind.
    pub(super) group: bool,
    pub(super) changes: bool,
    pub(super) lease: bool,
}

/// Judges the properties of a replicated log.
pub struct Properties {
    expects: Expectations,
    history: History<Cell>,
    /// The history entry of each change and each read attempt.
    requested: BTreeMap<RequestId, HistoryEntry>,
    /// Operations of clients, each with whether any of its attempts was answered.
    operations: BTreeMap<(u64, u64), ClientOperation>,
    /// Time and journal line of the answer to each operation of the history.
    answers: BTreeMap<OperationId, (Time, u64)>,
    /// The last requested change of members, if it has not taken effect: its time and number, and
    /// the new members.
    pending_change: Option<(Time, u64, Members)>,
    /// The numbers of the last requested change, and of the last that took effect.
    last_requested_change: u64,
    last_effective_change: u64,
    log_audit: LogAudit,
    nodes: Vec<Node>,
    leaders: BTreeMap<u64, NodeId>,
    members: Members,
    counts: Counts,
    end: Time,
    /// Number of steps and world events so far. Violations refer to these lines.
    lines: u64,
    kept: Option<Violation>,
    equal: Option<Violation>,
    log_time: Option<Violation>,
    one_leader: Option<Violation>,
}

/// An operation in the history.
struct HistoryEntry {
    id: OperationId,
    since: Time,
}

/// The state of a client's operation.
#[derive(Clone, Copy)]
struct ClientOperation {
    node: NodeId,
    since: Time,
    operation: Operation,
    is_answered: bool,
    /// Refused, or with unknown outcome, and the client does not retry.
    is_given_up: bool,
}

impl ClientOperation {
    fn has_ended(&self) -> bool {
        self.is_answered || self.is_given_up
    }
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The term in which it leads.
    leads: Option<u64>,
    /// The last index that it is known to have applied, in any incarnation since it last lost its
    /// disk.
    applied: u64,
    /// Whether the current step is its first.
    is_starting: bool,
    /// Whether the current step handles a message.
    handles_message: bool,
    saves: u64,
    /// The term that it leads by its own vote alone, until this many saves are durable.
    leads_alone: Option<(u64, u64)>,
}

/// Counts of events for the summary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) leaders: u64,
    pub(super) snapshots: u64,
    pub(super) changes: u64,
    pub(super) leased: u64,
    pub(super) unknown: u64,
}

/// Number of ticks within which a client's last answers reach all replicas.
const SETTLE_TICKS: u64 = 50;

impl Properties {
    pub(super) fn new(expects: Expectations) -> Self {
        Self {
            history: History::new(),
            requested: BTreeMap::new(),
            operations: BTreeMap::new(),
            answers: BTreeMap::new(),
            pending_change: None,
            last_requested_change: 0,
            last_effective_change: 0,
            log_audit: LogAudit::new(expects.tick),
            nodes: vec![Node::default(); expects.nodes],
            leaders: BTreeMap::new(),
            members: expects.founders.clone(),
            counts: Counts::default(),
            end: Time::ZERO,
            lines: 0,
            kept: None,
            equal: None,
            log_time: None,
            one_leader: None,
            expects,
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

    fn make_violation(&self, since: Time, text: String) -> Violation {
        Violation { time: self.end, line: self.lines, since, text }
    }

    /// Records a request. An operation begins when a replica first receives it. All attempts at a
    /// change are one operation, because it is applied once; every read attempt is an operation of
    /// its own, and each answer must fit.
    fn record_request(&mut self, node: NodeId, ticket: Ticket, operation: Operation) {
        let request = RequestId::of(ticket);
        let (since, key) = (self.end, history_key(request, &operation));
        self.operations.entry((request.client, request.number)).or_insert(ClientOperation {
            node,
            since,
            operation,
            is_answered: false,
            is_given_up: false,
        });
        if !self.requested.contains_key(&key) {
            let client = Client(u32::try_from(request.client).unwrap_or(u32::MAX));
            let id = self.history.invoke(client, since, operation);
            self.requested.insert(key, HistoryEntry { id, since });
        }
    }

    fn record_answer(&mut self, node: NodeId, ticket: Ticket, index: u64, answer: Option<Answer>) {
        let request = RequestId::of(ticket);
        let Some(operation_state) = self.operations.get_mut(&(request.client, request.number)) else { return };
        // A late copy of a request, whose client has continued, gets no answer.
        let Some(answer) = answer else { return };
        operation_state.is_answered = true;
        let is_change = operation_state.operation.is_change();
        let key = history_key(request, &operation_state.operation);
        if let Some(HistoryEntry { id, .. }) = self.requested.get(&key)
            && !self.answers.contains_key(id)
            && self.history.answer(*id, self.end, CellAnswer(answer)).is_ok()
        {
            self.answers.insert(*id, (self.end, self.lines));
        }
        let leads = self.nodes.get(node.index()).and_then(|node| node.leads);
        if let Some(term) = leads.filter(|_| is_change) {
            let found = self.log_audit.record_acknowledgement(node, term, index);
            self.record_contradictions(found);
        }
    }

    /// Records a refusal or an unknown outcome. Clients of a script do not retry.
    fn record_refusal(&mut self, ticket: Ticket) {
        let request = RequestId::of(ticket);
        if self.expects.operations.is_none()
            && let Some(operation_state) = self.operations.get_mut(&(request.client, request.number))
        {
            operation_state.is_given_up = true;
        }
    }

    fn record_contradictions(&mut self, found: impl IntoIterator<Item = Contradiction>) {
        for contradiction in found {
            let (violation, text) = match contradiction {
                Contradiction::ReplacedEntry(text) => (&mut self.kept, text),
                Contradiction::DifferentStates(text) => (&mut self.equal, text),
                Contradiction::LogTime(text) => (&mut self.log_time, text),
            };
            violation.get_or_insert(Violation { time: self.end, line: self.lines, since: self.end, text });
        }
    }

    fn record_leader(&mut self, node: NodeId, term: u64) {
        self.counts.leaders += 1;
        let first = *self.leaders.entry(term).or_insert(node);
        if first != node && self.one_leader.is_none() {
            let text = format!("node {node} leads in term {term}, which already has the leader {first}");
            self.one_leader = Some(self.make_violation(self.end, text));
        }
    }

    /// A leader by its own vote alone that crashes before its vote is durable had no followers: it
    /// sent nothing.
    fn record_crash(&mut self, node: NodeId) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        state.leads = None;
        if self.expects.operations.is_none() {
            // Clients of a script do not retry.
            let waiting = self.operations.values_mut().filter(|operation_state| operation_state.node == node);
            waiting.for_each(|operation_state| operation_state.is_given_up = true);
        }
        if let Some((term, _)) = state.leads_alone.take()
            && self.leaders.get(&term) == Some(&node)
        {
            self.leaders.remove(&term);
        }
    }

    fn record_input(&mut self, node: NodeId, input: &ObservedInput<'_, Command>) {
        if let ObservedInput::Start { .. } = input {
            self.log_audit.record_start(self.end);
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.is_starting = matches!(input, ObservedInput::Start { .. });
            state.handles_message = matches!(input, ObservedInput::Message { .. });
            match input {
                ObservedInput::Start { blank, .. } => {
                    let applied = if *blank { 0 } else { state.applied };
                    *state = Node { is_starting: true, applied, ..Node::default() };
                }
                ObservedInput::Saved(count) => {
                    state.leads_alone.take_if(|(_, saves)| *saves <= *count);
                }
                _ => {}
            }
        }
        let ObservedInput::Command(command) = input else { return };
        match command {
            Command::Propose(proposals) => {
                for Proposal { ticket, command } in proposals {
                    self.record_request(node, *ticket, Operation::Change(command.command));
                }
            }
            Command::Query { ticket, query } => self.record_request(node, *ticket, Operation::Read { key: query.key }),
            Command::Change { ticket, members } => {
                let number = RequestId::of(*ticket).number;
                // A paused replica receives requests that another one answered long ago.
                if number > self.last_requested_change {
                    self.last_requested_change = number;
                    self.pending_change = Some((self.end, number, members.clone()));
                }
            }
            Command::Transfer(_) | Command::Campaign => {}
        }
    }

    fn record_event(&mut self, node: NodeId, event: &Event) {
        match event {
            Event::Answered { ticket, index, answer } => self.record_answer(node, *ticket, *index, *answer),
            Event::Unknown { ticket } => {
                self.counts.unknown += 1;
                self.record_refusal(*ticket);
            }
            Event::Changed { ticket, members } => self.record_change(RequestId::of(*ticket).number, members),
            Event::Leads { term } => {
                self.update_node(node, |state| {
                    state.leads = Some(*term);
                    state.leads_alone = (!state.handles_message).then_some((*term, state.saves));
                });
                self.record_leader(node, *term);
            }
            Event::Follows { .. } => self.update_node(node, |state| state.leads = None),
            Event::Applied(audit) => {
                self.update_node(node, |state| state.applied = state.applied.max(audit.index));
                let found = self.log_audit.record_applied(self.end, node, audit);
                self.record_contradictions(found);
            }
            Event::Restored(restored) => {
                let installed = self.nodes.get(node.index()).is_some_and(|state| !state.is_starting);
                self.counts.snapshots += u64::from(installed);
                self.update_node(node, |state| state.applied = state.applied.max(restored.index));
                let found = self.log_audit.record_restored(self.end, node, restored);
                self.record_contradictions(found);
            }
            Event::Halted { reason } => {
                let text = format!("node {node} has halted: {reason}");
                let violation = self.make_violation(self.end, text);
                self.kept.get_or_insert(violation);
            }
            Event::Refused { ticket, .. } => self.record_refusal(*ticket),
        }
    }

    /// Records a change of members. A leader that was paused reports it late, when the members may
    /// have changed again.
    fn record_change(&mut self, number: u64, members: &Members) {
        self.pending_change.take_if(|(_, pending_number, _)| *pending_number == number);
        if number >= self.last_effective_change {
            self.last_effective_change = number;
            self.counts.changes += u64::from(*members != self.members);
            self.members = members.clone();
        }
    }

    fn update_node(&mut self, node: NodeId, update: impl FnOnce(&mut Node)) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            update(state);
        }
    }

    /// Judges each register separately, because registers are independent.
    fn judge_linearizability(&self, max_steps: u64) -> Verdict {
        let (name, kind) = ("linearizable", Kind::Always);
        match self.history.judge_by_key(&Cell::default(), max_steps, Operation::key) {
            linear::Verdict::Linearizable { .. } => Verdict::judged(name, kind, None),
            linear::Verdict::NotLinearizable(explanation) => {
                Verdict::judged(name, kind, Some(self.linearizability_violation(&explanation)))
            }
            verdict @ linear::Verdict::Undecided { .. } => Verdict::undecided(name, kind, verdict.to_string()),
        }
    }

    fn linearizability_violation(&self, explanation: &linear::Explanation) -> Violation {
        let (time, line) = self.answers.get(&explanation.unexplained).copied().unwrap_or((self.end, self.lines));
        let requested = |id: &OperationId| self.requested.values().find(|requested| requested.id == *id);
        let since = explanation.conflict.iter().filter_map(requested).map(|requested| requested.since).min();
        let text = explanation.to_string().trim_end().to_owned();
        Violation { time, line, since: since.unwrap_or(time), text }
    }

    /// Whether every request was answered long enough ago that all replicas must have applied it.
    fn is_settled(&self) -> bool {
        let answered = self.answers.values().map(|(time, _)| *time).max();
        let is_long_ago = answered.is_some_and(|time| self.end.since(time) >= self.expects.tick.times(SETTLE_TICKS));
        is_long_ago && self.expects.all_faults_end && self.unanswered().is_none()
    }

    fn has_applied_all(&self, member: NodeId) -> bool {
        let last = self.log_audit.last_acknowledged();
        self.nodes.get(member.index()).is_some_and(|state| state.applied >= last)
    }

    /// A majority must finally have applied every acknowledged entry.
    fn not_applied_by_majority(&self) -> Option<Violation> {
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
        Some(self.make_violation(self.end, text))
    }

    /// Every member must finally have applied every acknowledged entry.
    fn lagging_member(&self) -> Option<Violation> {
        if !self.is_settled() {
            return None;
        }
        let Members { voters, learners } = &self.members;
        let member = voters.iter().chain(learners).find(|member| !self.has_applied_all(**member))?;
        let applied = self.nodes.get(member.index()).map_or(0, |state| state.applied);
        let last = self.log_audit.last_acknowledged();
        Some(
            self.make_violation(
                self.end,
                format!("node {member} has applied only index {applied} of {last} at the end"),
            ),
        )
    }

    /// The oldest request or change of members without an answer.
    fn unanswered(&self) -> Option<Violation> {
        let waiting = self.operations.iter().filter(|(_, operation_state)| !operation_state.has_ended());
        if let Some(((client, _), first)) = waiting.min_by_key(|(_, operation_state)| operation_state.since) {
            let ClientOperation { since, operation, .. } = first;
            let text = format!("client {client} requested at {since} to {operation}, and has no answer at the end");
            return Some(self.make_violation(*since, text));
        }
        let answered = self.operations().1;
        if let Some(planned) = self.expects.operations.filter(|planned| *planned > answered) {
            let text = format!("only {answered} of {planned} operations were requested and answered");
            return Some(self.make_violation(Time::ZERO, text));
        }
        let (since, _, members) = self.pending_change.as_ref().filter(|_| self.expects.all_faults_end)?;
        Some(
            self.make_violation(
                *since,
                format!("the operator requested {members} at {since}, which has not taken effect"),
            ),
        )
    }

    fn sometimes(&self) -> impl Iterator<Item = Verdict> {
        let Counts { snapshots, changes, leased, unknown, .. } = self.counts;
        let Sometimes { faults, group, changes: expects_changes, lease } = self.expects.sometimes;
        let all = [
            ("leader-changed", faults, self.leaders.len() > 1),
            ("snapshot-installed", faults && group, snapshots > 0),
            ("fate-unknown", faults && group, unknown > 0),
            ("members-changed", expects_changes, changes > 0),
            ("lease-answered", lease, leased > 0),
        ];
        let expected = all.into_iter().filter(|(_, expected, _)| *expected);
        expected.map(|(name, _, happened)| Verdict::sometimes(name, happened))
    }
}

/// All attempts at a change share one key.
fn history_key(request: RequestId, operation: &Operation) -> RequestId {
    if operation.is_change() { RequestId { attempt: 0, ..request } } else { request }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = vec![
            self.judge_linearizability(linear::DEFAULT_STEPS),
            Verdict::judged("kept", Kind::Always, self.kept.clone().or_else(|| self.not_applied_by_majority())),
            Verdict::judged("equal", Kind::Always, self.equal.clone()),
            Verdict::judged("log-time", Kind::Always, self.log_time.clone()),
            Verdict::judged("one-leader", Kind::Always, self.one_leader.clone()),
            Verdict::judged("answered", Kind::Eventually, self.unanswered()),
            Verdict::judged("caught-up", Kind::Eventually, self.lagging_member()),
        ];
        verdicts.extend(self.sometimes());
        verdicts
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
            Moment::Input { node, input, .. } => self.record_input(*node, input),
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } => self.record_event(*node, event),
            // Rule RP-6 answers a read under a lease.
            Moment::Effect { effect: ObservedEffect::Rule { rule: "RP-6", .. }, .. } => self.counts.leased += 1,
            Moment::World { event: WorldEvent::Changed { text }, .. } => self.log_audit.record_clock_change(text),
            Moment::Effect { node, effect: ObservedEffect::Save(_), .. } => {
                self.update_node(*node, |state| state.saves += 1);
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
        let why = undecided.undecided.unwrap();
        assert!(why.starts_with("no order was found or excluded in 1 steps"), "{why}");
    }
}
