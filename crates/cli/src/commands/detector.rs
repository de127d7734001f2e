//! `quorate sim detector`: measures the detection times of failure detectors against their wrong
//! suspicions.

use crate::args::DetectorSimArgs;
use crate::output::output;
use crate::report::{align_columns, format_count, format_thousands, print_json};
use crate::{CommandOutcome, interrupt, paint, progress};
use quorate_core::Duration;
use quorate_core::wrap::Detector;
use quorate_demos::detector::{Conditions, Quality, measure};
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_journal::settings::Length;
use serde::Serialize;
use std::io::{self, Write};

/// Name of the demonstration, which stands in place of an algorithm on the command line.
pub(crate) const DEMONSTRATION_NAME: &str = "detector";

/// The conditions and results, as `--json` prints them.
#[derive(Serialize)]
struct DetectorReport<'a> {
    nodes: usize,
    seed: u64,
    latency: String,
    loss: String,
    heartbeat_ns: u64,
    length_ns: u64,
    crashes: u64,
    detectors: &'a [DetectorRow],
}

/// One detector with its quality. A mistake is a suspicion of a node that is up. A mean or a rate
/// is null if the run has no data for it.
#[derive(Serialize)]
struct DetectorRow {
    detector: &'static str,
    /// Timeout of a detector with a fixed timeout.
    silence_ns: Option<u64>,
    /// Level of φ at which an accrual detector suspects.
    threshold: Option<f64>,
    detection_mean_ns: Option<u64>,
    mistakes_per_node_hour: Option<f64>,
    mistake_mean_ns: Option<u64>,
    /// Share of the time in which a node trusts another while both are up.
    accuracy: Option<f64>,
    #[serde(flatten)]
    quality: Quality,
}

impl DetectorRow {
    fn new(detector: Detector, quality: Quality) -> Self {
        let (name, timeout, threshold) = match detector {
            Detector::FixedBound { period, bound } => (HEARTBEAT, Some(period + bound), None),
            Detector::Accrual { threshold, .. } => (ACCRUAL, None, Some(f64::from(threshold.thousandths()) / 1_000.0)),
        };
        Self {
            detector: name,
            silence_ns: timeout.map(Duration::nanos),
            threshold,
            detection_mean_ns: quality.detection_mean().map(Duration::nanos),
            mistakes_per_node_hour: quality.mistakes_per_node_hour(),
            mistake_mean_ns: quality.mistake_mean().map(Duration::nanos),
            accuracy: quality.accuracy(),
            quality,
        }
    }

    fn format_setting(&self) -> String {
        match (self.silence_ns, self.threshold) {
            (Some(timeout), _) => format!("timeout {}", Length(Duration::from_nanos(timeout))),
            (None, Some(threshold)) => format!("φ {threshold}"),
            (None, None) => String::new(),
        }
    }
}

/// Written names of the kinds of detectors: those with a fixed timeout, and accrual detectors.
const HEARTBEAT: &str = "heartbeat";
const ACCRUAL: &str = "accrual";

/// Measures every detector, and prints and draws the results as the options ask.
pub(crate) fn sim(args: &DetectorSimArgs) -> anyhow::Result<CommandOutcome> {
    let conditions = args.conditions()?;
    let detectors = args.detectors(conditions.heartbeat_period())?;
    let picture = args.picture()?;
    let rows = measure_all(&conditions, &detectors)?;
    if args.json {
        print_json(&DetectorReport {
            nodes: conditions.nodes,
            seed: conditions.seed,
            latency: conditions.latency.to_string(),
            loss: conditions.loss.to_string(),
            heartbeat_ns: conditions.heartbeat_period().nanos(),
            length_ns: conditions.run_length.nanos(),
            crashes: conditions.crashes,
            detectors: &rows,
        })?;
    } else if picture.as_ref().is_none_or(|plan| !plan.is_on_stdout()) {
        print(&conditions, &rows, rows.len() == detectors.len())?;
    }
    if rows.len() < detectors.len() {
        return Ok(CommandOutcome::Unfinished);
    }
    if let Some(plan) = &picture {
        plan.write(&plot_detectors(&conditions, &rows), args.json)?;
    }
    Ok(CommandOutcome::Holds)
}

