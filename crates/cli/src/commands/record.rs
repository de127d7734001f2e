//! `quorate record`: merges the journals of real nodes.

use crate::CommandOutcome;
use crate::args::RecordArgs;
use crate::output::{display_path, output};
use crate::paint;
use crate::report::{format_count, print_json};
use anyhow::{anyhow, ensure};
use quorate_journal::record::gather::{GatherReport, gather};
use quorate_live::write_atomically;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &RecordArgs) -> anyhow::Result<CommandOutcome> {
    ensure!(
        !args.files.iter().any(|file| is_same_file(file, &args.out)),
        "--out {} is one of the journals to merge; give it another file name.",
        display_path(&args.out)
    );
    let gathered = merge(&args.files, &args.out)?;
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

/// Merges the journals into the file `out`, which is written completely or not at all.
fn merge(files: &[PathBuf], out: &Path) -> anyhow::Result<GatherReport> {
    let failed = |error: io::Error| anyhow!("cannot write the journal {}: {error}.", display_path(out));
    write_atomically(out, failed, |to| Ok(gather(files, to)?))
}

fn print(gathered: &GatherReport, merged: &Path) -> anyhow::Result<()> {
    let mut out = output();
    let (nodes, incarnations) =
        (format_count(gathered.nodes as u64, "node"), format_count(gathered.incarnations as u64, "incarnation"));
    writeln!(out, "{nodes} · {incarnations} · {}\n", describe_machines(gathered.boots))?;
    let mut row = |name: &str, number: u64, remark: &str| {
        let remark = if remark.is_empty() { String::new() } else { format!("   {}", paint::dim(remark)) };
        writeln!(out, "  {name:<24}{number:>12}{remark}")
    };
    row("messages sent", gathered.sent_messages, "")?;
    row("messages received", gathered.received_messages, "each after it was sent")?;
    row("messages lost", gathered.lost_messages, "the receiver was down")?;
    if gathered.skipped_messages > 0 {
        row("messages skipped", gathered.skipped_messages, "later messages of the link arrived")?;
    }
    row("messages in flight", gathered.in_flight, "at the end")?;
    row("incarnations stopped", gathered.clean_shutdowns as u64, "the others crashed or are still running")?;
    if gathered.delayed_steps > 0 {
        let remark = if gathered.boots > 1 { "the clocks of their machines were slow" } else { "" };
        row("steps moved later", gathered.delayed_steps, remark)?;
    }
    row("lines", gathered.lines, "")?;
    for file in &gathered.torn_files {
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

fn describe_machines(boots: usize) -> String {
    match boots {
        0 | 1 => "one machine, one clock".into(),
        boots => format!("{boots} machines or boots, each with its own clock"),
    }
}
