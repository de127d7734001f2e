//! `quorate sim detector`: how soon failure detectors notice a crash, against how often they suspect the living.

use crate::args::DetectorSimArgs;
use crate::output::output;
use crate::report::{count, grouped, json};
use crate::{Verdict, interrupt, paint, progress};
use quorate_core::Duration;
use quorate_core::wrap::Detector;
use quorate_demos::detector::{Conditions, Quality, measure};
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_journal::settings::Length;
use serde::Serialize;
use std::io::{self, Write};

/// The word that stands in the place of an algorithm.
pub(crate) const NAME: &str = "detector";

/// Where an option of groups comes before the word, it was taken for an algorithm.
pub(crate) fn refuse(word: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        word != NAME,
        "'{word}' is no algorithm but what watches nodes: 'quorate sim {word}' measures failure detectors, with options of its own behind \
         the word. Elections run under one by --detector heartbeat or --detector accrual."
    );
    Ok(())
}

/// What was asked, and what came of it, as `--json` prints it.
#[derive(Serialize)]
struct Report<'a> {
    nodes: usize,
    seed: u64,
    latency: String,
    loss: String,
    heartbeat_ns: u64,
    length_ns: u64,
    crashes: u64,
    detectors: &'a [Row],
}

/// One detector, and how good it was.
#[derive(Serialize)]
struct Row {
    detector: &'static str,
    /// For how long it lets a node be silent, if that is fixed.
    silence_ns: Option<u64>,
    /// At which level it suspects, if that is what it goes by.
    threshold: Option<f64>,
    detection_mean_ns: Option<u64>,
    mistakes_per_node_hour: Option<f64>,
    mistake_mean_ns: Option<u64>,
    accuracy: Option<f64>,
    #[serde(flatten)]
    quality: Quality,
}

impl Row {
    fn new(detector: Detector, quality: Quality) -> Self {
        let (name, silence, threshold) = match detector {
            Detector::FixedBound { period, bound } => (HEARTBEAT, Some(period + bound), None),
            Detector::Accrual { threshold, .. } => (ACCRUAL, None, Some(f64::from(threshold.thousandths()) / 1_000.0)),
        };
        Self {
            detector: name,
            silence_ns: silence.map(Duration::nanos),
            threshold,
            detection_mean_ns: quality.detection_mean().map(Duration::nanos),
            mistakes_per_node_hour: quality.mistakes_per_node_hour(),
            mistake_mean_ns: quality.mistake_mean().map(Duration::nanos),
            accuracy: quality.accuracy(),
            quality,
        }
    }

    fn setting(&self) -> String {
        match (self.silence_ns, self.threshold) {
            (Some(silence), _) => format!("silence {}", Length(Duration::from_nanos(silence))),
            (None, Some(threshold)) => format!("φ {threshold}"),
            (None, None) => String::new(),
        }
    }
}

const HEARTBEAT: &str = "heartbeat";
const ACCRUAL: &str = "accrual";

/// Measures every detector, and shows what each is worth.
pub(crate) fn sim(args: &DetectorSimArgs) -> anyhow::Result<Verdict> {
    let conditions = args.conditions()?;
    let detectors = args.detectors(conditions.period())?;
    let picture = args.picture()?;
    let rows = watch(&conditions, &detectors)?;
    if args.json {
        json(&Report {
            nodes: conditions.nodes,
            seed: conditions.seed,
            latency: conditions.latency.to_string(),
            loss: conditions.loss.to_string(),
            heartbeat_ns: conditions.period().nanos(),
            length_ns: conditions.length.nanos(),
            crashes: conditions.crashes,
            detectors: &rows,
        })?;
    } else if picture.as_ref().is_none_or(|plan| !plan.is_on_stdout()) {
        print(&conditions, &rows, rows.len() == detectors.len())?;
    }
    if rows.len() < detectors.len() {
        return Ok(Verdict::Unfinished);
    }
    if let Some(plan) = &picture {
        plan.write(&figure(&conditions, &rows), args.json)?;
    }
    Ok(Verdict::Holds)
}

