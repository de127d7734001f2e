//! Elections for these tests: a small correct one with optional bugs, and one by leases from an
//! arbiter.

use quorate_core::election::{Command, Event, Refusal};
use quorate_core::{
    Class, Describe, Durable, Duration, Effects, Epoch, Fixed, Group, Incarnation, Input, Never, NodeId, Protocol, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

// ------------------------------------------------------------------------------- the highest leads

/// The highest node that is not known to have crashed leads. A starter nominates it; it elects
/// itself in an epoch of its own that is larger than all that either of them knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HighestLeads {
    fixed: Fixed<(NodeId, Group, Bug)>,
    epoch: u64,
    leader: Option<NodeId>,
    /// The node it nominated, until it receives a result.
    nominee: Option<NodeId>,
    dead: BTreeSet<NodeId>,
}

/// The seeded bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bug {
    Nothing,
    /// Epochs are shared, instead of each node's own.
    SharedEpochs,
    /// Nothing is saved.
    Forgetful,
    /// Messages and events do not wait for saves.
    Hasty,
    /// The winner does not announce its victory.
    Mute,
    /// It ignores suspicions.
    Deaf,
    /// Epochs decrease.
    Backwards,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum Message {
    Nominate { epoch: u64 },
    Victory { epoch: u64 },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Nominate { .. } => "nominate",
            Self::Victory { .. } => "crown",
        }
    }
    fn class(&self) -> Class {
        match self {
            Self::Nominate { .. } => Class::Algorithm,
            Self::Victory { .. } => Class::Announcement,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Saved(u64);

impl Durable for Saved {
    type Write = u64;
    fn apply(&mut self, epoch: u64) {
        self.0 = epoch;
    }
}

impl HighestLeads {
    pub(crate) fn new(me: NodeId, group: Group, bug: Bug) -> Self {
        Self { fixed: Fixed::new((me, group, bug)), epoch: 0, leader: None, nominee: None, dead: BTreeSet::new() }
    }

    fn begin(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group, bug) = &*self.fixed;
        let (me, bug) = (*me, *bug);
        let highest = group.iter().filter(|node| bug == Bug::Deaf || !self.dead.contains(node)).last();
        self.leader = None;
        out.emit(Event::Began { epoch: Epoch(self.epoch) });
        match highest {
            Some(highest) if highest != me => {
                self.nominee = Some(highest);
                out.send(highest, Message::Nominate { epoch: self.epoch });
            }
            Some(_) | None => self.elect_self(out),
        }
    }

    fn elect_self(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group, bug) = (*self.fixed).clone();
        let size = group.len() as u64;
        self.epoch = match bug {
            Bug::SharedEpochs => self.epoch + 1,
            Bug::Backwards => 100_u64.saturating_sub(self.epoch),
            _ => (self.epoch / size + 1) * size + me.index() as u64,
        };
        (self.leader, self.nominee) = (Some(me), None);
        self.save_epoch(out);
        let message = Message::Victory { epoch: self.epoch };
        match bug {
            Bug::Mute => {}
            Bug::Hasty => out.multicast_ahead(&group, message),
            _ => out.multicast(&group, message),
        }
        self.emit_leader(out);
    }

    fn save_epoch(&self, out: &mut Effects<'_, Self>) {
        if self.fixed.2 != Bug::Forgetful {
            out.save(self.epoch);
        }
    }

    fn emit_leader(&self, out: &mut Effects<'_, Self>) {
        if let Some(leader) = self.leader {
            let event = Event::elected(leader, Epoch(self.epoch));
            if self.fixed.2 == Bug::Hasty { out.emit_ahead(event) } else { out.emit(event) }
        }
    }

    /// A node that already leads in an epoch that the nominator does not know replies with its
    /// announcement.
    fn handle_nomination(&mut self, from: NodeId, epoch: u64, out: &mut Effects<'_, Self>) {
        if self.leader == Some(self.fixed.0) && epoch <= self.epoch && self.fixed.2 != Bug::Mute {
            return out.send(from, Message::Victory { epoch: self.epoch });
        }
        self.epoch = self.epoch.max(epoch);
        self.begin(out);
    }

    fn learn(&mut self, leader: NodeId, epoch: u64, out: &mut Effects<'_, Self>) {
        let backwards = self.fixed.2 == Bug::Backwards;
        let is_news = epoch > self.epoch || (epoch == self.epoch && self.leader.is_none());
        if is_news || backwards {
            (self.epoch, self.leader, self.nominee) = (epoch, Some(leader), None);
            self.save_epoch(out);
            self.emit_leader(out);
        } else if leader > self.fixed.0 && self.leader != Some(leader) {
            // The higher node was down or suspected, and is behind.
            out.send(leader, Message::Nominate { epoch: self.epoch });
        }
    }
}

