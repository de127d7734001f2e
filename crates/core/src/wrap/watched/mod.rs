//! Failure detection: heartbeats around a protocol, which learns which peers are suspected.
//!
//! Every node sends a heartbeat to all others once a period, and any message is a sign of life. A
//! peer that gives no sign for too long is suspected; when it gives one again, it is trusted again.
//! The detector determines how long is too long: a fixed bound, or a silence that the peer's
//! heartbeats so far make unlikely (the φ accrual detector of Hayashibara and others, 2004).
//!
//! ```text
//! WA-1  a node starts                        → send a heartbeat at once, and another one every period
//! WA-2  a peer gives a sign of life          → wait for its next one from now on: for a period and the
//!                                              bound, or as long as its pace allows
//! WA-3  the wait times out                   → suspect the peer
//! WA-4  a suspect gives a sign of life       → trust it again, before its message is delivered
//! WA-5  a peer shows a new incarnation       → it crashed, noticed or not: suspect it unless it is
//!                                              suspected already, then trust it; if we restarted,
//!                                              trust it at its first message too
//! WA-6  a message of a past incarnation      → deliver it; it is no sign of life of the current one
//! WA-7  a heartbeat arrives                  → with an accrual detector, learn the peer's pace from
//!                                              the gap since the last one
//! WA-8  the driver reports a crash or return → believe it, and pass each change on only once
//! ```
//!
//! Cost: n−1 heartbeats per node and period, all counted as control. A crash is noticed when the
//! wait after the last sign of life ends: with a fixed bound, at most a period and twice the bound
//! after the crash.
//!
//! Assumes: with a fixed bound, that no message takes longer than the bound, none is lost, and
//! nodes are as fast as the bound supposes. Then the detector is perfect: a suspected node is dead
//! and sends nothing more, and a dead node is suspected. An accrual detector assumes only that the
//! heartbeats of a live peer keep arriving, and makes mistakes at a rate that its threshold sets.
//! Either needs incarnations that increase.
//!
//! When it fails: a bound that is too short makes the detector suspect live nodes again and again
//! (it is not accurate); one that is too long makes it slow. The accrual detector learns from every
//! mistake, so as long as heartbeats arrive at all it makes fewer and fewer. In a partition each
//! side suspects the other, rightly for as long as the partition lasts.
//!
//! Departs from the paper: a gap that led to a suspicion counts as at most twice the silence that
//! was allowed, so that one long outage does not blind the detector; and the deviation is at least
//! a tenth of the period.

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

/// Parses the header of this file: how failure detection works, and by which rules.
pub fn about() -> About {
    About::from_source(include_str!("mod.rs"))
}

/// How long a peer may be silent before it is suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Detector {
    /// For a period and a bound.
    FixedBound {
        /// The time from one heartbeat to the next.
        period: Duration,
        /// How much more than a period may pass between the arrivals of two heartbeats.
        bound: Duration,
    },
    /// Until the silence is so improbable for a live peer, judged by the latest gaps between its
    /// heartbeats, that φ reaches the threshold.
    Accrual {
        period: Duration,
        threshold: Threshold,
        /// Number of gaps to remember, from 2 to 1024.
        window: u16,
    },
}

impl Detector {
    /// The default number of gaps that an accrual detector remembers.
    pub const DEFAULT_WINDOW: u16 = 200;

    /// Returns the detector that makes no mistake in a group of `nodes` nodes with these bounds. A
    /// node may have to handle one input of every other node before the timer of its own heartbeat,
    /// and the receiver handles the heartbeat: one processing time more than there are nodes.
    pub fn perfect(period: Duration, bounds: &Bounds, nodes: usize) -> Self {
        let bound = bounds.message + bounds.processing.times(nodes as u64 + 1);
        Self::FixedBound { period, bound }
    }

    /// Returns an accrual detector with this threshold and the default window.
    pub const fn accrual(period: Duration, threshold: Threshold) -> Self {
        Self::Accrual { period, threshold, window: Self::DEFAULT_WINDOW }
    }

    /// Returns the time from one heartbeat to the next.
    pub const fn period(&self) -> Duration {
        match self {
            Self::FixedBound { period, .. } | Self::Accrual { period, .. } => *period,
        }
    }
}

