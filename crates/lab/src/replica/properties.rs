//! What a replicated log promises its clients.

use super::audit::{Contradiction, Ledger};
use super::cell::{Cell, Operation, Said};
use super::ticket::Asking;
use super::{Command, Event};
use crate::family::Judge;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{Done, Happening, Moment, Observer, Taken};
use quorate_journal::property::{Kind, Verdict, Violation};
use quorate_replica::registers::Answer;
use quorate_replica::{Members, Proposal, Ticket};
use quorate_sim::linear::{self, Client, History, OperationId};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(super) struct Expectations {
    pub(super) nodes: usize,
    pub(super) founders: Members,
    /// How many operations clients mean to have done; unknown where a script says what they do.
    pub(super) operations: Option<u64>,
    pub(super) tick: Duration,
    /// Whether every fault ends, so that everything must be applied by a majority in the end.
    pub(super) ends_calm: bool,
    pub(super) sometimes: Sometimes,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sometimes {
    pub(super) faults: bool,
    pub(super) group: bool,
    pub(super) changes: bool,
    pub(super) lease: bool,
}

pub struct Properties {
    expects: Expectations,
    history: History<Cell>,
    /// Where each change and each attempt to read stands in the history.
    asked: BTreeMap<Asking, Asked>,
    /// Operations of clients, each with whether any of its attempts was answered.
    operations: BTreeMap<(u64, u64), Operating>,
    /// When and where in the journal each operation of the history was answered.
    answers: BTreeMap<OperationId, (Time, u64)>,
    /// The last change of members that was asked for and has not come about.
    changing: Option<(Time, u64, Members)>,
    /// The last change that was asked for, and the last that came about.
    last_change: u64,
    changed: u64,
    ledger: Ledger,
    nodes: Vec<Node>,
    leaders: BTreeMap<u64, NodeId>,
    members: Members,
    counts: Counts,
    end: Time,
    lines: u64,
    kept: Option<Violation>,
    equal: Option<Violation>,
    log_time: Option<Violation>,
    one_leader: Option<Violation>,
}

struct Asked {
    id: OperationId,
    since: Time,
}

#[derive(Clone, Copy)]
struct Operating {
    node: NodeId,
    since: Time,
    operation: Operation,
    is_answered: bool,
    /// Refused, or its fate unknown, and nobody asks again.
    is_given_up: bool,
}

impl Operating {
    fn is_over(&self) -> bool {
        self.is_answered || self.is_given_up
    }
}

#[derive(Clone, Debug, Default)]
struct Node {
    leads: Option<u64>,
    /// The last index that it is known to have applied, in any life since it last lost its disk.
    applied: u64,
    /// Whether the step under way is its first.
    is_starting: bool,
    /// Whether the step under way is about a message.
    hears: bool,
    saves: u64,
    /// The term that it leads in by its own vote alone, until so many saves are durable.
    alone: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) leaders: u64,
    pub(super) snapshots: u64,
    pub(super) changes: u64,
    pub(super) leased: u64,
    pub(super) unknown: u64,
}

/// A client's last answers may not have reached all replicas before this many ticks.
const SETTLED: u64 = 50;

