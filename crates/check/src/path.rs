//! A path through the states, as steps that do not depend on how states are encoded.

use crate::action::Action;
use crate::expand::{Candidate, ComputingLookup, Lookup, NO_BATCH, Stepper, Successors, expand};
use crate::membership::PackedView;
use crate::system::{INSTANT, KNOWN_REQUESTS_SHIFT, LOCALS, System, envelope_of};
use crate::tables::{NONE, PastEvent, StepEvent};
use quorate_core::Time;

/// One transition of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// The true time of the step, where time is modelled.
    pub(crate) time: Time,
    /// The number of the local state, after the step, of the node that moves or that the message
    /// reaches; `NONE` for other steps.
    pub(crate) local_after: u32,
}

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    Deliver(MessageRef),
    /// A message reaches a node that is down, and is dropped.
    Drop(MessageRef),
    /// A node takes a step by itself: the move with this number in the tables, such as a command, a
    /// timer or a crash.
    Move {
        node: usize,
        number: u32,
    },
    Lose(MessageRef),
    Duplicate(MessageRef),
    /// Time advances.
    Advance,
    /// The membership service decides this view.
    Decide(PackedView),
}

/// A message in flight, identified among those with the same sender, receiver and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageRef {
    /// The number of the envelope in the tables. Where delays are bounded, this is the envelope
    /// with the same content and no delivery window.
    pub(crate) envelope: u32,
    /// How many older messages with the same sender, receiver and content are in flight; duplicates
    /// of one message count once.
    pub(crate) older_count: usize,
}

/// A message in flight: its identity, and its word in the state.
struct InFlight {
    /// In sending order. Two copies of one message share it.
    serial: u64,
    word: u32,
}

/// Follows a path through the states.
///
/// In the checker, the word of a message also contains the requests that its sender knew. So
/// messages with the same content can have different words. A replay with real nodes knows only
/// sender, receiver, content and sending order. So the guide tracks each message from when it is
/// sent.
pub(crate) struct PathGuide<'a> {
    pub(crate) lookup: ComputingLookup<'a>,
    successors: Successors,
    in_flight: Vec<InFlight>,
    last_serial: u64,
}

impl<'a> PathGuide<'a> {
    /// Creates a guide that starts in this state, which must be an initial one.
    pub(crate) fn new(system: &'a mut System, stepper: &'a mut dyn Stepper, initial_state: &[u32]) -> Self {
        let lookup = ComputingLookup { system, stepper };
        let mut guide = Self { lookup, successors: Successors::default(), in_flight: Vec::new(), last_serial: 0 };
        guide.track_sent(initial_state);
        guide
    }

    /// Finds all transitions of a state.
    pub(crate) fn candidates(&mut self, state: &[u32]) -> &[Candidate] {
        let fingerprint = self.lookup.system().fingerprint(state);
        // Computing missing outcomes never fails.
        let _ = expand(&mut self.lookup, state, fingerprint, NO_BATCH, &mut self.successors);
        &self.successors.candidates
    }

    /// The properties that are violated by transitions of the state that was expanded last, each
    /// with the packed action of its transition.
    #[cfg(feature = "testing")]
    pub(crate) fn violations(&self) -> &[(u8, u16)] {
        &self.successors.violations
    }

    /// Takes a transition: returns the step, and sets `state` to the successor.
    pub(crate) fn take_transition(&mut self, state: &mut Vec<u32>, candidate: Candidate) -> Step {
        let action = Action::unpack(candidate.action);
        let system = self.lookup.system();
        let in_flight_start = system.in_flight_start(state);
        let word = |position: usize| state[in_flight_start + position];
        let (kind, acting_node) = match action {
            Action::Deliver(position) => {
                let message = self.message_ref(word(position));
                let kind = if candidate.outcome == NONE { StepKind::Drop(message) } else { StepKind::Deliver(message) };
                (kind, Some(system.receiver(word(position))))
            }
            Action::Move { node, index } => {
                let first_move = system.tables.locals[state[LOCALS + node] as usize].first_move;
                (StepKind::Move { node, number: first_move + index as u32 }, Some(node))
            }
            Action::Lose(position) => (StepKind::Lose(self.message_ref(word(position))), None),
            Action::Duplicate(position) => (StepKind::Duplicate(self.message_ref(word(position))), None),
            Action::Advance => (StepKind::Advance, None),
            // A removal decides a view, and its outcome is the number of that view.
            Action::Remove(_) => (StepKind::Decide(system.tables.views[candidate.outcome as usize].0), None),
        };
        let mut next = Vec::new();
        system.apply_action(state, action, candidate.outcome, &mut next);
        match action {
            Action::Deliver(position) | Action::Lose(position) => self.untrack(word(position)),
            Action::Duplicate(position) => self.track_copy(word(position)),
            Action::Move { .. } | Action::Advance | Action::Remove(_) => {}
        }
        self.clear_ended_requests(candidate.outcome, acting_node);
        *state = next;
        self.track_sent(state);
        let time = self.lookup.system.tables.instants[state[INSTANT] as usize];
        Step { kind, time, local_after: acting_node.map_or(NONE, |node| state[LOCALS + node]) }
    }

