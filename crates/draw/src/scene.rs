//! A run, or a window of one, as data that can be drawn.
//!
//! Every text in it comes from a journal or from an algorithm and has gone through
//! [`clean`](quorate_journal::words::clean): it has no control characters, and may have anything else.

mod queue;
mod views;

pub use queue::Queue;
pub use views::{Era, Lease, Still, Stillness};

use quorate_core::{Class, Epoch, NodeId, Time};
use quorate_journal::moment::{Loss, MessageId};
use quorate_journal::role::Role;
use quorate_journal::words::Sort;

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub heading: Heading,
    /// The time that is shown as 0.
    pub origin: Time,
    /// The first and the last instant that are shown; equal if there is only one.
    pub from: Time,
    pub to: Time,
    pub lanes: Vec<Lane>,
    /// What nodes do, in the order of the journal.
    pub steps: Vec<Step>,
    /// What the world does to nodes, in the order of the journal.
    pub marks: Vec<Mark>,
    /// The messages of which an end is shown, in the order in which they were sent.
    pub arrows: Vec<Arrow>,
    /// What is wrong with the network, the clocks or the disks for a while, in the order of beginnings.
    pub bands: Vec<Band>,
    /// The views that somebody acts in, in their order; none if the group has no views.
    pub eras: Vec<Era>,
    pub breaches: Vec<Breach>,
    pub beyond: Beyond,
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub time: Time,
    /// On which line of the journal, where the header is line 1.
    pub line: u64,
    pub text: String,
}

/// What was run.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    pub algorithm: String,
    pub nodes: usize,
    /// What else is worth a line: the seed, the command that found it, that it was real.
    pub detail: String,
    pub roles: Vec<(Role, String)>,
    /// What the rules of the algorithm say, for the legend: id and text.
    pub rules: Vec<(String, String)>,
}

/// A node's line.
#[derive(Clone, Debug)]
pub struct Lane {
    pub node: NodeId,
    /// How it stands, one span after the other without gaps from `Scene::from` to `Scene::to`.
    pub spans: Vec<Span>,
    /// For how long it may act in its group, if that has views.
    pub leases: Vec<Lease>,
    /// While it does nothing in its group, if that has views.
    pub stills: Vec<Still>,
    /// What waits in its hold-back queue while that is not empty, in the order of beginnings.
    pub queues: Vec<Queue>,
}

/// How a node stands for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub role: Role,
    /// How it stands under that: a node may stand still while it is inside.
    pub standing: Role,
    /// Whether it is so only as far as the node knows: it was chosen, and its lease is over.
    pub over: bool,
    /// Since when, and since which of the scene's moments, so that things at one instant keep their order.
    pub from: Place,
    pub to: Place,
}

/// Where something stands in time: when, and after how many of the scene's steps and marks together.
///
/// A picture may give each step and mark a place of its own even if they are simultaneous; `order` is the number of steps
/// and marks that come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub time: Time,
    pub order: usize,
}

/// One step of a node: what it took, and what it did.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which line of the journal it is, where the first step after the header is line 2.
    pub line: u64,
    pub place: Place,
    /// The index of its lane.
    pub lane: usize,
    pub cause: Cause,
    pub input: String,
    /// The rules it applied: id, and what that did.
    pub rules: Vec<(String, String)>,
    pub events: Vec<String>,
    /// Whether that is that what it had is over, because the group went on without it.
    pub loses: bool,
    /// All that it did in words, sends included, in order.
    pub parts: Vec<(Sort, String)>,
    pub sends: bool,
    pub role: Role,
    /// Its logical clock: one more than that of any step that happened before it.
    pub logical: u64,
    /// Its vector clock, a count for every node, unless the group is too large.
    pub vector: Option<Vec<u64>>,
}

/// What made a node step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It boots for the first time, or again.
    Start {
        again: bool,
    },
    Command,
    /// A message: the index of its arrow, unless its other end is not shown.
    Message(Option<usize>),
    Timer,
    Disk,
    /// What the group's membership says: a view, a suspicion.
    Membership,
}

