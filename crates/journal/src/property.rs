//! Properties: what must always hold, what must hold in the end, what should happen sometimes.

use quorate_core::Time;
use serde::Serialize;

/// When a property is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Safety: at every instant.
    Always,
    /// Liveness: at the end, once the network behaves.
    Eventually,
    /// The interesting case did occur: over a sweep of many seeds.
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

/// What came of a property in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it holds; nothing if this run cannot say. For `sometimes`: whether it happened.
    pub holds: Option<bool>,
    /// Why this run cannot say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// What went wrong first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

impl Verdict {
    /// A property that holds unless something went wrong.
    pub fn judged(name: &'static str, kind: Kind, violation: Option<Violation>) -> Self {
        Self { name, kind, holds: Some(violation.is_none()), undecided: None, violation }
    }

    /// Whether the interesting case occurred.
    pub fn sometimes(name: &'static str, happened: bool) -> Self {
        Self { name, kind: Kind::Sometimes, holds: Some(happened), undecided: None, violation: None }
    }

    /// A property that this run cannot judge.
    pub fn undecided(name: &'static str, kind: Kind, why: String) -> Self {
        Self { name, kind, holds: None, undecided: Some(why), violation: None }
    }

    /// Whether the run breaks it. No run fails because something did not happen to happen in it.
    pub fn is_breach(&self) -> bool {
        self.holds == Some(false) && self.kind != Kind::Sometimes
    }

    /// The verdict of a run that was stopped before everything was done: it cannot say what holds in the end.
    #[must_use]
    pub fn of_stopped_run(self, why: &str) -> Self {
        if self.kind != Kind::Eventually || self.holds.is_none() {
            return self;
        }
        let so_far = self.violation.map_or_else(|| "nothing is missing".into(), |violation| violation.text);
        Self::undecided(self.name, self.kind, format!("{why}; until then, {so_far}"))
    }
}

/// The first breach of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    #[serde(serialize_with = "nanos", rename = "time_ns")]
    pub time: Time,
    /// On which line of the run, counting steps and acts of the world from 1.
    #[serde(skip)]
    pub line: u64,
    /// Where the story that leads to it begins.
    #[serde(skip)]
    pub since: Time,
    pub text: String,
}

fn nanos<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.nanos())
}
