//! A second explorer, to hold the checker against: slow, plain, and without a line of the checker's own.
//!
//! A state is the nodes themselves, the messages under way and where each user stands, all of it kept and compared as
//! it is. Nothing is numbered but messages and timers, so that they have an order; nothing is hashed into fingerprints,
//! nothing is left out.

mod explore;
mod fair;
mod past;
mod step;
mod views;

pub(crate) use explore::{Seen, explore, explore_within};
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
use views::{Club, Lease};

#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) setup: Setup,
    pub(crate) users: Contenders,
}

impl Bounds {
    /// So many nodes, each of which asks so many times, with nothing going wrong and only states being judged.
    pub(crate) fn new(nodes: usize, rounds: impl Into<Option<u8>>) -> Self {
        let rounds = rounds.into();
        let users = Contenders { rounds, ..Contenders::default() };
        Self { setup: Setup::new(nodes), users }
    }

    /// The group has views, of which so many lack one more member, and its users know that answers take their time.
    pub(crate) fn views(mut self, changes: u8, waits: bool) -> Self {
        self.setup.views = Some(Views { changes, waits });
        self.users.views = true;
        self
    }

    pub(crate) fn timing(mut self, drift_ppm: u32, until: Time) -> Self {
        self.setup.timing = Some(Timing { drift_ppm, ..Timing::until(until) });
        self
    }

    /// Messages take at least and at most so long, where time counts.
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
    tries() sets users.tries to true;
    cancels() sets users.cancels to true;
    order() sets users.order to true;
    fences() sets users.fences to true;
    fifo() sets setup.fifo to true;
    losses(count: u8) sets setup.losses to count;
    duplicates(count: u8) sets setup.duplicates to count;
    crashes(count: u8) sets setup.crashes to count;
    restarts(count: u8) sets setup.restarts to count;
    hasty_timers(count: u8) sets setup.hasty_timers to count;
}

/// A group's nodes, whose types are erased so that both explorers are compiled once, and what they are.
pub(crate) struct Maker {
    pub(crate) make: Make<MutexNode>,
    pub(crate) name: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    Outside,
    Waiting,
    Inside,
    Down,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Node {
    /// None while it is down.
    protocol: Option<MutexNode>,
    life: Incarnation,
    /// Each by its number, and when it may and must fire by the node's own clock, where time counts.
    timers: BTreeMap<usize, (Time, Time)>,
    disk: Disk<MutexNode>,
    standing: Standing,
    left: Option<u8>,
    /// Its user asked to leave or gave up, and waits to hear of it.
    spoke: bool,
    lease: Lease,
}

/// A message under way by its number, with the requests that its sender knew of.
type Carried = (usize, Knowledge);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Network {
    /// In no order, each with the number of copies.
    Bag(BTreeMap<Carried, usize>),
    /// In the order of sending on each link.
    Links(BTreeMap<(usize, usize), VecDeque<Carried>>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Budgets {
    losses: u8,
    duplicates: u8,
    crashes: u8,
    restarts: u8,
    hasty_timers: u8,
    changes: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Shared with the states before, from which one step changes one node.
    nodes: Vec<Rc<Node>>,
    network: Network,
    budgets: Budgets,
    now: Time,
    /// How much too fast each clock runs, in millionths.
    rates: Vec<i32>,
    past: Past,
    /// Who is in, where the group has views.
    club: Option<Club>,
}

impl State {
    fn is_quiet(&self) -> bool {
        self.club.as_ref().is_none_or(|club| club.news.is_empty()) && self.is_silent()
    }

    fn is_silent(&self) -> bool {
        match &self.network {
            Network::Bag(bag) => bag.is_empty(),
            Network::Links(links) => links.is_empty(),
        }
    }

    fn inside(&self) -> usize {
        self.nodes.iter().filter(|node| node.standing == Standing::Inside && node.acts()).count()
    }

    fn waits(&self, node: usize) -> bool {
        self.nodes[node].standing == Standing::Waiting && self.nodes[node].acts()
    }
}

impl Node {
    /// Whoever has no lease is neither inside nor owed anything.
    fn acts(&self) -> bool {
        matches!(self.lease, Lease::None | Lease::Valid)
    }
}

/// From whom to whom, what it says, and when it was sent where that makes a difference.
type Post = (usize, usize, AnyMessage, Option<Time>);

/// Messages and timers by their numbers, and the bounds.
struct World {
    bounds: Bounds,
    make: Make<MutexNode>,
    messages: Vec<Post>,
    numbers: HashMap<Post, usize>,
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
        *self.numbers.entry((from, to, message, sent)).or_insert_with_key(|post| {
            self.messages.push(post.clone());
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

/// Something that a fair run must do sooner or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Debt {
    Deliver(usize),
    Leave(usize),
    Fire(usize, usize),
    Sync(usize),
    /// To go on without a member.
    Decide(usize),
    /// To tell a node of a view.
    Tell(u64, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Wrong {
    Unasked,
    /// Somebody enters before another one whose request it knew of when it asked.
    Unordered,
    FenceBack,
}

struct Edge {
    to: State,
    /// It is not a fault. A restart is none: it repairs one.
    regular: bool,
    /// What it does of all that must be done; to set a timer anew is as good as to let it fire.
    pays: Vec<Debt>,
    wrong: Vec<Wrong>,
}
