//! `quorate wait-for`: finds deadlocks in a wait-for graph, explains them and draws the graph.

mod diagram;

use crate::args::WaitForArgs;
use crate::output::{display_path, output};
use crate::picture::{FigurePlan, ensure_distinct, is_stdout};
use crate::report::print_json;
use crate::{CommandOutcome, paint};
use anyhow::anyhow;
use quorate_demos::wait_for::{FoundDeadlock, MAX_BYTES, Name, Report, Round, Situation, Wait};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Maximum number of names in a list; the rest is counted.
const MAX_LISTED_NAMES: usize = 30;

pub(crate) fn run(args: &WaitForArgs) -> anyhow::Result<CommandOutcome> {
    let picture = args.svg.as_deref().filter(|path| !is_stdout(path)).map(|path| ("svg", "picture", path));
    ensure_distinct(&picture.into_iter().collect(), &[("graph", args.file.as_deref())])?;
    let plan = FigurePlan::from_options(args.svg.as_deref(), args.theme, args.json)?;
    let situation = read_graph(args)?;
    let report = situation.report(args.victim.into())?;
    let is_on_stdout = plan.as_ref().is_some_and(FigurePlan::is_on_stdout);
    if args.json {
        print_json(&report)?;
    } else if !is_on_stdout {
        print(&report, &mut output())?;
    }
    if let Some(plan) = plan {
        let svg = diagram::build_diagram(&situation, &report).svg(plan.theme())?;
        plan.write_svg(&svg, args.json)?;
    }
    Ok(CommandOutcome::from_holds(report.is_deadlock_free()))
}

fn read_graph(args: &WaitForArgs) -> anyhow::Result<Situation> {
    let (bytes, source) = match (args.example, args.file.as_deref()) {
        (Some(example), _) => (example.text().as_bytes().to_vec(), "the example".to_owned()),
        (None, Some(path)) if path != Path::new("-") => {
            let source = format!("the graph {}", display_path(path));
            let read = File::open(path).and_then(read_bytes);
            (read.map_err(|error| anyhow!("cannot read {source}: {error}."))?, source)
        }
        (None, _) => {
            let source = "standard input".to_owned();
            (read_bytes(io::stdin().lock()).map_err(|error| anyhow!("cannot read {source}: {error}."))?, source)
        }
    };
    Situation::parse(&bytes).map_err(|error| anyhow!("in {source}: {error}"))
}

/// Reads the whole input, but at most one byte more than is allowed, by which the parser sees that
/// it is too long.
fn read_bytes(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for note in &report.notes {
        writeln!(out, "{}", paint::dim(&format!("note: {note}")))?;
    }
    for deadlock in &report.deadlocks {
        writeln!(out, "{} {}", paint::bad("deadlock:"), diagram::describe_deadlock(deadlock))?;
        for wait in &deadlock.waits {
            writeln!(out, "  {wait}")?;
        }
    }
    if report.is_deadlock_free() {
        writeln!(out, "{}", paint::good("no deadlock: every process continues eventually"))?;
    }
    let pronoun = if report.deadlocks.len() > 1 { "them" } else { "it" };
    print_waits(&format!("blocked behind {pronoun}:"), &report.stuck_behind, out)?;
    print_waits("waiting, but will continue:", &report.waiting, out)?;
    print_list("free:", report.free.iter().map(Name::to_string), out)?;
    for (index, round) in report.rounds.iter().enumerate() {
        writeln!(out)?;
        if index > 0 {
            writeln!(out, "{}", paint::bold("next search"))?;
        }
        print_victims(report, round, out)?;
    }
    if report.rounds.last().is_some_and(|round| round.remaining_deadlocks > 0) {
        let searched = report.rounds.len();
        writeln!(out, "{}", paint::dim(&format!("stopped after {searched} searches: abort these victims first")))?;
    }
    Ok(())
}

fn print_waits(title: &str, waits: &[Wait], out: &mut impl Write) -> io::Result<()> {
    print_list(title, waits.iter().map(|wait| format!("{} ({})", wait.process, wait.describe())), out)
}

/// Prints the title, the first items of a list and the number of the others; nothing if the list is
/// empty.
fn print_list(title: &str, items: impl ExactSizeIterator<Item = String>, out: &mut impl Write) -> io::Result<()> {
    let count = items.len();
    if count == 0 {
        return Ok(());
    }
    let shown: Vec<_> = items.take(MAX_LISTED_NAMES).collect();
    let more = if count > MAX_LISTED_NAMES { format!(" and {} more", count - MAX_LISTED_NAMES) } else { String::new() };
    writeln!(out, "{} {}{more}", paint::bold(title), shown.join(", "))
}

/// Prints the victims of one search, the processes that continue after these are aborted, and the
/// number of deadlocks that a new search finds.
fn print_victims(report: &Report, round: &Round, out: &mut impl Write) -> io::Result<()> {
    for victim in &round.victims {
        writeln!(out, "{} {}", paint::bold(&format!("victim by {}:", report.policy)), victim.process)?;
        writeln!(out, "  {}", victim.reason)?;
        writeln!(out, "  is aborted, and releases {}", victim.describe_released())?;
    }
    print_list("then these continue:", round.freed.iter().map(Name::to_string), out)?;
    let remaining = match round.remaining_deadlocks {
        0 => "a new search finds no deadlock".to_owned(),
        1 => "a new search finds one more deadlock".to_owned(),
        more => format!("a new search finds {more} more deadlocks"),
    };
    writeln!(out, "{}", paint::dim(&remaining))
}

fn member_count(deadlock: &FoundDeadlock) -> usize {
    deadlock.members().len()
}