/// Measures them one after the other, with a bar for those who wait, until all is done or somebody interrupts.
fn watch(conditions: &Conditions, detectors: &[Detector]) -> anyhow::Result<Vec<Row>> {
    interrupt::watch();
    let bar = progress::bar(detectors.len() as u64, "{pos}/{len} detectors, {eta} left");
    let mut rows = Vec::new();
    for detector in detectors {
        if interrupt::came() {
            break;
        }
        rows.push(Row::new(*detector, measure(conditions, *detector)?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn print(conditions: &Conditions, rows: &[Row], is_complete: bool) -> io::Result<()> {
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold("failure detectors"), circumstances(conditions))?;
    let heading = format!(
        "  {:<11}{:<16}{:>14}{:>11}{:>23}{:>12}{:>12}",
        "detector", "", "noticed after", "at most", "wrong a node and hour", "each lasts", "accuracy"
    );
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in rows {
        writeln!(out, "{}", line(row))?;
    }
    let missed: u64 = rows.iter().map(|row| row.quality.missed).sum();
    if missed > 0 {
        let times = grouped(missed);
        writeln!(
            out,
            "\n  A crash that a node had not noticed when the other was back: {times} of all, left out of the means."
        )?;
    }
    if !is_complete {
        writeln!(out, "\nInterrupted: {} were measured.", count(rows.len() as u64, "detector"))?;
    }
    let hint = "Whoever waits longer is wrong less often. As a curve: add --svg detectors.svg";
    writeln!(out, "\n{}", paint::dim(hint))
}

fn line(row: &Row) -> String {
    let Row { detector, quality, .. } = row;
    let none = || "–".to_owned();
    let length = |length: Option<Duration>| length.map_or_else(none, rounded);
    let most = (quality.detections > 0).then_some(quality.detection_most);
    format!(
        "  {detector:<11}{:<16}{:>14}{:>11}{:>23}{:>12}{:>12}",
        row.setting(),
        length(quality.detection_mean()),
        length(most),
        row.mistakes_per_node_hour.map_or_else(none, rate),
        length(quality.mistake_mean()),
        row.accuracy.map_or_else(none, |accuracy| format!("{:.4} %", 100.0 * accuracy)),
    )
}

/// In microseconds, which is more than anybody reads.
fn rounded(length: Duration) -> String {
    Duration::from_micros(length.nanos() / 1_000).to_string()
}

fn rate(rate: f64) -> String {
    match rate {
        0.0 => "none".into(),
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate => grouped(rate.round() as u64),
    }
}

fn circumstances(conditions: &Conditions) -> String {
    let Conditions { nodes, seed, latency, loss, crashes, length, .. } = conditions;
    let loss = if loss.is_zero() { String::new() } else { format!(", loss {loss}") };
    format!(
        "{} · seed {seed} · {latency}{loss} · a heartbeat every {} · {} and {} each",
        count(*nodes as u64, "node"),
        Length(conditions.period()),
        Length(*length),
        if *crashes == 1 { "1 crash".into() } else { format!("{crashes} crashes") }
    )
}

/// Detection time to the right, wrong suspicions upwards: the nearer to the corner below on the left, the better.
fn figure(conditions: &Conditions, rows: &[Row]) -> Figure {
    let plot = Plot::new("")
        .x(Axis::log("until a crash is noticed, on average").unit("ms"))
        .y(Axis::log("wrong suspicions by a node in an hour"));
    let plot = [HEARTBEAT, ACCRUAL].into_iter().fold(plot, |plot, kind| {
        let points: Vec<_> = rows.iter().filter(|row| row.detector == kind).filter_map(point).collect();
        if points.is_empty() { plot } else { plot.with(Series::new(legend(kind)).points(points).joined()) }
    });
    let key = Key { solid: "simulated".into(), ..Key::default() };
    Figure::new("Failure detectors: soon or sure").subtitle(circumstances(conditions)).key(key).with(plot)
}

fn legend(kind: &str) -> &'static str {
    if kind == HEARTBEAT { "fixed bound" } else { "accrual (φ)" }
}

fn point(row: &Row) -> Option<Point> {
    let millis = row.detection_mean_ns? as f64 / 1e6;
    Some(Point::new(millis, row.mistakes_per_node_hour?))
}
