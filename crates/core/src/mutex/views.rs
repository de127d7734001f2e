//! The transition of a mutual exclusion algorithm from one view to the next.
//!
//! A member reports the state of its client, its clock and fence, and its queue if it keeps one.
//! All members combine the same reports into the same [`ViewStart`]: the nodes in the critical
//! section, the waiting nodes in order, and the floor for clocks and fences. An algorithm defines
//! how it begins with this state; this module does the rest.

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

/// The state of a member's client when a view ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum ClientState {
    #[default]
    Idle,
    Waiting {
        /// The clock of its request, if the algorithm orders requests by age; otherwise 0.
        #[cfg_attr(feature = "serde", serde(rename = "asked"))]
        requested_at: Clock,
        patience: Patience,
        access: Access,
    },
    Inside(Access),
}

impl ClientState {
    /// A waiting client in an algorithm that does not order requests by age.
    pub const fn waiting(patience: Patience, access: Access) -> Self {
        Self::Waiting { requested_at: Clock(0), patience, access }
    }
}

/// The report that a member sends to the others when a view ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    #[cfg_attr(feature = "serde", serde(rename = "standing"))]
    pub client_state: ClientState,
    pub floor: Floor,
    /// The waiting nodes in the order in which this member would serve them, if it keeps a queue.
    pub queue: Vec<NodeId>,
}

/// A waiting node, as all members know it at the beginning of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub node: NodeId,
    pub patience: Patience,
    pub access: Access,
    /// The number or the stamp's clock that its request has in this view. It increases along the
    /// queue.
    pub clock: Clock,
}

/// The state at the beginning of a view, on which all members agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewStart {
    group: Group,
    /// The nodes in the critical section, each with its access.
    insiders: BTreeMap<NodeId, Access>,
    /// In the order in which the nodes should be served.
    waiters: Vec<Waiter>,
    floor: Floor,
}

impl ViewStart {
    /// Combines the reports of a view's members. Requests in a reported queue keep its order and
    /// come first; the others follow by age.
    pub fn from_reports(view: &View, reports: &BTreeMap<NodeId, Report>) -> Self {
        let clock = reports.values().map(|report| report.floor.clock).max().unwrap_or_default();
        let counter = reports.values().map(|report| report.floor.fence.counter).max().unwrap_or_default();
        let queued: Vec<NodeId> = reports.values().flat_map(|report| report.queue.iter().copied()).collect();
        let mut insiders = BTreeMap::new();
        let mut waiting = Vec::new();
        for (&node, report) in reports {
            match report.client_state {
                ClientState::Idle => {}
                ClientState::Inside(access) => {
                    insiders.insert(node, access);
                }
                ClientState::Waiting { requested_at, patience, access } => {
                    let queue_position = queued.iter().position(|other| *other == node).unwrap_or(usize::MAX);
                    waiting.push(((queue_position, requested_at, node), (patience, access)));
                }
            }
        }
        waiting.sort_unstable_by_key(|(service_order, _)| *service_order);
        let numbered = waiting.into_iter().zip(clock.0..).map(|(((_, _, node), (patience, access)), previous)| {
            Waiter { node, patience, access, clock: Clock(previous.saturating_add(1)) }
        });
        let waiters = numbered.collect();
        let floor = Floor { clock, fence: Fence { epoch: view.epoch(), counter } };
        Self { group: view.members().clone(), insiders, waiters, floor }
    }

    /// The state of an idle node that is the only member of its group.
    fn of_single_node(me: NodeId) -> Self {
        let floor = Floor { clock: Clock::default(), fence: Fence { epoch: Epoch(0), counter: 0 } };
        Self { group: core::iter::once(me).collect(), insiders: BTreeMap::new(), waiters: Vec::new(), floor }
    }

    /// The members of the new view.
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// Returns the access of a node that is in the critical section, otherwise `None`.
    pub fn inside_access(&self, node: NodeId) -> Option<Access> {
        self.insiders.get(&node).copied()
    }

    /// Returns the nodes in the critical section. There are several only if all of them are
    /// readers.
    pub fn nodes_inside(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.insiders.keys().copied()
    }

    /// Returns the node in the critical section, for algorithms without shared access.
    pub fn holder(&self) -> Option<NodeId> {
        self.nodes_inside().next()
    }

