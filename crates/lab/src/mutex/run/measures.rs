//! Measures the cost figures of entries: messages, delays, overtaking.

use super::{Change, LockPhase, Properties, Resource, observed_change};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, MembershipNote, NodeId, Time};
use quorate_journal::metrics::{Delay, DelaySamples, MessageCounts};
use quorate_journal::moment::{Moment, ObservedEffect, Observer};
use quorate_journal::views::membership_note;
use serde::Serialize;
use std::collections::BTreeMap;

/// Entries, delays and overtaking so far.
///
/// *Client delay*: from request to entry, while no other node waits for or holds the lock.
/// *Synchronization delay*: from a release to the next entry, if exactly one node was waiting, for
/// long enough that its request had arrived everywhere. If there is a coordinator, neither delay is
/// measured for its own entries, nor a synchronization delay from its releases.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    coordinator: Option<NodeId>,
    arrival_delay: Duration,
    phases: Vec<LockPhase>,
    /// The waiting requests by serial number, in the order in which they were made.
    waiting: BTreeMap<u64, Request>,
    /// For each node, the serial number of its latest request.
    latest_serials: Vec<u64>,
    request_count: u64,
    holder_count: usize,
    entries: u64,
    coordinator_entries: u64,
    client_delay: DelaySamples,
    sync_delay: DelaySamples,
    /// The time of the last release and the only waiter then, if the release was not the
    /// coordinator's and the waiter's request had arrived everywhere.
    handover: Option<(Time, NodeId)>,
    max_overtaken: u64,
    views: Option<ViewSummary>,
    resource: Resource,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    node: NodeId,
    time: Time,
    /// Whether no node was waiting or holding the lock when the request was made.
    is_uncontended: bool,
    overtaken: u64,
}

