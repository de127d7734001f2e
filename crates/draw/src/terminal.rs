//! A scene as text: time runs downwards, each node has a column, and a message is an arrow on the
//! line where it arrives or is lost, or at the end if it is still in flight. Here, (1, 1) is the
//! timestamp of a request: logical time and node.
//!
//! ```text
//!   time  1          2          3
//!  0.000  ●          │          │   acquire · RA-1 requests entry with (1, 1) · request → 2,3
//!  2.417  ├─request─▶●          │   RA-2 replies to (1, 1) · reply → 1
//!  2.901  ├──────────┼─request─▶●   RA-2 replies to (1, 1) · reply → 1
//! ```
//!
//! Long texts are cut with `…` at the width of the terminal. If the nodes do not fit side by side,
//! the picture becomes a list and says so.

mod footer;
mod layout;
mod lines;
mod row;
mod symbols;
pub(crate) mod text;
mod words;

use crate::plural::count_with_noun;
use crate::scene::{Head, Scene};
use crate::timeline::timeline;
use layout::Layout;
use lines::{Line, LineWriter};
use quorate_journal::role::Role;
use quorate_journal::words::TextKind;
use row::TextRow;
use text::{display_width, fit, isolate_right_to_left};

/// Maximum number of messages in flight at the end that are drawn; the others are only counted.
const MAX_IN_FLIGHT: usize = 12;
/// A picture with more items than this, each on a line of its own, repeats the node numbers at its
/// end.
const LONG_PICTURE_ITEMS: usize = 36;

/// Layout options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum line width in columns; `None` means that texts are never cut.
    pub width: Option<usize>,
}

/// The meaning of a piece of text, by which a caller may colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// A node's lane, or a step on it, while the node has this role.
    Role(Role),
    Message,
    /// The arrow of a control message.
    Control,
    /// A step's input or one of its effects, as text.
    Part(TextKind),
    /// A fault or violation: a loss, a crash, a partition.
    Alarm,
    /// Times, separators and remarks.
    Faint,
    Heading,
}

/// Colours a piece of text, or returns it unchanged.
pub type Paint<'a> = &'a dyn Fn(TextStyle, &str) -> String;

/// Returns the scene as text. Every line ends with a line break.
pub fn draw(scene: &Scene, options: &Options, paint: Paint<'_>) -> String {
    let items = timeline(scene);
    let layout = Layout::new(scene, &items, options.width);
    let mut page = Page { layout: &layout, paint, text: String::new() };
    page.write_heading(scene);
    let mut lines = LineWriter::new(scene, &layout);
    // The faults and views that began before the picture. A picture without items gets the line
    // anyway, so that it shows the lanes.
    if let Some(opening_line) = lines.opening_line(items.is_empty()) {
        page.write_row(opening_line);
    }
    for item in &items {
        page.write_row(lines.item_line(item));
    }
    let in_flight: Vec<_> = scene.arrows.iter().filter(|arrow| arrow.head == Head::InFlight).collect();
    for arrow in in_flight.iter().take(MAX_IN_FLIGHT) {
        page.write_row(lines.in_flight_line(arrow));
    }
    match in_flight.len().saturating_sub(MAX_IN_FLIGHT) {
        0 => {}
        1 => page.write_line(TextStyle::Faint, "1 more message is in flight."),
        more => page.write_line(TextStyle::Faint, &format!("{more} more messages are in flight.")),
    }
    if items.len() > LONG_PICTURE_ITEMS {
        page.write_node_numbers(scene);
    }
    footer::write(&mut page, scene);
    page.text
}

/// Returns the text without colours: a [`Paint`] for terminals that have none.
pub fn plain(_style: TextStyle, text: &str) -> String {
    text.to_owned()
}

struct Page<'a> {
    layout: &'a Layout,
    paint: Paint<'a>,
    text: String,
}

impl Page<'_> {
    fn write_heading(&mut self, scene: &Scene) {
        let heading = &scene.heading;
        let nodes = count_with_noun(heading.nodes as u64, "node");
        let parts = [heading.algorithm.as_str(), &nodes, &heading.detail].into_iter();
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        self.write_line(TextStyle::Heading, &parts.join(" · "));
        if scene.omitted.lines_before > 0 {
            self.write_line(
                TextStyle::Faint,
                &format!("… {}", count_with_noun(scene.omitted.lines_before, "earlier journal line")),
            );
        }
        self.write_node_numbers(scene);
    }

    fn write_node_numbers(&mut self, scene: &Scene) {
        let mut row = TextRow::new(self.layout.text_column);
        row.put(self.layout.time_width - "time".len(), TextStyle::Faint, "time");
        // A number that would touch the previous one is left out.
        let mut next_free_column = 0;
        for (column, lane) in self.layout.lanes.iter().zip(&scene.lanes) {
            let number = lane.node.to_string();
            let first_column = column.saturating_sub(number.len() / 2);
            if first_column >= next_free_column {
                row.put(first_column, TextStyle::Heading, &number);
                next_free_column = first_column + number.len() + 1;
            }
        }
        self.write_row(Line { row, texts: Vec::new() });
    }

    fn write_row(&mut self, line: Line) {
        let texts = self.join_texts(&line.texts);
        let row = line.row.paint(self.paint, !texts.is_empty());
        self.end_line(&(row + &texts));
    }

    /// Joins the texts of a line, truncated to the width of the page and coloured.
    fn join_texts(&self, texts: &[(TextStyle, String)]) -> String {
        let mut room = self.layout.text_room();
        let mut line = String::new();
        for (index, (style, text)) in words::shorten(texts, room).iter().enumerate() {
            if index > 0 {
                // Another text needs room for a separator and at least two columns.
                if room < display_width(words::SEPARATOR) + 2 {
                    line.push_str(&(self.paint)(TextStyle::Faint, &fit(" …", room)));
                    break;
                }
                line.push_str(&(self.paint)(TextStyle::Faint, words::SEPARATOR));
                room -= display_width(words::SEPARATOR);
            }
            let text = fit(text, room);
            line.push_str(&(self.paint)(*style, &isolate_right_to_left(&text)));
            room -= display_width(&text);
        }
        line
    }

    /// Writes a line of text, truncated to the width of the page.
    fn write_line(&mut self, style: TextStyle, text: &str) {
        let text = fit(text, self.layout.max_width.unwrap_or(usize::MAX));
        let text = (self.paint)(style, &isolate_right_to_left(&text));
        self.end_line(&text);
    }

    fn end_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}
