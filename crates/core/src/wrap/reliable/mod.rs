//! Reliable links: exactly-once, in-order delivery over links that lose, duplicate and reorder
//! messages.
//!
//! Every message to a peer gets the next number. The receiver delivers messages in the order of
//! their numbers and acknowledges them; the sender retransmits what is not acknowledged. Every
//! incarnation of the sender numbers its messages anew, and every frame names the incarnations of
//! both nodes, so the messages of a restarted node are never mistaken for retransmissions.
//!
//! ```text
//! RL-1   the inner protocol sends          → number the message, keep it and send it; start the timer
//!                                            if it is not running
//! RL-2   the timer fires                   → retransmit what is unacknowledged in batches, oldest
//!                                            first; wait twice as long, up to a maximum
//! RL-3   a message arrives                 → if it is the next one, deliver it and all held back that
//!                                            follow it; if it is early, hold it back
//! RL-4   a duplicate arrives               → do not deliver it; acknowledge again
//! RL-5   messages were delivered           → acknowledge every number so far, after all effects of the
//!                                            messages
//! RL-6   an acknowledgement arrives        → forget what it covers; if anything is left, reset the
//!                                            timeout, and send the next batch of a retransmission
//!                                            whose previous batch is acknowledged
//! RL-7   a peer shows a new incarnation    → forget messages held back from the old one;
//!                                            retransmit the messages that the old one did not
//!                                            acknowledge: the first of their numbers is the base
//!                                            of the new pair
//! RL-8   a frame of a past incarnation     → drop it, and an acknowledgement to a past incarnation of
//!                                            ours too
//! RL-9   a message to our past incarnation → do not deliver it; answer with an acknowledgement, which
//!                                            shows our new one
//! RL-10  an unusable frame                 → drop it: it names a future incarnation of ours,
//!                                            covers what was never sent, has a number below its
//!                                            base, or is too far ahead to be held back
//! ```
//!
//! Cost: at most one acknowledgement per copy of a message that arrives, and the retransmissions;
//! no message waits for an acknowledgement. Messages that follow a lost one are delivered only
//! after its retransmission.
//!
//! Assumes: a link that carries infinitely many frames delivers infinitely many; every incarnation
//! of a node is larger than the one before; the network names the true sender of a frame.
//!
//! When it fails: a link that is down for good, or a peer that never restarts, costs one
//! retransmission of a batch per longest timeout, and keeps all unacknowledged messages in memory.
//! A node that crashes loses its unacknowledged messages. A message that a node delivered but had
//! not acknowledged when it crashed is delivered to its next incarnation again; acknowledged
//! messages were durable, since the acknowledgement waits for the saves before it. If the
//! incarnation of a node decreases, its peers drop its frames until it has caught up.
//!
//! A message that need not wait for earlier saves is still delivered after earlier messages that
//! do, since their numbers are lower.

mod frame;
mod link;
#[cfg(test)]
mod tests;

pub use frame::{Frame, IncarnationPair, Transmission};

use crate::about::About;
use crate::wrap::prelude::*;
use core::cmp::Ordering;
use link::{AckOutcome, Arrival, Link, Unacknowledged};

/// Parses the header of this file: how reliable links work, and by which rules.
pub fn about() -> About {
    About::from_source(include_str!("mod.rs"))
}

/// Runs a protocol that assumes reliable first-in-first-out links over links that are not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reliable<P: Protocol> {
    config: Fixed<Config>,
    incarnation: Incarnation,
    inner: P,
    links: BTreeMap<NodeId, Link<P::Message>>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    timeouts: RetransmissionTimeouts,
}

/// How long a node waits for an acknowledgement before it retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionTimeouts {
    /// The first timeout, and the one after each acknowledgement that covers something new and
    /// after each restart of the peer.
    pub first: Span,
    /// Each timeout is twice the one before, as long as that does not exceed this maximum.
    pub max: Duration,
}