impl Measures {
    /// Measures for a group of this size. `coordinator` is `None` if the algorithm has none. A
    /// request counts as received by all nodes after `arrival_delay`.
    pub fn new(nodes: usize, coordinator: Option<NodeId>, arrival_delay: Duration) -> Self {
        Self {
            coordinator,
            arrival_delay,
            phases: vec![LockPhase::Idle; nodes],
            latest_serials: vec![0; nodes],
            resource: Resource::new(nodes),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_views(self) -> Self {
        Self { views: Some(ViewSummary::default()), ..self }
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn summary(
        &self,
        messages: &MessageCounts,
        properties: &Properties,
        unit: Duration,
        unit_name: &'static str,
    ) -> MutexSummary {
        let coordinator_messages = self.coordinator.map_or(0, |coordinator| messages.caused_by(coordinator));
        let cost = |entries: u64, messages: u64| EntryCost {
            entries,
            messages_per_entry: if entries == 0 { None } else { Some(messages as f64 / entries as f64) },
        };
        let all_entries = cost(self.entries, messages.total());
        MutexSummary {
            entries: self.entries,
            messages_per_entry: all_entries.messages_per_entry,
            client_delay: self.client_delay.in_units_of(unit),
            sync_delay: self.sync_delay.in_units_of(unit),
            delay_unit: unit_name,
            max_overtaken: self.max_overtaken,
            out_of_order: properties.out_of_order(),
            other_nodes: self
                .coordinator
                .map(|_| cost(self.entries - self.coordinator_entries, messages.total() - coordinator_messages)),
            coordinator: self.coordinator.map(|_| cost(self.coordinator_entries, coordinator_messages)),
            views: self.views.map(|views| ViewSummary {
                accepted: self.resource.accepted,
                refused: self.resource.refused,
                ..views
            }),
        }
    }

    fn record_request(&mut self, time: Time, node: NodeId) {
        let is_uncontended = self.waiting.is_empty() && self.holder_count == 0;
        self.request_count += 1;
        if let Some(serial) = self.latest_serials.get_mut(node.index()) {
            *serial = self.request_count;
        }
        self.waiting.insert(self.request_count, Request { node, time, is_uncontended, overtaken: 0 });
    }

    fn record_entry(&mut self, time: Time, node: NodeId, before: LockPhase) {
        self.entries += 1;
        self.holder_count += usize::from(before != LockPhase::Holding);
        let is_coordinator = self.coordinator == Some(node);
        self.coordinator_entries += u64::from(is_coordinator);
        let handover = self.handover.take();
        let Some((serial, request)) = self.remove_request(node) else { return };
        for overtaken in self.waiting.range_mut(..serial).map(|(_, request)| &mut request.overtaken) {
            *overtaken += 1;
            self.max_overtaken = self.max_overtaken.max(*overtaken);
        }
        if is_coordinator {
            return;
        }
        if request.is_uncontended && self.request_count == serial {
            self.client_delay.add(time.since(request.time));
        }
        if let Some((released_at, waiter)) = handover
            && waiter == node
        {
            self.sync_delay.add(time.since(released_at));
        }
    }

    /// Records a release, and whether it begins a handover.
    fn record_release(&mut self, time: Time, node: NodeId) {
        self.holder_count = self.holder_count.saturating_sub(1);
        let mut waiting = self.waiting.values();
        self.handover = match (waiting.next(), waiting.next()) {
            (Some(only), None) if self.coordinator != Some(node) && time.since(only.time) >= self.arrival_delay => {
                Some((time, only.node))
            }
            _ => None,
        };
    }

    /// Removes the waiting request of a node.
    fn remove_request(&mut self, node: NodeId) -> Option<(u64, Request)> {
        let serial = *self.latest_serials.get(node.index())?;
        self.waiting.remove(&serial).map(|request| (serial, request))
    }
}

impl Observer<Command, Event> for Measures {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Some(views) = &mut self.views {
            views.observe(moment);
            self.resource.observe(moment);
        }
        let Some((time, node, change)) = observed_change(moment) else { return };
        let Some(phase) = self.phases.get_mut(node.index()) else { return };
        let before = *phase;
        *phase = before.after(change);
        match (before, change) {
            (LockPhase::Idle, Change::Requests(..)) => self.record_request(time, node),
            (_, Change::Enters { .. }) => self.record_entry(time, node, before),
            (LockPhase::Holding, Change::Leaves) => self.record_release(time, node),
            (LockPhase::Holding, Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => {
                self.holder_count = self.holder_count.saturating_sub(1);
            }
            (LockPhase::Waiting, Change::Leaves | Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => {
                self.remove_request(node);
                self.handover = None;
            }
            (LockPhase::Waiting | LockPhase::Holding, Change::Requests(..))
            | (_, Change::Extends { .. })
            | (LockPhase::Idle, Change::Leaves | Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => {}
        }
    }
}

/// Entries and their cost, as `--json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MutexSummary {
    pub entries: u64,
    /// Messages divided by entries, all nodes together.
    pub messages_per_entry: Option<f64>,
    /// Delay from request to entry without contention.
    pub client_delay: Option<Delay>,
    /// Delay from a release to the next entry with exactly one waiter.
    pub sync_delay: Option<Delay>,
    /// The unit of delays: `T`, one message time, under fixed latency; else `ms`.
    pub delay_unit: &'static str,
    /// Maximum number of entries by later requests ahead of an earlier one.
    #[serde(rename = "overtaken_max")]
    pub max_overtaken: u64,
    /// Number of entries ahead of a conflicting request that had happened before their own request;
    /// absent if not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// Entries of all nodes but the coordinator.
    #[serde(rename = "others", skip_serializing_if = "Option::is_none")]
    pub other_nodes: Option<EntryCost>,
    /// Entries of the coordinator.
    #[serde(rename = "own", skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<EntryCost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub views: Option<ViewSummary>,
}

/// Figures of a run in views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ViewSummary {
    /// The epoch of the last installed view.
    pub epoch: u64,
    /// Number of entries that ended because the group removed their nodes.
    pub lost: u64,
    /// How often the protected resource accepted an access.
    pub accepted: u64,
    /// How often the resource rejected an access with an old fence.
    pub refused: u64,
    /// The longest time from a crash to the next entry, in nanoseconds; `None` without such an
    /// entry.
    pub recovery_ns: Option<u64>,
    /// When the first crash since the last entry happened.
    #[serde(skip)]
    crashed_at: Option<Time>,
}

impl ViewSummary {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match observed_change(moment) {
            Some((time, _, Change::Crashes)) => self.crashed_at = self.crashed_at.or(Some(time)),
            Some((time, _, Change::Enters { .. })) => {
                let recovery_nanos = self.crashed_at.take().map(|crashed_at| time.since(crashed_at).nanos());
                self.recovery_ns = self.recovery_ns.max(recovery_nanos);
            }
            Some(_) | None => {}
        }
        if let Some((_, _, MembershipNote::View(view))) = membership_note(moment) {
            self.epoch = self.epoch.max(view.epoch().0);
        }
        if let Moment::Effect { effect: ObservedEffect::Emit(Event::Lost), .. } = moment {
            self.lost += 1;
        }
    }
}

/// Entries of some nodes, and their cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EntryCost {
    pub entries: u64,
    pub messages_per_entry: Option<f64>,
}
