//! Failure detection: heartbeats around a protocol, which is told whom to take for dead.
//!
//! Every node sends a heartbeat to all others once a period, and any message is a sign of life. Who gives no sign for too long is suspected;
//! who gives one again is trusted again. What is too long is the detector's choice: a fixed bound, or what a peer's own pace so far makes
//! unlikely (the φ accrual of Hayashibara and others, 2004).
//!
//! ```text
//! WA-1  a life begins              → send a heartbeat at once, and another one every period
//! WA-2  a peer gives a sign        → wait for its next one from now on: for a period and the bound, or by its pace
//! WA-3  the wait ends in silence   → suspect the peer
//! WA-4  a suspect gives a sign     → trust it again, before what it says is handed on
//! WA-5  a peer shows a new life    → it was dead, whether we noticed or not: suspect it unless we do, then trust it
//! WA-6  a message of a past life   → hand it on; it is no sign of the present one
//! WA-7  a heartbeat comes          → by an accrual detector, the gap since the last one tells the peer's pace
//! WA-8  somebody else suspects     → a driver that knows of a death or a return is believed, and nothing is told twice
//! ```
//!
//! Cost: n−1 heartbeats a node and period, all counted as control. A crash is noticed within a period and the wait: with a fixed bound no
//! later than twice the period and the bound after it.
//!
//! Assumes: with a fixed bound, that no message takes longer than the bound, none is lost, and nodes are as fast as they are taken to be.
//! Then it is perfect: whoever is suspected is dead and will not be heard of again, and whoever is dead is suspected. An accrual detector
//! assumes only that a living peer's beats go on to come, and makes mistakes at a rate that its threshold sets. Either needs incarnations
//! that grow.
//!
//! When it fails: a bound that is too short makes suspects of the living (it is not accurate), again and again; one that is too long
//! notices late. The accrual detector learns from every mistake, so with beats that arrive at all it makes fewer and fewer. In a partition each side
//! suspects the other, and is right to for as long as it lasts.
//!
//! Departs from the paper: a gap that was taken for death counts as no more than twice the silence that was allowed, so that one long outage
//! does not make the detector blind; and the deviation is never taken for less than a tenth of the period.

mod pace;
mod signal;
#[cfg(test)]
mod tests;
mod threshold;

pub use signal::{Signal, WatchedTimer};
pub use threshold::Threshold;

use crate::about::About;
use crate::wrap::prelude::*;
use core::cmp::Ordering;
use pace::Pace;

/// What failure detection does and by which rules: the header of this file.
pub fn about() -> About {
    About::of_source(include_str!("mod.rs"))
}

/// How silence becomes suspicion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Detector {
    /// After a period and this bound.
    FixedBound {
        /// From one heartbeat to the next.
        period: Duration,
        /// By how much later than that a heartbeat may come.
        bound: Duration,
    },
    /// When silence is as unlikely as this, by the latest gaps between heartbeats.
    Accrual {
        period: Duration,
        threshold: Threshold,
        /// How many gaps are remembered, from 2 up to 1024.
        window: u16,
    },
}

impl Detector {
    /// How many gaps an accrual detector usually remembers.
    pub const USUAL_WINDOW: u16 = 200;

    /// The detector that makes no mistake in a group of this size in which nothing takes longer than this. A node may have one input
    /// of each other node to see to before it comes to its own heartbeat.
    pub fn perfect(period: Duration, bounds: &Bounds, nodes: usize) -> Self {
        let bound = bounds.message + bounds.processing.times(nodes as u64 + 1);
        Self::FixedBound { period, bound }
    }

    /// An accrual detector that suspects at this level.
    pub const fn accrual(period: Duration, threshold: Threshold) -> Self {
        Self::Accrual { period, threshold, window: Self::USUAL_WINDOW }
    }

    /// From one heartbeat to the next.
    pub const fn period(&self) -> Duration {
        match self {
            Self::FixedBound { period, .. } | Self::Accrual { period, .. } => *period,
        }
    }
}

/// A protocol whose peers are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watched<P> {
    place: Fixed<Place>,
    life: Incarnation,
    inner: P,
    /// How many heartbeats of this life were sent, where that is counted.
    beats: u64,
    peers: BTreeMap<NodeId, Peer>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    detector: Detector,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Peer {
    /// Its latest life that was heard of.
    life: Option<Incarnation>,
    is_suspected: bool,
    /// How its heartbeats come, where the detector asks.
    pace: Option<Pace>,
}

