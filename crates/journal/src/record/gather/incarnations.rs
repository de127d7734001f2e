//! The incarnations of nodes on a common time scale, with the faults that their parent process
//! injected.

use super::GatherReport;
use super::arrange::NodePlan;
use super::survey::{IncarnationSurvey, ReceiptRange};
use crate::record::LiveHeader;
use crate::record::line::WorldLine;
use quorate_core::{Incarnation, NodeId, Time};
use std::collections::BTreeMap;

/// One incarnation of a node, as it will be merged.
pub(super) struct IncarnationPlan {
    pub(super) file: String,
    /// Index of its journal among the sources of the gathering.
    pub(super) source_index: usize,
    pub(super) node: NodeId,
    pub(super) incarnation: Incarnation,
    /// The number of its last complete line.
    pub(super) last_line: u64,
    /// When it started, on the common scale; `None` if it never did.
    pub(super) started_at: Option<Time>,
    pub(super) shift: Shift,
    /// Number of messages that earlier incarnations of the node sent.
    pub(super) sent_before: u64,
    /// Number of messages that this incarnation sent.
    pub(super) sent: u64,
    /// For each incarnation of a sender, the first and the last message received from it.
    pub(super) received: BTreeMap<(NodeId, Incarnation), ReceiptRange>,
    pub(super) shut_down_cleanly: bool,
    /// When the parent process killed it, if the parent recorded that.
    pub(super) killed_at: Option<Time>,
    /// Number of its writes that the next incarnation did not find. If the next one found its disk
    /// blank, only unconfirmed writes count.
    pub(super) lost_writes: u64,
    disk: DiskSurvey,
}

/// The writes that an incarnation found on its disk and those that it made.
struct DiskSurvey {
    /// Number of writes of earlier incarnations that it found.
    found_writes: u64,
    /// Whether the disk was empty although the node had saved before.
    is_blank: bool,
    /// Number of its own writes, durable or not.
    issued_writes: u64,
    /// Number of its own writes that the disk confirmed.
    confirmed_writes: u64,
}

/// A pause of a node, without an end if the node never resumed.
#[derive(Clone, Copy)]
pub(super) struct Pause {
    pub(super) from: Time,
    pub(super) to: Option<Time>,
}

impl IncarnationPlan {
    pub(super) fn new(file: String, source_index: usize, survey: IncarnationSurvey, shift: Shift) -> Self {
        let IncarnationSurvey {
            live,
            node,
            last_line,
            start,
            shut_down_cleanly,
            sent_messages: sent,
            issued_writes,
            confirmed_writes,
            received,
            ..
        } = survey;
        let is_blank = start.is_some_and(|(_, is_blank)| is_blank);
        Self {
            file,
            source_index,
            node,
            incarnation: live.incarnation,
            last_line,
            started_at: start.map(|(time, _)| shift.apply(time)),
            shift,
            sent_before: 0,
            sent,
            received,
            shut_down_cleanly,
            killed_at: None,
            lost_writes: 0,
            disk: DiskSurvey { found_writes: live.found_writes, is_blank, issued_writes, confirmed_writes },
        }
    }
}

/// Adds an injected fault to the plan of its node. Returns a warning if the fault is a crash
/// before the node's first start. A resume without a pause is ignored.
pub(super) fn assign_fault(nodes: &mut [NodePlan], time: Time, event: &WorldLine<String>) -> Option<String> {
    match event {
        WorldLine::Paused { node } => nodes.get_mut(node.index())?.pauses.push_back(Pause { from: time, to: None }),
        WorldLine::Resumed { node } => {
            let pause = nodes.get_mut(node.index())?.pauses.back_mut().filter(|pause| pause.to.is_none())?;
            pause.to = Some(time);
        }
        WorldLine::Crashed { node, .. } => {
            let started = |plan: &&mut IncarnationPlan| plan.started_at.is_some_and(|start| start <= time);
            let Some(plan) = nodes.get_mut(node.index())?.incarnations.iter_mut().rev().find(started) else {
                return Some(format!("A crash of node {node} is recorded before its first start; it is ignored."));
            };
            plan.killed_at.get_or_insert(time);
        }
        // `arrange` handles changes itself, and the survey rejects the others.
        WorldLine::Lost { .. } | WorldLine::Duplicated { .. } | WorldLine::Ended { .. } | WorldLine::Changed(_) => {}
    }
    None
}

