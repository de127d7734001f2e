//! A membership service that never fails: it gives nodes views and leases.
//!
//! Members renew their leases by keepalives, which have the default delays and losses of messages.
//! A node reaches the service if it can communicate in both directions with a majority of all
//! nodes, itself included, as if the nodes ran the service. The service follows the rules of
//! [`quorate_core::membership`], on a clock that drifts within the bound of the lease terms.

use super::{PendingEvent, World};
use quorate_core::membership::{Answer, LeaseTerms, Membership, Request, Suspicion};
use quorate_core::{Duration, Epoch, Group, Incarnation, Input, NodeId, Time, View, WriteOf, majority};
use quorate_journal::Recordable;
use quorate_journal::moment::{ObservedInput, Observer};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::replay_nodes::Condition;
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Chance, Latency};
use serde::Serialize;

/// Settings of the membership service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipSettings {
    /// The terms by which members compute the end of their leases.
    pub terms: LeaseTerms,
    /// Whether the service waits for the lease of a silent member to expire before it removes the
    /// member. A correct service does.
    pub waits_for_leases: bool,
}

pub(super) struct MembershipService {
    membership: Membership,
    /// The terms by which members compute the end of their leases.
    terms: LeaseTerms,
    clock: NodeClock,
    rng: SeededRng,
    latency: Latency,
    loss: Chance,
    /// The time of the next scheduled check for expired leases.
    next_check: Option<Time>,
    /// For each node, the incarnation that received a view last, and the epoch of that view.
    latest_views: Vec<(Incarnation, Epoch)>,
    /// For each node, the incarnation that has asked to leave, if any.
    leaving: Vec<Option<Incarnation>>,
}

/// A scheduled event of the membership service or of the path to it.
pub(super) enum MembershipEvent {
    /// A node's next keepalive is due.
    KeepaliveDue(NodeId),
    /// A keepalive arrives at the service. The node's own clock showed `sent_at` when it sent the
    /// keepalive.
    KeepaliveArrives { node: NodeId, incarnation: Incarnation, sent_at: Time },
    /// The service is notified that a node's connection was closed, by a crash or by a fault of the
    /// network.
    ConnectionClosed { node: NodeId, incarnation: Incarnation },
    /// A lease may have expired.
    CheckLeases,
}

/// A message of the membership service to one incarnation of a node.
pub(super) struct MembershipNotice {
    node: NodeId,
    incarnation: Incarnation,
    update: Update,
}

enum Update {
    View(View),
    Lease(Time),
}

impl MembershipNotice {
    pub(super) const fn node(&self) -> NodeId {
        self.node
    }
}

impl MembershipService {
    fn new(settings: &MembershipSettings, nodes: usize, seed: u64, latency: Latency, loss: Chance) -> Self {
        let MembershipSettings { terms, waits_for_leases } = *settings;
        let mut rng = SeededRng::new(seed, Stream::Membership);
        // The drift of the clock is anywhere between its two bounds.
        let drift_bound = u64::from(terms.drift_ppm);
        let drift = i64::try_from(rng.below(2 * drift_bound + 1)).unwrap_or(0) - i64::from(terms.drift_ppm);
        let mut clock = NodeClock::synchronized(Time::ZERO);
        clock.drift(Time::ZERO, i32::try_from(drift).unwrap_or(0));
        // An incorrect service lets a member trust its full lease, but removes a silent member
        // after two keepalive intervals.
        let service_terms =
            if waits_for_leases { terms } else { LeaseTerms { lease: terms.keepalive.times(2), ..terms } };
        let membership = Membership::founding(&Group::of_size(nodes), service_terms);
        let latest_views = vec![(Incarnation::FIRST, Epoch::default()); nodes];
        let leaving = vec![None; nodes];
        Self { membership, terms, clock, rng, latency, loss, next_check: None, latest_views, leaving }
    }

    /// Returns the time since the start by the service's own clock.
    fn clock_reading(&self, time: Time) -> Duration {
        self.clock.at(time).since(Time::ZERO)
    }

    fn apply(&mut self, time: Time, request: Request) -> Answer {
        let at = self.clock_reading(time);
        self.membership.apply(at, request)
    }

    /// Returns the request that a node's keepalive carries: to renew its lease, to join or to
    /// leave. `None` once the node has left.
    fn next_request(&self, node: NodeId, incarnation: Incarnation) -> Option<Request> {
        let is_leaving = self.leaving.get(node.index()) == Some(&Some(incarnation));
        match self.membership.view().stay(node) {
            Some(stay) if stay.incarnation == incarnation && is_leaving => Some(Request::Leave { node, stay }),
            Some(stay) if stay.incarnation == incarnation => Some(Request::Renew { node, stay }),
            Some(_) | None => (!is_leaving).then_some(Request::Join { node, incarnation }),
        }
    }