impl<P: Protocol> Protocol for Watched<P> {
    type Command = P::Command;
    type Message = Signal<P::Message>;
    type Timer = WatchedTimer<P::Timer>;
    type Event = P::Event;
    type Durable = P::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => self.start(now, durable, incarnation, out),
            Input::Message { from, message } => self.hear(now, from, message, out),
            Input::Timer(WatchedTimer::Beat) => self.beat(out),
            Input::Timer(WatchedTimer::Silence(peer)) => self.doubt(now, peer, out),
            Input::Suspect(node) => self.believe_death(now, node, out),
            Input::Trust(node) => self.believe_return(now, node, out),
            Input::Timer(WatchedTimer::Inner(timer)) => self.pass(now, Input::Timer(timer), out),
            Input::Command(command) => self.pass(now, Input::Command(command), out),
            Input::Saved(count) => self.pass(now, Input::Saved(count), out),
            Input::DiskFull => self.pass(now, Input::DiskFull, out),
            Input::DiskFree => self.pass(now, Input::DiskFree, out),
            Input::View(view) => self.pass(now, Input::View(view), out),
            Input::Lease(until) => self.pass(now, Input::Lease(until), out),
        }
    }
}

impl<P: Protocol> Watched<P> {
    /// The node `me` of this group, which watches all others by this detector.
    pub fn new(me: NodeId, group: Group, inner: P, detector: Detector) -> Self {
        let place = Fixed::new(Place { me, group, detector });
        Self { place, life: Incarnation::FIRST, inner, beats: 0, peers: BTreeMap::new() }
    }

    /// The protocol inside.
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// Whether it takes this peer for dead.
    pub fn suspects(&self, peer: NodeId) -> bool {
        self.peers.get(&peer).is_some_and(|peer| peer.is_suspected)
    }

    /// How high φ is for this peer at this instant, in thousandths. A detector with a fixed bound knows no levels.
    pub fn level(&self, peer: NodeId, now: Time) -> Option<u32> {
        let pace = self.peers.get(&peer)?.pace.as_ref()?;
        Some(pace.level(now.since(pace.heard), self.place.detector.period()))
    }

    /// WA-1. A life begins with trust in everyone, and knows nobody's life or pace. Who is alone has nobody to tell.
    fn start(&mut self, now: Time, durable: P::Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.life = incarnation;
        self.beats = 0;
        let fresh = Peer { life: None, is_suspected: false, pace: self.fresh_pace(now) };
        self.peers = self.place.group.others(self.place.me).map(|peer| (peer, fresh.clone())).collect();
        self.pass(now, Input::Start { durable, incarnation }, out);
        if self.peers.is_empty() {
            return;
        }
        self.beat(out);
        for (&peer, watched) in &self.peers {
            out.set_timer(WatchedTimer::Silence(peer), Span::exactly(self.allowed(watched)));
        }
    }

    /// WA-1. A heartbeat promises nothing, so it waits for no disk. Only pace asks which beat it is; otherwise all are alike, and a
    /// checker sees that nothing has changed.
    fn beat(&mut self, out: &mut Effects<'_, Self>) {
        out.multicast_ahead(&self.place.group, Signal::Beat { life: self.life, number: self.beats });
        if matches!(self.place.detector, Detector::Accrual { .. }) {
            self.beats += 1;
        }
        out.set_timer(WatchedTimer::Beat, Span::exactly(self.place.detector.period()));
    }

    /// What it says is handed on after what it tells of its sender.
    fn hear(&mut self, now: Time, from: NodeId, signal: Signal<P::Message>, out: &mut Effects<'_, Self>) {
        if self.is_present(now, from, signal.life(), out) {
            self.take_sign(now, from, signal.beat(), out);
        }
        match signal {
            Signal::Beat { .. } => {}
            Signal::Inner { message, .. } => self.pass(now, Input::Message { from, message }, out),
        }
    }

    /// WA-6. Whether this life of a peer is its present one, as far as anybody knows. Nobody outside of the group is watched, nor is
    /// the node itself.
    fn is_present(&mut self, now: Time, from: NodeId, life: Incarnation, out: &mut Effects<'_, Self>) -> bool {
        let Some(peer) = self.peers.get_mut(&from) else { return false };
        let is_first = peer.life.is_none();
        match life.cmp(peer.life.get_or_insert(life)) {
            // Whoever is back does not know whether this one was away meanwhile, and what was sent to it lost.
            Ordering::Equal if is_first && self.life > Incarnation::FIRST => {
                out.note("WA-5", format_args!("meets {from} for the first time since it is back"));
                self.pass(now, Input::Trust(from), out);
                true
            }
            Ordering::Less => {
                out.note("WA-6", format_args!("takes a message of {from}'s past life {life} for no sign"));
                false
            }
            Ordering::Equal => true,
            Ordering::Greater => {
                self.renew(now, from, life, out);
                true
            }
        }
    }

