//! `quorate compare`: measures the algorithms of a family, simulated and in real processes, beside
//! the expected figures of the literature.

mod figure;
mod table;

use crate::args::CompareArgs;
use crate::output::{display_path, output};
use crate::picture::FigurePlan;
use crate::report::{self, format_count};
use crate::{CommandOutcome, interrupt, paint, progress};
use indicatif::ProgressBar;
use quorate_lab::compare::{CompareTask, Comparison, Host, Page, PartCounts, RealRun};
use quorate_lab::{Algorithm, FamilyLab, FamilyTypes, Spec};
use quorate_live::{LiveError, Options};
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<CommandOutcome> {
    args.options.compare(MeasureAndPrint { args })?
}

struct MeasureAndPrint<'a> {
    args: &'a CompareArgs,
}

impl CompareTask for MeasureAndPrint<'_> {
    type Output = anyhow::Result<CommandOutcome>;

    fn perform<C: Comparison>(self, mut comparison: C) -> Self::Output {
        let is_json = self.args.json;
        let picture = self.args.picture()?;
        interrupt::install_handler();
        let (steps, step_name) = comparison.work();
        let mut host =
            TerminalHost { bar: progress::bar(steps, &format!("{{pos}}/{{len}} {step_name}, {{elapsed}}{{msg}}")) };
        host.bar.enable_steady_tick(Duration::from_millis(200));
        let measured = comparison.measure(&mut host);
        host.bar.finish_and_clear();
        // If a run failed, print the figures of the runs before it.
        if measured.is_ok() || comparison.parts().finished > 0 {
            if is_json {
                report::print_json(&comparison.report())?;
            } else if picture.as_ref().is_some_and(FigurePlan::is_on_stdout) {
                print_problems(&comparison.page(), &mut io::stderr())?;
            } else {
                print(&comparison)?;
            }
        }
        measured?;
        if let Some(plan) = &picture {
            draw(&comparison, plan, is_json)?;
        }
        Ok(match (comparison.is_correct(), comparison.is_complete()) {
            (false, _) => CommandOutcome::Fails,
            (true, true) => CommandOutcome::Holds,
            (true, false) => CommandOutcome::Unfinished,
        })
    }
}

/// Shows the progress of a comparison, and runs real processes for it.
struct TerminalHost {
    bar: ProgressBar,
}

impl<F: FamilyLab> Host<F> for TerminalHost {
    fn begin_measurement(&mut self, algorithm: &str, nodes: usize) {
        self.bar.set_message(format!(": {algorithm} with {nodes} nodes"));
    }

    fn advance(&mut self) {
        self.bar.inc(1);
    }

    fn is_interrupted(&self) -> bool {
        interrupt::was_requested()
    }

    fn real_spec(&self, algorithm: Algorithm<F>, nodes: usize, seed: u64) -> Spec<F> {
        quorate_live::spec(algorithm, nodes, seed, F::Settings::default())
    }

    fn run_real(&mut self, spec: &Spec<F>, tls: bool) -> Result<Option<RealRun<F>>, Box<dyn Error + Send + Sync>> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find the path of this program to start processes: {error}."))?;
        let options = Options { has_tls: tls, is_interrupted: &interrupt::was_requested, ..Options::new(program) };
        // The progress bar counts runs, not the events of a run.
        let mut ignore_event = |_, _, _: &F::Event| {};
        match quorate_live::run(spec, &options, &mut ignore_event) {
            // An interrupted run has incomplete figures, and counts only if a property fails.
            Ok(recorded) if recorded.is_interrupted && !recorded.fails() => Ok(None),
            Ok(recorded) => {
                let journal = recorded.journal.as_deref().map(display_path);
                Ok(Some(RealRun { ending: recorded.ending, replayed: recorded.replayed, journal }))
            }
            Err(LiveError::Interrupted) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn print<C: Comparison>(comparison: &C) -> io::Result<()> {
    let mut out = output();
    let page = comparison.page();
    writeln!(out, "{} · {}", paint::bold(C::Family::FAMILY.name()), page.conditions)?;
    for table in &page.tables {
        writeln!(out)?;
        for line in table::render(table) {
            writeln!(out, "{line}")?;
        }
    }
    for paragraph in &page.notes {
        writeln!(out)?;
        for note in paragraph {
            writeln!(out, "  {}", paint::dim(note))?;
        }
    }
    print_problems(&page, &mut out)?;
    let PartCounts { finished, total, name } = comparison.parts();
    if finished < total {
        writeln!(out, "\nNot finished: {finished} of {} completed.", format_count(total as u64, name))?;
    }
    Ok(())
}

fn print_problems(page: &Page, out: &mut impl Write) -> io::Result<()> {
    page.problems.iter().try_for_each(|problem| writeln!(out, "\n{problem}"))
}

/// Draws a complete comparison, if it has a chart, and prints the path of the picture unless
/// `is_quiet`. An incomplete comparison is not drawn, because the picture would not show what is
/// missing.
fn draw(comparison: &impl Comparison, plan: &FigurePlan, is_quiet: bool) -> anyhow::Result<()> {
    let PartCounts { finished, total, name } = comparison.parts();
    if finished < total {
        let unchanged =
            plan.path.as_ref().map(|path| format!("; {} is unchanged", display_path(path))).unwrap_or_default();
        let total = format_count(total as u64, name);
        writeln!(io::stderr(), "No picture was drawn: only {finished} of {total} completed{unchanged}.")?;
        return Ok(());
    }
    match comparison.chart() {
        Some(chart) => plan.write(&figure::from_chart(chart), is_quiet),
        None => Ok(()),
    }
}
