//! The figures of a run, as data: whoever prints them chooses widths and colours.

use crate::family::JudgeFamily;
use crate::spec::Spec;
use quorate_journal::metrics::MessageSummary;
use quorate_journal::property::{Kind, Verdict};
use serde::{Serialize, Serializer};
use std::fmt;

pub struct Figures<'a, F: JudgeFamily> {
    pub spec: &'a Spec<F>,
    pub messages: &'a MessageSummary,
    pub summary: &'a F::Summary,
    pub verdicts: &'a [Verdict],
}

/// A measured figure, and beside it what the literature says of it or anything else worth saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub measured: String,
    /// Empty if there is nothing to say.
    pub expected: String,
}

impl Row {
    pub fn new(name: &'static str, measured: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { name, measured: measured.to_string(), expected: expected.into() }
    }

    pub fn measured(name: &'static str, measured: impl fmt::Display) -> Self {
        Self::new(name, measured, "")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    pub kind: Kind,
    pub name: &'static str,
    pub why: String,
}

/// What an algorithm costs, in the terms of its family.
pub struct Price {
    /// What the first figure is the price of, such as "an entry".
    pub of: &'static str,
    pub figures: Vec<(&'static str, PriceFigure)>,
}

/// A formula, or a number that is the same for every group.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum PriceFigure {
    Formula(&'static str),
    Number(u64),
}

impl fmt::Display for PriceFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Formula(formula) => f.write_str(formula),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figures.first() {
            Some((_, figure)) => write!(f, "{}: {figure}", self.of),
            None => f.write_str("–"),
        }
    }
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.figures.iter().copied())
    }
}

/// A figure that may be missing, with no more places than it needs.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// A figure that may be missing, with its unit.
pub(crate) fn in_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{} {unit}", number(Some(value))))
}

/// So many of something: `1 node`, `3 nodes`.
pub fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
