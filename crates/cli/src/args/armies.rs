//! What users type after `quorate sim armies` and `quorate check armies`.

use super::check::drift;
use super::whole;
use clap::Args;
use quorate_demos::armies::Strength;
use quorate_demos::armies::War;
use quorate_journal::settings::Between;
use quorate_journal::settings::Length;

/// The armies, and how long their messages take.
#[derive(Args)]
pub(crate) struct WarArgs {
    /// How strong the two armies are.
    #[arg(long, value_name = "FIRST,SECOND", default_value = "3,5", value_parser = strengths)]
    strengths: [Strength; 2],
    /// How long a message takes, at least and at most: the synchronous model. Any time unless given: the asynchronous one.
    #[arg(long, value_name = "MIN..MAX")]
    delay: Option<Between>,
    /// Messages never overtake each other.
    #[arg(long)]
    fifo: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl WarArgs {
    /// What they describe, with exact clocks.
    pub(crate) fn war(&self) -> War {
        let delay = self.delay.map(|Between(span)| span);
        War { delay, fifo: self.fifo, ..War::new(self.strengths) }
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quorate sim armies --seed 3\n  quorate sim armies --delay 2ms..5ms --strengths 4,4"
)]
pub(crate) struct ArmiesSimArgs {
    /// What decides how long each message takes.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) war: WarArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate check armies\n  quorate check armies --within 1h\n  \
    quorate check armies --delay 2ms..5ms\n  quorate check armies --delay 2ms..5ms --within 2999999ns\n\n\
    Exit codes: 0 all properties hold in every run, 1 one fails, 2 the command is wrong.")]
pub(crate) struct ArmiesCheckArgs {
    /// How long after the first attack the second one may come; with --delay max − min unless given, and what --drift adds; without it not judged.
    #[arg(long, value_name = "LENGTH")]
    within: Option<Length>,
    /// Clocks may be off by this much, such as 1000ppm, either way.
    #[arg(long, value_name = "PPM", value_parser = drift, requires = "delay")]
    drift: Option<u32>,
    #[command(flatten)]
    pub(crate) war: WarArgs,
}

impl ArmiesCheckArgs {
    /// What is checked.
    pub(crate) fn war(&self) -> War {
        War { drift_ppm: self.drift.unwrap_or(0), ..self.war.war() }
    }

    /// By how much the second attack may come after the first, if that is judged.
    pub(crate) fn within(&self) -> Option<quorate_core::Duration> {
        self.within.map(|Length(length)| length).or_else(|| self.war().guarantee())
    }
}

fn strengths(text: &str) -> Result<[Strength; 2], String> {
    let parts: Vec<&str> = text.split(',').collect();
    let [first, second] = parts[..] else {
        return Err(format!("'{}' is not two strengths; write for example 3,5.", text.escape_debug()));
    };
    Ok([Strength(whole(first.trim())?), Strength(whole(second.trim())?)])
}
