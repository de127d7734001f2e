//! Expands a state: finds every transition that can happen next.

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
    /// The number of its outcome; `NONE` if no node changes.
    pub(crate) outcome: u32,
    /// The index of the source state in its batch.
    pub(crate) parent: u16,
    /// The packed action.
    pub(crate) action: u16,
}

/// Facts about a state that a search needs besides its successors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateSummary {
    /// A client waits, or the clients' common goal does not hold.
    pub(crate) waits: bool,
    /// Something other than a fault can happen.
    pub(crate) possible: bool,
    /// Something must eventually happen.
    pub(crate) obliged: bool,
    /// If nothing is obliged to happen: the end-state properties that do not hold, one bit each.
    pub(crate) unmet_at_end: u32,
}

impl StateSummary {
    /// Nothing can happen although a client waits.
    pub(crate) fn is_deadlock(self) -> bool {
        self.waits && !self.possible
    }

    /// Nothing is obliged to happen although a client waits.
    pub(crate) fn is_end(self) -> bool {
        self.waits && !self.obliged
    }
}

/// Computes what inputs do to local states, by stepping the nodes themselves.
pub(crate) trait Stepper {
    fn deliver(&mut self, tables: &mut Tables, local: u32, envelope: u32, time: Time) -> u32;
    fn node_move(&mut self, tables: &mut Tables, local: u32, number: u32, time: Time) -> u32;
    /// Numbers a view and the envelopes that announce it.
    fn view(&mut self, tables: &mut Tables, packed: PackedView) -> u32;
    /// Whether a node had more moves than an action can encode.
    fn has_too_many_moves(&self) -> bool;
}

/// Looks up outcomes. A method returns `None` if the outcome has not been computed and the
/// implementation does not compute it.
pub(crate) trait Lookup {
    fn system(&self) -> &System;
    fn delivery(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32>;
    fn node_move(&mut self, local: u32, number: u32, instant: u32) -> Option<u32>;
    fn instant(&mut self, time: Time) -> Option<u32>;
    fn view(&mut self, packed: PackedView) -> Option<u32>;
}

/// Looks up outcomes and computes none, so that many threads can share it.
pub(crate) struct ReadOnlyLookup<'a>(pub(crate) &'a System);

impl Lookup for ReadOnlyLookup<'_> {
    #[inline]
    fn system(&self) -> &System {
        self.0
    }
    #[inline]
    fn delivery(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        self.0.tables.delivery(local, envelope, instant)
    }
    #[inline]
    fn node_move(&mut self, _local: u32, number: u32, instant: u32) -> Option<u32> {
        self.0.tables.node_move(number, instant)
    }
    fn instant(&mut self, time: Time) -> Option<u32> {
        self.0.tables.instant(time)
    }
    fn view(&mut self, packed: PackedView) -> Option<u32> {
        self.0.tables.view(packed)
    }
}

/// Looks up outcomes and computes those that are missing.
pub(crate) struct ComputingLookup<'a> {
    pub(crate) system: &'a mut System,
    pub(crate) stepper: &'a mut dyn Stepper,
}

impl Lookup for ComputingLookup<'_> {
    fn system(&self) -> &System {
        self.system
    }
    fn delivery(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.delivery(local, envelope, instant).unwrap_or_else(|| {
            let time = tables.instants[instant as usize];
            let outcome = self.stepper.deliver(tables, local, envelope, time);
            tables.record_delivery(local, envelope, instant, outcome);
            outcome
        }))
    }
    fn node_move(&mut self, local: u32, number: u32, instant: u32) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.node_move(number, instant).unwrap_or_else(|| {
            let time = tables.instants[instant as usize];
            let outcome = self.stepper.node_move(tables, local, number, time);
            tables.record_move(number, instant, outcome);
            outcome
        }))
    }
    fn instant(&mut self, time: Time) -> Option<u32> {
        Some(self.system.tables.record_instant(time))
    }
    fn view(&mut self, packed: PackedView) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.view(packed).unwrap_or_else(|| self.stepper.view(tables, packed)))
    }
}

/// The result of expanding a state, reused from one state to the next to save allocations.
#[derive(Default)]
pub(crate) struct Successors {
    pub(crate) candidates: Vec<Candidate>,
    /// Properties that transitions violate, with the packed actions.
    pub(crate) violations: Vec<(u8, u16)>,
    pub(crate) summary: StateSummary,
    /// Whether more messages are in flight than an action can encode.
    pub(crate) overflow: bool,
    /// The words of a successor state, while its fingerprint is computed.
    words: Vec<u32>,
}

/// A needed outcome has not been computed yet.
#[derive(Debug)]
pub(crate) struct Unknown;