impl Protocol for HighestLeads {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = Saved;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                self.epoch = durable.0;
                if incarnation != Incarnation::FIRST {
                    self.begin(out);
                }
            }
            Input::Command(Command::Campaign) => self.begin(out),
            Input::Command(Command::Resign) => out.emit(Event::Refused(Refusal::CannotResign)),
            Input::Message { from, message: Message::Nominate { epoch } } => self.handle_nomination(from, epoch, out),
            Input::Message { from, message: Message::Victory { epoch } } => self.learn(from, epoch, out),
            Input::Suspect(other) => {
                self.dead.insert(other);
                if self.fixed.2 != Bug::Deaf && (self.leader == Some(other) || self.nominee == Some(other)) {
                    self.begin(out);
                }
            }
            Input::Trust(other) => {
                self.dead.remove(&other);
            }
            Input::Timer(never) => match never {},
            Input::Saved(_) | Input::DiskFull | Input::DiskFree | Input::View(_) | Input::Lease(_) => {}
        }
    }
}

// ------------------------------------------------------------------------------------------ leases

/// Node 1 grants leadership to one node at a time, for a second on its own clock, and sets no
/// timer. The leader counts its lease from its request: for as long, or for less, so that it
/// expires first however their clocks drift.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeasedLeadership {
    fixed: Fixed<(NodeId, Group, Margin)>,
    asked: Option<Time>,
    epoch: u64,
    /// Until when it has promised to grant no other node.
    promised: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Margin {
    None,
    /// In parts per million.
    Drift(u64),
}

const LEASE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum LeaseMessage {
    Ask,
    Grant { epoch: u64 },
    Leads { leader: NodeId, epoch: u64 },
}

impl Describe for LeaseMessage {
    fn kind(&self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Grant { .. } => "grant",
            Self::Leads { .. } => "leads",
        }
    }
}

impl LeasedLeadership {
    pub(crate) fn new(me: NodeId, group: Group, margin: Margin) -> Self {
        Self { fixed: Fixed::new((me, group, margin)), asked: None, epoch: 0, promised: Time::ZERO }
    }

    fn trusted(&self) -> Duration {
        match self.fixed.2 {
            Margin::None => LEASE,
            Margin::Drift(parts) => Duration::from_nanos(LEASE.nanos() * (1_000_000 - parts) / (1_000_000 + parts)),
        }
    }
}

impl Protocol for LeasedLeadership {
    type Command = Command;
    type Message = LeaseMessage;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let (me, group, _) = (*self.fixed).clone();
        let arbiter = NodeId::from_index(0);
        match input {
            Input::Command(Command::Campaign) if me != arbiter => {
                self.asked = Some(now);
                out.send(arbiter, LeaseMessage::Ask);
            }
            Input::Command(_) => out.emit(Event::Refused(Refusal::NotEligible)),
            Input::Message { from, message: LeaseMessage::Ask } => {
                if now >= self.promised {
                    (self.promised, self.epoch) = (now + LEASE, self.epoch + 1);
                    out.send(from, LeaseMessage::Grant { epoch: self.epoch });
                }
            }
            Input::Message { message: LeaseMessage::Grant { epoch }, .. } => {
                if let Some(asked) = self.asked.take() {
                    let until = asked + self.trusted();
                    out.emit(Event::Elected { leader: me, epoch: Epoch(epoch), until });
                    out.multicast(&group, LeaseMessage::Leads { leader: me, epoch });
                }
            }
            Input::Message { message: LeaseMessage::Leads { leader, epoch }, .. } => {
                if epoch > self.epoch || me == arbiter {
                    self.epoch = self.epoch.max(epoch);
                    out.emit(Event::elected(leader, Epoch(epoch)));
                }
            }
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
