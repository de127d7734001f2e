//! Writes a sequence diagram, statement by statement.

use super::MAX_CHARACTERS;
use super::escape::escape;
use super::replies::reply_kinds;
use crate::plural::count_with_noun;
use crate::scene::{Arrow, Cause, Head, Lane, Mark, Omitted, Scene, Step, Tail};
use crate::timeline::{ItemKind, TimelineItem, timeline};
use quorate_core::{Class, Time};
use quorate_journal::role::Role;
use quorate_journal::words::{TextKind, format_millis};
use std::collections::BTreeSet;

/// Colour of a partition, faint enough for light and dark pages.
const PARTITION_COLOUR: &str = "rgba(200, 50, 43, 0.12)";
/// Colour of any other lasting fault.
const OTHER_FAULT_COLOUR: &str = "rgba(232, 164, 23, 0.12)";
/// Line break in a note.
const BREAK: &str = "<br/>";

/// Maximum number of lanes drawn, so that the names of very many nodes do not fill the diagram.
const MAX_LANES: usize = 300;
/// Maximum number of lasting faults from before the window that are drawn; a note counts the rest.
const MAX_EARLIER_FAULTS: usize = 12;

/// Which texts the diagram contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    All,
    /// All texts except the notes of rules.
    WithoutRules,
}

/// A diagram that is being written.
pub(super) struct SequenceDiagram<'a> {
    scene: &'a Scene,
    /// The lanes that are drawn: the first ones of the scene.
    lanes: &'a [Lane],
    detail: Detail,
    reply_kinds: BTreeSet<&'a str>,
    items: Vec<TimelineItem>,
    text: String,
    /// Length of the text in UTF-16 code units, as Mermaid counts it.
    length: usize,
    /// Statements that are not written yet, such as those of the current item.
    pending_statements: Vec<String>,
    /// Lanes of nodes that are drawn as active: they are in the critical section or lead.
    active_lanes: BTreeSet<usize>,
    /// The lasting faults (bands) whose coloured blocks are still open, the outermost first.
    open_blocks: Vec<usize>,
}

impl<'a> SequenceDiagram<'a> {
    pub(super) fn new(scene: &'a Scene, detail: Detail) -> Self {
        Self {
            scene,
            lanes: scene.lanes.get(..MAX_LANES).unwrap_or(&scene.lanes),
            detail,
            reply_kinds: reply_kinds(scene),
            items: timeline(scene),
            text: String::new(),
            length: 0,
            pending_statements: Vec::new(),
            active_lanes: BTreeSet::new(),
            open_blocks: Vec::new(),
        }
    }

    /// Returns the diagram, and the number of items that did not fit.
    pub(super) fn write(mut self) -> (String, usize) {
        self.write_opening();
        let items = std::mem::take(&mut self.items);
        let mut written_count = 0;
        for (index, item) in items.iter().enumerate() {
            let state_before = (self.active_lanes.clone(), self.open_blocks.clone());
            self.write_item(item, &items);
            if self.length + self.pending_length() > MAX_CHARACTERS {
                self.pending_statements.clear();
                (self.active_lanes, self.open_blocks) = state_before;
                break;
            }
            self.flush();
            written_count = index + 1;
        }
        let missing = items.len() - written_count;
        self.write_closing(missing);
        (self.text, missing)
    }

    fn write_opening(&mut self) {
        self.push_line("sequenceDiagram");
        let heading = &self.scene.heading;
        let nodes = count_with_noun(heading.nodes as u64, "node");
        // Mermaid cuts off the title of a narrow diagram, so further details are a note.
        let parts = [&heading.algorithm, &nodes].map(|part| escape(part));
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        self.add_statement(format!("title {}", parts.join(", ")));
        for lane in self.lanes {
            self.add_statement(format!("participant n{0} as Node {0}", lane.node));
        }
        if !heading.detail.trim().is_empty() {
            self.add_note_over_all(std::slice::from_ref(&heading.detail));
        }
        let earlier = self.scene.bands.iter().enumerate().filter(|(_, band)| band.from.time < self.scene.from);
        let earlier: Vec<usize> = earlier.map(|(index, _)| index).collect();
        self.note_omissions(earlier.len().saturating_sub(MAX_EARLIER_FAULTS));
        for index in earlier.into_iter().take(MAX_EARLIER_FAULTS) {
            self.begin_band(index, None);
        }
        for view_span in self.scene.view_spans.iter().filter(|view_span| view_span.from.time < self.scene.from) {
            self.add_note_over_all(&[format!("{} continues", view_span.view)]);
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            self.set_role(index, lane.spans.first().map(|span| span.role).unwrap_or_default());
        }
        self.flush();
    }

