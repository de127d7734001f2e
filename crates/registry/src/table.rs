//! The table: one line an algorithm.

use crate::codec::AnyCodec;
use crate::erased::{ErasableWrite, Erased, Parts};
use quorate_core::about::Profile;
use quorate_core::election;
use quorate_core::fixtures::maekawa::{Hasty, Rows, Untold};
use quorate_core::fixtures::toys::arbiter::Arbitrated;
use quorate_core::fixtures::toys::embrace::Embrace;
use quorate_core::fixtures::toys::favourite::Row;
use quorate_core::fixtures::toys::forgetful::GrantBook;
use quorate_core::fixtures::toys::lease::Leased;
use quorate_core::fixtures::toys::slip::Ring;
use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::voting::{Forgetful, Half};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981, Spoilt};
use quorate_core::mutex::maekawa::Form;
use quorate_core::mutex::quorum::Quorums;
use quorate_core::mutex::voting::Asks;
use quorate_core::mutex::{
    self, Central, Maekawa, RicartAgrawala, RicartAgrawalaModulo, Voting, central, maekawa, ricart_agrawala,
    ricart_agrawala_modulo, voting,
};
use quorate_core::{Bounds, Group, NodeId, WriteOf};
use quorate_replica::election::{self as raft, RaftElection};
use quorate_replica::fixtures::{Flaw as LogFlaw, Flawed};
use quorate_replica::once::Once;
use quorate_replica::registers::Registers;
use quorate_replica::{Replica, profile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// A node of any mutual-exclusion algorithm.
pub type MutexNode = Erased<mutex::Command, mutex::Event>;

/// A node of any election algorithm.
pub type ElectionNode = Erased<election::Command, election::Event>;

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
    /// One log on many nodes, and a state machine on top of it.
    Replica,
}

impl Family {
    /// Its name as users read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Election => "election",
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
            Self::Replica(_) => Family::Replica,
        }
    }

    /// What it is called, and where it is explained.
    pub const fn profile(&self) -> &'static Profile {
        match self {
            Self::Mutex(entry) => &entry.facts.profile,
            Self::Election(entry) => &entry.facts.profile,
            Self::Replica(entry) => entry.profile,
        }
    }

    /// How its messages and its disk become bytes.
    pub const fn codec(&self) -> AnyCodec {
        match self {
            Self::Mutex(entry) => entry.codec,
            Self::Election(entry) => entry.codec,
            Self::Replica(entry) => entry.codec,
        }
    }
}

/// A mutual exclusion.
pub struct MutexEntry {
    /// What the book says of it.
    pub facts: &'static mutex::Facts,
    /// Makes a node.
    pub make: fn(NodeId, &Surroundings) -> MutexNode,
    /// How its messages and its disk become bytes.
    pub codec: AnyCodec,
}

