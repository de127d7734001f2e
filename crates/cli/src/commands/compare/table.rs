//! A comparison for people: one line a group, and under the table whatever is not as it should be.

use super::{Comparison, Row, Side, World};
use crate::output::{name, output};
use crate::paint;
use crate::report::{count, number};
use quorate_lab::compare::Measured;
use quorate_sim::metrics::Delay;
use quorate_sim::mutex::Pattern;
use std::io::{self, Write};

pub(super) fn print(comparison: &Comparison<'_>) -> anyhow::Result<()> {
    let mut out = output();
    title(comparison, &mut out)?;
    for line in render(&columns(comparison)) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n  {}", paint::dim(unit(comparison)))?;
    writeln!(
        out,
        "  {}",
        paint::dim("sync: from a leave to the next entry   busiest: the busiest node's share of messages")
    )?;
    complaints(comparison, &mut out)?;
    let (done, runs) = (comparison.done(), comparison.plan.runs());
    if done < runs {
        writeln!(out, "\nNot finished: {done} of {} came to their end.", count(runs as u64, "run"))?;
    }
    Ok(())
}

fn title(comparison: &Comparison<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} · {}\n", paint::bold("mutex"), conditions(comparison))
}

/// How it was measured.
pub(super) fn conditions(comparison: &Comparison<'_>) -> String {
    let plan = comparison.plan;
    let asks = match plan.settings.workload {
        Pattern::Single => "one asks",
        Pattern::All => "all ask at once",
        Pattern::Random => "all ask at random times",
    };
    let entries = count(plan.settings.entries, "request");
    let real = plan.reality.as_ref().map(|reality| format!(" · real: {} on loopback", reality.links().to_uppercase()));
    format!("{asks}, {entries} a run · seed {}{}", plan.seed, real.unwrap_or_default())
}

