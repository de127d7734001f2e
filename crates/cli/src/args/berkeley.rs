//! Arguments of `quorate sim berkeley`.

use super::draw::ThemeArg;
use super::parse_whole;
use crate::picture::FigurePlan;
use clap::Args;
use quorate_demos::berkeley::Scenario;
use quorate_journal::settings::Latency;
use quorate_journal::settings::Length;
use quorate_journal::settings::Ppm;
use quorate_journal::settings::TimedFault;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate sim berkeley\n  \
    quorate sim berkeley --nodes 5 --skew 500ms --drift 200ppm --every 1s --for 20s \\\n    \
    --fault \"crash 5 at 8s\" --svg clocks.svg\n  \
    quorate sim berkeley --fault \"skew 2 by 1h\" --json\n\n\
    The bully algorithm elects a leader. Once per round the leader polls the clocks of all nodes, averages the \
    answers, and sends each node the correction of its clock. The seed chooses the skew of each clock at the start, up \
    to --skew, and its drift, up to --drift. The spread is the largest difference between the clocks of two nodes that \
    are up.")]
pub(crate) struct BerkeleyArgs {
    /// Number of nodes.
    #[arg(long, default_value_t = 5, value_parser = parse_whole::<usize>)]
    nodes: usize,
    /// Random seed. The same seed repeats the same run.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    seed: u64,
    /// Largest skew of a clock at the start, fast or slow.
    #[arg(long, value_name = "DURATION", default_value = "500ms")]
    skew: Length,
    /// Largest drift of a clock, fast or slow, such as 200ppm.
    #[arg(long, value_name = "RATE", default_value = "200ppm")]
    drift: Ppm,
    /// Time between two rounds of the leader.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    every: Length,
    /// Duration of the run in simulated time.
    #[arg(long = "for", value_name = "DURATION", default_value = "20s")]
    length: Length,
    /// Time a message takes: fixed:1ms or uniform:1ms..2ms.
    #[arg(long, default_value_t = Scenario::default().latency)]
    latency: Latency,
    /// Largest distance of a clock from the median clock at which the leader still averages it
    /// [default: twice --skew plus a round trip]
    #[arg(long, value_name = "DURATION")]
    tolerance: Option<Length>,
    /// Time without a poll after which a follower suspects the leader [default: three rounds]
    #[arg(long, alias = "patience", value_name = "DURATION")]
    leader_timeout: Option<Length>,
    /// A fault, such as "crash 5 at 8s" or "skew 2 by 1h at 5s"; without "at", at the start. May be
    /// repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the spread over time as SVG into this file; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Colours of the picture: light, dark, or auto, which follows the viewer's setting [default:
    /// auto]
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

impl BerkeleyArgs {
    /// Returns the scenario that the arguments describe.
    pub(crate) fn scenario(&self) -> Scenario {
        Scenario {
            nodes: self.nodes,
            seed: self.seed,
            latency: self.latency,
            max_skew: self.skew.0,
            max_drift: self.drift,
            period: self.every.0,
            run_length: self.length.0,
            tolerance: self.tolerance.map(|length| length.0),
            leader_timeout: self.leader_timeout.map(|length| length.0),
            faults: self.faults.clone(),
        }
    }

    /// Returns the picture to draw, if `--svg` asks for one.
    pub(crate) fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::from_options(self.svg.as_deref(), self.theme, self.json)
    }
}
