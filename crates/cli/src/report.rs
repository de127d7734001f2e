//! Reports of a run: a table of measured and expected figures as text, and JSON.

pub(crate) use quorate_lab::figures::{format_count, format_thousands};

use crate::output::output;
use crate::paint;
use quorate_journal::metrics::MessageSummary;
use quorate_journal::property::{PropertyKind, Verdict, Violation};
use quorate_journal::words::TextKind;
use quorate_journal::workload::Ending;
use quorate_lab::figures::{FigureRow, NotJudged, RunResults};
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

/// Prints the measured figures of a run beside the expected ones of the literature, then the
/// verdicts and the properties without a verdict.
pub(crate) fn print_figures<F: FamilyLab>(results: &RunResults<'_, F>, out: &mut impl Write) -> io::Result<()> {
    let messages = results.messages;
    let kinds: Vec<_> = messages.by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let mut rows = F::figure_rows(results);
    // These rows have no expected figures; some show details in that column.
    rows.extend([
        FigureRow::measured("busiest node's share", format!("{:.0}%", 100.0 * messages.busiest_share)),
        FigureRow::new("messages", messages.total, kinds.join(", ")),
        FigureRow::measured("bytes", messages.bytes),
    ]);
    if messages.control > 0 {
        let volume = format!("{} bytes of {}", messages.control_bytes, F::CONTROL_MESSAGES);
        rows.push(FigureRow::new("control messages", messages.control, volume));
    }
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(24);
    writeln!(out, "  {}", paint::bold(&format!("{:<width$}{:>12}   expected", "", "measured")))?;
    for FigureRow { name, measured, expected } in &rows {
        let expected = if expected.is_empty() { String::new() } else { format!("   {}", paint::dim(expected)) };
        writeln!(out, "  {name:<width$}{measured:>12}{expected}")?;
    }
    writeln!(out)?;
    print_verdicts(results.verdicts, out)?;
    for NotJudged { kind, name, reason } in F::not_judged(results) {
        print_property(kind, name, &paint::dim(&reason), out)?;
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
    /// `reliable` or `bare` if simulated; `tcp` or `tls` between real processes.
    pub(crate) links: &'static str,
    pub(crate) ending: Ending,
    /// Duration of the run; between real processes, of its workload.
    pub(crate) time_ns: i64,
    /// Number of inputs that nodes consumed.
    pub(crate) events: u64,
    pub(crate) trace_hash: &'a str,
    pub(crate) messages: &'a MessageSummary,
    #[serde(flatten)]
    pub(crate) judged: JudgedProperties<'a>,
    #[serde(flatten)]
    pub(crate) measured: Measured<'a, F>,
}

/// Aligns the cells of a table's rows, with two spaces between columns. The first `left_aligned`
/// columns are aligned to the left, the others to the right.
pub(crate) fn align_columns<const N: usize>(rows: &[[String; N]], left_aligned: usize) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let align = |(column, (cell, width)): (usize, (&String, usize))| {
        if column < left_aligned { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    let join = |row: &[String; N]| row.iter().zip(widths).enumerate().map(align).collect::<Vec<_>>().join("  ");
    rows.iter().map(|row| join(row).trim_end().to_owned()).collect()
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
            verdicts.iter().partition(|verdict: &&Verdict| verdict.kind == PropertyKind::Sometimes);
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
    /// Whether the nodes did the same when the run was replayed; absent if it was not.
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
        let Replayed { spec, found_by, is_recorded, lines, messages, summary, verdicts } = replayed;
        let Spec { nodes, seed, .. } = spec;
        let algorithm = spec.algorithm.name();
        let judged = verdicts[..].into();
        let found_by = found_by.as_deref();
        let (nodes, seed, recorded, lines) = (*nodes, *seed, *is_recorded, *lines);
        let measured = Measured(summary);
        Self { algorithm, nodes, seed, recorded, lines, found_by, identical, messages, judged, measured }
    }
}

/// Prints the report of a journal as text. `remark` follows the number of lines.
pub(crate) fn print_journal<F: FamilyLab>(replayed: &Replayed<F>, remark: &str) -> anyhow::Result<()> {
    let Replayed { spec, found_by, is_recorded, lines, messages, summary, verdicts } = replayed;
    spec.validate()?;
    let mut out = output();
    let (nodes, lines) = (format_count(spec.nodes as u64, "node"), format_count(*lines, "line"));
    let origin = match found_by {
        Some(command) => format!("found by '{command}'"),
        None if *is_recorded => "recorded from real processes".into(),
        None => format!("seed {}", spec.seed),
    };
    writeln!(out, "{} · {nodes} · {origin} · {lines}{remark}\n", paint::bold(spec.algorithm.name()))?;
    print_figures(&RunResults { spec, messages, summary, verdicts }, &mut out)?;
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
            (_, None) => paint::bad("undecided"),
            (PropertyKind::Always | PropertyKind::Eventually, Some(true)) => paint::good("holds"),
            (PropertyKind::Always | PropertyKind::Eventually, Some(false)) => paint::bad("FAILS"),
            (PropertyKind::Sometimes, Some(true)) => paint::good("happened"),
            (PropertyKind::Sometimes, Some(false)) => paint::dim("did not happen"),
        };
        let reason = match (&verdict.violation, &verdict.undecided_reason) {
            (Some(violation), _) => format!(": at {} {}", violation.time, violation.text),
            (None, Some(reason)) => format!(": {reason}"),
            (None, None) => String::new(),
        };
        print_property(verdict.kind, verdict.name, &format!("{word}{reason}"), out)?;
    }
    Ok(())
}