impl Default for RetransmissionTimeouts {
    /// From 50 to 75 ms at first, up to 2.4 s: for nodes that are a few milliseconds apart.
    fn default() -> Self {
        let first = Span::between(Duration::from_millis(50), Duration::from_millis(75));
        Self { first, max: Duration::from_millis(2_400) }
    }
}

/// The timers of a reliable node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum ReliableTimer<T> {
    /// The wait for an acknowledgement from this peer.
    Retransmit(NodeId),
    Inner(T),
}

impl<P: Protocol> Protocol for Reliable<P> {
    type Command = P::Command;
    type Message = Frame<P::Message>;
    type Timer = ReliableTimer<P::Timer>;
    type Event = P::Event;
    type Durable = P::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => self.start(now, durable, incarnation, out),
            Input::Message { from, message } => self.receive(now, from, message, out),
            Input::Timer(ReliableTimer::Retransmit(peer)) => self.retransmit_on_timeout(peer, out),
            Input::Timer(ReliableTimer::Inner(timer)) => self.step_inner(now, Input::Timer(timer), out),
            Input::Command(command) => self.step_inner(now, Input::Command(command), out),
            Input::Saved(count) => self.step_inner(now, Input::Saved(count), out),
            Input::Suspect(node) => self.step_inner(now, Input::Suspect(node), out),
            Input::Trust(node) => self.step_inner(now, Input::Trust(node), out),
            Input::DiskFull => self.step_inner(now, Input::DiskFull, out),
            Input::DiskFree => self.step_inner(now, Input::DiskFree, out),
            Input::View(view) => self.step_inner(now, Input::View(view), out),
            Input::Lease(until) => self.step_inner(now, Input::Lease(until), out),
            Input::EndOfTurn => self.step_inner(now, Input::EndOfTurn, out),
        }
        if cfg!(debug_assertions) {
            self.links.values().for_each(Link::assert_invariants);
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.inner.uses_end_of_turn()
    }
}

impl<P: Protocol> Reliable<P> {
    /// Creates the node `me` with reliable links around the protocol `inner`.
    pub fn new(me: NodeId, inner: P, timeouts: RetransmissionTimeouts) -> Self {
        let config = Fixed::new(Config { me, timeouts });
        Self { config, incarnation: Incarnation::FIRST, inner, links: BTreeMap::new() }
    }

    /// Returns the protocol whose messages the links carry.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Returns the number of messages to this peer that are not acknowledged yet.
    pub fn unacknowledged_count(&self, peer: NodeId) -> usize {
        self.links.get(&peer).map_or(0, |link| link.outgoing.len())
    }

    /// A new incarnation starts without links.
    fn start(&mut self, now: Time, durable: P::Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.incarnation = incarnation;
        self.links.clear();
        self.step_inner(now, Input::Start { durable, incarnation }, out);
    }

    /// Steps the inner protocol; its sends go through RL-1.
    fn step_inner(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        let mut sink =
            ReliableSink { config: &self.config, incarnation: self.incarnation, links: &mut self.links, out };
        self.inner.step(now, input, &mut Effects::new(&mut sink));
    }

    /// RL-8, RL-9, RL-10. Handles a frame according to the incarnations that it names, and its
    /// kind.
    fn receive(&mut self, now: Time, from: NodeId, frame: Frame<P::Message>, out: &mut Effects<'_, Self>) {
        let pair = frame.pair();
        let (theirs, ours) = (pair.sender, pair.receiver);
        if ours > self.incarnation {
            return out
                .note("RL-10", format_args!("drops a frame from node {from}: {pair} names a future incarnation"));
        }
        match theirs.cmp(&self.link(from).peer_incarnation) {
            Ordering::Less => {
                return out.note("RL-8", format_args!("drops a frame of node {from}'s past incarnation {theirs}"));
            }
            Ordering::Equal => {}
            Ordering::Greater => self.restart_link(from, theirs, out),
        }
        let is_current = ours == self.incarnation;
        match frame {
            Frame::Data { base, number, message, .. } if is_current => {
                self.receive_data(now, from, base, number, message, out);
            }
            Frame::Data { number, .. } => {
                out.note(
                    "RL-9",
                    format_args!(
                        "does not deliver message {number} from node {from}: it is for our past incarnation {ours}"
                    ),
                );
                self.acknowledge(from, out);
            }
            Frame::Ack { below, .. } if is_current => self.receive_ack(from, below, out),
            Frame::Ack { .. } => {
                out.note(
                    "RL-8",
                    format_args!("drops an acknowledgement of node {from} to our past incarnation {ours}"),
                );
            }
        }
    }

