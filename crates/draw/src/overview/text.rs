//! An overview as text: a row per node, one for lasting faults, rows of counts and violations, a
//! time axis, lists of faults and violations, and a legend.

use super::{Bin, NodeRow, Overview, ROLES, RoleTimes};
use crate::plural::count_with_noun;
use crate::scene::{Band, Violation};
use crate::terminal::text::{display_width, fit, isolate_right_to_left};
use quorate_core::Time;
use quorate_journal::role::Role;
use quorate_journal::words::format_millis;
use std::collections::BTreeSet;

/// The meaning of a piece of text, by which a caller may colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Role(Role),
    Messages,
    Alarm,
    Faint,
}

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Symbols of lasting faults and of violations.
const PARTITION: char = '━';
const OTHER_FAULT: char = '╍';
const VIOLATION: char = '▲';

/// Width of row names, in columns.
const NAME_COLUMNS: usize = 10;
/// Minimum and maximum number of columns of a row after its name.
const MIN_ROW_COLUMNS: usize = 20;
const MAX_ROW_COLUMNS: usize = 200;
/// Maximum number of faults and of violations listed as text; the others are counted.
const MAX_LISTED: usize = 8;

type Paint<'a> = &'a dyn Fn(Ink, &str) -> String;
type CountOf = fn(&Bin) -> u64;

/// Returns the overview as text of at most `columns` columns, or of the minimum that its rows need
/// if `columns` is less. `paint` may colour each piece.
pub fn draw(overview: &Overview, columns: usize, paint: Paint<'_>) -> String {
    let mut page = Page::new(overview, columns, paint);
    page.write_nodes();
    page.write_bands();
    page.write_counts();
    page.write_violations();
    page.write_time_axis();
    page.write_band_list();
    page.write_violation_list();
    page.write_legend();
    if let Some(omitted) = overview.omitted.summary() {
        page.write_line(Ink::Faint, &omitted);
    }
    page.text
}

/// One column of a node's row.
#[derive(Clone, Copy)]
enum Cell {
    /// Of all roles, the node had this one for the longest time.
    Mostly(Role),
    /// The node was chosen (in the critical section or leader) for this many eighths of the time.
    Chosen(usize),
}

/// The text so far, and the symbols that its legend must explain.
struct Page<'a> {
    overview: &'a Overview,
    paint: Paint<'a>,
    text: String,
    bins_per_column: usize,
    /// The counts of each column.
    column_sums: Vec<Bin>,
    /// Width available to a row after its name, in columns.
    row_columns: usize,
    shown_role_symbols: BTreeSet<char>,
    has_chosen_cell: bool,
}

impl<'a> Page<'a> {
    fn new(overview: &'a Overview, columns: usize, paint: Paint<'a>) -> Self {
        let row_columns = columns.saturating_sub(NAME_COLUMNS + 2).max(MIN_ROW_COLUMNS);
        let bins_per_column = overview.bins.len().div_ceil(row_columns.min(MAX_ROW_COLUMNS)).max(1);
        let column_sums = overview.bins.chunks(bins_per_column).map(Bin::sum).collect();
        Self {
            overview,
            paint,
            text: String::new(),
            bins_per_column,
            column_sums,
            row_columns,
            shown_role_symbols: BTreeSet::new(),
            has_chosen_cell: false,
        }
    }

    fn write_row(&mut self, name: &str, row: &str) {
        self.text.push_str(&format!("{name:>NAME_COLUMNS$}  {row}\n"));
    }

    fn write_symbols(&mut self, name: &str, ink: Ink, symbols: &str) {
        match symbols.trim_end() {
            "" => self.text.push_str(&format!("{name:>NAME_COLUMNS$}\n")),
            symbols => self.write_row(name, &(self.paint)(ink, symbols)),
        }
    }

    fn write_line(&mut self, ink: Ink, text: &str) {
        let line = (self.paint)(ink, &isolate_right_to_left(&fit(text, self.row_columns)));
        self.write_row("", &line);
    }

