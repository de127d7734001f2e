//! What is simulated beside the formula: somebody is inside, voters forget, a rival asks.

use super::{Ballot, Forgetting, Tally};
use quorate_journal::dice::{Dice, Stream};

pub trait Trial {
    /// A node enters, voters forget as they do, and a rival asks everyone: whether both are inside.
    fn violates(&mut self) -> bool;
}

/// Plays it through so many times, or until `goes_on` says otherwise, which is asked now and then.
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

/// Between two looks at whether to go on.
const PAUSE: u64 = 256;

/// Draws alone: who forgets, and how many votes that leaves a rival. Nobody sends anything.
pub struct Draws {
    ballot: Ballot,
    forgetting: Forgetting,
    dice: Dice,
}

impl Draws {
    pub fn new(ballot: Ballot, forgetting: Forgetting, seed: u64) -> Self {
        Self { ballot, forgetting, dice: Dice::new(seed, Stream::Faults) }
    }
}

impl Trial for Draws {
    fn violates(&mut self) -> bool {
        let Ballot { replicas, majority } = self.ballot;
        let forgot = (0..majority).filter(|_| self.forgetting.strikes(&mut self.dice)).count() as u64;
        // The rival has the votes of all who never gave theirs, and of all who forgot.
        (replicas - majority) + forgot >= majority
    }
}
