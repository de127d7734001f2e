//! A run as text: one line per event, one column per node.
//!
//! ```text
//!      time   1  2  3
//!     0.000  [?] ·  ·   acquire · RA-1 requests entry with (1, 1) · request → 2,3
//!     2.417   ? [·] ·   request from 1 · RA-2 replies to (1, 1) · reply → 1
//! ```
//!
//! A column shows the role of its node, here `?` for waiting and `·` for idle, in brackets if the
//! node acts. `RA-1` is the id of the algorithm's rule that the step applied. `(1, 1)` is the
//! timestamp of a request: its clock and its node.

use crate::family::FamilyLab;
use quorate_core::{Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedInput, Observer};
use quorate_journal::record::Header;
use quorate_journal::role::{Role, Roles};
use quorate_journal::words::{self, TextKind, format_millis};
use serde::Serialize;
use std::fmt::Write;
use std::marker::PhantomData;

/// Groups larger than this have no columns, because they would fill the line.
const MAX_COLUMNS: usize = 40;

/// One line of a trace: a step of a node or a world event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line's number: steps and world events count from 1, including those that are not shown.
    pub number: u64,
    pub time: Time,
    /// The time that is shown as 0.
    pub origin: Time,
    /// The acting node, if the line is a step.
    pub node: Option<NodeId>,
    /// The role of each node afterwards; empty in a group that is too large for columns.
    pub columns: Vec<Role>,
    /// The input and its effects, or the world event.
    pub parts: Vec<Part>,
}

/// One part of a line, such as the input, a rule or a sent message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    #[serde(rename = "sort")]
    pub kind: TextKind,
    pub text: String,
}

/// Converts moments to lines, and passes each complete line to `sink`.
pub struct Trace<'a, F: FamilyLab> {
    family: PhantomData<F>,
    sink: Box<dyn FnMut(&Line) + 'a>,
    origin: Time,
    /// Whether to show a node's clock if it differs from the true time.
    shows_clocks: bool,
    roles: Roles<F::Command, F::Event>,
    /// The current line, until the next one begins.
    current_line: Option<Line>,
    line_count: u64,
    suppression: Suppression,
}

/// Why the current line may be suppressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Suppression {
    #[default]
    None,
    /// The first start of a node or the end of a turn, unless it has an effect.
    WithoutEffect,
    /// The renewal of a lease, unless a rule or a message follows. Renewals are frequent.
    Renewal,
}

impl Suppression {
    /// Returns why the line of an input may be suppressed, if it may.
    fn for_input<C>(input: &ObservedInput<'_, C>) -> Self {
        match input {
            ObservedInput::Start { incarnation: Incarnation::FIRST, is_disk_blank: false }
            | ObservedInput::EndOfTurn => Self::WithoutEffect,
            ObservedInput::Lease(_) => Self::Renewal,
            _ => Self::None,
        }
    }

    fn should_show(self, line: &Line) -> bool {
        match self {
            Self::None => true,
            Self::WithoutEffect => line.parts.len() > 1,
            Self::Renewal => line.parts.iter().any(|part| matches!(part.kind, TextKind::Rule | TextKind::Send)),
        }
    }
}

impl<'a, F: FamilyLab> Trace<'a, F> {
    pub fn new(nodes: usize, sink: impl FnMut(&Line) + 'a) -> Self {
        let columns = if nodes <= MAX_COLUMNS { nodes } else { 0 };
        Self {
            family: PhantomData,
            sink: Box::new(sink),
            origin: Time::ZERO,
            shows_clocks: true,
            roles: Roles::new(columns, F::role_after),
            current_line: None,
            line_count: 0,
            suppression: Suppression::None,
        }
    }

    /// A trace of a journal. Times are relative to the origin in the header. Clocks of real nodes
    /// always differ, so the trace does not show them.
    pub fn for_journal(header: &Header, sink: impl FnMut(&Line) + 'a) -> Self {
        let is_real = header.recorded || header.live.is_some();
        Self { origin: Time::from_nanos(header.origin), shows_clocks: !is_real, ..Self::new(header.nodes, sink) }
    }

    /// Emits the last line.
    pub fn finish(&mut self) {
        let suppression = std::mem::take(&mut self.suppression);
        if let Some(mut line) = self.current_line.take().filter(|line| suppression.should_show(line)) {
            line.columns = self.roles.all().collect();
            (self.sink)(&line);
        }
    }

    /// Emits the previous line and begins the next.
    fn begin_line(&mut self, time: Time, node: Option<NodeId>, kind: TextKind, text: String) {
        self.finish();
        self.line_count += 1;
        let (number, origin, parts) = (self.line_count, self.origin, vec![Part { kind, text }]);
        self.current_line = Some(Line { number, time, origin, node, columns: Vec::new(), parts });
    }

