//! A comparison for people, in the form of data. The program that prints it chooses colours and
//! breaks wide tables.

/// Tables with explanations.
pub struct Page {
    /// The conditions of the measurement; printed after the family's name.
    pub conditions: String,
    pub tables: Vec<Table>,
    /// Paragraphs, each as a list of lines.
    pub notes: Vec<Vec<String>>,
    /// Problems, with the commands that demonstrate them if there are any.
    pub problems: Vec<String>,
}

/// A table of one of two layouts.
pub enum Table {
    Grouped(GroupedTable),
    List(List),
}

/// A table with groups of columns. A table that is too wide is printed as several blocks, one below
/// the other.
pub struct GroupedTable {
    pub title: &'static str,
    /// Columns that every block repeats at its left. The first column names the row.
    pub stub: Vec<Column>,
    pub groups: Vec<ColumnGroup>,
}

/// Related columns.
#[derive(Default)]
pub struct ColumnGroup {
    pub name: String,
    /// Columns before the figures. If the group is too wide for one block, each part repeats them.
    pub lead: Vec<Column>,
    pub figures: Vec<Column>,
    /// Columns after the figures, repeated like `lead`.
    pub tail: Vec<Column>,
}

/// A column with one cell per row.
#[derive(Clone)]
pub struct Column {
    pub title: String,
    pub cells: Vec<String>,
    /// Words are left-aligned, figures right-aligned.
    pub is_text: bool,
}

impl Column {
    pub fn figures(title: impl Into<String>, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, is_text: false }
    }

    pub fn words(title: impl Into<String>, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, is_text: true }
    }
}

/// A table with columns of fixed widths.
pub struct List {
    pub headings: Vec<Heading>,
    /// One cell per heading.
    pub rows: Vec<Vec<String>>,
}

/// The title of a column in a list.
pub struct Heading {
    pub title: &'static str,
    /// Number of spaces before the column.
    pub gap: usize,
    /// Width of the column in characters.
    pub width: usize,
    pub is_text: bool,
}

impl Heading {
    pub(crate) const fn words(gap: usize, width: usize, title: &'static str) -> Self {
        Self { title, gap, width, is_text: true }
    }

    pub(crate) const fn figures(width: usize, title: &'static str) -> Self {
        Self { title, gap: 0, width, is_text: false }
    }
}

/// A property holds, or a figure is within its expected bounds.
pub const MARK_CORRECT: &str = "✓";
/// A figure equals the expected one.
pub const MARK_EQUAL: &str = "=";
/// A property does not hold, or a figure is unexpected.
pub const MARK_WRONG: &str = "✗";
/// A figure was not measured or not judged.
pub const MARK_NOT_JUDGED: &str = "–";
