//! A scene as text: time runs downwards, each node has a column, and a message is an arrow on the
//! line of its arrival.
//!
//! ```text
//!   time  1          2          3
//!  0.000  ●          │          │   acquire · RA-1 requests entry with (1, 1) · request → 2,3
//!  2.417  ├─request─▶●          │   RA-2 replies to (1, 1) · reply → 1
//!  2.901  ├──────────┼─request─▶●   RA-2 replies to (1, 1) · reply → 1
//! ```
//!
//! No line is wider than the terminal: long texts are cut with `…`. If the nodes do not fit side by
//! side, the picture becomes a list and says so.

mod footer;
mod layout;
mod lines;
mod row;
mod symbols;
pub(crate) mod text;
mod words;

use crate::plural::counted;
use crate::scene::{Head, Scene};
use crate::timeline::timeline;
use layout::Layout;
use lines::{Line, LineWriter};
use quorate_journal::role::Role;
use quorate_journal::words::TextKind;
use row::TextRow;
use symbols::label;
use text::{fit, isolated, width};

/// Maximum number of messages in flight at the end that are drawn; more are counted.
const MAX_OPEN: usize = 12;
/// A picture with more lines than this repeats the node numbers at its end.
const LONG_PICTURE_LINES: usize = 36;

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
    page.heading(scene);
    let mut lines = LineWriter::new(scene, &layout);
    if let Some(opening) = lines.opening(items.is_empty()) {
        page.line(opening);
    }
    for item in &items {
        page.line(lines.next(item));
    }
    let open: Vec<_> = scene.arrows.iter().filter(|arrow| arrow.head == Head::Open).collect();
    for arrow in open.iter().take(MAX_OPEN) {
        page.line(lines.in_flight(arrow));
    }
    match open.len().saturating_sub(MAX_OPEN) {
        0 => {}
        1 => page.write_line(TextStyle::Faint, "1 more message is in flight."),
        more => page.write_line(TextStyle::Faint, &format!("{more} more messages are in flight.")),
    }
    if items.len() > LONG_PICTURE_LINES {
        page.node_numbers(scene);
    }
    footer::write(&mut page, scene);
    page.text
}

/// Returns the text without colours.
pub fn plain(_style: TextStyle, text: &str) -> String {
    text.to_owned()
}

/// The text so far.
struct Page<'a> {
    layout: &'a Layout,
    paint: Paint<'a>,
    text: String,
}

impl Page<'_> {
    fn heading(&mut self, scene: &Scene) {
        let heading = &scene.heading;
        let nodes = counted(heading.nodes as u64, "node");
        let parts = [heading.algorithm.as_str(), &nodes, &heading.detail].into_iter();
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        self.write_line(TextStyle::Heading, &parts.join(" · "));
        if scene.omitted.before > 0 {
            self.write_line(TextStyle::Faint, &format!("… {}", counted(scene.omitted.before, "earlier journal line")));
        }
        self.node_numbers(scene);
    }

    fn node_numbers(&mut self, scene: &Scene) {
        let mut row = TextRow::new(self.layout.text_column);
        row.put(self.layout.time_width - "time".len(), TextStyle::Faint, "time");
        // A number that would touch the previous one is left out.
        let mut next_free_column = 0;
        for (column, lane) in self.layout.lanes.iter().zip(&scene.lanes) {
            let number = lane.node.to_string();
            let first = column.saturating_sub(number.len() / 2);
            if first >= next_free_column {
                row.put(first, TextStyle::Heading, &number);
                next_free_column = first + number.len() + 1;
            }
        }
        self.line(Line { row, texts: Vec::new() });
    }

    fn line(&mut self, line: Line) {
        let texts = self.fitted_texts(&line.texts);
        let row = line.row.paint(self.paint, !texts.is_empty());
        self.end(&(row + &texts));
    }

    fn fitted_texts(&self, texts: &[(TextStyle, String)]) -> String {
        let mut room = self.layout.text_room();
        let mut line = String::new();
        for (index, (style, text)) in words::shortened(texts, room).iter().enumerate() {
            if index > 0 {
                if room < width(words::SEPARATOR) + 2 {
                    line.push_str(&(self.paint)(TextStyle::Faint, &fit(" …", room)));
                    break;
                }
                line.push_str(&(self.paint)(TextStyle::Faint, words::SEPARATOR));
                room -= width(words::SEPARATOR);
            }
            let text = fit(text, room);
            line.push_str(&(self.paint)(*style, &isolated(&text)));
            room -= width(&text);
        }
        line
    }

    /// Writes a line of text, truncated to the width of the page.
    fn write_line(&mut self, style: TextStyle, text: &str) {
        let text = fit(text, self.layout.limit.unwrap_or(usize::MAX));
        let text = (self.paint)(style, &isolated(&text));
        self.end(&text);
    }

    fn end(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}
