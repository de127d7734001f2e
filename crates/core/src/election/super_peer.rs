//! Super-peers of an overlay (a leader for each region).
//!
//! Peers have ids of m bits on a circle, and the first k bits of an id name the region that it is in. A peer's super-peer is the
//! successor of its id with all other bits cleared: the first live peer of its region. So there are several leaders on purpose, at
//! most 2^k, spread over the circle, and nobody need ask who leads: whoever knows who is there can tell. What is left is to attach to
//! one's super-peer, and to attach to another one when peers come and go.
//!
//! ```text
//! SP-1  a node boots, or is asked to campaign  → find the first of one's region who is not gone, and attach to it
//! SP-2  that is oneself                        → lead the region, in an epoch of one's own that is later than all one knows of, and
//!                                                answer those who have asked
//! SP-3  a peer attaches                        → tell it the epoch, or a later one if it knows of a later one; if one does not lead,
//!                                                keep that until one does
//! SP-4  a super-peer answers                   → follow it, unless an earlier one of the region is there
//! SP-5  somebody comes or goes                 → nothing, unless one's own super-peer is another one by that: attach to it, and lead no
//!                                                longer if one did
//! SP-6  one's super-peer is back               → attach to it again: it has forgotten its peers
//! SP-7  no answer comes                        → take it for gone until it is heard of, and find the next one
//! SP-8  one who waits is asked by somebody who
//!       takes others for gone                  → do not wait for those, but for the next one: whoever was away does not know who
//!                                                went meanwhile
//! ```
//!
//! Cost: two messages for each peer that is not a super-peer itself. M nodes have 2^k·(1−(1−2^−k)^M) super-peers on average. When one of
//! them goes, or one comes that is to lead its region, all of that region attach anew; otherwise nobody moves but the one that comes.
//!
//! Assumes: everybody hears sooner or later who comes and goes; links lose nothing. Nobody need hear it at the same time.
//!
//! When it fails: whoever takes a live super-peer for gone leads for itself, or follows the next one once that one leads: a wrong detector makes
//! more leaders than there should be, never none. No two ever lead in the same epoch.
//!
//! Departs from the textbook: the number of super-peers is not 2^(k−m)·M, which holds only where every id is taken.

use super::{Book, Command, Cost, Counts, Event, Facts, Overlay, Plan, Refusal, Shape, Splits};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::Epoch;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::time::{Span, Time};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    splits: Splits::ByDesign,
    ..Facts::new(
        Profile {
            name: "super-peer",
            class: "by region",
            summary: "the first peer of each region of an overlay leads it",
            source: include_str!("super_peer.rs"),
            flaw: None,
            checkable: true,
        },
        Shape::Regions,
        Cost {
            formula: "2 for each of the M−S peers of S super-peers",
            book: |case| Some(Book::at_most(Counts::WithAnnouncement, 2.0 * case.live.saturating_sub(1) as f64)),
        },
    )
};

/// One peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuperPeer {
    place: Fixed<Place>,
    life: Incarnation,
    down: BTreeSet<NodeId>,
    /// Those who were asked and did not answer so far, and are taken for gone.
    missed: BTreeSet<NodeId>,
    /// The latest epoch that it knows of.
    reached: Epoch,
    stage: Stage,
    /// Those who want to attach to this node as soon as it leads.
    waiting: BTreeMap<NodeId, Peer>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    plan: Arc<Plan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Idle,
    Attaching(NodeId),
    Attached(NodeId),
    Leading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer {
    life: Incarnation,
    reached: Epoch,
}

/// What peers send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Be my super-peer.
    Attach {
        life: Incarnation,
        /// The latest epoch that it knows of.
        reached: Epoch,
        gone: Vec<NodeId>,
    },
    /// I am.
    Attached { life: Incarnation, epoch: Epoch },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Attach { .. } => "attach",
            Self::Attached { .. } => "attached",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Attach { .. } => Class::Algorithm,
            Self::Attached { .. } => Class::Announcement,
        }
    }
}

/// What a peer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    Answer,
}

/// The latest epoch that a peer has told of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reached(Epoch);

impl Durable for Reached {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}

impl SuperPeer {
    /// One peer of a group.
    pub fn new(me: NodeId, plan: Arc<Plan>) -> Self {
        let down = plan.absent.others(me).collect();
        Self {
            place: Fixed::new(Place { me, plan }),
            life: Incarnation::FIRST,
            down,
            missed: BTreeSet::new(),
            reached: Epoch(0),
            stage: Stage::Idle,
            waiting: BTreeMap::new(),
        }
    }

    fn me(&self) -> NodeId {
        self.place.me
    }

    fn overlay(&self) -> &Overlay {
        &self.place.plan.overlay
    }

    /// SP-1. Who was down from the start may be back by the time of a later life.
    fn boot(&mut self, reached: Epoch, life: Incarnation, out: &mut Effects<'_, Self>) {
        (self.reached, self.life) = (reached, life);
        if life > Incarnation::FIRST {
            self.down.clear();
        }
        self.seek("SP-1", out);
    }

