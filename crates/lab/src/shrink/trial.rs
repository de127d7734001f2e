//! Runs a candidate, which may replace the best run so far, and records how it fails.

use crate::experiment::{FinishedRun, mark_undecided, simulate};
use crate::family::{FamilyLab, Judge, JudgingLevel};
use crate::spec::Spec;
use quorate_core::{Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers};
use quorate_journal::property::{PropertyKind, Verdict, Violation};
use quorate_journal::role::{Role, Roles};
use quorate_journal::settings::Direction;
use quorate_journal::workload::Ending;
use std::collections::BTreeMap;

/// How a run fails.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The name of the violated property.
    pub(super) property: &'static str,
    pub(super) kind: PropertyKind,
    pub(super) violation: Violation,
    /// Number of inputs up to the violation, without the first start of each node.
    pub(super) events: u64,
    /// Number of commands among them.
    pub(super) commands: u64,
    /// Number of faults of the whole run; 0 if the run was read from a journal.
    pub(super) faults: u64,
    pub(super) blockers: ProgressBlockers,
    /// The nodes that became leader or holder ([`Role::Chosen`]) up to the violation, with times.
    pub(super) chosen_nodes: Vec<(Time, NodeId)>,
    counts: ChoiceCounts,
}

/// Circumstances at the end of a run that can keep a liveness property from holding, although the
/// algorithm is correct. A candidate must not have one that the run to shrink did not have: its
/// failure might have that cause instead of the bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgressBlockers {
    is_out_of_time: bool,
    has_down_node: bool,
    has_paused_node: bool,
    /// A node holds the resource that others request, and its client never releases it.
    has_holder: bool,
    /// A partition, a bad link or a full disk never ended.
    has_lasting_fault: bool,
}

impl ProgressBlockers {
    /// Whether the other run has all of these blockers too.
    pub(super) fn is_subset_of(self, other: Self) -> bool {
        let flags = |blockers: Self| {
            let Self { is_out_of_time, has_down_node, has_paused_node, has_holder, has_lasting_fault } = blockers;
            [is_out_of_time, has_down_node, has_paused_node, has_holder, has_lasting_fault]
        };
        flags(self).into_iter().zip(flags(other)).all(|(mine, theirs)| !mine || theirs)
    }
}

/// Runs a candidate. Returns its first failure, or the failure of the named property, if any.
pub(super) fn find_failure<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> Option<Failure> {
    find_failure_and_count(spec, property).0
}

/// Like [`find_failure`]; also returns the total number of inputs of the run.
pub(super) fn find_failure_and_count<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> (Option<Failure>, u64) {
    let judges = F::properties(spec, JudgingLevel::Verdicts);
    let FinishedRun { ending, inputs, faults, observer: (recorder, judges) } =
        simulate(spec, (FailureRecorder::<F>::new(spec.nodes), judges));
    let verdicts = mark_undecided(judges.verdicts(), spec.cut_short_reason(ending, inputs));
    let failure = first_failure(recorder, &verdicts, property, ending == Ending::Stopped);
    (failure.map(|failure| Failure { faults: faults.len() as u64, ..failure }), inputs)
}

/// Returns the first failure that the verdicts show, or the failure of the named property, if any.
/// `is_out_of_time` tells whether the run was stopped at a limit, usually the time limit.
pub(super) fn first_failure<F: FamilyLab>(
    recorder: FailureRecorder<F>,
    verdicts: &[Verdict],
    property: Option<&str>,
    is_out_of_time: bool,
) -> Option<Failure> {
    let is_wanted = |verdict: &&Verdict| match property {
        Some(name) => verdict.name == name,
        None => verdict.kind != PropertyKind::Sometimes,
    };
    let verdict = verdicts.iter().filter(|verdict| verdict.holds == Some(false)).find(is_wanted)?;
    let violation = verdict.violation.clone()?;
    let blockers = recorder.blockers(is_out_of_time);
    let up_to_violation = |lines: &[u64]| lines.partition_point(|line| *line <= violation.line) as u64;
    let chosen = recorder.chosen_nodes.iter().filter(|(line, _, _)| *line <= violation.line);
    Some(Failure {
        property: verdict.name,
        kind: verdict.kind,
        events: up_to_violation(&recorder.input_lines),
        commands: up_to_violation(&recorder.command_lines),
        faults: 0,
        blockers,
        chosen_nodes: chosen.map(|(_, time, node)| (*time, *node)).collect(),
        counts: recorder.counts,
        violation,
    })
}

