//! Election by mutual exclusion (a reduction).
//!
//! A node in a critical section is the only one in it, so it may call itself the leader. It
//! announces this to all nodes and stays in the critical section for as long as it leads, so that
//! two nodes never lead at the same time. The other requesters do not wait: they learn which node
//! leads and cancel their requests. A node that doubts the leader requests the lock as before, and
//! asks the leader to release it.
//!
//! ```text
//! BM-1  the client campaigns     → know no leader and request the lock; refuse if an election is
//!                                  in progress or this node leads
//! BM-2  this node campaigns and
//!       knows a leader           → ask it to release the lock, so that an election follows even if
//!                                  this leader is alive
//! BM-3  the lock is granted      → lead in the epoch that the fence's counter names, and announce
//!                                  it to all
//! BM-4  another node leads in a
//!       later epoch              → follow it; cancel the request or release the lock
//! BM-5  another node asks this
//!       one to release           → release the lock, and know no leader, if this node leads in the
//!                                  epoch that the message names
//! ```
//!
//! Cost: over Ricart and Agrawala's lock, 2(n−1) messages for an entry and n−1 for the
//! announcement, if one node starts. With k starters at most 2k(n−1) and n−1. A campaign against a
//! known leader costs one message more.
//!
//! Assumes: the assumptions of the lock. Over Ricart and Agrawala's: no node crashes or restarts,
//! and every message arrives exactly once, in any order.
//!
//! When it fails: as the lock does. One dead node stops the election forever, even one that did not
//! campaign, because no request for that lock is granted any more. A node that restarts has
//! forgotten its promises, and then two nodes may lead.
//!
//! Departs from the textbook: the highest rank does not win. A lock has no ranks, and the first
//! request wins.

use super::{Command, Cost, Counts, Event, ExpectedMessages, Facts, Refusal, Structure};
use crate::about::Profile;
use crate::adapt;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fence::Fence;
use crate::group::{Epoch, Group};
use crate::mutex;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs, over Ricart and Agrawala's lock.
pub const FACTS: Facts = Facts {
    survives_crashes: false,
    ..Facts::new(
        Profile {
            name: "by-mutex",
            class: "by reduction",
            summary: "the node in a critical section leads for as long as it stays there",
            source: include_str!("by_mutex.rs"),
            flaw: None,
            is_checkable: true,
        },
        Structure::Votes,
        Cost {
            // Requests and replies of the lock for one starter, and the announcement.
            formula: "2(n−1) + (n−1)",
            expected_messages: |case| {
                let peers = case.live_nodes.saturating_sub(1) as f64;
                match (case.dead_nodes, case.starter_count()) {
                    (0, 1) => Some(ExpectedMessages::exactly(Counts::WithAnnouncement, 3.0 * peers)),
                    (0, starters) => {
                        Some(ExpectedMessages::at_most(Counts::WithAnnouncement, (2.0 * starters as f64 + 1.0) * peers))
                    }
                    // One dead node stops the whole group.
                    (1.., _) => None,
                }
            },
        },
    )
};

/// A node of an election over the lock `P`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByMutex<P> {
    me: NodeId,
    group: Group,
    lock: P,
    /// The latest epoch whose leader this node has known.
    latest_epoch: Epoch,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The node takes no part in an election, and knows no leader.
    Idle,
    /// The node has requested the lock.
    Running,
    /// The node knows the leader of the latest epoch. If it is the leader, it holds the lock.
    Decided(NodeId),
}

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message<M> {
    /// A message of the lock.
    Lock(M),
    /// The sender leads.
    Leads { epoch: Epoch },
    /// Stop leading in this epoch: the sender wants another election.
    Yield { epoch: Epoch },
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Lock(message) => message.kind(),
            Self::Leads { .. } => "leads",
            Self::Yield { .. } => "yield",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Lock(message) => message.class(),
            Self::Leads { .. } => Class::Announcement,
            Self::Yield { .. } => Class::Algorithm,
        }
    }
}