struct Expansion<'a, L> {
    lookup: &'a mut L,
    state: &'a [u32],
    budgets: Budgets,
    fingerprint: u64,
    parent: u16,
    found: &'a mut Successors,
}

/// Finds all transitions of a state. Fails only if `lookup` does not compute missing outcomes.
pub(crate) fn expand<L: Lookup>(
    lookup: &mut L,
    state: &[u32],
    fingerprint: u64,
    parent: u16,
    found: &mut Successors,
) -> Result<(), Unknown> {
    found.candidates.clear();
    found.violations.clear();
    found.summary = StateSummary::default();
    let nodes = lookup.system().nodes;
    found.summary.waits = lookup.system().is_goal_unmet(state);
    let mut expansion =
        Expansion { lookup, state, budgets: Budgets::unpack(state[BUDGETS]), fingerprint, parent, found };
    for node in 0..nodes {
        expansion.expand_moves(node)?;
    }
    expansion.expand_deliveries(None)?;
    expansion.expand_faults();
    expansion.expand_removals()?;
    expansion.expand_time()?;
    if !found.summary.obliged {
        found.summary.unmet_at_end = lookup.system().broken_at_end(state);
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
    found: &mut Successors,
) -> Result<(), Unknown> {
    found.candidates.clear();
    found.violations.clear();
    found.summary = StateSummary::default();
    let mut expansion =
        Expansion { lookup, state, budgets: Budgets::unpack(state[BUDGETS]), fingerprint, parent, found };
    expansion.expand_moves(node)?;
    expansion.expand_deliveries(Some(node))
}

impl<L: Lookup> Expansion<'_, L> {
    fn expand_moves(&mut self, node: usize) -> Result<(), Unknown> {
        let local = self.state[LOCALS + node];
        let instant = self.state[INSTANT];
        let system = self.lookup.system();
        let info = &system.tables.locals[local as usize];
        let budgets = self.budgets;
        let crashes = if budgets.crashes == 0 { info.crash_moves } else { 0 };
        let (first, count) = (info.first_move, info.move_count.saturating_sub(crashes));
        self.found.summary.waits |= info.waits;
        for index in 0..u32::from(count) {
            let system = self.lookup.system();
            let node_move = system.tables.moves[(first + index) as usize];
            let ready = node_move.kind != MoveKind::Timer || system.is_ready(first + index, instant);
            let cost = system.cost(node_move.kind, node, self.state).filter(|_| ready);
            self.found.summary.obliged |= node_move.obliged;
            let Some((cost, remaining)) = cost.and_then(|cost| Some((cost, budgets.after(cost)?))) else { continue };
            self.found.summary.possible |= !matches!(node_move.kind, MoveKind::Crash | MoveKind::LeaseEnds);
            let outcome = self.lookup.node_move(local, first + index, instant).ok_or(Unknown)?;
            let action = Action::Move { node, index: index as usize };
            let budgets_after = if cost == Cost::Free { self.state[BUDGETS] } else { remaining.pack() };
            self.add_node_transition(
                action,
                outcome,
                budgets_after,
                0,
                self.lookup.system().is_announced(node_move.kind),
            );
        }
        Ok(())
    }

    /// Adds the deliveries of messages in flight, all or only those to one node. Of several copies
    /// of a message, one is delivered; on a FIFO link, the oldest message.
    fn expand_deliveries(&mut self, receiver: Option<usize>) -> Result<(), Unknown> {
        let in_flight_start = self.lookup.system().in_flight_start(self.state);
        let in_flight = self.state.len() - in_flight_start;
        if in_flight >= MAX_IN_FLIGHT {
            self.found.overflow = true;
            return Ok(());
        }
        for position in 0..in_flight {
            let system = self.lookup.system();
            let word = self.state[in_flight_start + position];
            if position > 0 {
                let before = self.state[in_flight_start + position - 1];
                let is_covered = if system.fifo { system.link(before) == system.link(word) } else { before == word };
                if is_covered {
                    continue;
                }
            }
            let to = system.receiver(word);
            if receiver.is_some_and(|node| node != to) {
                continue;
            }
            self.found.summary.obliged = true;
            // Time advances until the message may arrive.
            if !system.may_arrive(word, self.state[INSTANT]) {
                continue;
            }
            self.found.summary.possible = true;
            let local = self.state[LOCALS + to];
            let removed_fingerprint = system.word_fingerprint(word);
            let outcome = if system.tables.locals[local as usize].up {
                self.lookup.delivery(local, envelope_of(word), self.state[INSTANT]).ok_or(Unknown)?
            } else {
                NONE
            };
            self.add_node_transition(
                Action::Deliver(position),
                outcome,
                self.state[BUDGETS],
                removed_fingerprint,
                false,
            );
        }
        Ok(())
    }

    /// Adds the transition in which a node takes an input with a known outcome. If others are
    /// notified of it, more than that node changes.
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
        let mut broken = 0;
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
            self.found.words.clear();
            broken = system.apply_action(self.state, action, outcome, &mut self.found.words);
            system.fingerprint(&self.found.words)
        };
        let step_violation = if outcome == NONE { None } else { system.tables.outcomes[outcome as usize].violation() };
        let packed = action.pack();
        broken |= step_violation.map_or(0, |property| 1 << property);
        broken &= system.judged_bits;
        while broken != 0 {
            self.found.violations.push((broken.trailing_zeros() as u8, packed));
            broken &= broken - 1;
        }
        self.found.candidates.push(Candidate { fingerprint, outcome, parent: self.parent, action: packed });
    }

    /// Adds the losses and duplications of messages in flight.
    fn expand_faults(&mut self) {
        let budgets = self.budgets;
        if budgets.losses == 0 && budgets.duplicates == 0 && !self.lookup.system().crash_interrupts_sends {
            return;
        }
        let in_flight_start = self.lookup.system().in_flight_start(self.state);
        for position in 0..self.state.len() - in_flight_start {
            // Notices of the membership service and the failure detector are never lost.
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

    /// Whether the message at this index may be lost because its sender crashed while sending. On a
    /// link that keeps the order, only the last message may be. Of several identical copies, one is
    /// tried.
    fn may_lose_interrupted_send(&self, index: usize, is_copy: bool) -> bool {
        let (system, word) = (self.lookup.system(), self.state[index]);
        let is_last_of_link = || self.state.get(index + 1).is_none_or(|next| system.link(*next) != system.link(word));
        let may_be_lost =
            system.is_interrupted_send(word, self.state) && system.is_up(system.receiver(word), self.state);
        may_be_lost && if system.fifo { is_last_of_link() } else { !is_copy }
    }

    /// Adds the views that lack one more member.
    fn expand_removals(&mut self) -> Result<(), Unknown> {
        if self.lookup.system().views.is_none() {
            return Ok(());
        }
        for node in 0..self.lookup.system().nodes {
            let Some((removal, packed)) = self.lookup.system().removal(node, self.state) else { continue };
            let is_due = removal == Removal::Due;
            self.found.summary.obliged |= is_due;
            self.found.summary.possible |= is_due;
            let view = self.lookup.view(packed).ok_or(Unknown)?;
            self.add_transition(Action::Remove(node), view);
        }
        Ok(())
    }

    /// Adds a transition that no node takes as an input.
    fn add_transition(&mut self, action: Action, outcome: u32) {
        let system = self.lookup.system();
        self.found.words.clear();
        system.apply_action(self.state, action, outcome, &mut self.found.words);
        let fingerprint = system.fingerprint(&self.found.words);
        let action = action.pack();
        self.found.candidates.push(Candidate { fingerprint, outcome, parent: self.parent, action });
    }

    /// Advances time to the next end of a timer's span or of a message's delivery window, unless a
    /// timer must fire or a message must arrive first. A message to a node that is down also
    /// arrives in time, and is lost.
    fn expand_time(&mut self) -> Result<(), Unknown> {
        let system = self.lookup.system();
        let Some(time_limit) = system.time_limit else { return Ok(()) };
        let now = system.tables.instants[self.state[INSTANT] as usize];
        let mut next = None;
        let locals = self.state[LOCALS..LOCALS + system.nodes].iter();
        let timers = locals.flat_map(|local| &*system.tables.local_details[*local as usize].timer_windows).copied();
        let in_flight = if system.bounded_delays { &self.state[system.in_flight_start(self.state)..] } else { &[] };
        for window in timers.chain(in_flight.iter().filter_map(|word| system.arrival(*word))) {
            if window.latest <= now {
                return Ok(());
            }
            let end = if window.earliest > now { window.earliest } else { window.latest };
            next = Some(next.map_or(end, |next: Time| next.min(end)));
        }
        let last_held_instants =
            system.last_held_instants(self.state).filter(|last| *last > now && *last <= time_limit);
        let Some(next) = last_held_instants.chain(next).min() else { return Ok(()) };
        // Time also advances beyond the limit, where the search does not follow.
        self.found.summary.obliged = true;
        self.found.summary.possible = true;
        if next > time_limit {
            return Ok(());
        }
        let instant = self.lookup.instant(next).ok_or(Unknown)?;
        let system = self.lookup.system();
        let fingerprint = self
            .fingerprint
            .wrapping_sub(system.time_fingerprint(self.state[INSTANT]))
            .wrapping_add(system.time_fingerprint(instant));
        let action = Action::Advance.pack();
        self.found.candidates.push(Candidate { fingerprint, outcome: instant, parent: self.parent, action });
        Ok(())
    }
}