    /// Adds notes about what the diagram leaves out.
    fn note_omissions(&mut self, undrawn_bands: usize) {
        let omitted = self.scene.omitted;
        if omitted.lines_before > 0 {
            self.add_note_over_all(&[count_with_noun(omitted.lines_before, "earlier journal line")]);
        }
        // Lines before and after are counted in notes of their own.
        let omitted_elsewhere =
            Omitted { lines_before: 0, lines_after: 0, bands: omitted.bands + undrawn_bands as u64, ..omitted };
        if let Some(words) = omitted_elsewhere.summary() {
            self.add_note_over_all(&[words]);
        }
        match self.scene.lanes.len() - self.lanes.len() {
            0 => {}
            1 => self.add_note_over_all(&["1 more node does not fit into the diagram, select fewer nodes".into()]),
            more => {
                self.add_note_over_all(&[format!("{more} more nodes do not fit into the diagram, select fewer nodes")]);
            }
        }
        let has_rules =
            self.scene.steps.iter().any(|step| step.effects.iter().any(|(kind, _)| *kind == TextKind::Rule));
        if self.detail == Detail::WithoutRules && has_rules {
            self.add_note_over_all(&["The notes of rules do not fit into the diagram".into()]);
        }
    }

    fn has_lane(&self, lane: usize) -> bool {
        lane < self.lanes.len()
    }

    fn write_closing(&mut self, missing: usize) {
        for lane in std::mem::take(&mut self.active_lanes) {
            let name = self.participant(lane);
            self.add_statement(format!("deactivate {name}"));
        }
        for _ in std::mem::take(&mut self.open_blocks) {
            self.add_statement("end".into());
        }
        match missing {
            0 => {}
            1 => {
                self.add_note_over_all(&["1 more event does not fit into the diagram, select a shorter window".into()]);
            }
            missing => self.add_note_over_all(&[format!(
                "{missing} more events do not fit into the diagram, select a shorter window"
            )]),
        }
        if self.scene.omitted.lines_after > 0 {
            self.add_note_over_all(&[count_with_noun(self.scene.omitted.lines_after, "later journal line")]);
        }
        self.flush();
    }

    fn write_item(&mut self, item: &TimelineItem, items: &[TimelineItem]) {
        match item.kind {
            ItemKind::Step(step) => {
                if let Some(shown_step) = self.scene.steps.get(step).filter(|step| self.has_lane(step.lane)) {
                    self.draw_step(step, shown_step);
                }
            }
            ItemKind::Mark(mark) => {
                let mark = self.scene.marks.get(mark);
                if let Some(mark) = mark.filter(|mark| mark.lane.is_none_or(|lane| self.has_lane(lane))) {
                    self.draw_mark(mark);
                }
            }
            // A lost message is drawn where it was sent or, if that is before the window, here.
            ItemKind::Loss(arrow) => {
                if let Some(arrow) = self.scene.arrows.get(arrow).filter(|arrow| arrow.tail == Tail::BeforeWindow) {
                    self.draw_arrow(arrow, Some(arrow.head));
                }
            }
            ItemKind::Violation(violation) => {
                if let Some(violation) = self.scene.violations.get(violation) {
                    self.add_note_over_all(&[self.prefix_time(item.position.time, &format!("✗ {}", violation.text))]);
                }
            }
            ItemKind::View(view_span) => {
                if let Some(view_span) = self.scene.view_spans.get(view_span) {
                    self.add_note_over_all(&[self.prefix_time(item.position.time, &view_span.view.to_string())]);
                }
            }
            ItemKind::BandStart(band) => self.begin_band(band, Some(items)),
            ItemKind::BandEnd(band) => self.end_band(band, item.position.time),
        }
    }

