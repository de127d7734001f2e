//! Trials to compare with the computed probability of a violation: a node holds the lock, voters
//! forget, and a rival requests their votes.

use super::{Electorate, ForgetModel, Tally};
use quorate_journal::rng::{SeededRng, Stream};

/// A source of random trials.
pub trait Trial {
    /// Runs one trial: a node enters, voters forget at random, and a rival requests all votes.
    /// Returns whether both hold the lock.
    fn violates_exclusion(&mut self) -> bool;
}

/// Runs `trials` trials. Calls `should_continue` with the results so far, before the first trial
/// and at regular intervals, and stops if it returns `false`.
pub fn simulate(trial: &mut impl Trial, trials: u64, mut should_continue: impl FnMut(Tally) -> bool) -> Tally {
    let mut tally = Tally::default();
    while tally.trials < trials {
        if tally.trials.is_multiple_of(TRIALS_PER_CALL) && !should_continue(tally) {
            break;
        }
        tally.add_trial(trial.violates_exclusion());
    }
    tally
}

/// Number of trials between two calls of `should_continue`.
const TRIALS_PER_CALL: u64 = 256;

/// A trial that only draws which voters forget, and counts the votes that the rival gets. It sends
/// no messages.
pub struct DrawTrial {
    electorate: Electorate,
    model: ForgetModel,
    rng: SeededRng,
}

impl DrawTrial {
    pub fn new(electorate: Electorate, model: ForgetModel, seed: u64) -> Self {
        Self { electorate, model, rng: SeededRng::new(seed, Stream::Faults) }
    }
}

impl Trial for DrawTrial {
    fn violates_exclusion(&mut self) -> bool {
        let Electorate { replicas, majority } = self.electorate;
        let forgotten_votes = (0..majority).filter(|_| self.model.draw_forgets(&mut self.rng)).count() as u64;
        // The rival gets the votes of all voters that never voted, and of all that forgot.
        (replicas - majority) + forgotten_votes >= majority
    }
}
