//! The wait-for graph of a service that grants locks: it changes all the time, and before each wait it is asked whether that would close a
//! deadlock.
//!
//! Nodes are owners, sessions or transactions. An owner may have several needs at once, each of all or of any of some others, and goes on
//! when all are met. [`Graph`] answers by looking at everything; this one looks at what lies between the two ends of an edge.
//!
//! # How an answer is found
//!
//! A new edge from a waiter to somebody closes a cycle if there is a way back: from that one, along what it waits for, to the waiter.
//!
//! 1. If nobody waits for the waiter, or the other one waits for nobody, there is no way back. Most questions end here.
//! 2. All owners stand in an order in which whoever is waited for comes before those who wait for it. If the other one comes before the waiter
//!    already, every way from it leads further to the front, and none back.
//! 3. Otherwise the search goes both ways in turns, from the other one along what it waits for and from the waiter along who waits for it, and
//!    does not leave the stretch of the order between the two. If both sides meet, there is a way back. If one side is
//!    exhausted, there is none, and what that side saw moves to the other end of the stretch, which puts the order right again. So the
//!    smaller side decides what it costs: a session with a hundred thousand behind it may ask for a lock with a short queue
//!    at the price of the short queue (after Pearce and Kelly 2006, and Bender, Fineman, Gilbert and Tarjan 2016).
//! 4. A cycle is a deadlock if everyone in it waits for all. Where some wait for any of several, a cycle alone is none, and
//!    the part of the graph that the new need can reach is reduced (`verdict.rs`).
//!
//! # Why it is right
//!
//! Every edge is in the order or *loose*. Edges in the order lead to the front; a cycle would have to lead back somewhere, so there is none among
//! them. An edge that would be part of one is loose: it was let in because somebody on the cycle waits for any, or because the caller
//! wanted it so. While there are loose edges, a way back may use them, and steps 2 and 3 search all edges, both ways in turns, without
//! the order. Whenever something is removed, one of the loose edges is tried again.
//!
//! Without a way back to the waiter a new need closes nothing: whether those it names are stuck does not depend on the waiter, so it is at most stuck
//! behind a deadlock that was there before. That is not refused: it ends when a victim of that deadlock does.
//!
//! # Cost
//!
//! Steps 1 and 2 cost a look-up of each name, O(log n). Step 3 costs the edges of the smaller side. A reduction costs what the need can reach. Nothing is
//! recursive, so that a chain may be as long as there is memory.

mod arena;
mod few;
mod marks;
mod order;
pub mod queue;
mod search;
mod slab;
#[cfg(test)]
mod tests;
mod verdict;

use super::{Deadlock, Graph, Need, Shape};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use arena::{Arena, Seat, Ticket};
use core::ops::Bound;
use order::Order;
use search::{Outcome, Scope, Search};
use verdict::{Question, Verdict};

/// How many steps each side takes to get a loose edge into the order when something is removed.
const STEPS_TO_SETTLE: usize = 64;

/// Who waits for whom, kept so that "would this close a deadlock?" is answered at once.
#[derive(Clone, Debug)]
pub struct WaitForGraph<O> {
    arena: Arena<O>,
    order: Order,
    loose: BTreeSet<(Ticket, Seat)>,
    /// The loose edge that was tried last.
    tried: (Ticket, Seat),
    search: Search,
    verdict: Verdict,
}

/// One need of one owner, from when it waits until that is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitId {
    ticket: Ticket,
    serial: u64,
}

/// What an owner asks for, with the seats of those who have one.
struct Asked<O> {
    waiter: (O, Option<Seat>),
    on: Vec<(O, Option<Seat>)>,
    is_of_any: bool,
}

impl<O> Default for WaitForGraph<O> {
    fn default() -> Self {
        Self {
            arena: Arena::default(),
            order: Order::default(),
            loose: BTreeSet::new(),
            tried: (Ticket(0), Seat(0)),
            search: Search::default(),
            verdict: Verdict::default(),
        }
    }
}

impl<O: Ord + Copy> WaitForGraph<O> {
    /// Nobody waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more need of an owner. What would close a deadlock is refused, and nothing has changed then.
    pub fn wait(&mut self, waiter: O, need: Need<O>) -> Result<WaitId, Deadlock<O>> {
        let asked = self.asked(waiter, &need);
        match self.closed_by(&asked) {
            Some(deadlock) => Err(deadlock),
            None => Ok(self.insert(asked)),
        }
    }

