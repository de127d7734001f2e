//! Reports of a run: a table of measured and expected figures as text, and JSON.

pub(crate) use quorate_lab::figures::count;

use crate::output::output;
use crate::paint;
use quorate_journal::metrics::MessageSummary;
use quorate_journal::property::{Kind, Verdict, Violation};
use quorate_journal::words::TextKind;
use quorate_journal::workload::Ending;
use quorate_lab::figures::{Figures, NotJudged, Row};
use quorate_lab::registry::Family;
use quorate_lab::replay::Replayed;
use quorate_lab::trace::{self, Line, Trace};
use quorate_lab::{FamilyLab, Spec};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = output();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Prints the measured figures of a run beside the expected ones of the literature.
pub(crate) fn print_figures<F: FamilyLab>(figures: &Figures<'_, F>, out: &mut impl Write) -> io::Result<()> {
    let messages = figures.messages;
    writeln!(out, "  {}", paint::bold(&format!("{:<24}{:>12}   expected", "", "measured")))?;
    let kinds: Vec<_> = messages.by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let mut rows = F::figures(figures);
    rows.extend([
        Row::measured("busiest node's share", format!("{:.0}%", 100.0 * messages.busiest_share)),
        Row::new("messages", messages.total, kinds.join(", ")),
        Row::measured("bytes", messages.bytes),
    ]);
    if messages.control > 0 {
        let volume = format!("{} bytes of {}", messages.control_bytes, F::CONTROL);
        rows.push(Row::new("control messages", messages.control, volume));
    }
    for Row { name, measured, expected } in &rows {
        let expected = if expected.is_empty() { String::new() } else { format!("   {}", paint::dim(expected)) };
        writeln!(out, "  {name:<24}{measured:>12}{expected}")?;
    }
    writeln!(out)?;
    print_verdicts(figures.verdicts, out)?;
    for NotJudged { kind, name, why } in F::not_judged(figures) {
        print_property(kind, name, &paint::dim(&why), out)?;
    }
    Ok(())
}

/// One run, simulated or real, as `--json` prints it.
#[derive(Serialize)]
#[serde(bound = "")]
pub(crate) struct RunReport<'a, F: FamilyLab> {
    pub(crate) algorithm: &'a str,
    pub(crate) family: Family,
    pub(crate) nodes: usize,
    pub(crate) seed: u64,
    pub(crate) links: &'static str,
    pub(crate) ending: Ending,
    pub(crate) time_ns: i64,
    pub(crate) events: u64,
    pub(crate) trace_hash: &'a str,
    pub(crate) messages: &'a MessageSummary,
    #[serde(flatten)]
    pub(crate) judged: JudgedProperties<'a>,
    #[serde(flatten)]
    pub(crate) measured: Measured<'a, F>,
}

/// Formats a number in groups of three digits: `12,345,678`.
pub(crate) fn grouped(number: u64) -> String {
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

/// The verdicts, as `--json` prints them. "Sometimes" properties are separate, because a run does
/// not fail if one did not happen in it.
#[derive(Serialize)]
pub(crate) struct JudgedProperties<'a> {
    properties: Vec<&'a Verdict>,
    sometimes: Vec<Occurrence>,
}

#[derive(Serialize)]
struct Occurrence {
    name: &'static str,
    happened: bool,
}

impl<'a> From<&'a [Verdict]> for JudgedProperties<'a> {
    fn from(verdicts: &'a [Verdict]) -> Self {
        let (sometimes, properties): (Vec<_>, _) =
            verdicts.iter().partition(|verdict: &&Verdict| verdict.kind == Kind::Sometimes);
        let occurrence = |verdict: &Verdict| Occurrence { name: verdict.name, happened: verdict.holds == Some(true) };
        Self { properties, sometimes: sometimes.into_iter().map(occurrence).collect() }
    }
}

/// The measurements of the family, as `--json` prints them: under the family's name.
pub(crate) struct Measured<'a, F: FamilyLab>(pub(crate) &'a F::Summary);

impl<F: FamilyLab> Serialize for Measured<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(F::FAMILY.name(), self.0)?;
        map.end()
    }
}

/// The report of a journal, as `--json` prints it.
#[derive(Serialize)]
#[serde(bound = "")]
pub(crate) struct JournalReport<'a, F: FamilyLab> {
    algorithm: &'a str,
    nodes: usize,
    seed: u64,
    /// Present if the run was in real processes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recorded: bool,
    lines: u64,
    /// Present if the run is a counterexample.
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'a str>,
    /// Present if the run was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    identical: Option<bool>,
    messages: &'a MessageSummary,
    #[serde(flatten)]
    judged: JudgedProperties<'a>,
    #[serde(flatten)]
    measured: Measured<'a, F>,
}

impl<'a, F: FamilyLab> JournalReport<'a, F> {
    pub(crate) fn new(replayed: &'a Replayed<F>, identical: Option<bool>) -> Self {
        let Replayed { spec, found_by, recorded, lines, messages, summary, verdicts } = replayed;
        let Spec { nodes, seed, .. } = spec;
        let algorithm = spec.algorithm.name();
        let judged = verdicts[..].into();
        let found_by = found_by.as_deref();
        let (nodes, seed, recorded, lines) = (*nodes, *seed, *recorded, *lines);
        let measured = Measured(summary);
        Self { algorithm, nodes, seed, recorded, lines, found_by, identical, messages, judged, measured }
    }
}

