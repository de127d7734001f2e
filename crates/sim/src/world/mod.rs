//! The simulated world: nodes, the network between them, their clocks and disks, and what goes wrong.
//!
//! A world takes one event after another from its queue. Same nodes, same setup, same seed: the same run, to the
//! last byte. The cost of an event does not depend on the number of nodes or links.

mod directions;
mod faults;
mod full_disk;
mod host;
mod intake;
mod obituaries;
mod oracle;

use crate::network::{Fate, Network, Wire};
use crate::queue::Queue;
use directions::Directions;
pub(crate) use directions::Told;
use faults::Act;
use host::{Host, Stepper};
use obituaries::Obituary;
pub use oracle::Views;
use oracle::{Errand, Notice, Oracle};
use quorate_core::{Duration, Effects, Incarnation, Input, NodeId, Protocol, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::moment::{Happening, Loss, MessageId, Moment, Observer, Taken};
use quorate_journal::puppets::Condition;
use quorate_journal::settings::{Direction, Latency};
use quorate_journal::workload::News;
use serde::Serialize;
use std::collections::VecDeque;

/// What a world is like before anything happens in it.
#[derive(Clone, Debug)]
pub struct Setup {
    pub nodes: usize,
    pub seed: u64,
    pub wire: Wire,
    /// How long a node is busy with each input.
    pub processing: Latency,
    /// How long a sync of the disk takes.
    pub sync: Latency,
}

/// A world of nodes of one protocol, watched by one observer.
pub struct World<P: Protocol, O> {
    slots: Vec<Slot<P>>,
    make: Box<dyn Fn(NodeId) -> P>,
    around: Around<P, O>,
    /// Who says who is in, where nodes have views.
    oracle: Option<Box<Oracle>>,
    /// Whether nodes hear that the process of another is gone.
    tells_deaths: bool,
    /// Faults that hold before any node starts.
    at_start: Vec<Act>,
    started: bool,
    /// How many faults were scheduled: each has its serial number.
    faults: u64,
}

/// A small one lies in one line of the cache: in a large world, fetching it is what an event costs.
#[repr(align(32))]
struct Slot<P: Protocol> {
    node: P,
    host: Host<P>,
}

/// Everything but the nodes.
struct Around<P: Protocol, O> {
    time: Time,
    queue: Queue<Pending<P>>,
    network: Network,
    processing: Latency,
    sync: Latency,
    timer_dice: Dice,
    node_dice: Dice,
    /// What is not left to chance, if anything is.
    directions: Option<Box<Directions>>,
    observer: O,
    /// What happened to messages during the step under way; observers see it after the step.
    aftermath: Vec<Aftermath>,
    news: VecDeque<(NodeId, News<P::Event>)>,
    events: u64,
    under_way: usize,
    armed: usize,
    /// How many disks sync or hold writes, and how many have news for their nodes.
    syncing: usize,
    /// How many commands and alarms are to come.
    planned: usize,
    /// How many of all those wait inside paused nodes or before full disks, where nothing but a fault can make them go
    /// on.
    stalled: usize,
    troubles: usize,
}

enum Aftermath {
    Lost { id: MessageId, to: NodeId, why: Loss },
    Duplicated { id: MessageId },
}

enum Pending<P: Protocol> {
    /// The boot of a node that was paused before it began.
    Start {
        node: NodeId,
    },
    Message {
        from: NodeId,
        to: NodeId,
        number: u64,
        message: P::Message,
    },
    Timer {
        node: NodeId,
        generation: u32,
    },
    Command {
        node: NodeId,
        /// The life of the node that it is meant for, if for one only.
        life: Option<Incarnation>,
        command: P::Command,
    },
    Synced {
        node: NodeId,
        incarnation: Incarnation,
        count: u64,
    },
    /// The disk has become full or free.
    DiskNews {
        node: NodeId,
    },
    Alarm {
        node: NodeId,
    },
    /// A node is done with the input it was busy with, unless it was interrupted since.
    Worked {
        node: NodeId,
        turn: u32,
    },
    Fault(Box<Act>),
    Notice(Box<Notice>),
    /// A node hears of another's death or return.
    Obituary(Obituary),
    Errand(Errand),
}

/// What comes first at equal times: faults, then the disk, then messages, then timers, then users.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Fault = 0,
    Disk = 1,
    Message = 2,
    Timer = 3,
    Command = 4,
}

impl<P: Protocol> Pending<P> {
    fn rank(&self) -> Rank {
        match self {
            Self::Message { .. } | Self::Worked { .. } | Self::Notice(_) | Self::Obituary(_) | Self::Errand(_) => {
                Rank::Message
            }
            Self::Timer { .. } => Rank::Timer,
            Self::Command { .. } | Self::Alarm { .. } => Rank::Command,
            Self::Synced { .. } | Self::DiskNews { .. } => Rank::Disk,
            Self::Start { .. } | Self::Fault(_) => Rank::Fault,
        }
    }

