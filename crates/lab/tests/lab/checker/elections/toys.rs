//! Elections for these tests: a small one, correct or with a seeded bug, and one in which an
//! arbiter grants leases.

use quorate_core::election::{Command, Event, Refusal};
use quorate_core::{
    Class, Describe, Durable, Duration, Effects, Epoch, Fixed, Group, Incarnation, Input, Never, NodeId, Protocol, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The parts of a node's state that never change; `variant` is its seeded bug or its margin.
#[derive(Clone, Debug)]
struct Config<V> {
    me: NodeId,
    group: Group,
    variant: V,
}

// ------------------------------------------------------------------------------- the highest leads

/// The highest node that is not known to have crashed leads. A starter nominates it. A nominee that
/// knows of no higher live node elects itself, in an epoch that no other node uses and that is
/// larger than every epoch that it or the starter knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HighestLeads {
    config: Fixed<Config<Bug>>,
    epoch: u64,
    leader: Option<NodeId>,
    /// The nominee of the election that this node began, until this node learns the winner.
    nominee: Option<NodeId>,
    crashed: BTreeSet<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bug {
    None,
    /// Several nodes may use the same epoch.
    SharedEpochs,
    SavesNothing,
    /// The announcement of a victory and the event of an elected leader do not wait for saves.
    BeforeSaves,
    /// The winner does not announce its victory.
    NoAnnouncement,
    IgnoresSuspicions,
    /// Every second election uses a lower epoch, 0 after 100, and nodes accept it.
    DecreasingEpochs,
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
            Self::Victory { .. } => "victory",
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
pub(crate) struct SavedEpoch(u64);

impl Durable for SavedEpoch {
    type Write = u64;
    fn apply(&mut self, epoch: u64) {
        self.0 = epoch;
    }
}

impl HighestLeads {
    pub(crate) fn new(me: NodeId, group: Group, bug: Bug) -> Self {
        let config = Fixed::new(Config { me, group, variant: bug });
        Self { config, epoch: 0, leader: None, nominee: None, crashed: BTreeSet::new() }
    }

    fn begin_election(&mut self, out: &mut Effects<'_, Self>) {
        let Config { me, group, variant: bug } = &*self.config;
        let (me, bug) = (*me, *bug);
        let highest = group.iter().filter(|node| bug == Bug::IgnoresSuspicions || !self.crashed.contains(node)).last();
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
        let Config { me, group, variant: bug } = (*self.config).clone();
        let size = group.len() as u64;
        self.epoch = match bug {
            Bug::SharedEpochs => self.epoch + 1,
            Bug::DecreasingEpochs => 100_u64.saturating_sub(self.epoch),
            _ => (self.epoch / size + 1) * size + me.index() as u64,
        };
        (self.leader, self.nominee) = (Some(me), None);
        self.save_epoch(out);
        let message = Message::Victory { epoch: self.epoch };
        match bug {
            Bug::NoAnnouncement => {}
            Bug::BeforeSaves => out.multicast_ahead(&group, message),
            _ => out.multicast(&group, message),
        }
        self.emit_leader(out);
    }

    fn save_epoch(&self, out: &mut Effects<'_, Self>) {
        if self.config.variant != Bug::SavesNothing {
            out.save(self.epoch);
        }
    }

    fn emit_leader(&self, out: &mut Effects<'_, Self>) {
        if let Some(leader) = self.leader {
            let event = Event::elected(leader, Epoch(self.epoch));
            if self.config.variant == Bug::BeforeSaves { out.emit_ahead(event) } else { out.emit(event) }
        }
    }

    /// A node that already leads in the sender's epoch or a later one announces its victory to the
    /// sender; any other begins an election.
    fn handle_nomination(&mut self, from: NodeId, epoch: u64, out: &mut Effects<'_, Self>) {
        if self.leader == Some(self.config.me) && epoch <= self.epoch && self.config.variant != Bug::NoAnnouncement {
            return out.send(from, Message::Victory { epoch: self.epoch });
        }
        self.epoch = self.epoch.max(epoch);
        self.begin_election(out);
    }

    fn handle_victory(&mut self, leader: NodeId, epoch: u64, out: &mut Effects<'_, Self>) {
        let accepts_old_epochs = self.config.variant == Bug::DecreasingEpochs;
        let is_news = epoch > self.epoch || (epoch == self.epoch && self.leader.is_none());
        if is_news || accepts_old_epochs {
            (self.epoch, self.leader, self.nominee) = (epoch, Some(leader), None);
            self.save_epoch(out);
            self.emit_leader(out);
        } else if leader > self.config.me && self.leader != Some(leader) {
            // The higher node was down or suspected, and does not know the current epoch.
            out.send(leader, Message::Nominate { epoch: self.epoch });
        }
    }
}

impl Protocol for HighestLeads {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = SavedEpoch;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                self.epoch = durable.0;
                if incarnation != Incarnation::FIRST {
                    self.begin_election(out);
                }
            }
            Input::Command(Command::Campaign) => self.begin_election(out),
            Input::Command(Command::Resign) => out.emit(Event::Refused(Refusal::CannotResign)),
            Input::Message { from, message: Message::Nominate { epoch } } => self.handle_nomination(from, epoch, out),
            Input::Message { from, message: Message::Victory { epoch } } => self.handle_victory(from, epoch, out),
            Input::Suspect(other) => {
                self.crashed.insert(other);
                if self.config.variant != Bug::IgnoresSuspicions
                    && (self.leader == Some(other) || self.nominee == Some(other))
                {
                    self.begin_election(out);
                }
            }
            Input::Trust(other) => {
                self.crashed.remove(&other);
            }
            Input::Timer(never) => match never {},
            Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

// ------------------------------------------------------------------------------------------ leases

/// Node 1, the arbiter, grants leadership to one node at a time, for a second on its own clock. It
/// ignores requests during that second, and sets no timer. The leader counts its lease from its
/// request. With a margin it relies on the lease for less than a second, so that the lease ends for
/// the leader before it ends for the arbiter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeasedLeadership {
    config: Fixed<Config<Margin>>,
    /// When this node requested leadership, until the arbiter grants it.
    requested_at: Option<Time>,
    epoch: u64,
    /// The arbiter grants nothing before this time.
    promised_until: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Margin {
    None,
    /// For clocks that drift by at most this many parts per million.
    Drift(u64),
}

const LEASE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum LeaseMessage {
    Request,
    Grant { epoch: u64 },
    Leads { leader: NodeId, epoch: u64 },
}

impl Describe for LeaseMessage {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Grant { .. } => "grant",
            Self::Leads { .. } => "leads",
        }
    }
}

