//! Super-peers of an overlay (a leader for each region).
//!
//! Peers have ids of m bits on a circle, and the first k bits of an id name its region. A peer's
//! super-peer is the successor of its id with all other bits cleared: the first live peer of its
//! region. So there are several leaders by design, at most 2^k, spread over the circle. No election
//! is needed: a node that knows which peers are up can compute the leader. It only has to attach to
//! its super-peer, and to another one when peers come and go.
//!
//! ```text
//! SP-1  this node boots, or the client
//!       campaigns                        → find the first node of its region that is not gone, and
//!                                          attach to it
//! SP-2  this node is the first           → lead the region, in an epoch of its own, later than all
//!                                          epochs it knows, and answer the nodes that have asked
//! SP-3  a peer attaches                  → send it the epoch; if the peer knows a later epoch,
//!                                          take an even later one first; if this node does not
//!                                          lead, answer once it does
//! SP-4  a super-peer answers             → follow it, unless an earlier node of the region is up
//! SP-5  a peer comes or goes             → if that changes the super-peer of this node, attach to
//!                                          the new one, and stop leading
//! SP-6  the super-peer has restarted     → attach to it again, because it has forgotten its peers
//! SP-7  the super-peer does not answer   → consider it gone until it answers or is reported up,
//!                                          and find the next one
//! SP-8  this node waits for a node that
//!       an attaching peer considers gone → stop waiting for that node: if this node was down, it
//!                                          does not know which nodes left meanwhile
//! ```
//!
//! Cost: two messages for each peer that is not a super-peer. M nodes have 2^k·(1−(1−2^−k)^M)
//! super-peers on average. If a super-peer leaves, or a peer joins that must lead its region, all
//! peers of that region attach again; otherwise only a peer that joins does.
//!
//! Assumes: every node eventually learns which peers come and go, not necessarily at the same time;
//! links lose no messages.
//!
//! When it fails: a node that wrongly considers its super-peer gone leads, or follows the next node
//! once that node leads. A wrong detector causes more leaders than intended, never none. Two nodes
//! never lead in the same epoch.
//!
//! Departs from the textbook: the number of super-peers is not 2^(k−m)·M, which holds only if every
//! id is taken.

use super::{Command, Cost, Counts, Event, ExpectedMessages, Facts, Overlay, Plan, Refusal, Splits, Structure};
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

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts {
    splits: Splits::ByDesign,
    ..Facts::new(
        Profile {
            name: "super-peer",
            class: "by region",
            summary: "the first peer of each region of an overlay leads it",
            source: include_str!("super_peer.rs"),
            flaw: None,
            is_checkable: true,
        },
        Structure::Regions,
        Cost {
            formula: "2 for each of the M−S peers of S super-peers",
            expected_messages: |case| {
                Some(ExpectedMessages::at_most(
                    Counts::WithAnnouncement,
                    2.0 * case.live_nodes.saturating_sub(1) as f64,
                ))
            },
        },
    )
};

/// A peer of the overlay.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuperPeer {
    config: Fixed<Config>,
    incarnation: Incarnation,
    /// Nodes that were down at start-up or are suspected.
    down_nodes: BTreeSet<NodeId>,
    /// Nodes that have not answered and are considered gone, by this node or by a waiting peer.
    unresponsive: BTreeSet<NodeId>,
    /// The latest epoch that this node knows.
    latest_epoch: Epoch,
    phase: Phase,
    /// Peers that wait until this node leads, to attach to it.
    waiting_peers: BTreeMap<NodeId, AttachRequest>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    plan: Arc<Plan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The node has not booted yet.
    Idle,
    /// The node waits for the answer of this super-peer.
    Attaching(NodeId),
    /// The node follows this super-peer.
    Attached(NodeId),
    Leading,
}

/// A peer's request to attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct AttachRequest {
    incarnation: Incarnation,
    latest_epoch: Epoch,
}

/// A message between peers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Asks the receiver to be the sender's super-peer.
    Attach {
        #[cfg_attr(feature = "serde", serde(rename = "life"))]
        incarnation: Incarnation,
        /// The latest epoch that the sender knows.
        #[cfg_attr(feature = "serde", serde(rename = "reached"))]
        latest_epoch: Epoch,
        /// Nodes before the receiver in its region, all of which the sender considers gone.
        gone: Vec<NodeId>,
    },
    /// The sender is the receiver's super-peer.
    Attached {
        /// The receiver's incarnation, as in its request.
        #[cfg_attr(feature = "serde", serde(rename = "life"))]
        incarnation: Incarnation,
        epoch: Epoch,
    },
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

