//! The tables of a search: local states, messages, and the outcome of each input. Small numbers
//! identify all of them.
//!
//! A step of a node depends only on its local state, the input and, where time is modelled, the
//! time. So the checker computes once what an input does to a local state, and remembers it. A
//! search then finds the next state of a whole group by looking numbers up, without touching the
//! collections that an algorithm keeps its state in.

use crate::interner::WordMap;
use crate::membership::PackedView;
use quorate_core::Time;
use quorate_core::mutex::Access;
use std::collections::HashMap;

/// Marks the absence of a number: no outcome, no envelope.
pub(crate) const NONE: u32 = u32::MAX;

/// Maximum number of local states, and of envelopes. A number has 24 bits, and the search notices
/// the limit only after a batch, so some numbers are reserved.
const MAX_NUMBERS: usize = (1 << 24) - (1 << 20);
/// Maximum number of instants. A number has 16 bits; half of the numbers are reserved, as above.
const MAX_INSTANTS: usize = 1 << 15;

/// One local state of one node and its client: the part that every expansion reads.
#[derive(Clone, Copy)]
pub(crate) struct LocalInfo {
    /// The number of its first move; the numbers of its moves are consecutive.
    pub(crate) first_move: u32,
    pub(crate) move_count: u16,
    /// How many of its moves are crashes; these come last.
    pub(crate) crash_moves: u16,
    /// Whether the client waits for something that must eventually happen, and its node may act.
    pub(crate) is_waiting: bool,
    pub(crate) is_up: bool,
    /// Whether the node has a lease that has not ended.
    pub(crate) has_valid_lease: bool,
}

/// One local state of one node and its client: the part that most expansions do not read.
pub(crate) struct LocalDetail {
    pub(crate) fingerprint: u64,
    /// The part of the client's state that properties inspect.
    pub(crate) facet: u64,
    /// The true instant until which the client holds something exclusive; zero if it holds nothing,
    /// if its node may not act, or where time is not modelled.
    pub(crate) held_until: Time,
    /// When the node's timers may fire, in true time; empty where time is not modelled.
    pub(crate) timer_windows: Box<[TimeWindow]>,
}

/// The earliest and latest true time at which a timer may fire or a message may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeWindow {
    pub(crate) earliest: Time,
    pub(crate) latest: Time,
}

/// A move that a node can make: the part that every expansion reads.
#[derive(Clone, Copy)]
pub(crate) struct MoveInfo {
    pub(crate) kind: MoveKind,
    /// Whether the move meets an obligation of fair runs.
    pub(crate) is_obliged: bool,
    /// The number of its outcome at time zero, which is the only instant if time is not modelled;
    /// `NONE` if not yet computed.
    outcome: u32,
}

/// A move that a node can make: the part that only searches with time or for fair runs read.
#[derive(Clone, Copy)]
pub(crate) struct MoveDetail {
    /// The obligation that the move meets; `None` if a fair run may omit it forever.
    pub(crate) obligation: Option<u64>,
    /// The earliest true time of the move.
    pub(crate) earliest: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveKind {
    Command,
    Timer,
    /// The disk makes pending saves durable.
    Sync,
    Crash,
    Restart,
    LeaseEnds,
    LeaseRenewed,
}

/// A message, a notice of a crash or restart, or the announcement of a view, with its sender and
/// receiver.
#[derive(Clone, Copy)]
pub(crate) struct EnvelopeInfo {
    pub(crate) fingerprint: u64,
    pub(crate) from: u8,
    pub(crate) to: u8,
}

/// The delivery window of a message, and the number of the same message without a window.
#[derive(Clone, Copy)]
pub(crate) struct EnvelopeTiming {
    /// When it may and must arrive, if delays are bounded.
    pub(crate) arrival: Option<TimeWindow>,
    /// The number shared by all messages with the same sender, receiver and content, whenever they
    /// were sent.
    pub(crate) undated_envelope: u32,
}

/// The part of a message that properties about the past use.
#[derive(Clone, Copy)]
pub(crate) struct PayloadInfo {
    /// Whether the message's arrival alone tells the algorithm nothing, because a link delivers the
    /// payload separately.
    pub(crate) is_wrapped: bool,
    /// The packed payload id, if this message is the first to carry the payload.
    pub(crate) payload: Option<u32>,
}

/// The outcome of an input in a local state: the part that every transition reads.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// The number that is added, modulo 2^64, to the group's fingerprint. It includes neither the
    /// removal of the delivered message, nor what a move takes from the budgets of faults, nor
    /// notices.
    pub(crate) delta: u64,
    /// The number of the local state that the input leads to.
    pub(crate) next_local: u32,
    /// The nodes that the step sends messages to, one bit each.
    pub(crate) receivers: u16,
    /// The number of the property that the step itself violates, or `NO_VIOLATION`.
    violated_property: u8,
    /// Whether a state property can see the change, or the step itself violates a property.
    pub(crate) is_visible: bool,
}