    /// Returns the waiting nodes in the order in which they should be served.
    pub fn waiters(&self) -> &[Waiter] {
        &self.waiters
    }

    /// The number or stamp clock of the requests in the critical section: smaller than those of all
    /// waiting requests.
    pub const fn inside_clock(&self) -> Clock {
        self.floor.clock
    }

    /// Returns the stamp of the node in the critical section, for algorithms without shared access.
    /// The stamp is older than those of all waiting requests.
    pub fn holder_stamp(&self) -> Option<Stamp> {
        self.holder().map(|node| self.inside_stamp(node))
    }

    pub(super) const fn inside_stamp(&self, node: NodeId) -> Stamp {
        Stamp { clock: self.inside_clock(), node }
    }

    /// Returns the floor of a member. A waiting node's next request gets the number that all
    /// members expect; the next requests of other nodes get larger numbers.
    fn floor_of(&self, node: NodeId) -> Floor {
        let waiters_before = self.waiters.iter().position(|waiter| waiter.node == node).unwrap_or(self.waiters.len());
        Floor { clock: Clock(self.floor.clock.0.saturating_add(waiters_before as u64)), fence: self.floor.fence }
    }
}

/// A mutual exclusion algorithm that can continue in the next view.
pub trait ViewTransition: Protocol<Command = Command, Event = Event, Durable = ()> + OneOfMany<Floor = Floor> {
    /// Returns the state of this node's client.
    fn client_state(&self) -> ClientState;

    /// Returns the waiting nodes in the order in which this node would serve them, as far as it
    /// keeps a queue.
    fn queue(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// Resets the node to a member of the new group with this state: in the critical section,
    /// waiting or idle, and aware of the current holder. If the client waited and the node is idle
    /// afterwards, `resume` repeats the request.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart);

    /// Runs the first actions in the new view, such as granting the first queued request.
    fn start_view(&mut self, _out: &mut Effects<'_, Self>) {}
}

impl<P: ViewTransition> InViews for P {
    type Report = Report;

    fn report(&self) -> Report {
        Report { client_state: self.client_state(), floor: self.floor(), queue: self.queue() }
    }

    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, Report>,
        out: &mut Effects<'_, Self>,
    ) {
        let before = self.client_state();
        let start = ViewStart::from_reports(view, reports);
        self.begin_view(me, &start);
        self.raise_floor(&start.floor_of(me));
        self.start_view(out);
        if let (ClientState::Waiting { patience, access, .. }, ClientState::Idle) = (before, self.client_state()) {
            self.step(now, Input::Command(request_command(patience, access)), out);
        }
    }

    fn is_holder(&self) -> bool {
        matches!(self.client_state(), ClientState::Inside(_))
    }

    /// Becomes an idle node of a group of one. The wrapper calls this only for a node in the
    /// critical section, which has no pending request.
    fn forget(&mut self, me: NodeId, _is_released: bool) {
        let floor = self.floor();
        self.begin_view(me, &ViewStart::of_single_node(me));
        self.raise_floor(&floor);
        // An idle node that is alone has nothing to send or emit, so its effects are discarded.
        let mut discarded: Vec<Effect<Self>> = Vec::new();
        self.start_view(&mut Effects::new(&mut discarded));
    }

    fn lost_event(&self) -> Event {
        Event::Lost
    }
}

impl Leased<Command> for Event {
    fn limit_to(self, until: Time) -> Self {
        match self {
            Self::Entered { fence, .. } => Self::Entered { fence, until },
            Self::Extended { .. } | Self::Lost | Self::Left | Self::Denied | Self::Cancelled | Self::Refused(_) => self,
        }
    }

    fn extension_event(until: Time) -> Option<Self> {
        Some(Self::Extended { until })
    }

    fn is_release(command: &Command) -> bool {
        *command == Command::Release
    }
}

/// Returns the command that makes a request with this patience and access.
const fn request_command(patience: Patience, access: Access) -> Command {
    match (patience, access) {
        (Patience::Try, _) => Command::Try,
        (Patience::Wait, Access::Exclusive) => Command::Acquire,
        (Patience::Wait, Access::Shared) => Command::Share,
    }
}

#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;
