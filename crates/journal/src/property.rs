//! Properties: conditions that must hold always, conditions that must hold eventually, cases that
//! should occur sometimes.

use quorate_core::Time;
use serde::Serialize;

/// When a property must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyKind {
    /// Safety: the property must hold at every instant.
    Always,
    /// Liveness: the property must hold at the end of the run, after the faults have ended.
    Eventually,
    /// Coverage: the case should occur in at least one run of a sweep over many seeds.
    Sometimes,
}

impl std::fmt::Display for PropertyKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Always => "always",
            Self::Eventually => "eventually",
            Self::Sometimes => "sometimes",
        })
    }
}

/// The result of a property in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub name: &'static str,
    pub kind: PropertyKind,
    /// Whether the property holds, or `None` if this run cannot decide. For `sometimes`: whether
    /// the case occurred.
    pub holds: Option<bool>,
    /// Why this run cannot decide.
    #[serde(rename = "undecided", skip_serializing_if = "Option::is_none")]
    pub undecided_reason: Option<String>,
    /// The first violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

impl Verdict {
    /// Returns the verdict of a property that holds if there is no violation.
    pub fn from_violation(name: &'static str, kind: PropertyKind, violation: Option<Violation>) -> Self {
        Self { name, kind, holds: Some(violation.is_none()), undecided_reason: None, violation }
    }

    /// Returns the verdict of a case that should occur sometimes.
    pub fn sometimes(name: &'static str, has_occurred: bool) -> Self {
        Self { name, kind: PropertyKind::Sometimes, holds: Some(has_occurred), undecided_reason: None, violation: None }
    }

    /// Returns the verdict of a property that this run cannot decide.
    pub fn undecided(name: &'static str, kind: PropertyKind, reason: String) -> Self {
        Self { name, kind, holds: None, undecided_reason: Some(reason), violation: None }
    }

    /// Returns whether the run violates the property. A case that should occur sometimes never
    /// counts as a violation.
    pub fn is_violated(&self) -> bool {
        self.holds == Some(false) && self.kind != PropertyKind::Sometimes
    }

    /// Converts the verdict for a run that was stopped early: such a run cannot decide liveness
    /// properties. `reason` says why the run was stopped.
    #[must_use]
    pub fn of_stopped_run(self, reason: &str) -> Self {
        if self.kind != PropertyKind::Eventually || self.holds.is_none() {
            return self;
        }
        let so_far = self.violation.map_or_else(|| "no violation".into(), |violation| violation.text);
        Self::undecided(self.name, self.kind, format!("{reason}; until then: {so_far}"))
    }
}

/// The first violation of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    #[serde(serialize_with = "nanos", rename = "time_ns")]
    pub time: Time,
    /// The line of the violation in the trace of the run, counting steps and world events from 1.
    #[serde(skip)]
    pub line: u64,
    /// The start of the part of the run that explains the violation.
    #[serde(skip)]
    pub relevant_from: Time,
    pub text: String,
}

fn nanos<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.nanos())
}
