//! `quorate voting-risk`: computes the probability that voting admits two nodes at once, because
//! voters forgot their votes.

use crate::args::{MethodArg, SimulateArg, VotingRiskArgs};
use crate::output::output;
use crate::report::{format_thousands, print_json};
use crate::{CommandOutcome, interrupt, paint, progress, report};
use quorate_core::Duration;
use quorate_demos::voting_risk::{
    CONFIDENCE_LEVEL, DrawTrial, Electorate, ForgetModel, Likelihood, NodeTrial, Tally, Trial, ln_as_printed, simulate,
    violation_probability,
};
use quorate_journal::settings::Length;
use serde::Serialize;
use std::io::{self, Write};

/// Minimum probability that `--simulate auto` simulates. Rarer events do not occur in a practical
/// number of trials.
const MIN_SIMULATED_PROBABILITY: f64 = 1e-4;

/// The settings and results, as `--json` prints them.
#[derive(Serialize)]
struct VotingRiskReport {
    replicas: u64,
    majority: u64,
    /// Probability that a voter forgets its vote while the vote is needed.
    p: f64,
    /// Rounded to 0 if it is too small for a floating-point number.
    violation_probability: f64,
    /// Decimal logarithm of the probability before rounding; null if the probability is exactly 0.
    log10: Option<f64>,
    /// Null if it was not simulated.
    simulated: Option<SimulationReport>,
}

#[derive(Serialize)]
struct SimulationReport {
    by: MethodArg,
    trials: u64,
    violations: u64,
    frequency: f64,
    low: f64,
    high: f64,
    /// Confidence level of the interval from `low` to `high`.
    level: f64,
}

impl From<Trials> for SimulationReport {
    fn from(Trials { method, tally, .. }: Trials) -> Self {
        let (Tally { trials, violations }, interval) = (tally, tally.confidence_interval());
        let (low, high) = (interval.low, interval.high);
        Self { by: method, trials, violations, frequency: tally.frequency(), low, high, level: CONFIDENCE_LEVEL }
    }
}

/// The simulation and its result.
#[derive(Clone, Copy)]
struct Trials {
    method: MethodArg,
    /// Number of trials to run; an interrupt leaves fewer in `tally`.
    requested: u64,
    tally: Tally,
}

pub(crate) fn run(args: &VotingRiskArgs) -> anyhow::Result<CommandOutcome> {
    let electorate = Electorate::new(args.replicas, args.majority())?;
    let forgetting = ForgetModel::new(args.interval.0, args.lifetime.0)?;
    let method = args.method()?;
    let requested = args.trials(method)?;
    let likelihood = violation_probability(electorate, forgetting);
    let is_simulated = match args.simulate {
        SimulateArg::Auto => likelihood.value() >= MIN_SIMULATED_PROBABILITY,
        SimulateArg::Always => true,
        SimulateArg::Never => false,
    };
    let trials = is_simulated.then(|| {
        let tally = match method {
            MethodArg::Nodes => run_trials(&mut NodeTrial::new(electorate, forgetting, args.seed), requested),
            MethodArg::Draws => run_trials(&mut DrawTrial::new(electorate, forgetting, args.seed), requested),
        };
        Trials { method, requested, tally }
    });
    if args.json {
        print_json(&VotingRiskReport {
            replicas: electorate.replicas(),
            majority: electorate.majority(),
            p: forgetting.forget_probability(),
            violation_probability: likelihood.value(),
            log10: likelihood.log10(),
            simulated: trials.map(SimulationReport::from),
        })?;
    } else {
        print(electorate, forgetting, likelihood, trials, args)?;
    }
    let is_complete = trials.is_none_or(|trials| trials.tally.trials == trials.requested);
    Ok(if is_complete { CommandOutcome::Holds } else { CommandOutcome::Unfinished })
}

/// Runs the trials, until all are done or the user interrupts.
fn run_trials(trial: &mut impl Trial, requested: u64) -> Tally {
    interrupt::install_handler();
    let bar = progress::bar(requested, "{pos}/{len} trials, {eta} left");
    let tally = simulate(trial, requested, |tally| {
        bar.set_position(tally.trials);
        !interrupt::was_requested()
    });
    bar.finish_and_clear();
    tally
}

