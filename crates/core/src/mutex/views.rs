//! What every algorithm of the family brings from one view into the next.
//!
//! A member reports where its user stands and how far its counts have come. Out of the reports of all members comes one [`Past`], the same
//! for everyone: who is inside, who waits and in which order, and what nobody may fall below. An algorithm says how it begins with such a
//! past; the rest is done here, once for all.

use super::{Access, Command, Event, Floor, Patience};
use crate::clock::{Clock, Stamp};
use crate::effects::{Effect, Effects};
use crate::fence::Fence;
use crate::group::{Epoch, Group};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use crate::view::View;
use crate::wrap::{InViews, Leased, OneOfMany};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Where a member's user stands when a view ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Standing {
    #[default]
    Idle,
    Waiting {
        /// How old its request is, where the algorithm keeps requests in the order of their age.
        asked: Clock,
        patience: Patience,
        /// Whom it would let in beside it.
        access: Access,
    },
    Inside(Access),
}

impl Standing {
    /// One that wants in, in an algorithm that does not ask how old a request is.
    pub const fn waiting(patience: Patience, access: Access) -> Self {
        Self::Waiting { asked: Clock(0), patience, access }
    }
}

/// What a member tells the others when a view ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    pub standing: Standing,
    pub floor: Floor,
    /// Whom it would serve next, if it keeps a queue.
    pub queue: Vec<NodeId>,
}

/// One who waits, as everybody knows at the beginning of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub node: NodeId,
    pub patience: Patience,
    /// Whom it would let in beside it.
    pub access: Access,
    /// What its request is numbered or stamped with in this view: larger for those who come later.
    pub clock: Clock,
}

/// What is left of the views before, in which all members agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    group: Group,
    inside: BTreeMap<NodeId, Access>,
    /// In the order in which they should be served.
    waiting: Vec<Waiter>,
    floor: Floor,
}

impl Past {
    /// What these reports of a view's members add up to. Requests keep the order of the queues that somebody kept, then that
    /// of their age.
    pub fn of(view: &View, reports: &BTreeMap<NodeId, Report>) -> Self {
        let clock = reports.values().map(|report| report.floor.clock).max().unwrap_or_default();
        let counter = reports.values().map(|report| report.floor.fence.counter).max().unwrap_or_default();
        let queued: Vec<NodeId> = reports.values().flat_map(|report| report.queue.iter().copied()).collect();
        let mut inside = BTreeMap::new();
        let mut waiting = Vec::new();
        for (&node, report) in reports {
            match report.standing {
                Standing::Idle => {}
                Standing::Inside(access) => {
                    inside.insert(node, access);
                }
                Standing::Waiting { asked, patience, access } => {
                    let place = queued.iter().position(|queued| *queued == node).unwrap_or(usize::MAX);
                    waiting.push(((place, asked, node), (patience, access)));
                }
            }
        }
        waiting.sort_unstable_by_key(|(place, _)| *place);
        let numbered = waiting.into_iter().zip(clock.0..).map(|(((_, _, node), (patience, access)), before)| Waiter {
            node,
            patience,
            access,
            clock: Clock(before.saturating_add(1)),
        });
        let waiting: Vec<_> = numbered.collect();
        let floor = Floor { clock, fence: Fence { epoch: view.epoch(), counter } };
        Self { group: view.members().clone(), inside, waiting, floor }
    }

    /// The past of a node that is on its own and wants nothing.
    fn alone(me: NodeId) -> Self {
        let floor = Floor { clock: Clock::default(), fence: Fence { epoch: Epoch(0), counter: 0 } };
        Self { group: core::iter::once(me).collect(), inside: BTreeMap::new(), waiting: Vec::new(), floor }
    }

    /// The members of the view that begins.
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// Whom a node that is inside lets in beside it.
    pub fn access(&self, node: NodeId) -> Option<Access> {
        self.inside.get(&node).copied()
    }

    /// Who is inside; several only if they all read.
    pub fn insiders(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.inside.keys().copied()
    }

