//! Expands a state: finds every transition that can happen next.
//!
//! An outcome is the effect of one input on one local state: the next local state, the messages
//! sent, and the events. A move is a step that a node takes without receiving a message.
//!
//! Parameters named `local`, `envelope` (a message or notice with its sender and receiver),
//! `outcome`, `instant` and `move_number` are numbers of entries in [`Tables`].

use crate::action::{Action, MAX_IN_FLIGHT};
use crate::budgets::{Budgets, Cost};
use crate::membership::{PackedView, Removal};
use crate::system::{BUDGETS, INSTANT, LOCALS, System, envelope_of};
use crate::tables::{MoveKind, NONE, Tables};
use quorate_core::Time;

/// A transition that was found. The successor state is built only if its fingerprint is new.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) fingerprint: u64,
    /// The number of a node's outcome, of the instant to which time advances, or of the view that
    /// removes a member; `NONE` for losses, duplications and deliveries to a node that is down.
    pub(crate) outcome: u32,
    /// The index of the source state in its batch; `NO_BATCH` if there are no batches.
    pub(crate) parent: u16,
    /// The packed action.
    pub(crate) action: u16,
}

/// The parent of all candidates in a search that does not expand states in batches.
pub(crate) const NO_BATCH: u16 = 0;

/// Facts about a state that a search needs besides its successors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateSummary {
    /// Whether a client waits, or the clients' common goal does not hold.
    pub(crate) is_waiting: bool,
    /// Whether anything can happen other than a loss, a duplication, a crash, the end of a lease or
    /// a premature removal.
    pub(crate) can_progress: bool,
    /// Whether something is obliged to happen eventually.
    pub(crate) must_progress: bool,
    /// The properties that a run violates if it ends here, one bit each; 0 if something is obliged
    /// to happen.
    pub(crate) violated_at_end: u32,
}

impl StateSummary {
    /// Whether the group waits but cannot make progress.
    pub(crate) fn is_deadlock(self) -> bool {
        self.is_waiting && !self.can_progress
    }

    /// Whether the group waits but nothing is obliged to happen.
    pub(crate) fn may_starve(self) -> bool {
        self.is_waiting && !self.must_progress
    }
}

/// Computes what inputs do to local states, by stepping the nodes themselves. `deliver` and
/// `execute_move` return the number of the outcome.
pub(crate) trait Stepper {
    fn deliver(&mut self, tables: &mut Tables, local: u32, envelope: u32, time: Time) -> u32;
    fn execute_move(&mut self, tables: &mut Tables, local: u32, move_number: u32, time: Time) -> u32;
    /// Numbers a view and the envelopes that announce it, and returns the number of the view.
    fn number_view(&mut self, tables: &mut Tables, packed: PackedView) -> u32;
    /// Whether a node had more moves than an action can encode.
    fn has_too_many_moves(&self) -> bool;
}

/// Looks up the numbers of outcomes, instants and views. A method returns `None` if there is no
/// number yet and the implementation does not compute what is missing.
pub(crate) trait Lookup {
    fn system(&self) -> &System;
    fn delivery_outcome(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32>;
    fn move_outcome(&mut self, local: u32, move_number: u32, instant: u32) -> Option<u32>;
    fn instant_number(&mut self, time: Time) -> Option<u32>;
    fn view_number(&mut self, packed: PackedView) -> Option<u32>;
}

/// Looks up numbers and computes nothing, so that many threads can share the system.
pub(crate) struct ReadOnlyLookup<'a>(pub(crate) &'a System);

impl Lookup for ReadOnlyLookup<'_> {
    #[inline]
    fn system(&self) -> &System {
        self.0
    }
    #[inline]
    fn delivery_outcome(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        self.0.tables.delivery_outcome(local, envelope, instant)
    }
    #[inline]
    fn move_outcome(&mut self, _local: u32, move_number: u32, instant: u32) -> Option<u32> {
        self.0.tables.move_outcome(move_number, instant)
    }
    fn instant_number(&mut self, time: Time) -> Option<u32> {
        self.0.tables.instant_number(time)
    }
    fn view_number(&mut self, packed: PackedView) -> Option<u32> {
        self.0.tables.view_number(packed)
    }
}

/// Looks up numbers, and computes outcomes, instants and views that are missing.
pub(crate) struct ComputingLookup<'a> {
    pub(crate) system: &'a mut System,
    pub(crate) stepper: &'a mut dyn Stepper,
}

