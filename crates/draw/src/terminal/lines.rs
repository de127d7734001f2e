//! The lines of the picture between its heading and its legend.

use super::TextStyle;
use super::layout::Layout;
use super::row::TextRow;
use super::symbols;
use super::text::display_width;
use crate::scene::{Arrow, Cause, Head, InactiveReason, Lane, Mark, Scene, Step, Tail, TimePosition};
use crate::timeline::{ItemKind, TimelineItem};
use quorate_core::Class;
use quorate_journal::role::Role;
use quorate_journal::words::{TextKind, format_millis};

/// A line of the picture: the columns of its lanes, and the texts to the right of them.
pub(super) struct Line {
    pub(super) row: TextRow,
    pub(super) texts: Vec<(TextStyle, String)>,
}

/// How an arrow ends on the current line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrowEnd {
    /// The receiver gets the message on this line.
    Received,
    /// The message is lost.
    Lost,
    /// The message is still in flight at the end of the picture.
    InFlight,
}

/// Draws the lines from top to bottom, and keeps the state of the lanes between them.
pub(super) struct LineWriter<'a> {
    scene: &'a Scene,
    layout: &'a Layout,
    /// Each lane's role, with the index of its span.
    roles: Vec<(usize, Role)>,
    /// Why each lane's node does not act in its group, if it does not.
    inactive_reasons: Vec<Option<InactiveReason>>,
    /// Whether each lane's node believes that it is chosen (in the critical section or leader)
    /// although its lease has expired.
    expired_leases: Vec<bool>,
    /// Indices of the lasting faults that have begun and not ended.
    current_bands: Vec<usize>,
    /// The time shown last. The following lines at the same time leave it out.
    last_time: Option<String>,
}

impl<'a> LineWriter<'a> {
    pub(super) fn new(scene: &'a Scene, layout: &'a Layout) -> Self {
        let role = |lane: &Lane| lane.spans.first().map_or(Role::Idle, |span| span.role);
        let roles = scene.lanes.iter().map(|lane| (0, role(lane))).collect();
        let current_bands = (0..).zip(&scene.bands).filter(|(_, band)| band.from.time < scene.from);
        let current_bands = current_bands.map(|(index, _)| index).collect();
        let (inactive_reasons, expired_leases) = (vec![None; scene.lanes.len()], vec![false; scene.lanes.len()]);
        let mut lines = Self { scene, layout, roles, inactive_reasons, expired_leases, current_bands, last_time: None };
        let includes_event = false;
        lines.advance(TimePosition { time: scene.from, order: 0 }, includes_event);
        lines
    }

    /// Returns a line about the state at the start of the picture: the faults and views that began
    /// earlier. `None` if there are none, unless the picture is empty.
    pub(super) fn opening_line(&self, is_empty: bool) -> Option<Line> {
        let view_spans = self.scene.view_spans.iter().filter(|view_span| view_span.from.time < self.scene.from);
        let view_spans = view_spans.map(|view_span| (TextStyle::Heading, format!("{} continues", view_span.view)));
        let bands = self.current_bands.iter().filter_map(|band| self.scene.bands.get(*band));
        let texts: Vec<_> =
            view_spans.chain(bands.map(|band| (TextStyle::Alarm, format!("{} continues", band.text)))).collect();
        (is_empty || !texts.is_empty()).then(|| Line { row: self.lanes_row(), texts })
    }

    pub(super) fn item_line(&mut self, item: &TimelineItem) -> Line {
        self.advance(item.position, matches!(item.kind, ItemKind::Step(_) | ItemKind::Mark(_)));
        let row = self.row_with_time(item);
        match item.kind {
            ItemKind::Step(step) => match self.scene.steps.get(step) {
                Some(step) => self.step_line(row, step),
                None => Line { row, texts: Vec::new() },
            },
            ItemKind::Mark(mark) => match self.scene.marks.get(mark) {
                Some(mark) => self.mark_line(row, mark),
                None => Line { row, texts: Vec::new() },
            },
            ItemKind::Loss(arrow) => match self.scene.arrows.get(arrow) {
                Some(arrow) => self.loss_line(row, arrow),
                None => Line { row, texts: Vec::new() },
            },
            ItemKind::View(view_span) => self.view_line(row, view_span),
            ItemKind::Violation(violation) => self.violation_line(row, violation),
            ItemKind::BandStart(band) => self.band_edge_line(row, band, true),
            ItemKind::BandEnd(band) => self.band_edge_line(row, band, false),
        }
    }