const NO_VIOLATION: u8 = u8::MAX;

impl Outcome {
    pub(crate) fn new(delta: u64, next_local: u32, receivers: u16, violation: Option<u8>, is_visible: bool) -> Self {
        Self { delta, next_local, receivers, violated_property: violation.unwrap_or(NO_VIOLATION), is_visible }
    }

    #[inline]
    pub(crate) fn violation(&self) -> Option<u8> {
        (self.violated_property != NO_VIOLATION).then_some(self.violated_property)
    }
}

/// The outcome of an input in a local state: the part that most transitions do not read.
pub(crate) struct Consequences {
    /// The numbers of the envelopes that the node sends.
    pub(crate) sends: Box<[u32]>,
    /// All events that properties about the past use, sends included, in order.
    pub(crate) events: Box<[StepEvent]>,
    /// The obligations of the timers that the step sets.
    pub(crate) timer_obligations: Box<[u64]>,
}

/// One event of a step, as properties about the past see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEvent {
    /// The node sent the envelope with this number. Until the step ends, it is the index of the
    /// envelope among those that the step sends.
    Sent(u32),
    /// A link delivered the payload with this packed id to the algorithm.
    PayloadDelivered(u32),
    /// The client reported something that these properties remember.
    Past(PastEvent),
}

/// An event that properties about the past remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastEvent {
    /// A client requests entry.
    Requested(Access),
    /// The client enters, with this fence: the epoch in the upper half, the counter in the lower.
    Entered(u64, Access),
    /// The request ends without an entry.
    RequestEnded,
    /// A node learns the result of an election.
    Elected {
        epoch: u32,
        /// Index of the leader, counted from 0.
        leader: u32,
    },
}

/// The notices that one node can receive about the crash and restart of another, as envelope
/// numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LifecycleNotices {
    pub(crate) crashed: u32,
    pub(crate) restarted: u32,
}