    /// One more need of an owner, whatever it closes. The caller picks a victim of the deadlock that is told, and ends what it waits for.
    pub fn wait_anyway(&mut self, waiter: O, need: Need<O>) -> (WaitId, Option<Deadlock<O>>) {
        let asked = self.asked(waiter, &need);
        let deadlock = self.closed_by(&asked);
        (self.insert(asked), deadlock)
    }

    /// The deadlock that a need would close. Nothing changes but the order, which spares a wait that follows the search.
    pub fn would_deadlock(&mut self, waiter: O, need: &Need<O>) -> Option<Deadlock<O>> {
        let asked = self.asked(waiter, need);
        self.closed_by(&asked)
    }

    /// The deadlock that an owner is part of, because of waits that were let in all the same, or because a need of any lost those who
    /// would have met it.
    pub fn deadlock_of(&mut self, owner: O) -> Option<Deadlock<O>> {
        let seat = self.arena.seat(owner)?;
        // Without loose edges there is no cycle.
        if self.loose.is_empty() {
            return None;
        }
        let waits = self.arena.owner(seat)?.waits.to_vec();
        waits.into_iter().find_map(|ticket| self.deadlock_by(ticket))
    }

    /// A wait is over: what it was for is granted, or it was given up. Whether it was there.
    pub fn end(&mut self, wait: WaitId) -> bool {
        let Some(ticket) = self.ticket(wait) else { return false };
        self.remove(ticket);
        self.settle();
        true
    }

    /// A wait is for one more: another reader was let in before a writer, another one took a permit. Refused, and nothing changed, if that
    /// would close a deadlock; a need of any that has others already is met the sooner and closes none. A wait that is over is left alone.
    pub fn also(&mut self, wait: WaitId, owner: O) -> Result<(), Deadlock<O>> {
        match self.closed_by_also(wait, owner) {
            Some(deadlock) => Err(deadlock),
            None => {
                self.add(wait, owner);
                Ok(())
            }
        }
    }

    /// The same, whatever it closes.
    pub fn also_anyway(&mut self, wait: WaitId, owner: O) -> Option<Deadlock<O>> {
        let deadlock = self.closed_by_also(wait, owner);
        self.add(wait, owner);
        deadlock
    }

    /// A wait is for one less, who has let go of what it held. A need of all comes nearer to its end. A need of any that goes on all the same,
    /// since another one took the permit, may be a deadlock with those who are left: say first who took it, with [`Self::also`]. A wait for
    /// nobody is met, and stays until it is ended.
    pub fn let_go(&mut self, wait: WaitId, owner: O) -> Option<Deadlock<O>> {
        let ticket = self.ticket(wait)?;
        let on = self.arena.seat(owner)?;
        let place = self.arena.place_of(ticket, on)?;
        self.unlink(ticket, place);
        self.settle();
        if self.loose.is_empty() { None } else { self.deadlock_by(ticket) }
    }

    /// An owner is gone, with its waits and all edges to it. The waits that named it are told: those for nobody are met now, and those for any
    /// of some others may be part of a deadlock ([`Self::deadlock_of`]) unless they are met as well.
    pub fn forget(&mut self, owner: O) -> Vec<WaitId> {
        let mut touched = Vec::new();
        let Some(seat) = self.arena.seat(owner) else { return touched };
        while let Some(ticket) = self.arena.owner(seat).and_then(|owner| owner.waits.last()).copied() {
            self.remove(ticket);
        }
        while let Some(link) = self.arena.owner(seat).and_then(|owner| owner.waited_by.last()).copied() {
            touched.extend(self.arena.wait(link.wait).map(|wait| WaitId { ticket: link.wait, serial: wait.serial }));
            self.unlink(link.wait, link.place());
        }
        self.settle();
        touched.sort_unstable();
        touched
    }

    /// Who waits for an owner, once for each wait that names it.
    pub fn waiters_of(&self, owner: O) -> impl Iterator<Item = (WaitId, O)> {
        let links = self.arena.seat(owner).and_then(|seat| self.arena.owner(seat)).into_iter();
        links.flat_map(|owner| owner.waited_by.iter()).filter_map(|link| {
            let wait = self.arena.wait(link.wait)?;
            Some((WaitId { ticket: link.wait, serial: wait.serial }, self.arena.owner(wait.waiter)?.owner))
        })
    }

    /// What a wait is for, if it is not over.
    pub fn need(&self, wait: WaitId) -> Option<Need<O>> {
        Some(self.arena.need(self.arena.wait(self.ticket(wait)?)?))
    }

