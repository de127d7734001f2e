//! `quorate` alone: a welcome, and three nodes at work.

use crate::Verdict;
use crate::args::DemoArgs;
use crate::output::output;
use crate::paint;
use crate::report;
use quorate_lab::PresentFamily;
use quorate_lab::figures::Figures;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::registry::all;
use quorate_lab::trace::{self, Trace};
use quorate_lab::{Algorithm, Mutex, Spec, experiment};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// How long each line stays the last one, so that the eye can follow.
const PACE: Duration = Duration::from_millis(70);

/// A run in which somebody asks alone and somebody waits, so that both delays are seen.
const SEED: u64 = 1;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Verdict> {
    let mut out = output();
    writeln!(out, "{}", paint::bold("Quorate: distributed coordination you can watch, prove and run."))?;
    writeln!(
        out,
        "\nThree processes share nothing but a network. All of them want in; one at a time may. They ask each\n\
         other by Ricart and Agrawala's rules (quorate explain ricart-agrawala):\n"
    )?;
    let seed = args.seed.unwrap_or(SEED);
    let settings = Settings { entries: 6, workload: Pattern::Random, ..Settings::default() };
    let spec = Spec { seed, settings, ..Mutex::example(Algorithm::named("ricart-agrawala")?) };
    writeln!(out, "{}", paint::dim(&trace::heading(spec.nodes)))?;
    let paced = io::stdout().is_terminal() && !args.fast;
    let mut failed = None;
    let steps = Trace::<Mutex>::new(spec.nodes, |line| {
        let told = writeln!(out, "{}", trace::render(line, paint::ink)).and_then(|()| out.flush());
        failed = failed.take().or(told.err());
        if paced && failed.is_none() {
            std::thread::sleep(PACE);
        }
    });
    let (outcome, mut steps) = experiment::run_with(&spec, io::sink(), steps)?;
    steps.finish();
    drop(steps);
    if let Some(error) = failed {
        return Err(error.into());
    }
    writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::legend(Mutex::ROLES))))?;
    let (messages, summary, verdicts) = (&outcome.messages, &outcome.summary, &outcome.verdicts[..]);
    report::figures(&Figures { spec: &spec, messages, summary, verdicts }, &mut out)?;
    writeln!(
        out,
        "\n{}{}",
        paint::bold("Go on with"),
        paint::dim("   (or cargo run --release -- instead of quorate)")
    )?;
    let hints = [
        ("quorate list".to_owned(), format!("the algorithms, {} of them", all().len())),
        ("quorate explain central".into(), "idea, rules, cost, failures".into()),
        ("quorate compare mutex --nodes 4,9,16".into(), "all of them beside the book's figures".into()),
        ("quorate sim central --fault \"crash 1 at 40ms\"".into(), "break it".into()),
        ("quorate sweep ricart-agrawala --seeds 10000 --loss 0.1".into(), "try to break it ten thousand times".into()),
        ("quorate run ricart-agrawala --nodes 5".into(), "the same between real processes".into()),
        ("quorate --help".into(), "everything else".into()),
    ];
    for (command, what) in hints {
        writeln!(out, "  {command:<56}{}", paint::dim(&what))?;
    }
    Ok(Verdict::of_run(&outcome.verdicts))
}
