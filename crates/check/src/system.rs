//! The state of the whole group as a few words, and the effect of each action on it.
//!
//! ```text
//! word 0      the remaining fault budgets
//! word 1      the number of the instant; 0 where time is not modelled
//! next n      the number of each node's local state
//! 1 more      the latest view, packed, where the group has views
//! some more   the memory of properties about the past, where they are judged
//! the rest    the messages in flight: sorted, or by link in sending order where links are FIFO
//! ```
//!
//! The fingerprint of a state is the sum of the fingerprints of its words, each computed from its
//! content and, where the order matters, its position. So, unless links are FIFO or the state
//! remembers the past, the search finds the fingerprint of most successors by adding the
//! difference, without building the state. The constants in fingerprints only keep equal words of
//! different kinds apart.
//!
//! Parameters named `local`, `envelope` (a message or notice with its sender and receiver),
//! `outcome`, `instant` and `move_number` are numbers of entries in [`Tables`]. Methods with the
//! parameters `out` and `start` change the state in `out[start..]`.

use crate::action::{Action, MAX_NODES};
use crate::budgets::{Budgets, Cost};
use crate::clients::{BoundedStateCondition, StateCondition};
use crate::content::mix;
use crate::membership::Views;
use crate::notices::CrashNotices;
use crate::tables::{MoveKind, NONE, Outcome, Tables, TimeWindow};
use quorate_core::Time;

/// The numbers of the properties about the past that are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PastProperties {
    /// The property that requests are served in happened-before order.
    pub(crate) order: Option<u8>,
    /// The property that fences increase.
    pub(crate) fences: Option<u8>,
    /// The property that no epoch has two leaders.
    pub(crate) results: Option<u8>,
}

/// Largest group whose request order is tracked: each message carries one bit per node.
pub(crate) const MAX_ORDERED_NODES: usize = 8;

/// The condition of a state property. A client's facet is the part of its state that such a
/// condition inspects, as a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Criterion {
    /// A condition on the clients' facets.
    Facets(StateCondition),
    /// A condition on the clients' facets and this upper bound.
    Bound(BoundedStateCondition, u64),
    /// A condition on the clients' facets, only in states in which nothing is obliged to happen.
    AtEnds(StateCondition),
    /// At most one client holds something exclusive.
    OneHolder,
}

/// The group, its network, and the properties that the search judges.
pub(crate) struct System {
    pub(crate) nodes: usize,
    pub(crate) has_fifo_links: bool,
    /// The last instant that the search follows, if time is modelled.
    pub(crate) time_limit: Option<Time>,
    /// Whether message delays are bounded.
    pub(crate) has_bounded_delays: bool,
    pub(crate) views: Option<Views>,
    pub(crate) crash_notices: CrashNotices,
    /// Whether a crash may interrupt sends, so that messages in flight of a node that is down may
    /// be lost.
    pub(crate) crash_interrupts_sends: bool,
    /// The goal that all clients must eventually reach together.
    pub(crate) goal: Option<StateCondition>,
    /// The properties about the past that are judged, if any.
    pub(crate) past_properties: Option<PastProperties>,
    /// The conditions of the state properties, with the numbers of the properties.
    pub(crate) criteria: Vec<(u8, Criterion)>,
    /// The properties whose violations by steps are reported, one bit each.
    pub(crate) judged_bits: u32,
    pub(crate) tables: Tables,
}

/// Index of the remaining fault budgets in a group's state.
pub(crate) const BUDGETS: usize = 0;
/// Index of the instant's number in a group's state.
pub(crate) const INSTANT: usize = 1;
/// Index of the first local state in a group's state.
pub(crate) const LOCALS: usize = 2;
/// First bit, in a message's word, of the pending requests that its sender knew: one bit per node.
/// The bits below are the number of the envelope.
pub(crate) const KNOWN_REQUESTS_SHIFT: u32 = 24;
const ENVELOPE_MASK: u32 = (1 << KNOWN_REQUESTS_SHIFT) - 1;

/// The number of the envelope in a message's word.
#[inline]
pub(crate) fn envelope_of(word: u32) -> u32 {
    word & ENVELOPE_MASK
}

fn known_requests_of(word: u32) -> u32 {
    word >> KNOWN_REQUESTS_SHIFT
}

impl System {
    /// The index of the first message in flight.
    #[inline]
    pub(crate) fn in_flight_start(&self, state: &[u32]) -> usize {
        self.memory_offset() + self.memory_len(state)
    }

