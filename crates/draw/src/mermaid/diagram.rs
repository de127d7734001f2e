//! Writes a sequence diagram, statement by statement.

use super::MAX_CHARACTERS;
use super::escape::escaped;
use super::replies::replies;
use crate::plural::counted;
use crate::scene::{Arrow, Cause, Head, Lane, Mark, Omitted, Scene, Step, Tail};
use crate::timeline::{ItemKind, TimelineItem, timeline};
use quorate_core::{Class, Time};
use quorate_journal::role::Role;
use quorate_journal::words::{TextKind, millis};
use std::collections::BTreeSet;

/// Colour of a partition, faint enough for light and dark pages.
const PARTITION_COLOUR: &str = "rgba(200, 50, 43, 0.12)";
/// Colour of any other lasting fault.
const OTHER_FAULT_COLOUR: &str = "rgba(232, 164, 23, 0.12)";
/// Line break in a note.
const BREAK: &str = "<br/>";

/// Maximum number of nodes; the names of more would fill the diagram.
const MAX_LANES: usize = 300;
/// Maximum number of faults from before the window that are drawn; more are counted.
const MAX_EARLIER: usize = 12;

/// Amount of detail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    All,
    WithoutRules,
}

/// A diagram that is being written.
pub(super) struct SequenceDiagram<'a> {
    scene: &'a Scene,
    lanes: &'a [Lane],
    detail: Detail,
    replies: BTreeSet<&'a str>,
    items: Vec<TimelineItem>,
    text: String,
    /// Length of the text as Mermaid counts it.
    length: usize,
    statements: Vec<String>,
    active: BTreeSet<usize>,
    /// The open bands that are drawn as coloured blocks, the outermost first.
    blocks: Vec<usize>,
}

impl<'a> SequenceDiagram<'a> {
    pub(super) fn new(scene: &'a Scene, detail: Detail) -> Self {
        Self {
            scene,
            lanes: scene.lanes.get(..MAX_LANES).unwrap_or(&scene.lanes),
            detail,
            replies: replies(scene),
            items: timeline(scene),
            text: String::new(),
            length: 0,
            statements: Vec::new(),
            active: BTreeSet::new(),
            blocks: Vec::new(),
        }
    }

    /// Returns the diagram, and the number of items that did not fit.
    pub(super) fn write(mut self) -> (String, usize) {
        self.write_head();
        let items = std::mem::take(&mut self.items);
        let mut written = 0;
        for (index, item) in items.iter().enumerate() {
            let before = (self.active.clone(), self.blocks.clone());
            self.write_item(item, &items);
            if self.length + self.pending_length() > MAX_CHARACTERS {
                self.statements.clear();
                (self.active, self.blocks) = before;
                break;
            }
            self.flush();
            written = index + 1;
        }
        let missing = items.len() - written;
        self.write_tail(missing);
        (self.text, missing)
    }

    fn write_head(&mut self) {
        self.push("sequenceDiagram");
        let heading = &self.scene.heading;
        let nodes = counted(heading.nodes as u64, "node");
        // Mermaid cuts off the title of a narrow diagram, so further details are a note.
        let parts = [&heading.algorithm, &nodes].map(|part| escaped(part));
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        self.add(format!("title {}", parts.join(", ")));
        for lane in self.lanes {
            self.add(format!("participant n{0} as Node {0}", lane.node));
        }
        if !heading.detail.trim().is_empty() {
            self.note_over_all(std::slice::from_ref(&heading.detail));
        }
        let earlier = self.scene.bands.iter().enumerate().filter(|(_, band)| band.from.time < self.scene.from);
        let earlier: Vec<usize> = earlier.map(|(index, _)| index).collect();
        self.note_omissions(earlier.len().saturating_sub(MAX_EARLIER));
        for index in earlier.into_iter().take(MAX_EARLIER) {
            self.band_begins(index, None);
        }
        for view_span in self.scene.view_spans.iter().filter(|view_span| view_span.from.time < self.scene.from) {
            self.note_over_all(&[format!("{} continues", view_span.view)]);
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            self.set_role(index, lane.spans.first().map(|span| span.role).unwrap_or_default());
        }
        self.flush();
    }

    /// Adds notes about what the diagram leaves out.
    fn note_omissions(&mut self, bands: usize) {
        let omitted = self.scene.omitted;
        if omitted.before > 0 {
            self.note_over_all(&[counted(omitted.before, "earlier journal line")]);
        }
        // Lines before and after are counted in notes of their own.
        let omitted_elsewhere = Omitted { before: 0, after: 0, bands: omitted.bands + bands as u64, ..omitted };
        if let Some(words) = omitted_elsewhere.summary() {
            self.note_over_all(&[words]);
        }
        match self.scene.lanes.len() - self.lanes.len() {
            0 => {}
            1 => self.note_over_all(&["1 more node does not fit into the diagram, select fewer nodes".into()]),
            more => self.note_over_all(&[format!("{more} more nodes do not fit into the diagram, select fewer nodes")]),
        }
        let has_rules = self.scene.steps.iter().any(|step| step.parts.iter().any(|(kind, _)| *kind == TextKind::Rule));
        if self.detail == Detail::WithoutRules && has_rules {
            self.note_over_all(&["The notes of rules do not fit into the diagram".into()]);
        }
    }

