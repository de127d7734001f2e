//! JSON reports of the two armies.

use quorate_core::{Duration, NodeId};
use quorate_demos::armies::PROFILE;
use quorate_demos::armies::{Occurrence, Outcome, PropertyVerdict, Scenario, Timeline};
use serde::Serialize;

/// The armies and the delays of their messages.
#[derive(Serialize)]
struct ScenarioReport {
    strengths: [u32; 2],
    model: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ns: Option<[u64; 2]>,
    fifo: bool,
    drift_ppm: u32,
    /// Longest possible time between the attacks; null if it has no bound.
    guarantee_ns: Option<u64>,
}

impl From<&Scenario> for ScenarioReport {
    fn from(scenario: &Scenario) -> Self {
        Self {
            strengths: scenario.strengths.map(|strength| strength.0),
            model: if scenario.delay.is_some() { "synchronous" } else { "asynchronous" },
            delay_ns: scenario.delay.map(|span| [span.earliest.nanos(), span.latest.nanos()]),
            fifo: scenario.is_fifo,
            drift_ppm: scenario.drift_ppm,
            guarantee_ns: scenario.guaranteed_gap().map(Duration::nanos),
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
    #[serde(rename = "what")]
    description: String,
}

impl From<&Timeline> for TimelineReport {
    fn from(timeline: &Timeline) -> Self {
        let step = |occurrence: &Occurrence| Step {
            time_ns: occurrence.time.nanos(),
            army: occurrence.army,
            description: occurrence.to_string(),
        };
        Self {
            steps: timeline.occurrences.iter().map(step).collect(),
            gap_ns: timeline.attack_gap().map(Duration::nanos),
        }
    }
}

/// Report of a check of every run.
#[derive(Serialize)]
pub(super) struct ArmiesCheckReport {
    algorithm: &'static str,
    #[serde(flatten)]
    scenario: ScenarioReport,
    /// Longest accepted time between the attacks; null if the time is not checked.
    within_ns: Option<u64>,
    complete: bool,
    states: u64,
    properties: Vec<PropertyReport>,
}

#[derive(Serialize)]
struct PropertyReport {
    name: &'static str,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<TimelineReport>,
}

impl ArmiesCheckReport {
    pub(super) fn new(scenario: &Scenario, max_gap: Option<Duration>, outcome: &Outcome) -> Self {
        let row = |PropertyVerdict { name, violation }: &PropertyVerdict| PropertyReport {
            name,
            holds: outcome.is_complete && violation.is_none(),
            counterexample: violation.as_ref().map(|violation| (&violation.timeline).into()),
        };
        Self {
            algorithm: PROFILE.name,
            scenario: scenario.into(),
            within_ns: max_gap.map(Duration::nanos),
            complete: outcome.is_complete,
            states: outcome.states,
            properties: outcome.verdicts.iter().map(row).collect(),
        }
    }
}

/// Report of one run.
#[derive(Serialize)]
pub(super) struct ArmiesRunReport {
    algorithm: &'static str,
    #[serde(flatten)]
    scenario: ScenarioReport,
    seed: u64,
    #[serde(flatten)]
    timeline: TimelineReport,
}

impl ArmiesRunReport {
    pub(super) fn new(scenario: &Scenario, seed: u64, timeline: &Timeline) -> Self {
        Self { algorithm: PROFILE.name, scenario: scenario.into(), seed, timeline: timeline.into() }
    }
}
