//! The state of the whole group as a few words, and what each action makes of it.
//!
//! ```text
//! word 0      what is left of the fault budgets
//! word 1      the instant, where time counts
//! next n      the local state of each node
//! 1 more      the latest view, where the group has views
//! some more   what properties about the past remember, where they are judged
//! the rest    the messages under way: sorted, or by links in the order of sending where links keep it
//! ```
//!
//! The fingerprint of a state is the sum of those of its words, each from its content and its place. So a transition's
//! fingerprint is found by adding what it changes, without building the state.

use crate::action::{Action, MOST_NODES};
use crate::budgets::{Budgets, Price};
use crate::content::mix;
use crate::deaths::Deaths;
use crate::membership::Views;
use crate::tables::{Deadline, MoveKind, NOTHING, Outcome, Tables};
use crate::users::{BoundedJudge, Judge};
use quorate_core::Time;

/// What properties about the past remember, and which they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The number of the property that requests are served in happened-before order.
    pub(crate) order: Option<u8>,
    /// The number of the property that fences grow.
    pub(crate) fences: Option<u8>,
    /// The number of the property that there is one leader an epoch.
    pub(crate) results: Option<u8>,
}

/// The largest group of which the order of requests is remembered: one bit a node in each message.
pub(crate) const MOST_ORDERED: usize = 8;

/// What a property of states asks of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Criterion {
    /// That it holds by what the nodes show of themselves.
    Facets(Judge),
    /// That it holds by what the nodes show of themselves, within this bound.
    Bound(BoundedJudge, u64),
    /// That it holds by what the nodes show of themselves, if nothing need happen any more.
    AtEnds(Judge),
    /// That at most one node's term is not over.
    Terms,
}

/// The group with its network.
pub(crate) struct System {
    pub(crate) nodes: usize,
    pub(crate) fifo: bool,
    /// Whether time counts, and until when.
    pub(crate) until: Option<Time>,
    /// Whether it is bounded when messages arrive.
    pub(crate) dated: bool,
    pub(crate) views: Option<Views>,
    pub(crate) deaths: Deaths,
    /// Whether what a node has under way when it goes down may be lost.
    pub(crate) cut_short: bool,
    /// What all users must come to together.
    pub(crate) accord: Option<Judge>,
    pub(crate) memory: Option<Memory>,
    /// Properties of states, with their numbers.
    pub(crate) judges: Vec<(u8, Criterion)>,
    /// The properties that steps may break, one bit each; others are not looked at.
    pub(crate) watched: u32,
    pub(crate) tables: Tables,
}

pub(crate) const LOCALS: usize = 2;
/// The part of a message's word that is its number; the rest is what its sender knew of requests under way.
const NUMBER: u32 = 0x00ff_ffff;

/// The number of the message that a word stands for.
#[inline]
pub(crate) fn envelope_of(word: u32) -> u32 {
    word & NUMBER
}

fn tag_of(word: u32) -> u32 {
    word >> 24
}

impl System {
    /// Where the messages under way begin.
    #[inline]
    pub(crate) fn body(&self, state: &[u32]) -> usize {
        self.memory_at() + self.memory_len(state)
    }

    /// Whether the fingerprint of a successor is the old one and what the outcome adds.
    #[inline]
    pub(crate) fn is_additive(&self) -> bool {
        !self.fifo && self.memory.is_none()
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
        match tag_of(word) {
            0 => fingerprint,
            tag => mix(fingerprint ^ u64::from(tag)),
        }
    }

    pub(crate) fn fingerprint(&self, state: &[u32]) -> u64 {
        let body = self.body(state);
        let mut sum = Self::budgets_fingerprint(state[0]).wrapping_add(self.time_fingerprint(state[1]));
        for local in &state[LOCALS..LOCALS + self.nodes] {
            sum = sum.wrapping_add(self.tables.local_details[*local as usize].fingerprint);
        }
        for (place, word) in state[LOCALS + self.nodes..body].iter().enumerate() {
            sum = sum.wrapping_add(mix(u64::from(*word) | (place as u64 + 1) << 48));
        }
        let mut link = None;
        let mut position = 0;
        for word in &state[body..] {
            let fingerprint = self.word_fingerprint(*word);
            if self.fifo {
                position = if link == Some(self.link(*word)) { position + 1 } else { 0 };
                link = Some(self.link(*word));
                sum = sum.wrapping_add(mix(fingerprint ^ position));
            } else {
                sum = sum.wrapping_add(fingerprint);
            }
        }
        sum
    }

    #[inline]
    pub(crate) fn link(&self, word: u32) -> (u8, u8) {
        let envelope = &self.tables.envelopes[envelope_of(word) as usize];
        (envelope.from, envelope.to)
    }

