//! Trials to compare with the formula: a node holds the lock, voters forget, a rival asks for
//! votes.

use super::{Ballot, Forgetting, Tally};
use quorate_journal::rng::{SeededRng, Stream};

pub trait Trial {
    /// Runs one trial: a node enters, voters forget at random, and a rival asks all voters. Returns
    /// whether both hold the lock.
    fn violates(&mut self) -> bool;
}

/// Runs `trials` trials, or fewer if `goes_on`, which is called now and then, returns false.
pub fn simulate(trial: &mut impl Trial, trials: u64, mut goes_on: impl FnMut(Tally) -> bool) -> Tally {
    let mut tally = Tally::default();
    while tally.trials < trials {
        if tally.trials.is_multiple_of(PAUSE) && !goes_on(tally) {
            break;
        }
        tally.count(trial.violates());
    }
    tally
}

/// Number of trials between two calls of `goes_on`.
const PAUSE: u64 = 256;

/// Random draws alone: which voters forget, and how many votes the rival gets. No messages are
/// sent.
pub struct Draws {
    ballot: Ballot,
    forgetting: Forgetting,
    rng: SeededRng,
}

impl Draws {
    pub fn new(ballot: Ballot, forgetting: Forgetting, seed: u64) -> Self {
        Self { ballot, forgetting, rng: SeededRng::new(seed, Stream::Faults) }
    }
}

impl Trial for Draws {
    fn violates(&mut self) -> bool {
        let Ballot { replicas, majority } = self.ballot;
        let forgot = (0..majority).filter(|_| self.forgetting.occurs(&mut self.rng)).count() as u64;
        // The rival gets the votes of all voters that never voted, and of all that forgot.
        (replicas - majority) + forgot >= majority
    }
}
