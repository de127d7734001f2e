//! A run as text: one line an event, one column a node.
//!
//! ```text
//!      time   1  2  3
//!     0.000  [?] ·  ·   acquire · RA-1 asks everyone with (1, 1) · request → 2,3
//!     2.417   ? [·] ·   request from 1 · RA-2 lets (1, 1) pass · reply → 1
//! ```

use crate::family::FamilyLab;
use quorate_core::{Class, Incarnation, NodeId, Time};
use quorate_sim::journal::Header;
use quorate_sim::moment::{Done, Happening, Moment, Observer, Sent, Taken};
use serde::Serialize;
use std::fmt::{Display, Write};
use std::marker::PhantomData;

/// Groups beyond this size get no columns: the line would be all columns.
const MOST_COLUMNS: usize = 40;

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, counting steps and acts of the world from 1; silent ones, which are not shown, count too.
    pub number: u64,
    /// When.
    pub time: Time,
    /// The time that is shown as 0.
    pub origin: Time,
    /// Whose step it is, if it is one.
    pub node: Option<NodeId>,
    /// How each node stands after it.
    pub columns: Vec<Column>,
    /// What came, and everything that followed from it.
    pub parts: Vec<Part>,
}

/// How a node stands. What that means, each family says in its legend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// It wants nothing, and has nothing to do with what the others want.
    #[default]
    Idle,
    /// It wants something, and waits for it.
    Waiting,
    /// It knows and accepts that another one is chosen.
    Follows,
    /// It is the one: inside, or the leader.
    Chosen,
    /// Up, but standing still.
    Paused,
    /// Down.
    Down,
}

impl Column {
    /// Its sign in a trace.
    pub const fn sign(self) -> char {
        match self {
            Self::Idle => '·',
            Self::Waiting => '?',
            Self::Follows => '○',
            Self::Chosen => '█',
            Self::Paused => '‖',
            Self::Down => '✗',
        }
    }
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What sort of thing it is, for those who colour it.
    pub sort: Sort,
    /// What it says.
    pub text: String,
}

/// What sort of thing a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// What the node took.
    Input,
    /// A rule it applied.
    Rule,
    /// A message it sent.
    Send,
    /// An acknowledgement, a repetition, a timer: what the algorithm itself does not see.
    Control,
    /// What it told its user.
    Event,
    /// What the world did.
    World,
}

/// Turns moments into lines, and hands each one on when it is complete.
pub struct Trace<F: FamilyLab, S: FnMut(&Line)> {
    family: PhantomData<F>,
    sink: S,
    origin: Time,
    /// Whether a node's clock is shown where it shows another time.
    clocks: bool,
    standings: Vec<Column>,
    paused: Vec<bool>,
    down: Vec<bool>,
    open: Option<Line>,
    lines: u64,
    /// The line in hand is a node's first start, which is shown only if it does something.
    boot: bool,
}

impl<F: FamilyLab, S: FnMut(&Line)> Trace<F, S> {
    /// A trace of a group of this size.
    pub fn new(nodes: usize, sink: S) -> Self {
        let columns = if nodes <= MOST_COLUMNS { nodes } else { 0 };
        Self {
            family: PhantomData,
            sink,
            origin: Time::ZERO,
            clocks: true,
            standings: vec![Column::Idle; columns],
            paused: vec![false; columns],
            down: vec![false; columns],
            open: None,
            lines: 0,
            boot: false,
        }
    }

    /// A trace of a journal. Times are told from what its header calls their origin; and in a run of real nodes clocks
    /// that disagree are nothing special.
    pub fn of(header: &Header, sink: S) -> Self {
        let recorded = header.recorded || header.live.is_some();
        Self { origin: Time::from_nanos(header.origin), clocks: !recorded, ..Self::new(header.nodes, sink) }
    }

    /// Hands on the last line.
    pub fn finish(&mut self) {
        let silent = std::mem::take(&mut self.boot);
        if let Some(mut line) = self.open.take().filter(|line| !silent || line.parts.len() > 1) {
            line.columns = self.columns();
            (self.sink)(&line);
        }
    }

    fn columns(&self) -> Vec<Column> {
        let flags = self.paused.iter().zip(&self.down);
        let column = |(standing, (paused, down)): (&Column, (&bool, &bool))| match (paused, down) {
            (_, true) => Column::Down,
            (true, false) => Column::Paused,
            (false, false) => *standing,
        };
        self.standings.iter().zip(flags).map(column).collect()
    }

    fn begin(&mut self, time: Time, node: Option<NodeId>, sort: Sort, text: String) {
        self.finish();
        self.lines += 1;
        let (number, origin, parts) = (self.lines, self.origin, vec![Part { sort, text }]);
        self.open = Some(Line { number, time, origin, node, columns: Vec::new(), parts });
    }

    fn add(&mut self, sort: Sort, text: String) {
        if let Some(line) = &mut self.open {
            line.parts.push(Part { sort, text });
        }
    }

    fn track(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        if let Some((node, column)) = F::stands(moment, &self.standings)
            && let Some(standing) = self.standings.get_mut(node.index())
        {
            *standing = column;
        }
        let (node, paused, down) = match moment {
            Moment::World { what: Happening::Paused { node }, .. } => (node, true, false),
            Moment::World { what: Happening::Resumed { node }, .. } => (node, false, false),
            Moment::World { what: Happening::Crashed { node, .. } | Happening::Ended { node }, .. } => {
                (node, false, true)
            }
            Moment::Input { node, input: Taken::Start { .. }, .. } => (node, false, false),
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => return,
        };
        if let (Some(is_paused), Some(is_down)) = (self.paused.get_mut(node.index()), self.down.get_mut(node.index())) {
            (*is_paused, *is_down) = (paused, down);
        }
    }
}

