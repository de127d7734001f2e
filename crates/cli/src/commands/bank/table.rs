//! Text report of `quorate bank`.

use super::{BankReport, LockOutcome, LockRow};
use crate::output::{display_path, output};
use crate::paint;
use crate::report::{format_count, format_thousands};
use quorate_demos::bank::Access;
use quorate_demos::bank::Act;
use quorate_demos::bank::SeedTotals;
use quorate_demos::bank::Statement;
use quorate_journal::words::format_millis;
use quorate_journal::workload::Ending;
use std::io::{self, Write};

pub(super) fn print(report: &BankReport<'_>) -> io::Result<()> {
    let mut out = output();
    write_heading(report, &mut out)?;
    if let Some(row) = report.rows.first()
        && let LockOutcome::Once(statement) = &row.result
    {
        let title =
            if row.lock == super::NO_LOCK_NAME { "Without a lock".into() } else { format!("Under {}", row.lock) };
        writeln!(out, "{}", paint::bold(&format!("{title}, times in milliseconds:")))?;
        statement.history.iter().try_for_each(|access| write_access(access, &mut out))?;
        writeln!(out)?;
    }
    let heading = if report.args.seeds == 1 {
        format!("{:<30}{:>6}{:>16}{:>16}{:>16}", "lock", "nodes", "final", "expected", "lost")
    } else {
        format!("{:<30}{:>6}{:>16}{:>16}{:>16}", "lock", "nodes", "seeds", "with a loss", "largest loss")
    };
    writeln!(out, "  {}", paint::bold(&heading))?;
    report.rows.iter().try_for_each(|row| write_row(row, &mut out))?;
    write_closing(report, &mut out)
}

fn write_heading(report: &BankReport<'_>, out: &mut impl Write) -> io::Result<()> {
    let (tellers, deposit, opening) =
        (report.settings.tellers(), report.settings.deposit(), report.settings.opening_balance());
    let subject = if tellers == 1 { "One teller deposits".into() } else { format!("{tellers} tellers deposit") };
    let each = if tellers == 1 { "" } else { " each" };
    writeln!(
        out,
        "{subject} {}{each} into an account of {}, so that the final balance should be {}. A deposit reads the\n\
         balance, waits, and writes the sum.\n",
        format_thousands(deposit),
        format_thousands(opening),
        paint::bold(&format_thousands(report.settings.expected_balance()))
    )
}

fn write_access(access: &Access, out: &mut impl Write) -> io::Result<()> {
    let Access { time, node, act } = access;
    let text = match act {
        Act::Reads { balance } => format!("reads {}", format_thousands(*balance)),
        Act::Writes { balance, overwritten: None } => format!("writes {}", format_thousands(*balance)),
        Act::Writes { balance, overwritten: Some(overwritten) } => {
            let remark = paint::bad(&format!("over {}, which it did not read", format_thousands(*overwritten)));
            format!("writes {} {remark}", format_thousands(*balance))
        }
    };
    writeln!(out, "{:>12}  the teller at node {node} {text}", format_millis(*time))
}

fn write_row(row: &LockRow, out: &mut impl Write) -> io::Result<()> {
    write!(out, "  {:<30}{:>6}", row.lock, row.spec.nodes)?;
    match &row.result {
        LockOutcome::Once(statement) => write_statement(statement, out),
        LockOutcome::Many(totals) => write_totals(totals, out),
        LockOutcome::NoGroup(sizes) => writeln!(out, "   {}", paint::dim(&format!("skipped: {sizes}"))),
    }
}

fn write_statement(statement: &Statement, out: &mut impl Write) -> io::Result<()> {
    let Statement { balance, expected_balance, completed_deposits, lost, ending, history: _ } = statement;
    let lost = format!("{:>16}", format_thousands(*lost));
    let lost = if statement.lost > 0 { paint::bad(&lost) } else { paint::good(&lost) };
    write!(out, "{:>16}{:>16}{lost}", format_thousands(*balance), format_thousands(*expected_balance))?;
    let deposits = format_count(*completed_deposits, "deposit");
    match ending {
        Ending::Done => writeln!(out),
        Ending::Stuck => writeln!(out, "   {}", paint::bad(&format!("blocked after {deposits}"))),
        Ending::Stopped => writeln!(out, "   {}", paint::bad(&format!("stopped after {deposits}"))),
    }
}

fn write_totals(totals: &SeedTotals, out: &mut impl Write) -> io::Result<()> {
    let SeedTotals { seeds, correct, losing, max_lost, first_incorrect_seed: _ } = totals;
    let losing_cell = format!("{:>16}", format_thousands(*losing));
    let losing_cell = if *losing > 0 { paint::bad(&losing_cell) } else { paint::good(&losing_cell) };
    write!(out, "{:>16}{losing_cell}{:>16}", format_thousands(*seeds), format_thousands(*max_lost))?;
    match seeds - correct - losing {
        0 => writeln!(out),
        unfinished => {
            writeln!(out, "   {}", paint::bad(&format!("and {} did not finish", format_thousands(unfinished))))
        }
    }
}

/// Prints the files that were written, whether an interrupt left seeds out, and commands that
/// repeat failing runs.
fn write_closing(report: &BankReport<'_>, out: &mut impl Write) -> io::Result<()> {
    if report.args.trace.is_some() || !report.pictures.is_empty() {
        writeln!(out)?;
    }
    if let Some(path) = &report.args.trace {
        writeln!(out, "  {}", paint::dim(&format!("journal: {}", display_path(path))))?;
    }
    for picture in report.pictures {
        writeln!(out, "  {}", paint::dim(&picture.report_line()))?;
    }
    if !report.is_complete() {
        writeln!(out, "\nInterrupted: not all seeds were run.")?;
    }
    for (row, seed) in report.failures() {
        let mut spec = row.spec.clone();
        spec.seed = seed;
        writeln!(out, "\nTo see it again: {}", report.repeat_command(row, seed))?;
        writeln!(out, "To see every step: {} --steps", spec.command("sim"))?;
    }
    Ok(())
}