/// A timeout, named after the event that the peer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The answer of the super-peer.
    Answer,
}

/// The latest epoch in which a peer has led or followed a super-peer, as saved on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedEpoch(Epoch);

impl Durable for SavedEpoch {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}

impl SuperPeer {
    /// Creates a peer of a group with this plan.
    pub fn new(me: NodeId, plan: Arc<Plan>) -> Self {
        let down_nodes = plan.absent.others(me).collect();
        Self {
            config: Fixed::new(Config { me, plan }),
            incarnation: Incarnation::FIRST,
            down_nodes,
            unresponsive: BTreeSet::new(),
            latest_epoch: Epoch(0),
            phase: Phase::Idle,
            waiting_peers: BTreeMap::new(),
        }
    }

    fn me(&self) -> NodeId {
        self.config.me
    }

    fn overlay(&self) -> &Overlay {
        &self.config.plan.overlay
    }

    /// SP-1. Nodes that were down at start-up may be up by the time of a later incarnation.
    fn boot(&mut self, saved_epoch: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        (self.latest_epoch, self.incarnation) = (saved_epoch, incarnation);
        if incarnation > Incarnation::FIRST {
            self.down_nodes.clear();
        }
        self.seek("SP-1", out);
    }

    /// SP-1.
    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Attaching(_) => out.emit(Event::Refused(Refusal::AlreadyRunning)),
            Phase::Leading => out.emit(Event::Refused(Refusal::AlreadyLeading)),
            Phase::Idle | Phase::Attached(_) => self.seek("SP-1", out),
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let is_leader = self.phase == Phase::Leading;
        out.emit(Event::Refused(if is_leader { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// Returns the first node of this node's region that is not gone, as far as this node knows.
    fn first_of_region(&self) -> NodeId {
        self.overlay()
            .super_peer(self.me(), |node| self.down_nodes.contains(&node) || self.unresponsive.contains(&node))
    }

    /// Leads if this node is the first of its region, and otherwise attaches to the first node, as
    /// `rule` requires.
    fn seek(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let first = self.first_of_region();
        if first == self.me() {
            self.lead(out);
        } else {
            self.attach(first, rule, out);
        }
    }

    fn attach(&mut self, to: NodeId, rule: &'static str, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("attaches to {to}, the first of its region"));
        self.phase = Phase::Attaching(to);
        out.emit(Event::Began { epoch: self.latest_epoch });
        let gone = self.overlay().preceding_in_region(to).collect();
        out.send(to, Message::Attach { incarnation: self.incarnation, latest_epoch: self.latest_epoch, gone });
        // Twice a round trip: the super-peer may first have to begin to lead and save its epoch.
        out.set_timer(Timer::Answer, Span::exactly(self.config.plan.bounds.round_trip().times(2)));
    }

    /// SP-2.
    fn lead(&mut self, out: &mut Effects<'_, Self>) {
        out.cancel_timer(Timer::Answer);
        self.phase = Phase::Leading;
        let waiting = core::mem::take(&mut self.waiting_peers);
        let latest_known = waiting.values().map(|request| request.latest_epoch).fold(self.latest_epoch, Epoch::max);
        self.lead_in_epoch("SP-2", latest_known, out);
        for (node, request) in waiting {
            self.answer(node, request, out);
        }
    }

    /// Leads in an epoch after `after`: the next multiple of the group's size, plus this node's
    /// index. An epoch modulo the size identifies its node, so epochs of different nodes differ.
    fn lead_in_epoch(&mut self, rule: &'static str, after: Epoch, out: &mut Effects<'_, Self>) {
        let size = self.config.plan.group.len().max(1) as u64;
        let counter = after.0 / size + 1;
        self.latest_epoch = Epoch(counter.saturating_mul(size).saturating_add(self.me().index() as u64));
        out.note(
            rule,
            format_args!("leads region {} in epoch {}", self.overlay().region(self.me()), self.latest_epoch),
        );
        out.save(self.latest_epoch);
        out.emit(Event::elected(self.me(), self.latest_epoch));
    }

    /// SP-3.
    fn admit_peer(&mut self, node: NodeId, request: AttachRequest, gone: &[NodeId], out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Leading {
            if request.latest_epoch > self.latest_epoch {
                self.lead_in_epoch("SP-3", request.latest_epoch, out);
            }
            out.note("SP-3", format_args!("accepts {node} as its peer"));
            self.answer(node, request, out);
        } else {
            out.note("SP-3", format_args!("does not lead yet: {node} waits"));
            self.waiting_peers.insert(node, request);
            self.skip_gone(node, gone, out);
        }
    }

    fn answer(&self, node: NodeId, request: AttachRequest, out: &mut Effects<'_, Self>) {
        out.send(node, Message::Attached { incarnation: request.incarnation, epoch: self.latest_epoch });
    }

    /// SP-8. This node has asked each node that it no longer waits for. If such a node is up, its
    /// answer arrives, and SP-4 makes this node follow it.
    fn skip_gone(&mut self, from: NodeId, gone: &[NodeId], out: &mut Effects<'_, Self>) {
        while let Phase::Attaching(to) = self.phase
            && gone.contains(&to)
        {
            out.note("SP-8", format_args!("does not wait for {to}, which {from} considers gone"));
            self.unresponsive.insert(to);
            self.seek("SP-8", out);
        }
    }

    /// SP-4. The answer may also come from a node for which this node no longer waits. Attaches
    /// again if the epoch of the answer is outdated.
    fn receive_answer(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.unresponsive.remove(&from);
        if self.first_of_region() != from || self.down_nodes.contains(&from) || self.phase == Phase::Attached(from) {
            return out.note("SP-4", format_args!("no longer needs the answer of {from}"));
        }
        if epoch < self.latest_epoch {
            return self.attach(from, "SP-4", out);
        }
        out.note("SP-4", format_args!("follows {from}"));
        out.cancel_timer(Timer::Answer);
        self.phase = Phase::Attached(from);
        self.latest_epoch = epoch;
        out.save(epoch);
        out.emit(Event::elected(from, epoch));
    }

    /// SP-5, for a report that a node is down.
    fn suspect(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if node != self.me() {
            self.unresponsive.remove(&node);
            self.down_nodes.insert(node);
            self.reattach(out);
        }
    }

    /// SP-5 and SP-6, for a report that a node is up.
    fn trust(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        self.unresponsive.remove(&node);
        self.down_nodes.remove(&node);
        match self.phase {
            Phase::Attaching(to) | Phase::Attached(to) if to == node => self.attach_again(node, out),
            Phase::Idle | Phase::Attaching(_) | Phase::Attached(_) | Phase::Leading => self.reattach(out),
        }
    }

    /// SP-5.
    fn reattach(&mut self, out: &mut Effects<'_, Self>) {
        let current = match self.phase {
            Phase::Idle => return,
            Phase::Attaching(to) | Phase::Attached(to) => to,
            Phase::Leading => self.me(),
        };
        if self.first_of_region() != current {
            self.seek("SP-5", out);
        }
    }

    /// SP-6.
    fn attach_again(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        self.attach(node, "SP-6", out);
    }

    /// SP-7.
    fn handle_timeout(&mut self, out: &mut Effects<'_, Self>) {
        if let Phase::Attaching(to) = self.phase {
            out.note("SP-7", format_args!("considers {to} gone: it does not answer"));
            self.unresponsive.insert(to);
            self.seek("SP-7", out);
        }
    }
}

impl Protocol for SuperPeer {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = SavedEpoch;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: SavedEpoch(epoch), incarnation } => self.boot(epoch, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message: Message::Attach { incarnation, latest_epoch, gone } } => {
                self.admit_peer(from, AttachRequest { incarnation, latest_epoch }, &gone, out);
            }
            Input::Message { from, message: Message::Attached { incarnation, epoch } } => {
                if incarnation == self.incarnation {
                    self.receive_answer(from, epoch, out);
                }
            }
            Input::Timer(Timer::Answer) => self.handle_timeout(out),
            Input::Suspect(node) => self.suspect(node, out),
            Input::Trust(node) => self.trust(node, out),
            Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