    fn draw_step(&mut self, index: usize, step: &Step) {
        let received = match step.cause {
            // A message from a node whose lane is not drawn is described in the note.
            Cause::Message(arrow) => {
                arrow.and_then(|arrow| self.scene.arrows.get(arrow)).filter(|arrow| self.has_lane(arrow.from))
            }
            Cause::Start { .. }
            | Cause::Command
            | Cause::Timer
            | Cause::Disk
            | Cause::EndOfTurn
            | Cause::Membership => None,
        };
        let mut lines = Vec::new();
        match received {
            Some(arrow) => self.draw_arrow(arrow, None),
            // If a report of the disk or the end of a turn has effects, only they are shown.
            None if matches!(step.cause, Cause::Disk | Cause::EndOfTurn) && !step.effects.is_empty() => {}
            None => lines.push(step.input.clone()),
        }
        // Sends are drawn as arrows. Timers and saves are left out.
        let shown_effects = step.effects.iter().filter(|(kind, _)| match kind {
            TextKind::Rule => self.detail == Detail::All,
            TextKind::Event | TextKind::Queue => true,
            TextKind::Input | TextKind::Send | TextKind::Control | TextKind::World => false,
        });
        lines.extend(shown_effects.map(|(_, text)| text.clone()));
        self.add_note(step.lane, step.position.time, lines);
        self.set_role(step.lane, step.role);
        // A message that arrives is drawn with the step that receives it.
        let is_unreceived = |arrow: &&Arrow| arrow.tail == Tail::Step(index) && !matches!(arrow.head, Head::Step(_));
        for arrow in self.scene.arrows.iter().filter(is_unreceived) {
            self.draw_arrow(arrow, Some(arrow.head));
        }
    }

    fn draw_mark(&mut self, mark: &Mark) {
        match mark.lane {
            Some(lane) => {
                self.add_note(lane, mark.position.time, vec![mark.text.clone()]);
                let role = self.lanes.get(lane).and_then(|lane| {
                    lane.spans.iter().rev().find(|span| span.from.order <= mark.position.order).map(|span| span.role)
                });
                self.set_role(lane, role.unwrap_or_default());
            }
            None => self.add_note_over_all(&[self.prefix_time(mark.position.time, &mark.text)]),
        }
    }

    /// Draws a node as active if it is chosen (in the critical section or leader), and as inactive
    /// otherwise.
    fn set_role(&mut self, lane: usize, role: Role) {
        let name = self.participant(lane);
        if role == Role::Chosen && self.active_lanes.insert(lane) {
            self.add_statement(format!("activate {name}"));
        } else if role != Role::Chosen && self.active_lanes.remove(&lane) {
            self.add_statement(format!("deactivate {name}"));
        }
    }

    /// Begins a lasting fault. It is drawn as a coloured block if it ends no later than the block
    /// around it. `written_items` are the items of the diagram once they are being written; `None`
    /// before that, for a fault that began before the window.
    fn begin_band(&mut self, band: usize, written_items: Option<&[TimelineItem]>) {
        let Some(fault) = self.scene.bands.get(band) else { return };
        let items = written_items.unwrap_or(&self.items);
        let end_index = |band: usize| {
            let end = items.iter().position(|item| item.kind == ItemKind::BandEnd(band));
            end.unwrap_or(usize::MAX)
        };
        let fits_inside = self.open_blocks.last().is_none_or(|outer| end_index(band) <= end_index(*outer));
        if fits_inside {
            self.open_blocks.push(band);
            self.add_statement(format!(
                "rect {}",
                if fault.is_partition { PARTITION_COLOUR } else { OTHER_FAULT_COLOUR }
            ));
        }
        let text =
            if written_items.is_some() { self.prefix_time(fault.from.time, &fault.text) } else { fault.text.clone() };
        self.add_note_over_all(&[text]);
    }

    fn end_band(&mut self, band: usize, time: Time) {
        let block = self.open_blocks.iter().position(|open| *open == band);
        if let Some(index) = block {
            // Closes inner blocks too: in a malformed journal, the end of a fault may precede its
            // start.
            for _ in self.open_blocks.drain(index..).collect::<Vec<_>>() {
                self.add_statement("end".into());
            }
        }
        if let Some(fault) = self.scene.bands.get(band) {
            self.add_note_over_all(&[self.prefix_time(time, &format!("{} ends", fault.text))]);
        }
    }

