//! Everything that can happen next in a state.

use crate::action::{Action, MOST_UNDER_WAY};
use crate::budgets::{Budgets, Price};
use crate::membership::{Removal, Roll};
use crate::system::{LOCALS, System, envelope_of};
use crate::tables::{MoveKind, NOTHING, Tables};
use quorate_core::Time;

/// A transition that was found. The state that it leads to is built only if its fingerprint is new.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) fingerprint: u64,
    /// What it does, by its number; `NOTHING` if it changes no node.
    pub(crate) outcome: u32,
    /// The place of the state it comes from in its batch.
    pub(crate) parent: u16,
    /// The packed action.
    pub(crate) action: u16,
}

/// What a search looks for in a state besides its successors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sight {
    /// Somebody waits, or all are astray.
    pub(crate) waits: bool,
    /// Something other than a fault can happen.
    pub(crate) possible: bool,
    /// Something must happen sooner or later.
    pub(crate) obliged: bool,
    /// If nothing must, the properties of ends that do not hold, one bit each.
    pub(crate) lacking: u32,
}

impl Sight {
    /// Nothing can happen, though somebody waits.
    pub(crate) fn is_deadlock(self) -> bool {
        self.waits && !self.possible
    }

    /// Nothing need ever happen, though somebody waits.
    pub(crate) fn is_end(self) -> bool {
        self.waits && !self.obliged
    }
}

/// Works out what inputs do to local states: it has the nodes themselves.
pub(crate) trait Oracle {
    fn deliver(&mut self, tables: &mut Tables, local: u32, envelope: u32, time: Time) -> u32;
    fn own(&mut self, tables: &mut Tables, local: u32, number: u32, time: Time) -> u32;
    /// Numbers a view, and what its nodes are told of it.
    fn view(&mut self, tables: &mut Tables, roll: Roll) -> u32;
    /// Whether a node had more moves to choose from than can be told apart.
    fn is_overrun(&self) -> bool;
}

pub(crate) trait Lookup {
    fn system(&self) -> &System;
    /// Nothing if it is not known.
    fn delivery(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32>;
    fn own(&mut self, local: u32, number: u32, instant: u32) -> Option<u32>;
    fn instant(&mut self, time: Time) -> Option<u32>;
    fn view(&mut self, roll: Roll) -> Option<u32>;
}

/// Looks up what is known, and learns nothing. Many threads may do so at once.
pub(crate) struct Known<'a>(pub(crate) &'a System);

impl Lookup for Known<'_> {
    #[inline]
    fn system(&self) -> &System {
        self.0
    }
    #[inline]
    fn delivery(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        self.0.tables.delivery(local, envelope, instant)
    }
    #[inline]
    fn own(&mut self, _local: u32, number: u32, instant: u32) -> Option<u32> {
        self.0.tables.own(number, instant)
    }
    fn instant(&mut self, time: Time) -> Option<u32> {
        self.0.tables.instant(time)
    }
    fn view(&mut self, roll: Roll) -> Option<u32> {
        self.0.tables.view(roll)
    }
}

/// Works out what is not known yet.
pub(crate) struct Learning<'a> {
    pub(crate) system: &'a mut System,
    pub(crate) oracle: &'a mut dyn Oracle,
}

impl Lookup for Learning<'_> {
    fn system(&self) -> &System {
        self.system
    }
    fn delivery(&mut self, local: u32, envelope: u32, instant: u32) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.delivery(local, envelope, instant).unwrap_or_else(|| {
            let time = tables.instants[instant as usize];
            let outcome = self.oracle.deliver(tables, local, envelope, time);
            tables.learn_delivery(local, envelope, instant, outcome);
            outcome
        }))
    }
    fn own(&mut self, local: u32, number: u32, instant: u32) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.own(number, instant).unwrap_or_else(|| {
            let time = tables.instants[instant as usize];
            let outcome = self.oracle.own(tables, local, number, time);
            tables.learn_own(number, instant, outcome);
            outcome
        }))
    }
    fn instant(&mut self, time: Time) -> Option<u32> {
        Some(self.system.tables.learn_instant(time))
    }
    fn view(&mut self, roll: Roll) -> Option<u32> {
        let tables = &mut self.system.tables;
        Some(tables.view(roll).unwrap_or_else(|| self.oracle.view(tables, roll)))
    }
}

/// What the expansion of a state yields, kept from one state to the next to save allocations.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) candidates: Vec<Candidate>,
    /// Properties that transitions break, with the transitions' actions.
    pub(crate) breaches: Vec<(u8, u16)>,
    pub(crate) sight: Sight,
    /// More messages are under way than an action can tell apart.
    pub(crate) overflow: bool,
    words: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Unknown;

struct Expansion<'a, L> {
    lookup: &'a mut L,
    state: &'a [u32],
    budgets: Budgets,
    fingerprint: u64,
    parent: u16,
    found: &'a mut Found,
}