impl Properties {
    pub(super) fn new(expects: Expectations) -> Self {
        Self {
            history: History::new(),
            asked: BTreeMap::new(),
            operations: BTreeMap::new(),
            answers: BTreeMap::new(),
            changing: None,
            last_change: 0,
            changed: 0,
            ledger: Ledger::new(expects.tick),
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

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn members(&self) -> &Members {
        &self.members
    }

    pub(super) fn operations(&self) -> (u64, u64) {
        let answered = self.operations.values().filter(|operating| operating.is_answered).count();
        (self.operations.len() as u64, answered as u64)
    }

    pub(super) fn term(&self) -> u64 {
        self.leaders.last_key_value().map_or(0, |(term, _)| *term)
    }

    fn breach(&self, since: Time, text: String) -> Violation {
        Violation { time: self.end, line: self.lines, since, text }
    }

    /// An operation begins when a replica first takes it: before that it cannot have happened. All attempts at a change are
    /// one operation, for it is done once; every attempt to read is one of its own, and each answer must fit.
    fn asks(&mut self, node: NodeId, ticket: Ticket, operation: Operation) {
        let who = Asking::of(ticket);
        let (since, key) = (self.end, history_key(who, &operation));
        self.operations.entry((who.client, who.number)).or_insert(Operating {
            node,
            since,
            operation,
            is_answered: false,
            is_given_up: false,
        });
        if !self.asked.contains_key(&key) {
            let client = Client(u32::try_from(who.client).unwrap_or(u32::MAX));
            let id = self.history.invoke(client, since, operation);
            self.asked.insert(key, Asked { id, since });
        }
    }

    fn answers(&mut self, node: NodeId, ticket: Ticket, index: u64, answer: Option<Answer>) {
        let who = Asking::of(ticket);
        let Some(operating) = self.operations.get_mut(&(who.client, who.number)) else { return };
        // A late copy of a request whose client has gone on is not answered.
        let Some(answer) = answer else { return };
        operating.is_answered = true;
        let is_change = operating.operation.is_change();
        let key = history_key(who, &operating.operation);
        if let Some(Asked { id, .. }) = self.asked.get(&key)
            && !self.answers.contains_key(id)
            && self.history.answer(*id, self.end, Said(answer)).is_ok()
        {
            self.answers.insert(*id, (self.end, self.lines));
        }
        let leads = self.nodes.get(node.index()).and_then(|node| node.leads);
        if let Some(term) = leads.filter(|_| is_change) {
            let found = self.ledger.acknowledges(node, term, index);
            self.contradicted(found);
        }
    }

    /// A request was refused, or its fate is unknown. Those whom a script speaks for do not ask again.
    fn gives_up(&mut self, ticket: Ticket) {
        let who = Asking::of(ticket);
        if self.expects.operations.is_none()
            && let Some(operating) = self.operations.get_mut(&(who.client, who.number))
        {
            operating.is_given_up = true;
        }
    }

    fn contradicted(&mut self, found: impl IntoIterator<Item = Contradiction>) {
        for contradiction in found {
            let (place, text) = match contradiction {
                Contradiction::Kept(text) => (&mut self.kept, text),
                Contradiction::Equal(text) => (&mut self.equal, text),
                Contradiction::LogTime(text) => (&mut self.log_time, text),
            };
            place.get_or_insert(Violation { time: self.end, line: self.lines, since: self.end, text });
        }
    }

    fn leads(&mut self, node: NodeId, term: u64) {
        self.counts.leaders += 1;
        let first = *self.leaders.entry(term).or_insert(node);
        if first != node && self.one_leader.is_none() {
            let text = format!("node {node} leads in term {term}, in which node {first} led");
            self.one_leader = Some(self.breach(self.end, text));
        }
    }

    /// Who leads by its own vote alone and goes down before that vote is on its disk has led nobody: it sent nothing.
    fn crashes(&mut self, node: NodeId) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        state.leads = None;
        if self.expects.operations.is_none() {
            // Its clients will never know, and those whom a script speaks for do not ask again.
            let waiting = self.operations.values_mut().filter(|operating| operating.node == node);
            waiting.for_each(|operating| operating.is_given_up = true);
        }
        if let Some((term, _)) = state.alone.take()
            && self.leaders.get(&term) == Some(&node)
        {
            self.leaders.remove(&term);
        }
    }

    fn taken(&mut self, node: NodeId, input: &Taken<'_, Command>) {
        if let Taken::Start { .. } = input {
            self.ledger.begins(self.end);
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.is_starting = matches!(input, Taken::Start { .. });
            state.hears = matches!(input, Taken::Message { .. });
            match input {
                Taken::Start { blank, .. } => {
                    let applied = if *blank { 0 } else { state.applied };
                    *state = Node { is_starting: true, applied, ..Node::default() };
                }
                Taken::Saved(count) => {
                    state.alone.take_if(|(_, saves)| *saves <= *count);
                }
                _ => {}
            }
        }
        let Taken::Command(command) = input else { return };
        match command {
            Command::Propose(proposals) => {
                for Proposal { ticket, command } in proposals {
                    self.asks(node, *ticket, Operation::Change(command.command));
                }
            }
            Command::Query { ticket, query } => self.asks(node, *ticket, Operation::Read { key: query.key }),
            Command::Change { ticket, members } => {
                let number = Asking::of(*ticket).number;
                // A paused replica takes questions that were answered elsewhere long ago.
                if number > self.last_change {
                    self.last_change = number;
                    self.changing = Some((self.end, number, members.clone()));
                }
            }
            Command::Transfer(_) | Command::Campaign => {}
        }
    }

    fn told(&mut self, node: NodeId, event: &Event) {
        match event {
            Event::Answered { ticket, index, answer } => self.answers(node, *ticket, *index, *answer),
            Event::Unknown { ticket } => {
                self.counts.unknown += 1;
                self.gives_up(*ticket);
            }
            Event::Changed { ticket, members } => self.changes(Asking::of(*ticket).number, members),
            Event::Leads { term } => {
                self.set(node, |state| {
                    state.leads = Some(*term);
                    state.alone = (!state.hears).then_some((*term, state.saves));
                });
                self.leads(node, *term);
            }
            Event::Follows { .. } => self.set(node, |state| state.leads = None),
            Event::Applied(audit) => {
                self.set(node, |state| state.applied = state.applied.max(audit.index));
                let found = self.ledger.applies(self.end, node, audit);
                self.contradicted(found);
            }
            Event::Restored(restored) => {
                let installed = self.nodes.get(node.index()).is_some_and(|state| !state.is_starting);
                self.counts.snapshots += u64::from(installed);
                self.set(node, |state| state.applied = state.applied.max(restored.index));
                let found = self.ledger.restores(self.end, node, restored);
                self.contradicted(found);
            }
            Event::Halted { reason } => {
                let text = format!("node {node} takes no further part: {reason}");
                let breach = self.breach(self.end, text);
                self.kept.get_or_insert(breach);
            }
            Event::Refused { ticket, .. } => self.gives_up(*ticket),
        }
    }

    /// The members changed. A leader that stood still tells of it late, when they have changed again.
    fn changes(&mut self, number: u64, members: &Members) {
        self.changing.take_if(|(_, changing, _)| *changing == number);
        if number >= self.changed {
            self.changed = number;
            self.counts.changes += u64::from(*members != self.members);
            self.members = members.clone();
        }
    }

    fn set(&mut self, node: NodeId, set: impl FnOnce(&mut Node)) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            set(state);
        }
    }

    /// Each register alone: registers have nothing to do with each other.
    fn linearizable(&self, steps: u64) -> Verdict {
        let (name, kind) = ("linearizable", Kind::Always);
        match self.history.judge_by_key(&Cell::default(), steps, Operation::key) {
            linear::Verdict::Linearizable { .. } => Verdict::judged(name, kind, None),
            linear::Verdict::NotLinearizable(explanation) => {
                Verdict::judged(name, kind, Some(self.contradiction(&explanation)))
            }
            verdict @ linear::Verdict::Undecided { .. } => Verdict::undecided(name, kind, verdict.to_string()),
        }
    }

    fn contradiction(&self, explanation: &linear::Explanation) -> Violation {
        let (time, line) = self.answers.get(&explanation.misfit).copied().unwrap_or((self.end, self.lines));
        let asked = |id: &OperationId| self.asked.values().find(|asked| asked.id == *id);
        let since = explanation.conflict.iter().filter_map(asked).map(|asked| asked.since).min();
        let text = explanation.to_string().trim_end().to_owned();
        Violation { time, line, since: since.unwrap_or(time), text }
    }

    fn is_settled(&self) -> bool {
        let answered = self.answers.values().map(|(time, _)| *time).max();
        let is_late = answered.is_some_and(|time| self.end.since(time) >= self.expects.tick.times(SETTLED));
        is_late && self.expects.ends_calm && self.unanswered().is_none()
    }

    fn has_all(&self, member: NodeId) -> bool {
        let last = self.ledger.last_acknowledged();
        self.nodes.get(member.index()).is_some_and(|state| state.applied >= last)
    }

    /// In the end, what was acknowledged is applied by a majority.
    fn forgotten(&self) -> Option<Violation> {
        let voters = &self.members.voters;
        let holders = voters.iter().filter(|voter| self.has_all(**voter)).count();
        if !self.is_settled() || 2 * holders > voters.len() {
            return None;
        }
        let last = self.ledger.last_acknowledged();
        let text = format!(
            "index {last} was acknowledged, but only {holders} of {} voters have applied it at the end",
            voters.len()
        );
        Some(self.breach(self.end, text))
    }

    /// In the end, every member has applied what was acknowledged.
    fn behind(&self) -> Option<Violation> {
        if !self.is_settled() {
            return None;
        }
        let Members { voters, learners } = &self.members;
        let member = voters.iter().chain(learners).find(|member| !self.has_all(**member))?;
        let applied = self.nodes.get(member.index()).map_or(0, |state| state.applied);
        let last = self.ledger.last_acknowledged();
        Some(
            self.breach(
                self.end,
                format!("node {member} has applied no more than index {applied} of {last} at the end"),
            ),
        )
    }

    fn unanswered(&self) -> Option<Violation> {
        let waiting = self.operations.iter().filter(|(_, operating)| !operating.is_over());
        if let Some(((client, _), first)) = waiting.min_by_key(|(_, operating)| operating.since) {
            let Operating { since, operation, .. } = first;
            let text = format!("client {client} asked at {since} to {operation}, and has no answer at the end");
            return Some(self.breach(*since, text));
        }
        let answered = self.operations().1;
        if let Some(wanted) = self.expects.operations.filter(|wanted| *wanted > answered) {
            let text = format!("only {answered} of {wanted} operations were asked and answered");
            return Some(self.breach(Time::ZERO, text));
        }
        let (since, _, members) = self.changing.as_ref().filter(|_| self.expects.ends_calm)?;
        Some(self.breach(*since, format!("the operator asked at {since} for {members}, which has not come about")))
    }

    fn sometimes(&self) -> impl Iterator<Item = Verdict> {
        let Counts { snapshots, changes, leased, unknown, .. } = self.counts;
        let Sometimes { faults, group, changes: changing, lease } = self.expects.sometimes;
        let all = [
            ("leader-changed", faults, self.leaders.len() > 1),
            ("snapshot-installed", faults && group, snapshots > 0),
            ("fate-unknown", faults && group, unknown > 0),
            ("members-changed", changing, changes > 0),
            ("lease-answered", lease, leased > 0),
        ];
        let expected = all.into_iter().filter(|(_, expected, _)| *expected);
        expected.map(|(name, _, happened)| Verdict::sometimes(name, happened))
    }
}

