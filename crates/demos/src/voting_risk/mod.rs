//! How likely voting lets two in because voters forgot.
//!
//! In the voting of Lin and others (`quorate explain voting`) a resource has n replicas, each with a voter that lends its one vote
//! to one node at a time; m > n/2 votes let a node in. A voter that crashes comes back at once, but has forgotten whom it
//! voted for. While a node is inside with m votes, a rival finds n−m voters who never voted and those who forgot, so it gets in as
//! soon as 2m−n of the m have forgotten:
//!
//! ```text
//! P_v = Σ C(m,k) p^k (1−p)^(m−k)   for k from 2m−n to m,   p = Δt/T
//! ```
//!
//! Here T is how long a voter lives on average and Δt how long the vote is needed. [`violation`] computes it, however small it is;
//! [`simulate`] counts what happens in [`Trial`]s.
//!
//! ```
//! use quorate_core::Duration;
//! use quorate_demos::voting_risk::{Ballot, Forgetting, violation};
//!
//! let ballot = Ballot::new(32, 24)?;
//! let forgetting = Forgetting::new(Duration::from_secs(10), Duration::from_secs(3 * 60 * 60))?;
//! assert_eq!(violation(ballot, forgetting).to_string(), "2.132e-43");
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
pub use nodes::Nodes;
pub use tally::{Interval, LEVEL, Tally};
pub use trial::{Draws, Trial, simulate};

use binomial::Odds;
use quorate_core::Duration;
use quorate_journal::dice::Dice;
use quorate_journal::settings::Length;

/// More replicas than anybody has, and as many as are summed up in a moment.
pub const MOST_REPLICAS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ballot {
    replicas: u64,
    majority: u64,
}

impl Ballot {
    /// So many votes of so many are enough. Two such majorities have a voter in common.
    pub const fn new(replicas: u64, majority: u64) -> Result<Self, RiskError> {
        if replicas == 0 {
            return Err(RiskError::NoReplicas);
        }
        if replicas > MOST_REPLICAS {
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

    /// How many of those who voted must have forgotten it before a second node gets a majority.
    pub const fn overlap(self) -> u64 {
        2 * self.majority - self.replicas
    }
}

/// How voters forget: each crashes once in its lifetime, and the vote is needed for an interval of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgetting {
    interval: Duration,
    lifetime: Duration,
}

impl Forgetting {
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

    /// How likely a voter forgets while its vote is needed: p.
    pub fn chance(self) -> f64 {
        self.odds().happens()
    }

    /// Whether a voter forgets. Whole numbers only, so that a seed draws the same on every machine.
    fn strikes(self, dice: &mut Dice) -> bool {
        dice.below(self.lifetime.nanos()) < self.interval.nanos()
    }

    fn odds(self) -> Odds {
        Odds::new(self.interval.nanos(), self.lifetime.nanos())
    }
}

/// How likely a second node gets in while the first is inside.
pub fn violation(ballot: Ballot, forgetting: Forgetting) -> Likelihood {
    binomial::at_least(ballot.overlap(), ballot.majority, forgetting.odds())
}

/// The natural logarithm of what the deck's formula gives as it is printed: Σ C(m,k) p^k p^(m−k) for k from 2m−n to n. It is no
/// probability: where p is more than a half, it may be more than 1.
pub fn ln_as_printed(ballot: Ballot, forgetting: Forgetting) -> f64 {
    // p^m times the sum of C(m,k), and that is 2^m times how likely so many of m coins show heads.
    let heads = binomial::at_least(ballot.overlap(), ballot.majority, Odds::new(1, 2));
    heads.ln() + ballot.majority as f64 * (2.0 * forgetting.chance()).ln()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RiskError {
    #[error("A resource needs at least one replica: --replicas 32 is the deck's example.")]
    NoReplicas,
    #[error("{replicas} replicas are too many: at most {MOST_REPLICAS} are summed up.")]
    TooManyReplicas { replicas: u64 },
    #[error(
        "{majority} of {replicas} votes are no majority: two nodes could have as many at the same time, with nobody forgetting \
         anything. It takes at least --majority {}.", replicas / 2 + 1
    )]
    NoMajority { replicas: u64, majority: u64 },
    #[error("{majority} votes of {replicas} replicas cannot be had: --majority is at most {replicas}.")]
    MoreVotesThanVoters { replicas: u64, majority: u64 },
    #[error("Voters that live for no time never vote: give them some, such as --lifetime 3h.")]
    NoLifetime,
    #[error(
        "An interval of {interval} is longer than voters live, which is {lifetime}: p = interval / lifetime would be more than 1. \
         Use --interval {lifetime} for voters that always forget."
    )]
    IntervalTooLong { interval: Length, lifetime: Length },
}
