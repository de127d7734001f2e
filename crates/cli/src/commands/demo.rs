//! `quorate` without a command, and `quorate demo`: an introduction with a run of three nodes.

use crate::CommandOutcome;
use crate::args::DemoArgs;
use crate::output::output;
use crate::paint;
use crate::report;
use quorate_lab::PresentFamily;
use quorate_lab::figures::RunResults;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::trace::{self, Trace};
use quorate_lab::{Algorithm, Mutex, Spec, experiment};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Pause after each line on a terminal.
const LINE_PAUSE: Duration = Duration::from_millis(70);

/// A seed with which one request meets no contention and another one waits, so that the run shows
/// both a client delay and a synchronization delay.
const SEED: u64 = 1;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<CommandOutcome> {
    let mut out = output();
    writeln!(
        out,
        "{}",
        paint::bold("Quorate simulates, checks, draws and runs algorithms of distributed coordination.")
    )?;
    writeln!(
        out,
        "\nThree nodes share a resource that only one of them may use at a time. They have no shared memory, only a\n\
         network, and follow the rules of Ricart and Agrawala (quorate explain ricart-agrawala):\n"
    )?;
    let seed = args.seed.unwrap_or(SEED);
    let settings = Settings { entries: 6, workload: Pattern::Random, ..Settings::default() };
    let spec = Spec { seed, settings, ..Mutex::example(Algorithm::named("ricart-agrawala")?) };
    writeln!(out, "{}", paint::dim(&trace::heading(spec.nodes)))?;
    let is_paced = io::stdout().is_terminal() && !args.fast;
    let mut write_error = None;
    let steps = Trace::<Mutex>::new(spec.nodes, |line| {
        let written = writeln!(out, "{}", trace::render(line, paint::trace_text)).and_then(|()| out.flush());
        write_error = write_error.take().or(written.err());
        if is_paced && write_error.is_none() {
            std::thread::sleep(LINE_PAUSE);
        }
    });
    let (outcome, mut steps) = experiment::run_with(&spec, io::sink(), steps)?;
    steps.finish();
    drop(steps);
    if let Some(error) = write_error {
        return Err(error.into());
    }
    writeln!(out, "{}\n", paint::dim(&format!("{no_time:>10}  {}", trace::legend(Mutex::ROLES), no_time = "")))?;
    let (messages, summary, verdicts) = (&outcome.messages, &outcome.summary, &outcome.verdicts[..]);
    report::print_figures(&RunResults { spec: &spec, messages, summary, verdicts }, &mut out)?;
    writeln!(
        out,
        "\n{}{}",
        paint::bold("Next steps"),
        paint::dim("   (or cargo run --release -- instead of quorate)")
    )?;
    let hints = [
        ("quorate list".to_owned(), "all algorithms, with their message costs".to_owned()),
        ("quorate explain central".into(), "idea, rules, cost, failures".into()),
        ("quorate compare mutex --nodes 4,9,16".into(), "mutual exclusion beside the expected figures".into()),
        ("quorate sim central --fault \"crash 1 at 40ms\"".into(), "crash a node".into()),
        (
            "quorate sweep ricart-agrawala --seeds 10000 --loss 0.1".into(),
            "search ten thousand runs for a failure".into(),
        ),
        ("quorate run ricart-agrawala --nodes 5".into(), "the same in real processes".into()),
        ("quorate --help".into(), "everything else".into()),
    ];
    for (command, purpose) in hints {
        writeln!(out, "  {command:<56}{}", paint::dim(&purpose))?;
    }
    Ok(CommandOutcome::from_verdicts(&outcome.verdicts))
}