pub(crate) fn print_property(kind: PropertyKind, name: &str, result: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  {kind:<12}{name:<24}{result}")
}

/// Maximum number of steps to show before a violation, unless more of them are faults.
const MAX_SHOWN_STEPS: usize = 40;

/// The steps that lead to a violation: all faults before it, and the last other steps.
struct StepsToViolation {
    /// Whether links retransmit, so that a lost message is not worth a line.
    has_reliable_links: bool,
    /// Each line, and whether it is a fault.
    lines: Vec<(String, bool)>,
    /// Number of steps left out, not counting those that are too old to be relevant.
    left_out_count: usize,
    /// Whether to keep all steps, even old ones and those of the links.
    keeps_all_steps: bool,
}

impl StepsToViolation {
    fn add(&mut self, line: &Line, violation: &Violation) {
        let is_fault = is_fault(line);
        let is_old = line.time < violation.relevant_from && !is_fault && !self.keeps_all_steps;
        if line.number > violation.line || is_old {
            return;
        }
        if is_link_work(line, self.has_reliable_links) && !self.keeps_all_steps {
            self.left_out_count += 1;
            return;
        }
        self.lines.push((trace::render(line, paint::trace_text), is_fault));
        if self.lines.len() > MAX_SHOWN_STEPS
            && !self.keeps_all_steps
            && let Some(oldest) = self.lines.iter().position(|(_, is_fault)| !is_fault)
        {
            self.lines.remove(oldest);
            self.left_out_count += 1;
        }
    }
}

/// Whether the line shows a fault, other than a lost or duplicated message.
fn is_fault(line: &Line) -> bool {
    line.parts.iter().any(|part| part.kind == TextKind::World && !part.text.starts_with("message "))
}

/// Whether the line shows only work of the links: an acknowledgement, a retransmission, or the loss
/// or duplication of a message on reliable links, whose rules have ids that start with `RL-`.
fn is_link_work(line: &Line, has_reliable_links: bool) -> bool {
    let mut parts = line.parts.iter();
    let is_of_links = parts.next().is_some_and(|part| match part.kind {
        TextKind::World => has_reliable_links && part.text.starts_with("message "),
        _ => part.text.starts_with("ack ") || part.text.starts_with("timer "),
    });
    is_of_links && parts.all(|part| part.kind == TextKind::Control || part.text.starts_with("RL-"))
}

/// Repeats the run and prints the steps that lead to the violation: all faults, and the last other
/// steps.
pub(crate) fn print_steps_to_violation<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let keeps_all_steps = false;
    print_steps_to(spec, failure, keeps_all_steps, out)
}

/// Repeats the run and prints all steps up to the violation.
pub(crate) fn print_all_steps_to_violation<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let keeps_all_steps = true;
    print_steps_to(spec, failure, keeps_all_steps, out)
}

fn print_steps_to<F: FamilyLab>(
    spec: &Spec<F>,
    failure: &Verdict,
    keeps_all_steps: bool,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Some(violation) = &failure.violation else { return Ok(()) };
    let mut collected = StepsToViolation {
        has_reliable_links: spec.is_reliable(),
        lines: Vec::new(),
        left_out_count: 0,
        keeps_all_steps,
    };
    let trace = Trace::<F>::new(spec.nodes, |line| collected.add(line, violation));
    let (_, mut trace) = quorate_lab::experiment::run_with(spec, io::sink(), trace)?;
    trace.finish();
    drop(trace);
    let StepsToViolation { lines, left_out_count, .. } = collected;
    let gap = (left_out_count > 0)
        .then(|| format_count(left_out_count as u64, "earlier or unimportant step"))
        .map(|steps| paint::dim(&format!("{:>10}  {steps} left out", "…")));
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
