//! The options of `quorate sim berkeley`.

use super::draw::ThemeArg;
use super::whole;
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
    quorate sim berkeley --nodes 5 --skew 500ms --drift 200ppm --every 1s --for 20s --fault \"crash 5 at 8s\" --svg clocks.svg\n  \
    quorate sim berkeley --fault \"skew 2 by 1h\" --json\n\n\
    The bully algorithm elects a leader, which asks all for the time once in a while, averages what it hears and tells each node by how \
    much to move its clock. Each clock is off by up to --skew at the start and runs wrong by up to --drift, as the seed draws. The \
    spread is the largest difference between two clocks of nodes that are up.")]
pub(crate) struct BerkeleyArgs {
    /// How many nodes there are.
    #[arg(long, default_value_t = 5, value_parser = whole::<usize>)]
    nodes: usize,
    /// What all chance follows from.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// By how much each clock is off at the start, at most, either way.
    #[arg(long, value_name = "LENGTH", default_value = "500ms")]
    skew: Length,
    /// By how much each clock runs too fast or too slow, at most.
    #[arg(long, value_name = "RATE", default_value = "200ppm")]
    drift: Ppm,
    /// From one round of the leader to the next.
    #[arg(long, value_name = "LENGTH", default_value = "1s")]
    every: Length,
    /// For how long to watch, in simulated time.
    #[arg(long = "for", value_name = "LENGTH", default_value = "20s")]
    length: Length,
    /// How long a message takes: fixed:1ms or uniform:1ms..2ms.
    #[arg(long, default_value_t = Scenario::default().latency)]
    latency: Latency,
    /// How far a clock may be from the middle one to count; twice --skew and a round trip unless given.
    #[arg(long, value_name = "LENGTH")]
    tolerance: Option<Length>,
    /// How long followers go without a poll before they miss the leader; three rounds unless given.
    #[arg(long, value_name = "LENGTH")]
    patience: Option<Length>,
    /// Something that goes wrong, such as "crash 5 at 8s" or "skew 2 by 1h". May be repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the spread over time into this file; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Dark on light, light on dark, or as whoever looks at it prefers.
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

impl BerkeleyArgs {
    /// What is asked for.
    pub(crate) fn scenario(&self) -> Scenario {
        Scenario {
            nodes: self.nodes,
            seed: self.seed,
            latency: self.latency,
            skew: self.skew.0,
            drift: self.drift,
            every: self.every.0,
            length: self.length.0,
            tolerance: self.tolerance.map(|length| length.0),
            patience: self.patience.map(|length| length.0),
            faults: self.faults.clone(),
        }
    }

    /// Where the picture goes, if one is wanted.
    pub(crate) fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::of(self.svg.as_deref(), self.theme, self.json)
    }
}