/// Measures the detectors one after the other, until all are done or the user interrupts.
fn measure_all(conditions: &Conditions, detectors: &[Detector]) -> anyhow::Result<Vec<DetectorRow>> {
    interrupt::install_handler();
    let bar = progress::bar(detectors.len() as u64, "{pos}/{len} detectors, {eta} left");
    let mut rows = Vec::new();
    for detector in detectors {
        if interrupt::was_requested() {
            break;
        }
        rows.push(DetectorRow::new(*detector, measure(conditions, *detector)?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn print(conditions: &Conditions, rows: &[DetectorRow], is_complete: bool) -> io::Result<()> {
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold("failure detectors"), describe_conditions(conditions))?;
    let mut cells = vec![TABLE_HEADING.map(str::to_owned)];
    cells.extend(rows.iter().map(format_cells));
    for (index, line) in align_columns(&cells, 2).into_iter().enumerate() {
        writeln!(out, "  {}", if index == 0 { paint::bold(&line) } else { line })?;
    }
    let missed: u64 = rows.iter().map(|row| row.quality.missed).sum();
    if missed > 0 {
        let missed = format_thousands(missed);
        writeln!(
            out,
            "\n  Crashes that a node did not detect before the restart or the end of the run: {missed}. The means do \
             not include them."
        )?;
    }
    if !is_complete {
        writeln!(out, "\nInterrupted after {}.", format_count(rows.len() as u64, "detector"))?;
    }
    let hint =
        "A longer timeout makes fewer mistakes, but detects crashes later. To draw the curve, add --svg detectors.svg";
    writeln!(out, "\n{}", paint::dim(hint))
}

const TABLE_HEADING: [&str; 7] =
    ["detector", "", "mean detection", "longest", "mistakes per node-hour", "mean mistake", "accuracy"];

fn format_cells(row: &DetectorRow) -> [String; 7] {
    let DetectorRow { detector, quality, .. } = row;
    let no_value = || "–".to_owned();
    let duration = |duration: Option<Duration>| duration.map_or_else(no_value, format_micros);
    let longest = (quality.detections > 0).then_some(quality.max_detection_time);
    [
        (*detector).to_owned(),
        row.format_setting(),
        duration(quality.detection_mean()),
        duration(longest),
        row.mistakes_per_node_hour.map_or_else(no_value, format_rate),
        duration(quality.mistake_mean()),
        row.accuracy.map_or_else(no_value, |accuracy| format!("{:.4} %", 100.0 * accuracy)),
    ]
}

/// Formats a duration, rounded down to microseconds.
fn format_micros(duration: Duration) -> String {
    Duration::from_micros(duration.nanos() / 1_000).to_string()
}

fn format_rate(rate: f64) -> String {
    match rate {
        0.0 => "none".into(),
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate => format_thousands(rate.round() as u64),
    }
}

fn describe_conditions(conditions: &Conditions) -> String {
    let Conditions { nodes, seed, latency, loss, crashes, run_length, .. } = conditions;
    let loss = if loss.is_zero() { String::new() } else { format!(", loss {loss}") };
    format!(
        "{} · seed {seed} · {latency}{loss} · heartbeat every {} · {} with {} for each detector",
        format_count(*nodes as u64, "node"),
        Length(conditions.heartbeat_period()),
        Length(*run_length),
        if *crashes == 1 { "1 crash".into() } else { format!("{crashes} crashes") }
    )
}

/// Plots wrong suspicions over detection time. Detectors near the lower left corner are best.
fn plot_detectors(conditions: &Conditions, rows: &[DetectorRow]) -> Figure {
    let plot =
        Plot::new("").x(Axis::log("mean detection time").unit("ms")).y(Axis::log("wrong suspicions per node-hour"));
    let plot = [HEARTBEAT, ACCRUAL].into_iter().fold(plot, |plot, kind| {
        let points: Vec<_> = rows.iter().filter(|row| row.detector == kind).filter_map(plot_point).collect();
        if points.is_empty() { plot } else { plot.with_series(Series::new(legend_text(kind)).points(points).joined()) }
    });
    let key = Key { solid: "simulated".into(), ..Key::default() };
    Figure::new("Failure detectors: detection time against wrong suspicions")
        .subtitle(describe_conditions(conditions))
        .key(key)
        .with_plot(plot)
}

fn legend_text(kind: &str) -> &'static str {
    if kind == HEARTBEAT { "fixed timeout" } else { "accrual (φ)" }
}

fn plot_point(row: &DetectorRow) -> Option<Point> {
    let millis = row.detection_mean_ns? as f64 / 1e6;
    Some(Point::new(millis, row.mistakes_per_node_hour?))
}