/// Prints the report of a journal as text. `remark` follows the number of lines.
pub(crate) fn print_journal<F: FamilyLab>(replayed: &Replayed<F>, remark: &str) -> anyhow::Result<()> {
    let Replayed { spec, found_by, recorded, lines, messages, summary, verdicts } = replayed;
    spec.validate()?;
    let mut out = output();
    let (nodes, lines) = (count(spec.nodes as u64, "node"), count(*lines, "line"));
    let origin = match found_by {
        Some(command) => format!("found by '{command}'"),
        None if *recorded => "recorded from real processes".into(),
        None => format!("seed {}", spec.seed),
    };
    writeln!(out, "{} · {nodes} · {origin} · {lines}{remark}\n", paint::bold(spec.algorithm.name()))?;
    print_figures(&Figures { spec, messages, summary, verdicts }, &mut out)?;
    Ok(())
}

/// Prints the assumptions of the algorithm that the run violates. A failing property is then not a
/// flaw of the algorithm.
pub(crate) fn print_broken_assumptions<F: FamilyLab>(spec: &Spec<F>, out: &mut impl Write) -> io::Result<()> {
    for assumption in spec.broken_assumptions() {
        writeln!(out, "\nThis run violates an assumption of {}: that {assumption}.", spec.algorithm)?;
    }
    Ok(())
}

pub(crate) fn print_verdicts(verdicts: &[Verdict], out: &mut impl Write) -> io::Result<()> {
    for verdict in verdicts {
        let word = match (verdict.kind, verdict.holds) {
            (_, None) => paint::warn("undecided"),
            (Kind::Always | Kind::Eventually, Some(true)) => paint::good("holds"),
            (Kind::Always | Kind::Eventually, Some(false)) => paint::bad("FAILS"),
            (Kind::Sometimes, Some(true)) => paint::good("happened"),
            (Kind::Sometimes, Some(false)) => paint::dim("did not happen"),
        };
        let why = match (&verdict.violation, &verdict.undecided) {
            (Some(violation), _) => format!(": at {} {}", violation.time, violation.text),
            (None, Some(why)) => format!(": {why}"),
            (None, None) => String::new(),
        };
        print_property(verdict.kind, verdict.name, &format!("{word}{why}"), out)?;
    }
    Ok(())
}

pub(crate) fn print_property(kind: Kind, name: &str, result: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  {kind:<12}{name:<24}{result}")
}

/// Maximum number of steps to show before a violation.
const MAX_STEPS: usize = 40;

/// The steps that lead to a violation: all faults before it, and the last other steps.
struct StepsToViolation {
    /// Whether links retransmit, so that a lost message is not worth a line.
    has_reliable_links: bool,
    /// Each line, and whether it is a fault.
    lines: Vec<(String, bool)>,
    left_out: usize,
    /// Whether to keep all steps.
    is_full: bool,
}

impl StepsToViolation {
    fn add(&mut self, line: &Line, violation: &Violation) {
        let is_fault = is_fault(line);
        let is_old = line.time < violation.since && !is_fault && !self.is_full;
        if line.number > violation.line || is_old {
            return;
        }
        if is_noise(line, self.has_reliable_links) && !self.is_full {
            self.left_out += 1;
            return;
        }
        self.lines.push((trace::render(line, paint::ink), is_fault));
        if self.lines.len() > MAX_STEPS
            && !self.is_full
            && let Some(oldest) = self.lines.iter().position(|(_, is_fault)| !is_fault)
        {
            self.lines.remove(oldest);
            self.left_out += 1;
        }
    }
}

/// Whether the line shows a fault, other than a lost or duplicated message.
fn is_fault(line: &Line) -> bool {
    line.parts.iter().any(|part| part.sort == TextKind::World && !part.text.starts_with("message "))
}

/// Whether the line shows only work of the links: acknowledgements and retransmissions. The rules
/// of reliable links have ids that start with `RL-`.
fn is_noise(line: &Line, has_reliable_links: bool) -> bool {
    let mut parts = line.parts.iter();
    let of_links = parts.next().is_some_and(|part| match part.sort {
        TextKind::World => has_reliable_links && part.text.starts_with("message "),
        _ => part.text.starts_with("ack ") || part.text.starts_with("timer "),
    });
    of_links && parts.all(|part| part.sort == TextKind::Control || part.text.starts_with("RL-"))
}

/// Repeats the run and prints the steps that lead to the violation.
pub(crate) fn print_steps_to_violation<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    print_steps_to(spec, failure, false, out)
}

/// Repeats the run and prints all steps up to the violation.
pub(crate) fn print_all_steps_to_violation<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    print_steps_to(spec, failure, true, out)
}

fn print_steps_to<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    is_full: bool,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Some(violation) = &failure.violation else { return Ok(()) };
    let mut collected =
        StepsToViolation { has_reliable_links: spec.is_reliable(), lines: Vec::new(), left_out: 0, is_full };
    let trace = Trace::<F>::new(spec.nodes, |line| collected.add(line, violation));
    let (_, mut trace) = quorate_lab::experiment::run_with(spec, io::sink(), trace)?;
    trace.finish();
    drop(trace);
    let StepsToViolation { lines, left_out, .. } = collected;
    let gap =
        (left_out > 0).then(|| paint::dim(&format!("{:>10}  {left_out} earlier or unimportant steps left out", "…")));
    let lines = gap.into_iter().chain(lines.into_iter().map(|(line, _)| line));
    print_steps::<F>(&format!("The steps that lead to the violation of '{}':", failure.name), spec.nodes, lines, out)?;
    Ok(())
}

/// Prints rendered steps with a title above and a legend below.
pub(crate) fn print_steps<F: FamilyLab>(
    title: &str,
    nodes: usize,
    lines: impl Iterator<Item = String>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n{}", paint::bold(title))?;
    writeln!(out, "{}", paint::dim(&trace::heading(nodes)))?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", paint::dim(&format!("{:>10}  {}", "", trace::legend(F::ROLES))))
}
