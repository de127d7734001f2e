//! A wide table in blocks that a terminal has room for: each block repeats who is who, and has as many groups of columns as
//! fit beside it.

use crate::paint;

/// One table.
pub(super) struct Section {
    /// What it is about.
    pub(super) title: &'static str,
    /// What every block begins with; the first column says who it is.
    pub(super) stub: Vec<Column>,
    pub(super) groups: Vec<Group>,
}

/// Columns that belong together.
pub(super) struct Group {
    pub(super) name: String,
    /// Those that stay with the figures, however these are split.
    pub(super) lead: Vec<Column>,
    pub(super) figures: Vec<Column>,
    pub(super) tail: Vec<Column>,
}

/// Figures below one title, one for each row.
#[derive(Clone)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) cells: Vec<String>,
    /// Words begin on the left, figures end on the right.
    pub(super) is_words: bool,
}

impl Column {
    pub(super) fn figures(title: impl Into<String>, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, is_words: false }
    }

    pub(super) fn words(title: impl Into<String>, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, is_words: true }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| length(cell)).chain([length(&self.title)]).max().unwrap_or_default()
    }
}

/// As wide as a table may be.
pub(super) const ROOM: usize = 120;
/// Before the first column, between two columns, and between two groups.
const MARGIN: usize = 2;
const GAP: usize = 2;
const BETWEEN: usize = 4;

pub(super) const GOOD: &str = "✓";
pub(super) const SAME: &str = "=";
pub(super) const BAD: &str = "✗";
pub(super) const UNKNOWN: &str = "–";

/// The lines of a table, with an empty one between blocks.
pub(super) fn render(section: &Section) -> Vec<String> {
    let stub = Part { name: section.title.into(), columns: section.stub.clone() };
    let room = ROOM.saturating_sub(MARGIN + stub.width() + BETWEEN);
    let parts = section.groups.iter().flat_map(|group| split(group, room));
    let mut blocks: Vec<Vec<Part>> = Vec::new();
    let mut left = 0;
    for part in parts {
        let width = part.width() + BETWEEN;
        match blocks.last_mut().filter(|_| width <= left) {
            Some(block) => block.push(part),
            None => {
                left = room + BETWEEN;
                blocks.push(vec![part]);
            }
        }
        left = left.saturating_sub(width);
    }
    let blocks = blocks.into_iter().map(|parts| block(&std::iter::once(stub.clone()).chain(parts).collect::<Vec<_>>()));
    blocks.collect::<Vec<_>>().join(&String::new())
}

/// Columns below one name that stay together.
#[derive(Clone)]
struct Part {
    name: String,
    columns: Vec<Column>,
}

impl Part {
    /// A name may be wider than its columns.
    fn width(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| column.width() + GAP).sum();
        columns.saturating_sub(GAP).max(length(&self.name))
    }
}

/// A group that is too wide is continued; a column at least goes on each line.
fn split(group: &Group, room: usize) -> Vec<Part> {
    let whole = |figures: &[Column]| {
        let columns = group.lead.iter().chain(figures).chain(&group.tail).cloned().collect();
        Part { name: group.name.clone(), columns }
    };
    let mut parts = Vec::new();
    let mut rest = &group.figures[..];
    loop {
        let fit = (1..=rest.len())
            .rev()
            .find(|count| rest.get(..*count).is_some_and(|figures| *count == 1 || whole(figures).width() <= room));
        let (figures, others) = rest.split_at(fit.unwrap_or_default());
        parts.push(whole(figures));
        rest = others;
        if rest.is_empty() {
            return parts;
        }
    }
}

/// Two lines of headings and a line for each row.
fn block(parts: &[Part]) -> Vec<String> {
    let heads: Vec<_> = parts.iter().enumerate().map(|(place, part)| head(part, place == 0)).collect();
    let rows = parts.iter().flat_map(|part| &part.columns).map(|column| column.cells.len()).max().unwrap_or_default();
    let titles = parts.iter().map(|part| line(part, |column| paint_padded(&column.title, column, paint::bold)));
    let mut lines = vec![joined(heads), joined(titles)];
    for row in 0..rows {
        let cell = |column: &Column| {
            let text = column.cells.get(row).map_or("", String::as_str);
            paint_padded(text, column, marked)
        };
        lines.push(joined(parts.iter().map(|part| line(part, cell))));
    }
    lines
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<_> = parts.into_iter().collect();
    format!("{}{}", " ".repeat(MARGIN), parts.join(&" ".repeat(BETWEEN))).trim_end().to_owned()
}

/// The name of the table begins on the left, those of groups stand in the middle.
fn head(part: &Part, is_stub: bool) -> String {
    let width = part.width();
    if is_stub { paint::bold(&format!("{:<width$}", part.name)) } else { paint::dim(&format!("{:^width$}", part.name)) }
}

/// One line of a part, as wide as the part.
fn line(part: &Part, cell: impl Fn(&Column) -> String) -> String {
    let columns: usize = part.columns.iter().map(|column| column.width() + GAP).sum();
    let blank = " ".repeat(part.width().saturating_sub(columns.saturating_sub(GAP)));
    let cells = part.columns.iter().map(cell).collect::<Vec<_>>().join(&" ".repeat(GAP));
    format!("{cells}{blank}")
}

fn paint_padded(text: &str, column: &Column, paint: fn(&str) -> String) -> String {
    let blank = " ".repeat(column.width().saturating_sub(length(text)));
    if column.is_words { format!("{}{blank}", paint(text)) } else { format!("{blank}{}", paint(text)) }
}

fn marked(cell: &str) -> String {
    match cell {
        GOOD | SAME => paint::good(cell),
        BAD => paint::bad(cell),
        _ => cell.to_owned(),
    }
}

/// Every character here is one column wide.
fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{Column, Group, ROOM, Section, render};
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
        let stub = vec![Column::words("who", vec!["anybody".into(), "me".into()])];
        Section { title: "Costs", stub, groups: (0..groups).map(group).collect() }
    }

    #[test]
    fn what_belongs_together_stands_together() {
        expect![[r#"
            |  Costs            group 0                group 1
            |  who        book     0     1       book     0     1
            |  anybody      2n  4.25  4.25  ✓      2n  4.25  4.25  ✓
            |  me            3     3     3  =       3     3     3  =
        "#]]
        .assert_eq(&render(&section(2, 2)).iter().map(|line| format!("|{line}\n")).collect::<String>());
    }

    #[test]
    fn no_line_is_too_long_and_every_column_is_there() {
        for groups in 1..6 {
            for sizes in [1, 2, 5, 9, 40, 100] {
                let lines = render(&section(groups, sizes));
                let longest = lines.iter().map(|line| line.chars().count()).max();
                assert!(longest <= Some(ROOM), "{groups} × {sizes}: {longest:?}");
                let figures =
                    lines.iter().filter(|line| line.starts_with("  anybody")).map(|line| line.matches("4.25").count());
                assert_eq!(figures.sum::<usize>(), groups * sizes);
            }
        }
    }

    /// What has no room at all is shown all the same.
    #[test]
    fn a_column_that_is_too_wide_is_shown() {
        let mut section = section(1, 2);
        section.groups[0].figures[0].cells[0] = "x".repeat(200);
        let lines = render(&section);
        assert!(lines.iter().any(|line| line.contains(&"x".repeat(200))));
        assert!(lines.iter().any(|line| line.contains("4.25")));
    }

    #[test]
    fn without_figures_there_is_a_line_for_each_row() {
        assert_eq!(render(&section(1, 0)).len(), 4);
        assert!(render(&section(0, 3)).is_empty());
    }
}
