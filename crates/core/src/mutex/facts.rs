//! What the book says of an algorithm, as data: tables print it beside what was measured.

use crate::about::Profile;
use crate::describe::Medium;
use crate::group::Group;
use crate::model::{Links, Model};
use crate::node::NodeId;
use core::fmt;

/// An algorithm's line in the book's table.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub cost: Cost,
    pub order: ServiceOrder,
    /// How many may go ahead of a request that waits its turn.
    pub fairness: Fairness,
    /// Whether everyone who asks gets in.
    pub service: Service,
    pub fences: bool,
    /// Whether those who only read are inside together.
    pub shares: bool,
    pub links: Links,
    pub model: Model,
    pub medium: Medium,
    /// Whether it sends messages for ever, even when nobody wants in: then a run is over when all have what they asked
    /// for.
    pub restless: bool,
    /// The node that keeps the lock for all, if there is one.
    pub keeper: fn(&Group) -> Option<NodeId>,
    /// Whether there is such a group for so many nodes, or a sentence that says for how many there is one.
    pub fits: fn(usize) -> Result<(), &'static str>,
    /// Which form of an algorithm it is, where there are several: the options that choose it.
    pub form: &'static [Choice],
}

impl Facts {
    /// An algorithm like most: it serves everyone in no promised order, its grants carry fences, it runs in groups of
    /// any size over links that keep no order and may be slow, and it has one form.
    pub const fn new(profile: Profile, cost: Cost) -> Self {
        Self {
            profile,
            cost,
            order: ServiceOrder::None,
            fairness: Fairness::None,
            service: Service::Certain,
            fences: true,
            shares: false,
            links: Links::AnyOrder,
            model: Model::Asynchronous,
            medium: Medium::Unicast,
            restless: false,
            keeper: |_| None,
            fits: |_| Ok(()),
            form: &[],
        }
    }

    /// Whether this is a form that users get only if they ask for it.
    pub fn is_special(&self) -> bool {
        self.form.iter().any(|choice| !choice.usual)
    }

    /// What users ask for who want an algorithm in any of its forms.
    pub fn algorithm(&self) -> &'static str {
        self.form.first().map_or(self.profile.name, |choice| choice.of)
    }
}

/// What entries cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Messages an entry, as the book writes it.
    pub messages: &'static str,
    /// From asking to entering when nobody else wants in, as the book writes it.
    pub client: &'static str,
    /// From a leave to the next entry when exactly one waits, as the book writes it.
    pub sync: &'static str,
    /// Messages of so many entries in such a run. Where a node keeps the lock for all, these are entries of the others.
    pub total: fn(&Case<'_>, u64) -> Range,
    /// From asking to entering when nobody else wants in, in message times.
    pub client_delay: fn(&Case<'_>) -> Range,
    /// From a leave to the next entry when exactly one waits, in message times.
    pub sync_delay: fn(&Case<'_>) -> Range,
}

/// A run whose cost the book knows: nothing fails, nobody tries, nobody gives up.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub group: &'a Group,
    pub load: Load,
}

impl Case<'_> {
    /// How many nodes there are.
    pub fn nodes(&self) -> u64 {
        self.group.len() as u64
    }

    /// How many others there are.
    pub fn peers(&self) -> u64 {
        self.nodes().saturating_sub(1)
    }

    /// What so many entries cost where each costs what it costs its node. If everyone asks, the first ones are one each;
    /// whose the others are depends on the run.
    pub fn sum(&self, entries: u64, each: impl Fn(NodeId) -> Range) -> Range {
        let nothing = Range::exactly(0);
        let anyone = || self.group.iter().map(&each).reduce(Range::or).unwrap_or(nothing);
        match self.load {
            Load::Alone(node) => each(node).times(entries),
            Load::Everyone => {
                let once = entries.min(self.nodes());
                let first = self.group.iter().take(once as usize).map(&each).fold(nothing, Range::plus);
                first.plus(anyone().times(entries - once))
            }
            Load::Some => anyone().times(entries),
        }
    }
}

