//! A membership that never fails: it lets nodes have views and leases, as a service would that no fault strikes.
//!
//! Members ask it for their leases by keepalives, which take as long as any message and are lost like any. It is reached by whoever can talk
//! both ways with a majority of all nodes, as if it were kept by them. It obeys the rules of [`quorate_core::membership`], on a clock of
//! its own that drifts within the bound.

use super::{Pending, World};
use quorate_core::membership::{Answer, Membership, Request, Suspicion, Terms};
use quorate_core::{Duration, Epoch, Group, Incarnation, Input, NodeId, Time, View, WriteOf, majority};
use quorate_journal::Recordable;
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::moment::{Observer, Taken};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::puppets::Condition;
use quorate_journal::settings::{Chance, Latency};
use serde::Serialize;

/// How the membership is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Views {
    pub terms: Terms,
    /// Whether it waits for a lease to run out before it goes on without its member, as it must.
    pub waits: bool,
}

pub(super) struct Oracle {
    membership: Membership,
    /// What members are told of their leases.
    terms: Terms,
    clock: NodeClock,
    dice: Dice,
    latency: Latency,
    loss: Chance,
    /// The instant of the next look at the leases, if one is planned.
    look: Option<Time>,
    /// For each node, which view that life of it has taken last.
    taken: Vec<(Incarnation, Epoch)>,
    /// For each node, the life of it that has asked to be let out, if one has.
    departed: Vec<Option<Incarnation>>,
}

/// Something that the oracle, or somebody on the way to it, does at an instant.
pub(super) enum Errand {
    /// A member's keepalive is due.
    Beat(NodeId),
    /// A keepalive arrives that this life of a node sent at that instant of its clock.
    Asked { node: NodeId, incarnation: Incarnation, asked: Time },
    /// A node's kernel closes its connection, or somebody forges that.
    Closed { node: NodeId, incarnation: Incarnation },
    /// A lease may have run out.
    Look,
}

/// What the oracle tells a life of a node.
pub(super) struct Notice {
    node: NodeId,
    incarnation: Incarnation,
    news: News,
}

enum News {
    View(View),
    Lease(Time),
}

impl Notice {
    pub(super) const fn node(&self) -> NodeId {
        self.node
    }
}

impl Oracle {
    fn new(views: &Views, nodes: usize, seed: u64, latency: Latency, loss: Chance) -> Self {
        let Views { terms, waits } = *views;
        let mut dice = Dice::new(seed, Stream::Membership);
        let bound = u64::from(terms.drift_ppm);
        let drift = i64::try_from(dice.below(2 * bound + 1)).unwrap_or(0) - i64::from(terms.drift_ppm);
        let mut clock = NodeClock::right(Time::ZERO);
        clock.drift(Time::ZERO, i32::try_from(drift).unwrap_or(0));
        let kept = if waits { terms } else { Terms { lease: terms.keepalive.times(2), ..terms } };
        let membership = Membership::founding(&Group::of_size(nodes), kept);
        let taken = vec![(Incarnation::FIRST, Epoch::default()); nodes];
        let departed = vec![None; nodes];
        Self { membership, terms, clock, dice, latency, loss, look: None, taken, departed }
    }

    /// Its own time, since the beginning.
    fn now(&self, time: Time) -> Duration {
        self.clock.at(time).since(Time::ZERO)
    }

    fn apply(&mut self, time: Time, request: Request) -> Answer {
        let at = self.now(time);
        self.membership.apply(at, request)
    }

    /// What this life of a node asks for: to stay, to be let in, or to be let out; nothing once it is.
    fn request(&self, node: NodeId, incarnation: Incarnation) -> Option<Request> {
        let departs = self.departed.get(node.index()) == Some(&Some(incarnation));
        match self.membership.view().stay(node) {
            Some(stay) if stay.incarnation == incarnation && departs => Some(Request::Leave { node, stay }),
            Some(stay) if stay.incarnation == incarnation => Some(Request::Renew { node, stay }),
            Some(_) | None => (!departs).then_some(Request::Join { node, incarnation }),
        }
    }