impl<P> ByMutex<P>
where
    P: Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    /// Creates a node over `lock`, its part of a lock that no node holds.
    pub const fn new(me: NodeId, group: Group, lock: P) -> Self {
        Self { me, group, lock, latest_epoch: Epoch(0), phase: Phase::Idle }
    }

    /// BM-1.
    fn campaign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Running => return out.emit(Event::Refused(Refusal::AlreadyRunning)),
            Phase::Decided(leader) if leader == self.me => return out.emit(Event::Refused(Refusal::AlreadyLeading)),
            Phase::Decided(leader) => self.challenge(leader, out),
            Phase::Idle => {}
        }
        out.note("BM-1", format_args!("requests the lock"));
        // The earliest possible epoch of the next leader; the fence decides (BM-3).
        out.emit(Event::Began { epoch: Epoch(self.latest_epoch.0.saturating_add(1)) });
        self.phase = Phase::Running;
        self.command_lock(now, mutex::Command::Acquire, out);
    }

    /// BM-2. Without this the leader would keep the lock, and every candidate would wait forever.
    fn challenge(&self, leader: NodeId, out: &mut Effects<'_, Self>) {
        out.note("BM-2", format_args!("asks {leader} to release the lock"));
        out.send(leader, Message::Yield { epoch: self.latest_epoch });
    }

    /// Refuses to resign. A handover must make another node the leader soon, but after a release no
    /// node leads until one campaigns.
    fn resign(&self, out: &mut Effects<'_, Self>) {
        let is_leader = self.phase == Phase::Decided(self.me);
        out.emit(Event::Refused(if is_leader { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// BM-3. The epoch is the counter of the fence. The lock has neither views nor shared access,
    /// so the counter grows with every entry, and no two leaders have the same epoch. A node that
    /// no longer wants the lock releases it at once.
    fn enter(&mut self, now: Time, fence: Fence, out: &mut Effects<'_, Self>) {
        if self.phase != Phase::Running {
            return self.command_lock(now, mutex::Command::Release, out);
        }
        self.latest_epoch = Epoch(fence.counter);
        self.phase = Phase::Decided(self.me);
        out.note("BM-3", format_args!("holds the lock, and leads in epoch {}", self.latest_epoch));
        if self.group.len() > 1 {
            out.multicast(&self.group, Message::Leads { epoch: self.latest_epoch });
        }
        out.emit(Event::elected(self.me, self.latest_epoch));
    }

    /// BM-4. A node that lost the election cancels its request, so it does not wait for the lock.
    fn follow(&mut self, now: Time, leader: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if epoch <= self.latest_epoch || leader == self.me {
            return out.note("BM-4", format_args!("ignores that {leader} led in epoch {epoch}"));
        }
        let previous = core::mem::replace(&mut self.phase, Phase::Decided(leader));
        self.latest_epoch = epoch;
        out.note("BM-4", format_args!("follows {leader}"));
        out.emit(Event::elected(leader, epoch));
        match previous {
            Phase::Running => self.command_lock(now, mutex::Command::Cancel, out),
            Phase::Decided(former) if former == self.me => self.command_lock(now, mutex::Command::Release, out),
            Phase::Idle | Phase::Decided(_) => {}
        }
    }

    /// BM-5. A message that names an earlier epoch does not end a later one.
    fn yield_lock(&mut self, now: Time, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if self.phase != Phase::Decided(self.me) || epoch != self.latest_epoch {
            return out.note("BM-5", format_args!("no longer leads in epoch {epoch}"));
        }
        out.note("BM-5", format_args!("releases the lock: {from} wants an election"));
        self.phase = Phase::Idle;
        out.emit(Event::Ended { epoch });
        self.command_lock(now, mutex::Command::Release, out);
    }

    fn command_lock(&mut self, now: Time, command: mutex::Command, out: &mut Effects<'_, Self>) {
        self.step_lock(now, Input::Command(command), out);
    }

    /// Steps the lock with an input, and handles its events.
    fn step_lock(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        for event in adapt::step_inner(&mut self.lock, now, input, Message::Lock, out) {
            match event {
                mutex::Event::Entered { fence, .. } => self.enter(now, fence, out),
                // The lock has no views and no leases, so it neither extends nor loses an entry.
                // The other events answer commands of this node. The node changed its phase when it
                // gave the command.
                mutex::Event::Extended { .. }
                | mutex::Event::Lost
                | mutex::Event::Left
                | mutex::Event::Denied
                | mutex::Event::Cancelled
                | mutex::Event::Refused(_) => {}
            }
        }
    }
}

impl<P> Protocol for ByMutex<P>
where
    P: Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    type Command = Command;
    type Message = Message<P::Message>;
    type Timer = P::Timer;
    type Event = Event;
    type Durable = P::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Campaign) => self.campaign(now, out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message: Message::Lock(message) } => {
                self.step_lock(now, Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Leads { epoch } } => self.follow(now, from, epoch, out),
            Input::Message { from, message: Message::Yield { epoch } } => self.yield_lock(now, from, epoch, out),
            Input::Start { durable, incarnation } => self.step_lock(now, Input::Start { durable, incarnation }, out),
            Input::Timer(timer) => self.step_lock(now, Input::Timer(timer), out),
            Input::Saved(count) => self.step_lock(now, Input::Saved(count), out),
            Input::Suspect(node) => self.step_lock(now, Input::Suspect(node), out),
            Input::Trust(node) => self.step_lock(now, Input::Trust(node), out),
            Input::DiskFull => self.step_lock(now, Input::DiskFull, out),
            Input::DiskFree => self.step_lock(now, Input::DiskFree, out),
            Input::View(view) => self.step_lock(now, Input::View(view), out),
            Input::Lease(until) => self.step_lock(now, Input::Lease(until), out),
            Input::EndOfTurn => self.step_lock(now, Input::EndOfTurn, out),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.lock.uses_end_of_turn()
    }
}
