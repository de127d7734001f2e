//! A run, or a time window of it, as data that a renderer can draw.
//!
//! All texts come from a journal or an algorithm and have passed
//! [`escape_controls`](quorate_journal::words::escape_controls): they contain no control
//! characters, but may contain anything else.

mod queue;
mod views;

pub use queue::Queue;
pub use views::{InactiveReason, InactiveSpan, Lease, ViewSpan};

use quorate_core::{Class, Epoch, NodeId, Time};
use quorate_journal::moment::{Loss, MessageId};
use quorate_journal::role::Role;
use quorate_journal::words::TextKind;

/// A picture's contents.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub heading: Heading,
    /// The time displayed as 0.
    pub origin: Time,
    /// First and last instant shown; equal if there is only one.
    pub from: Time,
    pub to: Time,
    pub lanes: Vec<Lane>,
    /// Steps of nodes, in journal order.
    pub steps: Vec<Step>,
    /// Faults and other changes from outside that affect a node or the whole group and are not in
    /// `bands`, in journal order.
    pub marks: Vec<Mark>,
    /// Messages whose sender and receiver have lanes, and that are sent, received or lost in the
    /// picture. They are in the order of sending, with two exceptions: a message sent before the
    /// picture, and a duplicate, take their place when they are received or lost.
    pub arrows: Vec<Arrow>,
    /// Faults of the network or the disks that last for some time, by their start.
    pub bands: Vec<Band>,
    /// Views in which some member began to act, in order; empty if the group has no views.
    pub view_spans: Vec<ViewSpan>,
    pub violations: Vec<Violation>,
    pub omitted: Omitted,
}

/// A property violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub time: Time,
    /// Line in the journal, where the header is line 1.
    pub line: u64,
    pub text: String,
}

/// Facts about the run for the title and the legend.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    pub algorithm: String,
    pub nodes: usize,
    /// The origin of the run on one line, such as its seed or the command that found the
    /// counterexample.
    pub detail: String,
    /// The family's words for the roles of its nodes.
    pub roles: Vec<(Role, String)>,
    /// Rules that steps may apply, for the legend: id and text.
    pub rules: Vec<(String, String)>,
}

/// A node's lane: its state over time.
#[derive(Clone, Debug)]
pub struct Lane {
    pub node: NodeId,
    /// Its roles: consecutive spans without gaps from `Scene::from` to `Scene::to`.
    pub spans: Vec<RoleSpan>,
    /// Its leases, if the group has views.
    pub leases: Vec<Lease>,
    /// The time spans in which the node does not act in its group, if the group has views.
    pub inactive_spans: Vec<InactiveSpan>,
    /// Contents of its hold-back queue while that is not empty, in order of time.
    pub queues: Vec<Queue>,
}

/// A time span in which a node has one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleSpan {
    pub role: Role,
    /// The node's role in the algorithm, which ignores pauses and crashes: a paused node may still
    /// hold the lock.
    pub family_role: Role,
    /// Whether the node still believes that it is chosen (in the critical section or leader)
    /// although its lease has expired.
    pub is_lease_expired: bool,
    /// Start. Its order keeps events at one instant in sequence.
    pub from: TimePosition,
    pub to: TimePosition,
}

/// A position on the time axis: an instant, and the number of steps and marks before it.
///
/// A renderer may draw simultaneous steps and marks beside each other, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimePosition {
    pub time: Time,
    pub order: usize,
}

/// One step of a node: its input and its effects.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its journal line; the header is line 1.
    pub line: u64,
    pub position: TimePosition,
    /// Index of its lane.
    pub lane: usize,
    pub cause: Cause,
    pub input: String,
    /// Rules it applied: id and note.
    pub rules: Vec<(String, String)>,
    pub events: Vec<String>,
    /// Whether an event of the step reports that the node lost its entry or leadership because the
    /// group continued without it.
    pub reports_revocation: bool,
    /// Descriptions of its effects in order, sends included.
    pub effects: Vec<(TextKind, String)>,
    pub has_sends: bool,
    /// The node's role after the step.
    pub role: Role,
    /// Its Lamport clock: larger than that of every step that happened before it.
    pub logical_clock: u64,
    /// Its vector clock, one count per node; `None` if the group is too large.
    pub vector_clock: Option<Vec<u64>>,
}

/// The input that caused a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Start {
        is_restart: bool,
    },
    Command,
    /// A message, with the index of its arrow; `None` if it has no arrow, such as a message from a
    /// node that is not shown.
    Message(Option<usize>),
    Timer,
    /// A report of the disk: a save is durable, or the disk is full or has room again.
    Disk,
    /// The end of a turn, in which the node took one or more inputs.
    EndOfTurn,
    /// A view or a lease from the membership service, or a report of a failure detector that it
    /// suspects or trusts a node.
    Membership,
}

