//! Faults, with their times and durations.

use super::chance::Chance;
use super::clauses::write_timing;
use super::error::SettingError;
use super::latency::Latency;
use super::length::{Length, Offset};
use super::nodes::{NodeSet, Side};
use super::paths::{Cut, Links};
use super::rate::Ppm;
use quorate_core::{Duration, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A fault, or the repair of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Fault {
    /// `crash 2`, `crash 2 torn`, `crash 2 keeping 3`: the node stops and loses all state that is
    /// not on its disk.
    Crash { node: NodeId, unsynced: UnsyncedSaves },
    /// `restart 2`, `restart 2 blank`: a crashed node starts its next incarnation.
    Restart { node: NodeId, disk: RestartDisk },
    /// `pause 3`: the node stops taking inputs and keeps its state; inputs wait.
    Pause { node: NodeId },
    /// `resume 3`: a paused node continues.
    Resume { node: NodeId },
    /// `disk 2 full`, `disk 2 fails`: the node's disk is full or fails.
    Disk { node: NodeId, trouble: DiskTrouble },
    /// `close 2`: the membership service receives a false report that the node's connection was
    /// closed.
    Close { node: NodeId },
    /// `cut 1,2 | 3`: no message passes between the sides. `cut 1 > 2`: none passes from the first
    /// side to the second.
    Cut(Cut),
    /// `heal`: all cuts end.
    Heal,
    /// `skew 2 by -3ms`: the node's clock jumps.
    Skew { node: NodeId, by: Offset },
    /// `drift 2 by 200ppm`: the rate of the node's clock changes.
    Drift { node: NodeId, by: Ppm },
    /// `link 1 > 2 loss 0.5`: the latency, loss or duplication of some links changes.
    Link { links: Links, change: LinkChange },
}

/// The fate of the saves that the disk has not confirmed when the node crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnsyncedSaves {
    /// None of them survives.
    #[default]
    Lost,
    /// A random prefix of them survives: `torn`.
    Torn,
    /// The oldest ones survive, at most this many: `keeping 3`.
    Kept(u64),
}

/// The content of a node's disk when it restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RestartDisk {
    /// The durable state that survived the crash.
    #[default]
    Kept,
    /// Empty, as on a new machine: `blank`.
    Blank,
}

/// A fault of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskTrouble {
    /// The disk accepts no more writes; they wait, and none is lost: `full`.
    Full,
    /// The sync in progress fails and crashes its node. If there is none, the node crashes at
    /// once: `fails`.
    Fails,
}

impl DiskTrouble {
    pub(super) const ALL: [Self; 2] = [Self::Full, Self::Fails];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Fails => "fails",
        }
    }
}

/// A change of a link's behavior.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkChange {
    Latency(Latency),
    Loss(Chance),
    Duplicate(Chance),
}

/// A property of a link that a fault can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkProperty {
    Latency,
    Loss,
    Duplicate,
}

impl LinkProperty {
    pub(super) const ALL: [Self; 3] = [Self::Latency, Self::Loss, Self::Duplicate];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Loss => "loss",
            Self::Duplicate => "duplicate",
        }
    }

    /// Returns the property with this name, ignoring case.
    pub(super) fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|property| property.name().eq_ignore_ascii_case(word))
    }
}

/// The kind of a fault: its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    Crash,
    Restart,
    Pause,
    Resume,
    Disk,
    Close,
    Cut,
    Heal,
    Skew,
    Drift,
    Link,
}

impl FaultKind {
    /// All kinds, in the order in which the help lists them.
    pub const ALL: [Self; 11] = [
        Self::Crash,
        Self::Restart,
        Self::Pause,
        Self::Resume,
        Self::Disk,
        Self::Close,
        Self::Cut,
        Self::Heal,
        Self::Skew,
        Self::Drift,
        Self::Link,
    ];

    /// Returns the first word of such a fault.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Restart => "restart",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Disk => "disk",
            Self::Close => "close",
            Self::Cut => "cut",
            Self::Heal => "heal",
            Self::Skew => "skew",
            Self::Drift => "drift",
            Self::Link => "link",
        }
    }

    /// Returns the syntax of such a fault, with optional parts in brackets.
    pub const fn form(self) -> &'static str {
        match self {
            Self::Crash => "crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION]",
            Self::Restart => "restart NODE [blank] [at TIME]",
            Self::Pause => "pause NODE [at TIME] [for DURATION]",
            Self::Resume => "resume NODE [at TIME]",
            Self::Disk => "disk NODE full (or fails) [at TIME] [for DURATION]",
            Self::Close => "close NODE [at TIME]",
            Self::Cut => "cut NODES | NODES (or one way: NODES > NODES) [at TIME] [for DURATION]",
            Self::Heal => "heal [at TIME]",
            Self::Skew => "skew NODE by DURATION [at TIME]",
            Self::Drift => "drift NODE by RATE [at TIME]",
            Self::Link => {
                "link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION]"
            }
        }
    }

    /// Returns whether such a fault can have a duration. Without a duration, such a fault lasts
    /// until another fault ends it.
    pub const fn can_last(self) -> bool {
        match self {
            Self::Crash | Self::Pause | Self::Disk | Self::Cut | Self::Link => true,
            Self::Restart | Self::Resume | Self::Close | Self::Heal | Self::Skew | Self::Drift => false,
        }
    }

    /// Returns the kind with this name, ignoring case.
    pub(super) fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word))
    }
}

