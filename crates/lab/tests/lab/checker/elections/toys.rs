//! Elections made for these tests: a small right one with slips to choose from, and one by leases of an arbiter.

use quorate_core::election::{Command, Event, Refusal};
use quorate_core::{
    Class, Describe, Durable, Duration, Effects, Epoch, Fixed, Group, Incarnation, Input, Never, NodeId, Protocol, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

// ------------------------------------------------------------------------------------------------- the highest leads

/// The highest node that is not known to be dead leads. Whoever starts nominates it; it crowns itself in an epoch of its own that is
/// larger than all that either of them knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Crowning {
    place: Fixed<(NodeId, Group, Slip)>,
    epoch: u64,
    leader: Option<NodeId>,
    /// Whom it has nominated and not heard of since.
    nominee: Option<NodeId>,
    dead: BTreeSet<NodeId>,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slip {
    Nothing,
    /// Epochs are everyone's, and not each node's own.
    SharedEpochs,
    /// Nothing is saved, and nobody who is behind is told.
    Forgetful,
    /// What is saved is not waited for.
    Hasty,
    /// The winner keeps it to itself.
    Mute,
    /// It does not care for who is dead.
    Deaf,
    /// It counts backwards.
    Backwards,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum Message {
    Nominate { epoch: u64 },
    Crown { epoch: u64 },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Nominate { .. } => "nominate",
            Self::Crown { .. } => "crown",
        }
    }
    fn class(&self) -> Class {
        match self {
            Self::Nominate { .. } => Class::Algorithm,
            Self::Crown { .. } => Class::Announcement,
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

impl Crowning {
    pub(crate) fn new(me: NodeId, group: Group, slip: Slip) -> Self {
        Self { place: Fixed::new((me, group, slip)), epoch: 0, leader: None, nominee: None, dead: BTreeSet::new() }
    }

    fn begin(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group, slip) = &*self.place;
        let (me, slip) = (*me, *slip);
        let highest = group.iter().filter(|node| slip == Slip::Deaf || !self.dead.contains(node)).last();
        self.leader = None;
        out.emit(Event::Began { epoch: Epoch(self.epoch) });
        match highest {
            Some(highest) if highest != me => {
                self.nominee = Some(highest);
                out.send(highest, Message::Nominate { epoch: self.epoch });
            }
            Some(_) | None => self.crown(out),
        }
    }

    fn crown(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group, slip) = (*self.place).clone();
        let size = group.len() as u64;
        self.epoch = match slip {
            Slip::SharedEpochs => self.epoch + 1,
            Slip::Backwards => 100_u64.saturating_sub(self.epoch),
            _ => (self.epoch / size + 1) * size + me.index() as u64,
        };
        (self.leader, self.nominee) = (Some(me), None);
        self.keep(out);
        let message = Message::Crown { epoch: self.epoch };
        match slip {
            Slip::Mute => {}
            Slip::Hasty => out.multicast_ahead(&group, message),
            _ => out.multicast(&group, message),
        }
        self.tell(out);
    }

    fn keep(&self, out: &mut Effects<'_, Self>) {
        if self.place.2 != Slip::Forgetful {
            out.save(self.epoch);
        }
    }

    fn tell(&self, out: &mut Effects<'_, Self>) {
        if let Some(leader) = self.leader {
            let event = Event::elected(leader, Epoch(self.epoch));
            if self.place.2 == Slip::Hasty { out.emit_ahead(event) } else { out.emit(event) }
        }
    }

    /// Whoever leads already, in an epoch that the other one does not know of, says so.
    fn is_nominated(&mut self, from: NodeId, epoch: u64, out: &mut Effects<'_, Self>) {
        if self.leader == Some(self.place.0) && epoch <= self.epoch && self.place.2 != Slip::Mute {
            return out.send(from, Message::Crown { epoch: self.epoch });
        }
        self.epoch = self.epoch.max(epoch);
        self.begin(out);
    }

    fn hear_of(&mut self, leader: NodeId, epoch: u64, out: &mut Effects<'_, Self>) {
        let backwards = self.place.2 == Slip::Backwards;
        let is_news = epoch > self.epoch || (epoch == self.epoch && self.leader.is_none());
        if is_news || backwards {
            (self.epoch, self.leader, self.nominee) = (epoch, Some(leader), None);
            self.keep(out);
            self.tell(out);
        } else if leader > self.place.0 && self.leader != Some(leader) {
            // The higher one was dead, or taken for it, and is behind.
            out.send(leader, Message::Nominate { epoch: self.epoch });
        }
    }
}

impl Protocol for Crowning {
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
            Input::Message { from, message: Message::Nominate { epoch } } => self.is_nominated(from, epoch, out),
            Input::Message { from, message: Message::Crown { epoch } } => self.hear_of(from, epoch, out),
            Input::Suspect(other) => {
                self.dead.insert(other);
                if self.place.2 != Slip::Deaf && (self.leader == Some(other) || self.nominee == Some(other)) {
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

// ------------------------------------------------------------------------------------------------- leases

/// Node 1 lets one lead at a time, for a second on its own clock, and sets no timer for it. The leader trusts its lease from when
/// it asked: for as long, or for so much less that it ends first however their clocks drift.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tenancy {
    place: Fixed<(NodeId, Group, Margin)>,
    asked: Option<Time>,
    epoch: u64,
    /// Up to when it has promised not to let another lead.
    promised: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Margin {
    None,
    /// In millionths.
    Drift(u64),
}

const LEASE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum Talk {
    Ask,
    Grant { epoch: u64 },
    Leads { leader: NodeId, epoch: u64 },
}

impl Describe for Talk {
    fn kind(&self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Grant { .. } => "grant",
            Self::Leads { .. } => "leads",
        }
    }
}

impl Tenancy {
    pub(crate) fn new(me: NodeId, group: Group, margin: Margin) -> Self {
        Self { place: Fixed::new((me, group, margin)), asked: None, epoch: 0, promised: Time::ZERO }
    }

    fn trusted(&self) -> Duration {
        match self.place.2 {
            Margin::None => LEASE,
            Margin::Drift(parts) => Duration::from_nanos(LEASE.nanos() * (1_000_000 - parts) / (1_000_000 + parts)),
        }
    }
}

impl Protocol for Tenancy {
    type Command = Command;
    type Message = Talk;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let (me, group, _) = (*self.place).clone();
        let arbiter = NodeId::from_index(0);
        match input {
            Input::Command(Command::Campaign) if me != arbiter => {
                self.asked = Some(now);
                out.send(arbiter, Talk::Ask);
            }
            Input::Command(_) => out.emit(Event::Refused(Refusal::NotEligible)),
            Input::Message { from, message: Talk::Ask } => {
                if now >= self.promised {
                    (self.promised, self.epoch) = (now + LEASE, self.epoch + 1);
                    out.send(from, Talk::Grant { epoch: self.epoch });
                }
            }
            Input::Message { message: Talk::Grant { epoch }, .. } => {
                if let Some(asked) = self.asked.take() {
                    let until = asked + self.trusted();
                    out.emit(Event::Elected { leader: me, epoch: Epoch(epoch), until });
                    out.multicast(&group, Talk::Leads { leader: me, epoch });
                }
            }
            Input::Message { message: Talk::Leads { leader, epoch }, .. } => {
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
