//! Renders tables as text. A table that is too wide is split into blocks: each block repeats the
//! columns that name the rows, and has as many groups of columns as fit beside them.

use crate::paint;
use quorate_lab::compare::{BAD, Column, GOOD, Group, List, SAME, Section, Table};

/// Maximum width of a table, in characters.
const MAX_WIDTH: usize = 120;
/// Blanks before the first column, between two columns, and between two groups.
const MARGIN: usize = 2;
const GAP: usize = 2;
const GROUP_GAP: usize = 4;

pub(super) fn render(table: &Table) -> Vec<String> {
    match table {
        Table::Blocks(section) => blocks(section),
        Table::List(table) => list(table),
    }
}

/// Returns a line of titles and one line per row.
fn list(list: &List) -> Vec<String> {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = list.headings.iter().zip(cells).map(|(heading, cell)| {
            let (gap, width) = (" ".repeat(heading.gap), heading.width);
            if heading.is_words { format!("{gap}{cell:<width$}") } else { format!("{gap}{cell:>width$}") }
        });
        padded.collect::<String>().trim_end().to_owned()
    };
    let titles = paint::bold(&line(&mut list.headings.iter().map(|heading| heading.title)));
    let rows = list.rows.iter().map(|row| line(&mut row.iter().map(String::as_str)));
    std::iter::once(titles).chain(rows).collect()
}

/// Returns the lines of a table, with an empty line between blocks.
fn blocks(section: &Section) -> Vec<String> {
    // The columns that name the rows.
    let stub = Part { name: section.title.into(), columns: section.stub.clone() };
    let available = MAX_WIDTH.saturating_sub(MARGIN + stub.width() + GROUP_GAP);
    let parts = section.groups.iter().flat_map(|group| split(group, available));
    let mut blocks: Vec<Vec<Part>> = Vec::new();
    let mut remaining = 0;
    for part in parts {
        let width = part.width() + GROUP_GAP;
        match blocks.last_mut().filter(|_| width <= remaining) {
            Some(block) => block.push(part),
            None => {
                remaining = available + GROUP_GAP;
                blocks.push(vec![part]);
            }
        }
        remaining = remaining.saturating_sub(width);
    }
    let blocks = blocks.into_iter().map(|parts| block(&std::iter::once(stub.clone()).chain(parts).collect::<Vec<_>>()));
    blocks.collect::<Vec<_>>().join(&String::new())
}

fn width(column: &Column) -> usize {
    column.cells.iter().map(|cell| length(cell)).chain([length(&column.title)]).max().unwrap_or_default()
}

/// Columns under one name that stay together.
#[derive(Clone)]
struct Part {
    name: String,
    columns: Vec<Column>,
}

impl Part {
    /// Returns the width of the columns or of the name, whichever is larger.
    fn width(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| width(column) + GAP).sum();
        columns.saturating_sub(GAP).max(length(&self.name))
    }
}

/// Splits a group that is wider than `max_width`. Each part has at least one column.
fn split(group: &Group, max_width: usize) -> Vec<Part> {
    let part_with = |figures: &[Column]| {
        let columns = group.lead.iter().chain(figures).chain(&group.tail).cloned().collect();
        Part { name: group.name.clone(), columns }
    };
    let mut parts = Vec::new();
    let mut rest = &group.figures[..];
    loop {
        let fit = (1..=rest.len()).rev().find(|count| {
            rest.get(..*count).is_some_and(|figures| *count == 1 || part_with(figures).width() <= max_width)
        });
        let (figures, others) = rest.split_at(fit.unwrap_or_default());
        parts.push(part_with(figures));
        rest = others;
        if rest.is_empty() {
            return parts;
        }
    }
}

/// Returns two lines of headings and one line per row.
fn block(parts: &[Part]) -> Vec<String> {
    let headings: Vec<_> = parts.iter().enumerate().map(|(index, part)| heading(part, index == 0)).collect();
    let rows = parts.iter().flat_map(|part| &part.columns).map(|column| column.cells.len()).max().unwrap_or_default();
    let titles = parts.iter().map(|part| line(part, |column| paint_padded(&column.title, column, paint::bold)));
    let mut lines = vec![joined(headings), joined(titles)];
    for row in 0..rows {
        let cell = |column: &Column| {
            let text = column.cells.get(row).map_or("", String::as_str);
            paint_padded(text, column, paint_mark)
        };
        lines.push(joined(parts.iter().map(|part| line(part, cell))));
    }
    lines
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<_> = parts.into_iter().collect();
    format!("{}{}", " ".repeat(MARGIN), parts.join(&" ".repeat(GROUP_GAP))).trim_end().to_owned()
}

