//! A way back was found: is it a deadlock, and who is in it?
//!
//! Asked is whether there are some who are stuck because of each other, the waiter and its new need among them. If everyone on the way back
//! waits for all, they are. Otherwise it is decided on the part of the graph that can be reached from the new need, by taking away whoever
//! does not belong to such a set, until nobody more goes:
//!
//! - who has no need that holds it: a need of all holds while one of those it names is left, a need of any while all of them are;
//! - who cannot reach the waiter along needs that hold. If it is stuck, then because of others, whose deadlock is not the waiter's doing
//!   and is broken by the end of one of them.
//!
//! What is left is the largest such set, and if the waiter is not in it, there is none. In a graph in which nobody is stuck the second
//! rule takes nobody whom the first one would not have.

use super::arena::{Arena, Seat, Wait};
use super::marks::Marks;
use crate::deadlock::{Deadlock, Need, Shape};
use alloc::vec::Vec;

/// A need that is to be judged. Its owner's other needs do not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) waiter: Seat,
    /// Those it names, in order. One who has no seat is not stuck: a need of any that names one is not asked about.
    pub(super) on: &'a [Seat],
    pub(super) any: bool,
}

/// The judgement of one question, and the memory that the next one uses again.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    /// The number of each one who is looked at.
    numbers: Marks,
    members: Vec<Member>,
    /// Of each need, how many of those it names are left; none, if it does not hold.
    left: Vec<usize>,
    /// Steps to the waiter, where there is a way.
    reasons: Marks,
    told: Marks,
}

#[derive(Clone, Debug)]
struct Member {
    seat: Seat,
    is_in: bool,
    /// Where its needs begin, of which there are `holding` that hold.
    needs: usize,
    holding: usize,
}

impl Verdict {
    /// The cycle among these seats in which everyone waits for all, if there is one. It is a shortest one.
    pub(super) fn cycle_among<O: Ord + Copy>(
        &mut self,
        arena: &Arena<O>,
        question: Question<'_>,
        seats: &[Seat],
    ) -> Option<Deadlock<O>> {
        self.numbers.wipe();
        self.members.clear();
        self.left.clear();
        for seat in seats.iter().chain([&question.waiter]) {
            self.enter(arena, question, *seat);
        }
        self.cycle(arena, question)
    }