pub(crate) fn expand<L: Lookup>(
    lookup: &mut L,
    state: &[u32],
    fingerprint: u64,
    parent: u16,
    found: &mut Found,
) -> Result<(), Unknown> {
    found.candidates.clear();
    found.breaches.clear();
    found.sight = Sight::default();
    let nodes = lookup.system().nodes;
    found.sight.waits = lookup.system().is_astray(state);
    let mut expansion = Expansion { lookup, state, budgets: Budgets::unpack(state[0]), fingerprint, parent, found };
    for node in 0..nodes {
        expansion.own_moves(node)?;
    }
    expansion.deliveries(None)?;
    expansion.faults();
    expansion.removals()?;
    expansion.advance()?;
    if !found.sight.obliged {
        found.sight.lacking = lookup.system().broken_at_end(state);
    }
    Ok(())
}

/// Finds what one node can do next: what arrives there, and its own moves.
pub(crate) fn expand_node<L: Lookup>(
    lookup: &mut L,
    state: &[u32],
    fingerprint: u64,
    parent: u16,
    node: usize,
    found: &mut Found,
) -> Result<(), Unknown> {
    found.candidates.clear();
    found.breaches.clear();
    found.sight = Sight::default();
    let mut expansion = Expansion { lookup, state, budgets: Budgets::unpack(state[0]), fingerprint, parent, found };
    expansion.own_moves(node)?;
    expansion.deliveries(Some(node))
}

