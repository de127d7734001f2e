//! `local` and `race`: two threads of one process that change a counter, run once, explored in
//! every order, and explained.

mod json;

use super::explain::{self, Example};
use crate::args::{ExplainArgs, LocalCheckArgs, LocalSimArgs, RaceArgs};
use crate::output::output;
use crate::report::{format_count, format_thousands};
use crate::{CommandOutcome, paint, report};
use json::{LocalCheckReport, LocalRunReport};
use quorate_demos::local;
use quorate_demos::local::DEFAULT_LOCKINGS;
use quorate_demos::local::End;
use quorate_demos::local::Locking;
use quorate_demos::local::Outcomes;
use quorate_demos::local::PROFILE;
use quorate_demos::local::Race;
use quorate_demos::local::Run;
use quorate_demos::local::Schedule;
use quorate_demos::local::Step;
use quorate_demos::local::Thread;
use quorate_journal::rng::SeededRng;
use quorate_journal::rng::Stream;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Name of the command that shows all outcomes of the race.
const RACE_NAME: &str = "race";

/// Initial value of the counter, as in the textbook example.
const DEFAULT_START: i64 = 5;

/// Maximum number of steps of one run. No seed is known to need that many.
const MAX_STEPS: usize = 100_000;

pub(crate) fn sim(args: &LocalSimArgs) -> anyhow::Result<CommandOutcome> {
    let race = Race::new(args.lock);
    let mut rng = SeededRng::new(args.seed, Stream::Workload);
    let run = race.run(|ready| rng.below(ready.len() as u64) as usize, MAX_STEPS);
    let is_correct = run.end == End::Completed && run.counter == race.expected_counter();
    if args.json {
        report::print_json(&LocalRunReport::new(args, &race, &run))?;
        return Ok(CommandOutcome::from_holds(is_correct));
    }
    let mut out = output();
    writeln!(out, "{} · lock: {} · seed {}\n", paint::bold(PROFILE.name), args.lock, args.seed)?;
    write!(out, "{}", StepsTable(&run.steps))?;
    writeln!(out, "\n  {}", describe_ending(&race, &run))?;
    if !is_correct {
        let hint = format!("With a lock: quorate sim {} --seed {} --lock semaphore", PROFILE.name, args.seed);
        writeln!(out, "\n{}", paint::dim(&hint))?;
    }
    writeln!(out, "{}", paint::dim(&format!("Every order: quorate check {}", PROFILE.name)))?;
    Ok(CommandOutcome::from_holds(is_correct))
}

fn describe_ending(race: &Race, run: &Run) -> String {
    let Run { end, counter, .. } = run;
    match end {
        End::Completed if *counter == race.expected_counter() => {
            paint::good(&format!("The counter is {counter}, which is correct."))
        }
        End::Completed => paint::bad(&format!(
            "The counter is {counter} and should be {}: one update is lost.",
            race.expected_counter()
        )),
        End::Stuck => paint::bad("Deadlock: no thread can continue."),
        End::Unfinished => format!("Not finished after {}.", format_count(MAX_STEPS as u64, "step")),
    }
}

/// One lock with all its outcomes.
struct LockOutcomes {
    locking: Locking,
    race: Race,
    outcomes: Outcomes,
}

impl LockOutcomes {
    /// Explores all orders with this initial value of the counter.
    fn new(locking: Locking, start: i64) -> Self {
        // One thread adds 1 to the counter, the other one subtracts 1.
        let race = Race::with_changes(locking, start, &[1, -1]);
        let outcomes = local::explore(&race);
        Self { locking, race, outcomes }
    }

    /// Whether no order loses an update, lets both threads into the critical section, or deadlocks.
    fn is_correct(&self) -> bool {
        self.outcomes.are_race_free_with(self.race.expected_counter())
    }
}

/// Explores `lock`; by default, the case without a lock and each correct lock. Returns the
/// outcomes, and whether they are as expected. `lock` is expected to be correct.
fn explore_locks(lock: Option<Locking>, start: i64) -> (Vec<LockOutcomes>, bool) {
    match lock {
        Some(locking) => {
            let explored = LockOutcomes::new(locking, start);
            let holds = explored.is_correct();
            (vec![explored], holds)
        }
        None => {
            let explored: Vec<_> =
                DEFAULT_LOCKINGS.into_iter().map(|locking| LockOutcomes::new(locking, start)).collect();
            // Updates must be lost without a lock, and never with a correct one.
            let holds = explored.iter().all(|explored| explored.is_correct() == explored.locking.prevents_race());
            (explored, holds)
        }
    }
}

/// `quorate sim race`: prints all outcomes, each with an interleaving that leads to it.
pub(crate) fn sim_race(args: &RaceArgs) -> anyhow::Result<CommandOutcome> {
    let start = i64::from(args.start);
    let (explored, holds) = explore_locks(args.lock, start);
    if args.json {
        report::print_json(&LocalCheckReport::new(&explored, holds))?;
        return Ok(CommandOutcome::from_holds(holds));
    }
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold(RACE_NAME), describe_race(start))?;
    let values: BTreeSet<i64> =
        explored.iter().flat_map(|explored| explored.outcomes.endings.keys().copied()).collect();
    let cells =
        |cell: &dyn Fn(i64) -> String| values.iter().map(|value| format!("{:>11}", cell(*value))).collect::<String>();
    let heading = format!("  {:<20}{}   {}", "lock", cells(&|value| format!("result {value}")), "interleavings");
    writeln!(out, "{}", paint::bold(&heading))?;
    for LockOutcomes { locking, outcomes, .. } in &explored {
        let interleavings_to = |value: i64| {
            outcomes.endings.get(&value).map_or("–".into(), |ending| format_thousands(ending.interleavings))
        };
        writeln!(
            out,
            "  {:<20}{}   {:>13}",
            locking.name(),
            cells(&interleavings_to),
            format_thousands(total_interleavings(outcomes))
        )?;
    }
    for explored in &explored {
        print_interleavings(explored, |_| true, &mut out)?;
    }
    Ok(CommandOutcome::from_holds(holds))
}

