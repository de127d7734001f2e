//! The selection of a victim: one member of a deadlock aborts and releases all that it holds, and
//! the others can continue.

use crate::time::Time;
use core::cmp::Reverse;
use core::fmt;

/// The policy that selects the member of a deadlock that aborts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Policy {
    /// The member that started last, which has done the least work. A process that retries with its
    /// old start time is eventually no longer the youngest.
    Youngest,
    /// The member with the fewest locks, which has the least to undo.
    #[default]
    FewestLocks,
    /// The member with the lowest priority. It may be selected again and again.
    LowestPriority,
}

/// The cost of aborting a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AbortCost {
    /// When the process started: the time of its first request.
    #[cfg_attr(feature = "serde", serde(rename = "born"))]
    pub started_at: Time,
    /// The number of locks that it holds; where processes ask each other, the number of agents that
    /// wait for it.
    pub locks: u32,
    /// Higher numbers are more important.
    pub priority: u32,
}

impl Policy {
    /// All victim policies.
    pub const ALL: [Self; 3] = [Self::Youngest, Self::FewestLocks, Self::LowestPriority];

    /// The policy's name as typed on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Youngest => "youngest",
            Self::FewestLocks => "fewest-locks",
            Self::LowestPriority => "lowest-priority",
        }
    }

    /// Returns the policy with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Returns the victim: the candidate that the policy prefers, and among equals the one with the
    /// highest name. The result does not depend on the order of the candidates. Returns `None`
    /// without candidates.
    pub fn choose<N: Ord>(self, candidates: impl Iterator<Item = (N, AbortCost)>) -> Option<N> {
        let chosen = match self {
            Self::Youngest => candidates.max_by(|(a, x), (b, y)| (x.started_at, a).cmp(&(y.started_at, b))),
            Self::FewestLocks => candidates.max_by(|(a, x), (b, y)| (Reverse(x.locks), a).cmp(&(Reverse(y.locks), b))),
            Self::LowestPriority => {
                candidates.max_by(|(a, x), (b, y)| (Reverse(x.priority), a).cmp(&(Reverse(y.priority), b)))
            }
        };
        chosen.map(|(candidate, _)| candidate)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{AbortCost, Policy};
    use crate::time::Time;
    use alloc::string::ToString;

    fn cost(started_at_nanos: i64, locks: u32, priority: u32) -> AbortCost {
        AbortCost { started_at: Time::from_nanos(started_at_nanos), locks, priority }
    }

    #[test]
    fn each_policy_compares_its_own_cost() {
        let candidates = [(1, cost(5, 2, 1)), (2, cost(9, 3, 2)), (3, cost(7, 1, 3))];
        let chosen = Policy::ALL.map(|policy| policy.choose(candidates.into_iter()));
        assert_eq!(chosen, [Some(2), Some(3), Some(1)]);
    }

    #[test]
    fn a_tie_goes_to_the_highest_name_in_any_order() {
        let candidates = [(1, cost(5, 2, 1)), (3, cost(5, 2, 1)), (2, cost(5, 2, 1)), (4, cost(4, 3, 2))];
        for policy in Policy::ALL {
            assert_eq!(policy.choose(candidates.into_iter()), Some(3), "{policy}");
            assert_eq!(policy.choose(candidates.into_iter().rev()), Some(3), "{policy}");
        }
    }

    #[test]
    fn without_candidates_there_is_no_victim() {
        assert_eq!(Policy::Youngest.choose(core::iter::empty::<(u8, AbortCost)>()), None);
    }

    #[test]
    fn names_are_parsed_and_printed() {
        for policy in Policy::ALL {
            assert_eq!(Policy::named(policy.name()), Some(policy));
            assert_eq!(policy.to_string(), policy.name());
        }
        assert_eq!(Policy::named("oldest"), None);
        assert_eq!(Policy::default(), Policy::FewestLocks);
    }
}
