//! The diagram, statement by statement.

use super::MOST_CHARACTERS;
use super::escape::escaped;
use super::replies::replies;
use crate::scene::{Arrow, Cause, Head, Mark, Scene, Step, Tail};
use crate::timeline::{Entry, Moment, timeline};
use quorate_core::{Class, Time};
use quorate_sim::role::Role;
use quorate_sim::words::{Sort, millis};
use std::collections::BTreeSet;

/// The colour of a cut, so thin that it suits a light page and a dark one.
const CUT: &str = "rgba(200, 50, 43, 0.12)";
/// The colour of anything else that lasts.
const ODD: &str = "rgba(232, 164, 23, 0.12)";
/// What is between two lines of a note.
const BREAK: &str = "<br/>";

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All there is.
    All,
    /// No rules.
    Less,
}

/// A diagram under way.
pub(super) struct Story<'a> {
    scene: &'a Scene,
    detail: Detail,
    replies: BTreeSet<&'a str>,
    moments: Vec<Moment>,
    text: String,
    /// How long the text is, as Mermaid counts.
    length: usize,
    /// The statements of the moment in hand.
    statements: Vec<String>,
    /// Which lanes' nodes are active.
    active: BTreeSet<usize>,
    /// The bands that are drawn as coloured stretches and last, the outermost first.
    stretches: Vec<usize>,
}

impl<'a> Story<'a> {
    pub(super) fn new(scene: &'a Scene, detail: Detail) -> Self {
        Self {
            scene,
            detail,
            replies: replies(scene),
            moments: timeline(scene),
            text: String::new(),
            length: 0,
            statements: Vec::new(),
            active: BTreeSet::new(),
            stretches: Vec::new(),
        }
    }

    /// The diagram, and how many moments did not fit into it.
    pub(super) fn tell(mut self) -> (String, usize) {
        self.begin();
        let moments = std::mem::take(&mut self.moments);
        let mut told = 0;
        for (index, moment) in moments.iter().enumerate() {
            let before = (self.active.clone(), self.stretches.clone());
            self.moment(index, moment, &moments);
            if self.length + self.pending() > MOST_CHARACTERS {
                self.statements.clear();
                (self.active, self.stretches) = before;
                break;
            }
            self.flush();
            told = index + 1;
        }
        let missing = moments.len() - told;
        self.end(missing);
        (self.text, missing)
    }

    fn begin(&mut self) {
        self.push("sequenceDiagram");
        let heading = &self.scene.heading;
        let nodes = if heading.nodes == 1 { "1 node".into() } else { format!("{} nodes", heading.nodes) };
        let parts = [&heading.algorithm, &nodes, &heading.detail].map(|part| escaped(part));
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        self.say(format!("title {}", parts.join(", ")));
        for lane in &self.scene.lanes {
            self.say(format!("participant n{0} as Node {0}", lane.node));
        }
        let beyond = self.scene.beyond.before;
        if beyond > 0 {
            self.note_over_all(&[format!("{beyond} lines of the journal before this")]);
        }
        for (index, band) in self.scene.bands.iter().enumerate() {
            if band.from.time < self.scene.from {
                self.band_begins(index, None);
            }
        }
        for lane in 0..self.scene.lanes.len() {
            let role = self.scene.lanes.get(lane).and_then(|lane| lane.spans.first()).map(|span| span.role);
            self.stand(lane, role.unwrap_or_default());
        }
        self.flush();
    }

    fn end(&mut self, missing: usize) {
        for lane in std::mem::take(&mut self.active) {
            let name = self.name(lane);
            self.say(format!("deactivate {name}"));
        }
        for _ in std::mem::take(&mut self.stretches) {
            self.say("end".into());
        }
        if missing > 0 {
            self.note_over_all(&[format!("{missing} more do not fit into a diagram, choose a window")]);
        } else if self.scene.beyond.after > 0 {
            self.note_over_all(&[format!("{} lines of the journal after this", self.scene.beyond.after)]);
        }
        self.flush();
    }

