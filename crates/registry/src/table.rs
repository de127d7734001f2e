//! The table: one line an algorithm.

mod deadlocks;
mod elections;
mod multicasts;
mod mutual_exclusion;

use crate::codec::AnyCodec;
use crate::detector::AnyDetector;
use crate::erased::{Erasable, ErasableWrite, Erased, Parts};
use crate::in_views::{ErasableInViews, ErasedInViews};
use quorate_core::about::Profile;
use quorate_core::deadlock;
use quorate_core::election;
use quorate_core::multicast::{self, Several};
use quorate_core::mutex;
use quorate_core::wrap::Viewed;
use quorate_core::{Bounds, Group, NodeId, WriteOf};
use quorate_replica::fixtures::{Flaw as LogFlaw, Flawed};
use quorate_replica::once::Once;
use quorate_replica::registers::Registers;
use quorate_replica::{Replica, profile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// A node of any mutual-exclusion algorithm.
pub type MutexNode = Erased<mutex::Command, mutex::Event>;

/// A node of any mutual-exclusion algorithm that can go from one view to the next.
pub type MutexInViews = ErasedInViews<mutex::Command, mutex::Event>;

/// A node of any election algorithm.
pub type ElectionNode = Erased<election::Command, election::Event>;

/// A node of any ordered multicast.
pub type MulticastNode = Erased<multicast::Command, multicast::Event>;

/// A node of any ordered multicast, before anything is put around it.
pub type MulticastInViews = ErasedInViews<multicast::Command, multicast::Event>;

/// A node of any detector of deadlocks, with the processes that it watches.
pub type DeadlockNode = Erased<deadlock::Command, deadlock::Event>;

/// The state machine on top of any replicated log here: a map of registers whose clients may ask again without harm.
pub type ReplicaMachine = Once<Registers>;

/// A node of any replicated log.
pub type ReplicaNode = Erased<quorate_replica::Command<ReplicaMachine>, quorate_replica::Event<ReplicaMachine>>;

/// Algorithms that take the same commands and tell the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// At most one node inside at a time.
    Mutex,
    /// One node is chosen, and everyone learns which.
    Election,
    /// What one says reaches all, in an order.
    Multicast,
    /// Who waits for ever is found.
    Deadlock,
    /// One log on many nodes, and a state machine on top of it.
    Replica,
}

impl Family {
    /// All of them, in the order in which lists show them.
    pub const ALL: [Self; 5] = [Self::Mutex, Self::Election, Self::Multicast, Self::Deadlock, Self::Replica];

    /// Its name as users read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Election => "election",
            Self::Multicast => "multicast",
            Self::Deadlock => "deadlock",
            Self::Replica => "replica",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One algorithm, with what its family needs to know of it.
pub enum Entry {
    /// A mutual exclusion.
    Mutex(MutexEntry),
    /// An election.
    Election(ElectionEntry),
    /// An ordered multicast.
    Multicast(MulticastEntry),
    /// A detector of deadlocks.
    Deadlock(DeadlockEntry),
    /// A replicated log.
    Replica(ReplicaEntry),
}

impl Entry {
    /// The name that users type.
    pub fn name(&self) -> &'static str {
        self.profile().name
    }

    /// Its family.
    pub const fn family(&self) -> Family {
        match self {
            Self::Mutex(_) => Family::Mutex,
            Self::Election(_) => Family::Election,
            Self::Multicast(_) => Family::Multicast,
            Self::Deadlock(_) => Family::Deadlock,
            Self::Replica(_) => Family::Replica,
        }
    }

    /// What it is called, and where it is explained.
    pub const fn profile(&self) -> &'static Profile {
        match self {
            Self::Mutex(entry) => &entry.facts.profile,
            Self::Election(entry) => &entry.facts.profile,
            Self::Multicast(entry) => &entry.facts.profile,
            Self::Deadlock(entry) => &entry.facts.profile,
            Self::Replica(entry) => entry.profile,
        }
    }

    /// How its messages and its disk become bytes.
    pub fn codec(&self) -> AnyCodec {
        match self {
            Self::Mutex(entry) => entry.codec.clone(),
            Self::Election(entry) => entry.codec.clone(),
            Self::Multicast(entry) => entry.codec.clone(),
            Self::Deadlock(entry) => entry.codec.clone().asking(),
            Self::Replica(entry) => entry.codec.clone(),
        }
    }
}

/// A mutual exclusion.
pub struct MutexEntry {
    /// What the book says of it.
    pub facts: &'static mutex::Facts,
    /// Makes its nodes.
    pub make: MutexMaker,
    /// How its messages and its disk become bytes.
    pub codec: AnyCodec,
}

impl MutexEntry {
    /// A node in a group that never changes.
    pub fn node(&self, me: NodeId, around: &Surroundings) -> MutexNode {
        match &self.make {
            MutexMaker::Fixed(make) => make(me, around),
            MutexMaker::InViews(make) => make(me, around).bare(),
        }
    }

