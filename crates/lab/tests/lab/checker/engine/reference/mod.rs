//! A second explorer to compare the checker with: slow, simple, and without any code of the
//! checker.
//!
//! A state consists of the nodes themselves, the messages in flight and the state of each client,
//! all kept and compared as they are. Only messages and timers are numbered, so that they have an
//! order. There are no fingerprints and no reduction.

mod explore;
mod fair;
mod past;
mod step;
mod views;

pub(crate) use explore::{ReferenceResult, explore, explore_within};
pub(crate) use fair::starves;

use past::{Knowledge, Past};
use quorate_check::{Make, Setup, Timing, Views};
use quorate_core::{Duration, Incarnation, Span, Time};
use quorate_erased::{AnyMessage, AnyTimer};
use quorate_journal::disk::Disk;
use quorate_lab::mutex::MutexNode;
use quorate_lab::mutex::check::Contenders;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;
use views::{Lease, Membership};

#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) setup: Setup,
    pub(crate) clients: Contenders,
}

impl Bounds {
    /// `nodes` nodes that request entry `rounds` times each, without faults, judging only states.
    pub(crate) fn new(nodes: usize, rounds: impl Into<Option<u8>>) -> Self {
        let rounds = rounds.into();
        let clients = Contenders { rounds, ..Contenders::default() };
        Self { setup: Setup::new(nodes), clients }
    }

    /// Adds views, with at most `changes` changes, and clients that expect delayed answers.
    pub(crate) fn views(mut self, changes: u8, waits_for_leases: bool) -> Self {
        self.setup.views = Some(Views { changes, waits_for_leases });
        self.clients.views = true;
        self
    }

    pub(crate) fn timing(mut self, drift_ppm: u32, until: Time) -> Self {
        self.setup.timing = Some(Timing { drift_ppm, ..Timing::until(until) });
        self
    }

    /// Bounds message delays, with timing.
    pub(crate) fn delay(mut self, one: Duration, other: Duration) -> Self {
        let timing = self.setup.timing.unwrap();
        self.setup.timing = Some(Timing { delay: Some(Span::between(one, other)), ..timing });
        self
    }
}

macro_rules! setters {
    ($($name:ident($($count:ident: $type:ty)?) sets $part:ident.$field:ident to $value:expr;)+) => {
        impl Bounds {
            $(
                pub(crate) fn $name(mut self $(, $count: $type)?) -> Self {
                    self.$part.$field = $value;
                    self
                }
            )+
        }
    };
}

setters! {
    tries() sets clients.tries to true;
    cancels() sets clients.cancels to true;
    order() sets clients.order to true;
    fences() sets clients.fences to true;
    fifo() sets setup.fifo to true;
    losses(count: u8) sets setup.losses to count;
    duplicates(count: u8) sets setup.duplicates to count;
    crashes(count: u8) sets setup.crashes to count;
    restarts(count: u8) sets setup.restarts to count;
    early_timers(count: u8) sets setup.early_timers to count;
}

/// Creates the type-erased nodes of a group, so that both explorers are compiled once, and names
/// them.
pub(crate) struct Maker {
    pub(crate) make: Make<MutexNode>,
    pub(crate) name: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ClientState {
    Outside,
    Waiting,
    Inside,
    Down,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Node {
    /// `None` while it is down.
    protocol: Option<MutexNode>,
    incarnation: Incarnation,
    /// By number, with the earliest and the latest firing time by the node's own clock, with
    /// timing.
    timers: BTreeMap<usize, (Time, Time)>,
    disk: Disk<MutexNode>,
    client: ClientState,
    left: Option<u8>,
    /// Its client has released or cancelled and waits for the answer.
    awaits_answer: bool,
    lease: Lease,
}

/// A message in flight by its number, with the requests that its sender knew of.
type Carried = (usize, Knowledge);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Network {
    /// Unordered, with the number of copies of each.
    Bag(BTreeMap<Carried, usize>),
    /// In sending order on each link.
    Links(BTreeMap<(usize, usize), VecDeque<Carried>>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Budgets {
    losses: u8,
    duplicates: u8,
    crashes: u8,
    restarts: u8,
    early_timers: u8,
    changes: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Shared with earlier states, because a step changes only one node.
    nodes: Vec<Rc<Node>>,
    network: Network,
    budgets: Budgets,
    now: Time,
    /// Drift of each clock, in parts per million.
    rates: Vec<i32>,
    past: Past,
    /// The membership, if the group has views.
    membership: Option<Membership>,
}

impl State {
    fn is_quiet(&self) -> bool {
        self.membership.as_ref().is_none_or(|membership| membership.news.is_empty()) && self.is_silent()
    }

    fn is_silent(&self) -> bool {
        match &self.network {
            Network::Bag(bag) => bag.is_empty(),
            Network::Links(links) => links.is_empty(),
        }
    }

    fn inside(&self) -> usize {
        self.nodes.iter().filter(|node| node.client == ClientState::Inside && node.is_active()).count()
    }

    fn waits(&self, node: usize) -> bool {
        self.nodes[node].client == ClientState::Waiting && self.nodes[node].is_active()
    }
}

impl Node {
    /// A node without a lease neither holds the lock nor has to be served.
    fn is_active(&self) -> bool {
        matches!(self.lease, Lease::None | Lease::Valid)
    }
}

/// Sender, receiver, message, and the sending time if delays are bounded.
type Transmission = (usize, usize, AnyMessage, Option<Time>);

/// Numbered messages and timers, and the bounds.
struct World {
    bounds: Bounds,
    make: Make<MutexNode>,
    messages: Vec<Transmission>,
    numbers: HashMap<Transmission, usize>,
    timers: Vec<AnyTimer>,
}

impl World {
    fn new(make: &Maker, bounds: &Bounds) -> Self {
        Self {
            bounds: bounds.clone(),
            make: Arc::clone(&make.make),
            messages: Vec::new(),
            numbers: HashMap::new(),
            timers: Vec::new(),
        }
    }

    fn number_message(&mut self, from: usize, to: usize, message: AnyMessage, now: Time) -> usize {
        let sent = self.delay().map(|_| now);
        *self.numbers.entry((from, to, message, sent)).or_insert_with_key(|transmission| {
            self.messages.push(transmission.clone());
            self.messages.len() - 1
        })
    }

    fn number_timer(&mut self, timer: &AnyTimer) -> usize {
        self.timers.iter().position(|known| known == timer).unwrap_or_else(|| {
            self.timers.push(timer.clone());
            self.timers.len() - 1
        })
    }
}

/// An obligation that a fair run must meet eventually.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Obligation {
    Deliver(usize),
    Release(usize),
    Fire(usize, usize),
    Sync(usize),
    /// Decide a view without a member.
    Decide(usize),
    /// Notify a node of a view.
    Notify(u64, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Violation {
    Unrequested,
    /// A node enters before another one whose request it knew of when it made its own.
    Unordered,
    FenceDecrease,
}

struct Edge {
    to: State,
    /// Whether it is not a fault. A restart is none: it repairs one.
    regular: bool,
    /// The obligations it meets; resetting a timer counts as firing it.
    meets: Vec<Obligation>,
    violations: Vec<Violation>,
}
