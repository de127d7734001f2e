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
    /// Its name.
    pub name: &'static str,
    /// When it is judged.
    pub kind: Kind,
    /// Whether it holds. For `sometimes`: whether it happened.
    pub holds: bool,
    /// What went wrong first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

/// The first breach of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// When.
    #[serde(serialize_with = "nanos", rename = "time_ns")]
    pub time: Time,
    /// On which line of the run, counting steps and acts of the world from 1.
    #[serde(skip)]
    pub line: u64,
    /// Where the story that leads to it begins.
    #[serde(skip)]
    pub since: Time,
    /// What happened, in one sentence.
    pub text: String,
}

fn nanos<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.nanos())
}
