//! What is known of the group so far: local states, messages and what each input does, all by small numbers.
//!
//! A node is pure, so what an input does to a local state is worked out once and remembered. A search then moves
//! whole groups by looking numbers up, whatever collections an algorithm keeps its state in.

use crate::interner::WordMap;
use crate::membership::Roll;
use quorate_core::Time;
use quorate_core::mutex::Access;
use std::collections::HashMap;

pub(crate) const NOTHING: u32 = u32::MAX;

/// How many local states, and how many messages, there can be: twenty-four bits, with room for those of the last batch.
const MOST_NUMBERS: usize = (1 << 24) - (1 << 20);
/// How many instants there can be: sixteen bits, with room for those of the last batch.
const MOST_INSTANTS: usize = 1 << 15;

/// One local state of one node, with its user: the part that every expansion reads.
#[derive(Clone, Copy)]
pub(crate) struct LocalInfo {
    /// Its own moves are these.
    pub(crate) first_move: u32,
    pub(crate) moves: u16,
    /// How many of them, the last ones, are crashes.
    pub(crate) crashes: u16,
    pub(crate) waits: bool,
    pub(crate) up: bool,
    /// Whether it has a lease that has not ended.
    pub(crate) leased: bool,
}

pub(crate) struct LocalDetail {
    pub(crate) fingerprint: u64,
    /// What properties see of it.
    pub(crate) facet: u64,
    /// The true instant at which its user's term is over; the beginning of time if it has none.
    pub(crate) term: Time,
    /// When its timers may fire, in true time, where time counts.
    pub(crate) deadlines: Box<[Deadline]>,
}

/// When a timer may fire, or a message may arrive, at the earliest, and when it must have done so at the latest. In true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Deadline {
    pub(crate) earliest: Time,
    pub(crate) latest: Time,
}

/// Something that a node can do by itself: the part that every expansion reads.
#[derive(Clone, Copy)]
pub(crate) struct MoveInfo {
    pub(crate) kind: MoveKind,
    /// Whether a fair run owes it.
    pub(crate) obliged: bool,
    /// What it does, where time does not count.
    outcome: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct MoveDetail {
    /// What a fair run owes; nothing if it may be left undone for ever.
    pub(crate) obligation: Option<u64>,
    /// Not before this true time.
    pub(crate) ready: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveKind {
    Command,
    Timer,
    Sync,
    Crash,
    Restart,
    LeaseEnds,
    LeaseRenewed,
}

#[derive(Clone, Copy)]
pub(crate) struct EnvelopeInfo {
    pub(crate) fingerprint: u64,
    pub(crate) from: u8,
    pub(crate) to: u8,
}

/// When a message arrives, and what it says whenever that is.
#[derive(Clone, Copy)]
pub(crate) struct Postmark {
    /// When it may and must arrive, where that is bounded.
    pub(crate) due: Option<Deadline>,
    /// The number that all messages share that say the same from the same node to the same node, whenever they were sent.
    pub(crate) says: u32,
}

/// What a message carries, as properties about the past see it.
#[derive(Clone, Copy)]
pub(crate) struct Cargo {
    /// Its arrival alone tells the algorithm nothing.
    pub(crate) wrapped: bool,
    /// The parcel that it is the first copy of.
    pub(crate) parcel: Option<u32>,
}

/// What an input does to a local state: the part that every transition reads.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// What it adds to the fingerprint of the group's state, apart from what the input itself takes away.
    pub(crate) delta: u64,
    pub(crate) next: u32,
    /// Whom it sends messages to, one bit a node.
    pub(crate) receivers: u16,
    /// The number of the property that the step itself breaks, or `UNBROKEN`.
    broken: u8,
    /// Whether a property can see it.
    pub(crate) visible: bool,
}

const UNBROKEN: u8 = u8::MAX;

impl Outcome {
    pub(crate) fn new(delta: u64, next: u32, receivers: u16, breach: Option<u8>, visible: bool) -> Self {
        Self { delta, next, receivers, broken: breach.unwrap_or(UNBROKEN), visible }
    }

    #[inline]
    pub(crate) fn breach(&self) -> Option<u8> {
        (self.broken != UNBROKEN).then_some(self.broken)
    }
}

/// What an input does to a local state: the part that only new states read.
pub(crate) struct Consequences {
    pub(crate) sends: Box<[u32]>,
    /// All that properties about the past care for, the messages too, in order.
    pub(crate) beats: Box<[Beat]>,
    /// The obligations of the timers that it sets.
    pub(crate) sets: Box<[u64]>,
}

/// One thing that a step did, as properties about the past see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// It sent this message.
    Sent(u32),
    /// A link handed this parcel on.
    Handed(u32),
    /// It did what they remember.
    Past(Past),
}

/// Something that properties about the past remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// A request begins.
    Asks(Access),
    /// It is served, with this fence: epoch in the upper half, counter in the lower.
    Enters(u64, Access),
    /// It ends unserved.
    Ends,
    /// Somebody is told who was elected.
    Elects {
        epoch: u32,
        /// Who, counted from 0.
        leader: u32,
    },
}

/// What one node can be told of the life of another, by the numbers of the letters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Obituary {
    pub(crate) gone: u32,
    pub(crate) back: u32,
}