    fn write_nodes(&mut self) {
        let overview = self.overview;
        for row in &overview.rows {
            let cells: Vec<Cell> =
                row.role_times.chunks(self.bins_per_column).map(|shares| cell_of(row, shares)).collect();
            let line = cells.iter().map(|cell| self.cell_symbol(*cell)).collect::<String>();
            self.write_row(&format!("node {}", row.node), &line);
        }
        if overview.nodes_without_row > 0 {
            let more = count_with_noun(overview.nodes_without_row as u64, "more node");
            self.write_line(Ink::Faint, &format!("and {more}"));
        }
    }

    fn cell_symbol(&mut self, cell: Cell) -> String {
        match cell {
            Cell::Mostly(role) => {
                self.shown_role_symbols.insert(role.symbol());
                (self.paint)(Ink::Role(role), role.symbol().encode_utf8(&mut [0; 4]))
            }
            Cell::Chosen(eighths) => {
                self.has_chosen_cell = true;
                let bar = BARS.get(eighths).copied().unwrap_or('█');
                (self.paint)(Ink::Role(Role::Chosen), bar.encode_utf8(&mut [0; 4]))
            }
        }
    }

    /// Draws the row of lasting faults. A partition hides other faults.
    fn write_bands(&mut self) {
        if self.overview.bands.is_empty() {
            return;
        }
        let mut row = vec![' '; self.column_sums.len()];
        for band in &self.overview.bands {
            let end = band.to.map_or(self.overview.to, |position| position.time);
            let (from, to) = (self.column_of(band.from.time), self.column_of(end));
            for symbol in row.iter_mut().take(to + 1).skip(from).filter(|symbol| **symbol != PARTITION) {
                *symbol = if band.is_partition { PARTITION } else { OTHER_FAULT };
            }
        }
        let line: String = row.iter().collect();
        self.write_symbols("faults", Ink::Alarm, &line);
    }

    fn write_counts(&mut self) {
        let rows: [(&str, Ink, CountOf); 4] = [
            ("messages", Ink::Messages, |bin| bin.messages),
            ("control", Ink::Faint, |bin| bin.control_messages),
            ("lost", Ink::Alarm, |bin| bin.lost_messages),
            ("crashes", Ink::Alarm, |bin| bin.crashes),
        ];
        for (name, ink, count_of) in rows {
            if name == "messages" || count_of(&self.overview.total) > 0 {
                self.write_symbols(name, ink, &bar_symbols(&self.column_sums, count_of));
            }
        }
    }

    fn write_violations(&mut self) {
        let columns: BTreeSet<usize> =
            self.overview.shown_violations().iter().map(|violation| self.column_of(violation.time)).collect();
        if let Some(last) = columns.last() {
            let row: String =
                (0..=*last).map(|column| if columns.contains(&column) { VIOLATION } else { ' ' }).collect();
            self.write_symbols("violations", Ink::Alarm, &row);
        }
    }

    fn column_of(&self, time: Time) -> usize {
        self.overview.bin_of(time) / self.bins_per_column
    }

    fn millis(&self, time: Time) -> String {
        format_millis(self.overview.relative(time))
    }

    fn write_time_axis(&mut self) {
        let (from, to) = (self.millis(self.overview.from), self.millis(self.overview.to));
        let gap = self.column_sums.len().saturating_sub(from.len() + to.len() + 3).max(2);
        let line = (self.paint)(Ink::Faint, &format!("{from}{}{to} ms", " ".repeat(gap)));
        self.write_row("", &line);
    }

    fn write_band_list(&mut self) {
        let overview = self.overview;
        let end =
            |band: &Band| band.to.map_or("the end".to_owned(), |position| format!("{} ms", self.millis(position.time)));
        let line = |band: &Band| format!("{} ms to {}: {}", self.millis(band.from.time), end(band), band.text);
        let lines: Vec<String> = overview.bands.iter().take(MAX_LISTED).map(line).collect();
        lines.iter().for_each(|line| self.write_line(Ink::Faint, line));
        self.write_rest_count(overview.bands.len(), "lasting fault", "lasting faults");
    }