    fn has_lane(&self, lane: usize) -> bool {
        lane < self.lanes.len()
    }

    fn write_tail(&mut self, missing: usize) {
        for lane in std::mem::take(&mut self.active) {
            let name = self.name(lane);
            self.add(format!("deactivate {name}"));
        }
        for _ in std::mem::take(&mut self.blocks) {
            self.add("end".into());
        }
        match missing {
            0 => {}
            1 => self.note_over_all(&["1 more event does not fit into the diagram, select a shorter window".into()]),
            missing => self.note_over_all(&[format!(
                "{missing} more events do not fit into the diagram, select a shorter window"
            )]),
        }
        if self.scene.omitted.after > 0 {
            self.note_over_all(&[counted(self.scene.omitted.after, "later journal line")]);
        }
        self.flush();
    }

    fn write_item(&mut self, item: &TimelineItem, items: &[TimelineItem]) {
        match item.kind {
            ItemKind::Step(step) => {
                if let Some(shown) = self.scene.steps.get(step).filter(|step| self.has_lane(step.lane)) {
                    self.step(step, shown);
                }
            }
            ItemKind::Mark(mark) => {
                let mark = self.scene.marks.get(mark);
                if let Some(mark) = mark.filter(|mark| mark.lane.is_none_or(|lane| self.has_lane(lane))) {
                    self.mark(mark);
                }
            }
            // A lost message is drawn where it was sent, unless that is not shown.
            ItemKind::Loss(arrow) => {
                if let Some(arrow) = self.scene.arrows.get(arrow).filter(|arrow| arrow.tail == Tail::BeforeWindow) {
                    self.arrow(arrow, Some(arrow.head));
                }
            }
            ItemKind::Violation(violation) => {
                if let Some(violation) = self.scene.violations.get(violation) {
                    self.note_over_all(&[self.with_time(item.position.time, &format!("✗ {}", violation.text))]);
                }
            }
            ItemKind::View(view_span) => {
                if let Some(view_span) = self.scene.view_spans.get(view_span) {
                    self.note_over_all(&[self.with_time(item.position.time, &view_span.view.to_string())]);
                }
            }
            ItemKind::BandStart(band) => self.band_begins(band, Some(items)),
            ItemKind::BandEnd(band) => self.band_ends(band, item.position.time),
        }
    }

    fn step(&mut self, index: usize, step: &Step) {
        let received = match step.cause {
            // A message from a node without a lane is described in the note.
            Cause::Message(arrow) => {
                arrow.and_then(|arrow| self.scene.arrows.get(arrow)).filter(|arrow| self.has_lane(arrow.from))
            }
            Cause::Start { .. } | Cause::Command | Cause::Timer | Cause::Disk | Cause::Membership => None,
        };
        let mut lines = Vec::new();
        match received {
            Some(arrow) => self.arrow(arrow, None),
            // A disk confirmation matters only for its consequences.
            None if step.cause == Cause::Disk && !step.parts.is_empty() => {}
            None => lines.push(step.input.clone()),
        }
        let shown = step.parts.iter().filter(|(kind, _)| match kind {
            TextKind::Rule => self.detail == Detail::All,
            TextKind::Event | TextKind::Queue => true,
            TextKind::Input | TextKind::Send | TextKind::Control | TextKind::World => false,
        });
        lines.extend(shown.map(|(_, text)| text.clone()));
        self.note(step.lane, step.position.time, lines);
        self.set_role(step.lane, step.role);
        let leaves = |arrow: &&Arrow| arrow.tail == Tail::Step(index) && !matches!(arrow.head, Head::Step(_));
        for arrow in self.scene.arrows.iter().filter(leaves) {
            self.arrow(arrow, Some(arrow.head));
        }
    }

    fn mark(&mut self, mark: &Mark) {
        match mark.lane {
            Some(lane) => {
                self.note(lane, mark.position.time, vec![mark.text.clone()]);
                let role = self.lanes.get(lane).and_then(|lane| {
                    lane.spans.iter().rev().find(|span| span.from.order <= mark.position.order).map(|span| span.role)
                });
                self.set_role(lane, role.unwrap_or_default());
            }
            None => self.note_over_all(&[self.with_time(mark.position.time, &mark.text)]),
        }
    }

    /// Draws a chosen node as active.
    fn set_role(&mut self, lane: usize, role: Role) {
        let name = self.name(lane);
        if role == Role::Chosen && self.active.insert(lane) {
            self.add(format!("activate {name}"));
        } else if role != Role::Chosen && self.active.remove(&lane) {
            self.add(format!("deactivate {name}"));
        }
    }

