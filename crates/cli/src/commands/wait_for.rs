//! `quorate wait-for`: a graph given as text, searched, explained and drawn.

mod diagram;

use crate::args::WaitForArgs;
use crate::output::{name, output};
use crate::picture::{FigurePlan, ensure_apart, is_stdout};
use crate::report::json;
use crate::{Verdict, paint};
use anyhow::anyhow;
use quorate_demos::wait_for::{Found, MOST_BYTES, Name, Report, Round, Situation, Wait};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// How many are listed before the rest is counted.
const LISTED: usize = 30;

pub(crate) fn run(args: &WaitForArgs) -> anyhow::Result<Verdict> {
    let picture = args.svg.as_deref().filter(|path| !is_stdout(path)).map(|path| ("svg", "picture", path));
    ensure_apart(&picture.into_iter().collect(), &[("graph", args.file.as_deref())])?;
    let plan = FigurePlan::of(args.svg.as_deref(), args.theme, args.json)?;
    let situation = read(args)?;
    let report = situation.report(args.victim.into())?;
    let is_silent = plan.as_ref().is_some_and(FigurePlan::is_on_stdout);
    if args.json {
        json(&report)?;
    } else if !is_silent {
        print(&report, &mut output())?;
    }
    if let Some(plan) = plan {
        let svg = diagram::of(&situation, &report).svg(plan.theme())?;
        plan.write_svg(&svg, args.json)?;
    }
    Ok(Verdict::of(report.is_free()))
}

fn read(args: &WaitForArgs) -> anyhow::Result<Situation> {
    let (bytes, what) = match (args.example, args.file.as_deref()) {
        (Some(example), _) => (example.text().as_bytes().to_vec(), "The example".to_owned()),
        (None, Some(path)) if path != Path::new("-") => {
            let what = format!("The graph {}", name(path));
            let read = File::open(path).and_then(bytes);
            (read.map_err(|error| anyhow!("{what} could not be read: {error}."))?, what)
        }
        (None, _) => {
            let what = "Standard input".to_owned();
            (bytes(io::stdin().lock()).map_err(|error| anyhow!("{what} could not be read: {error}."))?, what)
        }
    };
    Situation::read(&bytes).map_err(|mistake| anyhow!("{what}: {mistake}"))
}

/// All of it, or a byte more than is taken.
fn bytes(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for note in &report.notes {
        writeln!(out, "{}", paint::dim(&format!("note: {note}")))?;
    }
    for found in &report.deadlocks {
        writeln!(out, "{} {}", paint::bad("deadlock:"), diagram::outline(found))?;
        for wait in &found.waits {
            writeln!(out, "  {wait}")?;
        }
    }
    if report.is_free() {
        writeln!(out, "{}", paint::good("no deadlock: everyone goes on sooner or later"))?;
    }
    let it = if report.deadlocks.len() > 1 { "them" } else { "it" };
    waits(&format!("stuck behind {it}:"), &report.stuck_behind, out)?;
    waits("waiting, but will go on:", &report.waiting, out)?;
    line("free:", report.free.iter().map(Name::to_string), out)?;
    for (place, round) in report.rounds.iter().enumerate() {
        writeln!(out)?;
        if place > 0 {
            writeln!(out, "{}", paint::bold("searched again"))?;
        }
        victims(report, round, out)?;
    }
    if report.rounds.last().is_some_and(|round| round.left > 0) {
        let searched = report.rounds.len();
        writeln!(
            out,
            "{}",
            paint::dim(&format!("that is where it ends, after {searched} searches: give up these first"))
        )?;
    }
    Ok(())
}

fn waits(title: &str, waits: &[Wait], out: &mut impl Write) -> io::Result<()> {
    line(title, waits.iter().map(|wait| format!("{} ({})", wait.who, wait.what())), out)
}

/// Some of several, and how many there are beyond that.
fn line(title: &str, items: impl ExactSizeIterator<Item = String>, out: &mut impl Write) -> io::Result<()> {
    let count = items.len();
    if count == 0 {
        return Ok(());
    }
    let shown: Vec<_> = items.take(LISTED).collect();
    let more = if count > LISTED { format!(" and {} more", count - LISTED) } else { String::new() };
    writeln!(out, "{} {}{more}", paint::bold(title), shown.join(", "))
}

fn victims(report: &Report, round: &Round, out: &mut impl Write) -> io::Result<()> {
    for victim in &round.victims {
        writeln!(out, "{} {}", paint::bold(&format!("victim by {}:", report.policy)), victim.who)?;
        writeln!(out, "  {}", victim.why)?;
        writeln!(out, "  gives up, and lets go of {}", victim.lets_go())?;
    }
    line("then these go on:", round.freed.iter().map(Name::to_string), out)?;
    let left = match round.left {
        0 => "a new search finds nobody stuck".to_owned(),
        1 => "a new search finds one more deadlock".to_owned(),
        more => format!("a new search finds {more} more deadlocks"),
    };
    writeln!(out, "{}", paint::dim(&left))
}

fn size(found: &Found) -> usize {
    found.members().len()
}
