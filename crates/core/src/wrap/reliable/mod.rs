//! Reliable links: from links that lose, repeat and reorder to links that deliver exactly once and in order.
//!
//! Every message to a peer gets the next number. The receiver hands messages up in the order of their numbers
//! and acknowledges them; the sender repeats what is not acknowledged. Numbers belong to a life of the sender
//! and are read within a pair of lives, so a node that restarted is never mistaken for one that repeats itself.
//!
//! ```text
//! RL-1   the protocol sends          → number the message, keep it and send it; begin to wait if nothing waited
//! RL-2   the wait ends               → send again what is unacknowledged, oldest first; wait twice as long
//! RL-3   a message arrives           → if it is the next one, hand it up and all held back that follow it; if it
//!                                      is early, hold it back
//! RL-4   a repetition arrives        → hand nothing up; acknowledge again
//! RL-5   messages were handed up     → acknowledge every number so far, after all that they caused
//! RL-6   an acknowledgement arrives  → forget what it covers; wait the first time again for the rest, if any
//! RL-7   a peer shows a new life     → forget what the old one sent; what the old one did not acknowledge is sent
//!                                      again, and its first number is the base of the new pair
//! RL-8   a frame of a past life      → drop it, and an acknowledgement to a past life of ours too
//! RL-9   a message to our past life  → do not hand it up; answer with an acknowledgement, which shows our new one
//! RL-10  a frame that cannot be      → drop it: it names a life of ours to come, covers what was never sent, has a
//!                                      number below its base, or is too far ahead to be held back
//! ```
//!
//! Cost: one acknowledgement a message, and the repetitions; no message waits for an acknowledgement. A message
//! that comes after a lost one waits for its repetition.
//!
//! Assumes: a link that carries infinitely many frames delivers infinitely many; every life of a node has a larger
//! incarnation than the one before; the network tells truly who sent a frame.
//!
//! When it fails: a link that is down for good, or a peer that never comes back, costs one repetition of a batch per
//! longest wait and keeps all that is unacknowledged in memory. A node that crashes takes its unacknowledged
//! messages with it. What a node handed up but had not acknowledged when it crashed is handed up to its next life
//! again; what it acknowledged was durable, since the acknowledgement waits for the saves before it. A node whose
//! incarnation goes back is heard by nobody until it has caught up.
//!
//! A message sent ahead of the disk still arrives after those sent before it that wait for the disk.

mod frame;
mod link;
#[cfg(test)]
mod tests;

pub use frame::{Copy, Frame, Pair};

use crate::about::About;
use crate::wrap::prelude::*;
use core::cmp::Ordering;
use link::{Arrival, Letter, Link, Settled};

/// What reliable links do and by which rules: the header of this file.
pub fn about() -> About {
    About::of_source(include_str!("mod.rs"))
}

/// A protocol that assumes reliable first-in-first-out links, made fit for links that are not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reliable<P: Protocol> {
    place: Fixed<Place>,
    life: Incarnation,
    inner: P,
    links: BTreeMap<NodeId, Link<P::Message>>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    retransmission: Retransmission,
}

/// How long to wait for an acknowledgement before sending again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// The first wait, and the one after each acknowledgement that brings something new.
    pub first: Span,
    /// Each wait in vain doubles the next one as long as that is no longer than this.
    pub longest: Duration,
}

impl Default for Retransmission {
    /// From 50 to 75 ms at first, up to 2.4 s: for nodes that are a few milliseconds apart.
    fn default() -> Self {
        let first = Span::between(Duration::from_millis(50), Duration::from_millis(75));
        Self { first, longest: Duration::from_millis(2_400) }
    }
}

/// The timers of a reliable node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum ReliableTimer<T> {
    /// The wait for an acknowledgement of this peer.
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
            Input::Timer(ReliableTimer::Retransmit(peer)) => self.wait_in_vain(peer, out),
            Input::Timer(ReliableTimer::Inner(timer)) => self.pass(now, Input::Timer(timer), out),
            Input::Command(command) => self.pass(now, Input::Command(command), out),
            Input::Saved(count) => self.pass(now, Input::Saved(count), out),
            Input::Suspect(node) => self.pass(now, Input::Suspect(node), out),
            Input::Trust(node) => self.pass(now, Input::Trust(node), out),
            Input::DiskFull => self.pass(now, Input::DiskFull, out),
            Input::DiskFree => self.pass(now, Input::DiskFree, out),
            Input::View(view) => self.pass(now, Input::View(view), out),
            Input::Lease(until) => self.pass(now, Input::Lease(until), out),
        }
        if cfg!(debug_assertions) {
            self.links.values().for_each(Link::assert_invariants);
        }
    }
}