    /// When the next lease runs out, truly.
    fn next_look(&self, time: Time) -> Option<Time> {
        let left = Duration::from_nanos(self.membership.next_expiry()?.nanos().saturating_sub(self.now(time).nanos()));
        Some(time + self.clock.true_length(left))
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Lets nodes have views and leases from the start on. To be called before the start.
    pub fn keep_views(&mut self, views: &Views, seed: u64) {
        let (latency, loss) = self.around.network.usual();
        self.oracle = Some(Box::new(Oracle::new(views, self.slots.len(), seed, latency, loss)));
    }

    /// Everyone who is up is in the first view, and has a lease.
    pub(super) fn found(&mut self) {
        let Some(oracle) = &self.oracle else { return };
        let view = oracle.membership.view();
        let (keepalive, trusted) = (oracle.terms.keepalive, oracle.terms.trusted());
        let nodes = self.slots.len() as u64;
        for node in (0..self.slots.len()).map(NodeId::from_index) {
            let Some(slot) = self.slots.get(node.index()) else { return };
            let until = slot.host.now(self.around.time) + trusted;
            let incarnation = slot.host.incarnation();
            for news in [News::View(view.clone()), News::Lease(until)] {
                self.arrive(Pending::Notice(Box::new(Notice { node, incarnation, news })));
            }
            // They do not all ask at the same time.
            let share = Duration::from_nanos(keepalive.nanos() / nodes.max(1) * (node.index() as u64 + 1));
            self.errand(share, Errand::Beat(node));
            if !self.is_up(node) {
                self.close(node);
            }
        }
        self.plan_look();
    }

    fn errand(&mut self, after: Duration, errand: Errand) {
        self.around.push(self.around.time + after, Pending::Errand(errand));
    }

    pub(super) fn run_errand(&mut self, errand: Errand) {
        match errand {
            Errand::Beat(node) => self.beat(node),
            Errand::Asked { node, incarnation, asked } => self.answer(node, incarnation, asked),
            Errand::Closed { node, incarnation } => self.suspect(node, incarnation),
            Errand::Look => self.look(),
        }
    }

    /// A keepalive sets out, if its node runs.
    fn beat(&mut self, node: NodeId) {
        let Some(oracle) = &self.oracle else { return };
        self.errand(oracle.terms.keepalive, Errand::Beat(node));
        self.ask(node);
    }

    fn ask(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get(node.index()).filter(|slot| slot.host.condition == Condition::Up) else {
            return;
        };
        let asks = Errand::Asked { node, incarnation: slot.host.incarnation(), asked: slot.host.now(self.around.time) };
        if let Some(delay) = self.way(node) {
            self.errand(delay, asks);
        }
    }

    /// How long it takes to the oracle or back, if anything gets through.
    fn way(&mut self, node: NodeId) -> Option<Duration> {
        if self.oracle.is_none() || !self.reaches(node) {
            return None;
        }
        let oracle = self.oracle.as_mut()?;
        let delay = oracle.dice.length(oracle.latency);
        (!oracle.dice.happens(oracle.loss)).then_some(delay)
    }

    /// Whether a node can talk both ways with a majority.
    fn reaches(&self, node: NodeId) -> bool {
        let network = &self.around.network;
        let others = (0..self.slots.len()).map(NodeId::from_index);
        let met = others.filter(|other| !network.is_cut(node, *other) && !network.is_cut(*other, node)).count();
        met >= majority(self.slots.len())
    }

    fn answer(&mut self, node: NodeId, incarnation: Incarnation, asked: Time) {
        if !self.reaches(node) {
            return;
        }
        let Some(oracle) = &mut self.oracle else { return };
        let Some(request) = oracle.request(node, incarnation) else { return };
        let before = oracle.membership.epoch();
        let answer = oracle.apply(self.around.time, request);
        let view = oracle.membership.view();
        let until = asked + oracle.terms.trusted();
        let is_news = oracle.taken.get(node.index()) != Some(&(incarnation, view.epoch()));
        self.publish(before, Some(node));
        let lease = matches!(answer, Answer::In(_)).then_some(News::Lease(until));
        let Some(delay) = self.way(node) else { return };
        for news in is_news.then_some(News::View(view)).into_iter().chain(lease) {
            self.notify(delay, Notice { node, incarnation, news });
        }
    }

    fn notify(&mut self, delay: Duration, notice: Notice) {
        self.around.push(self.around.time + delay, Pending::Notice(Box::new(notice)));
    }

    /// A node is down, or restarts, which its kernel tells.
    pub(super) fn close(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get(node.index()) else { return };
        let closed = Errand::Closed { node, incarnation: slot.host.incarnation() };
        if let Some(delay) = self.way(node) {
            self.errand(delay, closed);
        }
    }

    /// A node that is back need not wait for its next keepalive.
    pub(super) fn come_back(&mut self, node: NodeId) {
        if self.oracle.is_some() {
            self.ask(node);
        }
    }

    /// A node has nothing more to do in its group. Its keepalives ask to be let out from now on, and the first one goes at once.
    pub fn depart(&mut self, node: NodeId) {
        let Some(incarnation) = self.slots.get(node.index()).map(|slot| slot.host.incarnation()) else { return };
        let Some(oracle) = &mut self.oracle else { return };
        if let Some(departed) = oracle.departed.get_mut(node.index()) {
            *departed = Some(incarnation);
        }
        self.ask(node);
    }

    fn suspect(&mut self, node: NodeId, incarnation: Incarnation) {
        let Some(oracle) = &mut self.oracle else { return };
        let Some(stay) = oracle.membership.view().stay(node).filter(|stay| stay.incarnation == incarnation) else {
            return;
        };
        let before = oracle.membership.epoch();
        oracle.apply(self.around.time, Request::Suspect { node, stay, by: node, why: Suspicion::Closed });
        self.publish(before, None);
    }

    fn look(&mut self) {
        let Some(oracle) = &mut self.oracle else { return };
        oracle.look = None;
        let before = oracle.membership.epoch();
        oracle.apply(self.around.time, Request::Tick);
        self.publish(before, None);
    }

    /// Tells everyone who can be reached of a new view. Who cannot learns of it when it asks.
    fn publish(&mut self, before: Epoch, but: Option<NodeId>) {
        self.plan_look();
        let Some(oracle) = self.oracle.as_ref().filter(|oracle| oracle.membership.epoch() != before) else { return };
        let view = oracle.membership.view();
        for node in (0..self.slots.len()).map(NodeId::from_index).filter(|node| Some(*node) != but) {
            let Some(incarnation) = self.slots.get(node.index()).map(|slot| slot.host.incarnation()) else { return };
            if let Some(delay) = self.way(node) {
                self.notify(delay, Notice { node, incarnation, news: News::View(view.clone()) });
            }
        }
    }

    fn plan_look(&mut self) {
        let time = self.around.time;
        let Some(oracle) = &mut self.oracle else { return };
        let Some(next) = oracle.next_look(time).filter(|next| oracle.look.is_none_or(|look| *next < look)) else {
            return;
        };
        oracle.look = Some(next);
        self.around.push(next, Pending::Errand(Errand::Look));
    }

    /// A node hears from the oracle. What it knows already, or what was meant for another life, is no news.
    pub(super) fn hear_notice(&mut self, notice: Notice) {
        let Notice { node, incarnation, news } = notice;
        let present = self.slots.get(node.index()).map(|slot| slot.host.incarnation());
        if present != Some(incarnation) {
            return;
        }
        match news {
            News::View(view) => {
                let known = self.oracle.as_mut().and_then(|oracle| oracle.taken.get_mut(node.index()));
                let Some(known) = known.filter(|known| **known < (incarnation, view.epoch())) else { return };
                *known = (incarnation, view.epoch());
                self.tell(node, Taken::View(&view));
                self.step(node, Input::View(view));
            }
            // An answer that came too late renews nothing, and ends nothing.
            News::Lease(until)
                if self.slots.get(node.index()).is_some_and(|slot| until <= slot.host.now(self.around.time)) => {}
            News::Lease(until) => {
                self.tell(node, Taken::Lease(until));
                self.step(node, Input::Lease(until));
            }
        }
    }
}