/// Everything that the search has numbered so far, and the outcomes it has computed. A local state,
/// move, envelope or outcome has the same index in each vector about it.
pub(crate) struct Tables {
    pub(crate) locals: Vec<LocalInfo>,
    pub(crate) local_details: Vec<LocalDetail>,
    pub(crate) moves: Vec<MoveInfo>,
    pub(crate) move_details: Vec<MoveDetail>,
    pub(crate) envelopes: Vec<EnvelopeInfo>,
    pub(crate) payloads: Vec<PayloadInfo>,
    pub(crate) timings: Vec<EnvelopeTiming>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) consequences: Vec<Consequences>,
    /// True times; a state refers to one by its index.
    pub(crate) instants: Vec<Time>,
    /// The views that can be decided, each with the envelopes that announce it to the nodes.
    pub(crate) views: Vec<(PackedView, Box<[u32]>)>,
    /// Notices about each node (the subject) to each receiver; `NONE` if both are the same node.
    /// Empty if no notices are sent. The index is subject times the number of nodes, plus receiver.
    pub(crate) notices: Vec<LifecycleNotices>,
    numbers_of_instants: HashMap<Time, u32>,
    /// Numbers of outcomes by local state, envelope and instant.
    deliveries: WordMap,
    /// Numbers of outcomes by move and instant, for instants after time zero.
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
            payloads: Vec::new(),
            timings: Vec::new(),
            outcomes: Vec::new(),
            consequences: Vec::new(),
            instants: vec![Time::ZERO],
            views: Vec::new(),
            notices: Vec::new(),
            numbers_of_instants: HashMap::from([(Time::ZERO, 0)]),
            deliveries: WordMap::new(),
            timed_moves: WordMap::new(),
        }
    }

    /// Whether local states, envelopes or instants have used up their unreserved numbers.
    pub(crate) fn is_full(&self) -> bool {
        self.locals.len() >= MAX_NUMBERS || self.envelopes.len() >= MAX_NUMBERS || self.instants.len() >= MAX_INSTANTS
    }

    /// Returns the outcome of delivering a message to a local state at an instant; `None` if not
    /// yet computed.
    #[inline]
    pub(crate) fn delivery_outcome(&self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        self.deliveries.get(delivery_key(local, envelope, instant))
    }

    pub(crate) fn record_delivery(&mut self, local: u32, envelope: u32, instant: u32, outcome: u32) {
        self.deliveries.insert(delivery_key(local, envelope, instant), outcome);
    }

    /// Returns the outcome of a node's move at an instant; `None` if not yet computed.
    #[inline]
    pub(crate) fn move_outcome(&self, move_number: u32, instant: u32) -> Option<u32> {
        if instant == 0 {
            let outcome = self.moves[move_number as usize].outcome;
            return (outcome != NONE).then_some(outcome);
        }
        self.timed_moves.get(move_key(move_number, instant))
    }

    pub(crate) fn record_move(&mut self, move_number: u32, instant: u32, outcome: u32) {
        if instant == 0 {
            self.moves[move_number as usize].outcome = outcome;
        } else {
            self.timed_moves.insert(move_key(move_number, instant), outcome);
        }
    }

    /// Adds a move of the local state that was added last.
    pub(crate) fn add_move(&mut self, kind: MoveKind, detail: MoveDetail) {
        self.moves.push(MoveInfo { kind, is_obliged: detail.obligation.is_some(), outcome: NONE });
        self.move_details.push(detail);
    }

    pub(crate) fn instant_number(&self, time: Time) -> Option<u32> {
        self.numbers_of_instants.get(&time).copied()
    }

    pub(crate) fn record_instant(&mut self, time: Time) -> u32 {
        self.instant_number(time).unwrap_or_else(|| {
            let number = self.instants.len() as u32;
            self.instants.push(time);
            self.numbers_of_instants.insert(time, number);
            number
        })
    }

    /// Returns the number of a view, if it has one. A linear search will do: views are few.
    pub(crate) fn view_number(&self, packed: PackedView) -> Option<u32> {
        self.views.iter().position(|(known, _)| *known == packed).map(|number| number as u32)
    }

    pub(crate) fn record_view(&mut self, packed: PackedView, envelopes: Box<[u32]>) -> u32 {
        self.views.push((packed, envelopes));
        self.views.len() as u32 - 1
    }

    /// Adds an outcome. Equal outcomes are rare, so they are not merged.
    pub(crate) fn add_outcome(&mut self, outcome: Outcome, consequences: Consequences) -> u32 {
        self.outcomes.push(outcome);
        self.consequences.push(consequences);
        self.outcomes.len() as u32 - 1
    }

    /// Estimates the memory use in bytes, including that of the numbered local states and messages
    /// themselves, which are stored elsewhere.
    pub(crate) fn bytes(&self) -> u64 {
        const LOCAL_BYTES: u64 = 400;
        const ENVELOPE_BYTES: u64 = 200;
        const OUTCOME_BYTES: u64 = 120;
        self.locals.len() as u64 * LOCAL_BYTES
            + self.envelopes.len() as u64 * ENVELOPE_BYTES
            + self.outcomes.len() as u64 * OUTCOME_BYTES
            + self.deliveries.bytes()
            + self.timed_moves.bytes()
    }
}

/// Packs 24 bits of the local state, 24 of the envelope and 16 of the instant into one word.
#[inline]
fn delivery_key(local: u32, envelope: u32, instant: u32) -> u64 {
    u64::from(local) << 40 | u64::from(envelope) << 16 | u64::from(instant)
}

#[inline]
fn move_key(move_number: u32, instant: u32) -> u64 {
    u64::from(move_number) << 16 | u64::from(instant)
}