    /// The index of the message in flight with this word that was sent first.
    fn oldest_index(&self, word: u32) -> Option<usize> {
        let with_word = self.in_flight.iter().enumerate().filter(|(_, sent)| sent.word == word);
        with_word.min_by_key(|(_, sent)| sent.serial).map(|(index, _)| index)
    }

    fn message_ref(&self, word: u32) -> MessageRef {
        let serial = self.oldest_index(word).map_or(0, |index| self.in_flight[index].serial);
        // A replay compares messages without delivery windows, so the guide does too.
        let undated_envelope =
            |word: u32| self.lookup.system().tables.timings[envelope_of(word) as usize].undated_envelope;
        let envelope = undated_envelope(word);
        let older =
            self.in_flight.iter().filter(|sent| undated_envelope(sent.word) == envelope && sent.serial < serial);
        let mut serials: Vec<u64> = older.map(|sent| sent.serial).collect();
        serials.sort_unstable();
        serials.dedup();
        MessageRef { envelope, older_count: serials.len() }
    }

    fn untrack(&mut self, word: u32) {
        if let Some(index) = self.oldest_index(word) {
            self.in_flight.remove(index);
        }
    }

    fn track_copy(&mut self, word: u32) {
        if let Some(index) = self.oldest_index(word) {
            self.in_flight.push(InFlight { serial: self.in_flight[index].serial, word });
        }
    }

    /// Clears the acting node's request from all tracked words if the step ended it, because
    /// `apply_action` clears it from the words of the state. Words contain requests only if the
    /// order of entries is judged.
    fn clear_ended_requests(&mut self, outcome: u32, acting_node: Option<usize>) {
        let system = &*self.lookup.system;
        let is_order_judged = system.past_properties.is_some_and(|properties| properties.order.is_some());
        let (Some(node), true) = (acting_node, is_order_judged && outcome != NONE) else { return };
        let ends_request =
            |event: &StepEvent| matches!(event, StepEvent::Past(PastEvent::Entered(..) | PastEvent::RequestEnded));
        if system.tables.consequences[outcome as usize].events.iter().any(ends_request) {
            for sent in &mut self.in_flight {
                sent.word &= !(1 << (KNOWN_REQUESTS_SHIFT as usize + node));
            }
        }
    }

    /// Tracks the messages of a state that are not tracked yet; they have just been sent.
    fn track_sent(&mut self, state: &[u32]) {
        let system = &*self.lookup.system;
        let mut tracked: Vec<u32> = self.in_flight.iter().map(|sent| sent.word).collect();
        for word in &state[system.in_flight_start(state)..] {
            if let Some(index) = tracked.iter().position(|known| known == word) {
                tracked.swap_remove(index);
            } else {
                self.last_serial += 1;
                self.in_flight.push(InFlight { serial: self.last_serial, word: *word });
            }
        }
    }

    /// Follows packed actions as far as they are possible. Returns the steps, and sets `state` to
    /// the last state.
    pub(crate) fn follow(&mut self, state: &mut Vec<u32>, actions: &[u16]) -> Vec<Step> {
        let mut steps = Vec::new();
        for action in actions {
            let found = self.candidates(state).iter().find(|candidate| candidate.action == *action).copied();
            let Some(candidate) = found else { break };
            steps.push(self.take_transition(state, candidate));
        }
        steps
    }
}
