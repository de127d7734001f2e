//! A path through the states, told in steps that do not depend on how states are encoded.

use crate::action::Action;
use crate::expand::{Candidate, Found, Learning, Lookup, Oracle, expand};
use crate::membership::Roll;
use crate::system::{LOCALS, System, envelope_of};
use crate::tables::{Beat, NOTHING, Past};
use quorate_core::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) act: Act,
    /// The true time at which it happens, where time counts.
    pub(crate) time: Time,
    /// The number of the node's local state after it, if it concerns a node.
    pub(crate) after: u32,
}

/// What happens in a step; moves are told by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Deliver(Letter),
    /// A message reaches a node that is down.
    Drop(Letter),
    Own {
        node: usize,
        number: u32,
    },
    Lose(Letter),
    Duplicate(Letter),
    Advance,
    Decide(Roll),
}

/// A message under way, of all those from its sender to its receiver that say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    /// What it says, by its number.
    pub(crate) envelope: u32,
    /// How many older ones there are.
    pub(crate) older: usize,
}

/// One message under way: which one it is, and its word in the state.
struct Sent {
    /// In the order of sending. Two copies of one message share it.
    serial: u64,
    word: u32,
}

/// Goes along the states.
///
/// Messages that say the same may know of different requests; then they are different words of the state, and a real
/// message must be told apart from them. So each one under way is followed from its sending on.
pub(crate) struct Guide<'a> {
    pub(crate) lookup: Learning<'a>,
    found: Found,
    post: Vec<Sent>,
    serials: u64,
}

impl<'a> Guide<'a> {
    pub(crate) fn new(system: &'a mut System, oracle: &'a mut dyn Oracle, state: &[u32]) -> Self {
        let lookup = Learning { system, oracle };
        let mut guide = Self { lookup, found: Found::default(), post: Vec::new(), serials: 0 };
        guide.file(state);
        guide
    }

    /// Everything that can happen next.
    pub(crate) fn candidates(&mut self, state: &[u32]) -> &[Candidate] {
        let fingerprint = self.lookup.system().fingerprint(state);
        // Whoever can learn knows everything.
        let _ = expand(&mut self.lookup, state, fingerprint, 0, &mut self.found);
        &self.found.candidates
    }

    /// The properties that the transitions last asked for break, each with the action.
    #[cfg(feature = "testing")]
    pub(crate) fn breaches(&self) -> &[(u8, u16)] {
        &self.found.breaches
    }

    /// Takes a transition: the step that it is, and the state that it leads to.
    pub(crate) fn take(&mut self, state: &mut Vec<u32>, candidate: Candidate) -> Step {
        let action = Action::unpack(candidate.action);
        let system = self.lookup.system();
        let body = system.body(state);
        let word = |place: usize| state[body + place];
        let (act, concerned) = match action {
            Action::Deliver(place) => {
                let letter = self.letter(word(place));
                let act = if candidate.outcome == NOTHING { Act::Drop(letter) } else { Act::Deliver(letter) };
                (act, Some(usize::from(system.link(word(place)).1)))
            }
            Action::Own { node, index } => {
                let first = system.tables.locals[state[LOCALS + node] as usize].first_move;
                (Act::Own { node, number: first + index as u32 }, Some(node))
            }
            Action::Lose(place) => (Act::Lose(self.letter(word(place))), None),
            Action::Duplicate(place) => (Act::Duplicate(self.letter(word(place))), None),
            Action::Advance => (Act::Advance, None),
            Action::Remove(_) => (Act::Decide(system.tables.views[candidate.outcome as usize].0), None),
        };
        let mut next = Vec::new();
        system.succeed(state, action, candidate.outcome, &mut next);
        match action {
            Action::Deliver(place) | Action::Lose(place) => self.unfile(word(place)),
            Action::Duplicate(place) => self.file_copy(word(place)),
            Action::Own { .. } | Action::Advance | Action::Remove(_) => {}
        }
        self.forget(candidate.outcome, concerned);
        *state = next;
        self.file(state);
        let time = self.lookup.system.tables.instants[state[1] as usize];
        Step { act, time, after: concerned.map_or(NOTHING, |node| state[LOCALS + node]) }
    }

    fn oldest(&self, word: u32) -> Option<usize> {
        let of_word = self.post.iter().enumerate().filter(|(_, sent)| sent.word == word);
        of_word.min_by_key(|(_, sent)| sent.serial).map(|(place, _)| place)
    }

    fn letter(&self, word: u32) -> Letter {
        let serial = self.oldest(word).map_or(0, |place| self.post[place].serial);
        let says = |word: u32| self.lookup.system().tables.postmarks[envelope_of(word) as usize].says;
        let envelope = says(word);
        let alike = self.post.iter().filter(|sent| says(sent.word) == envelope && sent.serial < serial);
        let mut serials: Vec<u64> = alike.map(|sent| sent.serial).collect();
        serials.sort_unstable();
        serials.dedup();
        Letter { envelope, older: serials.len() }
    }

    fn unfile(&mut self, word: u32) {
        if let Some(place) = self.oldest(word) {
            self.post.remove(place);
        }
    }

    fn file_copy(&mut self, word: u32) {
        if let Some(place) = self.oldest(word) {
            self.post.push(Sent { serial: self.post[place].serial, word });
        }
    }

    /// Requests that a step ended are no longer known to any message.
    fn forget(&mut self, outcome: u32, concerned: Option<usize>) {
        let system = &*self.lookup.system;
        let judged = system.memory.is_some_and(|memory| memory.order.is_some());
        let (Some(node), true) = (concerned, judged && outcome != NOTHING) else { return };
        let ends = |beat: &Beat| matches!(beat, Beat::Past(Past::Enters(..) | Past::Ends));
        if system.tables.consequences[outcome as usize].beats.iter().any(ends) {
            for sent in &mut self.post {
                sent.word &= !(1 << (24 + node));
            }
        }
    }

    /// Whatever else is under way now was sent just now.
    fn file(&mut self, state: &[u32]) {
        let system = &*self.lookup.system;
        let mut filed: Vec<u32> = self.post.iter().map(|sent| sent.word).collect();
        for word in &state[system.body(state)..] {
            if let Some(place) = filed.iter().position(|known| known == word) {
                filed.swap_remove(place);
            } else {
                self.serials += 1;
                self.post.push(Sent { serial: self.serials, word: *word });
            }
        }
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