    /// Whether a successor's fingerprint follows from the old one and the differences, without
    /// building the successor.
    #[inline]
    pub(crate) fn is_additive(&self) -> bool {
        !self.has_fifo_links && self.past_properties.is_none()
    }

    #[inline]
    pub(crate) fn budgets_fingerprint(word: u32) -> u64 {
        mix(u64::from(word) | 1 << 40)
    }

    #[inline]
    pub(crate) fn time_fingerprint(&self, instant: u32) -> u64 {
        let nanos = self.tables.instants[instant as usize].nanos();
        mix(nanos as u64 ^ 0x5bd1_e995_97f4_a7c1)
    }

    #[inline]
    pub(crate) fn word_fingerprint(&self, word: u32) -> u64 {
        let fingerprint = self.tables.envelopes[envelope_of(word) as usize].fingerprint;
        match known_requests_of(word) {
            0 => fingerprint,
            known_requests => mix(fingerprint ^ u64::from(known_requests)),
        }
    }

    pub(crate) fn fingerprint(&self, state: &[u32]) -> u64 {
        let in_flight_start = self.in_flight_start(state);
        let mut sum = Self::budgets_fingerprint(state[BUDGETS]).wrapping_add(self.time_fingerprint(state[INSTANT]));
        for local in &state[LOCALS..LOCALS + self.nodes] {
            sum = sum.wrapping_add(self.tables.local_details[*local as usize].fingerprint);
        }
        for (offset, word) in state[LOCALS + self.nodes..in_flight_start].iter().enumerate() {
            sum = sum.wrapping_add(mix(u64::from(*word) | (offset as u64 + 1) << 48));
        }
        let mut link = None;
        let mut position = 0;
        for word in &state[in_flight_start..] {
            let fingerprint = self.word_fingerprint(*word);
            if self.has_fifo_links {
                position = if link == Some(self.link(*word)) { position + 1 } else { 0 };
                link = Some(self.link(*word));
                sum = sum.wrapping_add(mix(fingerprint ^ position));
            } else {
                sum = sum.wrapping_add(fingerprint);
            }
        }
        sum
    }

    /// The sender and the receiver of a message.
    #[inline]
    pub(crate) fn link(&self, word: u32) -> (u8, u8) {
        let envelope = &self.tables.envelopes[envelope_of(word) as usize];
        (envelope.from, envelope.to)
    }

    #[inline]
    pub(crate) fn sender(&self, word: u32) -> usize {
        usize::from(self.link(word).0)
    }

    #[inline]
    pub(crate) fn receiver(&self, word: u32) -> usize {
        usize::from(self.link(word).1)
    }