fn print(
    electorate: Electorate,
    forgetting: ForgetModel,
    likelihood: Likelihood,
    trials: Option<Trials>,
    args: &VotingRiskArgs,
) -> io::Result<()> {
    let mut out = output();
    let (replicas, majority) = (electorate.replicas(), electorate.majority());
    let title = format!("{majority} of {replicas} votes admit a node");
    let (interval, lifetime) = (Length(forgetting.interval()), Length(forgetting.lifetime()));
    let chance = Likelihood::from_value(forgetting.forget_probability());
    writeln!(out, "{} · a voter forgets with p = {chance} ({interval} of {lifetime})\n", paint::bold(&title))?;
    let votes = report::format_count(majority, "vote");
    let forgetting_voters =
        if electorate.overlap() == majority { "all".into() } else { format!("{} or more", electorate.overlap()) };
    writeln!(
        out,
        "While a node is in the critical section with {votes}, a second node gets {votes} too if\n\
         {forgetting_voters} of those voters forget their votes. {}\n",
        describe_likelihood(forgetting, likelihood)
    )?;
    writeln!(out, "  {}", paint::bold(&format!("{:<16}{:>14}{:>12}", "two nodes enter", "probability", "log10")))?;
    print_row("formula", &likelihood.to_string(), likelihood.log10(), "", &mut out)?;
    match trials {
        Some(trials) => print_simulated(trials, args.seed, &mut out)?,
        None => print_row("simulated", "–", None, explain_missing_simulation(args), &mut out)?,
    }
    print_textbook_example(electorate, forgetting, &mut out)
}

fn describe_likelihood(forgetting: ForgetModel, likelihood: Likelihood) -> String {
    if forgetting.interval() == Duration::ZERO {
        "Voters that never forget admit no second node.".into()
    } else if forgetting.interval() == forgetting.lifetime() {
        "Voters that always forget admit every node.".into()
    } else {
        format!("This happens with probability {likelihood}.")
    }
}

fn print_row(name: &str, value: &str, log10: Option<f64>, remark: &str, out: &mut impl Write) -> io::Result<()> {
    let log10 = log10.map_or_else(|| "–".into(), |log10| format!("{log10:.3}"));
    let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
    writeln!(out, "  {name:<16}{value:>14}{log10:>12}{remark}")
}

fn print_simulated(Trials { method, requested, tally }: Trials, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let (Tally { trials, violations }, interval) = (tally, tally.confidence_interval());
    let log10 = (violations > 0).then(|| tally.frequency().log10());
    let trial_kind = match method {
        MethodArg::Nodes => "runs of 'voting' with crashing voters",
        MethodArg::Draws => "draws",
    };
    let remark = format!("{} of {} {trial_kind}, seed {seed}", format_thousands(violations), format_thousands(trials));
    print_row("simulated", &Likelihood::from_value(tally.frequency()).to_string(), log10, &remark, out)?;
    let (low, high) = (Likelihood::from_value(interval.low), Likelihood::from_value(interval.high));
    let level = 100.0 * CONFIDENCE_LEVEL;
    writeln!(out, "  {}", paint::dim(&format!("between {low} and {high} with {level:.0} % confidence (Wilson)")))?;
    if trials < requested {
        writeln!(
            out,
            "\nInterrupted: {} of {} trials were run.",
            format_thousands(trials),
            format_thousands(requested)
        )?;
    }
    Ok(())
}

fn explain_missing_simulation(args: &VotingRiskArgs) -> &'static str {
    match args.simulate {
        SimulateArg::Auto => "not simulated: too rare to be observed (use --simulate always to simulate anyway)",
        SimulateArg::Always | SimulateArg::Never => "not simulated",
    }
}

/// Prints the common lecture example of voting (24 of 32 votes, needed for 10 s, voters that crash
/// every 3 h), and the result of a common misprint of the formula.
fn print_textbook_example(electorate: Electorate, forgetting: ForgetModel, out: &mut impl Write) -> io::Result<()> {
    let (interval, lifetime) = (Duration::from_secs(10), Duration::from_secs(3 * 60 * 60));
    let example =
        Electorate::new(32, 24).and_then(|electorate| Ok((electorate, ForgetModel::new(interval, lifetime)?)));
    let Ok((example_electorate, example_forgetting)) = example else { return Ok(()) };
    let beginning = if (example_electorate, example_forgetting) == (electorate, forgetting) {
        "This is the common lecture example, with a probability".into()
    } else {
        format!(
            "The common lecture example, 24 of 32 votes and 10s of 3h, has probability {}, which is",
            violation_probability(example_electorate, example_forgetting)
        )
    };
    let misprinted = Likelihood::from_ln(ln_as_printed(example_electorate, example_forgetting));
    let text = format!(
        "{beginning} less than the 10^-40 that lectures state.\n\
         With a common misprint of the formula, p^k p^(m-k) in place of p^k (1-p)^(m-k), it would be {misprinted}."
    );
    writeln!(out, "\n{}", paint::dim(&text))
}
