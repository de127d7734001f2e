//! The decision whether a path back is a deadlock, and which owners are its members.
//!
//! A deadlock here is a set of owners that are stuck because of each other, among them the waiter
//! with its new need. If all owners on the path back wait for all, they are one. Otherwise the
//! decision considers the part of the graph that is reachable from the new need, and removes owners
//! that do not belong to such a set until no more can be removed:
//!
//! - owners without a holding need: a need of all holds while one of the owners it names remains, a
//!   need of any while all of them do;
//! - owners that cannot reach the waiter along holding needs. If such an owner is stuck, then
//!   because of others, whose deadlock does not involve the waiter and ends with the abort of one
//!   of them.
//!
//! The rest is the largest such set, and if the waiter is not in it, there is none. In a graph
//! without stuck owners the second rule removes only owners that the first one would have removed.

use super::arena::{Arena, OwnerSlot, Wait};
use super::marks::Marks;
use crate::deadlock::{Deadlock, Need, Shape};
use alloc::vec::Vec;

/// The need to decide about. Its owner's other needs do not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) waiter: OwnerSlot,
    /// The slots of the owners it names, sorted. An owner without a slot is not stuck, so there is
    /// no question about a need of any that names one.
    pub(super) awaited: &'a [OwnerSlot],
    pub(super) is_any: bool,
}

/// The decision of one question, with memory that the next one reuses.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlockDecision {
    /// The index of each owner under consideration in `members`.
    indices: Marks,
    members: Vec<Member>,
    /// For each need of each member, how many of the owners it names remain; 0 if it does not hold.
    remaining: Vec<usize>,
    /// The distance to the waiter, if it is reachable.
    distances: Marks,
    /// The owners that a description contains already.
    described: Marks,
}

#[derive(Clone, Debug)]
struct Member {
    slot: OwnerSlot,
    /// Whether it has not been removed.
    is_in: bool,
    /// The index in `remaining` of its first need; `holding` of its needs hold.
    first_need: usize,
    holding: usize,
}

impl DeadlockDecision {
    /// Returns a shortest cycle among these slots in which all owners wait for all, if there is
    /// one.
    pub(super) fn cycle_among<O: Ord + Copy>(
        &mut self,
        arena: &Arena<O>,
        question: Question<'_>,
        slots: &[OwnerSlot],
    ) -> Option<Deadlock<O>> {
        self.indices.clear();
        self.members.clear();
        self.remaining.clear();
        for slot in slots.iter().chain([&question.waiter]) {
            self.add_member(arena, question, *slot);
        }
        self.cycle(arena, question)
    }