fn unit(comparison: &Comparison<'_>) -> &'static str {
    match comparison.plan.reality {
        Some(_) => "T: one message time, 1 ms in the simulator; real delays are means in milliseconds",
        None => "T: one message time, 1 ms in the simulator",
    }
}

/// Figures of all rows, with what stands above them.
struct Column {
    /// What this and its neighbours are about.
    group: &'static str,
    title: &'static str,
    cells: Vec<String>,
}

/// What stands below one title in one row.
type Cell<'a> = &'a dyn Fn(&Row) -> String;

fn columns(comparison: &Comparison<'_>) -> Vec<Column> {
    let (messages, client, sync, busiest) = ("messages an entry", "client delay", "sync delay", "busiest");
    let real = |cell: fn(&Measured) -> String| {
        move |row: &Row| row.real.as_ref().map_or("–".into(), |side: &Side| cell(&side.measured))
    };
    let table: [(&'static str, &'static str, Cell<'_>); 15] = [
        ("", "algorithm", &|row| row.name().to_owned()),
        ("", "nodes", &|row| row.nodes.to_string()),
        (messages, "book", &|row| book_messages(row)),
        (messages, "sim", &|row| messages_of(&row.simulated.measured)),
        (messages, "real", &real(messages_of)),
        (client, "book", &|row| row.book.client.to_owned()),
        (client, "sim", &|row| delay(row.simulated.measured.client_delay, "T")),
        (client, "real", &real(|measured| delay(measured.client_delay, " ms"))),
        (sync, "book", &|row| row.book.sync.to_owned()),
        (sync, "sim", &|row| delay(row.simulated.measured.sync_delay, "T")),
        (sync, "real", &real(|measured| delay(measured.sync_delay, " ms"))),
        (busiest, "sim", &|row| share(&row.simulated.measured)),
        (busiest, "real", &real(share)),
        ("", "exact", &|row| mark(row.is_exact())),
        ("", "holds", &|row| mark(Some(row.holds()))),
    ];
    let is_shown = |title: &str| title != "real" || comparison.plan.reality.is_some();
    let shown = table.into_iter().filter(|(_, title, _)| is_shown(title));
    let column = |(group, title, cell): (&'static str, &'static str, Cell<'_>)| Column {
        group,
        title,
        cells: comparison.rows.iter().map(cell).collect(),
    };
    shown.map(column).collect()
}

/// Where one node keeps the lock, the formula is the figure itself, and says what that node's own entries cost.
fn book_messages(row: &Row) -> String {
    let Row { book, simulated, .. } = row;
    let entries = simulated.measured.counted;
    match book.total(entries).exact() {
        Some(total) if !book.keeper && book.binding && entries > 0 => {
            format!("{} = {}", book.messages, number(Some(total as f64 / entries as f64)))
        }
        Some(_) | None => book.messages.to_owned(),
    }
}

fn messages_of(measured: &Measured) -> String {
    let messages = number(measured.messages_per_entry);
    match measured.own_messages_per_entry {
        Some(own) => format!("{messages}, own {}", number(Some(own))),
        None => messages,
    }
}

fn delay(delay: Option<Delay>, unit: &str) -> String {
    delay.map_or("–".into(), |delay| format!("{}{unit}", number(Some(delay.mean))))
}

fn share(measured: &Measured) -> String {
    format!("{:.0}%", 100.0 * measured.busiest_share)
}

const GOOD: &str = "✓";
const BAD: &str = "✗";

fn mark(is_so: Option<bool>) -> String {
    match is_so {
        Some(true) => GOOD.into(),
        Some(false) => BAD.into(),
        None => "–".into(),
    }
}

/// Between two columns, and once more between two groups.
const GAP: &str = "  ";

/// Two lines of headings and a line a row, every column as wide as it must be.
fn render(columns: &[Column]) -> Vec<String> {
    let widths = widths(columns);
    let groups = group_line(columns, &widths);
    let titles = columns.iter().map(|column| column.title.to_owned()).collect::<Vec<_>>();
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let line = |cells: &[String], paint: fn(&str) -> String| {
        let mut line = String::new();
        for (place, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let is_new = place > 0 && columns.get(place).map(|c| c.group) != columns.get(place - 1).map(|c| c.group);
            line.push_str(GAP);
            line.push_str(if is_new { GAP } else { "" });
            line.push_str(&paint(&padded(cell, *width, place == 0)));
        }
        line.trim_end().to_owned()
    };
    let heads = [groups, line(&titles, paint::bold)];
    let cells = |row: usize| columns.iter().filter_map(|column| column.cells.get(row).cloned()).collect::<Vec<_>>();
    heads.into_iter().chain((0..rows).map(|row| line(&cells(row), marked))).collect()
}

/// A group's name may be wider than its columns; then the last of them makes room.
fn widths(columns: &[Column]) -> Vec<usize> {
    let widest = |column: &Column| column.cells.iter().map(|cell| length(cell)).max().unwrap_or(0);
    let mut widths: Vec<_> = columns.iter().map(|column| widest(column).max(length(column.title))).collect();
    for (place, column) in columns.iter().enumerate() {
        let is_last = columns.get(place + 1).is_none_or(|next| next.group != column.group);
        if is_last && !column.group.is_empty() {
            let span = span(columns, &widths, place);
            if let Some(width) = widths.get_mut(place) {
                *width += length(column.group).saturating_sub(span);
            }
        }
    }
    widths
}

/// How wide the columns of a group are together, up to the last of them at `end`.
fn span(columns: &[Column], widths: &[usize], end: usize) -> usize {
    let group = columns.get(end).map(|column| column.group);
    let members = (0..=end).rev().take_while(|place| columns.get(*place).map(|column| column.group) == group);
    let widths: Vec<_> = members.filter_map(|place| widths.get(place)).collect();
    widths.iter().copied().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn group_line(columns: &[Column], widths: &[usize]) -> String {
    let mut line = String::new();
    for (place, column) in columns.iter().enumerate() {
        if columns.get(place + 1).is_some_and(|next| next.group == column.group) {
            continue;
        }
        let gap = if line.is_empty() { GAP.len() } else { 2 * GAP.len() };
        let width = span(columns, widths, place);
        line.push_str(&" ".repeat(gap));
        line.push_str(&format!("{:^width$}", column.group));
    }
    paint::dim(line.trim_end())
}

fn padded(text: &str, width: usize, to_the_left: bool) -> String {
    let blank = " ".repeat(width.saturating_sub(length(text)));
    if to_the_left { format!("{text}{blank}") } else { format!("{blank}{text}") }
}

/// Every character here is one column wide.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn marked(cell: &str) -> String {
    match cell.trim() {
        GOOD => paint::good(cell),
        BAD => paint::bad(cell),
        _ => cell.to_owned(),
    }
}

/// So many complaints are enough to know what to do.
const MOST_COMPLAINTS: usize = 5;

/// What fails and what is not the book's, each with the command that shows it.
pub(super) fn complaints(comparison: &Comparison<'_>, out: &mut impl Write) -> io::Result<()> {
    let sides = comparison.rows.iter().flat_map(|row| row.sides().map(move |side| (row, side)));
    let wrong: Vec<_> = sides.filter_map(|(row, side)| complaint(row, side)).collect();
    for complaint in wrong.iter().take(MOST_COMPLAINTS) {
        writeln!(out, "\n{complaint}")?;
    }
    if wrong.len() > MOST_COMPLAINTS {
        writeln!(out, "\n{} runs are wrong in all; --json tells of every one.", wrong.len())?;
    }
    Ok(())
}

/// What is wrong with one side, if anything is.
pub(super) fn complaint(row: &Row, side: &Side) -> Option<String> {
    let breach = side.measured.breaches.first().map(|breach| {
        let why = breach.violation.as_ref().map(|violation| format!(": at {} {}", violation.time, violation.text));
        format!("'{}' fails{}", breach.name, why.unwrap_or_default())
    });
    let difference = side.measured.differences.first().map(ToString::to_string);
    let what = breach.or(difference)?;
    let (world, again) = match side.world {
        World::Simulated => ("simulated", format!("{} --steps", side.again)),
        World::Real => ("real", format!("{} --trace run.journal && quorate replay run.journal --steps", side.again)),
    };
    // A run that can be looked at is better than one that may not do it again.
    let show = side.journal.as_ref().map_or(again, |journal| format!("quorate replay {} --steps", name(journal)));
    Some(format!("{} with {} nodes, {world}: {what}.\nTo see it: {show}", row.name(), row.nodes))
}