impl Fault {
    /// Returns the fault's kind, without its parameters.
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::Crash { .. } => FaultKind::Crash,
            Self::Restart { .. } => FaultKind::Restart,
            Self::Pause { .. } => FaultKind::Pause,
            Self::Resume { .. } => FaultKind::Resume,
            Self::Disk { .. } => FaultKind::Disk,
            Self::Close { .. } => FaultKind::Close,
            Self::Cut(_) => FaultKind::Cut,
            Self::Heal => FaultKind::Heal,
            Self::Skew { .. } => FaultKind::Skew,
            Self::Drift { .. } => FaultKind::Drift,
            Self::Link { .. } => FaultKind::Link,
        }
    }

    /// Returns whether the fault may take effect some time after it begins. Its duration then
    /// counts from the time at which it takes effect.
    pub const fn may_be_delayed(&self) -> bool {
        matches!(self, Self::Disk { trouble: DiskTrouble::Fails, .. })
    }

    /// Returns the node that the fault affects, or `None` if it is a network fault.
    pub const fn node(&self) -> Option<NodeId> {
        match *self {
            Self::Crash { node, .. }
            | Self::Restart { node, .. }
            | Self::Pause { node }
            | Self::Resume { node }
            | Self::Disk { node, .. }
            | Self::Close { node }
            | Self::Skew { node, .. }
            | Self::Drift { node, .. } => Some(node),
            Self::Cut(_) | Self::Heal | Self::Link { .. } => None,
        }
    }

    /// Returns the sides between which the fault takes effect. Empty unless it is a cut or a change
    /// of links.
    pub fn sides(&self) -> &[Side] {
        match self {
            Self::Cut(cut) => cut.sides(),
            Self::Link { links, .. } => links.sides(),
            Self::Crash { .. }
            | Self::Restart { .. }
            | Self::Pause { .. }
            | Self::Resume { .. }
            | Self::Disk { .. }
            | Self::Close { .. }
            | Self::Heal
            | Self::Skew { .. }
            | Self::Drift { .. } => &[],
        }
    }

    /// Returns an error if the fault is impossible in a group of the nodes 1 to `nodes`.
    pub fn validate(&self, nodes: usize) -> Result<(), SettingError> {
        self.validate_as(self, nodes)
    }

    /// Like [`validate`](Self::validate), with `text` quoted in the error.
    fn validate_as(&self, text: &impl fmt::Display, nodes: usize) -> Result<(), SettingError> {
        let named = || self.sides().iter().filter_map(Side::named_nodes);
        if let Some(node) = named().filter_map(NodeSet::highest).chain(self.node()).max() {
            check_node(text, node, nodes)?;
        }
        let mut all_nodes = (0..nodes).map(NodeId::from_index);
        let mut are_all_named = || all_nodes.all(|node| named().any(|side| side.contains(node)));
        if self.sides().contains(&Side::Rest) && are_all_named() {
            return Err(SettingError::RestEmpty { text: text.to_string() });
        }
        Ok(())
    }
}

/// Returns an error that quotes `text` if a group of the nodes 1 to `nodes` does not have this
/// node.
pub(super) fn check_node(text: &impl fmt::Display, node: NodeId, nodes: usize) -> Result<(), SettingError> {
    if node.index() < nodes { Ok(()) } else { Err(SettingError::NoSuchNode { text: text.to_string(), node, nodes }) }
}

/// Prints the form that [`FromStr`](std::str::FromStr) parses, without a time.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        match self {
            Self::Crash { node, unsynced: UnsyncedSaves::Lost } | Self::Restart { node, disk: RestartDisk::Kept } => {
                write!(f, " {node}")
            }
            Self::Crash { node, unsynced: UnsyncedSaves::Torn } => write!(f, " {node} torn"),
            Self::Crash { node, unsynced: UnsyncedSaves::Kept(count) } => write!(f, " {node} keeping {count}"),
            Self::Restart { node, disk: RestartDisk::Blank } => write!(f, " {node} blank"),
            Self::Pause { node } | Self::Resume { node } | Self::Close { node } => write!(f, " {node}"),
            Self::Disk { node, trouble } => write!(f, " {node} {}", trouble.name()),
            Self::Cut(cut) => write!(f, " {cut}"),
            Self::Heal => Ok(()),
            Self::Skew { node, by } => write!(f, " {node} by {by}"),
            Self::Drift { node, by } => write!(f, " {node} by {by}"),
            Self::Link { links, change } => write!(f, " {links} {change}"),
        }
    }
}