    /// Draws a message. It arrives unless `fate` says that it is lost or in flight.
    fn draw_arrow(&mut self, arrow: &Arrow, fate: Option<Head>) {
        if !self.has_lane(arrow.from) || !self.has_lane(arrow.to) {
            return;
        }
        let is_dotted = arrow.class == Class::Control || self.reply_kinds.contains(arrow.kind.as_str());
        let (head, fate) = match fate {
            None | Some(Head::Step(_)) => (">>", None),
            Some(Head::Lost { cause, .. }) => ("x", Some(cause.to_string())),
            Some(Head::InFlight) => (")", Some("in flight".to_owned())),
        };
        let shaft = if is_dotted { "--" } else { "-" };
        let remarks = [
            arrow.is_retransmission.then(|| "retransmission".to_owned()),
            arrow.is_duplicate.then(|| "duplicate".to_owned()),
            (arrow.tail == Tail::BeforeWindow).then(|| "sent earlier".to_owned()),
            fate,
        ];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        let mut text = escape(arrow.name());
        if !remarks.is_empty() {
            text = format!("{text} ({})", escape(&remarks.join(", ")));
        }
        let (from, to) = (self.participant(arrow.from), self.participant(arrow.to));
        self.add_statement(format!("{from}{shaft}{head}{to}: {text}"));
    }

    /// Adds a note over one node. Its first line starts with the time.
    fn add_note(&mut self, lane: usize, time: Time, mut lines: Vec<String>) {
        if let Some(first) = lines.first_mut() {
            *first = self.prefix_time(time, first);
            let text = note_text(&lines);
            let name = self.participant(lane);
            self.add_statement(format!("Note over {name}: {text}"));
        }
    }

    fn add_note_over_all(&mut self, lines: &[String]) {
        let Some(last) = self.lanes.len().checked_sub(1) else { return };
        let (first, last) = (self.participant(0), self.participant(last));
        let participants = if first == last { first } else { format!("{first},{last}") };
        let text = note_text(lines);
        self.add_statement(format!("Note over {participants}: {text}"));
    }

    fn prefix_time(&self, time: Time, text: &str) -> String {
        format!("{} ms · {text}", format_millis(self.scene.relative(time)))
    }

    fn participant(&self, lane: usize) -> String {
        self.lanes.get(lane).map(|lane| format!("n{}", lane.node)).unwrap_or_default()
    }

    fn add_statement(&mut self, statement: String) {
        self.pending_statements.push(statement);
    }

    /// Returns an upper bound of the length that the pending statements and the closing lines would
    /// add, in UTF-16 code units.
    fn pending_length(&self) -> usize {
        // Four spaces and a line break.
        const INDENT_AND_BREAK: usize = 5;
        // Upper bounds: a line that closes a lane or a block, and the last notes about what is left
        // out.
        const MAX_CLOSING_LINE: usize = 32;
        const MAX_LAST_NOTES: usize = 240;
        let statements: usize =
            self.pending_statements.iter().map(|statement| utf16_len(statement) + INDENT_AND_BREAK).sum();
        statements + (self.active_lanes.len() + self.open_blocks.len()) * MAX_CLOSING_LINE + MAX_LAST_NOTES
    }

    fn flush(&mut self) {
        for statement in std::mem::take(&mut self.pending_statements) {
            self.push_line(&format!("    {statement}"));
        }
    }

    fn push_line(&mut self, line: &str) {
        self.length += utf16_len(line) + 1;
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Joins the lines of a note, after breaking long ones.
fn note_text(lines: &[String]) -> String {
    let lines = lines.iter().flat_map(|line| wrap(line));
    lines.map(|line| escape(&line)).collect::<Vec<_>>().join(BREAK)
}

/// Breaks a line that is too long at spaces.
fn wrap(line: &str) -> Vec<String> {
    const MAX_LINE_CHARS: usize = 44;
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if last.chars().count() + 1 + word.chars().count() <= MAX_LINE_CHARS => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Number of UTF-16 code units, which is how a browser counts characters.
fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}
