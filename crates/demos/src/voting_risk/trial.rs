//! Trials to compare with the formula: a node holds the lock, voters forget, a rival asks for
//! votes.

use super::{Ballot, Forgetting, Tally};
use quorate_journal::rng::{SeededRng, Stream};

pub trait Trial {
    /// Runs one trial: a node enters, voters forget at random, and a rival asks all voters. Returns
    /// whether both hold the lock.
    fn violates_exclusion(&mut self) -> bool;
}

/// Runs `trials` trials. Calls `should_continue` with the results so far at regular intervals,
/// and stops if it returns `false`.
pub fn simulate(trial: &mut impl Trial, trials: u64, mut should_continue: impl FnMut(Tally) -> bool) -> Tally {
    let mut tally = Tally::default();
    while tally.trials < trials {
        if tally.trials.is_multiple_of(TRIALS_PER_CALL) && !should_continue(tally) {
            break;
        }
        tally.count(trial.violates_exclusion());
    }
    tally
}

/// Number of trials between two calls of `should_continue`.
const TRIALS_PER_CALL: u64 = 256;

/// Random draws alone: which voters forget, and how many votes the rival gets. No messages are
/// sent.
pub struct DrawTrial {
    ballot: Ballot,
    forgetting: Forgetting,
    rng: SeededRng,
}

impl DrawTrial {
    pub fn new(ballot: Ballot, forgetting: Forgetting, seed: u64) -> Self {
        Self { ballot, forgetting, rng: SeededRng::new(seed, Stream::Faults) }
    }
}

impl Trial for DrawTrial {
    fn violates_exclusion(&mut self) -> bool {
        let Ballot { replicas, majority } = self.ballot;
        let forgot = (0..majority).filter(|_| self.forgetting.occurs(&mut self.rng)).count() as u64;
        // The rival gets the votes of all voters that never voted, and of all that forgot.
        (replicas - majority) + forgot >= majority
    }
}