    /// Whether the need would be part of a deadlock: it, if so.
    pub(super) fn of<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.reach(arena, question);
        self.reduce(arena, question);
        loop {
            if !self.is_in(question.waiter) {
                return None;
            }
            self.find_reasons(arena, question, |_| true);
            if !self.drop_those_without_reason(arena, question) {
                break;
            }
        }
        if let Some(cycle) = self.cycle(arena, question) {
            return Some(cycle);
        }
        self.find_reasons(arena, question, |_| true);
        self.told(arena, question)
    }

    fn reach<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        self.numbers.wipe();
        self.members.clear();
        self.left.clear();
        self.enter(arena, question, question.waiter);
        for seat in question.on {
            self.enter(arena, question, *seat);
        }
        let mut next = 1;
        while let Some(seat) = self.members.get(next).map(|member| member.seat) {
            for on in waits(arena, seat).flat_map(Wait::on) {
                self.enter(arena, question, on);
            }
            next += 1;
        }
    }

    fn enter<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, seat: Seat) {
        if self.numbers.has(seat) {
            return;
        }
        self.numbers.set(seat, self.members.len() as u32);
        let needs = self.left.len();
        if seat == question.waiter {
            self.left.push(question.on.len());
        } else {
            self.left.extend(waits(arena, seat).map(|wait| wait.edges.len()));
        }
        let holding = self.left.iter().skip(needs).filter(|left| **left > 0).count();
        self.members.push(Member { seat, is_in: true, needs, holding });
    }

    fn member(&self, seat: Seat) -> Option<&Member> {
        self.members.get(self.numbers.get(seat)? as usize)
    }

    fn is_in(&self, seat: Seat) -> bool {
        self.member(seat).is_some_and(|member| member.is_in)
    }

    /// Takes away all whom no need holds, and all whom none holds then.
    fn reduce<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) {
        let free = |member: &Member| member.holding == 0;
        let gone = self.members.iter().filter(|member| free(member)).map(|member| member.seat).collect();
        self.take_away(arena, question, gone);
    }

    fn take_away<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>, mut gone: Vec<Seat>) {
        while let Some(seat) = gone.pop() {
            let number = self.numbers.get(seat);
            let Some(member) = number.and_then(|number| self.members.get_mut(number as usize)) else { continue };
            if !core::mem::replace(&mut member.is_in, false) {
                continue;
            }
            let links = arena.owner(seat).into_iter().flat_map(|owner| owner.waited_by.iter());
            for wait in links.filter_map(|link| arena.wait(link.wait)) {
                if wait.waiter != question.waiter && self.loses_one(wait.waiter, wait.place, wait.is_any()) {
                    gone.push(wait.waiter);
                }
            }
            if question.on.binary_search(&seat).is_ok() && self.loses_one(question.waiter, 0, question.any) {
                gone.push(question.waiter);
            }
        }
    }

    /// One of those whom a need names is gone. Whether nothing holds its waiter any more.
    fn loses_one(&mut self, waiter: Seat, place: usize, any: bool) -> bool {
        let number = self.numbers.get(waiter);
        let Some(member) = number.and_then(|number| self.members.get_mut(number as usize)) else { return false };
        let Some(left) = self.left.get_mut(member.needs + place).filter(|left| **left > 0) else { return false };
        *left = if any { 0 } else { *left - 1 };
        if *left > 0 {
            return false;
        }
        member.holding -= 1;
        member.holding == 0
    }

    /// Whether a need of one who is left holds.
    fn holds(&self, wait: &Wait) -> bool {
        let left = |member: &Member| self.left.get(member.needs + wait.place).is_some_and(|left| *left > 0);
        self.member(wait.waiter).is_some_and(|member| member.is_in && left(member))
    }

    /// How far everyone is from the waiter, along needs that hold and that `may_use` lets pass.
    fn find_reasons<O: Ord + Copy>(
        &mut self,
        arena: &Arena<O>,
        question: Question<'_>,
        may_use: impl Fn(&Wait) -> bool,
    ) {
        self.reasons.wipe();
        self.reasons.set(question.waiter, 0);
        let mut seen = alloc::vec![question.waiter];
        let mut next = 0;
        while let Some(seat) = seen.get(next).copied() {
            next += 1;
            let distance = self.reasons.get(seat).unwrap_or(0) + 1;
            let links = arena.owner(seat).into_iter().flat_map(|owner| owner.waited_by.iter());
            for wait in links.filter_map(|link| arena.wait(link.wait)) {
                if !self.reasons.has(wait.waiter) && self.holds(wait) && may_use(wait) {
                    self.reasons.set(wait.waiter, distance);
                    seen.push(wait.waiter);
                }
            }
        }
    }

    fn drop_those_without_reason<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> bool {
        let without = |member: &&Member| member.is_in && !self.reasons.has(member.seat);
        let gone: Vec<Seat> = self.members.iter().filter(without).map(|member| member.seat).collect();
        let some_are = !gone.is_empty();
        self.take_away(arena, question, gone);
        some_are
    }

    /// A shortest cycle through the waiter of those who are left, in which everyone waits for all.
    fn cycle<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        if question.any {
            return None;
        }
        self.find_reasons(arena, question, |wait| !wait.is_any());
        self.told(arena, question)
    }

    /// The one who is nearest to the waiter, if one of them can reach it.
    fn nearest(&self, on: impl Iterator<Item = Seat>) -> Option<(u32, Seat)> {
        on.filter(|seat| self.is_in(*seat)).filter_map(|seat| Some((self.reasons.get(seat)?, seat))).min()
    }

    /// Everyone in the deadlock with its reason. Each has one that brings it nearer to the waiter, so all are there because of each other.
    fn told<O: Ord + Copy>(&mut self, arena: &Arena<O>, question: Question<'_>) -> Option<Deadlock<O>> {
        self.told.wipe();
        self.told.set(question.waiter, 0);
        let mut seats = alloc::vec![question.waiter];
        let mut waits = Vec::new();
        let mut shape = Shape::Cycle;
        let mut next = 0;
        while let Some(seat) = seats.get(next).copied() {
            next += 1;
            let (any, on) = self.reason(arena, question, seat)?;
            if any {
                shape = Shape::Knot;
            }
            for seat in &on {
                if !self.told.has(*seat) {
                    self.told.set(*seat, 0);
                    seats.push(*seat);
                }
            }
            let on = on.into_iter().filter_map(|seat| Some(arena.owner(seat)?.owner)).collect();
            waits.push((arena.owner(seat)?.owner, if any { Need::Any(on) } else { Need::All(on) }));
        }
        if shape == Shape::Knot {
            waits.sort();
        }
        Some(Deadlock { shape, waits })
    }

    /// What holds somebody: whether any would do, and those it names who are in the deadlock.
    fn reason<O: Ord + Copy>(&self, arena: &Arena<O>, question: Question<'_>, seat: Seat) -> Option<(bool, Vec<Seat>)> {
        if seat == question.waiter {
            let (_, nearest) = self.nearest(question.on.iter().copied())?;
            let on = if question.any { question.on.to_vec() } else { alloc::vec![nearest] };
            return Some((question.any, on));
        }
        let distance = self.reasons.get(seat)?;
        let nearer = |wait: &&Wait| self.nearest(wait.on()).is_some_and(|(nearest, _)| nearest < distance);
        let mut held = waits(arena, seat).filter(|wait| self.holds(wait)).filter(nearer);
        let wait = held.clone().find(|wait| !wait.is_any()).or_else(|| held.next())?;
        if wait.is_any() {
            return Some((true, wait.on().collect()));
        }
        self.nearest(wait.on()).map(|(_, nearest)| (false, alloc::vec![nearest]))
    }
}

fn waits<O: Ord + Copy>(arena: &Arena<O>, seat: Seat) -> impl Iterator<Item = &Wait> + Clone {
    arena.owner(seat).into_iter().flat_map(|owner| owner.waits.iter()).filter_map(|ticket| arena.wait(*ticket))
}