impl<P: Protocol> Reliable<P> {
    /// The node `me` with reliable links around the protocol `inner`.
    pub fn new(me: NodeId, inner: P, retransmission: Retransmission) -> Self {
        let place = Fixed::new(Place { me, retransmission });
        Self { place, life: Incarnation::FIRST, inner, links: BTreeMap::new() }
    }

    /// The protocol inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// How many messages to this peer are not acknowledged yet.
    pub fn unacknowledged(&self, peer: NodeId) -> usize {
        self.links.get(&peer).map_or(0, |link| link.outgoing.len())
    }

    /// A life begins without links.
    fn start(&mut self, now: Time, durable: P::Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.life = incarnation;
        self.links.clear();
        self.pass(now, Input::Start { durable, incarnation }, out);
    }

    /// The protocol inside takes an input; what it sends goes through RL-1.
    fn pass(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        let mut post = Post { place: &self.place, life: self.life, links: &mut self.links, out };
        self.inner.step(now, input, &mut Effects::new(&mut post));
    }

    /// RL-8, RL-9, RL-10. Sorts frames by the lives that they travel between, and by what they are.
    fn receive(&mut self, now: Time, from: NodeId, frame: Frame<P::Message>, out: &mut Effects<'_, Self>) {
        let pair = frame.pair();
        if pair.yours > self.life {
            return out.note("RL-10", format_args!("drops a frame from {from}: {pair} is a life to come"));
        }
        match pair.mine.cmp(&self.link(from).life) {
            Ordering::Less => {
                return out.note("RL-8", format_args!("drops a frame of {from}'s past life {}", pair.mine));
            }
            Ordering::Equal => {}
            Ordering::Greater => self.renew(from, pair.mine, out),
        }
        let present = pair.yours == self.life;
        match frame {
            Frame::Data { base, number, message, .. } if present => {
                self.accept(now, from, base, number, message, out);
            }
            Frame::Data { number, .. } => {
                out.note(
                    "RL-9",
                    format_args!("does not take {number} from {from}: it is for our past life {}", pair.yours),
                );
                self.acknowledge(from, out);
            }
            Frame::Ack { below, .. } if present => self.settle(from, below, out),
            Frame::Ack { .. } => {
                out.note("RL-8", format_args!("drops what {from} acknowledges to a past life of ours"));
            }
        }
    }

    /// RL-2.
    fn wait_in_vain(&mut self, peer: NodeId, out: &mut Effects<'_, Self>) {
        let Some(link) = self.links.get_mut(&peer).filter(|link| !link.outgoing.is_empty()) else { return };
        link.outgoing.back_off(&self.place.retransmission);
        link.outgoing.start_repeating();
        self.repeat(peer, "RL-2", out);
        self.wait(peer, out);
    }

    /// RL-3, RL-4.
    fn accept(
        &mut self,
        now: Time,
        from: NodeId,
        base: u64,
        number: u64,
        message: P::Message,
        out: &mut Effects<'_, Self>,
    ) {
        match self.link(from).incoming.sort(base, number, message) {
            Arrival::Next(message) => {
                let mut next = Some((number, message));
                while let Some((number, message)) = next {
                    self.hand_up(now, from, number, message, out);
                    next = self.link(from).incoming.take_held();
                }
                self.acknowledge(from, out);
            }
            Arrival::Early => out.note("RL-3", format_args!("holds {number} from {from} back")),
            Arrival::Repeated => {
                out.note("RL-4", format_args!("has had {number} from {from}"));
                self.acknowledge(from, out);
            }
            Arrival::TooFar => out.note("RL-10", format_args!("drops {number} from {from}: it is too far ahead")),
            Arrival::Impossible => out.note("RL-10", format_args!("drops {number} from {from}: its base is {base}")),
        }
    }

    fn hand_up(&mut self, now: Time, from: NodeId, number: u64, message: P::Message, out: &mut Effects<'_, Self>) {
        let incarnation = self.link(from).life;
        out.note_handed(from, Parcel { incarnation, number });
        self.pass(now, Input::Message { from, message }, out);
    }

