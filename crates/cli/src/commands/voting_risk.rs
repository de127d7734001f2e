//! `quorate voting-risk`: how likely voting lets two in because voters forgot.

use crate::args::{ByArg, SimulateArg, VotingRiskArgs};
use crate::output::output;
use crate::report::{grouped, json};
use crate::{Verdict, interrupt, paint, progress};
use quorate_core::Duration;
use quorate_demos::voting_risk::{
    Ballot, Draws, Forgetting, LEVEL, Likelihood, Nodes, Tally, Trial, ln_as_printed, simulate, violation,
};
use quorate_journal::settings::Length;
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
    simulated: Option<Recordable>,
}

#[derive(Serialize)]
struct Recordable {
    by: ByArg,
    trials: u64,
    violations: u64,
    frequency: f64,
    low: f64,
    high: f64,
    /// How sure one may be that the truth lies between the two.
    level: f64,
}

impl From<Trials> for Recordable {
    fn from(Trials { by, tally, .. }: Trials) -> Self {
        let (Tally { trials, violations }, interval) = (tally, tally.interval());
        let (low, high) = (interval.low, interval.high);
        Self { by, trials, violations, frequency: tally.frequency(), low, high, level: LEVEL }
    }
}

/// What was simulated, and what came of it.
#[derive(Clone, Copy)]
struct Trials {
    by: ByArg,
    wanted: u64,
    tally: Tally,
}

pub(crate) fn run(args: &VotingRiskArgs) -> anyhow::Result<Verdict> {
    let ballot = Ballot::new(args.replicas, args.majority())?;
    let forgetting = Forgetting::new(args.interval.0, args.lifetime.0)?;
    let by = args.by()?;
    let wanted = args.trials(by)?;
    let likelihood = violation(ballot, forgetting);
    let is_simulated = match args.simulate {
        SimulateArg::Auto => likelihood.value() >= SEEN,
        SimulateArg::Always => true,
        SimulateArg::Never => false,
    };
    let trials = is_simulated.then(|| {
        let tally = match by {
            ByArg::Nodes => watch(&mut Nodes::new(ballot, forgetting, args.seed), wanted),
            ByArg::Draws => watch(&mut Draws::new(ballot, forgetting, args.seed), wanted),
        };
        Trials { by, wanted, tally }
    });
    if args.json {
        json(&Report {
            replicas: ballot.replicas(),
            majority: ballot.majority(),
            p: forgetting.chance(),
            violation_probability: likelihood.value(),
            log10: likelihood.log10(),
            simulated: trials.map(Recordable::from),
        })?;
    } else {
        print(ballot, forgetting, likelihood, trials, args)?;
    }
    let is_complete = trials.is_none_or(|trials| trials.tally.trials == trials.wanted);
    Ok(if is_complete { Verdict::Holds } else { Verdict::Unfinished })
}

/// Simulates, with a bar for those who wait, until all is done or somebody interrupts.
fn watch(trial: &mut impl Trial, wanted: u64) -> Tally {
    interrupt::watch();
    let bar = progress::bar(wanted, "{pos}/{len} trials, {eta} left");
    let tally = simulate(trial, wanted, |so_far| {
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
    trials: Option<Trials>,
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
    match trials {
        Some(trials) => simulated(trials, args.seed, &mut out)?,
        None => row("simulated", "–", None, why_not(args), &mut out)?,
    }
    deck(ballot, forgetting, &mut out)
}

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

fn simulated(Trials { by, wanted, tally }: Trials, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let (Tally { trials, violations }, interval) = (tally, tally.interval());
    let log10 = (violations > 0).then(|| tally.frequency().log10());
    let what = match by {
        ByArg::Nodes => "runs of 'voting' whose voters crash",
        ByArg::Draws => "draws",
    };
    let remark = format!("{} of {} {what}, seed {seed}", grouped(violations), grouped(trials));
    row("simulated", &Likelihood::of(tally.frequency()).to_string(), log10, &remark, out)?;
    let (low, high) = (Likelihood::of(interval.low), Likelihood::of(interval.high));
    let level = 100.0 * LEVEL;
    writeln!(out, "  {}", paint::dim(&format!("between {low} and {high} with {level:.0} % confidence (Wilson)")))?;
    if trials < wanted {
        writeln!(out, "\nInterrupted: {} of {} trials were made.", grouped(trials), grouped(wanted))?;
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
