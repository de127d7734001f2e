//! Arguments of `quorate sim armies` and `quorate check armies`.

use super::check::parse_drift;
use super::parse_whole;
use clap::Args;
use quorate_demos::armies::Scenario;
use quorate_demos::armies::Strength;
use quorate_journal::settings::DurationRange;
use quorate_journal::settings::Length;

/// The two armies and the delays of their messages.
#[derive(Args)]
pub(crate) struct ScenarioArgs {
    /// Strengths of the two armies. The stronger one leads the attack, the first one on a tie.
    #[arg(long, value_name = "FIRST,SECOND", default_value = "3,5", value_parser = parse_strengths)]
    strengths: [Strength; 2],
    /// Shortest and longest time a message takes, which selects the synchronous model. Without it
    /// messages take any time (the asynchronous model).
    #[arg(long, value_name = "MIN..MAX")]
    delay: Option<DurationRange>,
    /// Messages arrive in the order in which they were sent (FIFO).
    #[arg(long)]
    fifo: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ScenarioArgs {
    /// Returns the scenario that the arguments describe, with exact clocks.
    pub(crate) fn scenario(&self) -> Scenario {
        let delay = self.delay.map(|DurationRange(span)| span);
        Scenario { delay, is_fifo: self.fifo, ..Scenario::new(self.strengths) }
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quorate sim armies --seed 3\n  quorate sim armies --delay 2ms..5ms --strengths 4,4"
)]
pub(crate) struct ArmiesSimArgs {
    /// Random seed, which chooses the delay of each message.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) scenario_args: ScenarioArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate check armies\n  quorate check armies --within 1h\n  \
    quorate check armies --delay 2ms..5ms\n  quorate check armies --delay 2ms..5ms --within 2999999ns\n\n\
    Exit codes: 0 all properties hold in every run, 1 a property fails, 2 the command is invalid.")]
pub(crate) struct ArmiesCheckArgs {
    /// Longest accepted time between the first and the second attack [default: what --delay and
    /// --drift guarantee (max − min without drift); without --delay the time is not checked]
    #[arg(long, value_name = "DURATION")]
    within: Option<Length>,
    /// Rate by which each clock may run fast or slow, such as 1000ppm. Needs --delay.
    #[arg(long, value_name = "RATE", value_parser = parse_drift, requires = "delay")]
    drift: Option<u32>,
    #[command(flatten)]
    pub(crate) scenario_args: ScenarioArgs,
}

impl ArmiesCheckArgs {
    /// Returns the scenario to check.
    pub(crate) fn scenario(&self) -> Scenario {
        Scenario { drift_ppm: self.drift.unwrap_or(0), ..self.scenario_args.scenario() }
    }

    /// Returns the longest time between the attacks that the check accepts; `None` if the time is
    /// not checked.
    pub(crate) fn max_attack_gap(&self) -> Option<quorate_core::Duration> {
        self.within.map(|Length(length)| length).or_else(|| self.scenario().guaranteed_gap())
    }
}

fn parse_strengths(text: &str) -> Result<[Strength; 2], String> {
    let parts: Vec<&str> = text.split(',').collect();
    let [first, second] = parts[..] else {
        return Err(format!("'{}' is not a pair of strengths; write for example 3,5.", text.escape_debug()));
    };
    Ok([Strength(parse_whole(first.trim())?), Strength(parse_whole(second.trim())?)])
}
