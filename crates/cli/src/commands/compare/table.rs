//! Renders tables as text. A table that is too wide is split into blocks: each block repeats the
//! columns that name the rows, and has as many groups of columns as fit beside them. A group that
//! is too wide for one block is split as well.

use crate::paint;
use quorate_lab::compare::{Column, ColumnGroup, GroupedTable, List, MARK_CORRECT, MARK_EQUAL, MARK_WRONG, Table};

/// Maximum width of a table, in characters.
const MAX_WIDTH: usize = 120;
/// Number of blanks before the first column, between two columns, and between two groups.
const MARGIN: usize = 2;
const GAP: usize = 2;
const GROUP_GAP: usize = 4;

pub(super) fn render(table: &Table) -> Vec<String> {
    match table {
        Table::Grouped(table) => render_blocks(table),
        Table::List(list) => render_list(list),
    }
}

/// Returns a line of titles and one line per row.
fn render_list(list: &List) -> Vec<String> {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = list.headings.iter().zip(cells).map(|(heading, cell)| {
            let (gap, width) = (" ".repeat(heading.gap), heading.width);
            if heading.is_text { format!("{gap}{cell:<width$}") } else { format!("{gap}{cell:>width$}") }
        });
        padded.collect::<String>().trim_end().to_owned()
    };
    let titles = paint::bold(&line(&mut list.headings.iter().map(|heading| heading.title)));
    let rows = list.rows.iter().map(|row| line(&mut row.iter().map(String::as_str)));
    std::iter::once(titles).chain(rows).collect()
}

/// Returns the lines of a table, with an empty line between blocks.
fn render_blocks(table: &GroupedTable) -> Vec<String> {
    // The stub: the columns that name the rows.
    let stub = ColumnSet { name: table.title.into(), columns: table.stub.clone() };
    let available_width = MAX_WIDTH.saturating_sub(MARGIN + stub.width() + GROUP_GAP);
    let sets = table.groups.iter().flat_map(|group| split_group(group, available_width));
    let mut blocks: Vec<Vec<ColumnSet>> = Vec::new();
    let mut remaining_width = 0;
    for set in sets {
        let width = set.width() + GROUP_GAP;
        match blocks.last_mut().filter(|_| width <= remaining_width) {
            Some(block) => block.push(set),
            None => {
                remaining_width = available_width + GROUP_GAP;
                blocks.push(vec![set]);
            }
        }
        remaining_width = remaining_width.saturating_sub(width);
    }
    let blocks =
        blocks.into_iter().map(|sets| render_block(&std::iter::once(stub.clone()).chain(sets).collect::<Vec<_>>()));
    blocks.collect::<Vec<_>>().join(&String::new())
}

fn column_width(column: &Column) -> usize {
    column.cells.iter().map(|cell| text_width(cell)).chain([text_width(&column.title)]).max().unwrap_or_default()
}

/// Columns that stay together under one name: the stub, a group, or a part of a wide group.
#[derive(Clone)]
struct ColumnSet {
    name: String,
    columns: Vec<Column>,
}

impl ColumnSet {
    /// Returns the width of the columns or of the name, whichever is larger.
    fn width(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| column_width(column) + GAP).sum();
        columns.saturating_sub(GAP).max(text_width(&self.name))
    }
}

/// Splits a group that is wider than `max_width`. Each set repeats the columns before and after the
/// figures, and has at least one column of figures if the group has any.
fn split_group(group: &ColumnGroup, max_width: usize) -> Vec<ColumnSet> {
    let set_with = |figures: &[Column]| {
        let columns = group.lead.iter().chain(figures).chain(&group.tail).cloned().collect();
        ColumnSet { name: group.name.clone(), columns }
    };
    let mut sets = Vec::new();
    let mut rest = &group.figures[..];
    loop {
        let fitting_count = (1..=rest.len()).rev().find(|count| {
            rest.get(..*count).is_some_and(|figures| *count == 1 || set_with(figures).width() <= max_width)
        });
        let (figures, others) = rest.split_at(fitting_count.unwrap_or_default());
        sets.push(set_with(figures));
        rest = others;
        if rest.is_empty() {
            return sets;
        }
    }
}

/// Returns two lines of headings and one line per row.
fn render_block(sets: &[ColumnSet]) -> Vec<String> {
    let headings: Vec<_> = sets.iter().enumerate().map(|(index, set)| format_name(set, index == 0)).collect();
    let rows = sets.iter().flat_map(|set| &set.columns).map(|column| column.cells.len()).max().unwrap_or_default();
    let titles = sets.iter().map(|set| format_line(set, |column| paint_padded(&column.title, column, paint::bold)));
    let mut lines = vec![join_with_gaps(headings), join_with_gaps(titles)];
    for row in 0..rows {
        let cell = |column: &Column| {
            let text = column.cells.get(row).map_or("", String::as_str);
            paint_padded(text, column, paint_mark)
        };
        lines.push(join_with_gaps(sets.iter().map(|set| format_line(set, cell))));
    }
    lines
}

