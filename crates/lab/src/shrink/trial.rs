//! One run of a candidate: whether the same property fails, and the size of the failure.

use crate::experiment::{FinishedRun, mark_undecided, simulate};
use crate::family::{FamilyLab, Judge, JudgingLevel};
use crate::spec::Spec;
use quorate_core::{Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers};
use quorate_journal::property::{Kind, Verdict, Violation};
use quorate_journal::role::{Role, Roles};
use quorate_journal::settings::Direction;
use quorate_journal::workload::Ending;
use std::collections::BTreeMap;

/// How a run fails.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) violation: Violation,
    /// Number of inputs up to the violation, without first starts.
    pub(super) events: u64,
    /// Number of commands among them.
    pub(super) commands: u64,
    pub(super) excuses: Excuses,
    /// The nodes that became chosen up to the violation, with times.
    pub(super) chosen: Vec<(Time, NodeId)>,
    counts: Counts,
}

/// Excuses for the failure of a liveness property. A smaller run must not have an excuse that the
/// first run had not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Excuses {
    /// The time ran out.
    stopped: bool,
    down: bool,
    paused: bool,
    /// A node holds what others want, and was never asked to release it.
    busy: bool,
    /// A partition, a bad link or a full disk never ended.
    open: bool,
}

impl Excuses {
    /// Whether the other run has all of these excuses too.
    pub(super) fn are_among(self, other: Self) -> bool {
        let all = |excuses: Self| [excuses.stopped, excuses.down, excuses.paused, excuses.busy, excuses.open];
        all(self).into_iter().zip(all(other)).all(|(mine, theirs)| !mine || theirs)
    }
}

/// Runs a candidate. Returns its first failure, or that of the named property.
pub(super) fn fails<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> Option<Failure> {
    tried(spec, property).0
}

/// Like [`fails`], with the total number of inputs.
pub(super) fn tried<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> (Option<Failure>, u64) {
    let judges = F::properties(spec, JudgingLevel::Verdicts);
    let FinishedRun { ending, events, observer: (tally, judges) } =
        simulate(spec, (Tally::<F>::new(spec.nodes), judges));
    let verdicts = mark_undecided(judges.verdicts(), spec.cut_short(ending, events));
    (failure(tally, &verdicts, property, ending == Ending::Stopped), events)
}

/// Returns the failure that the verdicts show, if there is any.
pub(super) fn failure<F: FamilyLab>(
    tally: Tally<F>,
    verdicts: &[Verdict],
    property: Option<&str>,
    stopped: bool,
) -> Option<Failure> {
    let wanted = |verdict: &&Verdict| match property {
        Some(name) => verdict.name == name,
        None => verdict.kind != Kind::Sometimes,
    };
    let verdict = verdicts.iter().filter(|verdict| verdict.holds == Some(false)).find(wanted)?;
    let violation = verdict.violation.clone()?;
    let excuses = tally.excuses(stopped);
    let before = |lines: &[u64]| lines.partition_point(|line| *line <= violation.line) as u64;
    let chosen = tally.chosen.iter().filter(|(line, _, _)| *line <= violation.line);
    Some(Failure {
        name: verdict.name,
        kind: verdict.kind,
        events: before(&tally.inputs),
        commands: before(&tally.commands),
        excuses,
        chosen: chosen.map(|(_, time, node)| (*time, *node)).collect(),
        counts: tally.counts,
        violation,
    })
}

impl Failure {
    /// Whether this direction had an effect.
    pub(super) fn used(&self, direction: &Direction) -> bool {
        self.counts.contains(direction)
    }

    pub(super) fn timers(&self, node: NodeId) -> &[Time] {
        self.counts.timers.get(&node).map_or(&[], Vec::as_slice)
    }
}

/// What happened in a run, so that directions without effect can be removed.
#[derive(Clone, Debug, Default)]
struct Counts {
    messages: BTreeMap<(NodeId, NodeId), u64>,
    timers: BTreeMap<NodeId, Vec<Time>>,
    saves: BTreeMap<NodeId, u64>,
}

impl Counts {
    fn contains(&self, direction: &Direction) -> bool {
        let (count, number) = match direction {
            Direction::Message { from, to, number, .. } => (self.messages.get(&(*from, *to)), number),
            Direction::Timer { node, number, .. } => {
                return self.timers.get(node).is_some_and(|set| *number <= set.len() as u64);
            }
            // There are at most as many syncs as saves.
            Direction::Sync { node, number, .. } => (self.saves.get(node), number),
        };
        count.is_some_and(|count| number <= count)
    }
}

/// Counts events, with their lines.
pub(super) struct Tally<F: FamilyLab> {
    lines: u64,
    inputs: Vec<u64>,
    commands: Vec<u64>,
    chosen: Vec<(u64, Time, NodeId)>,
    counts: Counts,
    /// Faults of the network and of disks that have not ended.
    open: Vec<String>,
    roles: Roles<F::Command, F::Event>,
}

impl<F: FamilyLab> Tally<F> {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            lines: 0,
            inputs: Vec::new(),
            commands: Vec::new(),
            chosen: Vec::new(),
            counts: Counts::default(),
            open: Vec::new(),
            roles: Roles::new(nodes, F::role_after),
        }
    }

    /// The excuses at the end of the run.
    fn excuses(&self, stopped: bool) -> Excuses {
        let any = |role: Role| self.roles.all().any(|current| current == role);
        Excuses {
            stopped,
            down: any(Role::Down),
            paused: any(Role::Paused),
            busy: F::CHOSEN_NODE_BLOCKS_OTHERS && any(Role::Chosen),
            open: !self.open.is_empty(),
        }
    }

    fn record_send(&mut self, from: NodeId, to: NodeId) {
        *self.counts.messages.entry((from, to)).or_default() += 1;
    }

    fn record_effect(&mut self, time: Time, node: NodeId, effect: &ObservedEffect<'_, F::Event>) {
        match effect {
            ObservedEffect::Send { to, .. } => self.record_send(node, *to),
            ObservedEffect::Multicast { to, sent } => {
                for (to, _) in receivers(to, sent.id) {
                    self.record_send(node, to);
                }
            }
            ObservedEffect::SetTimer { .. } => self.counts.timers.entry(node).or_default().push(time),
            ObservedEffect::Save(_) => *self.counts.saves.entry(node).or_default() += 1,
            _ => {}
        }
    }

    fn record_change(&mut self, text: &str) {
        if text == "heal" {
            self.open.retain(|open| !open.starts_with("cut"));
        } else if let Some(ended) = text.strip_prefix("end of ") {
            if let Some(index) = self.open.iter().position(|open| open == ended) {
                self.open.remove(index);
            }
        } else if ["cut", "link", "disk"].iter().any(|word| text.starts_with(word)) && !text.ends_with("fails") {
            self.open.push(text.to_owned());
        }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for Tally<F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
            Moment::Input { input: ObservedInput::Start { incarnation: Incarnation::FIRST, .. }, .. } => {}
            Moment::Input { input, .. } => {
                self.inputs.push(self.lines);
                if let ObservedInput::Command(_) = input {
                    self.commands.push(self.lines);
                }
            }
            Moment::Effect { time, node, effect } => {
                self.record_effect(*time, *node, effect);
                let before = self.roles.role(*node);
                self.roles.observe(moment);
                if self.roles.role(*node) == Role::Chosen && before != Role::Chosen {
                    self.chosen.push((self.lines, *time, *node));
                }
                return;
            }
            Moment::World { event: WorldEvent::Changed { text }, .. } => self.record_change(text),
            Moment::World { .. } => {}
        }
        self.roles.observe(moment);
    }
}