    /// Returns the line of a message that is in flight at the end.
    pub(super) fn in_flight_line(&mut self, arrow: &Arrow) -> Line {
        let mut row = self.lanes_row();
        self.draw_arrow(&mut row, arrow, ArrowEnd::InFlight);
        let text = format!("{} → {} is in flight", symbols::label(arrow), self.node_name(arrow.to));
        Line { row, texts: vec![(TextStyle::Faint, text)] }
    }

    /// Advances all lanes to a position. With `includes_event`, changes by the step or mark there
    /// are included.
    fn advance(&mut self, position: TimePosition, includes_event: bool) {
        let has_begun =
            |from: TimePosition| from.order < position.order || (includes_event && from.order == position.order);
        for (lane, (index, role)) in self.scene.lanes.iter().zip(&mut self.roles) {
            while let Some(span) = lane.spans.get(*index + 1)
                && has_begun(span.from)
            {
                *index += 1;
                *role = span.role;
            }
        }
        for ((lane, inactive_reason), is_expired) in
            self.scene.lanes.iter().zip(&mut self.inactive_reasons).zip(&mut self.expired_leases)
        {
            // Compared by time, because these spans may begin without a step or mark.
            let lasts = |from: TimePosition, to: TimePosition| from <= position && position < to;
            *inactive_reason =
                lane.inactive_spans.iter().find(|span| lasts(span.from, span.to)).map(|span| span.reason);
            *is_expired = lane.spans.iter().any(|span| span.is_lease_expired && lasts(span.from, span.to));
        }
    }

    /// Returns a row with the lanes, and with the time if it differs from that of the line before.
    fn row_with_time(&mut self, item: &TimelineItem) -> TextRow {
        let mut row = self.lanes_row();
        let time = format_millis(self.scene.relative(item.position.time));
        if self.last_time.as_ref() != Some(&time) {
            row.put(self.layout.time_width.saturating_sub(time.len()), TextStyle::Faint, &time);
            self.last_time = Some(time);
        }
        row
    }

    /// Returns a row with the bars of lasting faults and the lanes of all nodes.
    fn lanes_row(&self) -> TextRow {
        let mut row = TextRow::new(self.layout.text_column);
        for band in &self.current_bands {
            if let Some(column) = self.layout.bar_column(*band) {
                row.put_char(column, TextStyle::Alarm, '┃');
            }
        }
        for (lane, (column, (_, role))) in self.layout.lanes.iter().zip(&self.roles).enumerate() {
            row.put_char(*column, TextStyle::Role(*role), self.lane_symbol(lane, *role));
        }
        row
    }

    /// Returns a node's role for the symbols of arrows: a chosen node whose lease has expired
    /// counts as idle.
    fn role_for_arrows(&self, lane: usize) -> Role {
        let is_expired = self.expired_leases.get(lane).copied().unwrap_or_default();
        self.roles.get(lane).filter(|_| !is_expired).map(|(_, role)| *role).unwrap_or_default()
    }

    /// Returns the symbol of a node's lane. Being chosen takes precedence over being frozen: a
    /// member that waits for the other members' reports on earlier views remains chosen.
    fn lane_symbol(&self, lane: usize, role: Role) -> char {
        let may_be_inactive = !matches!(role, Role::Down | Role::Chosen);
        let reason = self.inactive_reasons.get(lane).copied().flatten().filter(|_| may_be_inactive);
        match (self.expired_leases.get(lane), reason) {
            (Some(true), _) => symbols::LEASE_EXPIRED,
            (_, Some(reason)) => symbols::inactive(reason),
            (_, None) => symbols::lane(role),
        }
    }