    fn add_part(&mut self, kind: TextKind, text: String) {
        if let Some(line) = &mut self.current_line {
            line.parts.push(Part { kind, text });
        }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for Trace<'_, F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        match moment {
            Moment::Input { time, now, node, input } => {
                let mut text = words::describe_input(input);
                if self.shows_clocks && now != time {
                    let _ = write!(text, " (its clock: {})", format_millis(*now));
                }
                self.begin_line(*time, Some(*node), TextKind::Input, text);
                self.suppression = Suppression::for_input(input);
            }
            Moment::Effect { effect, .. } => {
                if let Some((kind, text)) = words::describe_effect(effect) {
                    self.add_part(kind, text);
                }
            }
            Moment::World { time, event } => {
                self.begin_line(*time, None, TextKind::World, words::describe_world_event(event));
            }
        }
        self.roles.observe(moment);
    }
}

/// The heading above the lines of a trace.
pub fn heading(nodes: usize) -> String {
    let mut text = format!("{:>10}  ", "time");
    if nodes <= MAX_COLUMNS {
        for node in 1..=nodes {
            let _ = write!(text, "{node:^3}");
        }
    }
    text.trim_end().to_owned()
}

/// Explains the signs of a trace, given the roles of a family.
pub fn legend(roles: &[(Role, &str)]) -> String {
    let common = [(Role::Paused, "paused"), (Role::Down, "down")];
    let signs = roles.iter().chain(&common).map(|(role, words)| format!("{} {words}", role.symbol()));
    let others = ["[ ] acting node", "times in milliseconds"].map(String::from);
    signs.chain(others).collect::<Vec<_>>().join("   ")
}

/// A piece of a rendered line, by which a caller chooses its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPiece {
    Column(Role),
    Part(TextKind),
}

/// Renders a line as text. `paint` may colour each piece; [`unpainted`] leaves it unchanged.
pub fn render(line: &Line, paint: impl Fn(TextPiece, &str) -> String) -> String {
    let relative = Time::from_nanos(line.time.nanos().saturating_sub(line.origin.nanos()));
    let mut text = format!("{:>10}  ", format_millis(relative));
    for (index, column) in line.columns.iter().enumerate() {
        let is_acting = line.node.is_some_and(|node| node.index() == index);
        let (before, after) = if is_acting { ('[', ']') } else { (' ', ' ') };
        let sign = column.symbol().to_string();
        let _ = write!(text, "{before}{}{after}", paint(TextPiece::Column(*column), &sign));
    }
    if line.columns.is_empty()
        && let Some(node) = line.node
    {
        let _ = write!(text, "node {node}:");
    }
    let parts: Vec<_> = line.parts.iter().map(|part| paint(TextPiece::Part(part.kind), &part.text)).collect();
    let _ = write!(text, "  {}", parts.join(" · "));
    text
}

/// Leaves the text unchanged.
pub fn unpainted(_piece: TextPiece, text: &str) -> String {
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::Trace;
    use crate::mutex::Mutex;
    use quorate_core::mutex::Event;
    use quorate_core::{NodeId, Time};
    use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer};

    #[test]
    fn lease_renewals_without_a_rule_or_a_message_are_hidden() {
        let mut shown_lines = Vec::new();
        let mut trace = Trace::<Mutex>::new(1, |line| shown_lines.push((line.number, line.parts.len())));
        let (time, node) = (Time::ZERO, NodeId::from_index(0));
        for rule in [None, Some("VW-6")] {
            trace.observe(&Moment::Input { time, now: time, node, input: ObservedInput::Lease(Time::NEVER) });
            if let Some(rule) = rule {
                let text = format_args!("has a lease again");
                trace.observe(&Moment::Effect { time, node, effect: ObservedEffect::Rule { rule, text } });
            }
            let effect = ObservedEffect::Emit(&Event::Extended { until: Time::NEVER });
            trace.observe(&Moment::Effect { time, node, effect });
        }
        trace.finish();
        drop(trace);
        assert_eq!(shown_lines, [(2, 3)], "the first renewal is numbered but not shown");
    }

    #[test]
    fn an_end_of_a_turn_without_effects_is_hidden() {
        let mut shown_lines = Vec::new();
        let mut trace = Trace::<Mutex>::new(1, |line| shown_lines.push((line.number, line.parts.len())));
        let (time, node) = (Time::ZERO, NodeId::from_index(0));
        for events in [0, 1] {
            trace.observe(&Moment::Input { time, now: time, node, input: ObservedInput::EndOfTurn });
            for _ in 0..events {
                trace.observe(&Moment::Effect { time, node, effect: ObservedEffect::Emit(&Event::Left) });
            }
        }
        trace.finish();
        drop(trace);
        assert_eq!(shown_lines, [(2, 2)]);
    }
}