    /// Returns the true time at which the next lease expires; `time` is the current true time.
    fn next_expiry(&self, time: Time) -> Option<Time> {
        let remaining = Duration::from_nanos(
            self.membership.next_expiry()?.nanos().saturating_sub(self.clock_reading(time).nanos()),
        );
        Some(time + self.clock.true_duration(remaining))
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Adds a membership service that gives nodes views and leases. Must be called before
    /// [`start`](Self::start).
    pub fn add_membership_service(&mut self, settings: &MembershipSettings, seed: u64) {
        let (latency, loss) = self.environment.network.default_behavior();
        let service = MembershipService::new(settings, self.slots.len(), seed, latency, loss);
        self.membership_service = Some(Box::new(service));
    }

    /// Gives all nodes that are up the first view and a lease, reports the others to the service,
    /// and schedules the keepalives of all.
    pub(super) fn start_membership(&mut self) {
        let Some(service) = &self.membership_service else { return };
        let view = service.membership.view();
        let (keepalive, trusted_for) = (service.terms.keepalive, service.terms.trusted_for());
        let nodes = self.slots.len() as u64;
        for node in (0..self.slots.len()).map(NodeId::from_index) {
            let Some(slot) = self.slots.get(node.index()) else { return };
            let until = slot.host.clock_reading(self.environment.time) + trusted_for;
            let incarnation = slot.host.incarnation();
            for update in [Update::View(view.clone()), Update::Lease(until)] {
                self.arrive(PendingEvent::MembershipNotice(Box::new(MembershipNotice { node, incarnation, update })));
            }
            // Spread the keepalives of the nodes over the interval.
            let offset = Duration::from_nanos(keepalive.nanos() / nodes.max(1) * (node.index() as u64 + 1));
            self.schedule_membership_event(offset, MembershipEvent::KeepaliveDue(node));
            if !self.is_up(node) {
                self.report_closed_connection(node);
            }
        }
        self.schedule_lease_check();
    }

    fn schedule_membership_event(&mut self, delay: Duration, event: MembershipEvent) {
        self.environment.push(self.environment.time + delay, PendingEvent::Membership(event));
    }

    pub(super) fn handle_membership_event(&mut self, event: MembershipEvent) {
        match event {
            MembershipEvent::KeepaliveDue(node) => self.handle_keepalive_due(node),
            MembershipEvent::KeepaliveArrives { node, incarnation, sent_at } => {
                self.answer_keepalive(node, incarnation, sent_at);
            }
            MembershipEvent::ConnectionClosed { node, incarnation } => self.suspect(node, incarnation),
            MembershipEvent::CheckLeases => self.check_leases(),
        }
    }

    /// Sends a keepalive, unless the node is down or paused, and schedules the next one.
    fn handle_keepalive_due(&mut self, node: NodeId) {
        let Some(service) = &self.membership_service else { return };
        self.schedule_membership_event(service.terms.keepalive, MembershipEvent::KeepaliveDue(node));
        self.send_keepalive(node);
    }

    fn send_keepalive(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get(node.index()).filter(|slot| slot.host.condition == Condition::Up) else {
            return;
        };
        let (incarnation, sent_at) = (slot.host.incarnation(), slot.host.clock_reading(self.environment.time));
        if let Some(delay) = self.service_delay(node) {
            self.schedule_membership_event(delay, MembershipEvent::KeepaliveArrives { node, incarnation, sent_at });
        }
    }

    /// Draws the delay of a message between a node and the service. `None` if the message is lost,
    /// the node does not reach the service, or there is no service.
    fn service_delay(&mut self, node: NodeId) -> Option<Duration> {
        if self.membership_service.is_none() || !self.reaches_service(node) {
            return None;
        }
        let service = self.membership_service.as_mut()?;
        let delay = service.rng.draw_latency(service.latency);
        (!service.rng.happens(service.loss)).then_some(delay)
    }

    /// Returns whether a node can communicate in both directions with a majority of the nodes.
    fn reaches_service(&self, node: NodeId) -> bool {
        let network = &self.environment.network;
        let others = (0..self.slots.len()).map(NodeId::from_index);
        let reached = others.filter(|other| !network.is_cut(node, *other) && !network.is_cut(*other, node)).count();
        reached >= majority(self.slots.len())
    }

    fn answer_keepalive(&mut self, node: NodeId, incarnation: Incarnation, sent_at: Time) {
        if !self.reaches_service(node) {
            return;
        }
        let Some(service) = &mut self.membership_service else { return };
        let Some(request) = service.next_request(node, incarnation) else { return };
        let epoch_before = service.membership.epoch();
        let answer = service.apply(self.environment.time, request);
        let view = service.membership.view();
        let until = sent_at + service.terms.trusted_for();
        let is_new_view = service.latest_views.get(node.index()) != Some(&(incarnation, view.epoch()));
        self.publish_view(epoch_before, Some(node));
        let lease = matches!(answer, Answer::Member(_)).then_some(Update::Lease(until));
        let Some(delay) = self.service_delay(node) else { return };
        for update in is_new_view.then_some(Update::View(view)).into_iter().chain(lease) {
            self.send_notice(delay, MembershipNotice { node, incarnation, update });
        }
    }

    fn send_notice(&mut self, delay: Duration, notice: MembershipNotice) {
        self.environment.push(self.environment.time + delay, PendingEvent::MembershipNotice(Box::new(notice)));
    }

    /// Notifies the service that a node's kernel closed its connection, because the node is down or
    /// because of a fault.
    pub(super) fn report_closed_connection(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get(node.index()) else { return };
        let incarnation = slot.host.incarnation();
        if let Some(delay) = self.service_delay(node) {
            self.schedule_membership_event(delay, MembershipEvent::ConnectionClosed { node, incarnation });
        }
    }

    /// Sends a keepalive of a restarted node at once.
    pub(super) fn rejoin(&mut self, node: NodeId) {
        if self.membership_service.is_some() {
            self.send_keepalive(node);
        }
    }

    /// Makes a node leave its group: until it restarts, its keepalives ask to leave. Unless it is
    /// down or paused, the node sends one at once. Does nothing without a membership service.
    pub fn depart(&mut self, node: NodeId) {
        let Some(incarnation) = self.slots.get(node.index()).map(|slot| slot.host.incarnation()) else { return };
        let Some(service) = &mut self.membership_service else { return };
        if let Some(leaving) = service.leaving.get_mut(node.index()) {
            *leaving = Some(incarnation);
        }
        self.send_keepalive(node);
    }

    fn suspect(&mut self, node: NodeId, incarnation: Incarnation) {
        let Some(service) = &mut self.membership_service else { return };
        let Some(stay) = service.membership.view().stay(node).filter(|stay| stay.incarnation == incarnation) else {
            return;
        };
        let epoch_before = service.membership.epoch();
        // No other member reports the closed connection, so `by` names the node itself.
        service.apply(self.environment.time, Request::Suspect { node, stay, by: node, suspicion: Suspicion::Closed });
        self.publish_view(epoch_before, None);
    }

    fn check_leases(&mut self) {
        let Some(service) = &mut self.membership_service else { return };
        service.next_check = None;
        let epoch_before = service.membership.epoch();
        service.apply(self.environment.time, Request::Tick);
        self.publish_view(epoch_before, None);
    }

    /// Sends the current view to all reachable nodes but `except`, if it is newer than
    /// `epoch_before`. A node that does not receive it receives the latest view in answer to a
    /// later keepalive. In any case schedules the next check for expired leases.
    fn publish_view(&mut self, epoch_before: Epoch, except: Option<NodeId>) {
        self.schedule_lease_check();
        let Some(service) =
            self.membership_service.as_ref().filter(|service| service.membership.epoch() != epoch_before)
        else {
            return;
        };
        let view = service.membership.view();
        for node in (0..self.slots.len()).map(NodeId::from_index).filter(|node| Some(*node) != except) {
            let Some(incarnation) = self.slots.get(node.index()).map(|slot| slot.host.incarnation()) else { return };
            if let Some(delay) = self.service_delay(node) {
                self.send_notice(delay, MembershipNotice { node, incarnation, update: Update::View(view.clone()) });
            }
        }
    }

    fn schedule_lease_check(&mut self) {
        let time = self.environment.time;
        let Some(service) = &mut self.membership_service else { return };
        let is_earlier = |next: &Time| service.next_check.is_none_or(|scheduled| *next < scheduled);
        let Some(next) = service.next_expiry(time).filter(is_earlier) else { return };
        service.next_check = Some(next);
        self.environment.push(next, PendingEvent::Membership(MembershipEvent::CheckLeases));
    }

    /// Gives a node a view or a lease from the service. Ignores a notice for an earlier
    /// incarnation, a view that is not newer than the node's last one, and a lease that has already
    /// expired.
    pub(super) fn receive_notice(&mut self, notice: MembershipNotice) {
        let MembershipNotice { node, incarnation, update } = notice;
        let current_incarnation = self.slots.get(node.index()).map(|slot| slot.host.incarnation());
        if current_incarnation != Some(incarnation) {
            return;
        }
        match update {
            Update::View(view) => {
                let service = self.membership_service.as_mut();
                let latest = service.and_then(|service| service.latest_views.get_mut(node.index()));
                let Some(latest) = latest.filter(|latest| **latest < (incarnation, view.epoch())) else { return };
                *latest = (incarnation, view.epoch());
                self.observe_input(node, ObservedInput::View(&view));
                self.step(node, Input::View(view));
            }
            // A late answer neither renews nor ends a lease.
            Update::Lease(until)
                if self
                    .slots
                    .get(node.index())
                    .is_some_and(|slot| until <= slot.host.clock_reading(self.environment.time)) => {}
            Update::Lease(until) => {
                self.observe_input(node, ObservedInput::Lease(until));
                self.step(node, Input::Lease(until));
            }
        }
    }
}