    /// A node that can go from one view to the next, if the algorithm can.
    pub fn node_in_views(&self, me: NodeId, around: &Surroundings) -> Option<MutexInViews> {
        match &self.make {
            MutexMaker::Fixed(_) => None,
            MutexMaker::InViews(make) => Some(make(me, around)),
        }
    }

    /// Whether the algorithm can go from one view to the next.
    pub const fn runs_in_views(&self) -> bool {
        matches!(self.make, MutexMaker::InViews(_))
    }
}

/// Makes nodes of a mutual exclusion.
#[derive(Clone)]
pub enum MutexMaker {
    /// For a group that never changes.
    Fixed(Maker<Surroundings, MutexNode>),
    /// For one that may change as well.
    InViews(Maker<Surroundings, MutexInViews>),
}

/// Makes a node that is set up like this.
pub type Maker<S, N> = Arc<dyn Fn(NodeId, &S) -> N + Send + Sync>;

/// An election.
pub struct ElectionEntry {
    /// What the book says of it.
    pub facts: &'static election::Facts,
    /// Makes a node.
    pub make: Maker<Arc<election::Plan>, ElectionNode>,
    /// How its messages and its disk become bytes.
    pub codec: AnyCodec,
}

/// An ordered multicast.
pub struct MulticastEntry {
    /// What the book says of it.
    pub facts: &'static multicast::Facts,
    /// Makes a node of a group.
    pub make: Maker<Arc<multicast::Plan>, MulticastInViews>,
    /// How its messages become bytes.
    pub codec: AnyCodec,
}

impl MulticastEntry {
    /// A node in those of these groups that it is a member of. They never change.
    pub fn several(&self, me: NodeId, plans: &[Arc<multicast::Plan>]) -> MulticastNode {
        self.in_each(me, plans, |node| node)
    }

    /// The same in views that the node is told from outside.
    pub fn several_viewed(&self, me: NodeId, plans: &[Arc<multicast::Plan>]) -> MulticastNode {
        self.in_each(me, plans, |node| Viewed::new(me, node))
    }

    fn in_each<P>(
        &self,
        me: NodeId,
        plans: &[Arc<multicast::Plan>],
        wrap: impl Fn(MulticastInViews) -> P,
    ) -> MulticastNode
    where
        Several<P>: Erasable<Command = multicast::Command, Event = multicast::Event, Durable = ()>,
    {
        let ours = plans.iter().filter(|plan| plan.members.contains(me));
        Erased::new(Several::new(ours.map(|plan| (plan.id, plan.members.clone(), wrap((self.make)(me, plan))))))
    }
}

/// A detector of deadlocks.
pub struct DeadlockEntry {
    /// What the book says of it.
    pub facts: &'static deadlock::Facts,
    /// Makes a site's part of the detector.
    pub make: Maker<deadlock::Plan, AnyDetector>,
    /// How the detector's own messages become bytes.
    pub codec: AnyCodec,
}

impl DeadlockEntry {
    /// A node with processes that ask each other.
    pub fn asking(&self, me: NodeId, plan: &Arc<deadlock::Plan>) -> DeadlockNode {
        Erased::new(deadlock::Requests::new(me, Arc::clone(plan), (self.make)(me, plan)))
    }

    /// A node with a process that takes resources.
    pub fn taking(&self, me: NodeId, plan: &Arc<deadlock::Plan>) -> DeadlockNode {
        Erased::new(deadlock::Locks::new(me, Arc::clone(plan), (self.make)(me, plan)))
    }
}

/// Where an algorithm runs.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Who takes part.
    pub group: Group,
    /// What all chance follows from, for algorithms that throw dice of their own.
    pub seed: u64,
    /// How long things take at most.
    pub bounds: Bounds,
}

/// A replicated log.
pub struct ReplicaEntry {
    /// What it is called, and where it is explained.
    pub profile: &'static Profile,
    /// Makes a node of a group that is set up like this.
    pub make: fn(NodeId, quorate_replica::Settings) -> ReplicaNode,
    /// How its messages and its disk become bytes.
    pub codec: AnyCodec,
}

/// The line of a mutual exclusion whose group never changes.
fn mutex<P>(facts: &'static mutex::Facts, make: impl Fn(NodeId, &Surroundings) -> P + Send + Sync + 'static) -> Entry
where
    P: Erasable<Command = mutex::Command, Event = mutex::Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make = MutexMaker::Fixed(Arc::new(move |me, around| Erased::new(make(me, around))));
    Entry::Mutex(MutexEntry { facts, make, codec: AnyCodec::of::<P>() })
}