    /// Whose wait it is, if it is not over.
    pub fn waiter(&self, wait: WaitId) -> Option<O> {
        Some(self.arena.owner(self.arena.wait(self.ticket(wait)?)?.waiter)?.owner)
    }

    /// How many waits there are.
    pub fn len(&self) -> usize {
        self.arena.wait_count()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many owners wait or are waited for.
    pub fn owners(&self) -> usize {
        self.arena.owner_count()
    }

    /// How many edges there are: those whom each wait names, taken together.
    pub fn edges(&self) -> usize {
        self.arena.edge_count()
    }

    /// How many of the edges are kept outside the order, since they are on a cycle or were when they came. While there are any, a question
    /// whose answer is not plain costs more.
    pub fn loose_edges(&self) -> usize {
        self.loose.len()
    }

    /// The graph as it is, to be searched as a whole.
    pub fn snapshot(&self) -> Graph<O> {
        let mut graph = Graph::new();
        for (owner, waits) in self.arena.owners() {
            for wait in waits.waits.iter().filter_map(|ticket| self.arena.wait(*ticket)) {
                graph.wait(owner, self.arena.need(wait));
            }
        }
        graph
    }

    fn ticket(&self, wait: WaitId) -> Option<Ticket> {
        self.arena.wait(wait.ticket).filter(|kept| kept.serial == wait.serial).map(|_| wait.ticket)
    }

    /// Whether a need is part of a deadlock. The graph may or may not have it yet.
    fn judge(&mut self, question: Question<'_>) -> Option<Deadlock<O>> {
        let mut has_way_back = question.any;
        for on in question.on {
            let way = self.way_back(question.waiter, *on);
            if question.any && way.is_none() {
                return None;
            }
            if let Some(way) = way.filter(|_| !question.any) {
                has_way_back = true;
                let cycle = self.verdict.cycle_among(&self.arena, question, &way);
                if cycle.is_some() {
                    return cycle;
                }
            }
        }
        if has_way_back { self.verdict.of(&self.arena, question) } else { None }
    }

    /// A way from somebody to the waiter, both included.
    fn way_back(&mut self, waiter: Seat, on: Seat) -> Option<Vec<Seat>> {
        if waiter != on && (self.arena.is_unwanted(waiter) || self.arena.is_running(on)) {
            return None;
        }
        let outcome = if self.loose.is_empty() {
            self.arrange(waiter, on, usize::MAX).err()?
        } else {
            self.search.run((&self.arena, &self.order), (on, waiter), Scope::Everything, usize::MAX)
        };
        match outcome {
            Outcome::Met(before, after) => Some(self.search.way((before, after))),
            Outcome::BeginningExhausted | Outcome::EndExhausted | Outcome::GaveUp => None,
        }
    }

    /// Sees to it that one comes before another who is to wait for it, unless there is a way back by edges of the order.
    fn arrange(&mut self, waiter: Seat, on: Seat, most_steps: usize) -> Result<(), Outcome> {
        if self.order.is_before(on, waiter) {
            return Ok(());
        }
        if waiter != on && self.arena.is_unwanted(waiter) {
            self.order.move_last(waiter);
            return Ok(());
        }
        if waiter != on && self.arena.is_running(on) {
            self.order.move_first(on);
            return Ok(());
        }
        match self.search.run((&self.arena, &self.order), (on, waiter), Scope::Between, most_steps) {
            Outcome::BeginningExhausted => {
                let seats = self.search.seen_ahead(&self.order);
                self.order.move_before(waiter, seats);
                Ok(())
            }
            Outcome::EndExhausted => {
                let seats = self.search.seen_behind(&self.order);
                self.order.move_after(on, seats);
                Ok(())
            }
            other @ (Outcome::Met(..) | Outcome::GaveUp) => Err(other),
        }
    }

    /// Looks up everyone whom a need names, each once.
    fn asked(&self, waiter: O, need: &Need<O>) -> Asked<O> {
        let mut on: Vec<(O, Option<Seat>)> = need.on().iter().map(|name| (*name, None)).collect();
        on.sort_unstable();
        on.dedup();
        for (name, seat) in &mut on {
            *seat = self.arena.seat(*name);
        }
        Asked { waiter: (waiter, self.arena.seat(waiter)), on, is_of_any: matches!(need, Need::Any(_)) }
    }

    fn closed_by(&mut self, asked: &Asked<O>) -> Option<Deadlock<O>> {
        let any = asked.is_of_any && asked.on.len() > 1;
        let (waiter, seat) = asked.waiter;
        if !any && asked.on.iter().any(|(name, _)| *name == waiter) {
            let waits = alloc::vec![(waiter, Need::All([waiter].into()))];
            return Some(Deadlock { shape: Shape::Cycle, waits });
        }
        let waiter = seat.filter(|seat| !self.arena.is_unwanted(*seat))?;
        let mut seats: Vec<Seat> = asked.on.iter().filter_map(|(_, seat)| *seat).collect();
        if any && seats.len() < asked.on.len() {
            return None;
        }
        seats.sort_unstable();
        self.judge(Question { waiter, on: &seats, any })
    }

    fn insert(&mut self, asked: Asked<O>) -> WaitId {
        let (name, seat) = asked.waiter;
        let waiter = seat.unwrap_or_else(|| {
            let seat = self.arena.sit(name);
            self.order.push_last(seat);
            seat
        });
        let ticket = self.arena.open(waiter, asked.is_of_any);
        for (owner, seat) in asked.on {
            // Who waits for itself has a seat by now.
            let seat = if owner == name { Some(waiter) } else { seat };
            self.link(ticket, waiter, (owner, seat));
        }
        WaitId { ticket, serial: self.arena.wait(ticket).map_or(0, |wait| wait.serial) }
    }

    fn link(&mut self, ticket: Ticket, waiter: Seat, (name, seat): (O, Option<Seat>)) {
        let on = seat.unwrap_or_else(|| {
            let seat = self.arena.sit(name);
            self.order.push_first(seat);
            seat
        });
        let loose = self.arrange(waiter, on, usize::MAX).is_err();
        self.arena.link(ticket, on, loose);
        if loose {
            self.loose.insert((ticket, on));
        }
    }

    fn unlink(&mut self, ticket: Ticket, place: usize) {
        let Some(edge) = self.arena.unlink(ticket, place) else { return };
        if edge.loose {
            self.loose.remove(&(ticket, edge.on));
        }
        self.clear(edge.on);
    }

    fn remove(&mut self, ticket: Ticket) {
        let Some(waiter) = self.arena.wait(ticket).map(|wait| wait.waiter) else { return };
        while let Some(last) = self.arena.wait(ticket).and_then(|wait| wait.edges.len().checked_sub(1)) {
            self.unlink(ticket, last);
        }
        self.arena.close(ticket);
        self.clear(waiter);
    }

    fn clear(&mut self, seat: Seat) {
        if self.arena.clear(seat) {
            self.order.remove(seat);
        }
    }

    /// Tries to get one of the loose edges into the order: what was removed may have been on its cycle.
    fn settle(&mut self) {
        let later = self.loose.range((Bound::Excluded(self.tried), Bound::Unbounded)).next();
        let Some((ticket, on)) = later.or_else(|| self.loose.first()).copied() else { return };
        self.tried = (ticket, on);
        let Some(waiter) = self.arena.wait(ticket).map(|wait| wait.waiter) else { return };
        // The edge itself is loose, so that it is neither searched nor in the way, but its ends are not unwanted or running.
        if self.arrange(waiter, on, STEPS_TO_SETTLE).is_ok() {
            self.arena.fasten(ticket, on);
            self.loose.remove(&(ticket, on));
        }
    }

    fn closed_by_also(&mut self, wait: WaitId, owner: O) -> Option<Deadlock<O>> {
        let kept = self.arena.wait(self.ticket(wait)?)?;
        if kept.is_of_any() && !kept.edges.is_empty() {
            return None;
        }
        let waiter = self.arena.owner(kept.waiter)?.owner;
        self.would_deadlock(waiter, &Need::All([owner].into()))
    }

    fn add(&mut self, wait: WaitId, owner: O) {
        let Some(ticket) = self.ticket(wait) else { return };
        let Some(waiter) = self.arena.wait(ticket).map(|wait| wait.waiter) else { return };
        let on = self.arena.seat(owner);
        if on.and_then(|on| self.arena.place_of(ticket, on)).is_none() {
            self.link(ticket, waiter, (owner, on));
        }
    }

    /// Whether a wait that is there is part of a deadlock.
    fn deadlock_by(&mut self, ticket: Ticket) -> Option<Deadlock<O>> {
        let wait = self.arena.wait(ticket)?;
        let (waiter, any) = (wait.waiter, wait.is_any());
        let mut seats: Vec<Seat> = wait.on().collect();
        seats.sort_unstable();
        self.judge(Question { waiter, on: &seats, any })
    }
}