/// Who asks in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// This node alone, from the beginning on.
    Alone(NodeId),
    /// Everyone at once, and again as soon as they have left.
    Everyone,
    /// Some, now and then.
    Some,
}

/// From the least to the most that something may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Range {
    pub least: u64,
    pub most: Option<u64>,
}

impl Range {
    /// Exactly this.
    pub const fn exactly(value: u64) -> Self {
        Self { least: value, most: Some(value) }
    }

    /// Anything between the two.
    pub const fn between(least: u64, most: u64) -> Self {
        Self { least, most: Some(most) }
    }

    /// This or more, without bound.
    pub const fn at_least(least: u64) -> Self {
        Self { least, most: None }
    }

    /// The one value that it may have, if there is only one.
    pub fn exact(self) -> Option<u64> {
        self.most.filter(|most| *most == self.least)
    }

    /// This and that together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let most = self.most.zip(other.most).map(|(one, other)| one.saturating_add(other));
        Self { least: self.least.saturating_add(other.least), most }
    }

    /// This or that, nobody knows which.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let most = self.most.zip(other.most).map(|(one, other)| one.max(other));
        Self { least: self.least.min(other.least), most }
    }

    /// So many times this.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let times = |value: u64| value.saturating_mul(count);
        let most = if count == 0 { Some(0) } else { self.most.map(times) };
        Self { least: times(self.least), most }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exact(), self.most) {
            (Some(value), _) => write!(f, "{value}"),
            (None, Some(most)) => write!(f, "{}…{most}", self.least),
            (None, None) => write!(f, "{}…", self.least),
        }
    }
}

/// In which order requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceOrder {
    /// As they arrive somewhere, which is not happened-before order.
    Arrival,
    HappenedBefore,
    None,
}

/// How many entries of others may go ahead of a request. Where some share, only entries that conflict with it count.
#[derive(Clone, Copy, Debug)]
pub enum Fairness {
    None,
    /// At most so many in a group of this size, from the moment of asking.
    FromAsking(fn(usize) -> u64),
    /// At most so many in a group of this size, from the moment when all that the node sent on asking has arrived.
    FromArrival(fn(usize) -> u64),
}

/// Whether everyone who asks gets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Sooner or later, whatever the order in which things happen.
    Certain,
    /// Sooner or later with probability 1: unlucky waits can go on for ever.
    Likely,
    /// Not always: those who wait for each other may wait for ever.
    Doubtful,
}

/// An option that chooses among the forms of an algorithm, such as `--when-busy deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub of: &'static str,
    /// The option, without its dashes.
    pub option: &'static str,
    pub value: &'static str,
    /// Whether users get this unless they say otherwise.
    pub usual: bool,
}

#[cfg(test)]
mod tests {
    use super::{Case, Load, Range};
    use crate::group::Group;
    use crate::node::NodeId;

    /// Node 1 pays one message an entry, node 2 two, node 3 three or more.
    #[test]
    fn a_sum_knows_who_asks_as_far_as_the_load_tells() {
        let group = Group::of_size(3);
        let each = |node: NodeId| match u64::from(node.number()) {
            3 => Range::at_least(3),
            messages => Range::exactly(messages),
        };
        let sum = |load, entries| Case { group: &group, load }.sum(entries, each);
        assert_eq!(sum(Load::Alone(NodeId::from_index(1)), 5), Range::exactly(10));
        assert_eq!(sum(Load::Everyone, 2), Range::exactly(3));
        assert_eq!(sum(Load::Everyone, 4), Range::at_least(7));
        assert_eq!(sum(Load::Some, 2), Range::at_least(2));
        assert_eq!(Range::exactly(1).or(Range::between(2, 3)), Range::between(1, 3));
    }
}
