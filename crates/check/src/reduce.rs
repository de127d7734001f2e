//! Partial-order reduction: explores one order of steps that commute, instead of all of them.
//!
//! Steps of different nodes commute. So it is enough to follow the steps of one node, and to leave
//! the steps of the others for later, if
//!
//! - no other node can send that node anything before it acts. To find out, the search lets the
//!   others take all their steps while this node takes none, and remembers the answer;
//! - no property can see its steps;
//! - no fault budget is left, since any fault anywhere draws on it; no message of a crashed node
//!   may still be lost; no view is due; and time is not modelled;
//! - a step leads to a state that is still to be expanded. Otherwise all nodes are followed, so
//!   that a cycle cannot postpone a node forever.
//!
//! Messages to a node that is down always go first. Where no other node can go first, the search
//! soon stops looking for one.
//!
//! The reduced search still finds every deadlock and every violation of a property of states or of
//! the past, but perhaps not by a shortest path.

use crate::action::{Action, MAX_NODES};
use crate::budgets::Budgets;
use crate::content::mix;
use crate::expand::{Candidate, Lookup, Successors, Unknown, expand_node};
use crate::system::{LOCALS, System};
use crate::tables::{NONE, StepEvent};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Number of states of the other nodes to follow before the answer is assumed to be no.
const MAX_FOLLOWED: usize = 64;
/// Number of answers that one thread remembers.
const ANSWER_SLOTS: usize = 1 << 16;

/// How often looking for an independent node succeeded: where it rarely does, looking costs more
/// than it saves. Every sixty-fourth state is tried in any case, to notice a change. The statistics
/// count states, never time, so that the same check always skips the same states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReductionStats {
    pub(crate) tried: u64,
    pub(crate) succeeded: u64,
}

impl ReductionStats {
    pub(crate) fn is_worth_trying(self, fingerprint: u64) -> bool {
        const ENOUGH: u64 = 512;
        self.tried < ENOUGH || 2 * self.succeeded >= self.tried || fingerprint >> 32 & 63 == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        const MEMORY: u64 = 1 << 14;
        self.tried += other.tried;
        self.succeeded += other.succeeded;
        while self.tried > MEMORY {
            self.tried /= 2;
            self.succeeded /= 2;
        }
    }
}

/// The reducers of all threads, each with the answers it remembers.
#[derive(Default)]
pub(crate) struct Reducers {
    pool: Mutex<Vec<Reducer>>,
    /// The reducer of the thread that computes missing outcomes.
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

/// Finds nodes whose steps may be followed alone.
#[derive(Default)]
pub(crate) struct Reducer {
    /// Answers, each in the slot of its question; the lowest bit is the answer.
    answers: Vec<u64>,
    found: Successors,
    /// Attempts and successes since the last call.
    pub(crate) fresh: ReductionStats,
}

impl Reducer {
    /// Keeps only one node's actions if that is enough, and returns whether it did.
    pub(crate) fn reduce<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        so_far: ReductionStats,
        found: &mut Successors,
    ) -> Result<bool, Unknown> {
        let system = lookup.system();
        let budgets = Budgets::unpack(state[0]);
        let open = system.until.is_some() || budgets.any_faults() || budgets.early_timers > 0;
        if open || system.may_change_view(state) || system.may_cut_short(state) {
            return Ok(false);
        }
        let Some(node) = self.independent_node(lookup, state, fingerprint, so_far, found)? else { return Ok(false) };
        let system = lookup.system();
        found.candidates.retain(|candidate| actor(system, state, candidate.action) == node);
        // A violation is visible, so none of the remaining actions causes one.
        found.violations.clear();
        Ok(true)
    }

