//! A comparison for people, in the form of data. The program that prints it chooses colours and
//! breaks wide tables.

/// Tables with explanations.
pub struct Page {
    /// The conditions of the measurement; printed after the family's name.
    pub conditions: String,
    pub tables: Vec<Table>,
    /// Paragraphs, as lines.
    pub notes: Vec<Vec<String>>,
    /// Problems, each with a command that demonstrates it.
    pub problems: Vec<String>,
}

/// A table of one of two layouts.
pub enum Table {
    Blocks(Section),
    List(List),
}

/// A table with groups of columns. A table that is too wide continues below.
pub struct Section {
    pub title: &'static str,
    /// Columns that every block begins with. The first column names the row.
    pub stub: Vec<Column>,
    pub groups: Vec<Group>,
}

/// Related columns.
#[derive(Default)]
pub struct Group {
    pub name: String,
    /// Columns that precede the figures in every block.
    pub lead: Vec<Column>,
    pub figures: Vec<Column>,
    /// Columns that follow the figures.
    pub tail: Vec<Column>,
}

/// A column with one cell per row.
#[derive(Clone)]
pub struct Column {
    pub title: String,
    pub cells: Vec<String>,
    /// Words are left-aligned, figures right-aligned.
    pub is_words: bool,
}

impl Column {
    pub fn figures(title: impl Into<String>, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, is_words: false }
    }

    pub fn words(title: impl Into<String>, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, is_words: true }
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
    /// Spaces before the column.
    pub gap: usize,
    pub width: usize,
    pub is_words: bool,
}

impl Heading {
    pub(crate) const fn words(gap: usize, width: usize, title: &'static str) -> Self {
        Self { title, gap, width, is_words: true }
    }

    pub(crate) const fn figures(width: usize, title: &'static str) -> Self {
        Self { title, gap: 0, width, is_words: false }
    }
}

/// Marks for measured figures beside expected ones: within the expected bounds, equal to the
/// expected figure, unexpected, not judged.
pub const GOOD: &str = "✓";
pub const SAME: &str = "=";
pub const BAD: &str = "✗";
pub const UNKNOWN: &str = "–";