/// What the world does to a node, or to all.
#[derive(Clone, Debug)]
pub struct Mark {
    pub line: u64,
    pub place: Place,
    /// The index of its lane; none if it is about all.
    pub lane: Option<usize>,
    pub what: Blow,
    pub text: String,
}

/// What the world does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    Crashed,
    Ended,
    Paused,
    Resumed,
    /// Something else, which has no end that is shown as a band.
    Changed,
}

/// A message under way.
#[derive(Clone, Debug)]
pub struct Arrow {
    pub id: MessageId,
    pub kind: String,
    /// What it is called, if its kind is not enough.
    pub label: Option<String>,
    pub class: Class,
    /// Whether it repeats a parcel that was sent before.
    pub again: bool,
    pub copy: bool,
    /// What it says, shortened if it is long.
    pub body: String,
    /// The view that it reports to, if it is what a member brings along from the views before.
    pub report: Option<Epoch>,
    /// The index of the sender's lane.
    pub from: usize,
    /// The index of the receiver's lane.
    pub to: usize,
    pub tail: Tail,
    pub head: Head,
}

impl Arrow {
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.kind)
    }
}

/// Where a message begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    Step(usize),
    Before,
}

/// Where a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    Step(usize),
    Lost {
        why: Loss,
        /// When that was known: at once if the network lost it, when it would have arrived otherwise.
        at: Place,
    },
    /// After what is shown, or never.
    Open,
}

/// Something that lasts: a cut, an odd link, a clock that is off.
#[derive(Clone, Debug)]
pub struct Band {
    pub text: String,
    pub cut: bool,
    /// Since when; before `Scene::from` if it began earlier.
    pub from: Place,
    pub to: Option<Place>,
}

/// What there is beyond what is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    pub before: u64,
    pub after: u64,
    /// Steps within it that do nothing and are left out: a tick, a confirmation of the disk.
    pub quiet: u64,
    /// Nodes that nothing happens to and that are left out, in a large group.
    pub idle: usize,
    /// Cuts and the like that are left out because there are very many.
    pub bands: u64,
    pub messages: u64,
}

impl Heading {
    pub fn words(&self, role: Role) -> &str {
        match role {
            Role::Paused => "paused",
            Role::Down => "down",
            Role::Idle | Role::Waiting | Role::Follows | Role::Chosen => {
                self.roles.iter().find(|(known, _)| *known == role).map_or("", |(_, words)| words)
            }
        }
    }
}

impl Beyond {
    pub fn words(&self) -> Option<String> {
        let part = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("one {one}")),
            count => Some(format!("{count} {many}")),
        };
        let parts = [
            part(self.before, "line of the journal before", "lines of the journal before"),
            part(self.after, "line after", "lines after"),
            part(self.quiet, "step that does nothing", "steps that do nothing"),
            part(self.idle as u64, "node that nothing happens to", "nodes that nothing happens to"),
            part(self.messages, "message to or from another node", "messages to or from other nodes"),
            part(self.bands, "cut or odd link", "cuts and odd links"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("Not shown: {}.", parts.join(", ")))
    }
}

impl Scene {
    /// The order of the step or mark with which a property was seen not to hold: that on its line, or the last one before.
    /// None if that is not shown.
    pub fn order_of(&self, breach: &Breach) -> Option<usize> {
        let steps = self.steps.iter().map(|step| (step.line, step.place.order));
        let marks = self.marks.iter().map(|mark| (mark.line, mark.place.order));
        let before = steps.chain(marks).filter(|(line, _)| *line <= breach.line);
        before.max().map(|(_, order)| order).filter(|_| breach.time >= self.from && breach.time <= self.to)
    }

    /// The time as people see it, in nanoseconds since what they call 0.
    pub fn shown(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_sub(self.origin.nanos()))
    }
}
