//! `quorate record`: merges the journals of real nodes.

use crate::Verdict;
use crate::args::RecordArgs;
use crate::output::{display_path, output};
use crate::paint;
use crate::report::{count, json};
use anyhow::{anyhow, ensure};
use quorate_journal::record::gather::{Gathered, gather};
use quorate_live::write_atomically;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &RecordArgs) -> anyhow::Result<Verdict> {
    ensure!(
        !args.files.iter().any(|file| is_same(file, &args.out)),
        "--out {} is one of the journals to merge; give it another file name.",
        display_path(&args.out)
    );
    let found = record(&args.files, &args.out)?;
    if args.json {
        json(&found)?;
    } else {
        print(&found, &args.out)?;
    }
    Ok(Verdict::Holds)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn record(files: &[PathBuf], out: &Path) -> anyhow::Result<Gathered> {
    let failed = |error: io::Error| anyhow!("Cannot write the journal {}: {error}.", display_path(out));
    write_atomically(out, failed, |to| Ok(gather(files, to)?))
}

fn print(found: &Gathered, out: &Path) -> anyhow::Result<()> {
    let mut to = output();
    let (nodes, incarnations) = (count(found.nodes as u64, "node"), count(found.lives as u64, "incarnation"));
    writeln!(to, "{nodes} · {incarnations} · {}\n", machines(found.boots))?;
    let mut row = |what: &str, number: u64, remark: &str| {
        let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
        writeln!(to, "  {what:<24}{number:>12}{remark}")
    };
    row("messages sent", found.sent, "")?;
    row("messages received", found.matched, "each after it was sent")?;
    row("messages lost", found.lost, "the receiver was down")?;
    if found.skipped > 0 {
        row("messages skipped", found.skipped, "later messages of the link arrived")?;
    }
    row("messages in flight", found.under_way, "at the end")?;
    row("incarnations stopped", found.ended as u64, "the others crashed or are still running")?;
    if found.raised > 0 {
        let remark = if found.boots > 1 { "the clocks of their machines were slow" } else { "" };
        row("steps moved later", found.raised, remark)?;
    }
    row("lines", found.lines, "")?;
    for file in &found.torn {
        writeln!(to, "\n  {} the last line of {file} is incomplete and was ignored.", paint::bad("torn:"))?;
    }
    for warning in &found.warnings {
        writeln!(to, "\n  {} {warning}", paint::bad("warning:"))?;
    }
    let out = display_path(out);
    writeln!(
        to,
        "\nThe merged journal is {out}. To print its steps: quorate trace {out}. To check its properties: quorate \
         trace {out} --summary"
    )?;
    Ok(())
}

fn machines(boots: usize) -> String {
    match boots {
        0 | 1 => "one machine, one clock".into(),
        boots => format!("{boots} machines or boots, each with its own clock"),
    }
}
