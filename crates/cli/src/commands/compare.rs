//! `quorate compare`: algorithms side by side, simulated and between real processes, beside the book.

mod complaints;
mod elections;
mod failures;
mod grid;
mod json;
mod multicasts;
mod picture;
mod table;
#[cfg(test)]
mod tests;

use crate::args::{CompareArgs, Heat, Plan, Reality};
use crate::{Verdict, interrupt};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_journal::workload::Ending;
use quorate_lab::ScriptFamily;
use quorate_lab::compare::{self, Book, Delays, Measured, Traffic};
use quorate_lab::mutex::MutexEntry;
use quorate_lab::{Mutex, Spec};
use quorate_live::{LiveError, Options};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// One algorithm in a group of one size, asked in one way.
struct Row {
    entry: &'static MutexEntry,
    nodes: usize,
    traffic: Traffic,
    book: Book,
    simulated: Side,
    /// There if it was wanted, and came to its end.
    real: Option<Side>,
}

/// Where something was measured.
#[derive(Clone, Copy)]
enum World {
    Recordable,
    Real,
}

impl World {
    /// What delays are measured in there.
    fn delays(self) -> Delays {
        match self {
            Self::Recordable => Delays::InMessageTimes,
            Self::Real => Delays::InMilliseconds,
        }
    }
}

/// What was measured in one of the worlds.
struct Side {
    world: World,
    measured: Measured,
    /// The command that does the same again.
    again: String,
    /// Where the journal is, if a property fails in reality.
    journal: Option<PathBuf>,
}

impl Row {
    fn name(&self) -> &'static str {
        self.entry.facts.profile.name
    }

    fn heat(&self) -> Heat {
        Heat { entry: self.entry, nodes: self.nodes, traffic: self.traffic }
    }

    /// What was measured in one of the worlds, if it was.
    fn side(&self, world: World) -> Option<&Side> {
        match world {
            World::Recordable => Some(&self.simulated),
            World::Real => self.real.as_ref(),
        }
    }

    /// What was measured, in each world that it was measured in.
    fn sides(&self) -> impl Iterator<Item = &Side> {
        std::iter::once(&self.simulated).chain(&self.real)
    }

    fn holds(&self) -> bool {
        self.sides().all(|side| side.measured.holds())
    }

    /// Whether all that was measured is the book's, if anybody can say.
    fn is_exact(&self) -> Option<bool> {
        let mut judged = self.sides().filter_map(|side| side.measured.is_exact(&self.book)).peekable();
        judged.peek()?;
        Some(judged.all(|is_exact| is_exact))
    }
}

/// All that was compared.
struct Comparison<'a> {
    plan: &'a Plan,
    rows: Vec<Row>,
}

impl Comparison<'_> {
    fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }

    /// Whether nothing that must be the book's is not.
    fn is_exact(&self) -> bool {
        self.rows.iter().all(|row| row.is_exact() != Some(false))
    }

    /// How often something was run.
    fn done(&self) -> usize {
        self.rows.iter().flat_map(Row::sides).count()
    }

    /// Whether everything was run that was to be, each to its end.
    fn is_complete(&self) -> bool {
        let mut sides = self.rows.iter().flat_map(Row::sides);
        self.done() == self.plan.runs() && sides.all(|side| side.measured.ending == Ending::Done)
    }

    fn verdict(&self) -> Verdict {
        match self.holds() && self.is_exact() {
            false => Verdict::Fails,
            true if self.is_complete() => Verdict::Holds,
            true => Verdict::Unfinished,
        }
    }
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Verdict> {
    if args.is_of_elections() {
        return elections::run(&args.election_plan()?, args.json);
    }
    if args.is_of_multicasts() {
        return multicasts::run(&args.multicast_plan()?, args.json);
    }
    if args.failures {
        return failures::run(&args.failure_plan()?, args.json);
    }
    let plan = args.plan()?;
    interrupt::watch();
    let bar = bar(plan.runs() as u64, "runs");
    let mut comparison = Comparison { plan: &plan, rows: Vec::new() };
    let end = measure(&mut comparison, &bar);
    bar.finish_and_clear();
    // What a run that failed leaves is not all that there is.
    if end.is_ok() || !comparison.rows.is_empty() {
        if args.json {
            json::print(&comparison)?;
        } else if plan.is_drawn_to_stdout() {
            complaints::write(&comparison, &mut io::stderr())?;
        } else {
            table::print(&comparison)?;
        }
    }
    end?;
    if let Some(wanted) = &plan.picture {
        picture::draw(&comparison, wanted, args.json)?;
    }
    Ok(comparison.verdict())
}

fn bar(length: u64, things: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template(&format!("  {{bar:30}} {{pos}}/{{len}} {things}, {{elapsed}}{{msg}}"));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Runs one after the other until all is done or somebody interrupts.
fn measure(comparison: &mut Comparison<'_>, bar: &ProgressBar) -> anyhow::Result<()> {
    let plan = comparison.plan;
    for heat in plan.heats() {
        if interrupt::came() {
            break;
        }
        bar.set_message(format!(": {} with {} nodes", heat.entry.facts.profile.name, heat.nodes));
        let row = simulate(plan, heat)?;
        bar.inc(1);
        comparison.rows.push(row);
        let Some((reality, row)) = plan.reality.as_ref().zip(comparison.rows.last_mut()) else { continue };
        row.real = run_real(plan, reality, row)?;
        bar.inc(1);
    }
    Ok(())
}

fn simulate(plan: &Plan, heat: Heat) -> anyhow::Result<Row> {
    let spec = plan.simulation(heat);
    let (book, measured) = compare::simulate(&spec)?;
    let simulated = Side { world: World::Recordable, measured, again: spec.command("sim"), journal: None };
    let Heat { entry, nodes, traffic } = heat;
    Ok(Row { entry, nodes, traffic, book, simulated, real: None })
}

/// The same between real processes; nothing if somebody interrupts, because half a run compares with nothing.
fn run_real(plan: &Plan, reality: &Reality, row: &Row) -> anyhow::Result<Option<Side>> {
    let spec = plan.real_spec(row.heat());
    let options = Options { tls: reality.tls, interrupted: &interrupt::came, ..Options::new(reality.program.clone()) };
    let recorded = match quorate_live::run::<Mutex>(&spec, &options, &mut |_, _, _| {}) {
        Ok(recorded) if recorded.is_interrupted && !recorded.fails() => return Ok(None),
        Ok(recorded) => recorded,
        Err(LiveError::Interrupted) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (ending, read) = (recorded.ending, &recorded.read);
    let delays = World::Real.delays();
    let measured = Measured::new(&row.book, delays, ending, &read.summary, &read.messages, &read.verdicts);
    Ok(Some(Side { world: World::Real, measured, again: again(&spec, reality), journal: recorded.journal }))
}

/// The command that runs one group alone, as far as the machine does the same again.
fn again(spec: &Spec<Mutex>, reality: &Reality) -> String {
    let mut words = vec![format!("quorate run {} --nodes {} --seed {}", spec.algorithm, spec.nodes, spec.seed)];
    words.extend(Mutex::flags(spec).into_iter().map(|flag| flag.to_string()));
    words.extend(reality.tls.then(|| "--tls".to_owned()));
    words.join(" ")
}