    /// WA-5. It has forgotten what it did not save, and so whoever counts on that must hear of it. What was known of its pace is over too.
    fn renew(&mut self, now: Time, from: NodeId, life: Incarnation, out: &mut Effects<'_, Self>) {
        let pace = self.fresh_pace(now);
        let Some(peer) = self.peers.get_mut(&from) else { return };
        peer.life = Some(life);
        peer.pace = pace;
        out.note("WA-5", format_args!("meets life {life} of {from}"));
        self.suspect(now, from, out);
    }

    /// WA-2, WA-4 and WA-7. Any sign postpones suspicion, but only heartbeats tell of pace: what the protocol inside says comes in bursts.
    fn take_sign(&mut self, now: Time, from: NodeId, beat: Option<u64>, out: &mut Effects<'_, Self>) {
        let detector = self.place.detector;
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if let (Some(pace), Detector::Accrual { period, threshold, window }) = (&mut peer.pace, detector) {
            if let Some(number) = beat {
                let allowed = pace.allowed(threshold, period);
                pace.learn(now, number, allowed, usize::from(window));
            }
            pace.heard = now;
        }
        let allowed = self.peers.get(&from).map(|peer| self.allowed(peer)).unwrap_or_default();
        out.set_timer(WatchedTimer::Silence(from), Span::exactly(allowed));
        if self.suspects(from) {
            out.note("WA-4", format_args!("hears of {from}, and trusts it again"));
            self.trust(now, from, out);
        }
    }

    /// WA-3.
    fn doubt(&mut self, now: Time, peer: NodeId, out: &mut Effects<'_, Self>) {
        out.note("WA-3", format_args!("has heard nothing of {peer} for too long"));
        self.suspect(now, peer, out);
    }

    /// WA-8. Whom we do not watch, others may.
    fn believe_death(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        if !self.peers.contains_key(&node) {
            return self.pass(now, Input::Suspect(node), out);
        }
        out.note("WA-8", format_args!("is told that {node} is dead"));
        out.cancel_timer(WatchedTimer::Silence(node));
        self.suspect(now, node, out);
    }

    /// WA-8. It is as good as a sign.
    fn believe_return(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        if !self.peers.contains_key(&node) {
            return self.pass(now, Input::Trust(node), out);
        }
        out.note("WA-8", format_args!("is told that {node} lives"));
        self.take_sign(now, node, None, out);
    }

    fn suspect(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        let Some(peer) = self.peers.get_mut(&node).filter(|peer| !peer.is_suspected) else { return };
        peer.is_suspected = true;
        self.pass(now, Input::Suspect(node), out);
    }

    fn trust(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        let Some(peer) = self.peers.get_mut(&node).filter(|peer| peer.is_suspected) else { return };
        peer.is_suspected = false;
        self.pass(now, Input::Trust(node), out);
    }

    /// For how long this peer may be silent.
    fn allowed(&self, peer: &Peer) -> Duration {
        match (self.place.detector, &peer.pace) {
            (Detector::FixedBound { period, bound }, _) => period + bound,
            (Detector::Accrual { period, threshold, .. }, Some(pace)) => pace.allowed(threshold, period),
            (Detector::Accrual { period, .. }, None) => period,
        }
    }

    fn fresh_pace(&self, now: Time) -> Option<Pace> {
        match self.place.detector {
            Detector::FixedBound { .. } => None,
            Detector::Accrual { period, .. } => Some(Pace::new(now, period)),
        }
    }

    /// The protocol inside takes an input; what it sends says which life of ours it is of.
    fn pass(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        let mut outward = Outward { life: self.life, out };
        self.inner.step(now, input, &mut Effects::new(&mut outward));
    }
}

struct Outward<'a, 'b, P: Protocol> {
    life: Incarnation,
    out: &'a mut Effects<'b, Watched<P>>,
}

impl<P: Protocol> Sink<P> for Outward<'_, '_, P> {
    fn effect(&mut self, effect: Effect<P>) {
        let signal = |message| Signal::Inner { life: self.life, message };
        let effect = match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: signal(message), order },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message: signal(message), order },
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: WatchedTimer::Inner(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(WatchedTimer::Inner(timer)),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        };
        self.out.put(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