/// Computes how many writes each incarnation of a node lost, and reports losses that a correct disk
/// does not allow.
pub(super) fn check_disks(incarnations: &mut [IncarnationPlan], report: &mut GatherReport) {
    if let Some(first) = incarnations.first().filter(|first| first.disk.found_writes > 0 && !first.disk.is_blank) {
        report.warnings.push(format!(
            "Incarnation {} of node {} found {} writes of earlier incarnations, whose journals are missing: the result can \
             be read but not replayed.",
            first.incarnation, first.node, first.disk.found_writes
        ));
    }
    for index in 1..incarnations.len() {
        let Some([previous, next]) = incarnations.get_mut(index - 1..=index) else { return };
        let pending = previous.disk.issued_writes.saturating_sub(previous.disk.confirmed_writes);
        let durable = previous.disk.found_writes.saturating_add(previous.disk.confirmed_writes);
        let time = next.started_at.unwrap_or(Time::ZERO);
        if next.disk.is_blank {
            // The disk was replaced, perhaps on purpose. A replay empties it at the restart, so
            // only the pending writes count as lost in the crash.
            previous.lost_writes = pending;
            report.record_forgotten_writes(durable, time, || {
                format!("node {} found its disk empty, although {durable} writes were durable", next.node)
            });
            continue;
        }
        let survived = next.disk.found_writes.checked_sub(previous.disk.found_writes);
        previous.lost_writes = previous.disk.issued_writes.saturating_sub(survived.unwrap_or(0));
        let reader = format!("incarnation {} of node {}", next.incarnation, next.node);
        if previous.lost_writes > pending {
            let text = format!("{durable} writes were durable, but {reader} found {}", next.disk.found_writes);
            report.warnings.push(format!("The disk of node {} lost confirmed writes: {text}.", next.node));
            report.record_forgotten_writes(previous.lost_writes - pending, time, || text);
        } else if survived.is_some_and(|survived| survived > previous.disk.issued_writes) {
            report.warnings.push(format!(
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
    boot_times: BTreeMap<String, i128>,
    /// The wall-clock time of 0 on the common scale.
    reference: i128,
}

/// The offset from a journal's times to the common scale, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Shift(i64);

impl TimeScale {
    /// Creates a scale for the journals with these headers. Its 0 is the first journal's time 0.
    pub(super) fn new<'a>(live_headers: impl Iterator<Item = &'a LiveHeader>) -> Self {
        let mut scale = Self { boot_times: BTreeMap::new(), reference: 0 };
        for (index, live) in live_headers.enumerate() {
            let boot_time = i128::from(live.wall_clock_offset) - i128::from(live.nanos_since_boot);
            let boot_time = *scale.boot_times.entry(live.boot.clone()).or_insert(boot_time);
            if index == 0 {
                scale.reference = boot_time + i128::from(live.nanos_since_boot);
            }
        }
        scale
    }

    pub(super) fn boots(&self) -> usize {
        self.boot_times.len()
    }

    /// Moves the scale so that this instant is 0.
    pub(super) fn with_zero_at(self, instant: i64) -> Self {
        Self { reference: self.reference + i128::from(instant), ..self }
    }

    /// Returns the offset of a journal's times.
    pub(super) fn shift(&self, live: &LiveHeader) -> Shift {
        let boot_time = self.boot_times.get(&live.boot).copied().unwrap_or(0);
        let shift = boot_time + i128::from(live.nanos_since_boot) - self.reference;
        Shift(i64::try_from(shift).unwrap_or(if shift < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl Shift {
    /// Converts a time of the journal to the common scale.
    pub(super) fn apply(self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_add(self.0))
    }
}
