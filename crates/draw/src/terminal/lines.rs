//! The lines of the picture, one per event.

use super::Ink;
use super::layout::Layout;
use super::row::Row;
use super::signs;
use super::text::width;
use crate::scene::{Arrow, Cause, Head, Lane, Mark, Place, Scene, Step, Stillness, Tail};
use crate::timeline::{Entry, Moment};
use quorate_core::Class;
use quorate_journal::role::Role;
use quorate_journal::words::{Sort, millis};

/// A line of the picture: its columns and the texts after them.
pub(super) struct Line {
    pub(super) row: Row,
    pub(super) words: Vec<(Ink, String)>,
}

/// How an arrow ends on the current line. Of a duplicated message, one copy may arrive and another
/// be lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Here,
    /// The message is lost.
    Lost,
    Open,
}

/// Draws one line after the other.
pub(super) struct Lines<'a> {
    scene: &'a Scene,
    layout: &'a Layout,
    /// Each lane's role, with the index of its span.
    stands: Vec<(usize, Role)>,
    /// Why each lane's node does not act in its group, if it does not.
    stills: Vec<Option<Stillness>>,
    /// Whether each lane's node believes that it is chosen although its lease has expired.
    overs: Vec<bool>,
    lasting: Vec<usize>,
    told: Option<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(scene: &'a Scene, layout: &'a Layout) -> Self {
        let role = |lane: &Lane| lane.spans.first().map_or(Role::Idle, |span| span.role);
        let stands = scene.lanes.iter().map(|lane| (0, role(lane))).collect();
        let lasting = (0..).zip(&scene.bands).filter(|(_, band)| band.from.time < scene.from);
        let lasting = lasting.map(|(index, _)| index).collect();
        let (stills, overs) = (vec![None; scene.lanes.len()], vec![false; scene.lanes.len()]);
        let mut lines = Self { scene, layout, stands, stills, overs, lasting, told: None };
        lines.go_on(Place { time: scene.from, order: 0 }, false);
        lines
    }

    /// Returns a line about the state at the start of the picture: the faults and views that began
    /// earlier. `None` if there are none and other lines follow.
    pub(super) fn opening(&self, is_empty: bool) -> Option<Line> {
        let eras = self.scene.eras.iter().filter(|era| era.from.time < self.scene.from);
        let eras = eras.map(|era| (Ink::Heading, format!("{} continues", era.view)));
        let bands = self.lasting.iter().filter_map(|band| self.scene.bands.get(*band));
        let words: Vec<_> = eras.chain(bands.map(|band| (Ink::Alarm, format!("{} continues", band.text)))).collect();
        (is_empty || !words.is_empty()).then(|| Line { row: self.lanes(), words })
    }

    pub(super) fn next(&mut self, moment: &Moment) -> Line {
        self.go_on(moment.place, matches!(moment.entry, Entry::Step(_) | Entry::Mark(_)));
        let row = self.background(moment);
        match moment.entry {
            Entry::Step(step) => match self.scene.steps.get(step) {
                Some(step) => self.step(row, step),
                None => Line { row, words: Vec::new() },
            },
            Entry::Mark(mark) => match self.scene.marks.get(mark) {
                Some(mark) => self.mark(row, mark),
                None => Line { row, words: Vec::new() },
            },
            Entry::Lost(arrow) => match self.scene.arrows.get(arrow) {
                Some(arrow) => self.lost(row, arrow),
                None => Line { row, words: Vec::new() },
            },
            Entry::View(era) => self.view(row, era),
            Entry::Breach(breach) => self.breach(row, breach),
            Entry::Begins(band) => self.edge(row, band, true),
            Entry::Ends(band) => self.edge(row, band, false),
        }
    }

    /// Returns the line of a message that is in flight at the end.
    pub(super) fn open(&mut self, arrow: &Arrow) -> Line {
        let mut row = self.lanes();
        self.arrow(&mut row, arrow, End::Open);
        let text = format!("{} → {} is in flight", signs::label(arrow), self.name(arrow.to));
        Line { row, words: vec![(Ink::Faint, text)] }
    }

    /// Advances all lanes to a position. `itself` includes changes by the step or mark there.
    fn go_on(&mut self, at: Place, itself: bool) {
        let begun = |from: Place| from.order < at.order || (itself && from.order == at.order);
        for (lane, (index, role)) in self.scene.lanes.iter().zip(&mut self.stands) {
            while let Some(span) = lane.spans.get(*index + 1)
                && begun(span.from)
            {
                *index += 1;
                *role = span.role;
            }
        }
        for ((lane, still), over) in self.scene.lanes.iter().zip(&mut self.stills).zip(&mut self.overs) {
            // By time, because these begin without a step or mark.
            let lasts = |from: Place, to: Place| from <= at && at < to;
            *still = lane.stills.iter().find(|still| lasts(still.from, still.to)).map(|still| still.why);
            *over = lane.spans.iter().any(|span| span.over && lasts(span.from, span.to));
        }
    }

    fn background(&mut self, moment: &Moment) -> Row {
        let mut row = self.lanes();
        let time = millis(self.scene.shown(moment.place.time));
        if self.told.as_ref() != Some(&time) {
            row.put(self.layout.time.saturating_sub(time.len()), Ink::Faint, &time);
            self.told = Some(time);
        }
        row
    }

    fn lanes(&self) -> Row {
        let mut row = Row::new(self.layout.words);
        for band in &self.lasting {
            if let Some(column) = self.layout.bar(*band) {
                row.sign(column, Ink::Alarm, '┃');
            }
        }
        for (lane, (column, (_, role))) in self.layout.lanes.iter().zip(&self.stands).enumerate() {
            row.sign(*column, Ink::Role(*role), self.line(lane, *role));
        }
        row
    }

    /// Returns a node's role as others see it: a node whose lease has expired is not chosen.
    fn role(&self, lane: usize) -> Role {
        let is_over = self.overs.get(lane).copied().unwrap_or_default();
        self.stands.get(lane).filter(|_| !is_over).map(|(_, role)| *role).unwrap_or_default()
    }

    /// Returns the symbol of a node's lane. Being chosen takes precedence: a member remains chosen
    /// while it gathers reports.
    fn line(&self, lane: usize, role: Role) -> char {
        let tells = !matches!(role, Role::Down | Role::Chosen);
        let still = self.stills.get(lane).copied().flatten().filter(|_| tells);
        match (self.overs.get(lane), still) {
            (Some(true), _) => signs::OVER,
            (_, Some(still)) => signs::still(still),
            (_, None) => signs::line(role),
        }
    }

    fn step(&self, mut row: Row, step: &Step) -> Line {
        let arrow = match step.cause {
            Cause::Message(arrow) => arrow.and_then(|arrow| self.scene.arrows.get(arrow)),
            Cause::Start { .. } | Cause::Command | Cause::Timer | Cause::Disk | Cause::Membership => None,
        };
        let named = arrow.is_some_and(|arrow| self.arrow(&mut row, arrow, End::Here));
        if let Some(column) = self.layout.lane(step.lane) {
            row.sign(column, Ink::Role(step.role), signs::step(step));
        }
        let mut words = Vec::new();
        if self.layout.lanes.is_empty() {
            words.push((Ink::Heading, format!("node {}", self.name(step.lane))));
        }
        if !named {
            words.push((Ink::Part(Sort::Input), step.input.clone()));
        }
        words.extend(step.parts.iter().map(|(sort, text)| (Ink::Part(*sort), text.clone())));
        Line { row, words }
    }

    fn mark(&self, mut row: Row, mark: &Mark) -> Line {
        let sign = signs::blow(mark.what);
        match mark.lane.and_then(|lane| self.layout.lane(lane)) {
            Some(column) => row.sign(column, Ink::Alarm, sign),
            None => self.rule_off(&mut row, Ink::Alarm, sign),
        }
        Line { row, words: vec![(Ink::Part(Sort::World), mark.text.clone())] }
    }

    fn lost(&self, mut row: Row, arrow: &Arrow) -> Line {
        self.arrow(&mut row, arrow, End::Lost);
        let why = match arrow.head {
            Head::Lost { why, .. } => why.to_string(),
            Head::Step(_) | Head::Open => String::new(),
        };
        let text = format!("{} → {}: {why}", signs::label(arrow), self.name(arrow.to));
        Line { row, words: vec![(Ink::Part(Sort::World), text)] }
    }

    fn view(&self, mut row: Row, era: usize) -> Line {
        self.rule_off(&mut row, Ink::Heading, signs::VIEW);
        let text = self.scene.eras.get(era).map(|era| era.view.to_string()).unwrap_or_default();
        Line { row, words: vec![(Ink::Heading, text)] }
    }

    fn breach(&self, mut row: Row, breach: usize) -> Line {
        self.rule_off(&mut row, Ink::Alarm, signs::BREACH);
        let text = self.scene.breaches.get(breach).map(|breach| breach.text.clone()).unwrap_or_default();
        Line { row, words: vec![(Ink::Alarm, format!("{} {text}", signs::LOST))] }
    }

    fn edge(&mut self, mut row: Row, band: usize, begins: bool) -> Line {
        self.lasting.retain(|lasting| *lasting != band);
        if begins {
            self.lasting.push(band);
        }
        self.rule_off(&mut row, Ink::Alarm, signs::EDGE);
        if let Some(column) = self.layout.bar(band) {
            for between in column..self.layout.lanes.first().copied().unwrap_or_default() {
                if !self.is_taken(between) {
                    row.sign(between, Ink::Alarm, signs::EDGE);
                }
            }
            row.sign(column, Ink::Alarm, if begins { '┏' } else { '┗' });
        }
        let text = self.scene.bands.get(band).map(|band| band.text.clone()).unwrap_or_default();
        let text = if begins { text } else { format!("end of {text}") };
        Line { row, words: vec![(Ink::Part(Sort::World), text)] }
    }

    /// Draws a horizontal line behind all lanes.
    fn rule_off(&self, row: &mut Row, ink: Ink, sign: char) {
        if let (Some(first), Some(last)) = (self.layout.lanes.first(), self.layout.lanes.last()) {
            for column in (first.saturating_sub(1)..last + 2).filter(|column| !self.is_taken(*column)) {
                row.sign(column, ink, sign);
            }
        }
    }

    /// Whether a visible bar or lane occupies this column.
    fn is_taken(&self, column: usize) -> bool {
        let lane = self.layout.lanes.iter().zip(&self.stands);
        lane.filter(|(_, (_, role))| *role != Role::Down).any(|(lane, _)| *lane == column)
            || self.lasting.iter().any(|band| self.layout.bar(*band) == Some(column))
    }

    fn name(&self, lane: usize) -> String {
        self.scene.lanes.get(lane).map(|lane| lane.node.to_string()).unwrap_or_default()
    }

    /// Draws an arrow between lanes. Returns whether its name fits on it.
    fn arrow(&self, row: &mut Row, arrow: &Arrow, end: End) -> bool {
        let (Some(from), Some(to)) = (self.layout.lane(arrow.from), self.layout.lane(arrow.to)) else { return false };
        if from == to {
            return false;
        }
        let right = from < to;
        let ink = match arrow.class {
            Class::Algorithm | Class::Announcement => Ink::Message,
            Class::Control => Ink::Control,
        };
        let shaft = if arrow.tail == Tail::Before { signs::OLD_SHAFT } else { signs::SHAFT };
        let tip = if right { to - 1 } else { to + 1 };
        let (first, last) = (from.min(tip) + usize::from(right), from.max(tip) - usize::from(!right));
        for column in first..=last {
            row.sign(column, ink, shaft);
        }
        for (lane, column) in self.layout.lanes.iter().enumerate() {
            if (first..=last).contains(column) {
                let role = self.role(lane);
                row.sign(*column, Ink::Role(role), signs::crossing(role, shaft));
            }
        }
        let role = self.role(arrow.from);
        row.sign(from, Ink::Role(role), signs::branch(role, right));
        match end {
            End::Here => row.sign(tip, ink, signs::head(right, false)),
            End::Open => row.sign(tip, ink, signs::head(right, true)),
            End::Lost => self.lose(row, tip, right),
        }
        self.put_label(row, arrow, end, ink)
    }

    /// The arrow of a lost message ends before the receiver's lane.
    fn lose(&self, row: &mut Row, tip: usize, right: bool) {
        let short = self.short();
        for gone in 0..short {
            row.sign(if right { tip - gone } else { tip + gone }, Ink::Faint, ' ');
        }
        row.sign(if right { tip - short } else { tip + short }, Ink::Alarm, signs::LOST);
    }

    /// Distance between a lost message's arrow and the receiver's lane.
    fn short(&self) -> usize {
        if self.pitch() > 6 { 2 } else { 0 }
    }

    fn pitch(&self) -> usize {
        match self.layout.lanes[..] {
            [first, second, ..] => second - first,
            [_] | [] => 0,
        }
    }

    /// Writes a message's name into the gap nearest to its sender that has room for it.
    fn put_label(&self, row: &mut Row, arrow: &Arrow, end: End, ink: Ink) -> bool {
        let label = signs::label(arrow);
        let columns = width(&label);
        let pitch = self.pitch();
        let right = arrow.from < arrow.to;
        let gaps = arrow.from.abs_diff(arrow.to);
        for gap in 0..gaps {
            let tip = match end {
                End::Here | End::Lost | End::Open if gap + 1 < gaps => 0,
                End::Lost => 1 + self.short(),
                End::Here | End::Open => 1,
            };
            // Part of the arrow stays visible beside its name.
            let room = (pitch - 1).saturating_sub(tip);
            if columns == 0 || columns >= room {
                continue;
            }
            let lane = if right { arrow.from + gap } else { arrow.from - gap - 1 };
            let before = (room - columns).div_ceil(2) + if right { 0 } else { tip };
            if let Some(column) = self.layout.lane(lane) {
                row.put(column + 1 + before, ink, &label);
                return true;
            }
        }
        false
    }
}