    /// Whether it makes something happen for certain; a timer may have been cancelled.
    fn is_certain(&self) -> bool {
        matches!(self, Self::Message { .. } | Self::Command { .. } | Self::Synced { .. } | Self::DiskNews { .. })
    }

    fn node(&self) -> Option<NodeId> {
        match self {
            Self::Message { to, .. } => Some(*to),
            Self::Start { node }
            | Self::Timer { node, .. }
            | Self::Command { node, .. }
            | Self::Synced { node, .. }
            | Self::DiskNews { node }
            | Self::Alarm { node }
            | Self::Worked { node, .. } => Some(*node),
            Self::Notice(notice) => Some(notice.node()),
            Self::Obituary(obituary) => Some(obituary.node),
            Self::Fault(_) | Self::Errand(_) => None,
        }
    }
}

/// The end of time, after some 73 years: a key of the queue has no room for more beside the rank.
const LAST_NANOS: i64 = (u64::MAX >> RANK_BITS) as i64;
const RANK_BITS: u32 = 3;

/// The instant of what has this key in the queue.
#[inline]
fn time_of(key: u64) -> Time {
    Time::from_nanos((key >> RANK_BITS) as i64)
}

impl<P: Protocol, O> Around<P, O> {
    #[inline]
    fn push(&mut self, at: Time, pending: Pending<P>) {
        let nanos = at.nanos().clamp(0, LAST_NANOS) as u64;
        self.queue.push((nanos << RANK_BITS) | pending.rank() as u64, pending);
    }

    #[inline]
    fn transmit(&mut self, from: NodeId, to: NodeId, number: u64, message: P::Message) {
        let id = MessageId { sender: from, number };
        let fate =
            if self.directions.is_none() { self.network.fate(self.time, from, to) } else { self.directed(from, to) };
        match fate {
            Fate::Lost(why) => self.aftermath.push(Aftermath::Lost { id, to, why }),
            Fate::Arrives(at) => {
                self.under_way += 1;
                self.push(at, Pending::Message { from, to, number, message });
            }
            Fate::Twice(at, again) => {
                self.aftermath.push(Aftermath::Duplicated { id });
                self.under_way += 2;
                self.push(at, Pending::Message { from, to, number, message: message.clone() });
                self.push(again, Pending::Message { from, to, number, message });
            }
        }
    }

    /// What becomes of a message where some are told what becomes of them.
    #[cold]
    fn directed(&mut self, from: NodeId, to: NodeId) -> Fate {
        match self.directions.as_mut().and_then(|directions| directions.message(from, to)) {
            Some(told) => self.network.directed(self.time, from, to, told),
            None => self.network.fate(self.time, from, to),
        }
    }

    /// Whether nodes take inputs as they come.
    #[inline]
    fn is_instant(&self) -> bool {
        self.processing == Latency::Fixed(Duration::ZERO)
    }