/// A protocol with a failure detector for its peers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watched<P> {
    config: Fixed<Config>,
    incarnation: Incarnation,
    inner: P,
    /// Number of heartbeats that this incarnation has sent; always 0 with a fixed bound.
    heartbeats_sent: u64,
    peers: BTreeMap<NodeId, Peer>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    detector: Detector,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Peer {
    /// The latest known incarnation of the peer.
    incarnation: Option<Incarnation>,
    is_suspected: bool,
    /// The pace of its heartbeats; `None` with a fixed bound.
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
            Input::Message { from, message } => self.receive(now, from, message, out),
            Input::Timer(WatchedTimer::NextHeartbeat) => self.send_heartbeat(out),
            Input::Timer(WatchedTimer::Silence(peer)) => self.handle_timeout(now, peer, out),
            Input::Suspect(node) => self.handle_crash_report(now, node, out),
            Input::Trust(node) => self.handle_return_report(now, node, out),
            Input::Timer(WatchedTimer::Inner(timer)) => self.step_inner(now, Input::Timer(timer), out),
            Input::Command(command) => self.step_inner(now, Input::Command(command), out),
            Input::Saved(count) => self.step_inner(now, Input::Saved(count), out),
            Input::DiskFull => self.step_inner(now, Input::DiskFull, out),
            Input::DiskFree => self.step_inner(now, Input::DiskFree, out),
            Input::View(view) => self.step_inner(now, Input::View(view), out),
            Input::Lease(until) => self.step_inner(now, Input::Lease(until), out),
            Input::EndOfTurn => self.step_inner(now, Input::EndOfTurn, out),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.inner.uses_end_of_turn()
    }
}

impl<P: Protocol> Watched<P> {
    /// Creates the node `me` of this group, which watches all other members with this detector.
    pub fn new(me: NodeId, group: Group, inner: P, detector: Detector) -> Self {
        let config = Fixed::new(Config { me, group, detector });
        Self { config, incarnation: Incarnation::FIRST, inner, heartbeats_sent: 0, peers: BTreeMap::new() }
    }

    /// Returns the protocol that receives the suspicions.
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// Returns whether this node suspects the peer.
    pub fn suspects(&self, peer: NodeId) -> bool {
        self.peers.get(&peer).is_some_and(|peer| peer.is_suspected)
    }

    /// Returns the level of suspicion φ of this peer at this instant, in thousandths; `None` with a
    /// fixed bound, and for a node that is not watched.
    pub fn suspicion_level(&self, peer: NodeId, now: Time) -> Option<u32> {
        let pace = self.peers.get(&peer)?.pace.as_ref()?;
        Some(pace.phi(now.since(pace.last_sign), self.config.detector.period()))
    }

    /// WA-1. An incarnation starts with trust in every peer, and knows neither their incarnations
    /// nor their pace. A node that is alone sends no heartbeats.
    fn start(&mut self, now: Time, durable: P::Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.incarnation = incarnation;
        self.heartbeats_sent = 0;
        let initial_peer = Peer { incarnation: None, is_suspected: false, pace: self.initial_pace(now) };
        self.peers = self.config.group.others(self.config.me).map(|peer| (peer, initial_peer.clone())).collect();
        self.step_inner(now, Input::Start { durable, incarnation }, out);
        if self.peers.is_empty() {
            return;
        }
        self.send_heartbeat(out);
        for (&peer, watched) in &self.peers {
            out.set_timer(WatchedTimer::Silence(peer), Span::exactly(self.allowed_silence(watched)));
        }
    }

    /// WA-1. A heartbeat promises nothing, so it does not wait for the disk. Only an accrual
    /// detector needs numbered heartbeats. With a fixed bound all heartbeats are equal, so a
    /// heartbeat leads the checker to no new state.
    fn send_heartbeat(&mut self, out: &mut Effects<'_, Self>) {
        out.multicast_ahead(
            &self.config.group,
            Signal::Heartbeat { incarnation: self.incarnation, number: self.heartbeats_sent },
        );
        if matches!(self.config.detector, Detector::Accrual { .. }) {
            self.heartbeats_sent += 1;
        }
        out.set_timer(WatchedTimer::NextHeartbeat, Span::exactly(self.config.detector.period()));
    }

    /// Counts a message as a sign of life of its sender, then delivers it.
    fn receive(&mut self, now: Time, from: NodeId, signal: Signal<P::Message>, out: &mut Effects<'_, Self>) {
        if self.record_incarnation(now, from, signal.incarnation(), out) {
            self.handle_sign_of_life(now, from, signal.heartbeat_number(), out);
        }
        match signal {
            Signal::Heartbeat { .. } => {}
            Signal::Inner { message, .. } => self.step_inner(now, Input::Message { from, message }, out),
        }
    }

    /// WA-5 and WA-6. Records the incarnation that sent a message, and informs the inner protocol
    /// if the incarnation is new, or the first one that this node knows since it restarted. Returns
    /// whether it is the peer's current incarnation, as far as this node knows; `false` for the
    /// node itself and for nodes outside the group, which are not watched.
    fn record_incarnation(
        &mut self,
        now: Time,
        from: NodeId,
        incarnation: Incarnation,
        out: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(&from) else { return false };
        let is_first = peer.incarnation.is_none();
        match incarnation.cmp(peer.incarnation.get_or_insert(incarnation)) {
            // A restarted node cannot know whether the peer restarted meanwhile and lost messages.
            Ordering::Equal if is_first && self.incarnation > Incarnation::FIRST => {
                out.note("WA-5", format_args!("receives a message from {from} for the first time since it restarted"));
                self.step_inner(now, Input::Trust(from), out);
                true
            }
            Ordering::Less => {
                out.note(
                    "WA-6",
                    format_args!("ignores a message of {from}'s past incarnation {incarnation} as a sign of life"),
                );
                false
            }
            Ordering::Equal => true,
            Ordering::Greater => {
                self.record_restart(now, from, incarnation, out);
                true
            }
        }
    }

