//! Properties: conditions that must hold always, conditions that must hold eventually, cases that
//! should occur sometimes.

use quorate_core::Time;
use serde::Serialize;

/// When a property is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Safety: the property must hold at every instant.
    Always,
    /// Liveness: the property must hold at the end of the run, after the faults have ended.
    Eventually,
    /// Coverage: the case should occur in at least one run of a sweep over many seeds.
    Sometimes,
}

impl std::fmt::Display for Kind {
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
    pub kind: Kind,
    /// Whether it holds, or `None` if this run cannot decide. For `sometimes`: whether the case
    /// occurred.
    pub holds: Option<bool>,
    /// Why this run cannot decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The first violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

impl Verdict {
    /// Returns the verdict of a property that holds if there is no violation.
    pub fn judged(name: &'static str, kind: Kind, violation: Option<Violation>) -> Self {
        Self { name, kind, holds: Some(violation.is_none()), undecided: None, violation }
    }

    /// Returns the verdict of a case that should occur sometimes.
    pub fn sometimes(name: &'static str, happened: bool) -> Self {
        Self { name, kind: Kind::Sometimes, holds: Some(happened), undecided: None, violation: None }
    }

    /// Returns the verdict of a property that this run cannot decide.
    pub fn undecided(name: &'static str, kind: Kind, why: String) -> Self {
        Self { name, kind, holds: None, undecided: Some(why), violation: None }
    }

    /// Returns whether the run violates the property. A case that should occur sometimes never
    /// counts as a violation.
    pub fn is_violated(&self) -> bool {
        self.holds == Some(false) && self.kind != Kind::Sometimes
    }

    /// Converts the verdict for a run that was stopped early: such a run cannot decide liveness
    /// properties.
    #[must_use]
    pub fn of_stopped_run(self, why: &str) -> Self {
        if self.kind != Kind::Eventually || self.holds.is_none() {
            return self;
        }
        let so_far = self.violation.map_or_else(|| "no violation".into(), |violation| violation.text);
        Self::undecided(self.name, self.kind, format!("{why}; until then: {so_far}"))
    }
}

/// The first violation of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    #[serde(serialize_with = "nanos", rename = "time_ns")]
    pub time: Time,
    /// Its line in the trace of the run, counting steps and world events from 1.
    #[serde(skip)]
    pub line: u64,
    /// The time from which on the run is relevant to the violation.
    #[serde(skip)]
    pub since: Time,
    pub text: String,
}

fn nanos<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.nanos())
}
