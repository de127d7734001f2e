//! The figures that the literature gives for an algorithm, as data. Tables print them beside the
//! measured ones.

use crate::about::Profile;
use crate::describe::Medium;
use crate::group::Group;
use crate::model::{Links, Model};
use crate::node::NodeId;
use core::fmt;

/// An algorithm's properties and expected figures.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub cost: Cost,
    pub order: ServiceOrder,
    /// Bound on the entries of other nodes that may go ahead of a waiting request.
    pub fairness: Fairness,
    /// Whether every request is granted eventually.
    pub service: Service,
    /// Whether the fence of an entry is larger than those of all earlier entries that conflict with
    /// it.
    pub has_fences: bool,
    /// Whether readers may be in the critical section together.
    pub has_shared_access: bool,
    pub links: Links,
    pub model: Model,
    pub medium: Medium,
    /// Whether nodes send messages forever, even if no client requests entry. A run then ends when
    /// all requests are served.
    pub is_never_quiescent: bool,
    /// Returns the node that manages the lock for all others, if there is one.
    pub coordinator: fn(&Group) -> Option<NodeId>,
    /// Returns an error that lists the valid sizes if the algorithm cannot run with this number of
    /// nodes.
    pub check_group_size: fn(usize) -> Result<(), &'static str>,
    /// The options that select this variant. Empty if the algorithm has only one.
    pub variant_choices: &'static [Choice],
}

impl Facts {
    /// The usual properties: every request is granted, in no promised order, with a fence; groups
    /// have any size, links may reorder messages and delay them without bound; there is one
    /// variant.
    pub const fn new(profile: Profile, cost: Cost) -> Self {
        Self {
            profile,
            cost,
            order: ServiceOrder::None,
            fairness: Fairness::None,
            service: Service::Certain,
            has_fences: true,
            has_shared_access: false,
            links: Links::AnyOrder,
            model: Model::Asynchronous,
            medium: Medium::Unicast,
            is_never_quiescent: false,
            coordinator: |_| None,
            check_group_size: |_| Ok(()),
            variant_choices: &[],
        }
    }

    /// Returns whether the user must give an option to select this variant.
    pub fn is_nondefault_variant(&self) -> bool {
        self.variant_choices.iter().any(|choice| !choice.is_default)
    }

    /// Returns the name of the algorithm, which is the same for all of its variants.
    pub fn algorithm(&self) -> &'static str {
        self.variant_choices.first().map_or(self.profile.name, |choice| choice.algorithm)
    }
}

/// The expected cost of entries. The formulas are texts as the literature gives them, where n is
/// the number of nodes and T the time that one message takes; an algorithm's header explains other
/// letters. The functions compute the figures for a concrete run.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Formula for the messages per entry. "Full load" in a formula means that all nodes request.
    pub messages_formula: &'static str,
    /// Formula for the client delay: the time from request to entry without contention.
    pub client_delay_formula: &'static str,
    /// Formula for the synchronization delay: the time from a release to the next entry if exactly
    /// one node waits.
    pub sync_delay_formula: &'static str,
    /// Computes the number of messages that a number of entries cost. If a coordinator manages the
    /// lock, its own entries are not among them.
    pub message_count: fn(&Case<'_>, u64) -> Range,
    /// Computes the client delay in units of T.
    pub client_delay: fn(&Case<'_>) -> Range,
    /// Computes the synchronization delay in units of T.
    pub sync_delay: fn(&Case<'_>) -> Range,
}

/// A run whose cost is known: no faults, no tries and no cancellations.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub group: &'a Group,
    pub load: Load,
}

impl Case<'_> {
    /// Returns the number of nodes.
    pub fn nodes(&self) -> u64 {
        self.group.len() as u64
    }

    /// Returns the number of nodes other than the requester.
    pub fn peers(&self) -> u64 {
        self.nodes().saturating_sub(1)
    }

    /// Returns the cost of `entries` entries, where `cost_of` gives the cost of one entry of a
    /// node. If all nodes request, the first n entries are one of each node (fewer than n entries:
    /// of the first nodes of the group); which nodes make the later ones depends on the run.
    pub fn total_cost(&self, entries: u64, cost_of: impl Fn(NodeId) -> Range) -> Range {
        let nothing = Range::exactly(0);
        let any_node = || self.group.iter().map(&cost_of).reduce(Range::union).unwrap_or(nothing);
        match self.load {
            Load::OneNode(node) => cost_of(node).times(entries),
            Load::AllNodes => {
                let first_entries = entries.min(self.nodes());
                let first_cost =
                    self.group.iter().take(first_entries as usize).map(&cost_of).fold(nothing, Range::plus);
                first_cost.plus(any_node().times(entries - first_entries))
            }
            Load::SomeNodes => any_node().times(entries),
        }
    }
}