    /// Returns the deadlock that the need is part of, if there is one.
    pub(super) fn deadlock<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.add_reachable(arena, question);
        self.reduce(arena, question);
        loop {
            if !self.is_in(question.waiter) {
                return None;
            }
            self.measure_distances(arena, question, |_| true);
            if !self.remove_unreachable(arena, question) {
                break;
            }
        }
        if let Some(cycle) = self.cycle(arena, question) {
            return Some(cycle);
        }
        self.measure_distances(arena, question, |_| true);
        self.describe(arena, question)
    }

    /// Makes the waiter and all owners that the need can reach members.
    fn add_reachable<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        self.indices.clear();
        self.members.clear();
        self.remaining.clear();
        self.add_member(arena, question, question.waiter);
        for slot in question.awaited {
            self.add_member(arena, question, *slot);
        }
        let mut next = 1;
        while let Some(slot) = self.members.get(next).map(|member| member.slot) {
            for awaited in waits(arena, slot).flat_map(Wait::awaited) {
                self.add_member(arena, question, awaited);
            }
            next += 1;
        }
    }

    fn add_member<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, slot: OwnerSlot) {
        if self.indices.has(slot) {
            return;
        }
        self.indices.set(slot, self.members.len() as u32);
        let first_need = self.remaining.len();
        if slot == question.waiter {
            self.remaining.push(question.awaited.len());
        } else {
            self.remaining.extend(waits(arena, slot).map(|wait| wait.edges.len()));
        }
        let holding = self.remaining.iter().skip(first_need).filter(|remaining| **remaining > 0).count();
        self.members.push(Member { slot, is_in: true, first_need, holding });
    }

    fn member(&self, slot: OwnerSlot) -> Option<&Member> {
        self.members.get(self.indices.get(slot)? as usize)
    }

    fn is_in(&self, slot: OwnerSlot) -> bool {
        self.member(slot).is_some_and(|member| member.is_in)
    }

    /// Removes all owners without a holding need, and repeats for those that lose theirs.
    fn reduce<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        let removed = self.members.iter().filter(|member| member.holding == 0).map(|member| member.slot).collect();
        self.remove_all(arena, question, removed);
    }

    /// Removes these owners, and repeats for those that lose their last holding need.
    fn remove_all<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, mut removed: Vec<OwnerSlot>) {
        while let Some(slot) = removed.pop() {
            let index = self.indices.get(slot);
            let Some(member) = index.and_then(|index| self.members.get_mut(index as usize)) else { continue };
            if !core::mem::replace(&mut member.is_in, false) {
                continue;
            }
            let links = arena.owner(slot).into_iter().flat_map(|owner| owner.waited_by.iter());
            for wait in links.filter_map(|link| arena.wait(link.wait)) {
                if wait.waiter != question.waiter && self.lose_awaited(wait.waiter, wait.position, wait.is_any()) {
                    removed.push(wait.waiter);
                }
            }
            if question.awaited.binary_search(&slot).is_ok() && self.lose_awaited(question.waiter, 0, question.is_any) {
                removed.push(question.waiter);
            }
        }
    }

    /// Records that an owner named by a need was removed. Returns whether its waiter has no holding
    /// need left.
    fn lose_awaited(&mut self, waiter: OwnerSlot, position: usize, is_any: bool) -> bool {
        let index = self.indices.get(waiter);
        let Some(member) = index.and_then(|index| self.members.get_mut(index as usize)) else { return false };
        let Some(remaining) = self.remaining.get_mut(member.first_need + position).filter(|remaining| **remaining > 0)
        else {
            return false;
        };
        *remaining = if is_any { 0 } else { *remaining - 1 };
        if *remaining > 0 {
            return false;
        }
        member.holding -= 1;
        member.holding == 0
    }

    /// Returns whether a need of a remaining owner holds.
    fn holds(&self, wait: &Wait) -> bool {
        let remaining = |member: &Member| {
            self.remaining.get(member.first_need + wait.position).is_some_and(|remaining| *remaining > 0)
        };
        self.member(wait.waiter).is_some_and(|member| member.is_in && remaining(member))
    }

    /// Measures the distance of all owners to the waiter, along holding needs that `may_use`
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
            let links = arena.owner(slot).into_iter().flat_map(|owner| owner.waited_by.iter());
            for wait in links.filter_map(|link| arena.wait(link.wait)) {
                if !self.distances.has(wait.waiter) && self.holds(wait) && may_use(wait) {
                    self.distances.set(wait.waiter, distance);
                    reached.push(wait.waiter);
                }
            }
        }
    }

    /// Removes the owners that cannot reach the waiter. Returns whether there were any.
    fn remove_unreachable<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> bool {
        let is_cut_off = |member: &&Member| member.is_in && !self.distances.has(member.slot);
        let removed: Vec<OwnerSlot> = self.members.iter().filter(is_cut_off).map(|member| member.slot).collect();
        let any_removed = !removed.is_empty();
        self.remove_all(arena, question, removed);
        any_removed
    }

    /// Returns a shortest cycle through the waiter among the remaining owners, in which all wait
    /// for all.
    fn cycle<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        if question.is_any {
            return None;
        }
        self.measure_distances(arena, question, |wait| !wait.is_any());
        self.describe(arena, question)
    }

    /// Returns the owner that is nearest to the waiter, with its distance.
    fn nearest(&self, awaited: impl Iterator<Item = OwnerSlot>) -> Option<(u32, OwnerSlot)> {
        awaited.filter(|slot| self.is_in(*slot)).filter_map(|slot| Some((self.distances.get(slot)?, slot))).min()
    }

    /// Describes the deadlock: all its members, each with one reason. Each reason leads nearer to
    /// the waiter, so all members are stuck because of each other.
    fn describe<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.described.clear();
        self.described.set(question.waiter, 0);
        let mut slots = alloc::vec![question.waiter];
        let mut waits = Vec::new();
        let mut shape = Shape::Cycle;
        let mut next = 0;
        while let Some(slot) = slots.get(next).copied() {
            next += 1;
            let (is_any, awaited) = self.reason(arena, question, slot)?;
            if is_any {
                shape = Shape::Knot;
            }
            for slot in &awaited {
                if !self.described.has(*slot) {
                    self.described.set(*slot, 0);
                    slots.push(*slot);
                }
            }
            let awaited = awaited.into_iter().filter_map(|slot| Some(arena.owner(slot)?.owner)).collect();
            waits.push((arena.owner(slot)?.owner, if is_any { Need::Any(awaited) } else { Need::All(awaited) }));
        }
        if shape == Shape::Knot {
            waits.sort();
        }
        Some(Deadlock { shape, waits })
    }

    /// Returns the need that holds an owner: whether it is one of any, and the owners it names that
    /// are in the deadlock.
    fn reason<O: Ord + Copy>(
        &self,
        arena: &Arena<O>,
        question: Question<'_>,
        slot: OwnerSlot,
    ) -> Option<(bool, Vec<OwnerSlot>)> {
        if slot == question.waiter {
            let (_, nearest) = self.nearest(question.awaited.iter().copied())?;
            let awaited = if question.is_any { question.awaited.to_vec() } else { alloc::vec![nearest] };
            return Some((question.is_any, awaited));
        }
        let distance = self.distances.get(slot)?;
        let nearer = |wait: &&Wait| self.nearest(wait.awaited()).is_some_and(|(nearest, _)| nearest < distance);
        let mut holding = waits(arena, slot).filter(|wait| self.holds(wait)).filter(nearer);
        let wait = holding.clone().find(|wait| !wait.is_any()).or_else(|| holding.next())?;
        if wait.is_any() {
            return Some((true, wait.awaited().collect()));
        }
        self.nearest(wait.awaited()).map(|(_, nearest)| (false, alloc::vec![nearest]))
    }
}

fn waits<O: Ord + Copy>(arena: &Arena<O>, slot: OwnerSlot) -> impl Iterator<Item = &Wait> + Clone {
    arena.owner(slot).into_iter().flat_map(|owner| owner.waits.iter()).filter_map(|wait_slot| arena.wait(*wait_slot))
}