/// An election.
pub struct ElectionEntry {
    /// What the book says of it.
    pub facts: &'static election::Facts,
    /// Makes a node.
    pub make: fn(NodeId, &Surroundings) -> ElectionNode,
    /// How its messages and its disk become bytes.
    pub codec: AnyCodec,
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

/// The line of a mutual exclusion whose nodes are of type `P` before they are erased.
const fn mutex<P>(facts: &'static mutex::Facts, make: fn(NodeId, &Surroundings) -> MutexNode) -> Entry
where
    P: Parts<Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    Entry::Mutex(MutexEntry { facts, make, codec: AnyCodec::of::<P>() })
}

/// The line of an election whose nodes are of type `P` before they are erased.
const fn election<P>(facts: &'static election::Facts, make: fn(NodeId, &Surroundings) -> ElectionNode) -> Entry
where
    P: Parts<Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    Entry::Election(ElectionEntry { facts, make, codec: AnyCodec::of::<P>() })
}

/// The line of a replicated log whose nodes are of type `P` before they are erased.
const fn replica<P>(profile: &'static Profile, make: fn(NodeId, quorate_replica::Settings) -> ReplicaNode) -> Entry
where
    P: Parts<Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    Entry::Replica(ReplicaEntry { profile, make, codec: AnyCodec::of::<P>() })
}

type Modulo = RicartAgrawalaModulo;
type Log = Replica<ReplicaMachine>;
type WrongLog = Flawed<ReplicaMachine>;
type First = RicartAgrawala1981;
type Arbiter = Arbitrated<GrantBook>;
type Patron = Arbitrated<Row>;
type Circle = Arbitrated<Ring>;

static ALGORITHMS: [Entry; 9] = [
    mutex::<Central>(&central::FACTS, |me, around| Erased::new(Central::new(me, around.group.clone()))),
    mutex::<RicartAgrawala>(&ricart_agrawala::FACTS, |me, around| {
        Erased::new(RicartAgrawala::new(me, around.group.clone()))
    }),
    mutex::<Modulo>(&ricart_agrawala_modulo::FACTS, |me, around| Erased::new(Modulo::new(me, around.group.clone()))),
    mutex::<Maekawa>(&maekawa::FACTS, |me, around| quorum(me, around, Form::DeadlockFree, Quorums::Grid)),
    mutex::<Maekawa>(&maekawa::facts(Form::DeadlockFree, Quorums::Plane), |me, around| {
        quorum(me, around, Form::DeadlockFree, Quorums::Plane)
    }),
    mutex::<Voting>(&voting::FACTS, |me, around| votes(me, around, Asks::All)),
    mutex::<Voting>(&voting::facts(Asks::Sequential), |me, around| votes(me, around, Asks::Sequential)),
    election::<RaftElection>(&raft::FACTS, |me, around| {
        Erased::opaque(RaftElection::new(me, around.group.clone(), around.seed, around.bounds))
    }),
    replica::<Log>(&profile::REPLICA, |me, settings| Erased::opaque(Log::new(me, settings))),
];

static FIXTURES: [Entry; 26] = [
    mutex::<First>(&Flaw::BareReplies.facts(), |me, around| flawed(me, around, Flaw::BareReplies)),
    mutex::<First>(&Flaw::ClockOnly.facts(), |me, around| flawed(me, around, Flaw::ClockOnly)),
    mutex::<First>(&Flaw::NodeOnly.facts(), |me, around| flawed(me, around, Flaw::NodeOnly)),
    mutex::<First>(&Flaw::FirstOnly.facts(), |me, around| flawed(me, around, Flaw::FirstOnly)),
    mutex::<Arbiter>(&Memory::Forgetful.facts(), |me, around| {
        Erased::new(Memory::Forgetful.node(me, around.group.clone()))
    }),
    mutex::<Arbiter>(&Memory::Mindful.facts(), |me, around| {
        Erased::new(Memory::Mindful.node(me, around.group.clone()))
    }),
    mutex::<Embrace>(&Asking::Embrace.facts(), |me, around| {
        Erased::new(Asking::Embrace.node(me, around.group.clone()))
    }),
    mutex::<Embrace>(&Asking::Ordered.facts(), |me, around| {
        Erased::new(Asking::Ordered.node(me, around.group.clone()))
    }),
    mutex::<Patron>(&Favour::Favourite.facts(), |me, around| {
        Erased::new(Favour::Favourite.node(me, around.group.clone()))
    }),
    mutex::<Patron>(&Favour::Fair.facts(), |me, around| Erased::new(Favour::Fair.node(me, around.group.clone()))),
    mutex::<Circle>(&Care::Slip.facts(), |me, around| Erased::new(Care::Slip.node(me, around.group.clone()))),
    mutex::<Circle>(&Care::Tidy.facts(), |me, around| Erased::new(Care::Tidy.node(me, around.group.clone()))),
    mutex::<Leased>(&Margin::Tick.facts(), |me, around| Erased::new(Margin::Tick.node(me, around.group.clone()))),
    mutex::<Leased>(&Margin::Drift.facts(), |me, around| Erased::new(Margin::Drift.node(me, around.group.clone()))),
    mutex::<Maekawa>(&maekawa::facts(Form::Plain, Quorums::Grid), |me, around| {
        quorum(me, around, Form::Plain, Quorums::Grid)
    }),
    mutex::<Maekawa>(&maekawa::facts(Form::Plain, Quorums::Plane), |me, around| {
        quorum(me, around, Form::Plain, Quorums::Plane)
    }),
    mutex::<Spoilt<Maekawa, Untold>>(&Untold::facts(), |me, around| {
        Erased::new(Untold::node(me, around.group.clone()))
    }),
    mutex::<Spoilt<Maekawa, Hasty>>(&Hasty::facts(), |me, around| Erased::new(Hasty::node(me, around.group.clone()))),
    mutex::<Maekawa>(&Rows::facts(), |me, around| Erased::new(Rows::node(me, around.group.clone()))),
    mutex::<Voting>(&Half::facts(), |me, around| Erased::new(Half::node(me, around.group.clone(), around.bounds))),
    mutex::<Spoilt<Voting, Forgetful>>(&Forgetful::facts(), |me, around| {
        Erased::new(Forgetful::node(me, around.group.clone(), around.bounds))
    }),
    replica::<WrongLog>(&LogFlaw::EarlyAck.profile(), |me, settings| spoilt(me, settings, LogFlaw::EarlyAck)),
    replica::<WrongLog>(&LogFlaw::LocalRead.profile(), |me, settings| spoilt(me, settings, LogFlaw::LocalRead)),
    replica::<WrongLog>(&LogFlaw::ForgottenVote.profile(), |me, settings| spoilt(me, settings, LogFlaw::ForgottenVote)),
    replica::<WrongLog>(&LogFlaw::NoReport.profile(), |me, settings| spoilt(me, settings, LogFlaw::NoReport)),
    replica::<WrongLog>(&LogFlaw::AppliedTwice.profile(), |me, settings| spoilt(me, settings, LogFlaw::AppliedTwice)),
];

fn quorum(me: NodeId, around: &Surroundings, form: Form, quorums: Quorums) -> MutexNode {
    Erased::new(Maekawa::new(me, around.group.clone(), form, quorums))
}

fn votes(me: NodeId, around: &Surroundings, asks: Asks) -> MutexNode {
    Erased::new(Voting::new(me, around.group.clone(), asks, around.bounds))
}

fn flawed(me: NodeId, around: &Surroundings, flaw: Flaw) -> MutexNode {
    Erased::new(First::new(me, around.group.clone(), flaw))
}

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
        Entry::Election(_) | Entry::Replica(_) => false,
    };
    let of = |entry: &Entry| match entry {
        Entry::Mutex(entry) => entry.facts.algorithm(),
        Entry::Election(_) | Entry::Replica(_) => entry.name(),
    };
    let specials = |entry: &Entry| match entry {
        Entry::Mutex(entry) => entry.facts.form.iter().filter(|choice| !choice.usual).count(),
        Entry::Election(_) | Entry::Replica(_) => 0,
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