/// A fault or other change from outside that affects one node or the whole group.
#[derive(Clone, Debug)]
pub struct Mark {
    pub line: u64,
    pub position: TimePosition,
    /// Index of its lane; `None` if it affects the whole group.
    pub lane: Option<usize>,
    pub kind: MarkKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Crashed,
    /// The node shut down cleanly; only real processes do.
    Stopped,
    Paused,
    Resumed,
    /// Any other change from outside that is not drawn as a band, or a remark of the checker.
    Changed,
}

/// A message on its way from sender to receiver.
#[derive(Clone, Debug)]
pub struct Arrow {
    pub id: MessageId,
    pub kind: String,
    /// Its label, if the kind alone is not enough.
    pub label: Option<String>,
    /// Whether it is an algorithm message, an announcement, or control traffic such as
    /// acknowledgements.
    pub class: Class,
    pub is_retransmission: bool,
    /// Whether the network duplicated the message, and another copy arrived or was lost before this
    /// one.
    pub is_duplicate: bool,
    /// Its body, shortened if it is long; empty if the message was sent before the window.
    pub body: String,
    /// If it is a member's report on earlier views: the new view, which needs the report to begin.
    pub report_for_view: Option<Epoch>,
    /// Index of the sender's lane.
    pub from: usize,
    /// Index of the receiver's lane.
    pub to: usize,
    pub tail: Tail,
    pub head: Head,
}

impl Arrow {
    /// Returns its label, or its kind if it has no label.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.kind)
    }
}

/// Start of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Index of the step that sends the message.
    Step(usize),
    /// The message was sent before the window.
    BeforeWindow,
}

/// End of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Index of the step that receives the message.
    Step(usize),
    Lost {
        cause: Loss,
        /// When the run records the loss. The simulator records it when the message is sent (the
        /// network drops it, or a partition blocks it), when the message would have arrived, or
        /// when the receiver crashes with the message in its inbox. A counterexample may record it
        /// at any step after the send.
        position: TimePosition,
    },
    /// The message arrives after the window, or never.
    InFlight,
}

/// A fault that lasts for some time: a partition, a link fault, a full disk.
#[derive(Clone, Debug)]
pub struct Band {
    pub text: String,
    pub is_partition: bool,
    /// Start; before `Scene::from` if the fault began earlier.
    pub from: TimePosition,
    /// End; `None` if the scene ends earlier.
    pub to: Option<TimePosition>,
}

/// Counts of the items that the picture leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Journal lines before the window.
    pub lines_before: u64,
    /// Journal lines after the window.
    pub lines_after: u64,
    /// Steps in the window without visible effect, such as a timer or a disk confirmation, except
    /// first starts and ends of turns.
    pub quiet_steps: u64,
    /// Nodes of a large group that have no lane because they do nothing.
    pub idle_nodes: usize,
    /// Lasting faults beyond the maximum number of bands.
    pub bands: u64,
    /// Messages between a node that is shown and one that is not.
    pub messages: u64,
}

impl Heading {
    /// Returns the word for a role: `paused`, `down`, or the family's word, which is empty if it
    /// has none.
    pub fn role_name(&self, role: Role) -> &str {
        match role {
            Role::Paused => "paused",
            Role::Down => "down",
            Role::Idle | Role::Waiting | Role::Follows | Role::Chosen => {
                self.roles.iter().find(|(known, _)| *known == role).map_or("", |(_, words)| words)
            }
        }
    }
}

impl Omitted {
    /// Returns a sentence about what is left out; `None` if nothing is.
    pub fn summary(&self) -> Option<String> {
        let part = |count: u64, singular: &str, plural: &str| match count {
            0 => None,
            1 => Some(format!("one {singular}")),
            count => Some(format!("{count} {plural}")),
        };
        let parts = [
            part(self.lines_before, "earlier journal line", "earlier journal lines"),
            part(self.lines_after, "later journal line", "later journal lines"),
            part(self.quiet_steps, "step without visible effect", "steps without visible effect"),
            part(self.idle_nodes as u64, "idle node", "idle nodes"),
            part(self.messages, "message to or from a hidden node", "messages to or from hidden nodes"),
            part(self.bands, "fault of links or disks", "faults of links and disks"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("Not shown: {}.", parts.join(", ")))
    }
}

impl Scene {
    /// Returns the order of the step or mark at which a violation was detected: the one on its
    /// journal line, or the last one before. `None` if the scene does not show it.
    pub fn order_of(&self, violation: &Violation) -> Option<usize> {
        let steps = self.steps.iter().map(|step| (step.line, step.position.order));
        let marks = self.marks.iter().map(|mark| (mark.line, mark.position.order));
        let before = steps.chain(marks).filter(|(line, _)| *line <= violation.line);
        before.max().map(|(_, order)| order).filter(|_| violation.time >= self.from && violation.time <= self.to)
    }

    /// Returns a time relative to the origin, as it is displayed.
    pub fn relative(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_sub(self.origin.nanos()))
    }
}