    /// Who is inside, where nobody shares.
    pub fn holder(&self) -> Option<NodeId> {
        self.insiders().next()
    }

    /// Who waits, in the order in which they should be served.
    pub fn waiting(&self) -> &[Waiter] {
        &self.waiting
    }

    /// What the requests of those inside are numbered or stamped with: smaller than everyone else's.
    pub const fn inside_clock(&self) -> Clock {
        self.floor.clock
    }

    /// The request of the one inside, where nobody shares: older than all others.
    pub fn holder_stamp(&self) -> Option<Stamp> {
        self.holder().map(|node| self.stamp_of(node))
    }

    pub(super) const fn stamp_of(&self, insider: NodeId) -> Stamp {
        Stamp { clock: self.inside_clock(), node: insider }
    }

    /// What a member must not fall below. One who waits asks next with the number that everybody expects, and all others
    /// with a larger one.
    fn floor_of(&self, node: NodeId) -> Floor {
        let place = self.waiting.iter().position(|waiter| waiter.node == node).unwrap_or(self.waiting.len());
        Floor { clock: Clock(self.floor.clock.0.saturating_add(place as u64)), fence: self.floor.fence }
    }
}

/// How an algorithm of this family goes from one view to the next.
pub trait Succession: Protocol<Command = Command, Event = Event, Durable = ()> + OneOfMany<Floor = Floor> {
    /// Where its user stands.
    fn standing(&self) -> Standing;

    /// Whom it would serve next, in order, as far as it keeps a queue.
    fn queue(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// Becomes a member of the new group as it is with this past: inside if it is, else idle or waiting, and aware of who is
    /// inside. One who is idle after this but wanted in asks anew.
    fn begin(&mut self, me: NodeId, past: &Past);

    /// Does what is due at the beginning of a view.
    fn set_out(&mut self, _out: &mut Effects<'_, Self>) {}
}

impl<P: Succession> InViews for P {
    type Report = Report;

    fn report(&self) -> Report {
        Report { standing: self.standing(), floor: self.floor(), queue: self.queue() }
    }

    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, Report>,
        out: &mut Effects<'_, Self>,
    ) {
        let wish = self.standing();
        let past = Past::of(view, reports);
        self.begin(me, &past);
        self.raise(&past.floor_of(me));
        self.set_out(out);
        if let (Standing::Waiting { patience, access, .. }, Standing::Idle) = (wish, self.standing()) {
            self.step(now, Input::Command(command(patience, access)), out);
        }
    }

    fn holds(&self) -> bool {
        matches!(self.standing(), Standing::Inside(_))
    }

    fn forget(&mut self, me: NodeId, _ends: bool) {
        let floor = self.floor();
        self.begin(me, &Past::alone(me));
        self.raise(&floor);
        // One who is alone and wants nothing has nothing to do and nobody to tell.
        let mut nothing: Vec<Effect<Self>> = Vec::new();
        self.set_out(&mut Effects::new(&mut nothing));
    }

    fn lost(&self) -> Event {
        Event::Lost
    }
}

impl Leased<Command> for Event {
    fn within(self, until: Time) -> Self {
        match self {
            Self::Entered { fence, .. } => Self::Entered { fence, until },
            Self::Extended { .. } | Self::Lost | Self::Left | Self::Denied | Self::Cancelled | Self::Refused(_) => self,
        }
    }

    fn extended(until: Time) -> Option<Self> {
        Some(Self::Extended { until })
    }

    fn ends(command: &Command) -> bool {
        *command == Command::Release
    }
}

/// How one asks who wants in like this.
const fn command(patience: Patience, access: Access) -> Command {
    match (patience, access) {
        (Patience::Try, _) => Command::Try,
        (Patience::Wait, Access::Exclusive) => Command::Acquire,
        (Patience::Wait, Access::Shared) => Command::Share,
    }
}

#[cfg(test)]
mod storm;
#[cfg(test)]
mod tests;
