//! Partial-order reduction: where it makes no difference who goes first, one goes first.
//!
//! What happens at different nodes commutes. So it is enough to follow what one node can do now, and to leave what the
//! others can do for later, if
//!
//! - nobody else can send that node anything before it acts: this is found out by letting the others do all they can
//!   while it stands still, and remembered;
//! - no property can see what it does;
//! - no fault budget is left, since faults anywhere draw on it, nothing that a dead node sent may still be lost, no view is due, and
//!   time does not count;
//! - it leads to a state that is still to be expanded: else all are followed, so that nobody is left out by runs that go
//!   in circles.
//!
//! What reaches a node that is down always goes first. Where nobody else can, nobody is looked for after a while.
//!
//! Every deadlock, and every breach of a property of states or of the past, is still found. It may be found by a path
//! that is longer than the shortest.

use crate::action::{Action, MOST_NODES};
use crate::budgets::Budgets;
use crate::content::mix;
use crate::expand::{Candidate, Found, Lookup, Unknown, expand_node};
use crate::system::{LOCALS, System};
use crate::tables::{Beat, NOTHING};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// How far the others are followed before the answer is taken for no.
const MOST_FOLLOWED: usize = 64;
/// How many answers one thread remembers.
const REMEMBERED: usize = 1 << 16;

/// Whether it pays to look for nodes that may go first: where they are rare, looking costs more than it saves. Every
/// sixty-fourth state is tried all the same, so that better times are noticed. States are counted, never time, so that
/// the same check always leaves out the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Yield {
    pub(crate) tried: u64,
    pub(crate) won: u64,
}

impl Yield {
    pub(crate) fn is_worth_trying(self, fingerprint: u64) -> bool {
        const ENOUGH: u64 = 512;
        self.tried < ENOUGH || 2 * self.won >= self.tried || fingerprint >> 32 & 63 == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        const MEMORY: u64 = 1 << 14;
        self.tried += other.tried;
        self.won += other.won;
        while self.tried > MEMORY {
            self.tried /= 2;
            self.won /= 2;
        }
    }
}

/// What each thread remembers of who can send what.
#[derive(Default)]
pub(crate) struct Reducers {
    pool: Mutex<Vec<Reducer>>,
    /// That of the thread that learns.
    pub(crate) own: Reducer,
}

impl Reducers {
    pub(crate) fn take(&self) -> Reducer {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&self, reducer: Option<Reducer>) {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).extend(reducer);
    }
}

/// Finds nodes that may go first.
#[derive(Default)]
pub(crate) struct Reducer {
    /// Answers, each in the slot of its question; the lowest bit is the answer.
    answers: Vec<u64>,
    found: Found,
    /// What came of trying since somebody last asked.
    pub(crate) fresh: Yield,
}

impl Reducer {
    /// Leaves only one node's actions of all that were found if that is enough, and tells whether it did.
    pub(crate) fn reduce<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        so_far: Yield,
        found: &mut Found,
    ) -> Result<bool, Unknown> {
        let system = lookup.system();
        let budgets = Budgets::unpack(state[0]);
        let open = system.until.is_some() || budgets.any_faults() || budgets.hasty_timers > 0;
        if open || system.awaits_view(state) || system.may_cut_short(state) {
            return Ok(false);
        }
        let Some(node) = self.who_goes_first(lookup, state, fingerprint, so_far, found)? else { return Ok(false) };
        let system = lookup.system();
        found.candidates.retain(|candidate| actor(system, state, candidate.action) == node);
        // A breach is seen, so it is none of what is left.
        found.breaches.clear();
        Ok(true)
    }

    fn who_goes_first<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        so_far: Yield,
        found: &Found,
    ) -> Result<Option<usize>, Unknown> {
        let system = lookup.system();
        let nodes = system.nodes;
        let down = |node: &usize| !system.tables.locals[state[LOCALS + node] as usize].up;
        let body = system.body(state);
        // Nothing that reaches a node that is down makes a difference to anybody.
        let to_down = state[body..].iter().map(|word| usize::from(system.link(*word).1)).find(down);
        if to_down.is_some() || !so_far.is_worth_trying(fingerprint) {
            return Ok(to_down);
        }
        let parts = Parts::of(system, state, &found.candidates);
        let mut first = None;
        for node in (0..nodes).filter(|node| parts.may_go_first(*node)) {
            self.fresh.tried += 1;
            if self.is_left_alone(lookup, state, fingerprint, node)? {
                self.fresh.won += 1;
                first = Some(node);
                break;
            }
        }
        Ok(first)
    }

    /// Whether nobody can send this node anything as long as it stands still.
    fn is_left_alone<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        node: usize,
    ) -> Result<bool, Unknown> {
        if self.answers.is_empty() {
            self.answers = vec![0; REMEMBERED];
        }
        let question = question(lookup.system(), state, fingerprint, node);
        let slot = (question >> 48) as usize % REMEMBERED;
        if self.answers[slot] | 1 == question | 1 {
            return Ok(self.answers[slot] & 1 == 1);
        }
        let mut seen = HashSet::from([question]);
        let mut stack = vec![(state.to_vec(), fingerprint)];
        let mut alone = true;
        'follow: while let Some((state, fingerprint)) = stack.pop() {
            for other in (0..lookup.system().nodes).filter(|other| *other != node) {
                expand_node(lookup, &state, fingerprint, 0, other, &mut self.found)?;
                let system = lookup.system();
                for candidate in &self.found.candidates {
                    let sends = candidate.outcome != NOTHING
                        && system.tables.outcomes[candidate.outcome as usize].receivers >> node & 1 == 1;
                    if sends || seen.len() >= MOST_FOLLOWED {
                        alone = false;
                        break 'follow;
                    }
                    let question = self::question(system, &state, candidate.fingerprint, node);
                    if seen.insert(question) {
                        let mut words = Vec::new();
                        system.succeed(&state, Action::unpack(candidate.action), candidate.outcome, &mut words);
                        stack.push((words, candidate.fingerprint));
                    }
                }
            }
        }
        if alone {
            for question in seen {
                self.answers[(question >> 48) as usize % REMEMBERED] = question | 1;
            }
        } else {
            self.answers[slot] = question & !1;
        }
        Ok(alone)
    }
}