    fn happens(&mut self, what: Happening<'_>)
    where
        O: Observer<P::Command, P::Event>,
    {
        self.observer.observe(&Moment::World { time: self.time, what });
    }

    fn tell_aftermath(&mut self)
    where
        O: Observer<P::Command, P::Event>,
    {
        if self.aftermath.is_empty() {
            return;
        }
        for event in std::mem::take(&mut self.aftermath) {
            self.happens(match event {
                Aftermath::Lost { id, to, why } => Happening::Lost { id, to, why },
                Aftermath::Duplicated { id } => Happening::Duplicated { id },
            });
        }
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// A world whose nodes are made by `make`, at boot and again at every restart.
    pub fn new(setup: &Setup, make: impl Fn(NodeId) -> P + 'static, observer: O) -> Self {
        let slots = (0..setup.nodes).map(NodeId::from_index).map(|id| Slot { node: make(id), host: Host::new() });
        let dice = |stream| Dice::new(setup.seed, stream);
        Self {
            slots: slots.collect(),
            make: Box::new(make),
            around: Around {
                time: Time::ZERO,
                queue: Queue::new(),
                network: Network::new(setup.wire.clone(), dice(Stream::Network)),
                processing: setup.processing,
                sync: setup.sync,
                timer_dice: dice(Stream::Timers),
                node_dice: dice(Stream::Nodes),
                directions: None,
                observer,
                aftermath: Vec::new(),
                news: VecDeque::new(),
                events: 0,
                under_way: 0,
                armed: 0,
                syncing: 0,
                planned: 0,
                stalled: 0,
                troubles: 0,
            },
            oracle: None,
            tells_deaths: false,
            at_start: Vec::new(),
            started: false,
            faults: 0,
        }
    }

    /// Takes some choices from chance. To be called before the start, for things are counted from then on.
    pub fn direct(&mut self, directions: &[Direction]) {
        self.around.directions = (!directions.is_empty()).then(|| Box::new(Directions::new(directions)));
    }

    /// Applies the faults that hold from the start, then boots every node that is up.
    pub fn start(&mut self) {
        for act in std::mem::take(&mut self.at_start) {
            self.act(act);
        }
        self.started = true;
        for node in (0..self.slots.len()).map(NodeId::from_index) {
            self.boot(node);
        }
        self.found();
    }

    /// Gives a node a command at an instant to come, whichever life of it that finds.
    pub fn command(&mut self, at: Time, node: NodeId, command: P::Command) {
        self.around.planned += 1;
        self.around.push(at, Pending::Command { node, life: None, command });
    }

    /// Gives a node a command at an instant to come, unless the node's present life ends before.
    pub fn command_this_life(&mut self, at: Time, node: NodeId, command: P::Command) {
        let life = self.slots.get(node.index()).map(|slot| slot.host.incarnation());
        self.around.planned += 1;
        self.around.push(at, Pending::Command { node, life, command });
    }

    /// Lets a node's user hear an alarm at an instant to come, whatever has become of the node.
    pub fn wake(&mut self, at: Time, node: NodeId) {
        self.around.planned += 1;
        self.around.push(at, Pending::Alarm { node });
    }

    /// Lets the next thing happen. Nothing is left to happen if it returns false.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let Some((key, pending)) = self.around.queue.pop() else { return false };
        self.around.time = time_of(key);
        self.look_ahead();
        match pending {
            Pending::Fault(act) => {
                self.around.troubles -= 1;
                self.act(*act);
            }
            Pending::Worked { node, turn } => self.worked(node, turn),
            Pending::Errand(errand) => self.run_errand(errand),
            Pending::Alarm { node } => {
                self.around.planned -= 1;
                self.around.news.push_back((node, News::Alarm));
            }
            pending => self.arrive(pending),
        }
        true
    }

    /// Touches the node whose turn comes soon. In a large world it is not in the cache; so it is on its way while
    /// the present one steps.
    #[inline]
    fn look_ahead(&self) {
        let Some(node) = self.around.queue.soon().and_then(Pending::node) else { return };
        if let Some(slot) = self.slots.get(node.index()) {
            std::hint::black_box(slot.host.condition);
        }
        self.around.observer.foresee(node);
    }

    /// The instant of the last event.
    pub fn time(&self) -> Time {
        self.around.time
    }

    /// The instant of the next event.
    pub fn next_time(&self) -> Option<Time> {
        self.around.queue.next_key().map(time_of)
    }

    /// How many inputs nodes have taken.
    pub fn events(&self) -> u64 {
        self.around.events
    }

    /// How many messages are on their way.
    pub fn under_way(&self) -> usize {
        self.around.under_way
    }

    /// Whether no message is on its way, no timer is set, no disk has anything to do, and no command or alarm is to
    /// come.
    pub fn is_quiet(&self) -> bool {
        let Around { under_way, armed, syncing, planned, .. } = self.around;
        under_way == 0 && armed == 0 && syncing == 0 && planned == 0
    }

    /// Whether any command or alarm is to come.
    pub fn has_plans(&self) -> bool {
        self.around.planned > 0
    }

    /// Whether nothing but timers can make anything happen: no fault is to come, and neither is any message, disk,
    /// command or alarm, unless it waits for good inside a paused node or before a full disk.
    pub fn is_left_to_timers(&self) -> bool {
        let Around { under_way, syncing, planned, stalled, troubles, .. } = self.around;
        troubles == 0 && under_way + syncing + planned == stalled
    }

    /// Whether a node is up (a paused one is).
    pub fn is_up(&self, node: NodeId) -> bool {
        self.slots.get(node.index()).is_some_and(|slot| slot.host.condition != Condition::Down)
    }

    /// The next thing that a node's user learns.
    pub fn next_news(&mut self) -> Option<(NodeId, News<P::Event>)> {
        self.around.news.pop_front()
    }

    /// A node's state.
    pub fn node(&self, node: NodeId) -> Option<&P> {
        self.slots.get(node.index()).map(|slot| &slot.node)
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.around.observer
    }

    /// The observer, and the end of the world.
    pub fn into_observer(self) -> O {
        self.around.observer
    }

    #[inline]
    fn tell(&mut self, node: NodeId, input: Taken<'_, P::Command>) {
        let time = self.around.time;
        let now = self.slots.get(node.index()).map_or(time, |slot| slot.host.now(time));
        self.around.observer.observe(&Moment::Input { time, now, node, input });
    }

    #[inline]
    fn step(&mut self, node: NodeId, input: Input<P>) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        self.around.events += 1;
        let now = slot.host.now(self.around.time);
        let mut stepper = Stepper { node, host: &mut slot.host, around: &mut self.around };
        slot.node.step(now, input, &mut Effects::new(&mut stepper));
        stepper.begin_sync();
        self.around.tell_aftermath();
    }
}