fn join_with_gaps(sets: impl IntoIterator<Item = String>) -> String {
    let sets: Vec<_> = sets.into_iter().collect();
    format!("{}{}", " ".repeat(MARGIN), sets.join(&" ".repeat(GROUP_GAP))).trim_end().to_owned()
}

/// Returns the name above a set of columns: the name of the table, aligned left, above the stub,
/// and the name of a group, centred, above its columns.
fn format_name(set: &ColumnSet, is_stub: bool) -> String {
    let width = set.width();
    if is_stub { paint::bold(&format!("{:<width$}", set.name)) } else { paint::dim(&format!("{:^width$}", set.name)) }
}

/// Returns one line of a set, padded to the width of the set.
fn format_line(set: &ColumnSet, cell: impl Fn(&Column) -> String) -> String {
    let columns: usize = set.columns.iter().map(|column| column_width(column) + GAP).sum();
    let blank = " ".repeat(set.width().saturating_sub(columns.saturating_sub(GAP)));
    let cells = set.columns.iter().map(cell).collect::<Vec<_>>().join(&" ".repeat(GAP));
    format!("{cells}{blank}")
}

fn paint_padded(text: &str, column: &Column, paint: fn(&str) -> String) -> String {
    let blank = " ".repeat(column_width(column).saturating_sub(text_width(text)));
    if column.is_text { format!("{}{blank}", paint(text)) } else { format!("{blank}{}", paint(text)) }
}

fn paint_mark(cell: &str) -> String {
    match cell {
        MARK_CORRECT | MARK_EQUAL => paint::good(cell),
        MARK_WRONG => paint::bad(cell),
        _ => cell.to_owned(),
    }
}

/// Returns the width of a text. All characters in tables are one column wide.
fn text_width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{Column, ColumnGroup, GroupedTable, MAX_WIDTH, render_blocks};
    use expect_test::expect;

    fn column(title: &str, cells: [&str; 2]) -> Column {
        Column::figures(title, cells.map(str::to_owned).to_vec())
    }

    fn table(groups: usize, figures: usize) -> GroupedTable {
        let group = |number: usize| ColumnGroup {
            name: format!("group {number}"),
            lead: vec![column("lead", ["2n", "3"])],
            figures: (0..figures).map(|number| column(&number.to_string(), ["4.25", "3"])).collect(),
            tail: vec![column("", ["✓", "="])],
        };
        let stub = vec![Column::words("name", vec!["central".into(), "me".into()])];
        GroupedTable { title: "Costs", stub, groups: (0..groups).map(group).collect() }
    }

    #[test]
    fn columns_of_a_group_stay_together() {
        expect![[r#"
            |  Costs            group 0                group 1
            |  name       lead     0     1       lead     0     1
            |  central      2n  4.25  4.25  ✓      2n  4.25  4.25  ✓
            |  me            3     3     3  =       3     3     3  =
        "#]]
        .assert_eq(&render_blocks(&table(2, 2)).iter().map(|line| format!("|{line}\n")).collect::<String>());
    }

    #[test]
    fn no_line_is_too_long_and_no_column_is_missing() {
        for groups in 1..6 {
            for figures in [1, 2, 5, 9, 40, 100] {
                let lines = render_blocks(&table(groups, figures));
                let longest = lines.iter().map(|line| line.chars().count()).max();
                assert!(longest <= Some(MAX_WIDTH), "{groups} × {figures}: {longest:?}");
                let printed =
                    lines.iter().filter(|line| line.starts_with("  central")).map(|line| line.matches("4.25").count());
                assert_eq!(printed.sum::<usize>(), groups * figures);
            }
        }
    }

    #[test]
    fn a_column_wider_than_the_table_is_shown() {
        let mut table = table(1, 2);
        table.groups[0].figures[0].cells[0] = "x".repeat(200);
        let lines = render_blocks(&table);
        assert!(lines.iter().any(|line| line.contains(&"x".repeat(200))));
        assert!(lines.iter().any(|line| line.contains("4.25")));
    }

    #[test]
    fn a_group_without_figures_keeps_its_rows() {
        // Two lines of headings and two rows.
        assert_eq!(render_blocks(&table(1, 0)).len(), 4);
        // A table without groups has nothing to show.
        assert!(render_blocks(&table(0, 3)).is_empty());
    }
}