impl Lookup for ComputingLookup<'_> {
    fn system(&self) -> &System {
        self.system
    }
    fn delivery_outcome(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.delivery_outcome(local, envelope, instant).unwrap_or_else(|| {
            let time = tables.instants[instant as usize];
            let outcome = self.stepper.deliver(tables, local, envelope, time);
            tables.record_delivery(local, envelope, instant, outcome);
            outcome
        }))
    }
    fn move_outcome(&mut self, local: u32, move_number: u32, instant: u32) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.move_outcome(move_number, instant).unwrap_or_else(|| {
            let time = tables.instants[instant as usize];
            let outcome = self.stepper.execute_move(tables, local, move_number, time);
            tables.record_move(move_number, instant, outcome);
            outcome
        }))
    }
    fn instant_number(&mut self, time: Time) -> Option<u32> {
        Some(self.system.tables.record_instant(time))
    }
    fn view_number(&mut self, packed: PackedView) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.view_number(packed).unwrap_or_else(|| self.stepper.number_view(tables, packed)))
    }
}

/// The result of expanding a state, reused from one state to the next to save allocations.
#[derive(Default)]
pub(crate) struct Successors {
    pub(crate) candidates: Vec<Candidate>,
    /// Properties that transitions violate, with the packed actions.
    pub(crate) violations: Vec<(u8, u16)>,
    pub(crate) summary: StateSummary,
    /// Whether a state had `MAX_IN_FLIGHT` or more messages in flight, so that its deliveries were
    /// not expanded. Once set, it stays set.
    pub(crate) has_too_many_messages: bool,
    /// The words of a successor state, while its fingerprint is computed.
    words: Vec<u32>,
}

/// An outcome, an instant or a view is needed that has no number yet.
#[derive(Debug)]
pub(crate) struct MissingOutcome;

struct Expansion<'a, L> {
    lookup: &'a mut L,
    state: &'a [u32],
    budgets: Budgets,
    fingerprint: u64,
    parent: u16,
    successors: &'a mut Successors,
}

/// Finds all transitions of a state. Fails only if `lookup` does not compute missing outcomes.
pub(crate) fn expand<L: Lookup>(
    lookup: &mut L,
    state: &[u32],
    fingerprint: u64,
    parent: u16,
    successors: &mut Successors,
) -> Result<(), MissingOutcome> {
    successors.candidates.clear();
    successors.violations.clear();
    successors.summary = StateSummary::default();
    let nodes = lookup.system().nodes;
    successors.summary.is_waiting = lookup.system().is_goal_unmet(state);
    let mut expansion =
        Expansion { lookup, state, budgets: Budgets::unpack(state[BUDGETS]), fingerprint, parent, successors };
    for node in 0..nodes {
        expansion.expand_moves(node)?;
    }
    expansion.expand_deliveries(None)?;
    expansion.expand_faults();
    expansion.expand_removals()?;
    expansion.expand_time()?;
    if !successors.summary.must_progress {
        successors.summary.violated_at_end = lookup.system().properties_violated_at_end(state);
    }
    Ok(())
}

/// Finds the transitions of one node: deliveries to it, and its own moves.
pub(crate) fn expand_node<L: Lookup>(
    lookup: &mut L,
    state: &[u32],
    fingerprint: u64,
    parent: u16,
    node: usize,
    successors: &mut Successors,
) -> Result<(), MissingOutcome> {
    successors.candidates.clear();
    successors.violations.clear();
    successors.summary = StateSummary::default();
    let mut expansion =
        Expansion { lookup, state, budgets: Budgets::unpack(state[BUDGETS]), fingerprint, parent, successors };
    expansion.expand_moves(node)?;
    expansion.expand_deliveries(Some(node))
}