    fn step_line(&self, mut row: TextRow, step: &Step) -> Line {
        let arrow = match step.cause {
            Cause::Message(arrow) => arrow.and_then(|arrow| self.scene.arrows.get(arrow)),
            Cause::Start { .. }
            | Cause::Command
            | Cause::Timer
            | Cause::Disk
            | Cause::EndOfTurn
            | Cause::Membership => None,
        };
        let is_labelled = arrow.is_some_and(|arrow| self.draw_arrow(&mut row, arrow, ArrowEnd::Received));
        if let Some(column) = self.layout.lane_column(step.lane) {
            row.put_char(column, TextStyle::Role(step.role), symbols::step(step));
        }
        let mut texts = Vec::new();
        if self.layout.lanes.is_empty() {
            texts.push((TextStyle::Heading, format!("node {}", self.node_name(step.lane))));
        }
        if !is_labelled {
            texts.push((TextStyle::Part(TextKind::Input), step.input.clone()));
        }
        texts.extend(step.effects.iter().map(|(kind, text)| (TextStyle::Part(*kind), text.clone())));
        Line { row, texts }
    }

    fn mark_line(&self, mut row: TextRow, mark: &Mark) -> Line {
        let symbol = symbols::mark(mark.kind);
        match mark.lane.and_then(|lane| self.layout.lane_column(lane)) {
            Some(column) => row.put_char(column, TextStyle::Alarm, symbol),
            None => self.draw_horizontal_line(&mut row, TextStyle::Alarm, symbol),
        }
        Line { row, texts: vec![(TextStyle::Part(TextKind::World), mark.text.clone())] }
    }

    fn loss_line(&self, mut row: TextRow, arrow: &Arrow) -> Line {
        self.draw_arrow(&mut row, arrow, ArrowEnd::Lost);
        let cause = match arrow.head {
            Head::Lost { cause, .. } => cause.to_string(),
            Head::Step(_) | Head::InFlight => String::new(),
        };
        let text = format!("{} → {}: {cause}", symbols::label(arrow), self.node_name(arrow.to));
        Line { row, texts: vec![(TextStyle::Part(TextKind::World), text)] }
    }

    fn view_line(&self, mut row: TextRow, view_span: usize) -> Line {
        self.draw_horizontal_line(&mut row, TextStyle::Heading, symbols::VIEW);
        let text = self.scene.view_spans.get(view_span).map(|view_span| view_span.view.to_string()).unwrap_or_default();
        Line { row, texts: vec![(TextStyle::Heading, text)] }
    }

    fn violation_line(&self, mut row: TextRow, violation: usize) -> Line {
        self.draw_horizontal_line(&mut row, TextStyle::Alarm, symbols::VIOLATION);
        let text = self.scene.violations.get(violation).map(|violation| violation.text.clone()).unwrap_or_default();
        Line { row, texts: vec![(TextStyle::Alarm, format!("{} {text}", symbols::CROSS))] }
    }

    /// Draws the start or end of a lasting fault.
    fn band_edge_line(&mut self, mut row: TextRow, band: usize, is_start: bool) -> Line {
        self.current_bands.retain(|open| *open != band);
        if is_start {
            self.current_bands.push(band);
        }
        self.draw_horizontal_line(&mut row, TextStyle::Alarm, symbols::EDGE);
        if let Some(column) = self.layout.bar_column(band) {
            for gap_column in column..self.layout.lanes.first().copied().unwrap_or_default() {
                if !self.is_occupied(gap_column) {
                    row.put_char(gap_column, TextStyle::Alarm, symbols::EDGE);
                }
            }
            row.put_char(column, TextStyle::Alarm, if is_start { '┏' } else { '┗' });
        }
        let text = self.scene.bands.get(band).map(|band| band.text.clone()).unwrap_or_default();
        let text = if is_start { text } else { format!("end of {text}") };
        Line { row, texts: vec![(TextStyle::Part(TextKind::World), text)] }
    }

    /// Draws a horizontal line behind all lanes.
    fn draw_horizontal_line(&self, row: &mut TextRow, style: TextStyle, symbol: char) {
        if let (Some(first), Some(last)) = (self.layout.lanes.first(), self.layout.lanes.last()) {
            for column in (first.saturating_sub(1)..last + 2).filter(|column| !self.is_occupied(*column)) {
                row.put_char(column, style, symbol);
            }
        }
    }

    /// Whether a visible bar or lane occupies this column.
    fn is_occupied(&self, column: usize) -> bool {
        let lanes = self.layout.lanes.iter().zip(&self.roles);
        lanes.filter(|(_, (_, role))| *role != Role::Down).any(|(lane, _)| *lane == column)
            || self.current_bands.iter().any(|band| self.layout.bar_column(*band) == Some(column))
    }

