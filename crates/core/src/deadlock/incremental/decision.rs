//! The decision whether a new need of an owner, the waiter, closes a deadlock, and which owners are
//! its members. A path back, from an owner that the need names to the waiter, is already known. If
//! the need is in the graph already, the decision is whether the need is part of a deadlock.
//!
//! A deadlock here is a set of owners that wait forever because of each other, among them the
//! waiter with its new need. If every owner on the path back waits for all that it names, the path
//! is a deadlock. Otherwise the decision takes the part of the graph that is reachable from the new
//! need, and removes owners that do not belong to such a set until no more can be removed:
//!
//! - owners without a blocking need: a `Need::All` blocks its owner while one of the owners it
//!   names remains, a `Need::Any` while all of them do;
//! - owners that cannot reach the waiter along blocking needs. If such an owner waits forever, the
//!   cause is a deadlock without the waiter, which ends when one of its members aborts.
//!
//! The rest is the largest such set; if the waiter is not in it, there is no deadlock. In a graph
//! without existing deadlocks the second rule removes no owner that the first one keeps.

use super::arena::{Arena, OwnerSlot, Wait};
use super::marks::Marks;
use crate::deadlock::{Deadlock, Need, Shape};
use alloc::vec::Vec;

/// The need to decide about. The decision ignores the waiter's other needs: a deadlock through them
/// does not depend on this need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) waiter: OwnerSlot,
    /// The slots of the owners that the need names, sorted. A `Need::Any` that names an owner
    /// without a slot needs no decision: such an owner does not wait, so it can meet the need.
    pub(super) awaited: &'a [OwnerSlot],
    /// Whether one of several owners is enough.
    pub(super) has_alternatives: bool,
}

/// Decides questions one after the other, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlockDecision {
    /// For each owner under consideration, its index in `candidates`.
    candidate_indices: Marks,
    candidates: Vec<Candidate>,
    /// For each need of each candidate, how many of the owners it names remain; 0 if it does not
    /// block. Of the waiter's needs, only the one in question has an entry.
    remaining_awaited: Vec<usize>,
    /// The distance to the waiter of each owner that can reach the waiter.
    distances: Marks,
    /// The owners that `describe` has listed so far.
    described: Marks,
}

#[derive(Clone, Debug)]
struct Candidate {
    slot: OwnerSlot,
    is_remaining: bool,
    /// The index of the candidate's first need in `remaining_awaited`.
    first_need_index: usize,
    blocking_need_count: usize,
}

impl DeadlockDecision {
    /// Returns a shortest cycle through the waiter, among these slots and along needs without
    /// alternatives, if there is one.
    pub(super) fn cycle_among<O: Ord + Copy>(
        &mut self,
        arena: &Arena<O>,
        question: Question<'_>,
        slots: &[OwnerSlot],
    ) -> Option<Deadlock<O>> {
        self.candidate_indices.clear();
        self.candidates.clear();
        self.remaining_awaited.clear();
        for slot in slots.iter().chain([&question.waiter]) {
            self.add_candidate(arena, question, *slot);
        }
        self.find_cycle(arena, question)
    }