/// Returns the heading of a part: the name of the table on the left, names of groups centred.
fn heading(part: &Part, is_stub: bool) -> String {
    let width = part.width();
    if is_stub { paint::bold(&format!("{:<width$}", part.name)) } else { paint::dim(&format!("{:^width$}", part.name)) }
}

/// Returns one line of a part, padded to the width of the part.
fn line(part: &Part, cell: impl Fn(&Column) -> String) -> String {
    let columns: usize = part.columns.iter().map(|column| width(column) + GAP).sum();
    let blank = " ".repeat(part.width().saturating_sub(columns.saturating_sub(GAP)));
    let cells = part.columns.iter().map(cell).collect::<Vec<_>>().join(&" ".repeat(GAP));
    format!("{cells}{blank}")
}

fn paint_padded(text: &str, column: &Column, paint: fn(&str) -> String) -> String {
    let blank = " ".repeat(width(column).saturating_sub(length(text)));
    if column.is_words { format!("{}{blank}", paint(text)) } else { format!("{blank}{}", paint(text)) }
}

fn paint_mark(cell: &str) -> String {
    match cell {
        GOOD | SAME => paint::good(cell),
        BAD => paint::bad(cell),
        _ => cell.to_owned(),
    }
}

/// Returns the width of a text. All characters in tables are one column wide.
fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{Column, Group, MAX_WIDTH, Section, blocks};
    use expect_test::expect;

    fn column(title: &str, cells: [&str; 2]) -> Column {
        Column::figures(title, cells.map(str::to_owned).to_vec())
    }

    fn section(groups: usize, sizes: usize) -> Section {
        let group = |number: usize| Group {
            name: format!("group {number}"),
            lead: vec![column("book", ["2n", "3"])],
            figures: (0..sizes).map(|size| column(&size.to_string(), ["4.25", "3"])).collect(),
            tail: vec![column("", ["✓", "="])],
        };
        let stub = vec![Column::words("name", vec!["central".into(), "me".into()])];
        Section { title: "Costs", stub, groups: (0..groups).map(group).collect() }
    }

    #[test]
    fn columns_of_a_group_stay_together() {
        expect![[r#"
            |  Costs            group 0                group 1
            |  name       book     0     1       book     0     1
            |  central      2n  4.25  4.25  ✓      2n  4.25  4.25  ✓
            |  me            3     3     3  =       3     3     3  =
        "#]]
        .assert_eq(&blocks(&section(2, 2)).iter().map(|line| format!("|{line}\n")).collect::<String>());
    }

    #[test]
    fn no_line_is_too_long_and_no_column_is_missing() {
        for groups in 1..6 {
            for sizes in [1, 2, 5, 9, 40, 100] {
                let lines = blocks(&section(groups, sizes));
                let longest = lines.iter().map(|line| line.chars().count()).max();
                assert!(longest <= Some(MAX_WIDTH), "{groups} × {sizes}: {longest:?}");
                let figures =
                    lines.iter().filter(|line| line.starts_with("  central")).map(|line| line.matches("4.25").count());
                assert_eq!(figures.sum::<usize>(), groups * sizes);
            }
        }
    }

    #[test]
    fn a_column_wider_than_the_table_is_shown() {
        let mut section = section(1, 2);
        section.groups[0].figures[0].cells[0] = "x".repeat(200);
        let lines = blocks(&section);
        assert!(lines.iter().any(|line| line.contains(&"x".repeat(200))));
        assert!(lines.iter().any(|line| line.contains("4.25")));
    }

    #[test]
    fn a_group_without_figures_keeps_its_rows() {
        assert_eq!(blocks(&section(1, 0)).len(), 4);
        assert!(blocks(&section(0, 3)).is_empty());
    }
}
