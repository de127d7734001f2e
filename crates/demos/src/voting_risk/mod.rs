//! The probability that voting grants entry to two nodes because voters forgot their votes.
//!
//! In the voting of Lin and others (`quorate explain voting`) a resource has n replicas, each with
//! a voter that gives its one vote to one node at a time; a node enters with m > n/2 votes. A voter
//! that crashes restarts immediately, but has forgotten its vote. While a node holds the lock with
//! m votes, a rival gets the votes of the n−m voters that never voted and of those that forgot, so
//! it enters as soon as 2m−n of the m have forgotten:
//!
//! ```text
//! P_v = Σ C(m,k) p^k (1−p)^(m−k)   for k from 2m−n to m,   p = Δt/T
//! ```
//!
//! In this formula T is the mean lifetime of a voter, and Δt the time for which its vote is needed.
//! [`violation_probability`] computes the probability, however small it is; [`simulate`] counts
//! violations in [`Trial`]s.
//!
//! ```
//! use quorate_core::Duration;
//! use quorate_demos::voting_risk::{Electorate, ForgetModel, violation_probability};
//!
//! let electorate = Electorate::new(32, 24)?;
//! let model = ForgetModel::new(Duration::from_secs(10), Duration::from_secs(3 * 60 * 60))?;
//! assert_eq!(violation_probability(electorate, model).to_string(), "2.132e-43");
//! # Ok::<(), quorate_demos::voting_risk::RiskError>(())
//! ```

mod binomial;
mod likelihood;
mod nodes;
mod tally;
#[cfg(test)]
mod tests;
mod trial;

pub use likelihood::Likelihood;
pub use nodes::NodeTrial;
pub use tally::{CONFIDENCE_LEVEL, ConfidenceInterval, Tally};
pub use trial::{DrawTrial, Trial, simulate};

use binomial::EventProbability;
use quorate_core::Duration;
use quorate_journal::rng::SeededRng;
use quorate_journal::settings::Length;

/// Maximum number of replicas, which keeps the sum fast.
pub const MAX_REPLICAS: u64 = 1_000_000;

/// The number of replicas, each with one voter, and of the votes that a node needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Electorate {
    replicas: u64,
    majority: u64,
}

impl Electorate {
    /// An electorate in which a node needs `majority` of `replicas` votes. Fails unless 1 ≤
    /// `replicas` ≤ [`MAX_REPLICAS`], and `replicas` / 2 < `majority` ≤ `replicas`, so that any two
    /// majorities share a voter.
    pub const fn new(replicas: u64, majority: u64) -> Result<Self, RiskError> {
        if replicas == 0 {
            return Err(RiskError::NoReplicas);
        }
        if replicas > MAX_REPLICAS {
            return Err(RiskError::TooManyReplicas { replicas });
        }
        if majority > replicas {
            return Err(RiskError::MoreVotesThanVoters { replicas, majority });
        }
        if majority <= replicas / 2 {
            return Err(RiskError::NoMajority { replicas, majority });
        }
        Ok(Self { replicas, majority })
    }

    pub const fn replicas(self) -> u64 {
        self.replicas
    }

    pub const fn majority(self) -> u64 {
        self.majority
    }

    /// How many voters of a majority must forget before a second node gets a majority.
    pub const fn overlap(self) -> u64 {
        2 * self.majority - self.replicas
    }
}

/// When voters forget: each crashes once in its lifetime, and forgets its vote if the crash falls
/// into the interval in which the vote is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgetModel {
    interval: Duration,
    lifetime: Duration,
}

impl ForgetModel {
    pub fn new(interval: Duration, lifetime: Duration) -> Result<Self, RiskError> {
        if lifetime == Duration::ZERO {
            return Err(RiskError::NoLifetime);
        }
        if interval > lifetime {
            return Err(RiskError::IntervalTooLong { interval: Length(interval), lifetime: Length(lifetime) });
        }
        Ok(Self { interval, lifetime })
    }

    pub const fn interval(self) -> Duration {
        self.interval
    }

    pub const fn lifetime(self) -> Duration {
        self.lifetime
    }

    /// The probability p that a voter forgets while its vote is needed.
    pub fn forget_probability(self) -> f64 {
        self.forget_event().probability()
    }

    /// Draws whether a voter forgets. It uses integers only, so that a seed draws the same on every
    /// machine.
    fn draw_forgets(self, rng: &mut SeededRng) -> bool {
        rng.below(self.lifetime.nanos()) < self.interval.nanos()
    }

    fn forget_event(self) -> EventProbability {
        EventProbability::new(self.interval.nanos(), self.lifetime.nanos())
    }
}

/// The probability that a second node enters while the first holds the lock.
pub fn violation_probability(electorate: Electorate, model: ForgetModel) -> Likelihood {
    binomial::probability_of_at_least(electorate.overlap(), electorate.majority, model.forget_event())
}

/// The natural logarithm of the formula as printed in lecture slides: Σ C(m,k) p^k p^(m−k) for
/// k from 2m−n to n. It is no probability: if p is more than a half, it may be more than 1.
pub fn ln_as_printed(electorate: Electorate, model: ForgetModel) -> f64 {
    // p^m times the sum of C(m,k), which is 2^m times the probability of at least 2m−n heads in m
    // tosses of a coin.
    let enough_heads =
        binomial::probability_of_at_least(electorate.overlap(), electorate.majority, EventProbability::new(1, 2));
    enough_heads.ln() + electorate.majority as f64 * (2.0 * model.forget_probability()).ln()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RiskError {
    #[error("--replicas must be at least 1; got 0. The default is --replicas 32.")]
    NoReplicas,
    #[error("--replicas must be at most {MAX_REPLICAS}; got {replicas}.")]
    TooManyReplicas { replicas: u64 },
    #[error(
        "--majority must be at least {} of {replicas} replicas; got {majority}, which two nodes could have at the same time even if \
         no voter forgets.", replicas / 2 + 1
    )]
    NoMajority { replicas: u64, majority: u64 },
    #[error("--majority must be at most {replicas}, the number of replicas; got {majority}.")]
    MoreVotesThanVoters { replicas: u64, majority: u64 },
    #[error("--lifetime must be greater than 0; got 0ms. Use for example --lifetime 3h.")]
    NoLifetime,
    #[error(
        "--interval must be at most --lifetime, {lifetime}; got {interval}, so that p = interval / lifetime would be more than 1. \
         Use --interval {lifetime} for voters that always forget."
    )]
    IntervalTooLong { interval: Length, lifetime: Length },
}
