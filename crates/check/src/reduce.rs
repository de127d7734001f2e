//! Partial-order reduction: explores one order of steps that commute, instead of all of them.
//!
//! Steps of different nodes commute. So it is enough to follow the steps of one node (an
//! independent node), and to leave the steps of the others for later, if
//!
//! - the node is isolated: no other node can send it anything before it acts. To find out, the
//!   search lets the others take all their steps, up to a limit, while this node takes none, and
//!   remembers the answer;
//! - no property can see the next steps of that node;
//! - no fault budget is left, since a fault at any node draws on it; no message of a crashed node
//!   may still be lost; no view may be decided; and time is not modelled;
//! - one of its steps leads to a state of the next level or, in a depth-first search, to a state
//!   that is not on the current path. Otherwise the search follows the steps of all nodes,
//!   because a cycle could postpone a node forever.
//!
//! For a node that is down, a message in flight to it and the last two conditions suffice: its
//! steps only drop such messages.
//! Where the search rarely finds a node whose steps may be followed alone, it soon looks only now
//! and then.
//!
//! The reduced search still finds each deadlock and each violated property of states, steps or the
//! past, but perhaps not by a shortest path.

use crate::action::{Action, MAX_NODES};
use crate::budgets::Budgets;
use crate::content::mix;
use crate::expand::{Candidate, Lookup, MissingOutcome, NO_BATCH, Successors, expand_node};
use crate::system::{BUDGETS, LOCALS, System};
use crate::tables::{NONE, StepEvent};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Maximum number of states of the other nodes to follow; beyond it, the node counts as not
/// isolated.
const MAX_FOLLOWED: usize = 64;
/// Maximum number of answers that one reducer remembers.
const ANSWER_SLOTS: usize = 1 << 16;

/// How often the search for an independent node succeeded. If fewer than half of at least
/// `MIN_TRIED` attempts succeeded, this search costs more than it saves. Only about every
/// sixty-fourth state is then tried, to notice a change. The statistics count attempts, one for
/// each node examined, and never time, so the same check always skips the same states.
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
        // Older attempts count less and less.
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
    /// Answers to questions whether a node is isolated, each in the slot of its question: the
    /// fingerprint of the question, with the answer as its lowest bit.
    answers: Vec<u64>,
    successors: Successors,
    /// Attempts and successes that the caller has not taken yet.
    pub(crate) new_stats: ReductionStats,
}

