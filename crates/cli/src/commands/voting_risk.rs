//! `quorate voting-risk`: how likely voting lets two in because voters forgot.

use crate::args::{SimulateArg, VotingRiskArgs};
use crate::output::output;
use crate::report::{grouped, json};
use crate::{Verdict, interrupt, paint};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_core::Duration;
use quorate_lab::voting_risk::{
    Ballot, Draws, Forgetting, LEVEL, Likelihood, Tally, ln_as_printed, simulate, violation,
};
use quorate_sim::settings::Length;
use serde::Serialize;
use std::io::{self, Write};

/// What is rarer than this is not seen in any number of trials that somebody would wait for.
const SEEN: f64 = 1e-4;

/// What was asked, and what came of it, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    replicas: u64,
    majority: u64,
    p: f64,
    /// 0 where it is too small for a number; its logarithm is there all the same.
    violation_probability: f64,
    /// Nothing if it never happens.
    log10: Option<f64>,
    /// There if it was simulated.
    simulated: Option<Simulated>,
}

#[derive(Serialize)]
struct Simulated {
    trials: u64,
    violations: u64,
    frequency: f64,
    low: f64,
    high: f64,
    /// How sure one may be that the truth lies between the two.
    level: f64,
}

impl From<Tally> for Simulated {
    fn from(tally: Tally) -> Self {
        let (Tally { trials, violations }, interval) = (tally, tally.interval());
        Self { trials, violations, frequency: tally.frequency(), low: interval.low, high: interval.high, level: LEVEL }
    }
}

pub(crate) fn run(args: &VotingRiskArgs) -> anyhow::Result<Verdict> {
    let ballot = Ballot::new(args.replicas, args.majority())?;
    let forgetting = Forgetting::new(args.interval.0, args.lifetime.0)?;
    anyhow::ensure!(
        args.trials > 0 || args.simulate == SimulateArg::Never,
        "Nothing is learnt from no trials: use --trials 100000, or --simulate never."
    );
    let likelihood = violation(ballot, forgetting);
    let wanted = match args.simulate {
        SimulateArg::Auto => likelihood.value() >= SEEN,
        SimulateArg::Always => true,
        SimulateArg::Never => false,
    };
    let tally = wanted.then(|| draw(ballot, forgetting, args));
    if args.json {
        json(&Report {
            replicas: ballot.replicas(),
            majority: ballot.majority(),
            p: forgetting.chance(),
            violation_probability: likelihood.value(),
            log10: likelihood.log10(),
            simulated: tally.map(Simulated::from),
        })?;
    } else {
        print(ballot, forgetting, likelihood, tally, args)?;
    }
    let is_complete = tally.is_none_or(|tally| tally.trials == args.trials);
    Ok(if is_complete { Verdict::Holds } else { Verdict::Unfinished })
}

fn draw(ballot: Ballot, forgetting: Forgetting, args: &VotingRiskArgs) -> Tally {
    interrupt::watch();
    let bar = ProgressBar::new(args.trials);
    let style = ProgressStyle::with_template("  {bar:30} {pos}/{len} trials, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let tally = simulate(&mut Draws::new(ballot, forgetting, args.seed), args.trials, |so_far| {
        bar.set_position(so_far.trials);
        !interrupt::came()
    });
    bar.finish_and_clear();
    tally
}

