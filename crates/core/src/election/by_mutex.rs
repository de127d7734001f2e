//! Election by mutual exclusion (a reduction).
//!
//! Whoever gets into a critical section is the only one inside, and so it may call itself the leader. It tells everyone, and stays
//! inside for as long as it leads, so that never two lead at a time. Those who asked too do not wait, as they would for a printer:
//! they hear who leads and give up. Whoever doubts the leader asks for the lock as before, and tells the leader to leave.
//!
//! ```text
//! BM-1  asked to campaign        → know no leader and ask for the lock; refuse if a run is under way or one leads oneself
//! BM-2  one campaigns and knows
//!       of a leader              → tell it to leave: a false alarm is answered by the next election
//! BM-3  one is inside            → lead in the epoch that the fence names, and tell everyone
//! BM-4  another one leads in a
//!       later epoch              → follow it; give the lock up, asked for or held
//! BM-5  told to leave            → leave, and know no leader, if one leads in the epoch that is meant
//! ```
//!
//! Cost: over Ricart and Agrawala's lock 2(n−1) messages for an entry and n−1 for the announcement, when one starts. With k starters
//! at most 2k(n−1) and n−1; a false alarm costs one message more.
//!
//! Assumes: what the lock inside assumes. Over Ricart and Agrawala's: no node dies or restarts, every message arrives once, in any
//! order.
//!
//! When it fails: as the lock does. One dead node, even one that did not campaign, stops the election for ever, as it stops everyone who
//! asks for that lock. One that restarts has forgotten what it promised, and two may lead.
//!
//! Departs from the textbook: the highest rank does not win. A lock knows nothing of ranks, and the first one to ask gets in.

use super::{Book, Command, Cost, Counts, Event, Facts, Refusal, Shape};
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

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    survives: false,
    ..Facts::new(
        Profile {
            name: "by-mutex",
            class: "by reduction",
            summary: "whoever gets into a critical section leads, and stays inside",
            source: include_str!("by_mutex.rs"),
            flaw: None,
            checkable: true,
        },
        Shape::Votes,
        Cost {
            formula: "2(n−1) + (n−1)",
            book: |case| {
                let peers = case.live.saturating_sub(1) as f64;
                match (case.dead, case.starters()) {
                    (0, 1) => Some(Book::exactly(Counts::WithAnnouncement, 3.0 * peers)),
                    (0, starters) => {
                        Some(Book::at_most(Counts::WithAnnouncement, (2.0 * starters as f64 + 1.0) * peers))
                    }
                    // One dead node stops everyone.
                    (1.., _) => None,
                }
            },
        },
    )
};

/// One node of an election over the lock `P`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByMutex<P> {
    me: NodeId,
    group: Group,
    lock: P,
    /// The latest epoch that it knows a leader of.
    reached: Epoch,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// It takes no part, and knows of no leader.
    Idle,
    Running,
    /// It knows who leads in the latest epoch. If that is itself, it holds the lock.
    Over(NodeId),
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message<M> {
    /// The lock's own message.
    Lock(M),
    /// The sender leads.
    Leads { epoch: Epoch },
    /// Lead no longer: there is to be another election.
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
    /// A node of this group, with its part of a lock that nobody holds.
    pub const fn new(me: NodeId, group: Group, lock: P) -> Self {
        Self { me, group, lock, reached: Epoch(0), stage: Stage::Idle }
    }

    /// BM-1.
    fn campaign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        match self.stage {
            Stage::Running => return out.emit(Event::Refused(Refusal::AlreadyRunning)),
            Stage::Over(leader) if leader == self.me => return out.emit(Event::Refused(Refusal::AlreadyLeading)),
            Stage::Over(leader) => self.doubt(leader, out),
            Stage::Idle => {}
        }
        out.note("BM-1", format_args!("asks for the lock"));
        out.emit(Event::Began { epoch: Epoch(self.reached.0.saturating_add(1)) });
        self.stage = Stage::Running;
        self.ask(now, mutex::Command::Acquire, out);
    }

    /// BM-2. It stays inside otherwise, and everyone who campaigns would wait for ever.
    fn doubt(&self, leader: NodeId, out: &mut Effects<'_, Self>) {
        out.note("BM-2", format_args!("tells {leader} to leave"));
        out.send(leader, Message::Yield { epoch: self.reached });
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = self.stage == Stage::Over(self.me);
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// BM-3. Fences grow from entry to entry, and no two entries share one: so do epochs. Who wants in no longer leaves at once.
    fn enter(&mut self, now: Time, fence: Fence, out: &mut Effects<'_, Self>) {
        if self.stage != Stage::Running {
            return self.ask(now, mutex::Command::Release, out);
        }
        self.reached = Epoch(fence.counter);
        self.stage = Stage::Over(self.me);
        out.note("BM-3", format_args!("is inside, and leads in epoch {}", self.reached));
        if self.group.len() > 1 {
            out.multicast(&self.group, Message::Leads { epoch: self.reached });
        }
        out.emit(Event::elected(self.me, self.reached));
    }

    /// BM-4. Losers of an election go back to what they were doing.
    fn follow(&mut self, now: Time, leader: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if epoch <= self.reached || leader == self.me {
            return out.note("BM-4", format_args!("ignores that {leader} led in epoch {epoch}"));
        }
        let before = core::mem::replace(&mut self.stage, Stage::Over(leader));
        self.reached = epoch;
        out.note("BM-4", format_args!("follows {leader}"));
        out.emit(Event::elected(leader, epoch));
        match before {
            Stage::Running => self.ask(now, mutex::Command::Cancel, out),
            Stage::Over(own) if own == self.me => self.ask(now, mutex::Command::Release, out),
            Stage::Idle | Stage::Over(_) => {}
        }
    }

    /// BM-5. What was meant for an earlier term of office ends none that came later.
    fn make_way(&mut self, now: Time, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if self.stage != Stage::Over(self.me) || epoch != self.reached {
            return out.note("BM-5", format_args!("does not lead in epoch {epoch} any more"));
        }
        out.note("BM-5", format_args!("leaves: {from} wants an election"));
        self.stage = Stage::Idle;
        out.emit(Event::Ended { epoch });
        self.ask(now, mutex::Command::Release, out);
    }

    fn ask(&mut self, now: Time, command: mutex::Command, out: &mut Effects<'_, Self>) {
        self.pass(now, Input::Command(command), out);
    }

    /// The lock takes an input, and whatever it tells is acted on.
    fn pass(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        for event in adapt::pass(&mut self.lock, now, input, Message::Lock, out) {
            match event {
                mutex::Event::Entered { fence, .. } => self.enter(now, fence, out),
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
                self.pass(now, Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Leads { epoch } } => self.follow(now, from, epoch, out),
            Input::Message { from, message: Message::Yield { epoch } } => self.make_way(now, from, epoch, out),
            Input::Start { durable, incarnation } => self.pass(now, Input::Start { durable, incarnation }, out),
            Input::Timer(timer) => self.pass(now, Input::Timer(timer), out),
            Input::Saved(count) => self.pass(now, Input::Saved(count), out),
            Input::Suspect(node) => self.pass(now, Input::Suspect(node), out),
            Input::Trust(node) => self.pass(now, Input::Trust(node), out),
            Input::DiskFull => self.pass(now, Input::DiskFull, out),
            Input::DiskFree => self.pass(now, Input::DiskFree, out),
            Input::View(view) => self.pass(now, Input::View(view), out),
            Input::Lease(until) => self.pass(now, Input::Lease(until), out),
        }
    }
}