impl Reducer {
    /// Removes all candidates but those of one node, if it is enough to follow these. Returns
    /// whether it did.
    pub(crate) fn reduce<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        stats: ReductionStats,
        successors: &mut Successors,
    ) -> Result<bool, MissingOutcome> {
        let system = lookup.system();
        let budgets = Budgets::unpack(state[BUDGETS]);
        let has_time_or_faults = system.time_limit.is_some() || budgets.has_faults() || budgets.early_timers > 0;
        if has_time_or_faults || system.may_change_view(state) || system.has_interrupted_send(state) {
            return Ok(false);
        }
        let Some(node) = self.independent_node(lookup, state, fingerprint, stats, successors)? else {
            return Ok(false);
        };
        let system = lookup.system();
        successors.candidates.retain(|candidate| acting_node(system, state, candidate.action) == node);
        // A violation is visible, so none of the remaining actions causes one.
        successors.violations.clear();
        Ok(true)
    }

    /// Returns a node whose steps may be followed alone; `None` if there is none, or if the search
    /// for one is skipped.
    fn independent_node<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        stats: ReductionStats,
        successors: &Successors,
    ) -> Result<Option<usize>, MissingOutcome> {
        let system = lookup.system();
        let nodes = system.nodes;
        let is_down = |node: &usize| !system.tables.locals[state[LOCALS + node] as usize].is_up;
        let in_flight_start = system.in_flight_start(state);
        // A message to a node that is down is dropped and changes no node.
        let receiver_down = state[in_flight_start..].iter().map(|word| system.receiver(*word)).find(is_down);
        if receiver_down.is_some() || !stats.is_worth_trying(fingerprint) {
            return Ok(receiver_down);
        }
        let sets = NodeSets::from_candidates(system, state, &successors.candidates);
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

    /// Whether no other node can send this node anything as long as this node takes no step. Also
    /// false if the search for such a send reaches more than `MAX_FOLLOWED` states.
    fn is_isolated<L: Lookup>(
        &mut self,
        lookup: &mut L,
        state: &[u32],
        fingerprint: u64,
        node: usize,
    ) -> Result<bool, MissingOutcome> {
        if self.answers.is_empty() {
            self.answers = vec![0; ANSWER_SLOTS];
        }
        let question = question_fingerprint(lookup.system(), state, fingerprint, node);
        let slot = slot_of(question);
        if self.answers[slot] | 1 == question | 1 {
            return Ok(self.answers[slot] & 1 == 1);
        }
        let mut visited = HashSet::from([question]);
        let mut stack = vec![(state.to_vec(), fingerprint)];
        let mut is_isolated = true;
        'follow: while let Some((state, fingerprint)) = stack.pop() {
            for other in (0..lookup.system().nodes).filter(|other| *other != node) {
                expand_node(lookup, &state, fingerprint, NO_BATCH, other, &mut self.successors)?;
                let system = lookup.system();
                for candidate in &self.successors.candidates {
                    let sends_to_node = candidate.outcome != NONE
                        && system.tables.outcomes[candidate.outcome as usize].receivers >> node & 1 == 1;
                    if sends_to_node || visited.len() >= MAX_FOLLOWED {
                        is_isolated = false;
                        break 'follow;
                    }
                    let question = question_fingerprint(system, &state, candidate.fingerprint, node);
                    if visited.insert(question) {
                        let mut words = Vec::new();
                        system.apply_action(&state, Action::unpack(candidate.action), candidate.outcome, &mut words);
                        stack.push((words, candidate.fingerprint));
                    }
                }
            }
        }
        if is_isolated {
            for question in visited {
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

/// Sets of nodes by the next steps that they can take in a state; one bit per node.
#[derive(Default)]
struct NodeSets {
    /// Nodes that can take any step.
    active_nodes: u16,
    /// Nodes with a message in flight to them.
    receivers: u16,
    /// Nodes with a step that a property can see.
    visible_nodes: u16,
    /// For each node, the nodes that its next steps may send to.
    sends: [u16; MAX_NODES],
}

impl NodeSets {
    fn from_candidates(system: &System, state: &[u32], candidates: &[Candidate]) -> Self {
        let mut sets = Self::default();
        for candidate in candidates {
            let node = acting_node(system, state, candidate.action);
            let action = Action::unpack(candidate.action);
            sets.active_nodes |= 1 << node;
            if matches!(action, Action::Deliver(_)) {
                sets.receivers |= 1 << node;
            }
            if candidate.outcome == NONE {
                continue;
            }
            let outcome = &system.tables.outcomes[candidate.outcome as usize];
            sets.sends[node] |= outcome.receivers;
            if outcome.is_visible || is_remembered(system, candidate.outcome) {
                sets.visible_nodes |= 1 << node;
            }
        }
        sets
    }

    /// Whether the node's steps may be followed alone, judging only by the next step of each node.
    /// Only a node with a message to receive qualifies, and only if other nodes can act too: else
    /// there is nothing to leave out.
    fn may_be_independent(&self, node: usize) -> bool {
        let bit = 1 << node;
        let others_send = (0..MAX_NODES).filter(|other| *other != node).any(|other| self.sends[other] & bit != 0);
        self.receivers & bit != 0 && self.visible_nodes & bit == 0 && self.active_nodes != bit && !others_send
    }
}

/// Returns the node that moves, or the receiver of the action's message; the number of nodes if the
/// action has neither.
fn acting_node(system: &System, state: &[u32], action: u16) -> usize {
    match Action::unpack(action) {
        Action::Move { node, .. } => node,
        Action::Deliver(position) | Action::Lose(position) | Action::Duplicate(position) => {
            system.receiver(state[system.in_flight_start(state) + position])
        }
        Action::Advance | Action::Remove(_) => system.nodes,
    }
}

/// Whether an outcome has events that properties about the past remember.
fn is_remembered(system: &System, outcome: u32) -> bool {
    system.past_properties.is_some()
        && outcome != NONE
        && system.tables.consequences[outcome as usize].events.iter().any(|event| matches!(event, StepEvent::Past(_)))
}

/// Returns the fingerprint of the question whether a node is isolated. It covers the node's index
/// and the state without the node's local state and, if the fingerprint is a sum over the messages
/// in flight (`is_additive`), without the messages to the node. While the node takes no step, these
/// parts stay the same, and the answer does not depend on them.
fn question_fingerprint(system: &System, state: &[u32], fingerprint: u64, node: usize) -> u64 {
    let local_fingerprint = system.tables.local_details[state[LOCALS + node] as usize].fingerprint;
    let mut rest_fingerprint = fingerprint.wrapping_sub(local_fingerprint);
    if system.is_additive() {
        for word in &state[system.in_flight_start(state)..] {
            if system.receiver(*word) == node {
                rest_fingerprint = rest_fingerprint.wrapping_sub(system.word_fingerprint(*word));
            }
        }
    }
    mix(rest_fingerprint ^ mix(node as u64 + 1))
}
