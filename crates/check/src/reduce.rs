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
use crate::system::{BUDGETS, LOCALS, System};
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
        const MIN_TRIED: u64 = 512;
        self.tried < MIN_TRIED || 2 * self.succeeded >= self.tried || fingerprint >> 32 & 63 == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        // Older states count less and less.
        const MAX_TRIED: u64 = 1 << 14;
        self.tried += other.tried;
        self.succeeded += other.succeeded;
        while self.tried > MAX_TRIED {
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
    pub(crate) main_thread: Reducer,
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
    /// Answers to questions whether a node is isolated, each in the slot of its question. An entry
    /// is the fingerprint of the question with the answer in its lowest bit.
    answers: Vec<u64>,
    found: Successors,
    /// Attempts and successes since the last call.
    pub(crate) new_stats: ReductionStats,
}

impl Reducer {
    /// Keeps only one node's actions if that is enough, and returns whether it did.
    pub(crate) fn reduce<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        stats: ReductionStats,
        found: &mut Successors,
    ) -> Result<bool, Unknown> {
        let system = lookup.system();
        let budgets = Budgets::unpack(state[BUDGETS]);
        let may_fault_or_wait = system.time_limit.is_some() || budgets.any_faults() || budgets.early_timers > 0;
        if may_fault_or_wait || system.may_change_view(state) || system.has_interrupted_send(state) {
            return Ok(false);
        }
        let Some(node) = self.independent_node(lookup, state, fingerprint, stats, found)? else { return Ok(false) };
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
        stats: ReductionStats,
        found: &Successors,
    ) -> Result<Option<usize>, Unknown> {
        let system = lookup.system();
        let nodes = system.nodes;
        let down = |node: &usize| !system.tables.locals[state[LOCALS + node] as usize].up;
        let in_flight_start = system.in_flight_start(state);
        // A message to a node that is down is dropped and changes no node.
        let receiver_down = state[in_flight_start..].iter().map(|word| system.receiver(*word)).find(down);
        if receiver_down.is_some() || !stats.is_worth_trying(fingerprint) {
            return Ok(receiver_down);
        }
        let sets = NodeSets::from_candidates(system, state, &found.candidates);
        let mut independent = None;
        for node in (0..nodes).filter(|node| sets.may_be_independent(*node)) {
            self.new_stats.tried += 1;
            if self.is_isolated(lookup, state, fingerprint, node)? {
                self.new_stats.succeeded += 1;
                independent = Some(node);
                break;
            }
        }
        Ok(independent)
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
        let slot = slot_of(question);
        if self.answers[slot] | 1 == question | 1 {
            return Ok(self.answers[slot] & 1 == 1);
        }
        let mut seen = HashSet::from([question]);
        let mut stack = vec![(state.to_vec(), fingerprint)];
        let mut is_isolated = true;
        'follow: while let Some((state, fingerprint)) = stack.pop() {
            for other in (0..lookup.system().nodes).filter(|other| *other != node) {
                expand_node(lookup, &state, fingerprint, 0, other, &mut self.found)?;
                let system = lookup.system();
                for candidate in &self.found.candidates {
                    let sends = candidate.outcome != NONE
                        && system.tables.outcomes[candidate.outcome as usize].receivers >> node & 1 == 1;
                    if sends || seen.len() >= MAX_FOLLOWED {
                        is_isolated = false;
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
        if is_isolated {
            for question in seen {
                self.answers[slot_of(question)] = question | 1;
            }
        } else {
            self.answers[slot] = question & !1;
        }
        Ok(is_isolated)
    }
}

/// The slot of a question's answer, chosen by its upper 16 bits.
fn slot_of(question: u64) -> usize {
    (question >> 48) as usize % ANSWER_SLOTS
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
    fn from_candidates(system: &System, state: &[u32], candidates: &[Candidate]) -> Self {
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

/// The node that an action belongs to, where there are no faults; the number of nodes if it belongs
/// to none.
fn actor(system: &System, state: &[u32], action: u16) -> usize {
    match Action::unpack(action) {
        Action::Move { node, .. } => node,
        Action::Deliver(position) | Action::Lose(position) | Action::Duplicate(position) => {
            system.receiver(state[system.in_flight_start(state) + position])
        }
        Action::Advance | Action::Remove(_) => system.nodes,
    }
}

/// Whether a property about the past remembers an outcome.
fn is_remembered(system: &System, outcome: u32) -> bool {
    system.past_properties.is_some()
        && outcome != NONE
        && system.tables.consequences[outcome as usize].events.iter().any(|event| matches!(event, StepEvent::Past(_)))
}

/// The fingerprint of the question whether a node is isolated: of the state without that node and
/// the messages to it. These do not change while the node takes no step, and the answer does not
/// depend on them.
fn question(system: &System, state: &[u32], fingerprint: u64, node: usize) -> u64 {
    let local = system.tables.local_details[state[LOCALS + node] as usize].fingerprint;
    let mut rest = fingerprint.wrapping_sub(local);
    if system.is_additive() {
        for word in &state[system.in_flight_start(state)..] {
            if system.receiver(*word) == node {
                rest = rest.wrapping_sub(system.word_fingerprint(*word));
            }
        }
    }
    mix(rest ^ mix(node as u64 + 1))
}