impl<L: Lookup> Expansion<'_, L> {
    fn expand_moves(&mut self, node: usize) -> Result<(), MissingOutcome> {
        let local = self.state[LOCALS + node];
        let instant = self.state[INSTANT];
        let system = self.lookup.system();
        let info = &system.tables.locals[local as usize];
        let budgets = self.budgets;
        // Crashes come last among the moves; they are skipped once their budget is spent.
        let crashes = if budgets.crashes == 0 { info.crash_moves } else { 0 };
        let (first_move, move_count) = (info.first_move, info.move_count.saturating_sub(crashes));
        self.successors.summary.is_waiting |= info.is_waiting;
        for index in 0..u32::from(move_count) {
            let system = self.lookup.system();
            let node_move = system.tables.moves[(first_move + index) as usize];
            let is_ready = node_move.kind != MoveKind::Timer || system.is_ready(first_move + index, instant);
            let cost = system.cost(node_move.kind, node, self.state).filter(|_| is_ready);
            self.successors.summary.must_progress |= node_move.is_obliged;
            let Some((cost, remaining)) = cost.and_then(|cost| Some((cost, budgets.remaining_after(cost)?))) else {
                continue;
            };
            self.successors.summary.can_progress |= !matches!(node_move.kind, MoveKind::Crash | MoveKind::LeaseEnds);
            let outcome = self.lookup.move_outcome(local, first_move + index, instant).ok_or(MissingOutcome)?;
            let action = Action::Move { node, index: index as usize };
            let budgets_after = if cost == Cost::Free { self.state[BUDGETS] } else { remaining.pack() };
            let is_announced = self.lookup.system().is_announced(node_move.kind);
            // A move removes no message.
            let removed_fingerprint = 0;
            self.add_node_transition(action, outcome, budgets_after, removed_fingerprint, is_announced);
        }
        Ok(())
    }

    /// Adds the deliveries of messages in flight, all or only those to one node. Of several copies
    /// of a message, only one is tried; of the messages on a FIFO link, only the oldest.
    fn expand_deliveries(&mut self, receiver: Option<usize>) -> Result<(), MissingOutcome> {
        let in_flight_start = self.lookup.system().in_flight_start(self.state);
        let in_flight_count = self.state.len() - in_flight_start;
        if in_flight_count >= MAX_IN_FLIGHT {
            self.successors.has_too_many_messages = true;
            return Ok(());
        }
        for position in 0..in_flight_count {
            let system = self.lookup.system();
            let word = self.state[in_flight_start + position];
            if position > 0 {
                let previous_word = self.state[in_flight_start + position - 1];
                let is_behind_or_copy = if system.has_fifo_links {
                    system.link(previous_word) == system.link(word)
                } else {
                    previous_word == word
                };
                if is_behind_or_copy {
                    continue;
                }
            }
            let to = system.receiver(word);
            if receiver.is_some_and(|node| node != to) {
                continue;
            }
            self.successors.summary.must_progress = true;
            // The message may arrive only after time has advanced.
            if !system.may_arrive(word, self.state[INSTANT]) {
                continue;
            }
            self.successors.summary.can_progress = true;
            let local = self.state[LOCALS + to];
            let removed_fingerprint = system.word_fingerprint(word);
            let outcome = if system.tables.locals[local as usize].is_up {
                self.lookup.delivery_outcome(local, envelope_of(word), self.state[INSTANT]).ok_or(MissingOutcome)?
            } else {
                NONE
            };
            let is_announced = false;
            let action = Action::Deliver(position);
            self.add_node_transition(action, outcome, self.state[BUDGETS], removed_fingerprint, is_announced);
        }
        Ok(())
    }

    /// Adds the transition in which a node takes an input. `budgets` holds the remaining budgets,
    /// packed; `removed_fingerprint` is that of the delivered message, 0 for a move. `is_announced`
    /// tells whether the transition also sends notices to other nodes, which the outcome does not
    /// include.
    #[inline]
    fn add_node_transition(
        &mut self,
        action: Action,
        outcome: u32,
        budgets: u32,
        removed_fingerprint: u64,
        is_announced: bool,
    ) {
        let system = self.lookup.system();
        let mut violated_bits = 0;
        // A fingerprint is a sum over the state's words. Without FIFO links and properties about
        // the past, the system is additive: the change of this sum is known without building the
        // successor. `apply_action` would find no violation then, because it judges only
        // properties about the past.
        let fingerprint = if system.is_additive() && !is_announced {
            let mut fingerprint = self.fingerprint.wrapping_sub(removed_fingerprint);
            if outcome != NONE {
                fingerprint = fingerprint.wrapping_add(system.tables.outcomes[outcome as usize].delta);
            }
            if budgets != self.state[BUDGETS] {
                fingerprint = fingerprint
                    .wrapping_sub(System::budgets_fingerprint(self.state[BUDGETS]))
                    .wrapping_add(System::budgets_fingerprint(budgets));
            }
            fingerprint
        } else {
            self.successors.words.clear();
            violated_bits = system.apply_action(self.state, action, outcome, &mut self.successors.words);
            system.fingerprint(&self.successors.words)
        };
        let step_violation = if outcome == NONE { None } else { system.tables.outcomes[outcome as usize].violation() };
        let packed = action.pack();
        violated_bits |= step_violation.map_or(0, |property| 1 << property);
        violated_bits &= system.judged_bits;
        while violated_bits != 0 {
            self.successors.violations.push((violated_bits.trailing_zeros() as u8, packed));
            violated_bits &= violated_bits - 1;
        }
        self.successors.candidates.push(Candidate { fingerprint, outcome, parent: self.parent, action: packed });
    }

    /// Adds the losses and duplications of messages in flight.
    fn expand_faults(&mut self) {
        let budgets = self.budgets;
        if budgets.losses == 0 && budgets.duplicates == 0 && !self.lookup.system().crash_interrupts_sends {
            return;
        }
        let in_flight_start = self.lookup.system().in_flight_start(self.state);
        for position in 0..self.state.len() - in_flight_start {
            // The network neither loses nor duplicates notices of the membership service and the
            // failure detector.
            if self.lookup.system().is_notice(self.state[in_flight_start + position]) {
                continue;
            }
            let is_copy =
                position > 0 && self.state[in_flight_start + position] == self.state[in_flight_start + position - 1];
            if (budgets.losses > 0 && !is_copy) || self.may_lose_interrupted_send(in_flight_start + position, is_copy) {
                self.add_transition(Action::Lose(position), NONE);
            }
            if is_copy {
                continue;
            }
            if budgets.duplicates > 0 {
                self.add_transition(Action::Duplicate(position), NONE);
            }
        }
    }

    /// Whether to try the loss of the message at this index because its sender crashed while
    /// sending. On FIFO links, only the last message of each link may be lost; elsewhere, of
    /// several identical copies only one is tried. A message to a node that is down is not tried,
    /// because its delivery loses it anyway.
    fn may_lose_interrupted_send(&self, index: usize, is_copy: bool) -> bool {
        let (system, word) = (self.lookup.system(), self.state[index]);
        let is_last_of_link = || self.state.get(index + 1).is_none_or(|next| system.link(*next) != system.link(word));
        let may_be_lost =
            system.is_interrupted_send(word, self.state) && system.is_up(system.receiver(word), self.state);
        may_be_lost && if system.has_fifo_links { is_last_of_link() } else { !is_copy }
    }

    /// Adds the transitions to views that lack one more member.
    fn expand_removals(&mut self) -> Result<(), MissingOutcome> {
        if self.lookup.system().views.is_none() {
            return Ok(());
        }
        for node in 0..self.lookup.system().nodes {
            let Some((removal, packed)) = self.lookup.system().removal(node, self.state) else { continue };
            let is_due = removal == Removal::Due;
            self.successors.summary.must_progress |= is_due;
            self.successors.summary.can_progress |= is_due;
            let view = self.lookup.view_number(packed).ok_or(MissingOutcome)?;
            self.add_transition(Action::Remove(node), view);
        }
        Ok(())
    }

    /// Adds a transition in which no node takes an input, so that it violates no property about the
    /// past.
    fn add_transition(&mut self, action: Action, outcome: u32) {
        let system = self.lookup.system();
        self.successors.words.clear();
        system.apply_action(self.state, action, outcome, &mut self.successors.words);
        let fingerprint = system.fingerprint(&self.successors.words);
        let action = action.pack();
        self.successors.candidates.push(Candidate { fingerprint, outcome, parent: self.parent, action });
    }

    /// Advances time to the next start or end of a timer's window or a message's delivery window,
    /// unless a timer must fire or a message must arrive first. A message to a node that is down
    /// also arrives in time, and is lost. Time also stops at the last instant at which a client
    /// holds something exclusive: a next hold that begins too early may overlap only there.
    fn expand_time(&mut self) -> Result<(), MissingOutcome> {
        let system = self.lookup.system();
        let Some(time_limit) = system.time_limit else { return Ok(()) };
        let now = system.tables.instants[self.state[INSTANT] as usize];
        let mut next = None;
        let locals = self.state[LOCALS..LOCALS + system.nodes].iter();
        let timers = locals.flat_map(|local| &*system.tables.local_details[*local as usize].timer_windows).copied();
        let in_flight = if system.has_bounded_delays { &self.state[system.in_flight_start(self.state)..] } else { &[] };
        for window in timers.chain(in_flight.iter().filter_map(|word| system.arrival(*word))) {
            if window.latest <= now {
                return Ok(());
            }
            let boundary = if window.earliest > now { window.earliest } else { window.latest };
            next = Some(next.map_or(boundary, |next: Time| next.min(boundary)));
        }
        let last_held_instants =
            system.last_held_instants(self.state).filter(|last| *last > now && *last <= time_limit);
        let Some(next) = last_held_instants.chain(next).min() else { return Ok(()) };
        // Beyond the limit time would advance too, although the search does not follow it there.
        self.successors.summary.must_progress = true;
        self.successors.summary.can_progress = true;
        if next > time_limit {
            return Ok(());
        }
        let instant = self.lookup.instant_number(next).ok_or(MissingOutcome)?;
        let system = self.lookup.system();
        // A fingerprint is a sum over the state's words, and only the instant's word changes.
        let fingerprint = self
            .fingerprint
            .wrapping_sub(system.time_fingerprint(self.state[INSTANT]))
            .wrapping_add(system.time_fingerprint(instant));
        let action = Action::Advance.pack();
        self.successors.candidates.push(Candidate { fingerprint, outcome: instant, parent: self.parent, action });
        Ok(())
    }
}