    /// Begins a lasting fault. It is a coloured block if it ends before the block around it.
    /// `items_now` is `None` if the fault began before the window.
    fn band_begins(&mut self, band: usize, items_now: Option<&[TimelineItem]>) {
        let Some(fault) = self.scene.bands.get(band) else { return };
        let items = items_now.unwrap_or(&self.items);
        let end_index = |band: usize| {
            let end = items.iter().position(|item| item.kind == ItemKind::BandEnd(band));
            end.unwrap_or(usize::MAX)
        };
        let fits_inside = self.blocks.last().is_none_or(|outer| end_index(band) <= end_index(*outer));
        if fits_inside {
            self.blocks.push(band);
            self.add(format!("rect {}", if fault.is_partition { PARTITION_COLOUR } else { OTHER_FAULT_COLOUR }));
        }
        let text = if items_now.is_some() { self.with_time(fault.from.time, &fault.text) } else { fault.text.clone() };
        self.note_over_all(&[text]);
    }

    fn band_ends(&mut self, band: usize, time: Time) {
        let block = self.blocks.iter().position(|open| *open == band);
        if let Some(index) = block {
            // Inner blocks without an end are closed too.
            for _ in self.blocks.drain(index..).collect::<Vec<_>>() {
                self.add("end".into());
            }
        }
        if let Some(fault) = self.scene.bands.get(band) {
            self.note_over_all(&[self.with_time(time, &format!("{} ends", fault.text))]);
        }
    }

    /// Draws a message. It arrives unless `fate` says otherwise.
    fn arrow(&mut self, arrow: &Arrow, fate: Option<Head>) {
        if !self.has_lane(arrow.from) || !self.has_lane(arrow.to) {
            return;
        }
        let dotted = arrow.class == Class::Control || self.replies.contains(arrow.kind.as_str());
        let (head, fate) = match fate {
            None | Some(Head::Step(_)) => (">>", None),
            Some(Head::Lost { why, .. }) => ("x", Some(why.to_string())),
            Some(Head::Open) => (")", Some("in flight".to_owned())),
        };
        let shaft = if dotted { "--" } else { "-" };
        let remarks = [
            arrow.is_retransmission.then(|| "retransmission".to_owned()),
            arrow.is_duplicate.then(|| "duplicate".to_owned()),
            (arrow.tail == Tail::BeforeWindow).then(|| "sent earlier".to_owned()),
            fate,
        ];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        let mut text = escaped(arrow.name());
        if !remarks.is_empty() {
            text = format!("{text} ({})", escaped(&remarks.join(", ")));
        }
        let (from, to) = (self.name(arrow.from), self.name(arrow.to));
        self.add(format!("{from}{shaft}{head}{to}: {text}"));
    }

    /// Adds a note over one node. Its first line starts with the time.
    fn note(&mut self, lane: usize, time: Time, mut lines: Vec<String>) {
        if let Some(first) = lines.first_mut() {
            *first = self.with_time(time, first);
            let text = note_text(&lines);
            let name = self.name(lane);
            self.add(format!("Note over {name}: {text}"));
        }
    }

    fn note_over_all(&mut self, lines: &[String]) {
        let Some(last) = self.lanes.len().checked_sub(1) else { return };
        let (first, last) = (self.name(0), self.name(last));
        let over = if first == last { first } else { format!("{first},{last}") };
        let text = note_text(lines);
        self.add(format!("Note over {over}: {text}"));
    }

    fn with_time(&self, time: Time, text: &str) -> String {
        format!("{} ms · {text}", millis(self.scene.relative(time)))
    }

    fn name(&self, lane: usize) -> String {
        self.lanes.get(lane).map(|lane| format!("n{}", lane.node)).unwrap_or_default()
    }

    fn add(&mut self, statement: String) {
        self.statements.push(statement);
    }

    /// Length that the pending statements and the closing lines would add.
    fn pending_length(&self) -> usize {
        const INDENT_AND_BREAK: usize = 5;
        const LONGEST_CLOSING: usize = 32;
        const LAST_NOTES: usize = 240;
        let statements: usize = self.statements.iter().map(|statement| length(statement) + INDENT_AND_BREAK).sum();
        statements + (self.active.len() + self.blocks.len()) * LONGEST_CLOSING + LAST_NOTES
    }

    fn flush(&mut self) {
        for statement in std::mem::take(&mut self.statements) {
            self.push(&format!("    {statement}"));
        }
    }

    fn push(&mut self, line: &str) {
        self.length += length(line) + 1;
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Joins the lines of a note, after breaking long ones.
fn note_text(lines: &[String]) -> String {
    let lines = lines.iter().flat_map(|line| wrap(line));
    lines.map(|line| escaped(&line)).collect::<Vec<_>>().join(BREAK)
}

/// Breaks a line that is too long.
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
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}
