//! A fuzzing campaign against one target.

use crate::corpus::Corpus;
use crate::mutate::mutate;
use crate::rng::Rng;
use crate::{PathSignature, Target};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of inputs kept for further mutation.
const MAX_POOL_INPUTS: usize = 4_096;

/// An endless sequence of inputs for one target, determined by a seed.
pub struct Campaign {
    target: Target,
    rng: Rng,
    /// Inputs to mutate further.
    pool: Vec<Vec<u8>>,
    /// The paths that inputs have taken through the target's parser.
    signatures: BTreeSet<PathSignature>,
    tried_inputs: u64,
}

/// An input on which the target panics, as short as the campaign could make it. The message is that
/// of the panic on the input before it was shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub input: Vec<u8>,
    pub message: String,
}

/// The progress of a campaign so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    pub tried_inputs: u64,
    /// Number of different path signatures of these inputs.
    pub distinct_paths: usize,
}

impl Campaign {
    pub fn new(target: Target, corpus: &Corpus, seed: u64) -> Self {
        let pool = corpus.0.iter().map(|example| example.bytes.clone()).chain([Vec::new()]).collect();
        // Derive a separate random stream for each target.
        let stream = target.name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Self { target, rng: Rng::new(stream), pool, signatures: BTreeSet::new(), tried_inputs: 0 }
    }

    /// Tries the examples of the corpus unchanged, and the empty input.
    pub fn run_corpus(&mut self) -> Result<(), Failure> {
        for input in self.pool.clone() {
            self.attempt(&input)?;
        }
        Ok(())
    }

    /// Tries this many mutated inputs. Keeps those with new signatures for further mutation.
    pub fn run(&mut self, inputs: u64) -> Result<(), Failure> {
        for _ in 0..inputs {
            let mut input = self.rng.pick(&self.pool).cloned().unwrap_or_default();
            let other = self.rng.pick(&self.pool).cloned().unwrap_or_default();
            mutate(&mut input, &other, &mut self.rng);
            if self.attempt(&input)? && self.pool.len() < MAX_POOL_INPUTS {
                self.pool.push(input);
            }
        }
        Ok(())
    }

    pub fn statistics(&self) -> Statistics {
        Statistics { tried_inputs: self.tried_inputs, distinct_paths: self.signatures.len() }
    }

    /// Tries an input. Returns whether its signature is new.
    fn attempt(&mut self, input: &[u8]) -> Result<bool, Failure> {
        self.tried_inputs += 1;
        match self.target.attempt(input) {
            Ok(signature) => Ok(self.signatures.insert(signature)),
            Err(message) => Err(Failure { input: self.target.minimize(input), message }),
        }
    }
}

impl Target {
    /// Runs the target on one input. Returns the panic message if it panicked.
    pub fn attempt(&self, input: &[u8]) -> Result<PathSignature, String> {
        let run = self.run;
        catch_unwind(AssertUnwindSafe(|| run(input))).map_err(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "the target panicked without a message".to_owned())
        })
    }

    /// Removes parts of a failing input as long as it still fails.
    fn minimize(&self, input: &[u8]) -> Vec<u8> {
        let mut input = input.to_vec();
        let mut removed_bytes = input.len().next_power_of_two() / 2;
        while removed_bytes > 0 {
            let mut start = 0;
            while start < input.len() {
                let end = (start + removed_bytes).min(input.len());
                let shorter = [&input[..start], &input[end..]].concat();
                if self.attempt(&shorter).is_err() {
                    input = shorter;
                } else {
                    start = end;
                }
            }
            removed_bytes /= 2;
        }
        input
    }
}
