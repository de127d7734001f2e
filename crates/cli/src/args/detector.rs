//! Arguments of `quorate sim detector`.

use super::draw::ThemeArg;
use super::parse_whole;
use crate::picture::FigurePlan;
use clap::Args;
use quorate_core::Duration;
use quorate_core::wrap::Detector;
use quorate_demos::detector::Conditions;
use quorate_demos::detector::default_thresholds;
use quorate_demos::detector::default_timeouts;
use quorate_journal::settings::Chance;
use quorate_journal::settings::Latency;
use quorate_journal::settings::Length;
use quorate_journal::settings::Level;
use quorate_journal::settings::TimedFault;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate sim detector --nodes 5 --latency long-tail:2ms --loss 5% --svg detectors.svg\n  \
    quorate sim detector --timeouts 60ms,100ms,150ms --thresholds 1,8 --json\n  \
    quorate sim detector --crashes 0 --fault \"pause 2 at 30s for 2s\"\n\n\
    All detectors are measured with the same crashes. A detector with a fixed timeout suspects a node from which no \
    heartbeat arrived for that time. An accrual detector (Hayashibara and others, 2004) suspects a node when so long a \
    silence is improbable, given the intervals of the heartbeats so far: at level 8 its probability is 10^-8. See \
    docs/detectors.md.")]
pub(crate) struct DetectorSimArgs {
    /// Number of nodes, which monitor each other.
    #[arg(long, default_value_t = 5, value_parser = parse_whole::<usize>)]
    nodes: usize,
    /// Random seed. The same seed repeats the same run.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    seed: u64,
    /// Time a message takes: fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
    #[arg(long, default_value = "uniform:1ms..5ms")]
    latency: Latency,
    /// Time a node needs to process one input.
    #[arg(long, default_value = "fixed:0ms")]
    processing: Latency,
    /// Probability that a message is lost, such as 0.1 or 10%.
    #[arg(long, default_value = "0")]
    loss: Chance,
    /// Probability that a message is delivered twice, such as 0.1 or 10%.
    #[arg(long, default_value = "0")]
    duplicate: Chance,
    /// Interval between two heartbeats [default: ten times the longest time of --latency; for
    /// long-tail ten times the median]
    #[arg(long, value_name = "DURATION")]
    heartbeat: Option<Length>,
    /// Total number of crashes. A crashed node restarts after forty heartbeats.
    #[arg(long, alias = "crash", value_name = "COUNT", default_value_t = 20, value_parser = parse_whole::<u64>)]
    crashes: u64,
    /// An additional fault, such as "pause 2 at 30s for 2s". May be repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// Simulated time for which each detector runs.
    #[arg(long = "for", alias = "length", value_name = "DURATION", default_value = "10m")]
    length: Length,
    /// Timeouts of the detectors with a fixed timeout, such as 60ms,150ms [default: values from
    /// slightly more than one heartbeat interval to six intervals]
    #[arg(long, alias = "silences", value_name = "DURATIONS", value_delimiter = ',')]
    timeouts: Vec<Length>,
    /// Levels at which the accrual detectors suspect a node, such as 1,8 [default: values
    /// from 0.5 to 20]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    thresholds: Vec<Level>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw detection time against wrong suspicions as SVG into this file; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Colours of the picture: light, dark, or auto, which follows the viewer's setting [default:
    /// auto]
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

impl DetectorSimArgs {
    /// Returns the conditions under which all detectors are measured.
    pub(crate) fn conditions(&self) -> anyhow::Result<Conditions> {
        let conditions = Conditions {
            nodes: self.nodes,
            seed: self.seed,
            latency: self.latency,
            processing: self.processing,
            loss: self.loss,
            duplicate: self.duplicate,
            heartbeat: self.heartbeat,
            crashes: self.crashes,
            faults: self.faults.clone(),
            run_length: self.length.0,
        };
        conditions.validate()?;
        Ok(conditions)
    }

    /// Returns the detectors to measure, in the order in which they are shown.
    pub(crate) fn detectors(&self, period: Duration) -> anyhow::Result<Vec<Detector>> {
        let timeouts = match &self.timeouts[..] {
            [] => default_timeouts(period),
            given => given.iter().map(|Length(timeout)| *timeout).collect(),
        };
        let mut detectors = Vec::new();
        for timeout in timeouts {
            anyhow::ensure!(
                timeout >= period,
                "--timeouts must be at least the heartbeat interval of {}; got {}. With a shorter timeout a detector \
                 suspects every node between two heartbeats.",
                Length(period),
                Length(timeout)
            );
            // The bound counts from the instant at which the next heartbeat is due.
            let bound = Duration::from_nanos(timeout.nanos() - period.nanos());
            detectors.push(Detector::FixedBound { period, bound });
        }
        let thresholds = match &self.thresholds[..] {
            [] => default_thresholds(),
            given => given.iter().map(|Level(threshold)| *threshold).collect(),
        };
        detectors.extend(thresholds.into_iter().map(|threshold| Detector::accrual(period, threshold)));
        Ok(detectors)
    }

    /// Returns the picture to draw, or `None` without `--svg`.
    pub(crate) fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::from_options(self.svg.as_deref(), self.theme, self.json)
    }
}