    /// WA-5. The peer has lost all unsaved state, so the inner protocol must learn of the restart.
    /// Its former pace no longer counts.
    fn record_restart(&mut self, now: Time, from: NodeId, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        let pace = self.initial_pace(now);
        let Some(peer) = self.peers.get_mut(&from) else { return };
        peer.incarnation = Some(incarnation);
        peer.pace = pace;
        out.note("WA-5", format_args!("learns of incarnation {incarnation} of {from}"));
        self.suspect(now, from, out);
    }

    /// WA-2, WA-4 and WA-7. Any message postpones suspicion, but only heartbeats determine the
    /// pace: messages of the inner protocol arrive in bursts.
    fn handle_sign_of_life(
        &mut self,
        now: Time,
        from: NodeId,
        heartbeat_number: Option<u64>,
        out: &mut Effects<'_, Self>,
    ) {
        let detector = self.config.detector;
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if let (Some(pace), Detector::Accrual { period, threshold, window }) = (&mut peer.pace, detector) {
            if let Some(number) = heartbeat_number {
                let allowed = pace.allowed_silence(threshold, period);
                pace.learn(now, number, allowed, usize::from(window));
            }
            pace.last_sign = now;
        }
        let allowed = self.peers.get(&from).map(|peer| self.allowed_silence(peer)).unwrap_or_default();
        out.set_timer(WatchedTimer::Silence(from), Span::exactly(allowed));
        if self.suspects(from) {
            out.note("WA-4", format_args!("has a sign of life of {from}, and trusts it again"));
            self.trust(now, from, out);
        }
    }

    /// WA-3.
    fn handle_timeout(&mut self, now: Time, peer: NodeId, out: &mut Effects<'_, Self>) {
        out.note("WA-3", format_args!("has received nothing from {peer} for too long"));
        self.suspect(now, peer, out);
    }

    /// WA-8. Reports on nodes that are not watched are passed on unchanged.
    fn handle_crash_report(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        if !self.peers.contains_key(&node) {
            return self.step_inner(now, Input::Suspect(node), out);
        }
        out.note("WA-8", format_args!("learns from the driver that {node} is dead"));
        out.cancel_timer(WatchedTimer::Silence(node));
        self.suspect(now, node, out);
    }

    /// WA-8. The report counts as a sign of life.
    fn handle_return_report(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        if !self.peers.contains_key(&node) {
            return self.step_inner(now, Input::Trust(node), out);
        }
        out.note("WA-8", format_args!("learns from the driver that {node} is alive"));
        self.handle_sign_of_life(now, node, None, out);
    }

    fn suspect(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        let Some(peer) = self.peers.get_mut(&node).filter(|peer| !peer.is_suspected) else { return };
        peer.is_suspected = true;
        self.step_inner(now, Input::Suspect(node), out);
    }

    fn trust(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        let Some(peer) = self.peers.get_mut(&node).filter(|peer| peer.is_suspected) else { return };
        peer.is_suspected = false;
        self.step_inner(now, Input::Trust(node), out);
    }

    /// Returns how long this peer may be silent before it is suspected.
    fn allowed_silence(&self, peer: &Peer) -> Duration {
        match (self.config.detector, &peer.pace) {
            (Detector::FixedBound { period, bound }, _) => period + bound,
            (Detector::Accrual { period, threshold, .. }, Some(pace)) => pace.allowed_silence(threshold, period),
            (Detector::Accrual { period, .. }, None) => period,
        }
    }

    fn initial_pace(&self, now: Time) -> Option<Pace> {
        match self.config.detector {
            Detector::FixedBound { .. } => None,
            Detector::Accrual { period, .. } => Some(Pace::new(now, period)),
        }
    }

    /// Steps the inner protocol; its messages carry our incarnation.
    fn step_inner(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        let mut sink = WatchedSink { incarnation: self.incarnation, out };
        self.inner.step(now, input, &mut Effects::new(&mut sink));
    }
}

/// Receives the inner protocol's effects, and adds the incarnation to its messages.
struct WatchedSink<'a, 'b, P: Protocol> {
    incarnation: Incarnation,
    out: &'a mut Effects<'b, Watched<P>>,
}

impl<P: Protocol> Sink<P> for WatchedSink<'_, '_, P> {
    fn effect(&mut self, effect: Effect<P>) {
        let signal = |message| Signal::Inner { incarnation: self.incarnation, message };
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
