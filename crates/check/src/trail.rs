//! A path through the states, told in steps that do not depend on how states are encoded.

use crate::action::Action;
use crate::expand::{Candidate, Found, Learning, Lookup, Oracle, expand};
use crate::system::{LOCALS, System, envelope_of};
use crate::tables::NOTHING;
use quorate_core::Time;

/// One step of a counterexample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) act: Act,
    /// The true time at which it happens, where time counts.
    pub(crate) time: Time,
    /// The number of the node's local state after it, if it concerns a node.
    pub(crate) after: u32,
}

/// What happens in a step; messages and moves are told by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Deliver(u32),
    /// A message reaches a node that is down.
    Drop(u32),
    Own {
        node: usize,
        number: u32,
    },
    Lose(u32),
    Duplicate(u32),
    Advance,
}

/// Goes along the states.
pub(crate) struct Guide<'a> {
    pub(crate) lookup: Learning<'a>,
    found: Found,
}

impl<'a> Guide<'a> {
    pub(crate) fn new(system: &'a mut System, oracle: &'a mut dyn Oracle) -> Self {
        Self { lookup: Learning { system, oracle }, found: Found::default() }
    }

    /// Everything that can happen next.
    pub(crate) fn candidates(&mut self, state: &[u32]) -> &[Candidate] {
        let fingerprint = self.lookup.system().fingerprint(state);
        // Whoever can learn knows everything.
        let _ = expand(&mut self.lookup, state, fingerprint, 0, &mut self.found);
        &self.found.candidates
    }

    /// Takes a transition: the step that it is, and the state that it leads to.
    pub(crate) fn take(&mut self, state: &mut Vec<u32>, candidate: Candidate) -> Step {
        let action = Action::unpack(candidate.action);
        let system = self.lookup.system();
        let body = system.body(state);
        let word = |place: usize| state[body + place];
        let (act, concerned) = match action {
            Action::Deliver(place) => {
                let envelope = envelope_of(word(place));
                let act = if candidate.outcome == NOTHING { Act::Drop(envelope) } else { Act::Deliver(envelope) };
                (act, Some(usize::from(system.link(word(place)).1)))
            }
            Action::Own { node, index } => {
                let first = system.tables.locals[state[LOCALS + node] as usize].first_move;
                (Act::Own { node, number: first + index as u32 }, Some(node))
            }
            Action::Lose(place) => (Act::Lose(envelope_of(word(place))), None),
            Action::Duplicate(place) => (Act::Duplicate(envelope_of(word(place))), None),
            Action::Advance => (Act::Advance, None),
        };
        let mut next = Vec::new();
        system.succeed(state, action, candidate.outcome, &mut next);
        *state = next;
        let time = system.tables.instants[state[1] as usize];
        Step { act, time, after: concerned.map_or(NOTHING, |node| state[LOCALS + node]) }
    }

    /// Follows packed actions from a state to the one that they lead to.
    pub(crate) fn follow(&mut self, state: &mut Vec<u32>, actions: &[u16]) -> Vec<Step> {
        let mut steps = Vec::new();
        for action in actions {
            let found = self.candidates(state).iter().find(|candidate| candidate.action == *action).copied();
            let Some(candidate) = found else { break };
            steps.push(self.take(state, candidate));
        }
        steps
    }
}
