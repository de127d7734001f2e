//! Whom a deadlock costs its work: one of its members gives up all that it holds, and the others go on.

use crate::time::Time;
use core::cmp::Reverse;
use core::fmt;

/// Which member of a deadlock gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Policy {
    /// The one that began last: it has done the least. Whoever keeps its birth when it tries again is spared sooner or later.
    Youngest,
    /// The one that holds the fewest locks: the least has to be undone.
    #[default]
    FewestLocks,
    /// The one that matters least. It may be chosen again and again.
    LowestPriority,
}

/// What somebody would lose by giving up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stake {
    pub born: Time,
    pub locks: u32,
    /// How much it matters; more is more.
    pub priority: u32,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Youngest, Self::FewestLocks, Self::LowestPriority];

    /// Its name, as users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Youngest => "youngest",
            Self::FewestLocks => "fewest-locks",
            Self::LowestPriority => "lowest-priority",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// The one that gives up: whose stake is the least, and of several with the same the one with the highest name. All who choose among the
    /// same candidates choose the same, in whatever order they come.
    pub fn choose<N: Ord>(self, candidates: impl Iterator<Item = (N, Stake)>) -> Option<N> {
        let chosen = match self {
            Self::Youngest => candidates.max_by(|(a, x), (b, y)| (x.born, a).cmp(&(y.born, b))),
            Self::FewestLocks => candidates.max_by(|(a, x), (b, y)| (Reverse(x.locks), a).cmp(&(Reverse(y.locks), b))),
            Self::LowestPriority => {
                candidates.max_by(|(a, x), (b, y)| (Reverse(x.priority), a).cmp(&(Reverse(y.priority), b)))
            }
        };
        chosen.map(|(name, _)| name)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Stake};
    use crate::time::Time;
    use alloc::string::ToString;

    fn stake(born: i64, locks: u32, priority: u32) -> Stake {
        Stake { born: Time::from_nanos(born), locks, priority }
    }

    #[test]
    fn each_policy_looks_at_its_own_stake() {
        let candidates = [(1, stake(5, 2, 1)), (2, stake(9, 3, 2)), (3, stake(7, 1, 3))];
        let chosen = Policy::ALL.map(|policy| policy.choose(candidates.into_iter()));
        assert_eq!(chosen, [Some(2), Some(3), Some(1)]);
    }

    #[test]
    fn a_tie_goes_to_the_highest_name_in_whatever_order_they_come() {
        let candidates = [(1, stake(5, 2, 1)), (3, stake(5, 2, 1)), (2, stake(5, 2, 1)), (4, stake(4, 3, 2))];
        for policy in Policy::ALL {
            assert_eq!(policy.choose(candidates.into_iter()), Some(3), "{policy}");
            assert_eq!(policy.choose(candidates.into_iter().rev()), Some(3), "{policy}");
        }
    }

    #[test]
    fn nobody_is_chosen_of_nobody() {
        assert_eq!(Policy::Youngest.choose(core::iter::empty::<(u8, Stake)>()), None);
    }

    #[test]
    fn names_are_what_users_type() {
        for policy in Policy::ALL {
            assert_eq!(Policy::named(policy.name()), Some(policy));
            assert_eq!(policy.to_string(), policy.name());
        }
        assert_eq!(Policy::named("oldest"), None);
        assert_eq!(Policy::default(), Policy::FewestLocks);
    }
}