impl LeasedLeadership {
    pub(crate) fn new(me: NodeId, group: Group, margin: Margin) -> Self {
        let config = Fixed::new(Config { me, group, variant: margin });
        Self { config, requested_at: None, epoch: 0, promised_until: Time::ZERO }
    }

    /// How long the leader relies on its lease, from its request on.
    fn leader_lease(&self) -> Duration {
        match self.config.variant {
            Margin::None => LEASE,
            Margin::Drift(ppm) => Duration::from_nanos(LEASE.nanos() * (1_000_000 - ppm) / (1_000_000 + ppm)),
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
        let Config { me, group, .. } = (*self.config).clone();
        let arbiter = NodeId::from_index(0);
        match input {
            Input::Command(Command::Campaign) if me != arbiter => {
                self.requested_at = Some(now);
                out.send(arbiter, LeaseMessage::Request);
            }
            Input::Command(Command::Campaign) => out.emit(Event::Refused(Refusal::NotEligible)),
            Input::Command(Command::Resign) => out.emit(Event::Refused(Refusal::CannotResign)),
            Input::Message { from, message: LeaseMessage::Request } => {
                if now >= self.promised_until {
                    (self.promised_until, self.epoch) = (now + LEASE, self.epoch + 1);
                    out.send(from, LeaseMessage::Grant { epoch: self.epoch });
                }
            }
            Input::Message { message: LeaseMessage::Grant { epoch }, .. } => {
                if let Some(requested_at) = self.requested_at.take() {
                    let until = requested_at + self.leader_lease();
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
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
