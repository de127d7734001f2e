//! The figures of a run as data. The program that prints them chooses widths and colours.

use crate::family::JudgeFamily;
use crate::spec::Spec;
use quorate_journal::metrics::MessageSummary;
use quorate_journal::property::{Kind, Verdict};
use serde::{Serialize, Serializer};
use std::fmt;

/// The results from which a family computes its rows of figures.
pub struct Figures<'a, F: JudgeFamily> {
    pub spec: &'a Spec<F>,
    pub messages: &'a MessageSummary,
    pub summary: &'a F::Summary,
    pub verdicts: &'a [Verdict],
}

/// A measured figure, with the expected figure or a remark beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub measured: String,
    /// Empty if there is no expected figure and no remark.
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

/// A property that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    pub kind: Kind,
    pub name: &'static str,
    pub why: String,
}

/// The cost of an algorithm, in the terms of its family.
pub struct Price {
    /// The unit of the first figure, such as "an entry".
    pub of: &'static str,
    pub figures: Vec<(&'static str, PriceFigure)>,
}

/// A formula, or a number that does not depend on the group's size.
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

/// Formats a figure with at most two decimals; a dash if it is missing.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Formats a figure with its unit; a dash if it is missing.
pub(crate) fn in_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{} {unit}", number(Some(value))))
}

/// Formats a count of things: `1 node`, `3 nodes`.
pub fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