/// All attempts at a change share one key.
fn history_key(who: Asking, operation: &Operation) -> Asking {
    if operation.is_change() { Asking { attempt: 0, ..who } } else { who }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = vec![
            self.linearizable(linear::STEPS),
            Verdict::judged("kept", Kind::Always, self.kept.clone().or_else(|| self.forgotten())),
            Verdict::judged("equal", Kind::Always, self.equal.clone()),
            Verdict::judged("log-time", Kind::Always, self.log_time.clone()),
            Verdict::judged("one-leader", Kind::Always, self.one_leader.clone()),
            Verdict::judged("answered", Kind::Eventually, self.unanswered()),
            Verdict::judged("caught-up", Kind::Eventually, self.behind()),
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
            Moment::Input { node, input, .. } => self.taken(*node, input),
            Moment::Effect { node, effect: Done::Emit(event), .. } => self.told(*node, event),
            Moment::Effect { effect: Done::Rule { rule: "RP-6", .. }, .. } => self.counts.leased += 1,
            Moment::World { what: Happening::Changed { text }, .. } => self.ledger.clock_changes(text),
            Moment::Effect { node, effect: Done::Save(_), .. } => self.set(*node, |state| state.saves += 1),
            Moment::World { what: Happening::Crashed { node, .. } | Happening::Ended { node }, .. } => {
                self.crashes(*node);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::play;
    use crate::family::{Care, JudgeFamily};
    use crate::replica::Replica;
    use crate::spec::Spec;
    use quorate_sim::linear;

    /// Nobody may take it for broken, nor for good.
    #[test]
    fn a_search_that_is_given_up_leaves_the_property_undecided() {
        let spec = Spec::<Replica>::named("replica").unwrap();
        let properties = play(&spec, Replica::properties(&spec, Care::Verdicts)).observer;
        assert_eq!(properties.linearizable(linear::STEPS).holds, Some(true));
        let open = properties.linearizable(1);
        assert_eq!((open.holds, open.is_breach(), &open.violation), (None, false, &None));
        let why = open.undecided.unwrap();
        assert!(why.starts_with("no order was found or excluded in 1 steps"), "{why}");
    }
}