    /// Returns the deadlock that the need is part of, if there is one.
    pub(super) fn deadlock<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.add_reachable(arena, question);
        self.remove_unblocked(arena, question);
        loop {
            if !self.is_remaining(question.waiter) {
                return None;
            }
            self.measure_distances(arena, question, |_| true);
            if !self.remove_unreachable(arena, question) {
                break;
            }
        }
        if let Some(cycle) = self.find_cycle(arena, question) {
            return Some(cycle);
        }
        // `find_cycle` has measured distances along fewer needs.
        self.measure_distances(arena, question, |_| true);
        self.describe(arena, question)
    }

    /// Replaces the candidates by the waiter and all owners that the need can reach.
    fn add_reachable<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        self.candidate_indices.clear();
        self.candidates.clear();
        self.remaining_awaited.clear();
        self.add_candidate(arena, question, question.waiter);
        for slot in question.awaited {
            self.add_candidate(arena, question, *slot);
        }
        // Skips the waiter, because only its new need counts.
        let mut next = 1;
        while let Some(slot) = self.candidates.get(next).map(|candidate| candidate.slot) {
            for awaited in waits_of(arena, slot).flat_map(Wait::awaited) {
                self.add_candidate(arena, question, awaited);
            }
            next += 1;
        }
    }

    fn add_candidate<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, slot: OwnerSlot) {
        if self.candidate_indices.has(slot) {
            return;
        }
        self.candidate_indices.set(slot, self.candidates.len() as u32);
        let first_need_index = self.remaining_awaited.len();
        if slot == question.waiter {
            self.remaining_awaited.push(question.awaited.len());
        } else {
            self.remaining_awaited.extend(waits_of(arena, slot).map(|wait| wait.outgoing_edges.len()));
        }
        let blocking_need_count =
            self.remaining_awaited.iter().skip(first_need_index).filter(|remaining| **remaining > 0).count();
        self.candidates.push(Candidate { slot, is_remaining: true, first_need_index, blocking_need_count });
    }

    fn candidate(&self, slot: OwnerSlot) -> Option<&Candidate> {
        self.candidates.get(self.candidate_indices.get(slot)? as usize)
    }

    fn is_remaining(&self, slot: OwnerSlot) -> bool {
        self.candidate(slot).is_some_and(|candidate| candidate.is_remaining)
    }

    /// Removes all owners without a blocking need, and then those that lose their last one thereby.
    fn remove_unblocked<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        let unblocked = self.candidates.iter().filter(|candidate| candidate.blocking_need_count == 0);
        let removed = unblocked.map(|candidate| candidate.slot).collect();
        self.remove_all(arena, question, removed);
    }

    /// Removes these owners, and then those that lose their last blocking need thereby.
    fn remove_all<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, mut removed: Vec<OwnerSlot>) {
        while let Some(slot) = removed.pop() {
            let index = self.candidate_indices.get(slot);
            let Some(candidate) = index.and_then(|index| self.candidates.get_mut(index as usize)) else { continue };
            if !core::mem::replace(&mut candidate.is_remaining, false) {
                continue;
            }
            let incoming_edges = arena.owner(slot).into_iter().flat_map(|owner| owner.incoming_edges.iter());
            for wait in incoming_edges.filter_map(|edge| arena.wait(edge.wait)) {
                if wait.waiter != question.waiter
                    && self.lose_awaited(wait.waiter, wait.position, wait.has_alternatives())
                {
                    removed.push(wait.waiter);
                }
            }
            if question.awaited.binary_search(&slot).is_ok()
                && self.lose_awaited(question.waiter, 0, question.has_alternatives)
            {
                removed.push(question.waiter);
            }
        }
    }

    /// Records that an owner named by a need of `waiter` was removed. Returns whether `waiter`
    /// thereby lost its last blocking need. `position` is the need's index among those of `waiter`.
    fn lose_awaited(&mut self, waiter: OwnerSlot, position: usize, has_alternatives: bool) -> bool {
        let index = self.candidate_indices.get(waiter);
        let Some(candidate) = index.and_then(|index| self.candidates.get_mut(index as usize)) else { return false };
        let Some(remaining) =
            self.remaining_awaited.get_mut(candidate.first_need_index + position).filter(|remaining| **remaining > 0)
        else {
            return false;
        };
        *remaining = if has_alternatives { 0 } else { *remaining - 1 };
        if *remaining > 0 {
            return false;
        }
        candidate.blocking_need_count -= 1;
        candidate.blocking_need_count == 0
    }

    /// Returns whether a need blocks its owner, and the owner remains. The owner must not be the
    /// waiter in question, whose needs in the graph do not count.
    fn is_blocking(&self, wait: &Wait) -> bool {
        let has_remaining = |candidate: &Candidate| {
            let need_index = candidate.first_need_index + wait.position;
            self.remaining_awaited.get(need_index).is_some_and(|remaining| *remaining > 0)
        };
        self.candidate(wait.waiter).is_some_and(|candidate| candidate.is_remaining && has_remaining(candidate))
    }

    /// Measures the distance of all owners to the waiter, along blocking needs that `may_use`
    /// accepts.
    fn measure_distances<O: Ord + Copy>(
        &mut self,
        arena: &Arena<O>,
        question: Question<'_>,
        may_use: impl Fn(&Wait) -> bool,
    ) {
        self.distances.clear();
        self.distances.set(question.waiter, 0);
        let mut reached = alloc::vec![question.waiter];
        let mut next = 0;
        while let Some(slot) = reached.get(next).copied() {
            next += 1;
            let distance = self.distances.get(slot).unwrap_or(0) + 1;
            let incoming_edges = arena.owner(slot).into_iter().flat_map(|owner| owner.incoming_edges.iter());
            for wait in incoming_edges.filter_map(|edge| arena.wait(edge.wait)) {
                if !self.distances.has(wait.waiter) && self.is_blocking(wait) && may_use(wait) {
                    self.distances.set(wait.waiter, distance);
                    reached.push(wait.waiter);
                }
            }
        }
    }

    /// Removes the owners that cannot reach the waiter. Returns whether there were any.
    fn remove_unreachable<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> bool {
        let is_cut_off = |candidate: &&Candidate| candidate.is_remaining && !self.distances.has(candidate.slot);
        let cut_off = self.candidates.iter().filter(is_cut_off);
        let removed: Vec<OwnerSlot> = cut_off.map(|candidate| candidate.slot).collect();
        let has_removed_any = !removed.is_empty();
        self.remove_all(arena, question, removed);
        has_removed_any
    }

    /// Returns a shortest cycle through the waiter, among the remaining owners and along needs
    /// without alternatives, if there is one.
    fn find_cycle<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        if question.has_alternatives {
            return None;
        }
        self.measure_distances(arena, question, |wait| !wait.has_alternatives());
        self.describe(arena, question)
    }

    /// Returns the distance and the slot of the owner nearest to the waiter, among the given owners
    /// that remain and can reach the waiter.
    fn nearest_to_waiter(&self, awaited: impl Iterator<Item = OwnerSlot>) -> Option<(u32, OwnerSlot)> {
        awaited.filter(|slot| self.is_remaining(*slot)).filter_map(|slot| Some((self.distances.get(slot)?, slot))).min()
    }

    /// Returns the deadlock with all its members, each with one need that blocks it: a cycle in its
    /// order, or a knot sorted. Each of these needs but the waiter's names an owner nearer to the
    /// waiter, so all members wait because of each other. Returns `None` if no remaining owner that
    /// the new need names has a measured distance.
    fn describe<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.described.clear();
        self.described.set(question.waiter, 0);
        let mut slots = alloc::vec![question.waiter];
        let mut waits = Vec::new();
        let mut shape = Shape::Cycle;
        let mut next = 0;
        while let Some(slot) = slots.get(next).copied() {
            next += 1;
            let (has_alternatives, awaited) = self.blocking_need(arena, question, slot)?;
            if has_alternatives {
                shape = Shape::Knot;
            }
            for slot in &awaited {
                if !self.described.has(*slot) {
                    self.described.set(*slot, 0);
                    slots.push(*slot);
                }
            }
            let awaited = awaited.into_iter().filter_map(|slot| Some(arena.owner(slot)?.name)).collect();
            waits.push((
                arena.owner(slot)?.name,
                if has_alternatives { Need::Any(awaited) } else { Need::All(awaited) },
            ));
        }
        if shape == Shape::Knot {
            waits.sort();
        }
        Some(Deadlock { shape, waits })
    }

    /// Returns the need that blocks an owner: whether it has alternatives, and the owners to list
    /// for it, which are all alternatives or else the named owner nearest to the waiter.
    fn blocking_need<O: Ord + Copy>(
        &self,
        arena: &Arena<O>,
        question: Question<'_>,
        slot: OwnerSlot,
    ) -> Option<(bool, Vec<OwnerSlot>)> {
        if slot == question.waiter {
            let (_, nearest) = self.nearest_to_waiter(question.awaited.iter().copied())?;
            let awaited = if question.has_alternatives { question.awaited.to_vec() } else { alloc::vec![nearest] };
            return Some((question.has_alternatives, awaited));
        }
        let distance = self.distances.get(slot)?;
        let leads_nearer =
            |wait: &&Wait| self.nearest_to_waiter(wait.awaited()).is_some_and(|(nearest, _)| nearest < distance);
        let mut blocking = waits_of(arena, slot).filter(|wait| self.is_blocking(wait)).filter(leads_nearer);
        let wait = blocking.clone().find(|wait| !wait.has_alternatives()).or_else(|| blocking.next())?;
        if wait.has_alternatives() {
            return Some((true, wait.awaited().collect()));
        }
        self.nearest_to_waiter(wait.awaited()).map(|(_, nearest)| (false, alloc::vec![nearest]))
    }
}

fn waits_of<O: Ord + Copy>(arena: &Arena<O>, slot: OwnerSlot) -> impl Iterator<Item = &Wait> + Clone {
    arena.owner(slot).into_iter().flat_map(|owner| owner.waits.iter()).filter_map(|wait_slot| arena.wait(*wait_slot))
}
