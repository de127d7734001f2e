//! The figures of a run as data. The program that prints them chooses widths and colours.

use crate::family::JudgeFamily;
use crate::spec::Spec;
use quorate_journal::metrics::MessageSummary;
use quorate_journal::property::{PropertyKind, Verdict};
use serde::{Serialize, Serializer};
use std::fmt;

/// The results from which a family computes its rows of figures.
pub struct RunResults<'a, F: JudgeFamily> {
    pub spec: &'a Spec<F>,
    pub messages: &'a MessageSummary,
    pub summary: &'a F::Summary,
    pub verdicts: &'a [Verdict],
}

/// A measured figure, with the expected figure or a remark beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureRow {
    pub name: &'static str,
    pub measured: String,
    /// Empty if there is no expected figure and no remark.
    pub expected: String,
}

impl FigureRow {
    pub fn new(name: &'static str, measured: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { name, measured: measured.to_string(), expected: expected.into() }
    }

    pub fn measured(name: &'static str, measured: impl fmt::Display) -> Self {
        Self::new(name, measured, "")
    }
}

/// A property without a verdict in the report: it could not be judged, or is not promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    pub kind: PropertyKind,
    pub name: &'static str,
    /// Why it has no verdict; also how an unpromised property turned out.
    pub reason: String,
}

/// The cost of an algorithm as lists show it, in the terms of its family.
pub struct ListedCost {
    /// The operation whose cost the first figure is, such as "per entry".
    pub unit: &'static str,
    /// The figures with their names in JSON.
    pub figures: Vec<(&'static str, CostFigure)>,
}

/// A formula, or a number that does not depend on the group's size.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum CostFigure {
    Formula(&'static str),
    Number(u64),
}

impl fmt::Display for CostFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Formula(formula) => f.write_str(formula),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl fmt::Display for ListedCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figures.first() {
            Some((_, figure)) => write!(f, "{}: {figure}", self.unit),
            None => f.write_str("–"),
        }
    }
}

impl Serialize for ListedCost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.figures.iter().copied())
    }
}

/// Formats a whole figure without decimals and any other with two; a dash if it is missing.
pub fn format_figure(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Formats a figure with its unit; a dash if it is missing.
pub(crate) fn format_in_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{} {unit}", format_figure(Some(value))))
}

/// Formats a number in groups of three digits: `12,345,678`.
pub fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count of things: `1 node`, `3 nodes`.
pub fn format_count(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", format_thousands(number), if number == 1 { "" } else { "s" })
}
