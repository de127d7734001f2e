//! What users type after `quorate sim detector`.

use super::draw::ThemeArg;
use super::whole;
use crate::picture::FigurePlan;
use clap::Args;
use quorate_core::Duration;
use quorate_core::wrap::Detector;
use quorate_demos::detector::Conditions;
use quorate_demos::detector::usual_silences;
use quorate_demos::detector::usual_thresholds;
use quorate_journal::settings::Chance;
use quorate_journal::settings::Latency;
use quorate_journal::settings::Length;
use quorate_journal::settings::Level;
use quorate_journal::settings::TimedFault;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate sim detector --nodes 5 --latency long-tail:2ms --loss 5% --svg detectors.svg\n  \
    quorate sim detector --silences 60ms,100ms,150ms --thresholds 1,8 --json\n  \
    quorate sim detector --crashes 0 --fault \"pause 2 at 30s for 2s\"\n\n\
    Every detector is put to the same crashes. One with a fixed bound suspects a node that is silent for longer than it allows; an \
    accrual detector (Hayashibara and others, 2004) suspects where the silence is unlikely by how heartbeats came so far: at level 8, \
    one in 10^8. docs/detectors.md tells more.")]
pub(crate) struct DetectorSimArgs {
    /// How many nodes watch each other.
    #[arg(long, default_value_t = 5, value_parser = whole::<usize>)]
    nodes: usize,
    /// What all chance follows from.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// How long a message takes: fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
    #[arg(long, default_value = "uniform:1ms..5ms")]
    latency: Latency,
    /// How long a node is busy with each input.
    #[arg(long, default_value = "fixed:0ms")]
    processing: Latency,
    /// How likely a message is lost: 0.1 or 10%.
    #[arg(long, default_value = "0")]
    loss: Chance,
    /// How likely a message arrives twice.
    #[arg(long, default_value = "0")]
    duplicate: Chance,
    /// From one heartbeat to the next; ten message times unless given.
    #[arg(long, value_name = "LENGTH")]
    heartbeat: Option<Length>,
    /// How many crashes there are, all nodes together; whoever crashes comes back after forty heartbeats.
    #[arg(long, alias = "crash", value_name = "COUNT", default_value_t = 20, value_parser = whole::<u64>)]
    crashes: u64,
    /// Something else that goes wrong, such as "pause 2 at 30s for 2s". May be repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// For how long each detector is simulated.
    #[arg(long, value_name = "LENGTH", default_value = "10m")]
    length: Length,
    /// The detectors with a fixed bound: for how long each lets a node be silent, such as 60ms,150ms; from a little more than a heartbeat
    /// to six unless given.
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    silences: Vec<Length>,
    /// The accrual detectors: at which level each suspects, such as 1,8; from 0.5 to 20 unless given.
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    thresholds: Vec<Level>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw detection time against wrong suspicions into this file; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Dark on light, light on dark, or as whoever looks at it prefers.
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

impl DetectorSimArgs {
    /// In what world detectors are measured.
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
            length: self.length.0,
        };
        conditions.validate()?;
        Ok(conditions)
    }

    /// Those that are measured, in the order in which they are shown.
    pub(crate) fn detectors(&self, period: Duration) -> anyhow::Result<Vec<Detector>> {
        let silences = match &self.silences[..] {
            [] => usual_silences(period),
            given => given.iter().map(|Length(silence)| *silence).collect(),
        };
        let mut detectors = Vec::new();
        for silence in silences {
            anyhow::ensure!(
                silence >= period,
                "A silence of {} is shorter than a heartbeat, which comes every {}: everyone would be suspected before each of them. \
                 Give longer --silences, or a shorter --heartbeat.",
                Length(silence),
                Length(period)
            );
            let bound = Duration::from_nanos(silence.nanos() - period.nanos());
            detectors.push(Detector::FixedBound { period, bound });
        }
        let thresholds = match &self.thresholds[..] {
            [] => usual_thresholds(),
            given => given.iter().map(|Level(threshold)| *threshold).collect(),
        };
        detectors.extend(thresholds.into_iter().map(|threshold| Detector::accrual(period, threshold)));
        Ok(detectors)
    }

    /// What is drawn, if anything is.
    pub(crate) fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::of(self.svg.as_deref(), self.theme, self.json)
    }
}