impl<F: FamilyLab, S: FnMut(&Line)> Observer<F::Command, F::Event> for Trace<F, S> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        match moment {
            Moment::Input { time, now, node, input } => {
                let mut text = input_text(input);
                if self.clocks && now != time {
                    let _ = write!(text, " (its clock: {})", millis(*now));
                }
                self.begin(*time, Some(*node), Sort::Input, text);
                self.boot = matches!(input, Taken::Start { incarnation: Incarnation::FIRST, blank: false });
            }
            Moment::Effect { effect, .. } => {
                if let Some((sort, text)) = effect_text(effect) {
                    self.add(sort, text);
                }
            }
            Moment::World { time, what } => self.begin(*time, None, Sort::World, world_text(what)),
        }
        self.track(moment);
    }
}

fn input_text(input: &Taken<'_, impl Display>) -> String {
    match input {
        Taken::Start { incarnation, blank: false } if incarnation.0 == 0 => "starts".into(),
        Taken::Start { incarnation, blank } => {
            format!("starts again (life {incarnation}{})", if *blank { ", with an empty disk" } else { "" })
        }
        Taken::Command(command) => command.to_string(),
        Taken::Message { id, kind, .. } => format!("{kind} from {}", id.sender),
        Taken::Timer(timer) => format!("timer {}", json(timer)),
        Taken::Saved(count) => format!("{count} saved"),
        Taken::Suspect(node) => format!("suspects {node}"),
        Taken::Trust(node) => format!("trusts {node}"),
        Taken::DiskFull => "disk full".into(),
        Taken::DiskFree => "disk free".into(),
        Taken::View(view) => format!("view {} of {}", view.epoch, view.members),
    }
}

fn effect_text(effect: &Done<'_, impl Display>) -> Option<(Sort, String)> {
    Some(match effect {
        Done::Send { to, sent } => sent_text(sent, &to.to_string()),
        Done::Multicast { to, sent } => {
            let others: quorate_core::Group = to.others(sent.id.sender).collect();
            sent_text(sent, &others.to_string())
        }
        Done::Save(write) => (Sort::Control, format!("saves {}", json(write))),
        Done::SetTimer { timer, span } => (Sort::Control, format!("sets timer {} ({span})", json(timer))),
        Done::CancelTimer(timer) => (Sort::Control, format!("cancels timer {}", json(timer))),
        Done::Emit(event) => (Sort::Event, event.to_string()),
        Done::Rule { rule, text } => (Sort::Rule, format!("{rule} {text}")),
        Done::Handed { .. } => return None,
    })
}

fn sent_text(sent: &Sent<'_>, to: &str) -> (Sort, String) {
    match (sent.class, sent.parcel) {
        (Class::Control, Some(_)) => (Sort::Control, format!("{} again → {to}", sent.kind)),
        (Class::Control, None) => (Sort::Control, format!("{} → {to}", sent.kind)),
        (Class::Algorithm | Class::Announcement, _) => (Sort::Send, format!("{} → {to}", sent.kind)),
    }
}

fn world_text(what: &Happening<'_>) -> String {
    match what {
        Happening::Lost { id, to, why } => format!("message {id} to {to}: {why}"),
        Happening::Duplicated { id } => format!("message {id} will arrive twice"),
        Happening::Crashed { node, lost_writes: 0 } => format!("node {node} crashes"),
        Happening::Crashed { node, lost_writes: 1 } => format!("node {node} crashes and loses a write"),
        Happening::Crashed { node, lost_writes } => format!("node {node} crashes and loses {lost_writes} writes"),
        Happening::Ended { node } => format!("node {node} is stopped"),
        Happening::Paused { node } => format!("node {node} stands still"),
        Happening::Resumed { node } => format!("node {node} goes on"),
        Happening::Changed { text } => (*text).to_owned(),
    }
}

fn json(body: &quorate_sim::moment::Body<'_>) -> String {
    serde_json::to_string(body).unwrap_or_default().replace('"', "")
}

/// Milliseconds with three places.
fn millis(time: Time) -> String {
    let micros = time.nanos() / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", micros.abs() / 1_000, micros.abs() % 1_000)
}

/// The line above the columns.
pub fn heading(nodes: usize) -> String {
    let mut text = format!("{:>10}  ", "time");
    if nodes <= MOST_COLUMNS {
        for node in 1..=nodes {
            let _ = write!(text, "{node:^3}");
        }
    }
    text.trim_end().to_owned()
}

/// What a piece of a line is, for those who colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// How a node stands.
    Column(Column),
    /// What came, or what followed from it.
    Part(Sort),
}

/// A line as text. `paint` may colour each piece, and leaves it as it is otherwise.
pub fn render(line: &Line, paint: impl Fn(Ink, &str) -> String) -> String {
    let shown = Time::from_nanos(line.time.nanos().saturating_sub(line.origin.nanos()));
    let mut text = format!("{:>10}  ", millis(shown));
    for (index, column) in line.columns.iter().enumerate() {
        let acts = line.node.is_some_and(|node| node.index() == index);
        let (left, right) = if acts { ('[', ']') } else { (' ', ' ') };
        let sign = column.sign().to_string();
        let _ = write!(text, "{left}{}{right}", paint(Ink::Column(*column), &sign));
    }
    if line.columns.is_empty()
        && let Some(node) = line.node
    {
        let _ = write!(text, "node {node}:");
    }
    let parts: Vec<_> = line.parts.iter().map(|part| paint(Ink::Part(part.sort), &part.text)).collect();
    let _ = write!(text, "  {}", parts.join(" · "));
    text
}

/// No colours.
pub fn plain(_ink: Ink, text: &str) -> String {
    text.to_owned()
}
