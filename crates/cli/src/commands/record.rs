//! `quorate record`: the journals of real nodes, gathered into one.

use crate::Verdict;
use crate::args::RecordArgs;
use crate::output::{name, output};
use crate::paint;
use crate::report::{count, json};
use anyhow::{anyhow, ensure};
use quorate_journal::record::gather::{Gathered, gather};
use quorate_live::write_whole;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &RecordArgs) -> anyhow::Result<Verdict> {
    ensure!(
        !args.files.iter().any(|file| is_same(file, &args.out)),
        "{} is one of the journals that are to be gathered. Give --out another name.",
        name(&args.out)
    );
    let found = record(&args.files, &args.out)?;
    if args.json {
        json(&found)?;
    } else {
        tell(&found, &args.out)?;
    }
    Ok(Verdict::Holds)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn record(files: &[PathBuf], out: &Path) -> anyhow::Result<Gathered> {
    let failed = |error: io::Error| anyhow!("The journal {} could not be written: {error}.", name(out));
    write_whole(out, failed, |to| Ok(gather(files, to)?))
}

fn tell(found: &Gathered, out: &Path) -> anyhow::Result<()> {
    let mut to = output();
    let (nodes, lives) = (count(found.nodes as u64, "node"), lives(found.lives));
    writeln!(to, "{nodes} · {lives} · {}\n", machines(found.boots))?;
    let mut row = |what: &str, number: u64, remark: &str| {
        let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
        writeln!(to, "  {what:<24}{number:>12}{remark}")
    };
    row("messages sent", found.sent, "")?;
    row("messages received", found.matched, "each one after it was sent")?;
    row("messages lost", found.lost, "their receiver was down")?;
    if found.skipped > 0 {
        row("messages skipped", found.skipped, "later ones arrived, these never did")?;
    }
    row("messages under way", found.under_way, "at the end")?;
    row("lives that ended well", found.ended as u64, "the others crashed, or still go on")?;
    if found.raised > 0 {
        let remark = if found.boots > 1 { "the clocks of their machines were behind" } else { "" };
        row("steps put later", found.raised, remark)?;
    }
    row("lines", found.lines, "")?;
    for file in &found.torn {
        writeln!(to, "\n  {} the last line of {file} was cut off, and is left out.", paint::bad("torn:"))?;
    }
    for warning in &found.warnings {
        writeln!(to, "\n  {} {warning}", paint::bad("odd:"))?;
    }
    let out = name(out);
    writeln!(to, "\nThe run is in {out}; look at it with 'quorate trace {out}', let it be judged with --summary.")?;
    Ok(())
}

fn lives(lives: usize) -> String {
    if lives == 1 { "1 life".into() } else { format!("{lives} lives") }
}

fn machines(boots: usize) -> String {
    match boots {
        0 | 1 => "one machine, one clock".into(),
        boots => format!("{boots} machines, or boots of them, with a clock each"),
    }
}