/// The nodes that request entry in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// Only this node, from the beginning.
    OneNode(NodeId),
    /// All nodes at the same time, and each again as soon as it has released.
    AllNodes,
    /// Some nodes, now and then.
    SomeNodes,
}

/// A closed range of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Range {
    #[cfg_attr(feature = "serde", serde(rename = "least"))]
    pub min: u64,
    /// `None` if there is no upper bound.
    #[cfg_attr(feature = "serde", serde(rename = "most"))]
    pub max: Option<u64>,
}

impl Range {
    /// The range with only this value.
    pub const fn exactly(value: u64) -> Self {
        Self { min: value, max: Some(value) }
    }

    /// The range from `min` to `max`, both included.
    pub const fn between(min: u64, max: u64) -> Self {
        Self { min, max: Some(max) }
    }

    /// The range from `min` without upper bound.
    pub const fn at_least(min: u64) -> Self {
        Self { min, max: None }
    }

    /// Returns the value if the range has only one.
    pub fn exact(self) -> Option<u64> {
        self.max.filter(|max| *max == self.min)
    }

    /// Returns the range of the sum of two values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let max = self.max.zip(other.max).map(|(ours, theirs)| ours.saturating_add(theirs));
        Self { min: self.min.saturating_add(other.min), max }
    }

    /// Returns the smallest range that contains both ranges.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let max = self.max.zip(other.max).map(|(ours, theirs)| ours.max(theirs));
        Self { min: self.min.min(other.min), max }
    }

    /// Returns the range of the value multiplied by `count`.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let multiply = |value: u64| value.saturating_mul(count);
        let max = if count == 0 { Some(0) } else { self.max.map(multiply) };
        Self { min: multiply(self.min), max }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exact(), self.max) {
            (Some(value), _) => write!(f, "{value}"),
            (None, Some(max)) => write!(f, "{}…{max}", self.min),
            (None, None) => write!(f, "{}…", self.min),
        }
    }
}

/// The order in which requests are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceOrder {
    /// The order in which requests arrive at the node that grants them, which may differ from
    /// happened-before order.
    Arrival,
    HappenedBefore,
    None,
}

/// Bound on the number of entries of other nodes that may go ahead of a request. With shared
/// access, only conflicting entries count.
#[derive(Clone, Copy, Debug)]
pub enum Fairness {
    None,
    /// Bound for a group of the given size, counted from the request on.
    FromRequest(fn(usize) -> u64),
    /// Bound for a group of the given size, counted from the arrival of all messages that the node
    /// sent with its request.
    FromArrival(fn(usize) -> u64),
}

/// Whether every request is granted eventually.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Every request is granted, in any schedule.
    Certain,
    /// Every request is granted with probability 1, but a schedule exists in which one waits
    /// forever.
    AlmostCertain,
    /// Requests can deadlock, so a request may never be granted.
    CanDeadlock,
}

/// An option that selects a form of an algorithm, such as `--when-busy deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The option, without its dashes.
    pub option: &'static str,
    /// The option's value that selects the form.
    pub value: &'static str,
    /// Whether this value is the default.
    pub is_default: bool,
}

impl Choice {
    /// Returns the same choice, marked as the default of its option.
    #[must_use]
    pub const fn mark_default(self) -> Self {
        Self { is_default: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Load, Range};
    use crate::group::Group;
    use crate::node::NodeId;

    /// An entry of node 1 costs one message, of node 2 two, of node 3 three or more. If all nodes
    /// request, two entries cost 1 + 2; four cost 1 + 2 + 3 and at least 1 for the fourth.
    #[test]
    fn the_total_cost_counts_the_entries_of_each_node_as_far_as_the_load_determines_them() {
        let group = Group::of_size(3);
        let cost_of = |node: NodeId| match u64::from(node.number()) {
            3 => Range::at_least(3),
            messages => Range::exactly(messages),
        };
        let total_cost = |load, entries| Case { group: &group, load }.total_cost(entries, cost_of);
        assert_eq!(total_cost(Load::OneNode(NodeId::from_index(1)), 5), Range::exactly(10));
        assert_eq!(total_cost(Load::AllNodes, 2), Range::exactly(3));
        assert_eq!(total_cost(Load::AllNodes, 4), Range::at_least(7));
        assert_eq!(total_cost(Load::SomeNodes, 2), Range::at_least(2));
        assert_eq!(Range::exactly(1).union(Range::between(2, 3)), Range::between(1, 3));
    }
}