impl Failure {
    /// Whether the run has the message or timer, or may have the sync, to which this direction
    /// applies.
    pub(super) fn has_choice(&self, direction: &Direction) -> bool {
        self.counts.contains(direction)
    }

    /// The times at which the node set its timers, in order.
    pub(super) fn timer_set_times(&self, node: NodeId) -> &[Time] {
        self.counts.timers.get(&node).map_or(&[], Vec::as_slice)
    }
}

/// The numbers of messages of each link and of saves of each node, and when each node set its
/// timers. Directions beyond them have no effect and can be removed.
#[derive(Clone, Debug, Default)]
struct ChoiceCounts {
    messages: BTreeMap<(NodeId, NodeId), u64>,
    timers: BTreeMap<NodeId, Vec<Time>>,
    saves: BTreeMap<NodeId, u64>,
}

impl ChoiceCounts {
    fn contains(&self, direction: &Direction) -> bool {
        let (count, number) = match direction {
            Direction::Message { from, to, number, .. } => (self.messages.get(&(*from, *to)), number),
            Direction::Timer { node, number, .. } => {
                return self.timers.get(node).is_some_and(|set_times| *number <= set_times.len() as u64);
            }
            // There are at most as many syncs as saves.
            Direction::Sync { node, number, .. } => (self.saves.get(node), number),
        };
        count.is_some_and(|count| number <= count)
    }
}

/// Records the events of a run, with their lines, from which [`first_failure`] makes a [`Failure`].
pub(super) struct FailureRecorder<F: FamilyLab> {
    /// Number of trace lines so far: one for each step and each world event.
    lines: u64,
    /// The lines of inputs.
    input_lines: Vec<u64>,
    /// The lines of commands, which are inputs too.
    command_lines: Vec<u64>,
    /// The nodes that took on [`Role::Chosen`], with lines and times.
    chosen_nodes: Vec<(u64, Time, NodeId)>,
    counts: ChoiceCounts,
    /// Faults of the network and of disks that have not ended.
    active_faults: Vec<String>,
    roles: Roles<F::Command, F::Event>,
}

impl<F: FamilyLab> FailureRecorder<F> {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            lines: 0,
            input_lines: Vec::new(),
            command_lines: Vec::new(),
            chosen_nodes: Vec::new(),
            counts: ChoiceCounts::default(),
            active_faults: Vec::new(),
            roles: Roles::new(nodes, F::role_after),
        }
    }

    /// The blockers at the end of the run.
    fn blockers(&self, is_out_of_time: bool) -> ProgressBlockers {
        let has_role = |role: Role| self.roles.all().any(|current| current == role);
        ProgressBlockers {
            is_out_of_time,
            has_down_node: has_role(Role::Down),
            has_paused_node: has_role(Role::Paused),
            has_holder: F::CHOSEN_NODE_BLOCKS_OTHERS && has_role(Role::Chosen),
            has_lasting_fault: !self.active_faults.is_empty(),
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
            self.active_faults.retain(|fault| !fault.starts_with("cut"));
        } else if let Some(ended) = text.strip_prefix("end of ") {
            if let Some(index) = self.active_faults.iter().position(|fault| fault == ended) {
                self.active_faults.remove(index);
            }
        // A failing disk (`disk 1 fails`) crashes its node, which counts as a node that is down.
        } else if ["cut", "link", "disk"].iter().any(|word| text.starts_with(word)) && !text.ends_with("fails") {
            self.active_faults.push(text.to_owned());
        }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for FailureRecorder<F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
            Moment::Input { input: ObservedInput::Start { incarnation: Incarnation::FIRST, .. }, .. } => {}
            Moment::Input { input, .. } => {
                self.input_lines.push(self.lines);
                if let ObservedInput::Command(_) = input {
                    self.command_lines.push(self.lines);
                }
            }
            Moment::Effect { time, node, effect } => {
                self.record_effect(*time, *node, effect);
                let before = self.roles.role(*node);
                self.roles.observe(moment);
                if self.roles.role(*node) == Role::Chosen && before != Role::Chosen {
                    self.chosen_nodes.push((self.lines, *time, *node));
                }
                return;
            }
            Moment::World { event: WorldEvent::Changed { text }, .. } => self.record_change(text),
            Moment::World { .. } => {}
        }
        self.roles.observe(moment);
    }
}