    /// RL-2.
    fn retransmit_on_timeout(&mut self, peer: NodeId, out: &mut Effects<'_, Self>) {
        let Some(link) = self.links.get_mut(&peer).filter(|link| !link.outgoing.is_empty()) else { return };
        link.outgoing.back_off(&self.config.timeouts);
        link.outgoing.start_retransmitting();
        self.retransmit(peer, "RL-2", out);
        self.set_timer(peer, out);
    }

    /// RL-3, RL-4.
    fn receive_data(
        &mut self,
        now: Time,
        from: NodeId,
        base: u64,
        number: u64,
        message: P::Message,
        out: &mut Effects<'_, Self>,
    ) {
        match self.link(from).incoming.accept(base, number, message) {
            Arrival::Next(message) => {
                let mut deliverable = Some((number, message));
                while let Some((number, message)) = deliverable {
                    self.deliver(now, from, number, message, out);
                    deliverable = self.link(from).incoming.take_held();
                }
                self.acknowledge(from, out);
            }
            Arrival::Early => out.note("RL-3", format_args!("holds back message {number} from node {from}")),
            Arrival::Duplicate => {
                out.note("RL-4", format_args!("drops a duplicate of message {number} from node {from}"));
                self.acknowledge(from, out);
            }
            Arrival::TooFar => {
                out.note("RL-10", format_args!("drops message {number} from node {from}: it is too far ahead"));
            }
            Arrival::Impossible => {
                out.note("RL-10", format_args!("drops message {number} from node {from}: invalid with base {base}"));
            }
        }
    }

    fn deliver(&mut self, now: Time, from: NodeId, number: u64, message: P::Message, out: &mut Effects<'_, Self>) {
        let incarnation = self.link(from).peer_incarnation;
        out.note_delivered(from, PayloadId { incarnation, number });
        self.step_inner(now, Input::Message { from, message }, out);
    }

    /// RL-5. The acknowledgement follows the effects of the delivered messages, so it waits for
    /// their saves.
    fn acknowledge(&mut self, peer: NodeId, out: &mut Effects<'_, Self>) {
        let mine = self.incarnation;
        let link = self.link(peer);
        let pair = IncarnationPair { sender: mine, receiver: link.peer_incarnation };
        out.send(peer, Frame::Ack { pair, below: link.incoming.delivered_below() });
    }

    /// RL-6. An acknowledgement shows that the peer is reachable, so the timeout is short again. If
    /// it completes a batch of a retransmission, the node sends the next one.
    fn receive_ack(&mut self, from: NodeId, below: u64, out: &mut Effects<'_, Self>) {
        let first_timeout = self.config.timeouts.first;
        let link = self.link(from);
        match link.outgoing.acknowledge(below) {
            AckOutcome::Stale => {}
            AckOutcome::Progress => {
                link.outgoing.timeout = first_timeout;
                if link.outgoing.is_empty() {
                    return out.cancel_timer(ReliableTimer::Retransmit(from));
                }
                self.retransmit(from, "RL-6", out);
                self.set_timer(from, out);
            }
            AckOutcome::Impossible => {
                out.note(
                    "RL-10",
                    format_args!(
                        "ignores an acknowledgement of node {from}: it covers all below {below}, which was never sent"
                    ),
                );
            }
        }
    }