fn print(
    ballot: Ballot,
    forgetting: Forgetting,
    likelihood: Likelihood,
    tally: Option<Tally>,
    args: &VotingRiskArgs,
) -> io::Result<()> {
    let mut out = output();
    let (replicas, majority) = (ballot.replicas(), ballot.majority());
    let title = format!("{majority} of {replicas} votes let a node in");
    let (interval, lifetime) = (Length(forgetting.interval()), Length(forgetting.lifetime()));
    let chance = Likelihood::of(forgetting.chance());
    writeln!(out, "{} · voters forget with p = {chance}, {interval} of {lifetime}\n", paint::bold(&title))?;
    let forgets = if ballot.overlap() == majority { "all".into() } else { format!("{} or more", ballot.overlap()) };
    writeln!(
        out,
        "While a node is inside with {majority} votes, a rival gets {majority} votes too if {forgets} of those voters\n\
         forget whom they voted for. {}\n",
        how_often(forgetting, likelihood)
    )?;
    writeln!(out, "  {}", paint::bold(&format!("{:<16}{:>14}{:>12}", "two inside", "probability", "log10")))?;
    row("by the formula", &likelihood.to_string(), likelihood.log10(), "", &mut out)?;
    match tally {
        Some(tally) => simulated(tally, args, &mut out)?,
        None => row("simulated", "–", None, why_not(args), &mut out)?,
    }
    deck(ballot, forgetting, &mut out)
}

/// The second sentence.
fn how_often(forgetting: Forgetting, likelihood: Likelihood) -> String {
    if forgetting.interval() == Duration::ZERO {
        "Voters that never forget let nobody else in.".into()
    } else if forgetting.interval() == forgetting.lifetime() {
        "Voters that always forget let everybody in.".into()
    } else {
        format!("That happens with probability {likelihood}.")
    }
}

fn row(name: &str, value: &str, log10: Option<f64>, remark: &str, out: &mut impl Write) -> io::Result<()> {
    let log10 = log10.map_or_else(|| "–".into(), |log10| format!("{log10:.3}"));
    let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
    writeln!(out, "  {name:<16}{value:>14}{log10:>12}{remark}")
}

fn simulated(tally: Tally, args: &VotingRiskArgs, out: &mut impl Write) -> io::Result<()> {
    let (Tally { trials, violations }, interval) = (tally, tally.interval());
    let log10 = (violations > 0).then(|| tally.frequency().log10());
    let remark = format!("{} of {} draws, seed {}", grouped(violations), grouped(trials), args.seed);
    row("simulated", &Likelihood::of(tally.frequency()).to_string(), log10, &remark, out)?;
    let (low, high) = (Likelihood::of(interval.low), Likelihood::of(interval.high));
    let level = 100.0 * LEVEL;
    writeln!(out, "  {}", paint::dim(&format!("between {low} and {high} with {level:.0} % confidence (Wilson)")))?;
    if trials < args.trials {
        writeln!(out, "\nInterrupted: {} of {} trials were made.", grouped(trials), grouped(args.trials))?;
    }
    Ok(())
}

fn why_not(args: &VotingRiskArgs) -> &'static str {
    match args.simulate {
        SimulateArg::Auto => "not simulated: too rare to be seen (--simulate always does it all the same)",
        SimulateArg::Always | SimulateArg::Never => "not simulated",
    }
}

/// The example that the deck gives, and what is wrong with it.
fn deck(ballot: Ballot, forgetting: Forgetting, out: &mut impl Write) -> io::Result<()> {
    let (seconds, hours) = (Duration::from_secs(10), Duration::from_secs(3 * 60 * 60));
    let example = Ballot::new(32, 24).and_then(|ballot| Ok((ballot, Forgetting::new(seconds, hours)?)));
    let Ok((its_ballot, its_forgetting)) = example else { return Ok(()) };
    let beginning = if (its_ballot, its_forgetting) == (ballot, forgetting) {
        "This is the deck's example".into()
    } else {
        format!("The deck's example, 24 of 32 votes and 10s of 3h, is {}", violation(its_ballot, its_forgetting))
    };
    let slip = Likelihood::from_ln(ln_as_printed(its_ballot, its_forgetting));
    let text = format!(
        "{beginning}, and less than the 10^-40 that the deck says.\n\
         The deck's formula has a slip: with p^k p^(m-k) in place of p^k (1-p)^(m-k) it would give {slip}."
    );
    writeln!(out, "\n{}", paint::dim(&text))
}
