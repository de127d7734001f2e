//! A comparison for people, as data: the program that prints it chooses colours, and breaks what is too wide.

/// Tables with what a reader must know.
pub struct Page {
    /// How it was measured; stands behind the family's name.
    pub conditions: String,
    pub tables: Vec<Table>,
    /// Paragraphs, each of some lines.
    pub notes: Vec<Vec<String>>,
    /// What is not as it should be, each with the command that shows it.
    pub complaints: Vec<String>,
}

pub enum Table {
    Blocks(Section),
    List(List),
}

/// A table with groups of columns, which may be continued below if they are too wide.
pub struct Section {
    pub title: &'static str,
    /// What every block begins with; the first column says who it is.
    pub stub: Vec<Column>,
    pub groups: Vec<Group>,
}

/// Columns that belong together.
#[derive(Default)]
pub struct Group {
    pub name: String,
    /// Those that stay with the figures, however these are split.
    pub lead: Vec<Column>,
    pub figures: Vec<Column>,
    pub tail: Vec<Column>,
}

/// Figures below one title, one for each row.
#[derive(Clone)]
pub struct Column {
    pub title: String,
    pub cells: Vec<String>,
    /// Words begin on the left, figures end on the right.
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
    /// A cell for each heading.
    pub rows: Vec<Vec<String>>,
}

/// The title of a column in a list.
pub struct Heading {
    pub title: &'static str,
    /// Blanks before it.
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

/// How figures stand to those of the literature.
pub const GOOD: &str = "✓";
pub const SAME: &str = "=";
pub const BAD: &str = "✗";
pub const UNKNOWN: &str = "–";