    fn moment(&mut self, index: usize, moment: &Moment, moments: &[Moment]) {
        match moment.entry {
            Entry::Step(step) => {
                if let Some(told) = self.scene.steps.get(step) {
                    self.step(step, told);
                }
            }
            Entry::Mark(mark) => {
                if let Some(mark) = self.scene.marks.get(mark) {
                    self.mark(mark);
                }
            }
            // A lost message stands where it was sent, unless that is not shown.
            Entry::Lost(arrow) => {
                if let Some(arrow) = self.scene.arrows.get(arrow).filter(|arrow| arrow.tail == Tail::Before) {
                    self.arrow(arrow, Some(arrow.head));
                }
            }
            Entry::Breach(breach) => {
                if let Some(breach) = self.scene.breaches.get(breach) {
                    self.note_over_all(&[self.timed(moment.place.time, &format!("✗ {}", breach.text))]);
                }
            }
            Entry::Begins(band) => self.band_begins(band, Some((index, moments))),
            Entry::Ends(band) => self.band_ends(band, moment.place.time),
        }
    }

    fn step(&mut self, index: usize, step: &Step) {
        let asked = match step.cause {
            Cause::Message(arrow) => arrow.and_then(|arrow| self.scene.arrows.get(arrow)),
            Cause::Start { .. } | Cause::Command | Cause::Timer | Cause::Disk | Cause::Membership => None,
        };
        let mut lines = Vec::new();
        match asked {
            Some(arrow) => self.arrow(arrow, None),
            // That something is on the disk matters for what comes of it.
            None if step.cause == Cause::Disk && !step.parts.is_empty() => {}
            None => lines.push(step.input.clone()),
        }
        let told = step.parts.iter().filter(|(sort, _)| match sort {
            Sort::Rule => self.detail == Detail::All,
            Sort::Event => true,
            Sort::Input | Sort::Send | Sort::Control | Sort::World => false,
        });
        lines.extend(told.map(|(_, text)| text.clone()));
        self.note(step.lane, step.place.time, lines);
        self.stand(step.lane, step.role);
        let leaves = |arrow: &&Arrow| arrow.tail == Tail::Step(index) && !matches!(arrow.head, Head::Step(_));
        for arrow in self.scene.arrows.iter().filter(leaves) {
            self.arrow(arrow, Some(arrow.head));
        }
    }

    fn mark(&mut self, mark: &Mark) {
        match mark.lane {
            Some(lane) => {
                self.note(lane, mark.place.time, vec![mark.text.clone()]);
                let stands = self.scene.lanes.get(lane).and_then(|lane| {
                    lane.spans.iter().rev().find(|span| span.from.order <= mark.place.order).map(|span| span.role)
                });
                self.stand(lane, stands.unwrap_or_default());
            }
            None => self.note_over_all(&[self.timed(mark.place.time, &mark.text)]),
        }
    }

    /// A node that is inside or leads is active.
    fn stand(&mut self, lane: usize, role: Role) {
        let name = self.name(lane);
        if role == Role::Chosen && self.active.insert(lane) {
            self.say(format!("activate {name}"));
        } else if role != Role::Chosen && self.active.remove(&lane) {
            self.say(format!("deactivate {name}"));
        }
    }

    /// What lasts is a coloured stretch if it ends before the one around it does.
    fn band_begins(&mut self, band: usize, here: Option<(usize, &[Moment])>) {
        let Some(told) = self.scene.bands.get(band) else { return };
        let moments = here.map_or(&self.moments[..], |(_, moments)| moments);
        let end = |band: usize| {
            let end = moments.iter().position(|moment| moment.entry == Entry::Ends(band));
            end.unwrap_or(usize::MAX)
        };
        let nests = self.stretches.last().is_none_or(|around| end(band) <= end(*around));
        if nests {
            self.stretches.push(band);
            self.say(format!("rect {}", if told.cut { CUT } else { ODD }));
        }
        let text = if here.is_some() { self.timed(told.from.time, &told.text) } else { told.text.clone() };
        self.note_over_all(&[text]);
    }