    /// The numbers of the state properties that a state violates, except those that are judged only
    /// at ends of runs.
    pub(crate) fn violated_properties(&self, state: &[u32]) -> impl Iterator<Item = u8> + '_ {
        let facets = self.facets(state);
        let has_two_holders = self.judges_exclusive_holds() && self.holder_count(state) > 1;
        let holds = move |criterion: &Criterion| match criterion {
            Criterion::Facets(condition) => condition(&facets[..self.nodes]),
            Criterion::Bound(condition, bound) => condition(&facets[..self.nodes], *bound),
            Criterion::AtEnds(_) => true,
            Criterion::OneHolder => !has_two_holders,
        };
        self.criteria.iter().filter(move |(_, criterion)| !holds(criterion)).map(|(number, _)| *number)
    }

    /// The properties that a state violates if nothing is obliged to happen in it, one bit each.
    pub(crate) fn properties_violated_at_end(&self, state: &[u32]) -> u32 {
        let criteria = self.criteria.iter().filter_map(|(number, criterion)| match criterion {
            Criterion::AtEnds(condition) => Some((*number, condition)),
            Criterion::Facets(_) | Criterion::Bound(..) | Criterion::OneHolder => None,
        });
        criteria.fold(0, |violated_bits, (number, condition)| {
            let holds = condition(&self.facets(state)[..self.nodes]);
            if holds { violated_bits } else { violated_bits | 1 << number }
        })
    }

    fn facets(&self, state: &[u32]) -> [u64; MAX_NODES] {
        let mut facets = [0; MAX_NODES];
        for (facet, local) in facets.iter_mut().zip(&state[LOCALS..LOCALS + self.nodes]) {
            *facet = self.tables.local_details[*local as usize].facet;
        }
        facets
    }

    fn judges_exclusive_holds(&self) -> bool {
        self.criteria.iter().any(|(_, criterion)| matches!(criterion, Criterion::OneHolder))
    }

    fn holder_count(&self, state: &[u32]) -> usize {
        let now = self.tables.instants[state[INSTANT] as usize];
        state[LOCALS..LOCALS + self.nodes].iter().filter(|local| self.held_until(**local) > now).count()
    }

    /// The true instant until which a local state's client holds something exclusive.
    fn held_until(&self, local: u32) -> Time {
        self.tables.local_details[local as usize].held_until
    }

    /// Whether the clients have a common goal that does not hold.
    #[inline]
    pub(crate) fn is_goal_unmet(&self, state: &[u32]) -> bool {
        self.goal.is_some_and(|goal| !goal(&self.facets(state)[..self.nodes]))
    }

    /// The last instants of exclusive holds, if a property judges them. Time stops at each, because
    /// a next hold that begins too early may overlap only at that instant. A client that holds
    /// nothing yields an instant before zero.
    pub(crate) fn last_held_instants<'a>(&'a self, state: &'a [u32]) -> impl Iterator<Item = Time> + 'a {
        let is_judged = self.judges_exclusive_holds();
        let locals = state[LOCALS..LOCALS + self.nodes].iter().filter(move |_| is_judged);
        locals.map(|local| Time::from_nanos(self.held_until(*local).nanos().saturating_sub(1)))
    }

    /// Appends the words of the state that an action leads to. Returns the properties about the
    /// past that this violates, one bit each.
    ///
    /// `outcome` is the number of the outcome of a node's input, of the instant to which time
    /// advances, or of the view that removes a member; `NONE` for all other actions.
    pub(crate) fn apply_action(&self, state: &[u32], action: Action, outcome: u32, out: &mut Vec<u32>) -> u32 {
        let start = out.len();
        let in_flight_start = self.in_flight_start(state);
        if let Action::Deliver(position) | Action::Lose(position) = action {
            out.extend_from_slice(&state[..in_flight_start + position]);
            out.extend_from_slice(&state[in_flight_start + position + 1..]);
        } else {
            out.extend_from_slice(state);
        }
        match action {
            Action::Deliver(position) => {
                let word = state[in_flight_start + position];
                let node = self.receiver(word);
                if outcome == NONE { 0 } else { self.apply_outcome(node, known_requests_of(word), outcome, out, start) }
            }
            Action::Move { node, index } => {
                let local = state[LOCALS + node];
                let number = self.tables.locals[local as usize].first_move as usize + index;
                let kind = self.tables.moves[number].kind;
                if let Some(cost) = self.cost(kind, node, state) {
                    spend(cost, &mut out[start + BUDGETS]);
                }
                let violated_bits = self.apply_outcome(node, 0, outcome, out, start);
                self.send_notices(kind, node, out, start);
                violated_bits
            }
            Action::Lose(position) => {
                if !self.is_interrupted_send(state[in_flight_start + position], state) {
                    let budgets = Budgets::unpack(state[BUDGETS]);
                    out[start + BUDGETS] = Budgets { losses: budgets.losses.saturating_sub(1), ..budgets }.pack();
                }
                0
            }
            Action::Duplicate(position) => {
                let word = out[start + in_flight_start + position];
                out.insert(start + in_flight_start + position, word);
                let budgets = Budgets::unpack(state[BUDGETS]);
                out[start + BUDGETS] = Budgets { duplicates: budgets.duplicates.saturating_sub(1), ..budgets }.pack();
                0
            }
            Action::Advance => {
                out[start + INSTANT] = outcome;
                0
            }
            Action::Remove(node) => {
                if let Some((removal, _)) = self.removal(node, state) {
                    spend(removal.cost(), &mut out[start + BUDGETS]);
                }
                self.announce(outcome, out, start);
                0
            }
        }
    }

    /// Whether a message may be lost because its sender may have crashed while sending it; `false`
    /// once the sender has restarted.
    #[inline]
    pub(crate) fn is_interrupted_send(&self, word: u32, state: &[u32]) -> bool {
        self.crash_interrupts_sends && !self.is_notice(word) && !self.is_up(self.sender(word), state)
    }

    /// Whether any message to a node that is up may still be lost because its sender crashed.
    pub(crate) fn has_interrupted_send(&self, state: &[u32]) -> bool {
        let may_be_lost =
            |word: &u32| self.is_interrupted_send(*word, state) && self.is_up(self.receiver(*word), state);
        self.crash_interrupts_sends && state[self.in_flight_start(state)..].iter().any(may_be_lost)
    }

    #[inline]
    pub(crate) fn is_up(&self, node: usize, state: &[u32]) -> bool {
        self.tables.locals[state[LOCALS + node] as usize].is_up
    }

    #[inline]
    pub(crate) fn is_ready(&self, move_number: u32, instant: u32) -> bool {
        self.time_limit.is_none()
            || self.tables.move_details[move_number as usize].earliest <= self.tables.instants[instant as usize]
    }

    /// When a message may and must arrive, if delays are bounded.
    #[inline]
    pub(crate) fn arrival(&self, word: u32) -> Option<TimeWindow> {
        if self.has_bounded_delays { self.tables.timings[envelope_of(word) as usize].arrival } else { None }
    }

    /// Whether a message may arrive at this instant. On a FIFO link this can be asked of the first
    /// message alone, since all have the same minimum delay.
    #[inline]
    pub(crate) fn may_arrive(&self, word: u32, instant: u32) -> bool {
        self.arrival(word).is_none_or(|window| window.earliest <= self.tables.instants[instant as usize])
    }

    /// Whether a move is a timer that fires while messages are in flight, where time is not
    /// modelled.
    #[inline]
    pub(crate) fn is_early_timer(&self, kind: MoveKind, state: &[u32]) -> bool {
        kind == MoveKind::Timer && self.time_limit.is_none() && state.len() > self.in_flight_start(state)
    }

    /// The budget that a node's move draws on; `None` if the move is impossible in this state.
    pub(crate) fn cost(&self, kind: MoveKind, node: usize, state: &[u32]) -> Option<Cost> {
        let is_leased = || self.tables.locals[state[LOCALS + node] as usize].has_valid_lease;
        Some(match kind {
            MoveKind::Command | MoveKind::Sync => Cost::Free,
            MoveKind::Timer if self.is_early_timer(kind, state) => Cost::EarlyTimer,
            MoveKind::Timer => Cost::Free,
            // The end of a lease has already cost a view change, so the crash of a member without a
            // valid lease costs none.
            MoveKind::Crash if self.is_member(node, state) && is_leased() => Cost::MemberCrash,
            MoveKind::Crash => Cost::Crash,
            MoveKind::Restart => Cost::Restart,
            MoveKind::LeaseEnds if self.is_member(node, state) => Cost::ViewChange,
            MoveKind::LeaseRenewed if self.is_member(node, state) => Cost::Free,
            MoveKind::LeaseEnds | MoveKind::LeaseRenewed => return None,
        })
    }

    /// Applies the outcome of an input that carried knowledge of the requests `known_requests`.
    /// Returns the properties about the past that this violates, one bit each.
    fn apply_outcome(&self, node: usize, known_requests: u32, outcome: u32, out: &mut Vec<u32>, start: usize) -> u32 {
        let Outcome { next_local, .. } = self.tables.outcomes[outcome as usize];
        let consequences = &self.tables.consequences[outcome as usize];
        out[start + LOCALS + node] = next_local;
        if let Some(properties) = self.past_properties {
            return self.remember(properties, node, known_requests, &consequences.events, out, start);
        }
        for envelope in &*consequences.sends {
            self.send(*envelope, out, start);
        }
        0
    }

    /// Adds a message to an initial state.
    pub(crate) fn add_in_flight(&self, envelope: u32, state: &mut Vec<u32>) {
        self.send(envelope, state, 0);
    }

    /// Adds a message to the messages in flight, at its position in their order.
    pub(crate) fn send(&self, word: u32, out: &mut Vec<u32>, start: usize) {
        let in_flight_start = start + self.in_flight_start(&out[start..]);
        let in_flight = &out[in_flight_start..];
        let position = if self.has_fifo_links {
            let link = self.link(word);
            in_flight.partition_point(|other| self.link(*other) <= link)
        } else {
            in_flight.partition_point(|other| *other < word)
        };
        out.insert(in_flight_start + position, word);
    }
}

/// Spends a budget, if enough of it is left.
fn spend(cost: Cost, budgets: &mut u32) {
    if let Some(remaining) = Budgets::unpack(*budgets).remaining_after(cost) {
        *budgets = remaining.pack();
    }
}

impl System {
    /// Whether a state property can see the difference that an action makes.
    #[inline]
    pub(crate) fn is_visible(&self, action: Action, outcome: u32) -> bool {
        match action {
            Action::Deliver(_) | Action::Move { .. } => {
                outcome != NONE && self.tables.outcomes[outcome as usize].is_visible
            }
            Action::Lose(_) | Action::Duplicate(_) | Action::Advance | Action::Remove(_) => false,
        }
    }
}