pub(crate) struct Tables {
    pub(crate) locals: Vec<LocalInfo>,
    pub(crate) local_details: Vec<LocalDetail>,
    pub(crate) moves: Vec<MoveInfo>,
    pub(crate) move_details: Vec<MoveDetail>,
    pub(crate) envelopes: Vec<EnvelopeInfo>,
    pub(crate) cargo: Vec<Cargo>,
    pub(crate) postmarks: Vec<Postmark>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) consequences: Vec<Consequences>,
    pub(crate) instants: Vec<Time>,
    /// Views that were decided, each with what its nodes are told.
    pub(crate) views: Vec<(Roll, Box<[u32]>)>,
    /// What each node can be told of the life of each, where nodes or users are told: by whom it is about and whom it is for.
    pub(crate) obituaries: Vec<Obituary>,
    numbers_of_instants: HashMap<Time, u32>,
    deliveries: WordMap,
    timed_moves: WordMap,
}

impl Tables {
    pub(crate) fn new() -> Self {
        Self {
            locals: Vec::new(),
            local_details: Vec::new(),
            moves: Vec::new(),
            move_details: Vec::new(),
            envelopes: Vec::new(),
            cargo: Vec::new(),
            postmarks: Vec::new(),
            outcomes: Vec::new(),
            consequences: Vec::new(),
            instants: vec![Time::ZERO],
            views: Vec::new(),
            obituaries: Vec::new(),
            numbers_of_instants: HashMap::from([(Time::ZERO, 0)]),
            deliveries: WordMap::new(),
            timed_moves: WordMap::new(),
        }
    }

    /// Whether the small numbers have run out.
    pub(crate) fn is_full(&self) -> bool {
        self.locals.len() >= MOST_NUMBERS
            || self.envelopes.len() >= MOST_NUMBERS
            || self.instants.len() >= MOST_INSTANTS
    }

    /// What the delivery of a message to a local state at an instant does, if that is known.
    #[inline]
    pub(crate) fn delivery(&self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        self.deliveries.get(delivery_key(local, envelope, instant))
    }

    pub(crate) fn learn_delivery(&mut self, local: u32, envelope: u32, instant: u32, outcome: u32) {
        self.deliveries.insert(delivery_key(local, envelope, instant), outcome);
    }

    /// What a node's own move at an instant does, if that is known.
    #[inline]
    pub(crate) fn own(&self, number: u32, instant: u32) -> Option<u32> {
        if instant == 0 {
            let outcome = self.moves[number as usize].outcome;
            return (outcome != NOTHING).then_some(outcome);
        }
        self.timed_moves.get(move_key(number, instant))
    }

    pub(crate) fn learn_own(&mut self, number: u32, instant: u32, outcome: u32) {
        if instant == 0 {
            self.moves[number as usize].outcome = outcome;
        } else {
            self.timed_moves.insert(move_key(number, instant), outcome);
        }
    }

    /// Adds a move of the local state that comes next.
    pub(crate) fn add_move(&mut self, kind: MoveKind, detail: MoveDetail) {
        self.moves.push(MoveInfo { kind, obliged: detail.obligation.is_some(), outcome: NOTHING });
        self.move_details.push(detail);
    }

    pub(crate) fn instant(&self, time: Time) -> Option<u32> {
        self.numbers_of_instants.get(&time).copied()
    }

    pub(crate) fn learn_instant(&mut self, time: Time) -> u32 {
        self.instant(time).unwrap_or_else(|| {
            let number = self.instants.len() as u32;
            self.instants.push(time);
            self.numbers_of_instants.insert(time, number);
            number
        })
    }

    /// The number of a view, if it has one. There are few.
    pub(crate) fn view(&self, roll: Roll) -> Option<u32> {
        self.views.iter().position(|(known, _)| *known == roll).map(|number| number as u32)
    }

    pub(crate) fn learn_view(&mut self, roll: Roll, letters: Box<[u32]>) -> u32 {
        self.views.push((roll, letters));
        self.views.len() as u32 - 1
    }

    /// Adds an outcome. Equal ones are not looked for: there are few.
    pub(crate) fn add_outcome(&mut self, outcome: Outcome, consequences: Consequences) -> u32 {
        self.outcomes.push(outcome);
        self.consequences.push(consequences);
        self.outcomes.len() as u32 - 1
    }

    /// About how much memory all this takes, values included as far as they can be seen from here.
    pub(crate) fn bytes(&self) -> u64 {
        const LOCAL: u64 = 400;
        const ENVELOPE: u64 = 200;
        const OUTCOME: u64 = 120;
        self.locals.len() as u64 * LOCAL
            + self.envelopes.len() as u64 * ENVELOPE
            + self.outcomes.len() as u64 * OUTCOME
            + self.deliveries.bytes()
            + self.timed_moves.bytes()
    }
}

#[inline]
fn delivery_key(local: u32, envelope: u32, instant: u32) -> u64 {
    u64::from(local) << 40 | u64::from(envelope) << 16 | u64::from(instant)
}

#[inline]
fn move_key(number: u32, instant: u32) -> u64 {
    u64::from(number) << 16 | u64::from(instant)
}