    fn write_violation_list(&mut self) {
        let violations = self.overview.shown_violations();
        let line =
            |violation: &&Violation| format!("{VIOLATION} {} ms: {}", self.millis(violation.time), violation.text);
        let lines: Vec<String> = violations.iter().take(MAX_LISTED).map(line).collect();
        lines.iter().for_each(|line| self.write_line(Ink::Alarm, line));
        self.write_rest_count(violations.len(), "violation", "violations");
    }

    fn write_rest_count(&mut self, count: usize, singular: &str, plural: &str) {
        match count.saturating_sub(MAX_LISTED) {
            0 => {}
            1 => self.write_line(Ink::Faint, &format!("and 1 more {singular}")),
            more => self.write_line(Ink::Faint, &format!("and {more} more {plural}")),
        }
    }

    fn write_legend(&mut self) {
        const SEPARATOR: &str = "   ";
        let mut line = String::new();
        for item in self.legend_items() {
            if !line.is_empty()
                && display_width(&line) + display_width(SEPARATOR) + display_width(&item) > self.row_columns
            {
                self.write_line(Ink::Faint, &std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push_str(SEPARATOR);
            }
            line.push_str(&item);
        }
        if !line.is_empty() {
            self.write_line(Ink::Faint, &line);
        }
    }

    fn legend_items(&self) -> Vec<String> {
        let heading = &self.overview.heading;
        let shown_roles = ROLES.into_iter().filter(|role| self.shown_role_symbols.contains(&role.symbol()));
        let shown_roles = shown_roles.map(|role| (role.symbol().to_string(), heading.role_name(role).to_owned()));
        let chosen_name = heading.role_name(Role::Chosen);
        let chosen_part = (self.has_chosen_cell && !chosen_name.is_empty())
            .then(|| ("▁▂█".to_owned(), format!("{chosen_name} for part of the time")));
        let has_band = |is_partition: bool| self.overview.bands.iter().any(|band| band.is_partition == is_partition);
        let partition = has_band(true).then(|| (PARTITION.to_string(), "partition".to_owned()));
        let other_fault = has_band(false).then(|| (OTHER_FAULT.to_string(), "link fault or full disk".to_owned()));
        let violation = (!self.overview.shown_violations().is_empty())
            .then(|| (VIOLATION.to_string(), "property violated".to_owned()));
        let items = shown_roles
            .chain(chosen_part)
            .chain(partition)
            .chain(other_fault)
            .chain(violation)
            .filter(|(_, words)| !words.is_empty());
        items.map(|(symbol, words)| format!("{symbol} {words}")).collect()
    }
}

/// Returns the cell of a node in one column. Being chosen for any part of the time takes
/// precedence, unless the role that lasted longest is down or paused.
fn cell_of(row: &NodeRow, shares: &[RoleTimes]) -> Cell {
    let sum = RoleTimes::sum(shares);
    let (chosen_time, total_time) = (u128::from(sum.time_in(Role::Chosen)), sum.exact_total());
    // The last bin may contain only the final instant.
    let role = if total_time == 0 { row.last_role } else { sum.longest_role() };
    match role {
        Role::Chosen if total_time == 0 => Cell::Chosen(8),
        Role::Down | Role::Paused => Cell::Mostly(role),
        Role::Idle | Role::Waiting | Role::Follows | Role::Chosen if chosen_time == 0 => Cell::Mostly(role),
        Role::Idle | Role::Waiting | Role::Follows | Role::Chosen => Cell::Chosen(eighths(chosen_time, total_time)),
    }
}

/// Returns a bar per column, in proportion to the largest count.
fn bar_symbols(bins: &[Bin], count_of: impl Fn(&Bin) -> u64) -> String {
    let maximum = bins.iter().map(&count_of).max().unwrap_or_default();
    bins.iter().map(|bin| BARS.get(eighths(count_of(bin).into(), maximum.into())).copied().unwrap_or(' ')).collect()
}

/// Returns how many eighths of the whole a part is, rounded up so that a small part stays visible.
fn eighths(part: u128, whole: u128) -> usize {
    // `part` fits into 64 bits, so the product fits into 128.
    usize::try_from((part * 8).div_ceil(whole.max(1))).unwrap_or_default()
}