    fn node_name(&self, lane: usize) -> String {
        self.scene.lanes.get(lane).map(|lane| lane.node.to_string()).unwrap_or_default()
    }

    /// Draws an arrow between lanes. Returns whether its label fits on it.
    fn draw_arrow(&self, row: &mut TextRow, arrow: &Arrow, end: ArrowEnd) -> bool {
        let (Some(from), Some(to)) = (self.layout.lane_column(arrow.from), self.layout.lane_column(arrow.to)) else {
            return false;
        };
        if from == to {
            return false;
        }
        let is_rightward = from < to;
        let style = match arrow.class {
            Class::Algorithm | Class::Announcement => TextStyle::Message,
            Class::Control => TextStyle::Control,
        };
        let shaft = if arrow.tail == Tail::BeforeWindow { symbols::EARLIER_SHAFT } else { symbols::SHAFT };
        let tip = if is_rightward { to - 1 } else { to + 1 };
        let (first, last) = (from.min(tip) + usize::from(is_rightward), from.max(tip) - usize::from(!is_rightward));
        for column in first..=last {
            row.put_char(column, style, shaft);
        }
        for (lane, column) in self.layout.lanes.iter().enumerate() {
            if (first..=last).contains(column) {
                let role = self.role_for_arrows(lane);
                row.put_char(*column, TextStyle::Role(role), symbols::crossing(role, shaft));
            }
        }
        let role = self.role_for_arrows(arrow.from);
        row.put_char(from, TextStyle::Role(role), symbols::branch(role, is_rightward));
        match end {
            ArrowEnd::Received | ArrowEnd::InFlight => {
                let is_hollow = end == ArrowEnd::InFlight;
                row.put_char(tip, style, symbols::head(is_rightward, is_hollow));
            }
            ArrowEnd::Lost => self.draw_loss(row, tip, is_rightward),
        }
        self.put_label(row, arrow, end, style)
    }

    /// Draws the end of a lost message's arrow, some columns before the receiver's lane.
    fn draw_loss(&self, row: &mut TextRow, tip: usize, is_rightward: bool) {
        let loss_distance = self.loss_distance();
        for offset in 0..loss_distance {
            row.put_char(if is_rightward { tip - offset } else { tip + offset }, TextStyle::Faint, ' ');
        }
        row.put_char(
            if is_rightward { tip - loss_distance } else { tip + loss_distance },
            TextStyle::Alarm,
            symbols::CROSS,
        );
    }

    /// Number of empty columns between a lost message's arrow and the receiver's lane: none if
    /// lanes are close together.
    fn loss_distance(&self) -> usize {
        if self.lane_distance() > 6 { 2 } else { 0 }
    }

    /// Distance between neighbouring lanes, in columns.
    fn lane_distance(&self) -> usize {
        match self.layout.lanes[..] {
            [first, second, ..] => second - first,
            [_] | [] => 0,
        }
    }

    /// Writes a message's label between the two lanes nearest to its sender that leave room for it.
    /// Returns whether there was room.
    fn put_label(&self, row: &mut TextRow, arrow: &Arrow, end: ArrowEnd, style: TextStyle) -> bool {
        let label = symbols::label(arrow);
        let columns = display_width(&label);
        let lane_distance = self.lane_distance();
        let is_rightward = arrow.from < arrow.to;
        let gaps = arrow.from.abs_diff(arrow.to);
        for gap in 0..gaps {
            // Columns of this gap that the end of the arrow takes.
            let reserved = match end {
                ArrowEnd::Received | ArrowEnd::Lost | ArrowEnd::InFlight if gap + 1 < gaps => 0,
                ArrowEnd::Lost => 1 + self.loss_distance(),
                ArrowEnd::Received | ArrowEnd::InFlight => 1,
            };
            // Part of the arrow stays visible beside its label.
            let available_columns = (lane_distance - 1).saturating_sub(reserved);
            if columns == 0 || columns >= available_columns {
                continue;
            }
            let lane = if is_rightward { arrow.from + gap } else { arrow.from - gap - 1 };
            let before = (available_columns - columns).div_ceil(2) + if is_rightward { 0 } else { reserved };
            if let Some(column) = self.layout.lane_column(lane) {
                row.put(column + 1 + before, style, &label);
                return true;
            }
        }
        false
    }
}