    fn band_ends(&mut self, band: usize, time: Time) {
        let stretch = self.stretches.iter().position(|open| *open == band);
        if let Some(place) = stretch {
            // Those within it that never end are cut off with it.
            for _ in self.stretches.drain(place..).collect::<Vec<_>>() {
                self.say("end".into());
            }
        }
        if let Some(told) = self.scene.bands.get(band) {
            self.note_over_all(&[self.timed(time, &format!("{} is over", told.text))]);
        }
    }

    /// A message that arrives, unless another fate is told.
    fn arrow(&mut self, arrow: &Arrow, fate: Option<Head>) {
        let dotted = arrow.class == Class::Control || self.replies.contains(arrow.kind.as_str());
        let (head, fate) = match fate {
            None | Some(Head::Step(_)) => (">>", None),
            Some(Head::Lost { why, .. }) => ("x", Some(why.to_string())),
            Some(Head::Open) => (")", Some("still under way".to_owned())),
        };
        let shaft = if dotted { "--" } else { "-" };
        let remarks = [
            arrow.again.then(|| "again".to_owned()),
            arrow.copy.then(|| "a copy".to_owned()),
            (arrow.tail == Tail::Before).then(|| "sent before this".to_owned()),
            fate,
        ];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        let mut text = escaped(&arrow.kind);
        if !remarks.is_empty() {
            text = format!("{text} ({})", escaped(&remarks.join(", ")));
        }
        let (from, to) = (self.name(arrow.from), self.name(arrow.to));
        self.say(format!("{from}{shaft}{head}{to}: {text}"));
    }

    /// A note over one node. When it was stands on its first line.
    fn note(&mut self, lane: usize, time: Time, mut lines: Vec<String>) {
        if let Some(first) = lines.first_mut() {
            *first = self.timed(time, first);
            let text = joined(&lines);
            let name = self.name(lane);
            self.say(format!("Note over {name}: {text}"));
        }
    }

    fn note_over_all(&mut self, lines: &[String]) {
        let last = self.scene.lanes.len().saturating_sub(1);
        if self.scene.lanes.is_empty() {
            return;
        }
        let (first, last) = (self.name(0), self.name(last));
        let over = if first == last { first } else { format!("{first},{last}") };
        let text = joined(lines);
        self.say(format!("Note over {over}: {text}"));
    }

    fn timed(&self, time: Time, text: &str) -> String {
        format!("{} ms · {text}", millis(self.scene.shown(time)))
    }

    fn name(&self, lane: usize) -> String {
        self.scene.lanes.get(lane).map(|lane| format!("n{}", lane.node)).unwrap_or_default()
    }

    fn say(&mut self, statement: String) {
        self.statements.push(statement);
    }

    /// How long the text would be if it had to end with the statements in hand.
    fn pending(&self) -> usize {
        const LONGEST_CLOSING: usize = 32;
        const LAST_NOTE: usize = 120;
        let statements: usize = self.statements.iter().map(|statement| counted(statement) + 5).sum();
        statements + (self.active.len() + self.stretches.len()) * LONGEST_CLOSING + LAST_NOTE
    }

    fn flush(&mut self) {
        for statement in std::mem::take(&mut self.statements) {
            self.push(&format!("    {statement}"));
        }
    }

    fn push(&mut self, line: &str) {
        self.length += counted(line) + 1;
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// The lines of a note, none of them too long.
fn joined(lines: &[String]) -> String {
    let lines = lines.iter().flat_map(|line| broken(line));
    lines.map(|line| escaped(&line)).collect::<Vec<_>>().join(BREAK)
}

/// A line as several, if it is too long for one.
fn broken(line: &str) -> Vec<String> {
    const LONGEST: usize = 44;
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if last.chars().count() + 1 + word.chars().count() <= LONGEST => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How many characters a text has to a browser.
fn counted(text: &str) -> usize {
    text.encode_utf16().count()
}