    fn independent_node<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        so_far: ReductionStats,
        found: &Successors,
    ) -> Result<Option<usize>, Unknown> {
        let system = lookup.system();
        let nodes = system.nodes;
        let down = |node: &usize| !system.tables.locals[state[LOCALS + node] as usize].up;
        let body = system.body(state);
        // A message to a node that is down is dropped and changes no node.
        let to_down = state[body..].iter().map(|word| usize::from(system.link(*word).1)).find(down);
        if to_down.is_some() || !so_far.is_worth_trying(fingerprint) {
            return Ok(to_down);
        }
        let sets = NodeSets::of(system, state, &found.candidates);
        let mut first = None;
        for node in (0..nodes).filter(|node| sets.may_be_independent(*node)) {
            self.fresh.tried += 1;
            if self.is_isolated(lookup, state, fingerprint, node)? {
                self.fresh.succeeded += 1;
                first = Some(node);
                break;
            }
        }
        Ok(first)
    }

    /// Whether no other node can send this node anything as long as it takes no step.
    fn is_isolated<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        node: usize,
    ) -> Result<bool, Unknown> {
        if self.answers.is_empty() {
            self.answers = vec![0; ANSWER_SLOTS];
        }
        let question = question(lookup.system(), state, fingerprint, node);
        let slot = (question >> 48) as usize % ANSWER_SLOTS;
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
                    let sends = candidate.outcome != NONE
                        && system.tables.outcomes[candidate.outcome as usize].receivers >> node & 1 == 1;
                    if sends || seen.len() >= MAX_FOLLOWED {
                        alone = false;
                        break 'follow;
                    }
                    let question = self::question(system, &state, candidate.fingerprint, node);
                    if seen.insert(question) {
                        let mut words = Vec::new();
                        system.apply_action(&state, Action::unpack(candidate.action), candidate.outcome, &mut words);
                        stack.push((words, candidate.fingerprint));
                    }
                }
            }
        }
        if alone {
            for question in seen {
                self.answers[(question >> 48) as usize % ANSWER_SLOTS] = question | 1;
            }
        } else {
            self.answers[slot] = question & !1;
        }
        Ok(alone)
    }
}

/// The actions of a state by node; one bit per node.
#[derive(Default)]
struct NodeSets {
    /// Nodes that can take any step.
    active: u16,
    /// Nodes with a message in flight to them.
    receiving: u16,
    /// Nodes with a step that a property can see.
    visible: u16,
    /// For each node, the nodes that its next steps may send to.
    sends: [u16; MAX_NODES],
}

impl NodeSets {
    fn of(system: &System, state: &[u32], candidates: &[Candidate]) -> Self {
        let mut sets = Self::default();
        for candidate in candidates {
            let node = actor(system, state, candidate.action);
            let action = Action::unpack(candidate.action);
            sets.active |= 1 << node;
            if matches!(action, Action::Deliver(_)) {
                sets.receiving |= 1 << node;
            }
            if candidate.outcome == NONE {
                continue;
            }
            let outcome = &system.tables.outcomes[candidate.outcome as usize];
            sets.sends[node] |= outcome.receivers;
            if outcome.visible || is_remembered(system, candidate.outcome) {
                sets.visible |= 1 << node;
            }
        }
        sets
    }

    /// Whether the node's steps may be followed alone, as far as one step shows.
    fn may_be_independent(&self, node: usize) -> bool {
        let bit = 1 << node;
        let others_send = (0..MAX_NODES).filter(|other| *other != node).any(|other| self.sends[other] & bit != 0);
        self.receiving & bit != 0 && self.visible & bit == 0 && self.active != bit && !others_send
    }
}

/// The node that an action belongs to, where there are no faults.
fn actor(system: &System, state: &[u32], action: u16) -> usize {
    match Action::unpack(action) {
        Action::Move { node, .. } => node,
        Action::Deliver(place) | Action::Lose(place) | Action::Duplicate(place) => {
            usize::from(system.link(state[system.body(state) + place]).1)
        }
        Action::Advance | Action::Remove(_) => system.nodes,
    }
}

/// Whether a property about the past remembers an outcome.
fn is_remembered(system: &System, outcome: u32) -> bool {
    system.memory.is_some()
        && outcome != NONE
        && system.tables.consequences[outcome as usize].events.iter().any(|event| matches!(event, StepEvent::Past(_)))
}

/// The fingerprint of a state without one node and the messages to it. These do not change while
/// the node takes no step, and the answer does not depend on them.
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
