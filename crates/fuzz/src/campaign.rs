//! A campaign against one target: what was tried, what was new, what failed.

use crate::chance::Chance;
use crate::corpus::Corpus;
use crate::mutate::mutate;
use crate::{Target, Trail};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// No more inputs are kept than this.
const MOST_KEPT: usize = 4_096;

/// An endless sequence of inputs for one target, from one seed.
pub struct Campaign {
    target: Target,
    chance: Chance,
    kept: Vec<Vec<u8>>,
    trails: BTreeSet<Trail>,
    tried: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub input: Vec<u8>,
    pub said: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub tried: u64,
    pub trails: usize,
}

impl Campaign {
    pub fn new(target: Target, corpus: &Corpus, seed: u64) -> Self {
        let kept = corpus.0.iter().map(|example| example.bytes.clone()).chain([Vec::new()]).collect();
        // Each target has its own stream.
        let stream = target.name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Self { target, chance: Chance::new(stream), kept, trails: BTreeSet::new(), tried: 0 }
    }

    pub fn rehearse(&mut self) -> Result<(), Failure> {
        for input in self.kept.clone() {
            self.attempt(&input)?;
        }
        Ok(())
    }

    pub fn run(&mut self, inputs: u64) -> Result<(), Failure> {
        for _ in 0..inputs {
            let mut input = self.chance.pick(&self.kept).cloned().unwrap_or_default();
            let other = self.chance.pick(&self.kept).cloned().unwrap_or_default();
            mutate(&mut input, &other, &mut self.chance);
            if self.attempt(&input)? && self.kept.len() < MOST_KEPT {
                self.kept.push(input);
            }
        }
        Ok(())
    }

    pub fn figures(&self) -> Figures {
        Figures { tried: self.tried, trails: self.trails.len() }
    }

    /// Tells whether the input went a new way.
    fn attempt(&mut self, input: &[u8]) -> Result<bool, Failure> {
        self.tried += 1;
        match self.target.attempt(input) {
            Ok(trail) => Ok(self.trails.insert(trail)),
            Err(said) => Err(Failure { input: self.target.shorten(input), said }),
        }
    }
}

impl Target {
    /// Runs it on one input. Tells what it said if it panicked.
    pub fn attempt(&self, input: &[u8]) -> Result<Trail, String> {
        let run = self.run;
        catch_unwind(AssertUnwindSafe(|| run(input))).map_err(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
        })
    }

    /// Leaves out of a failing input whatever it can do without.
    fn shorten(&self, input: &[u8]) -> Vec<u8> {
        let mut input = input.to_vec();
        let mut piece = input.len().next_power_of_two() / 2;
        while piece > 0 {
            let mut start = 0;
            while start < input.len() {
                let end = (start + piece).min(input.len());
                let shorter = [&input[..start], &input[end..]].concat();
                if self.attempt(&shorter).is_err() {
                    input = shorter;
                } else {
                    start = end;
                }
            }
            piece /= 2;
        }
        input
    }
}