/// What the nodes can do next, each its part; one bit a node.
#[derive(Default)]
struct Parts {
    /// Who can do anything.
    active: u16,
    /// To whom something is under way.
    expecting: u16,
    /// Who can do something that a property sees.
    seen: u16,
    /// To whom each can send something with its next step.
    sends: [u16; MOST_NODES],
}

impl Parts {
    fn of(system: &System, state: &[u32], candidates: &[Candidate]) -> Self {
        let mut parts = Self::default();
        for candidate in candidates {
            let node = actor(system, state, candidate.action);
            let action = Action::unpack(candidate.action);
            parts.active |= 1 << node;
            if matches!(action, Action::Deliver(_)) {
                parts.expecting |= 1 << node;
            }
            if candidate.outcome == NOTHING {
                continue;
            }
            let outcome = &system.tables.outcomes[candidate.outcome as usize];
            parts.sends[node] |= outcome.receivers;
            if outcome.visible || is_remembered(system, candidate.outcome) {
                parts.seen |= 1 << node;
            }
        }
        parts
    }

    /// Whether nothing speaks against following this node alone, as far as one step shows.
    fn may_go_first(&self, node: usize) -> bool {
        let bit = 1 << node;
        let others_send = (0..MOST_NODES).filter(|other| *other != node).any(|other| self.sends[other] & bit != 0);
        self.expecting & bit != 0 && self.seen & bit == 0 && self.active != bit && !others_send
    }
}

/// Whose action it is, where there are no faults.
fn actor(system: &System, state: &[u32], action: u16) -> usize {
    match Action::unpack(action) {
        Action::Own { node, .. } => node,
        Action::Deliver(place) | Action::Lose(place) | Action::Duplicate(place) => {
            usize::from(system.link(state[system.body(state) + place]).1)
        }
        Action::Advance | Action::Remove(_) => system.nodes,
    }
}

/// Whether a property about the past remembers what an action did.
fn is_remembered(system: &System, outcome: u32) -> bool {
    system.memory.is_some()
        && outcome != NOTHING
        && system.tables.consequences[outcome as usize].beats.iter().any(|beat| matches!(beat, Beat::Past(_)))
}

/// The fingerprint of a state without the one node and what is on its way to it: these do not change while it stands
/// still, and the answer does not depend on them.
fn question(system: &System, state: &[u32], fingerprint: u64, node: usize) -> u64 {
    let local = system.tables.local_details[state[LOCALS + node] as usize].fingerprint;
    let mut rest = fingerprint.wrapping_sub(local);
    if system.is_additive() {
        for word in &state[system.body(state)..] {
            if usize::from(system.link(*word).1) == node {
                rest = rest.wrapping_sub(system.word_fingerprint(*word));
            }
        }
    }
    mix(rest ^ mix(node as u64 + 1))
}
