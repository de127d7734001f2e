//! A scene as text: time runs downwards, each node has a column, and a message is an arrow on the line where it arrives.
//!
//! ```text
//!   time  1          2          3
//!  0.000  ●          │          │   acquire · RA-1 asks everyone with (1, 1) · request → 2,3
//!  2.417  ├─request─▶●          │   RA-2 lets (1, 1) pass · reply → 1
//!  2.901  ├──────────┼─request─▶●   RA-2 lets (1, 1) pass · reply → 1
//! ```
//!
//! No line is wider than the terminal: words are cut with `…`, and where there are too many nodes for their columns the
//! picture says so and is a list.

mod footer;
mod layout;
mod lines;
mod row;
mod signs;
pub(crate) mod text;
mod words;

use crate::plural::counted;
use crate::scene::{Head, Scene};
use crate::timeline::timeline;
use layout::Layout;
use lines::{Line, Lines};
use quorate_journal::role::Role;
use quorate_journal::words::Sort;
use row::Row;
use signs::label;
use text::{fit, isolated, width};

/// More messages than this that are still under way at the end are counted, not drawn.
const MOST_OPEN: usize = 12;
/// A picture with more lines than this has the nodes' numbers at its end too.
const LONG: usize = 36;

/// How to draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How many columns a line may have. Without a limit, words are never cut.
    pub width: Option<usize>,
}

/// What a piece of a line is, for those who colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A node's line, or a step on it, while it stands like this.
    Role(Role),
    Message,
    /// The arrow of a message that the algorithm does not see.
    Control,
    /// What came, or what followed from it, in words.
    Part(Sort),
    /// What goes wrong: a loss, a crash, a cut.
    Alarm,
    /// Times, and what joins other things.
    Faint,
    Heading,
}

/// Colours a piece of text, or leaves it as it is.
pub type Paint<'a> = &'a dyn Fn(Ink, &str) -> String;

/// Draws a scene. Every line ends with a line break.
pub fn draw(scene: &Scene, options: &Options, paint: Paint<'_>) -> String {
    let moments = timeline(scene);
    let layout = Layout::new(scene, &moments, options.width);
    let mut page = Page { layout: &layout, paint, text: String::new() };
    page.heading(scene);
    let mut lines = Lines::new(scene, &layout);
    if let Some(opening) = lines.opening(moments.is_empty()) {
        page.line(opening);
    }
    for moment in &moments {
        page.line(lines.next(moment));
    }
    let open: Vec<_> = scene.arrows.iter().filter(|arrow| arrow.head == Head::Open).collect();
    for arrow in open.iter().take(MOST_OPEN) {
        page.line(lines.open(arrow));
    }
    match open.len().saturating_sub(MOST_OPEN) {
        0 => {}
        1 => page.say(Ink::Faint, "1 more message is still under way."),
        more => page.say(Ink::Faint, &format!("{more} more messages are still under way.")),
    }
    if moments.len() > LONG {
        page.nodes(scene);
    }
    footer::write(&mut page, scene);
    page.text
}

pub fn plain(_ink: Ink, text: &str) -> String {
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
        self.say(Ink::Heading, &parts.join(" · "));
        if scene.beyond.before > 0 {
            self.say(Ink::Faint, &format!("… {} of the journal before this", footer::lines(scene.beyond.before)));
        }
        self.nodes(scene);
    }

    fn nodes(&mut self, scene: &Scene) {
        let mut row = Row::new(self.layout.words);
        row.put(self.layout.time - "time".len(), Ink::Faint, "time");
        // A number that would touch the one before it is left out.
        let mut free = 0;
        for (column, lane) in self.layout.lanes.iter().zip(&scene.lanes) {
            let number = lane.node.to_string();
            let first = column.saturating_sub(number.len() / 2);
            if first >= free {
                row.put(first, Ink::Heading, &number);
                free = first + number.len() + 1;
            }
        }
        self.line(Line { row, words: Vec::new() });
    }

    fn line(&mut self, line: Line) {
        let words = self.words(&line.words);
        let row = line.row.paint(self.paint, !words.is_empty());
        self.end(&(row + &words));
    }

    fn words(&self, words: &[(Ink, String)]) -> String {
        let mut left = self.layout.room();
        let mut line = String::new();
        for (index, (ink, text)) in words::shortened(words, left).iter().enumerate() {
            if index > 0 {
                if left < width(words::BETWEEN) + 2 {
                    line.push_str(&(self.paint)(Ink::Faint, &fit(" …", left)));
                    break;
                }
                line.push_str(&(self.paint)(Ink::Faint, words::BETWEEN));
                left -= width(words::BETWEEN);
            }
            let text = fit(text, left);
            line.push_str(&(self.paint)(*ink, &isolated(&text)));
            left -= width(&text);
        }
        line
    }

    fn say(&mut self, ink: Ink, text: &str) {
        let text = fit(text, self.layout.limit.unwrap_or(usize::MAX));
        let text = (self.paint)(ink, &isolated(&text));
        self.end(&text);
    }

    fn end(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}