    /// RL-7. The numbers stay as they are: the base tells the new incarnation where to begin.
    fn restart_link(&mut self, peer: NodeId, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        let first_timeout = self.config.timeouts.first;
        let link = self.link(peer);
        out.note(
            "RL-7",
            format_args!("learns of incarnation {incarnation} of node {peer}, after {}", link.peer_incarnation),
        );
        link.restart(incarnation);
        if link.outgoing.is_empty() {
            return;
        }
        link.outgoing.timeout = first_timeout;
        link.outgoing.start_retransmitting();
        self.retransmit(peer, "RL-7", out);
        self.set_timer(peer, out);
    }

    /// Retransmits the next batch, if there is one.
    fn retransmit(&mut self, peer: NodeId, rule: &'static str, out: &mut Effects<'_, Self>) {
        let mine = self.incarnation;
        let link = self.link(peer);
        let (pair, base) = (IncarnationPair { sender: mine, receiver: link.peer_incarnation }, link.outgoing.base);
        for (number, unacknowledged) in link.outgoing.next_batch() {
            out.note(rule, format_args!("retransmits message {number} to node {peer}"));
            let message = unacknowledged.message.clone();
            let message = Frame::Data { pair, base, number, transmission: Transmission::Again, message };
            out.put(Effect::Send { to: peer, message, order: unacknowledged.order });
        }
    }

    fn set_timer(&mut self, peer: NodeId, out: &mut Effects<'_, Self>) {
        let span = self.link(peer).outgoing.timeout;
        out.set_timer(ReliableTimer::Retransmit(peer), span);
    }

    fn link(&mut self, peer: NodeId) -> &mut Link<P::Message> {
        link_or_new(&self.config, self.incarnation, &mut self.links, peer)
    }
}

/// Returns the link to a peer, and creates it if necessary. A new link assumes that the peer is in
/// its first incarnation, unless the peer is this node itself.
fn link_or_new<'a, M>(
    config: &Config,
    incarnation: Incarnation,
    links: &'a mut BTreeMap<NodeId, Link<M>>,
    peer: NodeId,
) -> &'a mut Link<M> {
    let assumed_incarnation = if peer == config.me { incarnation } else { Incarnation::FIRST };
    links.entry(peer).or_insert_with(|| Link::new(assumed_incarnation, config.timeouts.first))
}

/// Receives the inner protocol's effects, and sends its messages over the links.
struct ReliableSink<'a, 'b, P: Protocol> {
    config: &'a Config,
    incarnation: Incarnation,
    links: &'a mut BTreeMap<NodeId, Link<P::Message>>,
    out: &'a mut Effects<'b, Reliable<P>>,
}

impl<P: Protocol> ReliableSink<'_, '_, P> {
    /// RL-1.
    fn send(&mut self, to: NodeId, message: P::Message, order: Order) {
        let link = link_or_new(self.config, self.incarnation, self.links, to);
        let was_empty = link.outgoing.is_empty();
        let number = link.outgoing.push(Unacknowledged { message: message.clone(), order });
        let pair = IncarnationPair { sender: self.incarnation, receiver: link.peer_incarnation };
        let message =
            Frame::Data { pair, base: link.outgoing.base, number, transmission: Transmission::First, message };
        let span = link.outgoing.timeout;
        self.out.put(Effect::Send { to, message, order });
        if was_empty {
            self.out.set_timer(ReliableTimer::Retransmit(to), span);
        }
    }
}

impl<P: Protocol> Sink<P> for ReliableSink<'_, '_, P> {
    fn effect(&mut self, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, order } => self.send(to, message, order),
            Effect::Multicast { to, message, order } => {
                for peer in to.others(self.config.me) {
                    self.send(peer, message.clone(), order);
                }
            }
            Effect::Save(write) => self.out.save(write),
            Effect::SetTimer { timer, span } => self.out.set_timer(ReliableTimer::Inner(timer), span),
            Effect::CancelTimer(timer) => self.out.cancel_timer(ReliableTimer::Inner(timer)),
            Effect::Emit { event, order } => self.out.put(Effect::Emit { event, order }),
        }
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
