//! The incarnations of nodes on a common time scale, with the faults injected into them.

use super::Gathered;
use super::arrange::NodePlan;
use super::survey::{IncarnationSurvey, Received};
use crate::record::Live;
use crate::record::line::WorldLine;
use quorate_core::{Incarnation, NodeId, Time};
use std::collections::BTreeMap;

/// One incarnation of a node, as it will be merged.
pub(super) struct IncarnationPlan {
    pub(super) file: String,
    /// Index of its file.
    pub(super) part: usize,
    pub(super) node: NodeId,
    pub(super) incarnation: Incarnation,
    /// The number of its last complete line.
    pub(super) lines: u64,
    /// When it started, on the common scale.
    pub(super) started: Option<Time>,
    pub(super) shift: Shift,
    /// Number of messages that earlier incarnations of the node sent.
    pub(super) base: u64,
    /// Number of messages that this incarnation sent.
    pub(super) sent: u64,
    pub(super) received: BTreeMap<(NodeId, Incarnation), Received>,
    pub(super) ended: bool,
    /// When it was killed, if the parent process recorded it.
    pub(super) killed: Option<Time>,
    /// Number of its writes that the next incarnation did not find.
    pub(super) lost_writes: u64,
    disk: DiskSurvey,
}

/// The writes that an incarnation found on its disk and those that it made.
struct DiskSurvey {
    found: u64,
    blank: bool,
    saves: u64,
    durable: u64,
}

/// A pause of a node, without an end if the node never resumed.
#[derive(Clone, Copy)]
pub(super) struct Pause {
    pub(super) from: Time,
    pub(super) to: Option<Time>,
}

impl IncarnationPlan {
    pub(super) fn new(file: String, part: usize, survey: IncarnationSurvey, shift: Shift) -> Self {
        let IncarnationSurvey { live, node, lines, start, ended, sent, saves, durable, received, .. } = survey;
        let blank = start.is_some_and(|(_, blank)| blank);
        Self {
            file,
            part,
            node,
            incarnation: live.incarnation,
            lines,
            started: start.map(|(time, _)| shift.apply(time)),
            shift,
            base: 0,
            sent,
            received,
            ended,
            killed: None,
            lost_writes: 0,
            disk: DiskSurvey { found: live.writes, blank, saves, durable },
        }
    }
}

/// Adds an injected fault to the plan of its node. Returns a warning if the fault is impossible.
pub(super) fn assign_fault(nodes: &mut [NodePlan], time: Time, event: &WorldLine<String>) -> Option<String> {
    match event {
        WorldLine::Paused { node } => nodes.get_mut(node.index())?.pauses.push_back(Pause { from: time, to: None }),
        WorldLine::Resumed { node } => {
            let pause = nodes.get_mut(node.index())?.pauses.back_mut().filter(|pause| pause.to.is_none())?;
            pause.to = Some(time);
        }
        WorldLine::Crashed { node, .. } => {
            let started = |plan: &&mut IncarnationPlan| plan.started.is_some_and(|start| start <= time);
            let Some(plan) = nodes.get_mut(node.index())?.incarnations.iter_mut().rev().find(started) else {
                return Some(format!("A crash of node {node} is recorded before its first start; it is ignored."));
            };
            plan.killed.get_or_insert(time);
        }
        // The survey rejects all other events of the parent process.
        WorldLine::Lost { .. } | WorldLine::Duplicated { .. } | WorldLine::Ended { .. } | WorldLine::Changed(_) => {}
    }
    None
}

/// Computes how many writes each incarnation lost, and reports losses that a correct disk does not
/// allow.
pub(super) fn check_disks(incarnations: &mut [IncarnationPlan], found: &mut Gathered) {
    if let Some(first) = incarnations.first().filter(|first| first.disk.found > 0 && !first.disk.blank) {
        found.warnings.push(format!(
            "Incarnation {} of node {} found {} writes of earlier incarnations, whose journals are missing: the result can \
             be read but not replayed.",
            first.incarnation, first.node, first.disk.found
        ));
    }
    for index in 1..incarnations.len() {
        let Some([previous, next]) = incarnations.get_mut(index - 1..=index) else { return };
        let pending = previous.disk.saves.saturating_sub(previous.disk.durable);
        let confirmed = previous.disk.found.saturating_add(previous.disk.durable);
        let time = next.started.unwrap_or(Time::ZERO);
        if next.disk.blank {
            // The disk was replaced, which may be intended; the journal does not show that.
            previous.lost_writes = pending;
            found.forget(confirmed, time, || {
                format!("node {} found its disk empty, although {confirmed} writes were durable", next.node)
            });
            continue;
        }
        let survived = next.disk.found.checked_sub(previous.disk.found);
        previous.lost_writes = previous.disk.saves.saturating_sub(survived.unwrap_or(0));
        let reader = format!("incarnation {} of node {}", next.incarnation, next.node);
        if previous.lost_writes > pending {
            let text = format!("{confirmed} writes were durable, but {reader} found {}", next.disk.found);
            found.warnings.push(format!("The disk of node {} lost confirmed writes: {text}.", next.node));
            found.forget(previous.lost_writes - pending, time, || text);
        } else if survived.is_some_and(|survived| survived > previous.disk.saves) {
            found.warnings.push(format!(
                "When {reader} starts, its disk contains more writes than the journals record: the journal of an \
                 incarnation may be missing.",
            ));
        }
    }
}

/// Relates the times of journals. Journals of one boot share a clock; others are related by their
/// wall clocks.
pub(super) struct TimeScale {
    /// For each boot, the wall-clock time of the boot according to its first journal.
    boots: BTreeMap<String, i128>,
    /// The wall-clock time of 0 on the common scale.
    reference: i128,
}

/// The offset from a journal's times to the common scale, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Shift(i64);

impl TimeScale {
    /// Creates a scale for these journals on which the time 0 of the first journal is 0.
    pub(super) fn new<'a>(incarnations: impl Iterator<Item = &'a Live>) -> Self {
        let mut scale = Self { boots: BTreeMap::new(), reference: 0 };
        for (index, live) in incarnations.enumerate() {
            let booted = i128::from(live.offset) - i128::from(live.zero);
            let booted = *scale.boots.entry(live.boot.clone()).or_insert(booted);
            if index == 0 {
                scale.reference = booted + i128::from(live.zero);
            }
        }
        scale
    }

    pub(super) fn boots(&self) -> usize {
        self.boots.len()
    }

    /// Moves the scale so that this instant is 0.
    pub(super) fn with_zero_at(self, instant: i64) -> Self {
        Self { reference: self.reference + i128::from(instant), ..self }
    }

    /// Returns the offset of a journal's times.
    pub(super) fn shift(&self, live: &Live) -> Shift {
        let booted = self.boots.get(&live.boot).copied().unwrap_or(0);
        let shift = booted + i128::from(live.zero) - self.reference;
        Shift(i64::try_from(shift).unwrap_or(if shift < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl Shift {
    /// Converts a time of the journal to the common scale.
    pub(super) fn apply(self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_add(self.0))
    }
}