fn describe_race(start: i64) -> String {
    format!("counter++ and counter-- in two threads, from {start}, in every order")
}

fn total_interleavings(outcomes: &Outcomes) -> u64 {
    outcomes.endings.values().map(|ending| ending.interleavings).sum()
}

/// `quorate check local`: explores every order.
pub(crate) fn check(args: &LocalCheckArgs) -> anyhow::Result<CommandOutcome> {
    let (explored, holds) = explore_locks(args.lock, DEFAULT_START);
    if args.json {
        report::print_json(&LocalCheckReport::new(&explored, holds))?;
    } else {
        print(&explored)?;
    }
    Ok(CommandOutcome::from_holds(holds))
}

fn print(explored: &[LockOutcomes]) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold(PROFILE.name), describe_race(DEFAULT_START))?;
    let heading = format!(
        "  {:<20}{:<13}{:>13}{:>9}   {:<13}{:<8}",
        "lock", "results", "interleavings", "states", "both inside", "deadlock"
    );
    writeln!(out, "{}", paint::bold(heading.trim_end()))?;
    for LockOutcomes { locking, outcomes, .. } in explored {
        let values: Vec<_> = outcomes.endings.keys().map(i64::to_string).collect();
        let interleavings = total_interleavings(outcomes);
        let possibility = |schedule: &Option<Schedule>| if schedule.is_some() { "possible" } else { "never" };
        let Outcomes { overlap_schedule, stuck_schedule, states, .. } = outcomes;
        let (inside, deadlock) = (possibility(overlap_schedule), possibility(stuck_schedule));
        let (interleavings, states) = (format_thousands(interleavings), format_thousands(*states as u64));
        let line = format!(
            "  {:<20}{:<13}{interleavings:>13}{states:>9}   {inside:<13}{deadlock:<8}",
            locking.name(),
            values.join(", ")
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    for explored in explored {
        print_interleavings(explored, |value| value != explored.race.expected_counter(), &mut out)?;
    }
    let hint = format!("One order: quorate sim {} --seed 1", PROFILE.name);
    writeln!(out, "\n{}", paint::dim(&hint))?;
    Ok(())
}

/// Prints a shortest interleaving that leads to each wanted result, and to a deadlock.
fn print_interleavings(
    explored: &LockOutcomes,
    is_wanted: impl Fn(i64) -> bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let LockOutcomes { locking, race, outcomes } = explored;
    let total = total_interleavings(outcomes);
    for (value, ending) in outcomes.endings.iter().filter(|(value, _)| is_wanted(**value)) {
        let (leading, total) = (format_thousands(ending.interleavings), format_thousands(total));
        let title = format!(
            "A shortest interleaving that results in {value} {} ({leading} of {total} interleavings):",
            describe_locking(*locking)
        );
        writeln!(out, "\n{}\n", paint::bold(&title))?;
        write!(out, "{}", StepsTable(&race.run_schedule(&ending.schedule).steps))?;
    }
    if let Some(schedule) = &outcomes.stuck_schedule {
        let title = format!("A shortest interleaving that deadlocks {}:", describe_locking(*locking));
        writeln!(out, "\n{}\n", paint::bold(&title))?;
        write!(out, "{}", StepsTable(&race.run_schedule(schedule).steps))?;
    }
    Ok(())
}

fn describe_locking(locking: Locking) -> String {
    match locking {
        Locking::None => "without a lock".into(),
        locking => format!("with {locking}"),
    }
}

/// `quorate explain local`.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<CommandOutcome> {
    anyhow::ensure!(
        !args.picture.is_wanted(),
        "there is no picture of '{}': its threads send no messages.",
        PROFILE.name
    );
    let race = Race::new(Locking::None);
    let lost = local::explore(&race).endings.into_iter().find(|(value, _)| *value != race.expected_counter());
    let run = lost.map(|(_, ending)| race.run_schedule(&ending.schedule));
    let steps = run.as_ref().map_or(&[][..], |run| &run.steps[..]);
    let example = Example {
        title: "Two threads without a lock, and a lost update",
        lines: StepsTable(steps).to_string().lines().map(str::to_owned).collect(),
        command: format!("quorate check {}", PROFILE.name),
    };
    explain::explain_demo(args, &PROFILE, &example)
}

/// Prints steps as a table with one column per thread.
struct StepsTable<'a>(&'a [Step]);

impl std::fmt::Display for StepsTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps_of = |thread: usize| self.0.iter().filter(move |step| step.thread.index() == thread);
        let threads = self.0.iter().map(|step| step.thread.index() + 1).max().unwrap_or(0);
        let title = |thread: usize| format!("thread {}", Thread::from_index(thread));
        let width = |thread: usize| {
            let widest = steps_of(thread).map(|step| step.act.to_string().chars().count()).max();
            widest.unwrap_or(0).max(title(thread).len()) + 3
        };
        let row = |number: String, act: &dyn Fn(usize) -> String| {
            let cells: String = (0..threads).map(|thread| format!("{:<1$}", act(thread), width(thread))).collect();
            format!("  {number:>4}   {}", cells.trim_end())
        };
        writeln!(f, "{}", row("step".into(), &title))?;
        for (index, step) in self.0.iter().enumerate() {
            let act = |thread: usize| {
                if thread == step.thread.index() { step.act.to_string() } else { String::new() }
            };
            writeln!(f, "{}", row((index + 1).to_string(), &act))?;
        }
        Ok(())
    }
}
