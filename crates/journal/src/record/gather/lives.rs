//! The lives of nodes on a common scale of time, and what was done to them.

use super::Gathered;
use super::arrange::NodePlan;
use super::survey::{Heard, LifeSurvey};
use crate::record::Live;
use crate::record::line::WorldLine;
use quorate_core::{Incarnation, NodeId, Time};
use std::collections::BTreeMap;

/// One life of a node, as it will be merged.
pub(super) struct Life {
    pub(super) file: String,
    /// Which of the files it is in.
    pub(super) part: usize,
    pub(super) node: NodeId,
    pub(super) incarnation: Incarnation,
    /// The number of its last whole line.
    pub(super) lines: u64,
    /// When it started, on the common scale.
    pub(super) started: Option<Time>,
    pub(super) shift: Shift,
    /// How many messages the node's earlier lives sent.
    pub(super) base: u64,
    /// How many this one sent.
    pub(super) sent: u64,
    pub(super) heard: BTreeMap<(NodeId, Incarnation), Heard>,
    pub(super) ended: bool,
    /// When it was killed, if somebody told.
    pub(super) killed: Option<Time>,
    /// How many of its writes the next life did not find.
    pub(super) lost_writes: u64,
    disk: DiskSurvey,
}

/// What a life found on its disk and what it wrote there.
struct DiskSurvey {
    found: u64,
    blank: bool,
    saves: u64,
    durable: u64,
}

/// A time in which a node stood still. It may last for ever.
#[derive(Clone, Copy)]
pub(super) struct Pause {
    pub(super) from: Time,
    pub(super) to: Option<Time>,
}

impl Life {
    pub(super) fn new(file: String, part: usize, survey: LifeSurvey, shift: Shift) -> Self {
        let LifeSurvey { live, node, lines, start, ended, sent, saves, durable, heard, .. } = survey;
        let blank = start.is_some_and(|(_, blank)| blank);
        Self {
            file,
            part,
            node,
            incarnation: live.incarnation,
            lines,
            started: start.map(|(time, _)| shift.of(time)),
            shift,
            base: 0,
            sent,
            heard,
            ended,
            killed: None,
            lost_writes: 0,
            disk: DiskSurvey { found: live.writes, blank, saves, durable },
        }
    }
}

/// Notes what was done to a node, or says why it cannot have been.
pub(super) fn assign(nodes: &mut [NodePlan], time: Time, what: &WorldLine<String>) -> Option<String> {
    match what {
        WorldLine::Paused { node } => nodes.get_mut(node.index())?.pauses.push_back(Pause { from: time, to: None }),
        WorldLine::Resumed { node } => {
            let pause = nodes.get_mut(node.index())?.pauses.back_mut().filter(|pause| pause.to.is_none())?;
            pause.to = Some(time);
        }
        WorldLine::Crashed { node, .. } => {
            let began = |life: &&mut Life| life.started.is_some_and(|start| start <= time);
            let Some(life) = nodes.get_mut(node.index())?.lives.iter_mut().rev().find(began) else {
                return Some(format!("Node {node} is said to crash before any life of it began; that is left out."));
            };
            life.killed.get_or_insert(time);
        }
        // The survey lets nothing else about a node through.
        WorldLine::Lost { .. } | WorldLine::Duplicated { .. } | WorldLine::Ended { .. } | WorldLine::Changed(_) => {}
    }
    None
}

/// Works out how many writes each life lost, and tells what cannot be if the disk was in order.
pub(super) fn judge_disks(lives: &mut [Life], found: &mut Gathered) {
    if let Some(first) = lives.first().filter(|first| first.disk.found > 0 && !first.disk.blank) {
        found.warnings.push(format!(
            "Life {} of node {} found {} writes of earlier lives, whose journals are not here: the result can be read, but \
             does not replay.",
            first.incarnation, first.node, first.disk.found
        ));
    }
    for index in 1..lives.len() {
        let Some([life, next]) = lives.get_mut(index - 1..=index) else { return };
        let pending = life.disk.saves.saturating_sub(life.disk.durable);
        let confirmed = life.disk.found.saturating_add(life.disk.durable);
        let time = next.started.unwrap_or(Time::ZERO);
        if next.disk.blank {
            // The journal itself tells of a disk that was replaced, and nobody but who did it can say whether that was meant.
            life.lost_writes = pending;
            found.forget(confirmed, time, || {
                format!("node {} found its disk empty, on which {confirmed} writes were durable", next.node)
            });
            continue;
        }
        let survived = next.disk.found.checked_sub(life.disk.found);
        life.lost_writes = life.disk.saves.saturating_sub(survived.unwrap_or(0));
        let who = format!("life {} of node {}", next.incarnation, next.node);
        if life.lost_writes > pending {
            let text = format!("{confirmed} writes were durable, but {who} found {}", next.disk.found);
            found.warnings.push(format!("The disk of node {} lost what it had confirmed: {text}.", next.node));
            found.forget(life.lost_writes - pending, time, || text);
        } else if survived.is_some_and(|survived| survived > life.disk.saves) {
            found.warnings.push(format!(
                "There are more writes on the disk of node {} than its journals tell of when {who} starts: is the journal of \
                 a life missing?",
                next.node
            ));
        }
    }
}

/// How the clocks of journals relate. Those of one boot share a clock; others are related by their wall clocks.
pub(super) struct Scale {
    /// What the wall clock showed, by each boot's first journal, when that machine's clock began.
    boots: BTreeMap<String, i128>,
    /// What the times of the first journal are counted from.
    reference: i128,
}

/// How much later a journal's times are on the common scale.
#[derive(Clone, Copy)]
pub(super) struct Shift(i64);

impl Scale {
    /// The scale of the first of these journals, for all of them.
    pub(super) fn new<'a>(lives: impl Iterator<Item = &'a Live>) -> Self {
        let mut scale = Self { boots: BTreeMap::new(), reference: 0 };
        for (place, live) in lives.enumerate() {
            let began = i128::from(live.offset) - i128::from(live.zero);
            let began = *scale.boots.entry(live.boot.clone()).or_insert(began);
            if place == 0 {
                scale.reference = began + i128::from(live.zero);
            }
        }
        scale
    }

    pub(super) fn boots(&self) -> usize {
        self.boots.len()
    }

    /// The scale on which this instant is 0.
    pub(super) fn with_zero_at(self, instant: i64) -> Self {
        Self { reference: self.reference + i128::from(instant), ..self }
    }

    /// How to put a journal's times on the scale.
    pub(super) fn shift(&self, live: &Live) -> Shift {
        let began = self.boots.get(&live.boot).copied().unwrap_or(0);
        let shift = began + i128::from(live.zero) - self.reference;
        Shift(i64::try_from(shift).unwrap_or(if shift < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl Shift {
    /// The same instant on the common scale.
    pub(super) fn of(self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_add(self.0))
    }
}