impl fmt::Display for LinkChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(latency) => write!(f, "{} {latency}", LinkProperty::Latency.name()),
            Self::Loss(chance) => write!(f, "{} {chance}", LinkProperty::Loss.name()),
            Self::Duplicate(chance) => write!(f, "{} {chance}", LinkProperty::Duplicate.name()),
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A fault with its time and duration: `crash 2 at 10ms for 20ms`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimedFault {
    /// Time since the start of the run. The default is the start itself.
    pub at: Duration,
    pub fault: Fault,
    /// Time until a crashed node restarts, a paused node resumes, a full disk has space, a cut
    /// heals, or links behave as before. Without a duration, only another fault can end this one.
    /// Only some kinds can have a duration, see [`FaultKind::can_last`].
    pub duration: Option<Duration>,
}

impl TimedFault {
    /// Returns an error if the fault is impossible in a group of the nodes 1 to `nodes`: it names
    /// an unknown node, leaves no node for `rest`, or has a duration although its kind cannot have
    /// one.
    pub fn validate(&self, nodes: usize) -> Result<(), SettingError> {
        self.validate_as(self, nodes)
    }

    /// Like [`validate`](Self::validate), with `text` quoted in the error.
    pub fn validate_as(&self, text: &impl fmt::Display, nodes: usize) -> Result<(), SettingError> {
        let kind = self.fault.kind();
        if let Some(length) = self.duration.filter(|_| !kind.can_last()) {
            return Err(SettingError::CannotLast { word: kind.name().into(), length: Length(length).to_string() });
        }
        self.fault.validate_as(text, nodes)
    }
}

impl fmt::Display for TimedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)?;
        write_timing(f, self.at, self.duration)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultKind, TimedFault};
    use expect_test::expect;
    use quorate_core::Duration;

    /// Validates these faults in a group of this size and returns one line for each.
    fn describe_validations(nodes: usize, texts: &[&str]) -> String {
        let describe = |text: &&str| match text.parse::<TimedFault>().unwrap().validate(nodes) {
            Ok(()) => format!("'{text}' is fine.\n"),
            Err(mistake) => format!("{mistake}\n"),
        };
        texts.iter().map(describe).collect()
    }

    #[test]
    fn a_fault_may_only_name_nodes_that_exist() {
        let texts = [
            "crash 3",
            "crash 9 at 10ms",
            "restart 4 blank",
            "pause 4",
            "resume 4",
            "skew 4 by 1ms",
            "drift 4 by 1ppm",
            "cut 1 | 2 | 3",
            "cut 1,2 | 3-7 at 5ms",
            "link 1 > 2,5 loss 0.5",
            "heal",
        ];
        expect![[r#"
            'crash 3' is fine.
            'crash 9 at 10ms' names node 9, but there are only nodes 1 to 3.
            'restart 4 blank' names node 4, but there are only nodes 1 to 3.
            'pause 4' names node 4, but there are only nodes 1 to 3.
            'resume 4' names node 4, but there are only nodes 1 to 3.
            'skew 4 by 1ms' names node 4, but there are only nodes 1 to 3.
            'drift 4 by 1ppm' names node 4, but there are only nodes 1 to 3.
            'cut 1 | 2 | 3' is fine.
            'cut 1,2 | 3-7 at 5ms' names node 7, but there are only nodes 1 to 3.
            'link 1 > 2,5 loss 0.5' names node 5, but there are only nodes 1 to 3.
            'heal' is fine.
        "#]]
        .assert_eq(&describe_validations(3, &texts));
        expect![[r#"
            'crash 2' names node 2, but there is only node 1.
            'cut 1 | rest' leaves no node for 'rest': it names all nodes of the group.
        "#]]
        .assert_eq(&describe_validations(1, &["crash 2", "cut 1 | rest"]));
        expect![[r#"
            'crash 2' names node 2, but there are no nodes.
            'heal' is fine.
        "#]]
        .assert_eq(&describe_validations(0, &["crash 2", "heal"]));
    }

    #[test]
    fn the_rest_must_not_be_empty() {
        let texts = [
            "cut 1-3 | rest",
            "cut 1 | 2,3 | rest",
            "cut 1 | rest",
            "link rest > 1-3 loss 1",
            "link rest > 1,2 loss 1",
        ];
        expect![[r#"
            'cut 1-3 | rest' leaves no node for 'rest': it names all nodes of the group.
            'cut 1 | 2,3 | rest' leaves no node for 'rest': it names all nodes of the group.
            'cut 1 | rest' is fine.
            'link rest > 1-3 loss 1' leaves no node for 'rest': it names all nodes of the group.
            'link rest > 1,2 loss 1' is fine.
        "#]]
        .assert_eq(&describe_validations(3, &texts));
    }

    #[test]
    fn an_instantaneous_fault_has_no_duration() {
        let timed = TimedFault { at: Duration::from_millis(3), fault: Fault::Heal, duration: Some(Duration::ZERO) };
        expect!["'heal' is instantaneous and has no duration; leave out 'for 0ms'."]
            .assert_eq(&timed.validate(3).unwrap_err().to_string());
    }

    #[test]
    fn every_kind_is_known_by_its_name_and_form() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::from_name(&kind.name().to_uppercase()), Some(kind));
            assert!(kind.form().starts_with(kind.name()));
            assert_eq!(kind.form().contains("[for DURATION]"), kind.can_last());
        }
    }
}
