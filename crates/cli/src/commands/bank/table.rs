//! What came of the deposits, for people.

use super::{Day, Outcome, Row};
use crate::output::{name, output};
use crate::paint;
use crate::report::{count, grouped};
use quorate_core::Time;
use quorate_demos::bank::Act;
use quorate_demos::bank::Count;
use quorate_demos::bank::Posting;
use quorate_demos::bank::Statement;
use quorate_journal::words::millis;
use quorate_journal::workload::Ending;
use std::io::{self, Write};

pub(super) fn print(day: &Day<'_>) -> io::Result<()> {
    let mut out = output();
    heading(day, &mut out)?;
    if let Some(row) = day.rows.first()
        && let Outcome::Once(statement) = &row.result
    {
        let under = if row.lock == super::NONE { "Without a lock".into() } else { format!("Under {}", row.lock) };
        writeln!(out, "{}", paint::bold(&format!("{under}, times in milliseconds:")))?;
        statement.history.iter().try_for_each(|posting| history(posting, &mut out))?;
        writeln!(out)?;
    }
    let head = if day.args.seeds == 1 {
        format!("{:<30}{:>6}{:>16}{:>16}{:>16}", "lock", "nodes", "final", "expected", "lost")
    } else {
        format!("{:<30}{:>6}{:>16}{:>16}{:>16}", "lock", "nodes", "seeds", "lost money in", "at most")
    };
    writeln!(out, "  {}", paint::bold(&head))?;
    day.rows.iter().try_for_each(|row| line(row, &mut out))?;
    closing(day, &mut out)
}

fn heading(day: &Day<'_>, out: &mut impl Write) -> io::Result<()> {
    let (tellers, deposit, opening) = (day.terms.tellers(), day.terms.deposit(), day.terms.opening());
    let who = if tellers == 1 { "One teller deposits".into() } else { format!("{tellers} tellers deposit") };
    let each = if tellers == 1 { "" } else { " each" };
    writeln!(
        out,
        "{who} {}{each} into an account of {}: {} is right. A deposit reads the balance, takes its\n\
         time and writes the sum.\n",
        grouped(deposit),
        grouped(opening),
        paint::bold(&grouped(day.terms.expected()))
    )
}

fn history(posting: &Posting, out: &mut impl Write) -> io::Result<()> {
    let Posting { time, node, act } = posting;
    let text = match act {
        Act::Reads { balance } => format!("reads {}", grouped(*balance)),
        Act::Writes { balance, over: None } => format!("writes {}", grouped(*balance)),
        Act::Writes { balance, over: Some(over) } => {
            let over = paint::bad(&format!("over {} that it never saw", grouped(*over)));
            format!("writes {} {over}", grouped(*balance))
        }
    };
    writeln!(out, "{:>12}  the teller at node {node} {text}", millis(Time::from_nanos(time.nanos())))
}

fn line(row: &Row, out: &mut impl Write) -> io::Result<()> {
    write!(out, "  {:<30}{:>6}", row.lock, row.spec.nodes)?;
    match &row.result {
        Outcome::Once(statement) => once(statement, out),
        Outcome::Many(count) => many(count, out),
        Outcome::NoGroup(sizes) => writeln!(out, "   {}", paint::dim(&format!("no such group: {sizes}"))),
    }
}

fn once(statement: &Statement, out: &mut impl Write) -> io::Result<()> {
    let Statement { balance, expected, made, lost, ending, history: _ } = statement;
    let lost = format!("{:>16}", grouped(*lost));
    let lost = if statement.lost > 0 { paint::bad(&lost) } else { paint::good(&lost) };
    write!(out, "{:>16}{:>16}{lost}", grouped(*balance), grouped(*expected))?;
    let deposits = count(*made, "deposit");
    match ending {
        Ending::Done => writeln!(out),
        Ending::Stuck => writeln!(out, "   {}", paint::bad(&format!("stuck after {deposits}"))),
        Ending::Stopped => writeln!(out, "   {}", paint::bad(&format!("stopped after {deposits}"))),
    }
}

fn many(count: &Count, out: &mut impl Write) -> io::Result<()> {
    let Count { seeds, right, losing, most_lost, first_wrong: _ } = count;
    let lost = format!("{:>16}", grouped(*losing));
    let lost = if *losing > 0 { paint::bad(&lost) } else { paint::good(&lost) };
    write!(out, "{:>16}{lost}{:>16}", grouped(*seeds), grouped(*most_lost))?;
    match seeds - right - losing {
        0 => writeln!(out),
        stuck => writeln!(out, "   {}", paint::bad(&format!("and {} came to no end", grouped(stuck)))),
    }
}

/// Which files were written, and how to see again what is wrong.
fn closing(day: &Day<'_>, out: &mut impl Write) -> io::Result<()> {
    if day.args.trace.is_some() || !day.pictures.is_empty() {
        writeln!(out)?;
    }
    if let Some(path) = &day.args.trace {
        writeln!(out, "  {}", paint::dim(&format!("journal: {}", name(path))))?;
    }
    for picture in day.pictures {
        writeln!(out, "  {}", paint::dim(&picture.line()))?;
    }
    if !day.is_complete() {
        writeln!(out, "\nInterrupted: not all seeds were tried.")?;
    }
    for (row, seed) in day.wrong() {
        let mut spec = row.spec.clone();
        spec.seed = seed;
        writeln!(out, "\nTo see it again: {}", day.again(row, seed))?;
        writeln!(out, "To see every step: {} --steps", spec.command("sim"))?;
    }
    Ok(())
}