    /// The numbers of the properties of states that a state breaks.
    pub(crate) fn broken(&self, state: &[u32]) -> impl Iterator<Item = u8> + '_ {
        let facets = self.facets(state);
        let is_contested = self.judges_terms() && self.terms(state) > 1;
        let holds = move |criterion: &Criterion| match criterion {
            Criterion::Facets(judge) => judge(&facets[..self.nodes]),
            Criterion::Bound(judge, bound) => judge(&facets[..self.nodes], *bound),
            Criterion::AtEnds(_) => true,
            Criterion::Terms => !is_contested,
        };
        self.judges.iter().filter(move |(_, criterion)| !holds(criterion)).map(|(number, _)| *number)
    }

    /// The properties that a state breaks in which nothing need happen any more, one bit each.
    pub(crate) fn broken_at_end(&self, state: &[u32]) -> u32 {
        let judges = self.judges.iter().filter_map(|(number, criterion)| match criterion {
            Criterion::AtEnds(judge) => Some((*number, judge)),
            Criterion::Facets(_) | Criterion::Bound(..) | Criterion::Terms => None,
        });
        judges.fold(0, |broken, (number, judge)| {
            let holds = judge(&self.facets(state)[..self.nodes]);
            if holds { broken } else { broken | 1 << number }
        })
    }

    fn facets(&self, state: &[u32]) -> [u64; MOST_NODES] {
        let mut facets = [0; MOST_NODES];
        for (facet, local) in facets.iter_mut().zip(&state[LOCALS..LOCALS + self.nodes]) {
            *facet = self.tables.local_details[*local as usize].facet;
        }
        facets
    }

    fn judges_terms(&self) -> bool {
        self.judges.iter().any(|(_, criterion)| matches!(criterion, Criterion::Terms))
    }

    fn terms(&self, state: &[u32]) -> usize {
        let now = self.tables.instants[state[1] as usize];
        state[LOCALS..LOCALS + self.nodes].iter().filter(|local| self.term(**local) > now).count()
    }

    /// The true instant at which the term of a local state's user is over.
    fn term(&self, local: u32) -> Time {
        self.tables.local_details[local as usize].term
    }

    /// Whether there is something that all users must come to together, and it does not hold.
    #[inline]
    pub(crate) fn is_astray(&self, state: &[u32]) -> bool {
        self.accord.is_some_and(|accord| !accord(&self.facets(state)[..self.nodes]))
    }

    /// The last instants of terms that are not over and that properties care for. Only there may the next one begin too early.
    pub(crate) fn last_instants<'a>(&'a self, state: &'a [u32]) -> impl Iterator<Item = Time> + 'a {
        let judged = self.judges_terms();
        let locals = state[LOCALS..LOCALS + self.nodes].iter().filter(move |_| judged);
        locals.map(|local| Time::from_nanos(self.term(*local).nanos().saturating_sub(1)))
    }

    /// Appends the words of the state that an action leads to. Tells which properties about the past that
    /// breaks, one bit each.
    pub(crate) fn succeed(&self, state: &[u32], action: Action, outcome: u32, out: &mut Vec<u32>) -> u32 {
        let start = out.len();
        let body = self.body(state);
        if let Action::Deliver(place) | Action::Lose(place) = action {
            out.extend_from_slice(&state[..body + place]);
            out.extend_from_slice(&state[body + place + 1..]);
        } else {
            out.extend_from_slice(state);
        }
        match action {
            Action::Deliver(place) => {
                let word = state[body + place];
                let node = usize::from(self.link(word).1);
                if outcome == NOTHING { 0 } else { self.apply(node, tag_of(word), outcome, out, start) }
            }
            Action::Own { node, index } => {
                let local = state[LOCALS + node];
                let number = self.tables.locals[local as usize].first_move as usize + index;
                let kind = self.tables.moves[number].kind;
                if let Some(price) = self.price(kind, node, state) {
                    pay(price, &mut out[start]);
                }
                let broken = self.apply(node, 0, outcome, out, start);
                self.pass_the_word(kind, node, out, start);
                broken
            }
            Action::Lose(place) => {
                if !self.is_cut_short(state[body + place], state) {
                    let budgets = Budgets::unpack(state[0]);
                    out[start] = Budgets { losses: budgets.losses.saturating_sub(1), ..budgets }.pack();
                }
                0
            }
            Action::Duplicate(place) => {
                let word = out[start + body + place];
                out.insert(start + body + place, word);
                let budgets = Budgets::unpack(state[0]);
                out[start] = Budgets { duplicates: budgets.duplicates.saturating_sub(1), ..budgets }.pack();
                0
            }
            Action::Advance => {
                out[start + 1] = outcome;
                0
            }
            Action::Remove(node) => {
                if let Some((removal, _)) = self.removal(node, state) {
                    pay(removal.price(), &mut out[start]);
                }
                self.announce(outcome, out, start);
                0
            }
        }
    }

    /// Whether a message may be lost because its sender went down before it was all sent.
    #[inline]
    pub(crate) fn is_cut_short(&self, word: u32, state: &[u32]) -> bool {
        self.cut_short && !self.is_news(word) && !self.is_up(usize::from(self.link(word).0), state)
    }

    /// Whether a message under way to a node that is up may still be lost so.
    pub(crate) fn may_cut_short(&self, state: &[u32]) -> bool {
        let is_open =
            |word: &u32| self.is_cut_short(*word, state) && self.is_up(usize::from(self.link(*word).1), state);
        self.cut_short && state[self.body(state)..].iter().any(is_open)
    }

    #[inline]
    pub(crate) fn is_up(&self, node: usize, state: &[u32]) -> bool {
        self.tables.locals[state[LOCALS + node] as usize].up
    }

    #[inline]
    pub(crate) fn is_ready(&self, number: u32, instant: u32) -> bool {
        self.until.is_none()
            || self.tables.move_details[number as usize].ready <= self.tables.instants[instant as usize]
    }

    /// When a message may and must arrive, where that is bounded.
    #[inline]
    pub(crate) fn due(&self, word: u32) -> Option<Deadline> {
        if self.dated { self.tables.postmarks[envelope_of(word) as usize].due } else { None }
    }

    /// Whether a message has been under way for long enough to arrive. Of a link that keeps the order the first one has, if any has:
    /// all take at least as long.
    #[inline]
    pub(crate) fn may_arrive(&self, word: u32, instant: u32) -> bool {
        self.due(word).is_none_or(|due| due.earliest <= self.tables.instants[instant as usize])
    }

    /// Whether a move is a timer that fires although messages are under way.
    #[inline]
    pub(crate) fn is_hasty(&self, kind: MoveKind, state: &[u32]) -> bool {
        kind == MoveKind::Timer && self.until.is_none() && state.len() > self.body(state)
    }

    /// What a move of a node takes of the budgets; nothing at all if it cannot be made in this state.
    pub(crate) fn price(&self, kind: MoveKind, node: usize, state: &[u32]) -> Option<Price> {
        let is_leased = || self.tables.locals[state[LOCALS + node] as usize].leased;
        Some(match kind {
            MoveKind::Command | MoveKind::Sync => Price::Nothing,
            MoveKind::Timer if self.is_hasty(kind, state) => Price::HastyTimer,
            MoveKind::Timer => Price::Nothing,
            // Of one whose lease has ended the group goes on without anyhow.
            MoveKind::Crash if self.is_member(node, state) && is_leased() => Price::CrashOfMember,
            MoveKind::Crash => Price::Crash,
            MoveKind::Restart => Price::Restart,
            MoveKind::LeaseEnds if self.is_member(node, state) => Price::Change,
            MoveKind::LeaseRenewed if self.is_member(node, state) => Price::Nothing,
            MoveKind::LeaseEnds | MoveKind::LeaseRenewed => return None,
        })
    }

    fn apply(&self, node: usize, tag: u32, outcome: u32, out: &mut Vec<u32>, start: usize) -> u32 {
        let Outcome { next, .. } = self.tables.outcomes[outcome as usize];
        let consequences = &self.tables.consequences[outcome as usize];
        out[start + LOCALS + node] = next;
        if let Some(memory) = self.memory {
            return self.remember(memory, node, tag, &consequences.beats, out, start);
        }
        for envelope in &*consequences.sends {
            self.send(*envelope, out, start);
        }
        0
    }

    /// Adds a message to the initial state.
    pub(crate) fn put_under_way(&self, envelope: u32, state: &mut Vec<u32>) {
        self.send(envelope, state, 0);
    }

    pub(crate) fn send(&self, word: u32, out: &mut Vec<u32>, start: usize) {
        let body = start + self.body(&out[start..]);
        let under_way = &out[body..];
        let place = if self.fifo {
            let link = self.link(word);
            under_way.partition_point(|other| self.link(*other) <= link)
        } else {
            under_way.partition_point(|other| *other < word)
        };
        out.insert(body + place, word);
    }
}

/// Pays, if there is enough.
fn pay(price: Price, budgets: &mut u32) {
    if let Some(left) = Budgets::unpack(*budgets).after(price) {
        *budgets = left.pack();
    }
}

impl System {
    /// Whether a property of states can tell the difference that an action makes.
    #[inline]
    pub(crate) fn can_be_seen(&self, action: Action, outcome: u32) -> bool {
        match action {
            Action::Deliver(_) | Action::Own { .. } => {
                outcome != NOTHING && self.tables.outcomes[outcome as usize].visible
            }
            Action::Lose(_) | Action::Duplicate(_) | Action::Advance | Action::Remove(_) => false,
        }
    }
}
