//! `quorate record`: merges the journals of real nodes.

use crate::CommandOutcome;
use crate::args::RecordArgs;
use crate::output::{display_path, output};
use crate::paint;
use crate::report::{count, print_json};
use anyhow::{anyhow, ensure};
use quorate_journal::record::gather::{Gathered, gather};
use quorate_live::write_atomically;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &RecordArgs) -> anyhow::Result<CommandOutcome> {
    ensure!(
        !args.files.iter().any(|file| is_same_file(file, &args.out)),
        "--out {} is one of the journals to merge; give it another file name.",
        display_path(&args.out)
    );
    let gathered = record(&args.files, &args.out)?;
    if args.json {
        print_json(&gathered)?;
    } else {
        print(&gathered, &args.out)?;
    }
    Ok(CommandOutcome::Holds)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn record(files: &[PathBuf], out: &Path) -> anyhow::Result<Gathered> {
    let failed = |error: io::Error| anyhow!("cannot write the journal {}: {error}.", display_path(out));
    write_atomically(out, failed, |to| Ok(gather(files, to)?))
}

fn print(gathered: &Gathered, merged: &Path) -> anyhow::Result<()> {
    let mut out = output();
    let (nodes, incarnations) = (count(gathered.nodes as u64, "node"), count(gathered.lives as u64, "incarnation"));
    writeln!(out, "{nodes} · {incarnations} · {}\n", machines(gathered.boots))?;
    let mut row = |name: &str, number: u64, remark: &str| {
        let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
        writeln!(out, "  {name:<24}{number:>12}{remark}")
    };
    row("messages sent", gathered.sent, "")?;
    row("messages received", gathered.matched, "each after it was sent")?;
    row("messages lost", gathered.lost, "the receiver was down")?;
    if gathered.skipped > 0 {
        row("messages skipped", gathered.skipped, "later messages of the link arrived")?;
    }
    row("messages in flight", gathered.under_way, "at the end")?;
    row("incarnations stopped", gathered.ended as u64, "the others crashed or are still running")?;
    if gathered.raised > 0 {
        let remark = if gathered.boots > 1 { "the clocks of their machines were slow" } else { "" };
        row("steps moved later", gathered.raised, remark)?;
    }
    row("lines", gathered.lines, "")?;
    for file in &gathered.torn {
        writeln!(out, "\n  {} the last line of {file} is incomplete and was ignored.", paint::bad("torn:"))?;
    }
    for warning in &gathered.warnings {
        writeln!(out, "\n  {} {warning}", paint::bad("warning:"))?;
    }
    let merged = display_path(merged);
    writeln!(
        out,
        "\nThe merged journal is {merged}. To print its steps: quorate trace {merged}. To check its properties: quorate \
         trace {merged} --summary"
    )?;
    Ok(())
}

fn machines(boots: usize) -> String {
    match boots {
        0 | 1 => "one machine, one clock".into(),
        boots => format!("{boots} machines or boots, each with its own clock"),
    }
}
