//! JSON reports of the two armies.

use quorate_core::{Duration, NodeId};
use quorate_demos::armies::PROFILE;
use quorate_demos::armies::{Entry, Judged, Outcome, Timeline, War};
use serde::Serialize;

/// The armies and the delays of their messages.
#[derive(Serialize)]
struct Setting {
    strengths: [u32; 2],
    model: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ns: Option<[u64; 2]>,
    fifo: bool,
    drift_ppm: u32,
    /// Longest possible time between the attacks; null if it has no bound.
    guarantee_ns: Option<u64>,
}

impl From<&War> for Setting {
    fn from(war: &War) -> Self {
        Self {
            strengths: war.strengths.map(|strength| strength.0),
            model: if war.delay.is_some() { "synchronous" } else { "asynchronous" },
            delay_ns: war.delay.map(|span| [span.earliest.nanos(), span.latest.nanos()]),
            fifo: war.fifo,
            drift_ppm: war.drift_ppm,
            guarantee_ns: war.guarantee().map(Duration::nanos),
        }
    }
}

/// The steps of a run with their times.
#[derive(Serialize)]
struct TimelineReport {
    steps: Vec<Step>,
    /// Null if not both armies attacked.
    gap_ns: Option<u64>,
}

#[derive(Serialize)]
struct Step {
    time_ns: i64,
    army: NodeId,
    what: String,
}

impl From<&Timeline> for TimelineReport {
    fn from(timeline: &Timeline) -> Self {
        let step = |entry: &Entry| Step { time_ns: entry.time.nanos(), army: entry.army, what: entry.to_string() };
        Self { steps: timeline.entries.iter().map(step).collect(), gap_ns: timeline.gap().map(Duration::nanos) }
    }
}

/// Report of a check of every run.
#[derive(Serialize)]
pub(super) struct CheckReport {
    algorithm: &'static str,
    #[serde(flatten)]
    setting: Setting,
    within_ns: Option<u64>,
    complete: bool,
    states: u64,
    properties: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<TimelineReport>,
}

impl CheckReport {
    pub(super) fn new(war: &War, within: Option<Duration>, outcome: &Outcome) -> Self {
        let row = |Judged { name, violation }: &Judged| Row {
            name,
            holds: outcome.complete && violation.is_none(),
            counterexample: violation.as_ref().map(|violation| (&violation.timeline).into()),
        };
        Self {
            algorithm: PROFILE.name,
            setting: war.into(),
            within_ns: within.map(Duration::nanos),
            complete: outcome.complete,
            states: outcome.states,
            properties: outcome.verdicts.iter().map(row).collect(),
        }
    }
}

/// Report of one run.
#[derive(Serialize)]
pub(super) struct RunReport {
    algorithm: &'static str,
    #[serde(flatten)]
    setting: Setting,
    seed: u64,
    #[serde(flatten)]
    timeline: TimelineReport,
}

impl RunReport {
    pub(super) fn new(war: &War, seed: u64, timeline: &Timeline) -> Self {
        Self { algorithm: PROFILE.name, setting: war.into(), seed, timeline: timeline.into() }
    }
}