impl<L: Lookup> Expansion<'_, L> {
    fn own_moves(&mut self, node: usize) -> Result<(), Unknown> {
        let local = self.state[LOCALS + node];
        let instant = self.state[1];
        let system = self.lookup.system();
        let info = &system.tables.locals[local as usize];
        let budgets = self.budgets;
        let crashes = if budgets.crashes == 0 { info.crashes } else { 0 };
        let (first, count) = (info.first_move, info.moves.saturating_sub(crashes));
        self.found.sight.waits |= info.waits;
        for index in 0..u32::from(count) {
            let system = self.lookup.system();
            let offer = system.tables.moves[(first + index) as usize];
            let ready = offer.kind != MoveKind::Timer || system.is_ready(first + index, instant);
            let price = system.price(offer.kind, node, self.state).filter(|_| ready);
            self.found.sight.obliged |= offer.obliged;
            let Some((price, left)) = price.and_then(|price| Some((price, budgets.after(price)?))) else { continue };
            self.found.sight.possible |= !matches!(offer.kind, MoveKind::Crash | MoveKind::LeaseEnds);
            let outcome = self.lookup.own(local, first + index, instant).ok_or(Unknown)?;
            let action = Action::Own { node, index: index as usize };
            let spent = if price == Price::Nothing { self.state[0] } else { left.pack() };
            self.node_moves(action, outcome, spent, 0, self.lookup.system().is_told_of(offer.kind));
        }
        Ok(())
    }

    fn deliveries(&mut self, only: Option<usize>) -> Result<(), Unknown> {
        let body = self.lookup.system().body(self.state);
        let under_way = self.state.len() - body;
        if under_way >= MOST_UNDER_WAY {
            self.found.overflow = true;
            return Ok(());
        }
        for place in 0..under_way {
            let system = self.lookup.system();
            let word = self.state[body + place];
            if place > 0 {
                let before = self.state[body + place - 1];
                let same = if system.fifo { system.link(before) == system.link(word) } else { before == word };
                if same {
                    continue;
                }
            }
            let (_, to) = system.link(word);
            if only.is_some_and(|node| node != usize::from(to)) {
                continue;
            }
            self.found.sight.obliged = true;
            // Time goes on until it arrives.
            if !system.may_arrive(word, self.state[1]) {
                continue;
            }
            self.found.sight.possible = true;
            let local = self.state[LOCALS + usize::from(to)];
            let taken = system.word_fingerprint(word);
            let outcome = if system.tables.locals[local as usize].up {
                self.lookup.delivery(local, envelope_of(word), self.state[1]).ok_or(Unknown)?
            } else {
                NOTHING
            };
            self.node_moves(Action::Deliver(place), outcome, self.state[0], taken, false);
        }
        Ok(())
    }

    /// A node takes an input: what it does is known by its number. If others are told of it, more than that node changes.
    #[inline]
    fn node_moves(&mut self, action: Action, outcome: u32, budgets: u32, taken: u64, is_told: bool) {
        let system = self.lookup.system();
        let mut broken = 0;
        let fingerprint = if system.is_additive() && !is_told {
            let mut fingerprint = self.fingerprint.wrapping_sub(taken);
            if outcome != NOTHING {
                fingerprint = fingerprint.wrapping_add(system.tables.outcomes[outcome as usize].delta);
            }
            if budgets != self.state[0] {
                fingerprint = fingerprint
                    .wrapping_sub(System::budgets_fingerprint(self.state[0]))
                    .wrapping_add(System::budgets_fingerprint(budgets));
            }
            fingerprint
        } else {
            self.found.words.clear();
            broken = system.succeed(self.state, action, outcome, &mut self.found.words);
            system.fingerprint(&self.found.words)
        };
        let own_breach = if outcome == NOTHING { None } else { system.tables.outcomes[outcome as usize].breach() };
        let packed = action.pack();
        broken |= own_breach.map_or(0, |property| 1 << property);
        broken &= system.watched;
        while broken != 0 {
            self.found.breaches.push((broken.trailing_zeros() as u8, packed));
            broken &= broken - 1;
        }
        self.found.candidates.push(Candidate { fingerprint, outcome, parent: self.parent, action: packed });
    }

    fn faults(&mut self) {
        let budgets = self.budgets;
        if budgets.losses == 0 && budgets.duplicates == 0 && !self.lookup.system().cut_short {
            return;
        }
        let body = self.lookup.system().body(self.state);
        for place in 0..self.state.len() - body {
            // The membership has ways of its own, on which nothing is lost.
            if self.lookup.system().is_news(self.state[body + place]) {
                continue;
            }
            let is_copy = place > 0 && self.state[body + place] == self.state[body + place - 1];
            if (budgets.losses > 0 && !is_copy) || self.may_be_cut_short(body + place, is_copy) {
                self.push(Action::Lose(place), NOTHING);
            }
            if is_copy {
                continue;
            }
            if budgets.duplicates > 0 {
                self.push(Action::Duplicate(place), NOTHING);
            }
        }
    }

    /// Whether the message at this place may be lost with its sender: where links keep the order, nothing that was sent after it arrives.
    /// One of several copies is enough.
    fn may_be_cut_short(&self, at: usize, is_copy: bool) -> bool {
        let (system, word) = (self.lookup.system(), self.state[at]);
        let is_last = || self.state.get(at + 1).is_none_or(|next| system.link(*next) != system.link(word));
        let counts =
            system.is_cut_short(word, self.state) && system.is_up(usize::from(system.link(word).1), self.state);
        counts && if system.fifo { is_last() } else { !is_copy }
    }

    /// Views that lack one more member.
    fn removals(&mut self) -> Result<(), Unknown> {
        if self.lookup.system().views.is_none() {
            return Ok(());
        }
        for node in 0..self.lookup.system().nodes {
            let Some((removal, roll)) = self.lookup.system().removal(node, self.state) else { continue };
            let due = removal == Removal::Due;
            self.found.sight.obliged |= due;
            self.found.sight.possible |= due;
            let view = self.lookup.view(roll).ok_or(Unknown)?;
            self.push(Action::Remove(node), view);
        }
        Ok(())
    }

    /// Something happens that no node takes as its input.
    fn push(&mut self, action: Action, outcome: u32) {
        let system = self.lookup.system();
        self.found.words.clear();
        system.succeed(self.state, action, outcome, &mut self.found.words);
        let fingerprint = system.fingerprint(&self.found.words);
        let action = action.pack();
        self.found.candidates.push(Candidate { fingerprint, outcome, parent: self.parent, action });
    }

    /// Time passes to the next end of the span of a timer or of a message's way, unless a timer must fire or a message must arrive first.
    /// Whoever is down gets its messages in time too, and they are lost on it.
    fn advance(&mut self) -> Result<(), Unknown> {
        let system = self.lookup.system();
        let Some(until) = system.until else { return Ok(()) };
        let now = system.tables.instants[self.state[1] as usize];
        let mut next = None;
        let locals = self.state[LOCALS..LOCALS + system.nodes].iter();
        let timers = locals.flat_map(|local| &*system.tables.local_details[*local as usize].deadlines).copied();
        let under_way = if system.dated { &self.state[system.body(self.state)..] } else { &[] };
        for deadline in timers.chain(under_way.iter().filter_map(|word| system.due(*word))) {
            if deadline.latest <= now {
                return Ok(());
            }
            let end = if deadline.earliest > now { deadline.earliest } else { deadline.latest };
            next = Some(next.map_or(end, |next: Time| next.min(end)));
        }
        let last_instants = system.last_instants(self.state).filter(|last| *last > now && *last <= until);
        let Some(next) = last_instants.chain(next).min() else { return Ok(()) };
        // Time goes on beyond the horizon too, though nobody looks.
        self.found.sight.obliged = true;
        self.found.sight.possible = true;
        if next > until {
            return Ok(());
        }
        let instant = self.lookup.instant(next).ok_or(Unknown)?;
        let system = self.lookup.system();
        let fingerprint = self
            .fingerprint
            .wrapping_sub(system.time_fingerprint(self.state[1]))
            .wrapping_add(system.time_fingerprint(instant));
        let action = Action::Advance.pack();
        self.found.candidates.push(Candidate { fingerprint, outcome: instant, parent: self.parent, action });
        Ok(())
    }
}
