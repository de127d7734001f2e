//! One line of the picture, column by column.

use super::text::{display_width, isolate_right_to_left};
use super::{Paint, TextStyle};

/// A line that is being drawn. A text wider than one column covers the columns after it.
pub(super) struct TextRow {
    cells: Vec<Cell>,
}

#[derive(Clone)]
struct Cell {
    style: TextStyle,
    text: String,
}

impl TextRow {
    pub(super) fn new(columns: usize) -> Self {
        Self { cells: vec![Cell { style: TextStyle::Faint, text: " ".into() }; columns] }
    }

    /// Writes a text at a column. A text that does not fit is left out.
    pub(super) fn put(&mut self, column: usize, style: TextStyle, text: &str) {
        let Some(covered) = self.cells.get_mut(column..column + display_width(text).max(1)) else { return };
        for cell in covered.iter_mut() {
            *cell = Cell { style, text: String::new() };
        }
        if let Some(cell) = covered.first_mut() {
            cell.text = text.into();
        }
    }

    pub(super) fn put_char(&mut self, column: usize, style: TextStyle, symbol: char) {
        self.put(column, style, symbol.encode_utf8(&mut [0; 4]));
    }

    /// Returns the coloured line. Trailing blanks are removed unless texts follow (`is_followed`).
    pub(super) fn paint(&self, paint: Paint<'_>, is_followed: bool) -> String {
        let end = self.cells.iter().rposition(|cell| cell.text != " ").map_or(0, |index| index + 1);
        let cells = if is_followed { &self.cells[..] } else { &self.cells[..end] };
        let mut line = String::new();
        for same_style in cells.chunk_by(|one, next| one.style == next.style && is_blank(one) == is_blank(next)) {
            let text: String = same_style.iter().map(|cell| isolate_right_to_left(&cell.text)).collect();
            match same_style.first() {
                Some(first) if !is_blank(first) => line.push_str(&paint(first.style, &text)),
                Some(_) | None => line.push_str(&text),
            }
        }
        line
    }
}

fn is_blank(cell: &Cell) -> bool {
    cell.text == " "
}
