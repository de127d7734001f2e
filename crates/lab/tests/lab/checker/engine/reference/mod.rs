//! A second explorer to compare the checker with: slow, simple, and without any code of the checker
//! except the types of its settings.
//!
//! A state contains the nodes themselves, kept and compared as they are. Only messages and timers
//! are replaced by numbers, so that they have an order. There are no fingerprints and no reduction.

mod explore;
mod fair;
mod past;
mod step;
mod views;

pub(crate) use explore::{ReferenceResult, explore, explore_within};
pub(crate) use fair::starves;

use past::{Knowledge, Past};
use quorate_check::{MakeNode, Setup, Timing, Views};
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

/// The group and its clients: how many nodes, requests and faults both explorers try.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) setup: Setup,
    pub(crate) clients: Contenders,
}

impl Bounds {
    /// `nodes` nodes that may request entry `rounds` times each, or without limit for `None`. There
    /// are no faults. Order and fences, which need the history, are not judged.
    pub(crate) fn new(nodes: usize, rounds: impl Into<Option<u8>>) -> Self {
        let rounds = rounds.into();
        let clients = Contenders { rounds, ..Contenders::default() };
        Self { setup: Setup::new(nodes), clients }
    }

    /// Adds views with at most `max_changes` changes, and clients that expect delayed answers.
    pub(crate) fn views(self, max_changes: u8) -> Self {
        self.with_views(Views { max_changes, waits_for_leases: true })
    }

    /// Like [`Bounds::views`], with a membership that does not wait until the lease of a removed
    /// member expires.
    pub(crate) fn impatient_views(self, max_changes: u8) -> Self {
        self.with_views(Views { max_changes, waits_for_leases: false })
    }

    fn with_views(mut self, views: Views) -> Self {
        self.setup.views = Some(views);
        self.clients.has_views = true;
        self
    }

    /// Gives clocks this drift and explores until this time.
    pub(crate) fn timing(mut self, drift_ppm: u32, until: Time) -> Self {
        self.setup.timing = Some(Timing { drift_ppm, ..Timing::until(until) });
        self
    }

    /// Bounds message delays; panics without [`Bounds::timing`].
    pub(crate) fn delay(mut self, minimum: Duration, maximum: Duration) -> Self {
        let timing = self.setup.timing.unwrap();
        self.setup.timing = Some(Timing { delay: Some(Span::between(minimum, maximum)), ..timing });
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
    tries() sets clients.allows_tries to true;
    cancels() sets clients.allows_cancels to true;
    order() sets clients.checks_order to true;
    fences() sets clients.checks_fences to true;
    fifo() sets setup.has_fifo_links to true;
    losses(count: u8) sets setup.losses to count;
    duplicates(count: u8) sets setup.duplicates to count;
    crashes(count: u8) sets setup.crashes to count;
    restarts(count: u8) sets setup.restarts to count;
    early_timers(count: u8) sets setup.early_timers to count;
}

/// Creates the nodes of a group. Their type is erased, so that both explorers are compiled once.
pub(crate) struct NodeFactory {
    pub(crate) make: MakeNode<MutexNode>,
    pub(crate) protocol_name: &'static str,
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
    /// `None` while the node is down.
    protocol: Option<MutexNode>,
    incarnation: Incarnation,
    /// Running timers by number, with the earliest and the latest firing time by the node's own
    /// clock; both are zero without timing.
    timers: BTreeMap<usize, (Time, Time)>,
    disk: Disk<MutexNode>,
    client: ClientState,
    /// `None` if the client may request entry without limit.
    remaining_requests: Option<u8>,
    /// Whether its client has released or cancelled and waits for the answer. Only clients in
    /// groups with views wait.
    awaits_answer: bool,
    lease: Lease,
}

/// A message in flight by its number, with the requests that its sender knew of.
type MessageInFlight = (usize, Knowledge);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Network {
    /// Unordered messages, with the number of copies of each.
    Bag(BTreeMap<MessageInFlight, usize>),
    /// Messages in sending order, for each pair of sender and receiver.
    Links(BTreeMap<(usize, usize), VecDeque<MessageInFlight>>),
}

/// How many more faults and view changes may happen.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Budgets {
    losses: u8,
    duplicates: u8,
    crashes: u8,
    restarts: u8,
    early_timers: u8,
    view_changes: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Shared with earlier states, because a step changes only one node.
    nodes: Vec<Rc<Node>>,
    network: Network,
    budgets: Budgets,
    now: Time,
    /// Drift of each node's clock from `now`, in parts per million.
    drifts_ppm: Vec<i32>,
    past: Past,
    /// The membership, if the group has views.
    membership: Option<Membership>,
}

impl State {
    /// Whether no message and no notification of a view is in flight.
    fn has_nothing_in_flight(&self) -> bool {
        self.membership.as_ref().is_none_or(|membership| membership.notifications.is_empty()) && self.has_no_messages()
    }

    fn has_no_messages(&self) -> bool {
        match &self.network {
            Network::Bag(bag) => bag.is_empty(),
            Network::Links(links) => links.is_empty(),
        }
    }

    fn count_holders(&self) -> usize {
        self.nodes.iter().filter(|node| node.client == ClientState::Inside && node.is_active()).count()
    }

    fn is_waiting(&self, node: usize) -> bool {
        self.nodes[node].client == ClientState::Waiting && self.nodes[node].is_active()
    }
}

impl Node {
    /// Whether the node has a valid lease or needs none. A node whose lease is expired or lost
    /// neither holds the lock nor has to be served.
    fn is_active(&self) -> bool {
        matches!(self.lease, Lease::None | Lease::Valid)
    }
}

/// Sender, receiver, message, and the sending time if delays are bounded.
type Transmission = (usize, usize, AnyMessage, Option<Time>);

/// The initial states and all transitions of a group. It numbers the messages and timers it meets.
struct TransitionSystem {
    bounds: Bounds,
    make: MakeNode<MutexNode>,
    messages: Vec<Transmission>,
    message_numbers: HashMap<Transmission, usize>,
    timers: Vec<AnyTimer>,
}

impl TransitionSystem {
    fn new(factory: &NodeFactory, bounds: &Bounds) -> Self {
        Self {
            bounds: bounds.clone(),
            make: Arc::clone(&factory.make),
            messages: Vec::new(),
            message_numbers: HashMap::new(),
            timers: Vec::new(),
        }
    }

    /// The number of a message, which is new if no equal message was sent before.
    fn number_message(&mut self, from: usize, to: usize, message: AnyMessage, now: Time) -> usize {
        let sent_at = self.delay().map(|_| now);
        *self.message_numbers.entry((from, to, message, sent_at)).or_insert_with_key(|transmission| {
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
    Deliver { message: usize },
    Release { node: usize },
    Fire { node: usize, timer: usize },
    Sync { node: usize },
    DecideViewWithout { node: usize },
    Notify { epoch: u64, node: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Violation {
    /// A node enters without a request.
    Unrequested,
    /// A node enters before another one whose request it knew of when it made its own.
    Unordered,
    /// An entry's fence is not larger than that of an earlier entry.
    FenceDecrease,
}

/// A transition to a state.
struct Edge {
    to: State,
    /// Whether the transition is no fault. A restart is regular, because it repairs a fault.
    is_regular: bool,
    /// The obligations that the transition meets; setting a timer again counts as firing it.
    met_obligations: Vec<Obligation>,
    violations: Vec<Violation>,
}
