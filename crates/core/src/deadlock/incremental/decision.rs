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
    pub(super) on: &'a [OwnerSlot],
    pub(super) any: bool,
}

/// The decision of one question, with memory that the next one reuses.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlockDecision {
    /// The index of each owner under consideration in `members`.
    numbers: Marks,
    members: Vec<Member>,
    /// For each need, how many of the owners it names remain; 0 if it does not hold.
    left: Vec<usize>,
    /// The distance to the waiter, if it is reachable.
    distances: Marks,
    described: Marks,
}

#[derive(Clone, Debug)]
struct Member {
    slot: OwnerSlot,
    /// Whether it has not been removed.
    is_in: bool,
    /// Where its needs begin in `left`; `holding` of them hold.
    needs: usize,
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
        self.numbers.clear();
        self.members.clear();
        self.left.clear();
        for slot in slots.iter().chain([&question.waiter]) {
            self.enter(arena, question, *slot);
        }
        self.cycle(arena, question)
    }

    /// Returns the deadlock that the need is part of, if there is one.
    pub(super) fn deadlock<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.reach(arena, question);
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

    fn reach<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        self.numbers.clear();
        self.members.clear();
        self.left.clear();
        self.enter(arena, question, question.waiter);
        for slot in question.on {
            self.enter(arena, question, *slot);
        }
        let mut next = 1;
        while let Some(slot) = self.members.get(next).map(|member| member.slot) {
            for on in waits(arena, slot).flat_map(Wait::on) {
                self.enter(arena, question, on);
            }
            next += 1;
        }
    }

    fn enter<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, slot: OwnerSlot) {
        if self.numbers.has(slot) {
            return;
        }
        self.numbers.set(slot, self.members.len() as u32);
        let needs = self.left.len();
        if slot == question.waiter {
            self.left.push(question.on.len());
        } else {
            self.left.extend(waits(arena, slot).map(|wait| wait.edges.len()));
        }
        let holding = self.left.iter().skip(needs).filter(|left| **left > 0).count();
        self.members.push(Member { slot, is_in: true, needs, holding });
    }

    fn member(&self, slot: OwnerSlot) -> Option<&Member> {
        self.members.get(self.numbers.get(slot)? as usize)
    }

    fn is_in(&self, slot: OwnerSlot) -> bool {
        self.member(slot).is_some_and(|member| member.is_in)
    }

    /// Removes all owners without a holding need, and repeats for those that lose theirs.
    fn reduce<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        let free = |member: &Member| member.holding == 0;
        let gone = self.members.iter().filter(|member| free(member)).map(|member| member.slot).collect();
        self.take_away(arena, question, gone);
    }

    fn take_away<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, mut gone: Vec<OwnerSlot>) {
        while let Some(slot) = gone.pop() {
            let number = self.numbers.get(slot);
            let Some(member) = number.and_then(|number| self.members.get_mut(number as usize)) else { continue };
            if !core::mem::replace(&mut member.is_in, false) {
                continue;
            }
            let links = arena.owner(slot).into_iter().flat_map(|owner| owner.waited_by.iter());
            for wait in links.filter_map(|link| arena.wait(link.wait)) {
                if wait.waiter != question.waiter && self.loses_one(wait.waiter, wait.position, wait.is_any()) {
                    gone.push(wait.waiter);
                }
            }
            if question.on.binary_search(&slot).is_ok() && self.loses_one(question.waiter, 0, question.any) {
                gone.push(question.waiter);
            }
        }
    }

    /// Records that an owner named by a need was removed. Returns whether its waiter has no holding
    /// need left.
    fn loses_one(&mut self, waiter: OwnerSlot, position: usize, any: bool) -> bool {
        let number = self.numbers.get(waiter);
        let Some(member) = number.and_then(|number| self.members.get_mut(number as usize)) else { return false };
        let Some(left) = self.left.get_mut(member.needs + position).filter(|left| **left > 0) else { return false };
        *left = if any { 0 } else { *left - 1 };
        if *left > 0 {
            return false;
        }
        member.holding -= 1;
        member.holding == 0
    }

    /// Returns whether a need of a remaining owner holds.
    fn holds(&self, wait: &Wait) -> bool {
        let left = |member: &Member| self.left.get(member.needs + wait.position).is_some_and(|left| *left > 0);
        self.member(wait.waiter).is_some_and(|member| member.is_in && left(member))
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
        let mut seen = alloc::vec![question.waiter];
        let mut next = 0;
        while let Some(slot) = seen.get(next).copied() {
            next += 1;
            let distance = self.distances.get(slot).unwrap_or(0) + 1;
            let links = arena.owner(slot).into_iter().flat_map(|owner| owner.waited_by.iter());
            for wait in links.filter_map(|link| arena.wait(link.wait)) {
                if !self.distances.has(wait.waiter) && self.holds(wait) && may_use(wait) {
                    self.distances.set(wait.waiter, distance);
                    seen.push(wait.waiter);
                }
            }
        }
    }

    /// Removes the owners that cannot reach the waiter. Returns whether there were any.
    fn remove_unreachable<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> bool {
        let without = |member: &&Member| member.is_in && !self.distances.has(member.slot);
        let gone: Vec<OwnerSlot> = self.members.iter().filter(without).map(|member| member.slot).collect();
        let any_removed = !gone.is_empty();
        self.take_away(arena, question, gone);
        any_removed
    }

    /// Returns a shortest cycle through the waiter among the remaining owners, in which all wait
    /// for all.
    fn cycle<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        if question.any {
            return None;
        }
        self.measure_distances(arena, question, |wait| !wait.is_any());
        self.describe(arena, question)
    }

    /// Returns the owner that is nearest to the waiter, with its distance.
    fn nearest(&self, on: impl Iterator<Item = OwnerSlot>) -> Option<(u32, OwnerSlot)> {
        on.filter(|slot| self.is_in(*slot)).filter_map(|slot| Some((self.distances.get(slot)?, slot))).min()
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
            let (any, on) = self.reason(arena, question, slot)?;
            if any {
                shape = Shape::Knot;
            }
            for slot in &on {
                if !self.described.has(*slot) {
                    self.described.set(*slot, 0);
                    slots.push(*slot);
                }
            }
            let on = on.into_iter().filter_map(|slot| Some(arena.owner(slot)?.owner)).collect();
            waits.push((arena.owner(slot)?.owner, if any { Need::Any(on) } else { Need::All(on) }));
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
            let (_, nearest) = self.nearest(question.on.iter().copied())?;
            let on = if question.any { question.on.to_vec() } else { alloc::vec![nearest] };
            return Some((question.any, on));
        }
        let distance = self.distances.get(slot)?;
        let nearer = |wait: &&Wait| self.nearest(wait.on()).is_some_and(|(nearest, _)| nearest < distance);
        let mut held = waits(arena, slot).filter(|wait| self.holds(wait)).filter(nearer);
        let wait = held.clone().find(|wait| !wait.is_any()).or_else(|| held.next())?;
        if wait.is_any() {
            return Some((true, wait.on().collect()));
        }
        self.nearest(wait.on()).map(|(_, nearest)| (false, alloc::vec![nearest]))
    }
}

fn waits<O: Ord + Copy>(arena: &Arena<O>, slot: OwnerSlot) -> impl Iterator<Item = &Wait> + Clone {
    arena.owner(slot).into_iter().flat_map(|owner| owner.waits.iter()).filter_map(|wait_slot| arena.wait(*wait_slot))
}