    /// RL-5. It comes after the effects of what was handed up, so it waits for what they save.
    fn acknowledge(&mut self, peer: NodeId, out: &mut Effects<'_, Self>) {
        let mine = self.life;
        let link = self.link(peer);
        let pair = Pair { mine, yours: link.life };
        out.send(peer, Frame::Ack { pair, below: link.incoming.below() });
    }

    /// RL-6. Whoever acknowledges is reached again, so the waits are short again; a whole batch that is
    /// acknowledged brings the next one.
    fn settle(&mut self, from: NodeId, below: u64, out: &mut Effects<'_, Self>) {
        let first = self.place.retransmission.first;
        let link = self.link(from);
        match link.outgoing.settle(below) {
            Settled::Stale => {}
            Settled::Progress => {
                link.outgoing.wait = first;
                if link.outgoing.is_empty() {
                    return out.cancel_timer(ReliableTimer::Retransmit(from));
                }
                self.repeat(from, "RL-6", out);
                self.wait(from, out);
            }
            Settled::Impossible => {
                out.note("RL-10", format_args!("{from} acknowledges all below {below}, which was never sent"));
            }
        }
    }

    /// RL-7. The numbers stay as they are: the base tells the new life where to begin.
    fn renew(&mut self, peer: NodeId, life: Incarnation, out: &mut Effects<'_, Self>) {
        let first = self.place.retransmission.first;
        let link = self.link(peer);
        out.note("RL-7", format_args!("meets life {life} of {peer}, after {}", link.life));
        link.renew(life);
        if link.outgoing.is_empty() {
            return;
        }
        link.outgoing.wait = first;
        link.outgoing.start_repeating();
        self.repeat(peer, "RL-7", out);
        self.wait(peer, out);
    }

    /// Sends the next batch again, if there is one to send.
    fn repeat(&mut self, peer: NodeId, rule: &'static str, out: &mut Effects<'_, Self>) {
        let mine = self.life;
        let link = self.link(peer);
        let (pair, base) = (Pair { mine, yours: link.life }, link.outgoing.base);
        for (number, letter) in link.outgoing.next_batch() {
            out.note(rule, format_args!("sends {number} to {peer} again"));
            let message = letter.message.clone();
            let message = Frame::Data { pair, base, number, copy: Copy::Again, message };
            out.put(Effect::Send { to: peer, message, order: letter.order });
        }
    }

    fn wait(&mut self, peer: NodeId, out: &mut Effects<'_, Self>) {
        let span = self.link(peer).outgoing.wait;
        out.set_timer(ReliableTimer::Retransmit(peer), span);
    }

    fn link(&mut self, peer: NodeId) -> &mut Link<P::Message> {
        link_of(&self.place, self.life, &mut self.links, peer)
    }
}

/// The link to a peer. Only of ourselves do we know which life it is before we hear of it.
fn link_of<'a, M>(
    place: &Place,
    life: Incarnation,
    links: &'a mut BTreeMap<NodeId, Link<M>>,
    peer: NodeId,
) -> &'a mut Link<M> {
    let guess = if peer == place.me { life } else { Incarnation::FIRST };
    links.entry(peer).or_insert_with(|| Link::new(guess, place.retransmission.first))
}

struct Post<'a, 'b, P: Protocol> {
    place: &'a Place,
    life: Incarnation,
    links: &'a mut BTreeMap<NodeId, Link<P::Message>>,
    out: &'a mut Effects<'b, Reliable<P>>,
}

impl<P: Protocol> Post<'_, '_, P> {
    /// RL-1.
    fn send(&mut self, to: NodeId, message: P::Message, order: Order) {
        let link = link_of(self.place, self.life, self.links, to);
        let nothing_waited = link.outgoing.is_empty();
        let number = link.outgoing.push(Letter { message: message.clone(), order });
        let pair = Pair { mine: self.life, yours: link.life };
        let message = Frame::Data { pair, base: link.outgoing.base, number, copy: Copy::First, message };
        let span = link.outgoing.wait;
        self.out.put(Effect::Send { to, message, order });
        if nothing_waited {
            self.out.set_timer(ReliableTimer::Retransmit(to), span);
        }
    }
}

impl<P: Protocol> Sink<P> for Post<'_, '_, P> {
    fn effect(&mut self, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, order } => self.send(to, message, order),
            Effect::Multicast { to, message, order } => {
                for peer in to.others(self.place.me) {
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