/// The line of a mutual exclusion that can also go from one view to the next.
fn in_views<P>(facts: &'static mutex::Facts, make: impl Fn(NodeId, &Surroundings) -> P + Send + Sync + 'static) -> Entry
where
    P: ErasableInViews<
            Command = mutex::Command,
            Event = mutex::Event,
            Message: DeserializeOwned,
            Report: DeserializeOwned,
        >,
{
    let make = MutexMaker::InViews(Arc::new(move |me, around| ErasedInViews::new(make(me, around))));
    Entry::Mutex(MutexEntry { facts, make, codec: AnyCodec::in_views::<P>() })
}

/// The line of an election.
fn election<P>(
    facts: &'static election::Facts,
    make: impl Fn(NodeId, &Arc<election::Plan>) -> P + Send + Sync + 'static,
) -> Entry
where
    P: Erasable<Command = election::Command, Event = election::Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make = Arc::new(move |me: NodeId, plan: &Arc<election::Plan>| Erased::new(make(me, plan)));
    Entry::Election(ElectionEntry { facts, make, codec: AnyCodec::of::<P>() })
}

/// The line of a replicated log whose nodes are of type `P` before they are erased.
fn replica<P>(profile: &'static Profile, make: fn(NodeId, quorate_replica::Settings) -> ReplicaNode) -> Entry
where
    P: Parts<Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    Entry::Replica(ReplicaEntry { profile, make, codec: AnyCodec::of::<P>() })
}

static ALGORITHMS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let mut entries = mutual_exclusion::algorithms();
    entries.extend(elections::algorithms());
    entries.extend(multicasts::algorithms());
    entries.extend(deadlocks::algorithms());
    entries.push(replica::<Log>(&profile::REPLICA, |me, settings| Erased::opaque(Log::new(me, settings))));
    entries
});

static FIXTURES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let mut entries = mutual_exclusion::fixtures();
    entries.extend(elections::fixtures());
    entries.extend(multicasts::fixtures());
    entries.extend(deadlocks::fixtures());
    entries.extend([
        replica::<WrongLog>(const { &LogFlaw::EarlyAck.profile() }, |me, settings| {
            spoilt(me, settings, LogFlaw::EarlyAck)
        }),
        replica::<WrongLog>(const { &LogFlaw::LocalRead.profile() }, |me, settings| {
            spoilt(me, settings, LogFlaw::LocalRead)
        }),
        replica::<WrongLog>(const { &LogFlaw::ForgottenVote.profile() }, |me, settings| {
            spoilt(me, settings, LogFlaw::ForgottenVote)
        }),
        replica::<WrongLog>(const { &LogFlaw::NoReport.profile() }, |me, settings| {
            spoilt(me, settings, LogFlaw::NoReport)
        }),
        replica::<WrongLog>(const { &LogFlaw::AppliedTwice.profile() }, |me, settings| {
            spoilt(me, settings, LogFlaw::AppliedTwice)
        }),
    ]);
    entries
});

type Log = Replica<ReplicaMachine>;
type WrongLog = Flawed<ReplicaMachine>;

fn spoilt(me: NodeId, settings: quorate_replica::Settings, flaw: LogFlaw) -> ReplicaNode {
    Erased::opaque(WrongLog::new(me, settings, flaw))
}

/// Every algorithm, in the order in which lists show them.
pub fn all() -> &'static [Entry] {
    &ALGORITHMS
}

/// Protocols that are wrong on purpose, and correct twins of some of them.
pub fn fixtures() -> &'static [Entry] {
    &FIXTURES
}

/// The form of an algorithm that these options ask for, each with its value. Options that nobody gives are as usual.
/// Nothing if the algorithm has no such form.
pub fn form(name: &str, options: &[(&str, &str)]) -> Option<&'static Entry> {
    let has = |entry: &Entry, option: &str, value: &str| match entry {
        Entry::Mutex(entry) => entry.facts.form.iter().any(|choice| (choice.option, choice.value) == (option, value)),
        Entry::Election(_) | Entry::Multicast(_) | Entry::Deadlock(_) | Entry::Replica(_) => false,
    };
    let of = |entry: &Entry| match entry {
        Entry::Mutex(entry) => entry.facts.algorithm(),
        Entry::Election(_) | Entry::Multicast(_) | Entry::Deadlock(_) | Entry::Replica(_) => entry.name(),
    };
    let specials = |entry: &Entry| match entry {
        Entry::Mutex(entry) => entry.facts.form.iter().filter(|choice| !choice.usual).count(),
        Entry::Election(_) | Entry::Multicast(_) | Entry::Deadlock(_) | Entry::Replica(_) => 0,
    };
    let asked = find(name)?;
    // Whoever names a form itself gets that form; its options must not say otherwise.
    if of(asked) != name {
        return options.iter().all(|(option, value)| has(asked, option, value)).then_some(asked);
    }
    let forms = all().iter().chain(fixtures()).filter(|entry| of(entry) == name);
    let fitting = forms.filter(|entry| options.iter().all(|(option, value)| has(entry, option, value)));
    fitting.min_by_key(|entry| specials(entry))
}

/// The algorithm or fixture of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().chain(fixtures()).find(|entry| entry.name() == name)
}