    /// SP-1.
    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        match self.stage {
            Stage::Attaching(_) => out.emit(Event::Refused(Refusal::AlreadyRunning)),
            Stage::Leading => out.emit(Event::Refused(Refusal::AlreadyLeading)),
            Stage::Idle | Stage::Attached(_) => self.seek("SP-1", out),
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = self.stage == Stage::Leading;
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// The first of this node's region who is not gone, as far as it knows.
    fn found(&self) -> NodeId {
        self.overlay().super_peer(self.me(), |node| self.down.contains(&node) || self.missed.contains(&node))
    }

    fn seek(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let found = self.found();
        if found == self.me() {
            self.lead(out);
        } else {
            self.attach(found, rule, out);
        }
    }

    fn attach(&mut self, to: NodeId, rule: &'static str, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("attaches to {to}, the first of its region"));
        self.stage = Stage::Attaching(to);
        out.emit(Event::Began { epoch: self.reached });
        let gone = self.overlay().ahead(to).collect();
        out.send(to, Message::Attach { life: self.life, reached: self.reached, gone });
        out.set_timer(Timer::Answer, Span::exactly(self.place.plan.bounds.answer().times(2)));
    }

    /// SP-2.
    fn lead(&mut self, out: &mut Effects<'_, Self>) {
        out.cancel_timer(Timer::Answer);
        self.stage = Stage::Leading;
        let waiting = core::mem::take(&mut self.waiting);
        let known = waiting.values().map(|peer| peer.reached).fold(self.reached, Epoch::max);
        self.reign("SP-2", known, out);
        for (node, peer) in waiting {
            self.answer(node, peer, out);
        }
    }

    /// Leads in the first epoch of its own after this one. Everybody has other epochs: their numbers tell whose they are.
    fn reign(&mut self, rule: &'static str, after: Epoch, out: &mut Effects<'_, Self>) {
        let size = self.place.plan.group.len().max(1) as u64;
        let counter = after.0 / size + 1;
        self.reached = Epoch(counter.saturating_mul(size).saturating_add(self.me().index() as u64));
        out.note(rule, format_args!("leads region {} in epoch {}", self.overlay().region(self.me()), self.reached));
        out.save(self.reached);
        out.emit(Event::elected(self.me(), self.reached));
    }

    /// SP-3.
    fn take_in(&mut self, node: NodeId, peer: Peer, gone: &[NodeId], out: &mut Effects<'_, Self>) {
        if self.stage == Stage::Leading {
            if peer.reached > self.reached {
                self.reign("SP-3", peer.reached, out);
            }
            out.note("SP-3", format_args!("takes {node} in"));
            self.answer(node, peer, out);
        } else {
            out.note("SP-3", format_args!("does not lead, and lets {node} wait"));
            self.waiting.insert(node, peer);
            self.believe(node, gone, out);
        }
    }

    fn answer(&self, node: NodeId, peer: Peer, out: &mut Effects<'_, Self>) {
        out.send(node, Message::Attached { life: peer.life, epoch: self.reached });
    }

    /// SP-8. Each of them has been asked. So if one is not gone after all, its answer comes, and SP-4 makes up for this.
    fn believe(&mut self, from: NodeId, gone: &[NodeId], out: &mut Effects<'_, Self>) {
        while let Stage::Attaching(to) = self.stage
            && gone.contains(&to)
        {
            out.note("SP-8", format_args!("does not wait for {to}, whom {from} takes for gone"));
            self.missed.insert(to);
            self.seek("SP-8", out);
        }
    }

    /// SP-4. An answer may be late, and come when we had given up hope.
    fn hear_answer(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.missed.remove(&from);
        if self.found() != from || self.down.contains(&from) || self.stage == Stage::Attached(from) {
            return out.note("SP-4", format_args!("does not need {from}'s answer any more"));
        }
        if epoch < self.reached {
            return self.attach(from, "SP-4", out);
        }
        out.note("SP-4", format_args!("follows {from}"));
        out.cancel_timer(Timer::Answer);
        self.stage = Stage::Attached(from);
        self.reached = epoch;
        out.save(epoch);
        out.emit(Event::elected(from, epoch));
    }

    fn suspect(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if node != self.me() {
            self.missed.remove(&node);
            self.down.insert(node);
            self.adapt(out);
        }
    }

    fn trust(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        self.missed.remove(&node);
        self.down.remove(&node);
        match self.stage {
            Stage::Attaching(to) | Stage::Attached(to) if to == node => self.attach_again(node, out),
            Stage::Idle | Stage::Attaching(_) | Stage::Attached(_) | Stage::Leading => self.adapt(out),
        }
    }

    /// SP-5.
    fn adapt(&mut self, out: &mut Effects<'_, Self>) {
        let present = match self.stage {
            Stage::Idle => return,
            Stage::Attaching(to) | Stage::Attached(to) => to,
            Stage::Leading => self.me(),
        };
        if self.found() != present {
            self.seek("SP-5", out);
        }
    }

    /// SP-6.
    fn attach_again(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        self.attach(node, "SP-6", out);
    }

    /// SP-7.
    fn miss(&mut self, out: &mut Effects<'_, Self>) {
        if let Stage::Attaching(to) = self.stage {
            out.note("SP-7", format_args!("takes {to} for gone: it does not answer"));
            self.missed.insert(to);
            self.seek("SP-7", out);
        }
    }
}

impl Protocol for SuperPeer {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = Reached;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: Reached(epoch), incarnation } => self.boot(epoch, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message: Message::Attach { life, reached, gone } } => {
                self.take_in(from, Peer { life, reached }, &gone, out);
            }
            Input::Message { from, message: Message::Attached { life, epoch } } => {
                if life == self.life {
                    self.hear_answer(from, epoch, out);
                }
            }
            Input::Timer(Timer::Answer) => self.miss(out),
            Input::Suspect(node) => self.suspect(node, out),
            Input::Trust(node) => self.trust(node, out),
            Input::Saved(_) | Input::DiskFull | Input::DiskFree | Input::View(_) | Input::Lease(_) => {}
        }
    }
}
